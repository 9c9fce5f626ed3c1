"""Why a rebalance took as long as it did: its critical path, walked back by causes, in sentences.

What ended the rebalance was caused by something, which was caused by something, and so on back to
its beginning: that chain is the critical path, and the gaps between its rows add up to the
rebalance. What never happened has no row, so a long gap is explained by what else is known of whom
it waited for: it was dead, stood still, was cut off, or had records to process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import define, field, frozen

from coordinator import GroupState
from simulation.events import EventKind, Row, WorldEventKind
from simulation.folds.rebalances import Hold
from simulation.measures import Measurer, Measures, Rebalance
from simulation.sentences import Names, clause_of, counted, in_time, lasting, worth_saying

__all__ = ["Explanation", "Step", "Witness", "explain"]

_PREPARING, _COMPLETING = "PreparingRebalance", "CompletingRebalance"
_STATE_CHANGED = EventKind.STATE_CHANGED.value
_JOIN_PHASE_ENDED = EventKind.JOIN_PHASE_ENDED.value
#: A group that is loaded or removed ends its rebalance, unfinished.
_GIVEN_UP = (EventKind.GROUP_LOADED.value, EventKind.GROUP_REMOVED.value)
_REMOVED, _SAID = EventKind.MEMBER_REMOVED.value, "; client reason: "
_TIMER_FIRED = WorldEventKind.TIMER_FIRED.value
_REPLY_SENT, _NEWS = WorldEventKind.REPLY_SENT.value, "REBALANCE_IN_PROGRESS"
#: Shorter waits need no explanation.
_NOT_AT_ONCE_MS = 100
_PROCESSED = WorldEventKind.RECORDS_PROCESSED.value
#: What may keep a consumer from acting: told while it lasts, and told when it is over.
_STALLS = {
    WorldEventKind.CONSUMER_CRASHED.value: ("had crashed at", "was down"),
    WorldEventKind.CONSUMER_PAUSED.value: ("had stood still since", "stood still"),
    WorldEventKind.CONSUMER_STOPPED.value: ("had stopped at", "was stopped"),
    WorldEventKind.FAULT_STARTED.value: ("had been in trouble since", "was in trouble"),
}
_ENDS_A_STALL = {
    WorldEventKind.CONSUMER_STARTED.value,
    WorldEventKind.CONSUMER_RESUMED.value,
    WorldEventKind.FAULT_HEALED.value,
}
_AT_A_TIME = 1_024
#: What a part of a rebalance must take of the whole to be worth a sentence.
_WORTH_SAYING = 10


@frozen(kw_only=True)
class Step:
    """One row of the critical path, and how long the rebalance waited for it."""

    seq: int
    at_ms: int
    kind: str
    waited_ms: int
    text: str


@frozen(kw_only=True)
class Explanation:
    """A rebalance explained."""

    rebalance: Rebalance
    sentences: tuple[str, ...]
    path: tuple[Step, ...]


@frozen
class Stall:
    """A stretch in which a consumer, or everybody, could not act; None is still open."""

    row: Row
    until_ms: int | None


@define(eq=False)
class Witness:
    """What one look at all rows leaves: names, measures, and who could not act when."""

    names: Names = field(factory=Names)
    stalls: list[Stall] = field(factory=list)
    _measurer: Measurer = field(factory=Measurer)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Witness:
        """The witness of a whole run."""
        witness = cls()
        for row in rows:
            witness.take(row)
        return witness

    def take(self, row: Row) -> None:
        """Look at the next row."""
        self.names.learn(row)
        self._measurer.take(row)
        if row.kind in _STALLS:
            self.stalls.append(Stall(row, None))
        elif row.kind in _ENDS_A_STALL:
            self.stalls = [
                Stall(each.row, row.at_ms) if _ends(row, each) else each for each in self.stalls
            ]

    def measures(self) -> Measures:
        """What the rows come to."""
        return self._measurer.measures()

    def stall_of(self, client: str | None, from_ms: int, to_ms: int) -> Stall | None:
        """What kept this consumer from acting for longest between these times."""
        found = [
            each
            for each in self.stalls
            if each.row.client in (client, None) and _overlap(each, from_ms, to_ms) > 0
        ]
        return max(found, key=lambda each: _overlap(each, from_ms, to_ms), default=None)


def _ends(row: Row, stall: Stall) -> bool:
    if stall.until_ms is not None or stall.row.client != row.client:
        return False
    is_fault = stall.row.kind == WorldEventKind.FAULT_STARTED.value
    return row.detail == stall.row.detail if is_fault else True


def _overlap(stall: Stall, from_ms: int, to_ms: int) -> int:
    until_ms = to_ms if stall.until_ms is None else min(to_ms, stall.until_ms)
    return until_ms - max(from_ms, stall.row.at_ms)


def explain(rows: Sequence[Row], rebalance: Rebalance, witness: Witness) -> Explanation:
    """Why this rebalance began, what it waited for, and how it ended."""
    telling = _Telling(rows, rebalance, witness)
    return Explanation(
        rebalance=rebalance,
        sentences=tuple(telling.sentences()),
        path=tuple(telling.steps()),
    )


@define(eq=False)
class _Telling:
    """One rebalance under the eyes of somebody who has seen the whole run."""

    rows: Sequence[Row]
    rebalance: Rebalance
    witness: Witness
    start: Row = field(init=False)
    #: The rows from its beginning to its end.
    within: Sequence[Row] = field(init=False)
    path: list[Row] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Find the end, then walk back."""
        self.start = self.rows[self.rebalance.seq - 1]
        self.within = self._until_the_end()
        self.path = self._walk_back()

    def _until_the_end(self) -> list[Row]:
        found: list[Row] = []
        for row in _rows_from(self.rows, self.rebalance.seq):
            if row.at_ms > self.rebalance.ended_ms:
                break
            found.append(row)
            if row.group == self.rebalance.group and _is_rest(row):
                break
        return found

    def _walk_back(self) -> list[Row]:
        """From the last row of the group that belongs to it, cause by cause, to the start."""
        of_the_group = [row for row in self.within if _is_of(self.rebalance.group, row)]
        row = of_the_group[-1]
        path = [row]
        while row.cause is not None and row.seq > self.start.seq:
            row = self.rows[row.cause - 1]
            path.append(row)
        # What it waited for may have been on its way before it began.
        if path[-1].seq != self.start.seq:
            path = [*(row for row in path if row.seq > self.start.seq), self.start]
        return path[::-1]

    def steps(self) -> list[Step]:
        """The critical path from the beginning to the end."""
        before = [self.start, *self.path]
        return [
            Step(
                seq=row.seq,
                at_ms=row.at_ms,
                kind=row.kind,
                waited_ms=row.at_ms - last.at_ms,
                text=clause_of(self.witness.names, row),
            )
            for last, row in zip(before, self.path, strict=False)
        ]

    # --- sentences ---

    def sentences(self) -> list[str]:
        """What happened, why it began, who held it and why, until when it could have lasted."""
        found = [self._headline(), self._beginning(), *self._repeating(), *self._holding()]
        if self.rebalance.awaited is not None:
            return [*found, self._waiting()]
        if self.rebalance.deadline_ms is not None and not self._ended_by_itself():
            found.append(
                "The wait for joins would have ended by itself at"
                f" {in_time(self.rebalance.deadline_ms)}, when its timer was due."
            )
        return found

    def _waiting(self) -> str:
        """Whom it waits for when the run ends, and for how long it may."""
        what = self.rebalance
        since = what.phases[-1].started_ms
        is_joining = what.phases[-1].state == _PREPARING
        limit = (
            f"; at most until {in_time(what.deadline_ms)}"
            if is_joining and what.deadline_ms is not None
            else ""
        )
        return f"Since {in_time(since)} it waits for {what.awaited}{limit}."

    def _headline(self) -> str:
        what = self.rebalance
        began = f"{what.group} began to rebalance at {in_time(what.started_ms)}"
        if what.ended_in is None:
            return (
                f"{began}, and when the run ended, {lasting(what.duration_ms)} later, still did,"
                f" in generation {what.generation}."
            )
        moved = {0: "no partition", 1: "one partition"}.get(what.moved, f"{what.moved} partitions")
        if (given_up := self._given_up(self.within[-1])) is not None:
            return f"{began} and {given_up}; {moved} changed hands."
        return (
            f"{began} and was {what.ended_in} {lasting(what.duration_ms)} later, in"
            f" generation {what.generation} with {counted(what.members, 'member')};"
            f" {moved} changed hands."
        )

    def _given_up(self, last: Row) -> str | None:
        """How the coordinator gave the group up before the rebalance was over; None if not."""
        after = f"was given up {lasting(self.rebalance.duration_ms)} later"
        if last.kind == _STATE_CHANGED and last.state == GroupState.DEAD.value:
            return f"{after}, when its coordinator moved away"
        if last.kind == EventKind.GROUP_REMOVED.value:
            return f"{after}, when the group was removed"
        if last.kind != EventKind.GROUP_LOADED.value:
            return None
        return (
            f"{after}: the next coordinator loaded the group as the log had it, {last.state} in"
            f" generation {last.generation} with {counted(last.count or 0, 'member')}"
        )

    def _ended_by_itself(self) -> bool:
        """Whether the last wait for joins lasted as long as it could."""
        ends = [each.ended_ms for each in self.rebalance.phases if each.state == _PREPARING]
        return bool(ends) and ends[-1] >= (self.rebalance.deadline_ms or 0)

    def _repeating(self) -> list[str]:
        """How often it had to begin anew, and why at first and at last."""
        again = [row for row in self.within[1:] if self._begins_anew(row)]
        if not again:
            return []
        first, last = (
            f"at {in_time(row.at_ms)} because {self._why(row)}" for row in (again[0], again[-1])
        )
        if len(again) == 1:
            return [f"It began anew {first}."]
        return [f"It began anew {len(again)} times: first {first}, last {last}."]

    def _why(self, row: Row) -> str:
        """The reason that a row gives, without what the client said of it."""
        return _with_article(self.witness.names.into((row.detail or "").partition(_SAID)[0]))

    def _begins_anew(self, row: Row) -> bool:
        is_move = row.kind == _STATE_CHANGED and row.state == _PREPARING
        return is_move and row.group == self.rebalance.group

    def _beginning(self) -> str:
        reason = worth_saying(self.rebalance.client_reason)
        said = f" ({self.witness.names.into(reason)})" if reason else ""
        because = f"It began because {_with_article(self.rebalance.cause)}{said}"
        cause = None if self.start.cause is None else self.rows[self.start.cause - 1]
        if cause is None:
            return f"{because}."
        if cause.kind == _TIMER_FIRED:
            return f"{because}: {self._timer(cause)}."
        root = self._root_of(cause)
        if root.seq == cause.seq or root.at_ms == 0:
            return f"{because}."
        return f"{because}: {clause_of(self.witness.names, root)} at {in_time(root.at_ms)}."

    def _root_of(self, row: Row) -> Row:
        """The script's doing that led to a row."""
        while row.cause is not None:
            row = self.rows[row.cause - 1]
        return row

    def _timer(self, fired: Row) -> str:
        """A timer that fired: who set it when, and why nobody set it anew."""
        whose = f"its {fired.detail} timer"
        set_by = fired.at_ms - (fired.duration_ms or 0)
        told = f"{whose}, set at {in_time(set_by)}, fired at {in_time(fired.at_ms)}"
        return told + self._what_it_was_doing(fired)

    def _what_it_was_doing(self, fired: Row) -> str:
        """Why the consumer whose timer fired had not set it anew."""
        set_ms = fired.at_ms - (fired.duration_ms or 0)
        stall = self.witness.stall_of(fired.client, set_ms, fired.at_ms)
        if stall is None or fired.client is None:
            return ""
        return f"; {fired.client} {self._stalled(stall, fired.at_ms)}"

    def _stalled(self, stall: Stall, at_ms: int) -> str:
        """A stall as it is told at a time; what ends it later is not known yet."""
        going_on, over = _STALLS[stall.row.kind]
        detail = f" ({stall.row.detail})" if stall.row.detail else ""
        since = in_time(stall.row.at_ms)
        if stall.until_ms is None or stall.until_ms > at_ms:
            return f"{going_on} {since}{detail}"
        return f"{over} from {since} until {in_time(stall.until_ms)}{detail}"

    def _holding(self) -> list[str]:
        held = self.rebalance.held
        if held is None:
            return []
        names = self.witness.names
        told = (
            f"It was held {lasting(held.duration_ms)} by {names.into(held.who)},"
            f" {_with_article(names.into(held.why))}{self._parting_words(held)}"
        )
        ending = self._ending_of_hold(held.ended_ms)
        if ending is not None and ending.kind == _TIMER_FIRED:
            return [f"{told}; ended by {self._ended_by(ending)}."]
        why_late = None if ending is None else self._why_late(ending, held.started_ms)
        return [f"{told}{why_late or ''}."]

    def _parting_words(self, held: Hold) -> str:
        """What a member that left, and so ended the wait, said of it."""
        for row in self.within:
            if row.kind == _REMOVED and (row.client, row.at_ms) == (held.who, held.ended_ms):
                reason = worth_saying((row.detail or "").partition(_SAID)[2])
                return f" ({reason})" if reason else ""
        return ""

    def _ended_by(self, fired: Row) -> str:
        set_ms = fired.at_ms - (fired.duration_ms or 0)
        return f"its {fired.detail} timer, set at {in_time(set_ms)}{self._what_it_was_doing(fired)}"

    def _ending_of_hold(self, ended_ms: int) -> Row | None:
        """What ended the phase that took longest."""
        for row in self.within:
            is_ending = row.kind in (_JOIN_PHASE_ENDED, _STATE_CHANGED)
            if row.at_ms == ended_ms and is_ending and row.group == self.rebalance.group:
                return None if row.cause is None else self.rows[row.cause - 1]
        return None

    def _why_late(self, ending: Row, from_ms: int) -> str | None:
        """What the member was doing whose request ended the wait."""
        waited_ms = ending.at_ms - from_ms
        if ending.client is None or waited_ms * _WORTH_SAYING < self.rebalance.duration_ms:
            return None
        stall = self.witness.stall_of(ending.client, from_ms, ending.at_ms)
        if stall is not None and _overlap(stall, from_ms, ending.at_ms) * 2 > waited_ms:
            return f": it {self._stalled(stall, ending.at_ms)}"
        busy_ms = self._processing_ms(ending.client, from_ms, ending.at_ms)
        if busy_ms * 2 > waited_ms:
            return (
                f": for {lasting(busy_ms)} of it, it was processing records it already had,"
                " and only a poll joins"
            )
        return self._heard_late(ending.client, from_ms, waited_ms)

    def _heard_late(self, client: str, from_ms: int, waited_ms: int) -> str | None:
        """Members learn of a rebalance from the answer to their next heartbeat."""
        for row in self.within:
            is_news = row.kind == _REPLY_SENT and row.error == _NEWS and row.client == client
            if is_news and (row.at_ms - from_ms) * 2 > waited_ms >= _NOT_AT_ONCE_MS:
                told_ms = in_time(row.at_ms)
                return f": it was told of the rebalance with its next heartbeat, at {told_ms}"
            if is_news:
                return None
        return None

    def _processing_ms(self, client: str, from_ms: int, to_ms: int) -> int:
        """How long this consumer was at work on records between these times."""
        total = 0
        for row in self.within:
            if row.kind == _PROCESSED and row.client == client:
                began_ms = max(from_ms, row.at_ms - (row.duration_ms or 0))
                total += max(0, min(to_ms, row.at_ms) - began_ms)
        return total


def _rows_from(rows: Sequence[Row], seq: int) -> Iterator[Row]:
    """The rows from one on, a few at a time: a recording makes them when they are asked for."""
    for start in range(seq - 1, len(rows), _AT_A_TIME):
        yield from rows[start : start + _AT_A_TIME]


def _is_rest(row: Row) -> bool:
    if row.kind in _GIVEN_UP:
        return True
    return row.kind == _STATE_CHANGED and row.state not in (_PREPARING, _COMPLETING)


def _with_article(text: str) -> str:
    return re.sub(r"\bsession of ", "the session of ", text, count=1)


def _is_of(group: str, row: Row) -> bool:
    """Is this row about the group's own course?"""
    return row.group == group and row.kind in (_STATE_CHANGED, _JOIN_PHASE_ENDED, *_GIVEN_UP)
