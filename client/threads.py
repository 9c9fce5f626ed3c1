"""Who runs when: the application's thread and the heartbeat thread, one at a time.

Both are coroutines that yield a `Wait`. The application's thread is whatever coroutine the host
started; it goes first at any instant. A heartbeat thread gets its turn while the application is
not running, while it sleeps without holding the coordinator's lock, and right after each network
pass of the application that ends without that lock. While the application waits for the network
it holds the client's lock, and turns that are due are put off; so they are in a stall, which stops
the whole process, the application too if the stall was planned with `stall_at`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from inspect import CORO_RUNNING, getcoroutinestate
from typing import Any

from attrs import define, field

from client.pulse import Pulse
from client.timers import LONG_AGO, NEVER, Clock, Wait, WaitKind

#: A coroutine that makes no progress in time is stuck; far beyond what any instant needs.
_TURNS_AT_ONE_INSTANT_MAX = 20_000


#: Network passes that the application's thread may make without a wait; a few are usual.
_PASSES_WITHOUT_A_WAIT_MAX = 500


class StuckThread(Exception):
    """The consumer went round in circles at one instant; a bug here or in the application."""


@define(eq=False)
class HeartbeatTurns:
    """One heartbeat thread as the scheduler sees it: a coroutine that waits for its next turn."""

    coroutine: Coroutine[Wait, None, None]
    deadline_ms: int
    order: int
    #: Until when it would wait again after a turn that finds nothing to do; None if it would not.
    idle_until_ms: Callable[[], int | None]
    has_started: bool = False
    has_ended: bool = False
    is_notified: bool = False


@define(eq=False)
class Lock:
    """The coordinator's lock, to be held in a `with`; who holds it may take it again."""

    depth: int = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


