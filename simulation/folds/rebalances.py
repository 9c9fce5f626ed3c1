"""The rebalances of each group: why, how long, in which phases, who held them, what they moved.

A rebalance lasts from the group's leaving Stable or Empty to its next Stable or Empty, or until
its coordinator gives the group up.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field, frozen

from coordinator import GroupState
from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Place, place_of
from simulation.folds.rosters import Rosters

_PREPARING = GroupState.PREPARING_REBALANCE.value
_COMPLETING = GroupState.COMPLETING_REBALANCE.value
_CLIENT_REASON = "; client reason: "
_NO_REASON = "not provided"
_STILL_AWAITED = "; still awaited: "
_PENDING, _NEVER_CAME_BACK = "pending member ", " never came back"
_CHANGED_HANDS = "until the coordinator was another"
_SESSION, _EXPIRED = "session of ", " expired"


@frozen
class Phase:
    """A stay of the group in one state."""

    state: str
    started_ms: int
    ended_ms: int

    @property
    def duration_ms(self) -> int:
        """How long it took."""
        return self.ended_ms - self.started_ms


@frozen
class Hold:
    """Whom a phase waited for last, and from when to when."""

    who: str
    why: str
    started_ms: int
    ended_ms: int

    @property
    def duration_ms(self) -> int:
        """How long it took."""
        return self.ended_ms - self.started_ms

    def __str__(self) -> str:
        return f"held {self.duration_ms / 1_000:.1f} s by {self.who}, {self.why}"


@frozen(kw_only=True)
class Rebalance:
    """One rebalance of one group; an open one is told as far as it went."""

    group: str
    #: The row in which the group left its rest.
    seq: int
    #: Why, with consumers' names: "session of ada expired".
    cause: str
    #: What the client said of itself when it joined or left (KIP-800).
    client_reason: str | None
    started_ms: int
    ended_ms: int
    #: The state in which it ended; None while it goes on.
    ended_in: str | None
    generation: int | None
    members: int
    phases: tuple[Phase, ...]
    held: Hold | None
    #: When the join phase would have ended by itself, if a row says so.
    deadline_ms: int | None
    #: Partitions whose owner differs before and after.
    moved: int
    #: The assignor that its last generation voted for.
    protocol: str | None = None
    #: Whom a rebalance that goes on waits for: "ada, bea to join".
    awaited: str | None = None

    @property
    def duration_ms(self) -> int:
        """How long it took, or has taken so far."""
        return self.ended_ms - self.started_ms

    def __str__(self) -> str:
        held = "" if self.held is None else f"; {self.held}"
        limit = "" if self.deadline_ms is None else f"; at most until {_seconds(self.deadline_ms)}"
        is_open = " so far" if self.ended_in is None else ""
        return (
            f"{self.group} at {_seconds(self.started_ms)}: {self.cause}; "
            f"took {_seconds(self.duration_ms)}{is_open}{held}{limit}"
        )


@define(eq=False, kw_only=True)
class Course:
    """A rebalance under way, or over but for what it moved."""

    start: Row
    cause: str
    client_reason: str | None
    phases: list[Phase] = field(factory=list)
    state: str
    state_since_ms: int
    deadline_ms: int | None = None
    generation: int | None = None
    protocol: str | None = None
    members: int = 0
    ended_ms: int | None = None
    ended_in: str | None = None
    held: Hold | None = None
    #: Who did something last in the present join phase, and what it was.
    last: tuple[str, str] | None = None
    #: Who led the group when the present phase began.
    leader: str = "the leader"
    #: The owners before this rebalance, of partitions assigned since.
    owners_before: dict[Place, str] = field(factory=dict)


@define(eq=False)
class RebalanceFold:
    """`rebalances`, `rebalance_s` and `moved`."""

    rosters: Rosters
    finished: list[Rebalance] = field(factory=list)
    _courses: dict[str, Course] = field(factory=dict)
    _owners: dict[Place, str] = field(factory=dict)
    _leaders: dict[str, str] = field(factory=dict)
    #: Who has been given a member id and not come back with it, by group.
    _pending: dict[str, dict[str, None]] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """The moves of groups, what members do meanwhile, and who gets what in the end."""
        return {
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.GROUP_LOADED: self._on_given_up,
            EventKind.GROUP_REMOVED: self._on_given_up,
            EventKind.MEMBER_ID_GIVEN: self._on_id_given,
            WorldEventKind.TIMER_FIRED: self._on_timer,
            EventKind.MEMBER_ADDED: self._on_arrival,
            EventKind.MEMBER_REJOINED: self._on_arrival,
            EventKind.MEMBER_REPLACED: self._on_arrival,
            EventKind.MEMBER_REMOVED: self._on_departure,
            EventKind.LEADER_ELECTED: self._on_leader,
            EventKind.JOIN_PHASE_EXTENDED: self._on_join_phase_extended,
            EventKind.JOIN_PHASE_ENDED: self._on_join_phase_ended,
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
        }

    def rebalances(self, now_ms: int) -> list[Rebalance]:
        """All rebalances, in the order in which they began."""
        known = [
            *self.finished,
            *(self._told(group, course, now_ms) for group, course in self._courses.items()),
        ]
        return sorted(known, key=lambda rebalance: rebalance.seq)

    # --- the course of a rebalance ---

    def _on_state(self, row: Row) -> None:
        group = row.group or ""
        course = self._courses.get(group)
        is_under_way = course is not None and course.ended_ms is None
        if row.state in (_PREPARING, _COMPLETING):
            if course is None or not is_under_way:
                self._begin(group, row)
                return
            self._turn(course, row)
            if row.state == _PREPARING:
                course.deadline_ms = _deadline(row)
        elif course is not None and is_under_way:
            self._turn(course, row)
            course.ended_ms, course.ended_in = row.at_ms, row.state
            course.members = row.count or 0

    def _on_join_phase_extended(self, row: Row) -> None:
        if (course := self._courses.get(row.group or "")) is not None:
            course.deadline_ms = _deadline(row)

    def _begin(self, group: str, row: Row) -> None:
        if (before := self._courses.pop(group, None)) is not None:
            self.finished.append(self._told(group, before, row.at_ms))
        cause, _, reason = (row.detail or "").partition(_CLIENT_REASON)
        self._courses[group] = Course(
            start=row,
            cause=self.rosters.in_names(cause),
            client_reason=reason if reason not in ("", _NO_REASON) else None,
            state=row.state or "",
            state_since_ms=row.at_ms,
            deadline_ms=_deadline(row),
            generation=row.generation,
            members=row.count or 0,
        )

    def _turn(self, course: Course, row: Row) -> None:
        """The group goes from one phase to the next, or to rest."""
        if row.kind == EventKind.GROUP_LOADED.value or row.state == GroupState.DEAD.value:
            what = "joins" if course.state == _PREPARING else "the assignment"
            since_ms = course.state_since_ms
            self._hold(course, Hold(f"the wait for {what}", _CHANGED_HANDS, since_ms, row.at_ms))
        elif course.state == _COMPLETING:
            self._hold(course, self._hold_of_sync(course, row))
        course.phases.append(Phase(course.state, course.state_since_ms, row.at_ms))
        course.state, course.state_since_ms = row.state or "", row.at_ms
        # Whoever is elected when this one is removed has held nothing yet.
        course.leader = self._leaders.get(row.group or "", "the leader")
        course.generation = row.generation
        course.protocol = None if row.state == _PREPARING else row.protocol
        course.last = None

    def _on_given_up(self, row: Row) -> None:
        course = self._courses.get(row.group or "")
        if course is not None and course.ended_ms is None:
            self._turn(course, row)
            course.ended_ms, course.ended_in = row.at_ms, row.state or GroupState.DEAD.value

    # --- who held it ---

    def _on_arrival(self, row: Row) -> None:
        self._on_timer(row)
        self._note(row, "which joined last")

    def _on_id_given(self, row: Row) -> None:
        self._pending.setdefault(row.group or "", {})[row.member or ""] = None

    def _on_timer(self, row: Row) -> None:
        """Whoever has come, or whose time is up, is not pending any more."""
        self._pending.get(row.group or "", {}).pop(row.member or "", None)

    def _on_departure(self, row: Row) -> None:
        if (row.detail or "").startswith("it left"):
            self._note(row, "which left")

    def _note(self, row: Row, why: str) -> None:
        course = self._courses.get(row.group or "")
        if course is not None and course.state == _PREPARING:
            course.last = (self.rosters.name(row.member), why)

    def _on_leader(self, row: Row) -> None:
        self._leaders[row.group or ""] = f"leader {self.rosters.name(row.member)}"

    def _on_join_phase_ended(self, row: Row) -> None:
        course = self._courses.get(row.group or "")
        if course is not None:
            hold = _hold_of_join(self.rosters, course, row)
            if hold is not None:
                self._hold(course, hold)

    def _hold_of_sync(self, course: Course, row: Row) -> Hold:
        """The phase of assignments waits for the leader, unless somebody ends it first."""
        ending = self.rosters.in_names((row.detail or "").partition(_CLIENT_REASON)[0])
        why = f"until {ending}" if row.state == _PREPARING else "which assigned"
        return Hold(course.leader, why, course.state_since_ms, row.at_ms)

    def _awaited(self, group: str, course: Course) -> str | None:
        """Whom the present phase waits for, as far as rows tell."""
        if course.state == _COMPLETING:
            return f"{course.leader} to assign"
        roster = self.rosters.of(group)
        late = [self.rosters.name(each) for each in roster.members if each not in roster.joined]
        if late:
            return f"{', '.join(sorted(late))} to join"
        pending = [self.rosters.name(each) for each in self._pending.get(group, {})]
        if pending:
            return f"pending {', '.join(sorted(pending))} to come back with the member id"
        return "the initial delay, which gathers the first members"

    def _hold(self, course: Course, hold: Hold) -> None:
        if course.held is None or hold.duration_ms > course.held.duration_ms:
            course.held = hold

    # --- what it moved ---

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        if place is None or row.client is None:
            return
        before = self._owners.get(place)
        course = self._courses.get(place.group)
        if course is not None and before is not None:
            course.owners_before.setdefault(place, before)
        self._owners[place] = row.client

    def _told(self, group: str, course: Course, now_ms: int) -> Rebalance:
        ended_ms = now_ms if course.ended_ms is None else course.ended_ms
        phases = list(course.phases)
        if course.ended_ms is None:
            phases.append(Phase(course.state, course.state_since_ms, now_ms))
        return Rebalance(
            group=group,
            seq=course.start.seq,
            cause=course.cause,
            client_reason=course.client_reason,
            started_ms=course.start.at_ms,
            ended_ms=ended_ms,
            ended_in=course.ended_in,
            generation=course.generation,
            members=course.members,
            phases=tuple(phases),
            held=course.held,
            deadline_ms=course.deadline_ms,
            moved=sum(
                self._owners[place] != before for place, before in course.owners_before.items()
            ),
            protocol=course.protocol,
            awaited=self._awaited(group, course) if course.ended_ms is None else None,
        )


def _hold_of_join(rosters: Rosters, course: Course, row: Row) -> Hold | None:
    """Whom the wait for joins waited for last, from what its end says; None if for nobody."""
    reason, _, awaited = (row.detail or "").partition(_STILL_AWAITED)
    if reason.startswith(_PENDING):
        who, why = reason.removesuffix(_NEVER_CAME_BACK), "which never came back"
    elif reason.startswith(_SESSION):
        who, why = reason.removeprefix(_SESSION).removesuffix(_EXPIRED), "whose session expired"
    elif awaited:
        who, why = awaited, "awaited in vain"
    elif reason.startswith("everyone"):
        if course.last is None:
            return None
        who, why = course.last
    else:
        who, why = "the initial delay", "which gathers the first members"
    return Hold(rosters.in_names(who), why, course.state_since_ms, row.at_ms)


def _deadline(row: Row) -> int | None:
    return None if row.duration_ms is None else row.at_ms + row.duration_ms


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.1f} s"
