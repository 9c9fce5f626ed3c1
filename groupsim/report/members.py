"""What each consumer was doing: in its group or not, standing still, dead; beats and commits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from attrs import define, evolve, field, frozen

from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Member, Place, place_of
from simulation.folds.rosters import Rosters, replaced_id

__all__ = [
    "ABSENT",
    "BROKEN",
    "COMMITTED",
    "CRASHED",
    "FAILED",
    "MISSED",
    "OUTSIDE",
    "PRESENT",
    "STARTED",
    "STILL",
    "STILL_OUTSIDE",
    "STOPPED",
    "Beats",
    "Mark",
    "MemberFold",
    "MemberStay",
]

#: What a consumer is at a time. One that is down without the group's knowing is missed by nobody
#: until its session is over; a static member's place is kept for it meanwhile.
PRESENT, OUTSIDE, STILL, STILL_OUTSIDE, MISSED = (
    "in the group",
    "not in the group",
    "stands still",
    "stands still, not in the group",
    "down, still a member",
)
#: What a consumer is that is down and no member either; it is not told.
ABSENT = "absent"
#: What may happen to it at a moment.
STARTED, STOPPED, CRASHED, BROKEN, COMMITTED, FAILED = (
    "started",
    "stopped",
    "crashed",
    "ended with an error",
    "committed",
    "commit failed",
)
_LAST = re.compile(r"the last at (\d+) ms")
_HEARTBEAT = "Heartbeat"


@frozen(kw_only=True)
class MemberStay:
    """A stretch of a consumer's life."""

    member: Member
    what: str
    from_ms: int
    to_ms: int


@frozen(kw_only=True)
class Mark:
    """What happened to a consumer at a moment, or `count` times shortly after one another."""

    member: Member
    what: str
    at_ms: int
    count: int = 1
    detail: str = ""


@frozen(kw_only=True)
class Beats:
    """Heartbeats that were answered, one after the other."""

    member: Member
    count: int
    from_ms: int
    to_ms: int


@define(eq=False)
class _Life:
    """One consumer now."""

    is_running: bool = False
    is_paused: bool = False
    #: Its id in the group, if it is a member.
    member_id: str | None = None
    since_ms: int = 0
    was: str = ABSENT

    def is_now(self) -> str:
        """What it is."""
        if not self.is_running:
            return ABSENT if self.member_id is None else MISSED
        if self.is_paused:
            return STILL_OUTSIDE if self.member_id is None else STILL
        return OUTSIDE if self.member_id is None else PRESENT