@define(eq=False)
class Threads:
    """The application's thread, the heartbeat threads, and the lock they share."""

    clock: Clock
    #: A user's own may yield anything; what is no `Wait` is refused.
    _application: Coroutine[Any, None, Any] | None = None
    #: What the application waits for, inside the consumer or in a sleep of its own.
    application_wait: Wait | None = None
    _wait_is_locked: bool = False
    _on_end: Callable[[Any, BaseException | None], None] | None = None
    #: Those that have not ended.
    _beats: list[HeartbeatTurns] = field(factory=list)
    #: The heartbeat thread that has its turn right now.
    running_beat: HeartbeatTurns | None = None
    _order: int = 0
    #: The planned stalls, from and until when, by time; those that are over are dropped.
    stalls: list[tuple[int, int]] = field(factory=list)
    #: No heartbeat thread runs while it is held.
    lock: Lock = field(factory=Lock, init=False)
    _turns: int = 0
    _turns_at_ms: int = -1
    _passes: int = 0
    #: Until when the consumer is at rest (`client.resting`), if nothing disturbs it before.
    calm_until_ms: int = field(default=LONG_AGO, init=False)
    #: Its heartbeats and commits there, as long as there is nothing else.
    pulse: Pulse = field(factory=Pulse, init=False)
    #: What a failed heartbeat does besides: like any notification, it gives a turn.
    after_failed_beat: Callable[[], None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Notify, unless somebody sets it otherwise."""
        self.after_failed_beat = self.notify

    # --- asking -----------------------------------------------------------------------------------

    @property
    def is_application_running(self) -> bool:
        """Whether a coroutine of the application has not ended."""
        return self._application is not None

    @property
    def is_application_acting(self) -> bool:
        """Whether it is the application, or a callback of its, that asks."""
        running = self._application
        return running is not None and getcoroutinestate(running) == CORO_RUNNING

    @property
    def next_wakeup_ms(self) -> int:
        """When somebody here wants to act if nothing comes before."""
        if self.pulse.stepped_ms > LONG_AGO:
            return self.pulse.wakes_ms
        wait = self.application_wait
        at_ms = NEVER if wait is None else wait.deadline_ms
        if not self._wait_is_locked or self._application is None:
            for beat in self._beats:
                beat_ms = self.clock.now_ms if beat.is_notified else beat.deadline_ms
                if beat_ms < at_ms:
                    at_ms = beat_ms
        if not self.stalls:
            return at_ms
        now_ms = self.clock.now_ms
        if (resumes_ms := self._runs_from(now_ms)) > now_ms:
            return resumes_ms  # What has come in the meantime is looked at then.
        return self._runs_from(at_ms)

    @property
    def is_to_stall(self) -> bool:
        """Whether a planned stall is under way or lies ahead."""
        return any(until_ms > self.clock.now_ms for _, until_ms in self.stalls)

    def disturb(self) -> None:
        """Something happens that a consumer at rest knows nothing of."""
        self.calm_until_ms = LONG_AGO
        self.pulse.end()

    def expect_by(self, at_ms: int) -> None:
        """Something else than a heartbeat may be due then."""
        if at_ms < self.calm_until_ms:
            self.calm_until_ms = at_ms
        if at_ms < self.pulse.until_ms:
            self.pulse.until_ms = at_ms

    # --- stalls -----------------------------------------------------------------------------------

    def stall_at(self, at_ms: int, for_ms: int) -> None:
        """Plan that nothing runs for a time; what falls due in it, or comes, has to wait."""
        if for_ms > 0:
            self.disturb()
            self.stalls = sorted([*self.stalls, (at_ms, at_ms + for_ms)])

    def _runs_from(self, at_ms: int) -> int:
        """The first time from this one on that is in no stall."""
        for from_ms, until_ms in self.stalls:
            if from_ms <= at_ms < until_ms:
                at_ms = until_ms
        return at_ms

    # --- the application --------------------------------------------------------------------------

    def start(
        self,
        coroutine: Coroutine[Wait, None, Any],
        on_end: Callable[[Any, BaseException | None], None],
    ) -> None:
        """Run a coroutine as the application's thread, as far as it gets."""
        if self._application is not None:
            raise RuntimeError("the application is still running")
        self._application, self._on_end = coroutine, on_end
        self._run_application()

    def _run_application(self) -> None:
        assert self._application is not None
        assert self._on_end is not None
        self.application_wait = None
        self._passes = 0
        try:
            wait = self._application.send(None)
            while not isinstance(wait, Wait):
                wait = self._application.throw(_foreign(wait))
        except StopIteration as end:
            self._end_application(end.value, None)
        except Exception as error:  # noqa: BLE001 (the application's own, for its host to judge)
            self._end_application(None, error)
        else:
            self.application_wait = wait
            self._wait_is_locked = wait.kind is not WaitKind.SLEEP or self.lock.depth > 0

    def _end_application(self, value: object, error: BaseException | None) -> None:
        on_end, self._application, self._on_end = self._on_end, None, None
        assert on_end is not None
        on_end(value, error)

    def is_spinning(self) -> bool:
        """Note one more network pass; whether the application's thread turns in circles.

        Kafka's does when its heartbeat thread has died: the heartbeat stays due, so poll never
        waits, and burns its time on the processor.
        """
        if self.running_beat is not None:
            return False
        self._passes += 1
        return self._passes > _PASSES_WITHOUT_A_WAIT_MAX

    # --- heartbeat threads ------------------------------------------------------------------------

    def start_heartbeat(
        self, coroutine: Coroutine[Wait, None, None], idle_until_ms: Callable[[], int | None]
    ) -> HeartbeatTurns:
        """Start a heartbeat thread; its first turn is due now."""
        self._order += 1
        beat = HeartbeatTurns(coroutine, self.clock.now_ms, self._order, idle_until_ms)
        self._beats.append(beat)
        return beat

    def notify(self) -> None:
        """Give the longest waiting heartbeat thread a turn; Java's `notify`, on HotSpot."""
        first: HeartbeatTurns | None = None
        for beat in self._beats:
            is_waiting = beat.has_started and not beat.is_notified
            if is_waiting and beat is not self.running_beat:
                first = beat if first is None or beat.order < first.order else first
        if first is not None:
            first.is_notified = True

    @property
    def has_due_heartbeat(self) -> bool:
        """Whether a turn of a heartbeat thread would follow on a network pass now."""
        if self.running_beat is not None or self.lock.depth > 0:
            return False
        now_ms = self.clock.now_ms
        for beat in self._beats:  # noqa: SIM110 (asked in every pass)
            if beat.is_notified or beat.deadline_ms <= now_ms:
                return True
        return False

    def has_only(self, beat: HeartbeatTurns | None) -> bool:
        """Whether this heartbeat thread is the only one, waits, and could have its turn now."""
        return (
            self._beats == [beat]
            and beat is not None
            and beat.has_started
            and not (self.lock.depth or self.stalls)
        )

    def will_have_turn(self, beat: HeartbeatTurns, now_ms: int) -> bool:
        """Whether the turn of this heartbeat thread, the only one, is still to come."""
        return not beat.is_notified and now_ms < beat.deadline_ms and self.has_only(beat)

    def take_turn(self, beat: HeartbeatTurns, until_ms: int) -> None:
        """A heartbeat thread has its turn, as if it had run, and waits again."""
        self._order += 1
        beat.order, beat.deadline_ms, beat.is_notified = self._order, until_ms, False

    def run_due_heartbeats(self) -> None:
        """After a network pass of the application: overdue turns go first, if any is due."""
        while (beat := self._due_beat()) is not None:
            self._give_turn(beat)

    def join(self, beat: HeartbeatTurns) -> None:
        """Let a heartbeat thread that was told to close come to its end."""
        if not beat.has_ended:
            self._run_beat(beat)

    def _due_beat(self) -> HeartbeatTurns | None:
        now_ms = self.clock.now_ms
        first: HeartbeatTurns | None = None
        for beat in self._beats:
            is_due = beat.is_notified or beat.deadline_ms <= now_ms
            if is_due and (first is None or beat.order < first.order):
                first = beat
        return first

    def _give_turn(self, beat: HeartbeatTurns) -> None:
        """Run a heartbeat thread, unless it would only find nothing to do."""
        until_ms = beat.idle_until_ms() if beat.has_started else None
        if until_ms is None:
            self._run_beat(beat)
        else:
            self.take_turn(beat, until_ms)

    def _run_beat(self, beat: HeartbeatTurns) -> None:
        self.count_turn()
        beat.is_notified = False
        beat.has_started = True
        outer, self.running_beat = self.running_beat, beat
        try:
            wait = beat.coroutine.send(None)
        except StopIteration:
            beat.has_ended = True
            self._beats.remove(beat)
        else:
            self._order += 1
            beat.order, beat.deadline_ms = self._order, wait.deadline_ms
        finally:
            self.running_beat = outer

    # --- time -------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Run everything that can run at this instant."""
        now_ms = self.clock.now_ms
        while not self.stalls or self._runs_from(now_ms) == now_ms:
            wait = self.application_wait
            if wait is not None and (
                wait.deadline_ms <= now_ms
                or ((channels := wait.channels) and (channels.is_woken or channels.news))
            ):
                self.count_turn()
                self._run_application()
                continue
            if self._application is not None and self._wait_is_locked:
                return
            beat = self._due_beat()
            if beat is None:
                return
            self._give_turn(beat)

    def advance(self, to_ms: int) -> None:
        """Move the clock; everything due on the way happens at its own time."""
        self.disturb()
        wait = self.application_wait
        if self.stalls:
            self.stalls = [stall for stall in self.stalls if stall[1] > self.clock.now_ms]
        elif (
            wait is not None
            and self._wait_is_locked
            and to_ms < wait.deadline_ms
            and not ((channels := wait.channels) and (channels.is_woken or channels.news))
        ):
            self.clock.now_ms = to_ms
            return
        self.settle()
        while (at_ms := self.next_wakeup_ms) <= to_ms:
            self.clock.now_ms = max(self.clock.now_ms, at_ms)
            self.settle()
        self.clock.now_ms = to_ms

    def skip(self, to_ms: int) -> None:
        """Move the clock as over a time in which nothing could run; what was due happens now."""
        self.disturb()
        self.clock.now_ms = max(self.clock.now_ms, to_ms)
        self.settle()

    def end(self) -> None:
        """Nothing runs any more. An application that will not end is left where it stands."""
        coroutines = [beat.coroutine for beat in self._beats]
        if self._application is not None:
            coroutines.append(self._application)
        self.stalls.clear()
        self._beats, self._application, self.application_wait, self._on_end = [], None, None, None
        for coroutine in coroutines:
            with suppress(RuntimeError):
                coroutine.close()

    def count_turn(self) -> None:
        """Note that somebody went on though no time has passed; too often, and it is stuck."""
        if self._turns_at_ms != self.clock.now_ms:
            self._turns_at_ms, self._turns = self.clock.now_ms, 0
        self._turns += 1
        if self._turns > _TURNS_AT_ONE_INSTANT_MAX:
            raise StuckThread(
                f"an application has gone round {_TURNS_AT_ONE_INSTANT_MAX} times at "
                f"{self.clock.now_ms} ms; let time pass in it: poll or sleep for a while"
            )


def _foreign(awaited: object) -> TypeError:
    """What an application is told that awaits what no consumer can bring about."""
    return TypeError(
        "an application can await calls of its consumer only, such as poll, commit_sync or "
        f"sleep (not asyncio's), not {awaited!r}"
    )
