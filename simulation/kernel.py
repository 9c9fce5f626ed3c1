"""Virtual time: integer milliseconds since the start, moved here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from enum import IntEnum
from functools import partial
from heapq import heappop, heappush
from typing import Any, NamedTuple

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


#: A turn as the hottest places write it, without a name: it is equal to the one that has names.
PlainTurn = tuple[int, Rank, str, str, int]
#: A turn that is not cancelled, with what is done in it and to what.
_Errand = tuple[int, Rank, str, str, int, Callable[[Any], None], Any]

_PLAIN = 5


@define(eq=False, repr=False)
class Kernel:
    """Runs what was asked for, turn by turn; the clock stands at a turn's time while it runs."""

    now_ms: int = field(default=0, init=False)
    #: How many turns have been run.
    turns: int = field(default=0, init=False)
    #: The turn that is being run; None between turns.
    current: PlainTurn | None = field(default=None, init=False)
    #: Errands, and plain turns, of which only those with an action are still meant.
    _turns: list[Any] = field(factory=list, init=False)
    _actions: dict[PlainTurn, Callable[[], None]] = field(factory=dict, init=False)

    def at(self, turn: PlainTurn, action: Callable[[], None]) -> None:
        """Let this happen then. Two things with the same turn would have no order: refused."""
        if turn[0] < self.now_ms:
            raise ValueError(f"{Turn(*turn)} lies before the present, {self.now_ms} ms")
        actions = self._actions
        asked_for = len(actions)
        actions.setdefault(turn, action)
        if len(actions) == asked_for:
            raise ValueError(f"{Turn(*turn)} is taken already")
        heappush(self._turns, turn)

    def carry(self, errand: _Errand) -> None:
        """Let something happen that is neither cancelled nor asked for twice: messages travel so.

        The number in its turn is nobody else's.
        """
        if errand[0] < self.now_ms:
            raise ValueError(f"{errand[:_PLAIN]} lies before the present, {self.now_ms} ms")
        heappush(self._turns, errand)

    def cancel(self, turn: PlainTurn) -> None:
        """Let this not happen."""
        self._actions.pop(turn, None)

    def next_at_ms(self) -> int | None:
        """When the next turn is; None if there is none."""
        turns = self._turns
        while turns and len(turns[0]) == _PLAIN and turns[0] not in self._actions:
            heappop(turns)
        return turns[0][0] if turns else None

    def step(self) -> None:
        """Run the next turn."""
        turn = heappop(self._turns)
        is_plain = len(turn) == _PLAIN
        action = self._actions.pop(turn, None) if is_plain else partial(turn[5], turn[6])
        if action is None:
            return
        self.now_ms = turn[0]
        self.turns += 1
        self.current = turn
        try:
            action()
        finally:  # a script may catch what its action raised, and let time go on
            self.current = None

    def run(self, until_ms: int, alarms: Sized = ()) -> None:
        """Run all turns up to that time, or up to the first that leaves something in `alarms`."""
        turns, actions = self._turns, self._actions
        try:
            while turns and turns[0][0] <= until_ms:
                turn = heappop(turns)
                if len(turn) == _PLAIN:
                    action = actions.pop(turn, None)
                    if action is None:
                        continue
                    self.now_ms = turn[0]
                    self.turns += 1
                    self.current = turn
                    action()
                else:
                    self.now_ms = turn[0]
                    self.turns += 1
                    self.current = turn
                    turn[5](turn[6])
                if alarms:
                    return
        finally:
            self.current = None

    def play_aside(self, starts: Iterable[tuple[Turn, Callable[[], None]]]) -> None:
        """Make up for what was not played: run these, and what they lead to, up to the present.

        Nothing else moves meanwhile. What lies beyond the present takes its place among the rest.
        """
        now_ms, current = self.now_ms, self.current
        # Between turns, all of the present is over.
        present: PlainTurn = Turn(now_ms + 1, Rank.TIMER) if current is None else current
        turns, actions = self._turns, self._actions
        self._turns, self._actions = [], {}
        self.now_ms = 0
        for begin, action in starts:
            self.at(begin, action)
        while self._turns and self._turns[0] < present:
            self.step()
        errands, aside = [each for each in self._turns if len(each) > _PLAIN], self._actions
        self._turns, self._actions = turns, actions
        self.now_ms, self.current = now_ms, current
        for errand in errands:
            self.carry(errand)
        for turn, action in aside.items():
            self.at(turn, action)
