"""A host's timers: set, replaced, cancelled, and handed back in the order of their deadlines."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace

from attrs import define, evolve

from coordinator.timers import SetTimer, Timer, TimerChange

_TIDY_ABOVE = 64
#: The place of a timer that is not set any more.
_NOWHERE = -1


@define(eq=False)
class Setting:
    """A timer that is set: for when, as the how many-th, and the entry in the heap it stands at."""

    at_ms: int
    number: int
    timer: Timer
    placed_ms: int
    placed: int
    #: What the host wants to know when the timer is due: why it was set, and when.
    cause: object = None
    set_ms: int = 0


#: A deadline and a number, as they were when the setting was placed there.
_Entry = tuple[int, int, Setting]


class TimerQueue:
    """The timers that are set. Equal deadlines come in the order in which they were set.

    A timer that is put off, as a session is with every heartbeat, stays in the heap where it was;
    only when its old place comes up does it move to its new one.
    """

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._settings: dict[Timer, Setting] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._settings)

    def __copy__(self) -> TimerQueue:
        twin = TimerQueue()
        twin._settings = {
            timer: evolve(each, placed_ms=each.at_ms, placed=each.number)
            for timer, each in self._settings.items()
        }
        twin._count = self._count
        twin._tidy()
        return twin

    def set(self, timer: Timer, at_ms: int, cause: object = None, set_ms: int = 0) -> None:
        """Set a timer, or set it anew."""
        self._count = number = self._count + 1
        setting = self._settings.get(timer)
        if setting is None:
            setting = Setting(at_ms, number, timer, at_ms, number, cause, set_ms)
            self._settings[timer] = setting
            heappush(self._heap, (at_ms, number, setting))
            return
        setting.at_ms, setting.number, setting.timer = at_ms, number, timer
        setting.cause, setting.set_ms = cause, set_ms
        if at_ms < setting.placed_ms:
            setting.placed_ms, setting.placed = at_ms, number
            heappush(self._heap, (at_ms, number, setting))

    def apply(self, changes: Iterable[TimerChange]) -> None:
        """Carry out what an outcome asks for."""
        for change in changes:
            if type(change) is SetTimer:
                self.set(change[0], change[1])
                continue
            self._drop(change[0])
        self._tidy_at_times()

    def cancel(self, timer: Timer) -> Setting | None:
        """Let a timer not be due; how it was set, if it was."""
        dropped = self._drop(timer)
        self._tidy_at_times()
        return dropped

    def _drop(self, timer: Timer) -> Setting | None:
        setting = self._settings.pop(timer, None)
        if setting is not None:
            setting.placed = _NOWHERE
        return setting

    def next_at_ms(self) -> int | None:
        """When the next timer is due; None if none is set."""
        heap = self._heap
        while heap:
            at_ms, number, setting = heap[0]
            if setting.placed != number:
                heappop(heap)  # It was cancelled, or stands at an earlier place.
            elif setting.number == number:
                return at_ms
            else:
                setting.placed_ms, setting.placed = setting.at_ms, setting.number
                heapreplace(heap, (setting.at_ms, setting.number, setting))
        return None

    def pop_due(self, now_ms: int) -> tuple[int, Timer] | None:
        """The next timer that is due by `now_ms`, with its deadline; None if there is none."""
        setting = self.pop_setting(now_ms)
        return None if setting is None else (setting.at_ms, setting.timer)

    def pop_setting(self, now_ms: int) -> Setting | None:
        """The same, as it was set."""
        at_ms = self.next_at_ms()
        if at_ms is None or at_ms > now_ms:
            return None
        setting = heappop(self._heap)[2]
        setting.placed = _NOWHERE
        del self._settings[setting.timer]
        return setting

    def _tidy_at_times(self) -> None:
        if len(self._heap) > _TIDY_ABOVE + 2 * len(self._settings):
            self._tidy()

    def _tidy(self) -> None:
        """Drop entries that were replaced or cancelled, so that memory follows what is set."""
        for each in self._settings.values():
            each.placed_ms, each.placed = each.at_ms, each.number
        self._heap = [(each.at_ms, each.number, each) for each in self._settings.values()]
        heapify(self._heap)