@define(eq=False)
class MemberFold:
    """The lives of consumers, as rows tell.

    What happens more often than once in `bucket_ms` is counted. Whoever shows it rows shows them
    to its `rosters` first.
    """

    bucket_ms: int
    #: Who is a member by the log, and so after a load.
    rosters: Rosters = field(factory=Rosters)
    #: How often consumers ended with an error and how often commits failed, by group and error.
    errors: Counter[tuple[str, str]] = field(factory=Counter, init=False)
    failed_commits: Counter[tuple[str, str]] = field(factory=Counter, init=False)
    #: The commit that was told last.
    _commit: tuple[object, ...] = field(default=(), init=False)
    _places: set[Place | None] = field(factory=set, init=False)
    _lives: dict[Member, _Life] = field(factory=dict, init=False)
    _stays: list[MemberStay] = field(factory=list, init=False)
    _marks: dict[tuple[Member, str, int], Mark] = field(factory=dict, init=False)
    #: The heartbeats of each of a consumer's lives: it may be started again.
    _beats: dict[Member, list[list[Beats]]] = field(factory=dict, init=False)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Whatever a consumer does or suffers as a member."""
        return {
            WorldEventKind.CONSUMER_STARTED: self._on_started,
            WorldEventKind.CONSUMER_STOPPED: self._ends(STOPPED),
            WorldEventKind.CONSUMER_CRASHED: self._ends(CRASHED),
            WorldEventKind.CONSUMER_PAUSED: self._on_paused,
            WorldEventKind.CONSUMER_RESUMED: self._on_paused,
            EventKind.GROUP_LOADED: self._on_loaded,
            EventKind.MEMBER_ADDED: self._on_member,
            EventKind.MEMBER_REPLACED: self._on_replaced,
            EventKind.MEMBER_REMOVED: self._on_removed,
            WorldEventKind.COMMIT_ACKNOWLEDGED: self._on_commit,
            WorldEventKind.COMMIT_FAILED: self._on_commit,
            WorldEventKind.COMMITS_REPEATED: self._on_repeated,
            WorldEventKind.HEARTBEATS_ANSWERED: self._on_quiet_beats,
            WorldEventKind.REPLY_RECEIVED: self._on_reply,
        }

    def stays(self, now_ms: int) -> list[MemberStay]:
        """All stretches in the order of members; what goes on ends now."""
        for member, life in self._lives.items():
            self._turn(member, life, now_ms)
        found: list[MemberStay] = []
        for stay in sorted(self._stays, key=lambda stay: (stay.member, stay.from_ms)):
            if found and _is_more_of(found[-1], stay):
                found[-1] = evolve(found[-1], to_ms=stay.to_ms)
            else:
                found.append(stay)
        return found

    def marks(self) -> list[Mark]:
        """Everything that happened at a moment."""
        return sorted(self._marks.values(), key=lambda mark: (mark.member, mark.at_ms, mark.what))

    def beats(self) -> list[Beats]:
        """The heartbeats of all members; those that go on at a member's pace are one stretch."""
        found: list[Beats] = []
        usual_ms = _pace_ms(life for lives in self._beats.values() for life in lives)
        for _, lives in sorted(self._beats.items()):
            pace_ms = _pace_ms(lives) or usual_ms or _short_gap_ms(lives)
            patience_ms = max(self.bucket_ms, pace_ms * 3 // 2)
            for life in lives:
                found += _joined(life, patience_ms)
        return found

    # --- lives ---

    def _on_started(self, row: Row) -> None:
        self._change(row, is_running=True, is_paused=False)
        self._mark(row, STARTED)
        if row.client is not None and row.group is not None:
            self._beats.setdefault(Member(row.group, row.client), []).append([])

    def _ends(self, what: str) -> Callable[[Row], None]:
        def end(row: Row) -> None:
            self._change(row, is_running=False, is_paused=False)
            detail = ", ".join(each for each in (row.error, row.detail) if each)
            is_broken = what == STOPPED and row.error is not None
            self._mark(row, BROKEN if is_broken else what, detail)
            if is_broken and row.group is not None:
                self.errors[row.group, row.error or ""] += 1

        return end

    def _on_paused(self, row: Row) -> None:
        is_paused = row.kind == WorldEventKind.CONSUMER_PAUSED.value
        self._change(row, is_paused=is_paused)

    def _on_member(self, row: Row) -> None:
        self._change(row, member_id=row.member)

    def _on_replaced(self, row: Row) -> None:
        self._leave(row, replaced_id(row))
        self._change(row, member_id=row.member)

    def _on_removed(self, row: Row) -> None:
        self._leave(row, row.member)

    def _on_loaded(self, row: Row) -> None:
        """Members are those that the log knows: some that were out are back, some are out."""
        roster = self.rosters.of(row.group)
        if not roster.is_certain:
            return
        ids = {client: member_id for member_id, client in roster.members.items()}
        for member, life in self._lives.items():
            if member.group == row.group:
                self._turn(member, life, row.at_ms)
                life.member_id = ids.get(member.client)
                life.was = life.is_now()

    def _leave(self, row: Row, member_id: str | None) -> None:
        for member, life in self._lives.items():
            if member.group == row.group and life.member_id == member_id is not None:
                self._turn(member, life, row.at_ms)
                life.member_id = None
                life.was = life.is_now()

    def _change(self, row: Row, **changes: object) -> None:
        if row.client is None or row.group is None:
            return
        member = Member(row.group, row.client)
        life = self._lives.setdefault(member, _Life())
        self._turn(member, life, row.at_ms)
        for name, value in changes.items():
            setattr(life, name, value)
        life.was = life.is_now()

    def _turn(self, member: Member, life: _Life, now_ms: int) -> None:
        """Keep what it was up to now."""
        if life.was != ABSENT and now_ms > life.since_ms:
            stay = MemberStay(member=member, what=life.was, from_ms=life.since_ms, to_ms=now_ms)
            self._stays.append(stay)
        life.since_ms = now_ms

    # --- moments ---

    def _mark(
        self, row: Row, what: str, detail: str = "", at_ms: int | None = None, count: int = 1
    ) -> None:
        if row.client is None or row.group is None:
            return
        member = Member(row.group, row.client)
        at_ms = row.at_ms if at_ms is None else at_ms
        key = (member, what, at_ms // self.bucket_ms)
        before = self._marks.get(key)
        self._marks[key] = Mark(
            member=member,
            what=what,
            at_ms=at_ms if before is None else before.at_ms,
            count=count if before is None else before.count + count,
            detail=detail,
        )

    def _on_commit(self, row: Row) -> None:
        # A commit of several partitions has a row for each of them.
        commit = (row.group, row.client, row.kind, row.error, row.at_ms)
        place = place_of(row)
        if commit == self._commit and place not in self._places:
            self._places.add(place)
            return
        self._commit, self._places = commit, {place}
        is_failed = row.kind == WorldEventKind.COMMIT_FAILED.value
        self._mark(row, FAILED if is_failed else COMMITTED, row.error or "")
        if is_failed and row.group is not None:
            self.failed_commits[row.group, row.error or ""] += 1

    def _on_repeated(self, row: Row) -> None:
        """The row is written when something else happens; its commits came steadily before."""
        last_ms, count, lasted_ms = _last_ms(row), row.count or 1, row.duration_ms or 0
        ticks = min(count, lasted_ms // self.bucket_ms + 1)
        for n in range(ticks):
            left_ms = lasted_ms * (ticks - 1 - n) // max(1, ticks - 1)
            share = count * (n + 1) // ticks - count * n // ticks
            self._mark(row, COMMITTED, at_ms=last_ms - left_ms, count=share)

    # --- heartbeats ---

    def _on_quiet_beats(self, row: Row) -> None:
        last_ms = _last_ms(row)
        self._beat(row, row.count or 1, last_ms - (row.duration_ms or 0), last_ms)

    def _on_reply(self, row: Row) -> None:
        if row.request == _HEARTBEAT:
            self._beat(row, 1, row.at_ms - (row.duration_ms or 0), row.at_ms)

    def _beat(self, row: Row, count: int, from_ms: int, to_ms: int) -> None:
        if row.client is None or row.group is None:
            return
        member = Member(row.group, row.client)
        beats = Beats(member=member, count=count, from_ms=from_ms, to_ms=to_ms)
        self._beats.setdefault(member, [[]])[-1].append(beats)


def _last_ms(row: Row) -> int:
    """When the last was answered of those that a row counts."""
    found = _LAST.match(row.detail or "")
    return row.at_ms if found is None else int(found[1])


def _joined(beats: Sequence[Beats], patience_ms: int) -> list[Beats]:
    """What follows soon is more of the same; a longer silence can be seen."""
    found: list[Beats] = []
    for each in beats:
        if found and each.from_ms - found[-1].to_ms <= patience_ms:
            before = found[-1]
            count = before.count + each.count
            found[-1] = evolve(before, count=count, to_ms=each.to_ms)
        else:
            found.append(each)
    return found


def _pace_ms(lives: Iterable[Sequence[Beats]]) -> int:
    """How long it is from one heartbeat to the next where nothing holds them up; 0 if unknown.

    Only heartbeats that a row counts together have come steadily; between rows anything may be.
    """
    paces = [
        (each.to_ms - each.from_ms) // (each.count - 1)
        for life in lives
        for each in life
        if each.count > 1
    ]
    return sorted(paces)[len(paces) // 2] if paces else 0


def _short_gap_ms(lives: Iterable[Sequence[Beats]]) -> int:
    """The pace where every heartbeat has its own row: most of the gaps may be longer."""
    gaps = sorted(
        after.from_ms - before.to_ms for life in lives for before, after in pairwise(life)
    )
    return gaps[len(gaps) // 4] if gaps else 0


def _is_more_of(before: MemberStay, after: MemberStay) -> bool:
    return (before.member, before.what, before.to_ms) == (after.member, after.what, after.from_ms)
