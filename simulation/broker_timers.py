"""The timers of a broker's coordinator: what set each of them, and a turn when the next is due."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter

from attrs import define, field

from coordinator.timer_queue import TimerQueue
from coordinator.timers import CancelTimer, SetTimer, Timer, TimerChange
from simulation.kernel import Kernel, Rank, Turn
from simulation.recorder import Cause

#: The latest setting of a timer: by what, and when.
Setting = tuple[Cause, int]


@define(eq=False, repr=False)
class BrokerTimers:
    """The timers that are set, through all lives of one broker."""

    kernel: Kernel
    #: Whose they are, among all who have a turn.
    who: str
    fire: Callable[[Timer, Setting], None]
    _queue: TimerQueue = field(factory=TimerQueue, init=False)
    _settings: dict[Timer, Setting] = field(factory=dict, init=False)
    _life: int = field(default=0, init=False)
    _wakes: int = field(default=0, init=False)
    _wakes_at_ms: int | None = field(default=None, init=False)

    def set(self, changes: tuple[TimerChange, ...], cause: Cause, at_ms: int) -> None:
        """Keep the timers as they are now, and what set them; be there when the next is due."""
        for change in changes:
            if type(change) is SetTimer:
                self.set_one(change.timer, change.at_ms, cause, at_ms)
            else:
                self._settings.pop(change.timer, None)
                self._queue.apply((change,))

    def set_one(self, timer: Timer, due_ms: int, cause: Cause, at_ms: int) -> None:
        """Let this timer fire at `due_ms`; it is set because of this, at that time."""
        self._settings[timer] = (cause, at_ms)
        self._queue.set(timer, due_ms)
        if self._wakes_at_ms is None or due_ms < self._wakes_at_ms:
            self._arrange_wake()

    def forget(self, timer: Timer) -> None:
        """Nobody is to be woken by this one until it is set again."""
        self._queue.apply((CancelTimer(timer),))

    def restore(self, armed: SetTimer) -> None:
        """Let a timer that was forgotten wake somebody again."""
        self._queue.apply((armed,))
        self._arrange_wake()

    def forget_all(self) -> None:
        """The broker is gone, and so are its timers."""
        self._queue, self._settings = TimerQueue(), {}
        self._wakes_at_ms = None
        self._life += 1

    def _arrange_wake(self) -> None:
        """Take a turn for the next timer, unless there is one that is early enough."""
        next_ms = self._queue.next_at_ms()
        if next_ms is None or (self._wakes_at_ms is not None and self._wakes_at_ms <= next_ms):
            return
        self._wakes += 1
        self._wakes_at_ms = max(next_ms, self.kernel.now_ms)
        turn = Turn(self._wakes_at_ms, Rank.TIMER, self.who, "", self._wakes)
        self.kernel.at(turn, partial(self._wake, self._life))

    def _wake(self, life: int) -> None:
        now_ms = self.kernel.now_ms
        if life != self._life or self._wakes_at_ms != now_ms:
            return  # An earlier timer was set after this turn was taken, and that wake did it all.
        due: list[tuple[int, str, Timer, Setting]] = []
        while (found := self._queue.pop_due(now_ms)) is not None:
            at_ms, timer = found
            due.append((at_ms, repr(timer), timer, self._settings[timer]))
        # Not in the order of setting: that differs where quiet time was skipped.
        for _, _, timer, setting in sorted(due, key=itemgetter(0, 1)):
            if self._settings.get(timer) is setting:
                del self._settings[timer]
                self.fire(timer, setting)
        self._wakes_at_ms = None
        self._arrange_wake()
