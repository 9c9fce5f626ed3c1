"""Liveness: after the last disturbance, every group comes to rest within a time that adds up.

    settle_ms = session + rebalance + request + connect + backoff + heartbeat + metadata + load

Each term is the largest in the run: consumers have settings (`Patience`), and rows tell of the
sessions and rebalances of raw members. A dead member is noticed when its session ends; the
rebalance then waits for stragglers as long as the rebalance timeout (`max.poll.interval.ms`); a
straggler may itself have to give up a request first, the longest of which is a JoinGroup; it
connects and backs off between its tries, hears of the rebalance with a heartbeat and of new
partitions when its metadata is too old; and a new coordinator reads its log.

Two holes are Kafka's own, and what falls into them is not asked for. A static leader that comes
back is told to keep the assignment of before (KIP-814), and what has become of the topics until
then is old news to it: partitions that came to be meanwhile wait for the next rebalance. And a
static member that dies between the two rounds of a cooperative rebalance does not ask for the
second.

A topic is wanted by whoever is known to subscribe to it, and by members that own a partition of it.

A run that ends before the time is up is judged by its end: at rest, liveness is kept; otherwise it
is open, which is said and held against nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from attrs import define, evolve, field, frozen

from client.settings import ConsumerConfig
from coordinator import GroupState
from simulation.cluster import replicas_of
from simulation.events import DISTURBANCES, EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Place, place_of
from simulation.folds.rosters import Rosters, replaced_id
from simulation.safety import COOPERATIVE_PROTOCOL
from simulation.violations import Checker

#: A JoinGroup is given this much more than the rebalance timeout.
JOIN_GRACE_MS = 5_000
#: Back-offs are stretched by up to a fifth.
_JITTER_MOST = 1.2
#: More partitions than this are counted, not listed.
_LISTED_MAX = 6

_BY_WORD: Mapping[str, Kind] = {kind.value: kind for kind in (*EventKind, *WorldEventKind)}


@frozen(kw_only=True)
class Patience:
    """How long to wait for rest, by the consumers' largest settings; and who wants which topics."""

    session_timeout_ms: int
    rebalance_timeout_ms: int
    request_timeout_ms: int
    connection_setup_timeout_ms: int
    backoff_ms: int
    heartbeat_interval_ms: int
    metadata_max_age_ms: int
    load_ms: int = 0
    #: When the script has said its last word: what disturbs without a row is over by then.
    script_ends_ms: int = 0
    #: By consumer: the names of the topics that it subscribes to, as a regular expression; "" where
    #: that is not known.
    topics: Mapping[str, str] = field(factory=dict)
    #: All brokers there are, in order; without them, nobody asks who leads a partition.
    brokers: tuple[int, ...] = ()

    @property
    def settle_ms(self) -> int:
        """The sum."""
        longest_request_ms = max(self.request_timeout_ms, self.rebalance_timeout_ms + JOIN_GRACE_MS)
        return (
            self.session_timeout_ms
            + self.rebalance_timeout_ms
            + longest_request_ms
            + self.connection_setup_timeout_ms
            + self.backoff_ms
            + self.heartbeat_interval_ms
            + self.metadata_max_age_ms
            + self.load_ms
        )

    @classmethod
    def of(
        cls,
        configs: Iterable[ConsumerConfig],
        *,
        topics: Mapping[str, str],
        load_ms: int = 0,
        script_ends_ms: int = 0,
        brokers: tuple[int, ...] = (),
    ) -> Patience:
        """With consumers of these settings."""
        all_of = list(configs)
        setup = max(each.socket_connection_setup_timeout_max_ms for each in all_of)
        backoff = max(
            each.reconnect_backoff_max_ms + 2 * each.retry_backoff_max_ms for each in all_of
        )
        return cls(
            session_timeout_ms=max(each.session_timeout_ms for each in all_of),
            rebalance_timeout_ms=max(each.max_poll_interval_ms for each in all_of),
            request_timeout_ms=max(each.request_timeout_ms for each in all_of),
            connection_setup_timeout_ms=round(setup * _JITTER_MOST),
            backoff_ms=round(backoff * _JITTER_MOST),
            heartbeat_interval_ms=max(each.heartbeat_interval_ms for each in all_of),
            metadata_max_age_ms=max(each.metadata_max_age_ms for each in all_of),
            load_ms=load_ms,
            script_ends_ms=script_ends_ms,
            topics=topics,
            brokers=brokers,
        )


