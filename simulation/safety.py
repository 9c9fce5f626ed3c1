"""Safety: what no row of a run may show. One class for each property, with its sentence.

Checkers share rosters and commits with each other; `simulation.checkers` shows them the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from attrs import define, field

from coordinator import GroupState
from simulation.events import NOTHING_COMMITTED, EventKind, Kind, Row, WorldEventKind
from simulation.folds.commits import Commits
from simulation.folds.places import Handler, Place, place_of
from simulation.folds.rosters import Roster, Rosters, replaced_id
from simulation.violations import Checker

#: The assignors that give each partition to one member.
EXCLUSIVE_PROTOCOLS = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
COOPERATIVE_PROTOCOL = "cooperative-sticky"
#: A zombie is not known to lag behind by more generations than this.
_GENERATIONS_KEPT = 16
#: A request that was overtaken is not known to come after more commits than this.
_REQUESTS_KEPT = 256
_EMPTY, _COMPLETING = GroupState.EMPTY.value, GroupState.COMPLETING_REBALANCE.value

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@define(eq=False)
class Stint:
    """One partition in one generation: who processed it first, and who else was found to."""

    first: Row
    blamed: set[str] = field(factory=set)


@define(eq=False)
class OneProcessorPerGeneration(Checker):
    """Within one generation a partition has one processor.

    A generation that was not written down when its coordinator moved is given out again under the
    same number, while members of the old one may still be at work. So generations are told apart
    by the row that began them, and a member is in the one that it joined.
    """

    sentence: ClassVar[str] = "no partition is processed by two members of one generation"
    rosters: Rosters = field(factory=Rosters)
    #: By partition, then by generation and the row that began it, in the group's present life.
    _stints: dict[Place, dict[tuple[int, int], Stint]] = field(factory=dict)
    #: The row that began each generation: the latest of that number in a group, and a member's own.
    _begun: dict[str, dict[int, int]] = field(factory=dict)
    _joined: dict[str, dict[int, int]] = field(factory=dict)
    #: A static member that comes back is who it was.
    _same_as: dict[str, str] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Processing, and what makes one member of two ids, or two generations of one number."""
        return {
            WorldEventKind.RECORDS_PROCESSED: self._on_processed,
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.MEMBER_REPLACED: self._on_replaced,
            EventKind.GROUP_CREATED: self._on_new_life,
            EventKind.GROUP_REMOVED: self._on_new_life,
        }

    def _on_state(self, row: Row) -> None:
        """Called after the rosters know who joined this generation."""
        if row.state != _COMPLETING or row.generation is None:
            return
        _keep(self._begun.setdefault(row.group or "", {}), row.generation, row.seq)
        for member in self.rosters.of(row.group).present:
            _keep(self._joined.setdefault(member, {}), row.generation, row.seq)

    def _on_processed(self, row: Row) -> None:
        place = place_of(row)
        if place is None or row.generation is None or row.member is None:
            return
        protocol = self.rosters.of(row.group).protocol
        if protocol is not None and protocol not in EXCLUSIVE_PROTOCOLS:
            return
        stints = self._stints.setdefault(place, {})
        generation = (row.generation, self._beginning(row.group or "", row.member, row.generation))
        if (stint := stints.get(generation)) is None:
            stint = _keep(stints, generation, Stint(row))
        who = self._who(row)
        if who != self._who(stint.first) and who not in stint.blamed:
            stint.blamed.add(who)
            seen = (
                f"{stint.first.client} and {row.client} both processed {place} "
                f"in generation {row.generation}"
            )
            self.blame(seen, stint.first, row)

    def _beginning(self, group: str, member: str, generation: int) -> int:
        """The row that began a member's generation; 0 if no row tells of it."""
        latest = self._begun.get(group, {}).get(generation, 0)
        return self._joined.get(member, {}).get(generation, latest)

    def _who(self, row: Row) -> str:
        member = row.member or ""
        return self._same_as.get(member, member)

    def _on_replaced(self, row: Row) -> None:
        old, new = replaced_id(row), row.member or ""
        self._same_as[new] = self._same_as.get(old, old)
        self._joined[new] = self._joined.pop(old, {})

    def _on_new_life(self, row: Row) -> None:
        for place in [place for place in self._stints if place.group == row.group]:
            del self._stints[place]


