"""Virtual time: integer milliseconds since the start, moved here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush
from typing import NamedTuple

from attrs import define, field


class Rank(IntEnum):
    """Who goes first at equal times: our rule, where a real cluster leaves it to chance."""

    TIMER = 0
    REQUEST = 1
    REPLY = 2
    CONSUMER = 3
    SCRIPT = 4


class Turn(NamedTuple):
    """When something happens, and its place among what happens at the same time.

    The order of turns never depends on the order in which they were asked for.
    """

    at_ms: int
    rank: Rank
    who: str
    number: int


@define(eq=False)
class Kernel:
    """Runs what was asked for, turn by turn; the clock stands at a turn's time while it runs."""

    now_ms: int = field(default=0, init=False)
    _turns: list[Turn] = field(factory=list, init=False)
    _actions: dict[Turn, Callable[[], None]] = field(factory=dict, init=False)

    def at(self, turn: Turn, action: Callable[[], None]) -> None:
        """Let this happen then. Two things with the same turn would have no order: refused."""
        if turn.at_ms < self.now_ms:
            raise ValueError(f"{turn} lies before the present, {self.now_ms} ms")
        if turn in self._actions:
            raise ValueError(f"{turn} is taken already")
        self._actions[turn] = action
        heappush(self._turns, turn)

    def run_until(self, end_ms: int) -> None:
        """Run every turn up to this time, those at `end_ms` included."""
        while self._turns and self._turns[0].at_ms <= end_ms:
            turn = heappop(self._turns)
            self.now_ms = turn.at_ms
            self._actions.pop(turn)()
        self.now_ms = end_ms
