"""The timers of a broker's coordinator: what set each of them, and a turn when the next is due."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import define, field

from coordinator.timer_queue import Setting, TimerQueue
from coordinator.timers import SetTimer, Timer, TimerChange
from simulation.kernel import Kernel, Rank, Turn
from simulation.recorder import Cause


@define(eq=False, repr=False)
class BrokerTimers:
    """The timers that are set, through all lives of one broker."""

    kernel: Kernel
    #: Whose they are, among all who have a turn.
    who: str
    #: Called with a timer that is due, what set it, and when.
    fire: Callable[[Timer, Cause, int], None]
    _queue: TimerQueue = field(factory=TimerQueue, init=False)
    #: Those that are due right now and have not fired yet.
    _due: dict[Timer, Setting] = field(factory=dict, init=False)
    _life: int = field(default=0, init=False)
    _wakes: int = field(default=0, init=False)
    _wakes_at_ms: int | None = field(default=None, init=False)

    def set(self, changes: tuple[TimerChange, ...], cause: Cause, at_ms: int) -> None:
        """Keep the timers as they are now, and what set them; be there when the next is due."""
        for change in changes:
            if type(change) is SetTimer:
                self.set_one(change.timer, change.at_ms, cause, at_ms)
            else:
                self._due.pop(change.timer, None)
                self._queue.cancel(change.timer)

    def set_one(self, timer: Timer, due_ms: int, cause: Cause, at_ms: int) -> None:
        """Let this timer fire at `due_ms`; it is set because of this, at that time."""
        if self._due:
            self._due.pop(timer, None)
        self._queue.set(timer, due_ms, cause, at_ms)
        if self._wakes_at_ms is None or due_ms < self._wakes_at_ms:
            self._arrange_wake()

    def forget(self, timer: Timer) -> Setting | None:
        """Nobody is to be woken by this one until it is set again; how it was set, if it was."""
        return self._queue.cancel(timer)

    def restore(self, armed: SetTimer, forgotten: Setting) -> None:
        """Let a timer that was forgotten wake somebody again."""
        self._queue.set(armed.timer, armed.at_ms, forgotten.cause, forgotten.set_ms)
        self._arrange_wake()

    def forget_all(self) -> None:
        """The broker is gone, and so are its timers."""
        self._queue, self._due = TimerQueue(), {}
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
        while (found := self._queue.pop_setting(now_ms)) is not None:
            self._due[found.timer] = found
        # Not in the order of setting: that differs where quiet time was skipped.
        for setting in sorted(self._due.values(), key=_at_and_whose):
            if self._due.get(setting.timer) is setting:  # One that fires may take another back.
                del self._due[setting.timer]
                cause: Cause = setting.cause  # type: ignore[assignment]
                self.fire(setting.timer, cause, setting.set_ms)
        self._wakes_at_ms = None
        self._arrange_wake()


def _at_and_whose(setting: Setting) -> tuple[int, str]:
    return setting.at_ms, repr(setting.timer)