def _keep(by_generation: dict[_Key, _Value], generation: _Key, value: _Value) -> _Value:
    """Remember this of a generation, and forget those that are too old to be met again."""
    by_generation[generation] = value
    if len(by_generation) > _GENERATIONS_KEPT:
        del by_generation[next(iter(by_generation))]
    return value


@define(eq=False)
class CommitsAreCurrent(Checker):
    """Only members of the present generation commit; anyone may in a group without members."""

    sentence: ClassVar[str] = "no commit is accepted from a fenced or stale member"
    rosters: Rosters = field(factory=Rosters)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Accepted commits."""
        return {EventKind.OFFSET_COMMITTED: self._on_committed}

    def _on_committed(self, row: Row) -> None:
        roster = self.rosters.of(row.group)
        if row.generation is None or row.generation < 0:
            if roster.state not in (None, _EMPTY) and roster.members and roster.is_certain:
                self.blame(f"a commit without a generation in a group that is {roster.state}", row)
        elif roster.generation is not None and row.generation != roster.generation:
            self.blame(
                f"a commit of generation {row.generation} in generation {roster.generation}", row
            )
        elif row.member is not None and roster.is_certain and row.member not in roster.members:
            self.blame(f"a commit of {row.client or row.member}, who is no member", row)


@define(eq=False)
class CommitsOnlyAdvance(Checker):
    """A committed offset goes back only if a row since then shows why.

    Reasons are a position that its consumer was sent to, unless it has begun at the committed
    offset since, an offset that was forgotten, an offset given by hand, by an application or by a
    script, a commit from outside the group, a request that overtook an earlier one on another
    connection, and an asynchronous commit that has waited for its coordinator to be found: one that
    was made later may go before it.
    """

    sentence: ClassVar[str] = "committed offsets never go back without a reason that the rows show"
    commits: Commits = field(factory=Commits)
    #: Where each consumer was sent last, unless it was to the committed offset.
    _sent_back: dict[tuple[Place, str], Row] = field(factory=dict)
    #: The commit that such a position has explained: if its write fails, the position holds on.
    _explained: dict[tuple[Place, str], int] = field(factory=dict)
    #: The offset that a consumer's application last gave by hand.
    _given: dict[tuple[Place, str], int | None] = field(factory=dict)
    #: The latest commit requests, by the row of their coming: the row of their sending.
    _sent: dict[int, int] = field(factory=dict)
    #: Those of them that a script sent, and those that had waited for a coordinator.
    _scripted: dict[int, None] = field(factory=dict)
    _late: dict[int, None] = field(factory=dict)
    #: The latest answers that named a coordinator.
    _found: dict[int, None] = field(factory=dict)
    #: The commit of those so far that was sent last: the row of its sending, and its offset.
    _newest: dict[Place, tuple[int, int]] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Commits, and what may send them back."""
        return {
            WorldEventKind.POSITION_SET: self._on_position,
            WorldEventKind.OFFSET_GIVEN: self._on_given,
            WorldEventKind.REQUEST_SENT: self._on_sent,
            WorldEventKind.REQUEST_RECEIVED: self._on_received,
            WorldEventKind.REPLY_RECEIVED: self._on_answer,
            EventKind.OFFSET_COMMITTED: self._on_committed,
        }

    def _on_position(self, row: Row) -> None:
        """Whoever begins at the committed offset is no longer where it was sent before."""
        place = place_of(row)
        if place is None:
            return
        who = place, row.client or ""
        self._explained.pop(who, None)
        if row.detail == "committed":
            self._sent_back.pop(who, None)
        else:
            self._sent_back[who] = row

    def _on_given(self, row: Row) -> None:
        place = place_of(row)
        if place is not None:
            self._given[place, row.client or ""] = row.offset

    def _on_sent(self, row: Row) -> None:
        """What nothing led to is the script's doing."""
        if row.request == "OffsetCommit" and row.cause is None:
            _remember(self._scripted, row.seq, None)
        elif row.request == "OffsetCommit" and row.cause in self._found:
            _remember(self._late, row.seq, None)

    def _on_answer(self, row: Row) -> None:
        if row.request == "FindCoordinator":
            _remember(self._found, row.seq, None)

    def _on_received(self, row: Row) -> None:
        if row.request == "OffsetCommit" and row.cause is not None:
            _remember(self._sent, row.seq, row.cause)

    def _on_committed(self, row: Row) -> None:
        """Called before the commits learn of it."""
        place = place_of(row)
        if place is None or row.offset is None:
            return
        before, who = self.commits.current.get(place), (place, row.client or "")
        # A repetition has no row of its own, unless another commit came between, and was faster.
        is_repetition = row.cause is not None and row.cause not in self._sent
        sent = self._sent.get(row.cause or 0, row.seq)
        newest_sent, newest = known = self._newest.get(place, (0, 0))
        is_late = sent < newest_sent or sent in self._late
        is_overtaken = is_repetition or is_late
        self._newest[place] = max((sent, row.offset), known)
        # A repetition says what was so before: it is not what a later position has led to.
        is_sent_back = self._is_sent_back(who, row, 0 if is_repetition else sent, before)
        # One that was overtaken may have gone ahead: after it comes what goes on from the newest.
        if before is None or row.offset >= min(before.offset or 0, newest):
            return
        is_by_hand = (
            row.member is None or sent in self._scripted or self._given.get(who) == row.offset
        )
        if not (is_overtaken or is_sent_back or is_by_hand):
            seen = f"{place} went back from {before.offset} to {row.offset}, by {row.client}"
            self.blame(seen, before, row)

    def _is_sent_back(
        self, who: tuple[Place, str], row: Row, sent: int, before: Row | None
    ) -> bool:
        """Whether its consumer was sent to where this commit may come from; excuses one commit."""
        if before is not None and self._explained.pop(who, None) == before.seq:
            self._sent_back.pop(who, None)
        sent_back = self._sent_back.get(who)
        if sent_back is None or (sent_back.offset or 0) > (row.offset or 0):
            return False
        if sent > sent_back.seq:
            self._explained[who] = row.seq
        return True


