"""A host's timers: set, replaced, cancelled, and handed back in the order of their deadlines."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from coordinator.timers import SetTimer, Timer, TimerChange

_TIDY_ABOVE = 64


class TimerQueue:
    """The timers that are set. Equal deadlines come in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._current: dict[Timer, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._current)

    def __copy__(self) -> TimerQueue:
        twin = TimerQueue()
        twin._heap = list(self._heap)
        twin._current = dict(self._current)
        twin._count = self._count
        return twin

    def apply(self, changes: Iterable[TimerChange]) -> None:
        """Carry out what an outcome asks for."""
        for change in changes:
            if type(change) is SetTimer:
                self._count += 1
                self._current[change.timer] = self._count
                heappush(self._heap, (change.at_ms, self._count, change.timer))
            else:
                self._current.pop(change.timer, None)
        if len(self._heap) > _TIDY_ABOVE + 2 * len(self._current):
            self._tidy()

    def next_at_ms(self) -> int | None:
        """When the next timer is due; None if none is set."""
        while self._heap:
            at_ms, count, timer = self._heap[0]
            if self._current.get(timer) == count:
                return at_ms
            heappop(self._heap)
        return None

    def pop_due(self, now_ms: int) -> tuple[int, Timer] | None:
        """The next timer that is due by `now_ms`, with its deadline; None if there is none."""
        at_ms = self.next_at_ms()
        if at_ms is None or at_ms > now_ms:
            return None
        _, _, timer = heappop(self._heap)
        del self._current[timer]
        return at_ms, timer

    def _tidy(self) -> None:
        """Drop entries that were replaced or cancelled, so that memory follows what is set."""
        current = self._current
        self._heap = [entry for entry in self._heap if current.get(entry[2]) == entry[1]]
        heapify(self._heap)
