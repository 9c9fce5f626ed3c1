"""A host's timers: set, replaced, cancelled, and handed back in the order of their deadlines."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from coordinator.timers import SetTimer, Timer, TimerChange

_TIDY_ABOVE = 64

#: A deadline, the number of its setting, and the timer as it was set.
_Entry = tuple[int, int, Timer]


class TimerQueue:
    """The timers that are set. Equal deadlines come in the order in which they were set.

    A timer that is put off, as a session is with every heartbeat, stays in the heap where it was;
    only when its old place comes up does it move to its new one.
    """

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        #: The entry of each timer that is set.
        self._current: dict[Timer, _Entry] = {}
        #: The entry that stands for each timer in the heap, at its deadline or before it.
        self._placed: dict[Timer, _Entry] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._current)

    def __copy__(self) -> TimerQueue:
        twin = TimerQueue()
        twin._heap = list(self._heap)
        twin._current = dict(self._current)
        twin._placed = dict(self._placed)
        twin._count = self._count
        return twin

    def apply(self, changes: Iterable[TimerChange]) -> None:
        """Carry out what an outcome asks for."""
        current, placed = self._current, self._placed
        for change in changes:
            if type(change) is SetTimer:
                timer, at_ms = change
                self._count = count = self._count + 1
                current[timer] = entry = (at_ms, count, timer)
                before = placed.get(timer)
                if before is None or before[0] > at_ms:
                    placed[timer] = entry
                    heappush(self._heap, entry)
            else:
                current.pop(change[0], None)
        if len(self._heap) > _TIDY_ABOVE + 2 * len(current):
            self._tidy()

    def next_at_ms(self) -> int | None:
        """When the next timer is due; None if none is set."""
        heap, placed = self._heap, self._placed
        while heap:
            entry = heap[0]
            timer = entry[2]
            latest = self._current.get(timer)
            if latest is entry:
                return entry[0]
            heappop(heap)
            if placed.get(timer) is entry:
                if latest is None:
                    del placed[timer]
                else:
                    placed[timer] = latest
                    heappush(heap, latest)
        return None

    def pop_due(self, now_ms: int) -> tuple[int, Timer] | None:
        """The next timer that is due by `now_ms`, with its deadline; None if there is none."""
        at_ms = self.next_at_ms()
        if at_ms is None or at_ms > now_ms:
            return None
        _, _, timer = heappop(self._heap)
        del self._current[timer], self._placed[timer]
        return at_ms, timer

    def _tidy(self) -> None:
        """Drop entries that were replaced or cancelled, so that memory follows what is set."""
        self._placed = dict(self._current)
        self._heap = list(self._current.values())
        heapify(self._heap)