def _remember(requests: dict[int, _Value], seq: int, value: _Value) -> None:
    requests[seq] = value
    if len(requests) > _REQUESTS_KEPT:
        del requests[next(iter(requests))]


@define(eq=False)
class GenerationsRise(Checker):
    """Each new generation has a higher number than the one before."""

    sentence: ClassVar[str] = "a group's generations only rise between loads of its coordinator"
    _last: dict[str, Row] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Where a group's generation is told, and where it starts afresh."""
        return {
            EventKind.GROUP_CREATED: self._on_load,
            EventKind.GROUP_LOADED: self._on_load,
            EventKind.GROUP_REMOVED: self._on_removed,
            EventKind.STATE_CHANGED: self._on_state,
        }

    def _on_load(self, row: Row) -> None:
        self._last[row.group or ""] = row

    def _on_removed(self, row: Row) -> None:
        self._last.pop(row.group or "", None)

    def _on_state(self, row: Row) -> None:
        last = self._last.get(row.group or "")
        self._last[row.group or ""] = row
        if last is None or last.generation is None or row.generation is None:
            return
        is_new = row.state == _COMPLETING
        least = last.generation + 1 if is_new else last.generation
        if row.generation < least:
            seen = f"{row.group} went from generation {last.generation} to {row.generation}"
            self.blame(seen, last, row)