@define(eq=False)
class Running:
    """A consumer at work."""

    group: str
    is_paused: bool = False


@define(eq=False)
class Liveness(Checker):
    """Once nothing disturbs the run any more, groups are Stable and partitions have owners."""

    sentence: ClassVar[str] = (
        "after the last disturbance every group with running consumers is Stable "
        "and every partition they want is owned, within settle_ms"
    )
    patience: Patience = field(kw_only=True)
    rosters: Rosters = field(factory=Rosters, kw_only=True)
    _due_ms: int | None = None
    _last: Row | None = None
    #: When a group last changed its state, or a partition its owner.
    _moved_ms: int = 0
    _down: set[int] = field(factory=set)
    #: What goes on, by the row that began it.
    _open_faults: dict[int, str] = field(factory=dict)
    _running: dict[str, Running] = field(factory=dict)
    _partitions: dict[str, int] = field(factory=dict)
    #: Two at times: a member that was away takes up what has been given to another meanwhile.
    _owners: dict[Place, dict[str, None]] = field(factory=dict)
    #: The row of each topic's latest change, of each group's latest assignment, and of the answer
    #: that the latest static leader to come back to it has heard.
    _changed: dict[str, int] = field(factory=dict)
    _assigned: dict[str, int] = field(factory=dict)
    _returned: dict[str, int] = field(factory=dict)
    #: When that assignment was, and when a topic last got partitions.
    _assigned_ms: dict[str, int] = field(factory=dict)
    _grown_ms: dict[str, int] = field(factory=dict)
    #: The partitions of each topic that this leader found when it was back.
    _known: dict[str, dict[str, int]] = field(factory=dict)
    #: The row of the latest return of a static member to each cooperative group.
    _resumed: dict[str, int] = field(factory=dict)
    #: Who leads each group, and the consumer that is coming back as its leader.
    _leaders: dict[str, str] = field(factory=dict)
    _returning: dict[str, str] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Disturbances, who runs, which partitions there are and whose they are."""
        return {
            **{_BY_WORD[word]: self._on_disturbance for word in sorted(DISTURBANCES)},
            WorldEventKind.BROKER_CRASHED: self._on_broker,
            WorldEventKind.BROKER_RESTARTED: self._on_broker,
            WorldEventKind.REQUEST_SENT: self._on_sent,
            EventKind.MEMBER_ADDED: self._on_member,
            EventKind.MEMBER_REJOINED: self._on_member,
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.GROUP_LOADED: self._on_move,
            EventKind.ASSIGNMENT_STORED: self._on_assignment,
            EventKind.LEADER_ELECTED: self._on_leader,
            EventKind.MEMBER_REPLACED: self._on_return,
            WorldEventKind.REPLY_RECEIVED: self._on_reply,
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
            WorldEventKind.PARTITION_REVOKED: self._on_stop,
            WorldEventKind.PARTITION_LOST: self._on_stop,
        }

    def verdict(self, ended_ms: int) -> str:
        """What can be said of liveness when the run is over: kept, violated, or open."""
        if self.found:
            return f"violated: {'; '.join(each.seen for each in self.found)}"
        unrest, last_ms = self.unrest(), self._last_ms()
        if not unrest:
            settled_ms = max(0, self._moved_ms - last_ms)
            return f"kept: settled {_seconds(settled_ms)} after the last disturbance"
        why = "; ".join(unrest)
        if self._open_faults:
            faults = ", ".join(dict.fromkeys(self._open_faults.values()))
            return f"not judged: {why}, and a fault was never healed: {faults}"
        if self._due_ms is None:
            return f"kept: settled in time after the last disturbance; later {why}"
        return (
            f"open: not settled {_seconds(ended_ms - last_ms)} after the last disturbance; it may"
            f" take up to {_seconds(self.patience.settle_ms)}: {why}"
        )

    def before(self, row: Row) -> None:
        """Time has come to this row: was there rest in time?"""
        if self._due_ms is None:
            return
        is_the_end = row.kind == WorldEventKind.RUN_ENDED.value and row.at_ms == self._due_ms
        if row.at_ms > self._due_ms or is_the_end:
            self._judge(self._due_ms)
            self._due_ms = None

    def _on_disturbance(self, row: Row) -> None:
        self._disturb(row)
        self._learn(WorldEventKind(row.kind), row)

    def _disturb(self, row: Row) -> None:
        self._last = row
        self._due_ms = self._last_ms() + self.patience.settle_ms

    def _on_sent(self, row: Row) -> None:
        """What nothing led to is the script's doing: a raw member disturbs all it likes."""
        if row.cause is None:
            self._disturb(row)

    def _on_member(self, row: Row) -> None:
        """A raw member's session may be longer than any consumer's."""
        session_ms = row.duration_ms or 0
        if session_ms > self.patience.session_timeout_ms:
            self._wait_longer(evolve(self.patience, session_timeout_ms=session_ms))

    def _on_state(self, row: Row) -> None:
        """So may the wait for those who are to join again."""
        self._on_move(row)
        rebalance_ms = row.duration_ms or 0
        if rebalance_ms > self.patience.rebalance_timeout_ms:
            self._wait_longer(evolve(self.patience, rebalance_timeout_ms=rebalance_ms))

    def _wait_longer(self, patience: Patience) -> None:
        if self._due_ms is not None:
            self._due_ms += patience.settle_ms - self.patience.settle_ms
        self.patience = patience

    def _last_ms(self) -> int:
        """When it was disturbed last."""
        return max(0 if self._last is None else self._last.at_ms, self.patience.script_ends_ms)

    def _on_broker(self, row: Row) -> None:
        self._on_disturbance(row)
        change = (
            self._down.add
            if row.kind == WorldEventKind.BROKER_CRASHED.value
            else self._down.discard
        )
        change(row.broker or 0)

    def _on_move(self, row: Row) -> None:
        self._moved_ms = row.at_ms

    def _learn(self, kind: WorldEventKind, row: Row) -> None:
        client, detail = row.client or "", row.detail or ""
        if kind in (WorldEventKind.TOPIC_CREATED, WorldEventKind.PARTITIONS_ADDED):
            self._partitions[row.topic or ""] = row.count or 0
            self._changed[row.topic or ""] = row.seq
            if kind is WorldEventKind.PARTITIONS_ADDED:
                self._grown_ms[row.topic or ""] = row.at_ms
        elif kind is WorldEventKind.TOPIC_DELETED:
            self._partitions.pop(row.topic or "", None)
        elif kind is WorldEventKind.CONSUMER_STARTED:
            self._running[client] = Running(row.group or "")
        elif kind in (WorldEventKind.CONSUMER_STOPPED, WorldEventKind.CONSUMER_CRASHED):
            self._running.pop(client, None)
        elif kind in (WorldEventKind.CONSUMER_PAUSED, WorldEventKind.CONSUMER_RESUMED):
            if client in self._running:
                self._running[client].is_paused = kind is WorldEventKind.CONSUMER_PAUSED
        elif kind is WorldEventKind.FAULT_STARTED:
            self._open_faults[row.seq] = detail
        elif kind is WorldEventKind.FAULT_HEALED:
            self._open_faults.pop(row.cause or 0, None)

    def _on_assignment(self, row: Row) -> None:
        self._assigned[row.group or ""] = row.seq
        self._assigned_ms[row.group or ""] = row.at_ms

    def _on_leader(self, row: Row) -> None:
        self._leaders[row.group or ""] = row.member or ""

    def _on_return(self, row: Row) -> None:
        self._on_member(row)
        group, old = row.group or "", replaced_id(row)
        if row.protocol == COOPERATIVE_PROTOCOL:
            self._resumed[group] = row.seq
        if self._leaders.get(group, old) == old:
            self._leaders[group] = row.member or ""
            self._returning[group] = row.client or ""

    def _on_reply(self, row: Row) -> None:
        group = row.group or ""
        if row.request == "JoinGroup" and self._returning.get(group) == row.client:
            self._returned[group], self._known[group] = row.seq, dict(self._partitions)
            del self._returning[group]

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        self._on_move(row)
        if place is not None:
            self._owners.setdefault(place, {})[row.client or ""] = None

    def _on_stop(self, row: Row) -> None:
        place = place_of(row)
        self._on_move(row)
        if place is not None:
            self._owners.get(place, {}).pop(row.client or "", None)

    # --- the judgement ---

    def _judge(self, due_ms: int) -> None:
        if self._open_faults or self._last is None:
            return  # A fault that is never healed may keep a group from rest for ever.
        for seen in self.unrest():
            settle_ms = self.patience.settle_ms
            told = f"{seen} {settle_ms} ms after the last disturbance"
            self.blame(told, self._last, at_ms=due_ms)

    def unrest(self) -> list[str]:
        """What is not at rest now, in words: groups, partitions without owner or leader."""
        at_work = {name: each for name, each in self._running.items() if not each.is_paused}
        found: list[str] = []
        for group in sorted({each.group for each in at_work.values()}):
            topics = [
                self.patience.topics.get(name, "")
                for name, each in at_work.items()
                if each.group == group
            ]
            read = self._read_by(group)
            wanted = [
                (topic, partition)
                for topic, count in sorted(self._partitions.items())
                if topic in read or any(re.fullmatch(each, topic) for each in topics)
                for partition in range(count)
            ]
            state = self.rosters.of(group).state
            leaderless = [place for place in wanted if self._is_leaderless(place[1])]
            orphans = [
                (topic, partition)
                for topic, partition in wanted
                if not self._is_old_news(group, topic)
                and not self._owners.get(Place(group, topic, partition))
            ]
            if state is None:
                found.append(f"no coordinator knows {group}")
            elif state != GroupState.STABLE.value:
                found.append(f"{group} is {state}")
            elif orphans:
                found.append(f"nobody of {group} owns {_listed(orphans)}")
            if leaderless:
                found.append(f"no broker that is up leads {_listed(leaderless)}, wanted by {group}")
        return found

    def _read_by(self, group: str) -> set[str]:
        """The topics of which a member owns a partition: whatever its program is, it wants them."""
        members = self.rosters.of(group).members.values()
        return {
            place.topic
            for place, owners in self._owners.items()
            if place.group == group and not owners.keys().isdisjoint(members)
        }

    def _is_leaderless(self, partition: int) -> bool:
        brokers = self.patience.brokers
        return bool(brokers) and self._down.issuperset(replicas_of(brokers, partition))

    def _is_old_news(self, group: str, topic: str) -> bool:
        """Whether, by Kafka's own rules, nobody has a reason to assign this topic again.

        A static leader that comes back takes the topic as it finds it for what it has assigned; it
        may not have heard of a change then, though that was earlier, until its metadata was old. A
        static member that dies in the first round of a cooperative rebalance and comes back does
        not ask for the second, in which what it had to give up would have found its owner.
        """
        assigned, returned = self._assigned.get(group, 0), self._returned.get(group, 0)
        is_as_found = self._known.get(group, {}).get(topic) == self._partitions[topic]
        is_news = assigned < self._changed[topic]
        if topic in self._grown_ms:
            heard_ms = self._grown_ms[topic] + self.patience.metadata_max_age_ms
            is_news = is_news or self._assigned_ms.get(group, 0) <= heard_ms
        is_taken_for_done = is_news and assigned < returned and is_as_found
        return is_taken_for_done or assigned < self._resumed.get(group, 0)


def _listed(places: list[tuple[str, int]]) -> str:
    named = [f"{topic}-{partition}" for topic, partition in places]
    if len(named) > _LISTED_MAX:
        return f"{len(named)} partitions, such as {named[0]}"
    return ", ".join(named)


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.1f} s"
