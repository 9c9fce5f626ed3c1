"""Liveness: after the last disturbance, every group comes to rest within a time that adds up.

    settle_ms = session + rebalance + request + connect + backoff + heartbeat + metadata + load

Each term is the largest among the consumers of the run (`Patience`): a dead member is noticed when
its session ends; the rebalance then waits for stragglers as long as the rebalance timeout
(`max.poll.interval.ms`); a straggler may itself have to give up a request first, the longest of
which is a JoinGroup; it connects and backs off between its tries, hears of the rebalance with a
heartbeat and of new partitions when its metadata is too old; and a new coordinator reads its log.

One hole is Kafka's own (KIP-814): a static leader that comes back is told to keep the assignment of
before, and what has become of the topics until then is old news to it. Partitions that came to be
between that assignment and its return wait for the next rebalance, and are not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from attrs import define, field, frozen

from client.settings import ConsumerConfig
from coordinator import GroupState
from simulation.events import DISTURBANCES, EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Place, place_of
from simulation.folds.rosters import Rosters, replaced_id
from simulation.violations import Checker

#: A JoinGroup is given this much more than the rebalance timeout.
JOIN_GRACE_MS = 5_000
#: Back-offs are stretched by up to a fifth.
_JITTER_MOST = 1.2

_BY_WORD: Mapping[str, Kind] = {kind.value: kind for kind in (*EventKind, *WorldEventKind)}


@frozen(kw_only=True)
class Patience:
    """How long to wait for rest, by the largest of each setting; and who wants which topics."""

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
    #: By consumer: the names of the topics that it subscribes to, as a regular expression.
    topics: Mapping[str, str] = field(factory=dict)

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
    _open_faults: dict[str, int] = field(factory=dict)
    _running: dict[str, Running] = field(factory=dict)
    _partitions: dict[str, int] = field(factory=dict)
    _owners: dict[Place, str] = field(factory=dict)
    #: The row of each topic's latest change, of each group's latest assignment, and of the answer
    #: that the latest static leader to come back to it has heard.
    _changed: dict[str, int] = field(factory=dict)
    _assigned: dict[str, int] = field(factory=dict)
    _returned: dict[str, int] = field(factory=dict)
    #: Who leads each group, and the consumer that is coming back as its leader.
    _leaders: dict[str, str] = field(factory=dict)
    _returning: dict[str, str] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Disturbances, who runs, which partitions there are and whose they are."""
        return {
            **{_BY_WORD[word]: self._on_disturbance for word in sorted(DISTURBANCES)},
            EventKind.ASSIGNMENT_STORED: self._on_assignment,
            EventKind.LEADER_ELECTED: self._on_leader,
            EventKind.MEMBER_REPLACED: self._on_return,
            WorldEventKind.REPLY_RECEIVED: self._on_reply,
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
            WorldEventKind.PARTITION_REVOKED: self._on_stop,
            WorldEventKind.PARTITION_LOST: self._on_stop,
        }

    @property
    def is_waiting(self) -> bool:
        """Whether there has been a disturbance since the last judgement."""
        return self._due_ms is not None

    def before(self, row: Row) -> None:
        """Time has come to this row: was there rest in time?"""
        if self._due_ms is None:
            return
        is_the_end = row.kind == WorldEventKind.RUN_ENDED.value and row.at_ms == self._due_ms
        if row.at_ms > self._due_ms or is_the_end:
            self._judge(self._due_ms)
            self._due_ms = None

    def _on_disturbance(self, row: Row) -> None:
        self._last = row
        last_ms = max(row.at_ms, self.patience.script_ends_ms)
        self._due_ms = last_ms + self.patience.settle_ms
        self._learn(WorldEventKind(row.kind), row)

    def _learn(self, kind: WorldEventKind, row: Row) -> None:
        client, detail = row.client or "", row.detail or ""
        if kind in (WorldEventKind.TOPIC_CREATED, WorldEventKind.PARTITIONS_ADDED):
            self._partitions[row.topic or ""] = row.count or 0
            self._changed[row.topic or ""] = row.seq
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
            self._open_faults[detail] = row.seq
        elif kind is WorldEventKind.FAULT_HEALED:
            self._open_faults.pop(detail, None)

    def _on_assignment(self, row: Row) -> None:
        self._assigned[row.group or ""] = row.seq

    def _on_leader(self, row: Row) -> None:
        self._leaders[row.group or ""] = row.member or ""

    def _on_return(self, row: Row) -> None:
        group, old = row.group or "", replaced_id(row)
        if self._leaders.get(group, old) == old:
            self._leaders[group] = row.member or ""
            self._returning[group] = row.client or ""

    def _on_reply(self, row: Row) -> None:
        group = row.group or ""
        if row.request == "JoinGroup" and self._returning.get(group) == row.client:
            self._returned[group] = row.seq
            del self._returning[group]

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        if place is not None:
            self._owners[place] = row.client or ""

    def _on_stop(self, row: Row) -> None:
        place = place_of(row)
        if place is not None and self._owners.get(place) == row.client:
            del self._owners[place]

    # --- the judgement ---

    def _judge(self, due_ms: int) -> None:
        if self._open_faults or self._last is None:
            return  # A fault that is never healed may keep a group from rest for ever.
        at_work = {name: each for name, each in self._running.items() if not each.is_paused}
        for group in sorted({each.group for each in at_work.values()}):
            state = self.rosters.of(group).state
            if state != GroupState.STABLE.value:
                self._complain(f"{group} is {state} at {due_ms} ms")
                continue
            wanted = [
                self.patience.topics.get(name, "")
                for name, each in at_work.items()
                if each.group == group
            ]
            orphans = [
                f"{topic}-{partition}"
                for topic, count in sorted(self._partitions.items())
                if any(re.fullmatch(topics, topic) for topics in wanted)
                and not self._is_old_news(group, topic)
                for partition in range(count)
                if Place(group, topic, partition) not in self._owners
            ]
            if orphans:
                self._complain(f"nobody of {group} owns {', '.join(orphans)} at {due_ms} ms")

    def _is_old_news(self, group: str, topic: str) -> bool:
        """Whether a static leader came back after the topic had changed, and none has assigned."""
        assigned, returned = self._assigned.get(group, 0), self._returned.get(group, 0)
        return assigned < self._changed[topic] < returned

    def _complain(self, seen: str) -> None:
        assert self._last is not None
        self.blame(f"{seen}, {self.patience.settle_ms} ms after the last disturbance", self._last)