@define(eq=False)
class CooperativeOwnersAreAlone(Checker):
    """Under the cooperative protocol a partition changes hands with nobody at it in between.

    A static member that misses a rebalance keeps its session (KIP-345), but the assignor goes by
    what it owned when it last joined. So static members count only if they joined the present
    generation.
    """

    sentence: ClassVar[str] = (
        "in cooperative mode no partition is owned by two members at once that both have a live "
        "session and, if they are static, have not missed the present generation"
    )
    rosters: Rosters = field(factory=Rosters)
    _owners: dict[Place, dict[str, Row]] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Who owns what."""
        return {
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
            WorldEventKind.PARTITION_REVOKED: self._on_stop,
            WorldEventKind.PARTITION_LOST: self._on_stop,
            WorldEventKind.CONSUMER_CRASHED: self._on_gone,
            WorldEventKind.CONSUMER_STOPPED: self._on_gone,
        }

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        if place is None or row.client is None:
            return
        owners = self._owners.setdefault(place, {})
        roster = self.rosters.of(row.group)
        if roster.protocol == COOPERATIVE_PROTOCOL and roster.is_certain:
            for client, other in owners.items():
                if client != row.client and _are_live(roster, other, row):
                    self.blame(f"{client} and {row.client} both own {place}", other, row)
        owners[row.client] = row

    def _on_stop(self, row: Row) -> None:
        place = place_of(row)
        if place is not None:
            self._owners.get(place, {}).pop(row.client or "", None)

    def _on_gone(self, row: Row) -> None:
        for owners in self._owners.values():
            owners.pop(row.client or "", None)


def _are_live(roster: Roster, *owners: Row) -> bool:
    return all(
        owner.member in roster.members
        and (owner.instance is None or owner.member in roster.present)
        for owner in owners
    )


@define(eq=False)
class AcknowledgedCommitsSurvive(Checker):
    """Whoever takes a partition over finds what was acknowledged before, or a later commit.

    Where no offset was committed at all, the reader may be sent beyond it as well. A topic that
    comes again under its old name is not asked about: commits name topics, so it may have been
    given offsets of the old one, beyond the end of its own logs.
    """

    sentence: ClassVar[str] = "no acknowledged commit is lost in a failover"
    commits: Commits = field(factory=Commits)
    _acknowledged: dict[Place, Row] = field(factory=dict)
    #: What each owner must find: the acknowledgement that came before its assignment.
    _floors: dict[Place, dict[str, Row]] = field(factory=dict)
    _log_starts: dict[tuple[str, int], int] = field(factory=dict)
    _deleted: set[str] = field(factory=set)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Acknowledgements, what later takes them back, and where readers begin."""
        return {
            WorldEventKind.COMMIT_ACKNOWLEDGED: self._on_acknowledged,
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
            WorldEventKind.POSITION_SET: self._on_position,
            WorldEventKind.LOG_START_MOVED: self._on_log_start,
            WorldEventKind.TOPIC_DELETED: self._on_topic_deleted,
            EventKind.OFFSET_COMMITTED: self._on_committed,
            EventKind.OFFSET_REMOVED: self._on_removed,
        }

    def _on_acknowledged(self, row: Row) -> None:
        """An acknowledgement counts unless another commit has taken its place since."""
        place = place_of(row)
        if place is None or place.topic in self._deleted:
            return
        if self.commits.offset(place) == row.offset:
            self._acknowledged[place] = row

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        if place is not None and place in self._acknowledged:
            self._floors.setdefault(place, {})[row.client or ""] = self._acknowledged[place]

    def _on_position(self, row: Row) -> None:
        """Only the first position since the assignment says what the coordinator knew."""
        place = place_of(row)
        floor = None if place is None else self._floors.get(place, {}).pop(row.client or "", None)
        if place is None or floor is None or row.offset is None or floor.offset is None:
            return
        is_back = row.offset < floor.offset and row.detail != "seek"
        has_records = floor.offset >= self._log_starts.get((place.topic, place.partition), 0)
        if row.detail == NOTHING_COMMITTED or (is_back and has_records):
            began = f"{row.client} began {place} at {row.offset}, {row.detail}"
            self.blame(f"{began}; {floor.offset} was acknowledged", floor, row)

    def _on_log_start(self, row: Row) -> None:
        self._log_starts[row.topic or "", row.partition or 0] = row.offset or 0

    def _on_committed(self, row: Row) -> None:
        """A commit that goes back takes the acknowledgement with it; that is another's business."""
        place = place_of(row)
        if place is None:
            return
        known = self._acknowledged.get(place)
        if known is not None and (row.offset or 0) < (known.offset or 0):
            self._forget(place)

    def _on_removed(self, row: Row) -> None:
        place = place_of(row)
        if place is not None:
            self._forget(place)

    def _on_topic_deleted(self, row: Row) -> None:
        self._deleted.add(row.topic or "")
        for place in [place for place in self._acknowledged if place.topic == row.topic]:
            self._forget(place)

    def _forget(self, place: Place) -> None:
        self._acknowledged.pop(place, None)
        self._floors.pop(place, None)
