"""Virtual time: integer milliseconds since the start, moved here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

from attrs import define, field


class Rank(IntEnum):
    """Who goes first at equal times: our rule, where a real cluster leaves it to chance."""

    TIMER = 0
    LOG = 1
    REQUEST = 2
    REPLY = 3
    CONSUMER = 4
    SCRIPT = 5


class Turn(NamedTuple):
    """When something happens, and its place among what happens at the same time.

    The order of turns never depends on the order in which they were asked for: `who` is a member
    or a broker, then comes the connection, then the place in the connection.
    """

    at_ms: int
    rank: Rank
    who: str = ""
    connection: str = ""
    number: int = 0


_CONSUMER = Rank.CONSUMER

#: A turn as the hottest places write it, without a name: it is equal to the one that has names.
PlainTurn = tuple[int, Rank, str, str, int]
#: A turn that is not cancelled, with what is done in it and to what.
_Errand = tuple[int, Rank, str, str, int, Callable[[Any], None], Any]


class Sleeper(Protocol):
    """Somebody who is woken at the time that was set last, and at no other."""

    #: The turn in which it will be woken, if in any; or one before that, in which we look again.
    wakes: WakeUp | None
    #: When it will be woken, if at all.
    wakes_ms: int

    @property
    def name(self) -> str:
        """Who it is."""

    def wake(self) -> None:
        """The time has come."""


#: A turn that wakes somebody, if it is still the one that he goes by.
WakeUp = tuple[int, Rank, str, str, int, None, Sleeper]

_PLAIN = 5
#: Later than anything that happens.
FAR_MS = 1 << 60
#: A stretch of time is so many bits of a millisecond's number long.
_STRETCH_BITS = 8


@define(eq=False, repr=False)
class _Ahead:
    """What lies ahead: a heap of what is near, and unordered what comes in later stretches of time.

    So most turns are put into order among a few others, shortly before they are run.
    """

    #: What is not later than the present stretch. It stays the same list.
    near: list[Any] = field(factory=list, init=False)
    #: When the present stretch ends.
    near_until_ms: int = field(default=1 << _STRETCH_BITS, init=False)
    #: The later stretches that have something in them, as a heap, and what it is.
    _stretches: list[int] = field(factory=list, init=False)
    _later: dict[int, list[Any]] = field(factory=dict, init=False)

    def push(self, turn: tuple[Any, ...]) -> None:
        """Put a turn in its place."""
        if turn[0] < self.near_until_ms:
            heappush(self.near, turn)
            return
        stretch = turn[0] >> _STRETCH_BITS
        later = self._later.get(stretch)
        if later is None:
            self._later[stretch] = [turn]
            heappush(self._stretches, stretch)
        else:
            later.append(turn)

    def come_near(self, until_ms: int) -> bool:
        """If nothing is near, go on to what comes next, up to that time; whether anything is."""
        if self.near:
            return True
        if not self._stretches or self._stretches[0] << _STRETCH_BITS > until_ms:
            return False
        stretch = heappop(self._stretches)
        self.near_until_ms = stretch + 1 << _STRETCH_BITS
        self.near.extend(sorted(self._later.pop(stretch)))
        return True

    def rest(self) -> list[Any]:
        """All that there is, in no order."""
        return [*self.near, *(turn for later in self._later.values() for turn in later)]


@define(eq=False, repr=False)
class Kernel:
    """Runs what was asked for, turn by turn; the clock stands at a turn's time while it runs."""

    now_ms: int = field(default=0, init=False)
    #: How many turns have been run.
    turns: int = field(default=0, init=False)
    #: The turn that was run last, or is being run; after a run, its end.
    _current: tuple[Any, ...] = field(default=(0,), init=False)
    #: The latest that had been run when a turn was asked for in the present millisecond: that may
    #: be an earlier turn, and then more is over than what was to happen before the current one.
    _reached: tuple[Any, ...] = field(default=(0,), init=False)
    #: Errands, wake-ups, and plain turns, of which only those with an action are still meant.
    _ahead: _Ahead = field(factory=_Ahead, init=False)
    _actions: dict[PlainTurn, Callable[[], None]] = field(factory=dict, init=False)
    _wake_ups: int = field(default=0, init=False)

    def at(self, turn: PlainTurn, action: Callable[[], None]) -> None:
        """Let this happen then. Two things with the same turn would have no order: refused."""
        if turn[0] <= self.now_ms:
            self._ask_for_the_present(turn)
        actions = self._actions
        asked_for = len(actions)
        actions.setdefault(turn, action)
        if len(actions) == asked_for:
            raise ValueError(f"{Turn(*turn)} is taken already")
        self._ahead.push((*turn, None, None))

    def carry(self, errand: _Errand) -> None:
        """Let something happen that is neither cancelled nor asked for twice: messages travel so.

        The number in its turn is nobody else's.
        """
        if errand[0] < self.now_ms:
            raise ValueError(f"{errand[:_PLAIN]} lies before the present, {self.now_ms} ms")
        ahead = self._ahead
        if errand[0] < ahead.near_until_ms:
            heappush(ahead.near, errand)
        else:
            ahead.push(errand)

    def wake_at(self, at_ms: int, sleeper: Sleeper) -> None:
        """Let somebody be woken then, at the earliest now, and not when it was to be before.

        Most are put off again and again: then the turn that they have is kept, and put off when it
        comes.
        """
        if at_ms <= self.now_ms:
            at_ms = self.now_ms
            self._keep_what_is_reached()
        sleeper.wakes_ms = at_ms
        if sleeper.wakes is not None and sleeper.wakes[0] <= at_ms:
            return
        self._wake_ups = number = self._wake_ups + 1
        sleeper.wakes = turn = (at_ms, _CONSUMER, sleeper.name, "", number, None, sleeper)
        self._ahead.push(turn)

    def wake_in(self, turn: WakeUp) -> None:
        """Let somebody be woken in this turn, of whatever rank; its number is nobody else's."""
        if turn[0] <= self.now_ms:
            self._ask_for_the_present(turn)
        turn[6].wakes, turn[6].wakes_ms = turn, turn[0]
        self._ahead.push(turn)

    def _ask_for_the_present(self, turn: tuple[Any, ...]) -> None:
        if turn[0] < self.now_ms:
            raise ValueError(f"{Turn(*turn[:_PLAIN])} lies before the present, {self.now_ms} ms")
        self._keep_what_is_reached()

    def _keep_what_is_reached(self) -> None:
        self._reached = max(self._reached, self._current)

    def cancel(self, turn: PlainTurn) -> None:
        """Let this not happen."""
        self._actions.pop(turn, None)

    def next_at_ms(self) -> int | None:
        """When the next turn is; None if there is none."""
        near = self._ahead.near
        while self._ahead.come_near(FAR_MS):
            if self._is_meant(near[0]):
                at_ms: int = near[0][0]
                return at_ms
            self._put_off(heappop(near))
        return None

    def _is_meant(self, turn: tuple[Any, ...]) -> bool:
        errand, sleeper = turn[5:]
        if errand is not None:
            return True
        if sleeper is None:
            return turn[:_PLAIN] in self._actions
        return sleeper.wakes is turn and sleeper.wakes_ms == turn[0]

    def _put_off(self, turn: tuple[Any, ...]) -> None:
        """If this was to be a turn in which somebody is woken, let it be so later."""
        sleeper = turn[6]
        if sleeper is not None and sleeper.wakes is turn:
            sleeper.wakes = None
            self.wake_at(sleeper.wakes_ms, sleeper)

    @property
    def is_present_over(self) -> bool:
        """Whether all that was to happen in the present millisecond has been run."""
        reached_ms: int = max(self._current, self._reached)[0]
        return reached_ms > self.now_ms

    def run(self, until_ms: int, alarms: Sized = ()) -> None:
        """Let time pass until then, or up to the first turn that leaves something in `alarms`."""
        self._run((until_ms + 1,), alarms)
        if not alarms:
            self.now_ms = until_ms

    def _run(self, end: tuple[Any, ...], alarms: Sized) -> None:
        """Run all turns before that one."""
        ahead, actions, end_ms = self._ahead, self._actions, end[0]
        near = ahead.near
        while near or ahead.come_near(end_ms):
            turn = near[0]
            at_ms, errand, what = turn[0], turn[5], turn[6]
            if at_ms >= end_ms and not turn < end:
                break
            heappop(near)
            if errand is not None:
                self.now_ms, self._current = at_ms, turn
                errand(what)
            elif what is None:
                action = actions.pop(turn[:_PLAIN], None)
                if action is None:
                    continue
                self.now_ms, self._current = at_ms, turn
                action()
            elif what.wakes is turn and what.wakes_ms == at_ms:
                self.now_ms, self._current = at_ms, turn
                what.wake()
            else:
                self._put_off(turn)
                continue
            self.turns += 1
            if alarms:
                return
        self._current = end

    def play_aside(self, sleepers: Iterable[tuple[int, Sleeper]]) -> None:
        """Make up for what was not played: wake these, and run what would be over by now.

        Nothing else moves meanwhile. What lies beyond the present takes its place among the rest.
        """
        now_ms, current, reached = self.now_ms, self._current, self._reached
        ahead, actions = self._ahead, self._actions
        self._ahead, self._actions = _Ahead(), {}
        self.now_ms, self._current, self._reached = 0, (0,), (0,)
        for at_ms, sleeper in sleepers:
            self.wake_at(at_ms, sleeper)
        self._run(max(current, reached), ())
        rest, aside = self._ahead.rest(), self._actions
        self._ahead, self._actions = ahead, actions
        self.now_ms, self._current, self._reached = now_ms, current, reached
        for turn in rest:
            if turn[5] is not None or turn[6] is not None:
                ahead.push(turn)
        for turn, action in aside.items():
            self.at(turn, action)
