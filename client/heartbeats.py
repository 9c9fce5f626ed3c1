"""When to beat, and what silence means: the three timers and the heartbeat thread's loop.

Kafka's `Heartbeat` and `AbstractCoordinator.HeartbeatThread`. The order of the branches matters:
a poll that is overdue is not acted on while the coordinator is unknown or silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from client.backoff import ExponentialBackoff
from client.errors import FencedInstanceIdException, RebalanceInProgressException
from client.settings import ConsumerConfig
from client.threads import HeartbeatTurns
from client.timers import NEVER, Clock, Timer, Wait, WaitKind

if TYPE_CHECKING:
    from client.membership import Membership


@define(eq=False, kw_only=True)
class Heartbeat:
    """The heartbeat, session and poll timers of a member."""

    config: ConsumerConfig
    clock: Clock
    retry_backoff: ExponentialBackoff
    heartbeat_timer: Timer = field(init=False)
    session_timer: Timer = field(init=False)
    poll_timer: Timer = field(init=False)
    _failures: int = 0

    def __attrs_post_init__(self) -> None:
        """Start all three."""
        self.heartbeat_timer = self.clock.timer(self.config.heartbeat_interval_ms)
        self.session_timer = self.clock.timer(self.config.session_timeout_ms)
        self.poll_timer = self.clock.timer(self.config.max_poll_interval_ms)

    def polled(self, now_ms: int) -> None:
        """The application polls."""
        self._update(now_ms)
        self.poll_timer.reset(self.config.max_poll_interval_ms)

    def sent(self, now_ms: int) -> None:
        """A heartbeat leaves; the next is due an interval later, answer or not."""
        self._update(now_ms)
        self.heartbeat_timer.reset(self.config.heartbeat_interval_ms)

    def received(self) -> None:
        """A heartbeat was answered well."""
        self._update(self.clock.now_ms)
        self._failures = 0
        self.session_timer.reset(self.config.session_timeout_ms)

    def failed(self) -> None:
        """A heartbeat was not; the next is due after a back-off."""
        self._update(self.clock.now_ms)
        self.heartbeat_timer.reset(self.retry_backoff.backoff_ms(self._failures))
        self._failures += 1

    def reset_timeouts(self) -> None:
        """A new generation begins."""
        self._update(self.clock.now_ms)
        self.session_timer.reset(self.config.session_timeout_ms)
        self.poll_timer.reset(self.config.max_poll_interval_ms)
        self.heartbeat_timer.reset(self.config.heartbeat_interval_ms)

    def reset_session_timeout(self) -> None:
        """The coordinator was found."""
        self._update(self.clock.now_ms)
        self.session_timer.reset(self.config.session_timeout_ms)

    def is_due(self, now_ms: int) -> bool:
        """Whether the next heartbeat should leave."""
        self._update(now_ms)
        return self.heartbeat_timer.is_expired

    def time_to_next_ms(self, now_ms: int) -> int:
        """How long until the next heartbeat is due."""
        self._update(now_ms)
        return self.heartbeat_timer.remaining_ms

    def session_expired(self, now_ms: int) -> bool:
        """Whether the coordinator has been silent for a whole session."""
        self._update(now_ms)
        return self.session_timer.is_expired

    def poll_expired(self, now_ms: int) -> bool:
        """Whether the application has not polled for too long."""
        self._update(now_ms)
        return self.poll_timer.is_expired

    def _update(self, now_ms: int) -> None:
        self.heartbeat_timer.update(now_ms)
        self.session_timer.update(now_ms)
        self.poll_timer.update(now_ms)


@define(eq=False)
class HeartbeatThread:
    """One heartbeat thread. A failed one is forgotten by its member and waits on, to no end."""

    membership: Membership
    is_enabled: bool = False
    is_closed: bool = False
    failure: Exception | None = None
    turns: HeartbeatTurns | None = None

    def start(self) -> None:
        """Begin, disabled."""
        self.turns = self.membership.threads.start_heartbeat(self.run())

    def enable(self) -> None:
        """A new generation has begun: beat for it."""
        self.is_enabled = True
        self.membership.heartbeat.reset_timeouts()
        self.membership.threads.notify()

    def close(self) -> None:
        """Come to an end with the next turn."""
        self.is_closed = True
        self.membership.threads.notify()

    async def run(self) -> None:
        """The loop. An error that nobody expects ends it and is raised by the next poll."""
        try:
            while not self.is_closed:
                deadline_ms = await self._turn()
                if deadline_ms is not None:
                    await Wait(WaitKind.MONITOR, deadline_ms)
        except Exception as error:  # noqa: BLE001 (the next poll raises it, whatever it is)
            self.failure = error
        self.is_closed = True

    async def _turn(self) -> int | None:
        """Do what is due; say until when to wait, None for not at all."""
        membership = self.membership
        heartbeat = membership.heartbeat
        if not self.is_enabled:
            return NEVER
        if membership.state.has_not_joined or self.failure is not None:
            self.is_enabled = False
            return None
        await membership.client.poll_no_wakeup()
        now_ms = membership.clock.now_ms
        if membership.discovery.is_unknown():
            await membership.discovery.look_up_or_forget()
            return self._after_backoff()
        if heartbeat.session_expired(now_ms):
            membership.discovery.mark_unknown(is_disconnected=False)
        elif heartbeat.poll_expired(now_ms):
            await membership.maybe_leave_group("consumer poll timeout has expired.")
        elif not heartbeat.is_due(now_ms):
            return self._after_backoff()
        else:
            heartbeat.sent(now_ms)
            future = await membership.requests.send_heartbeat()
            await future.add_listener(lambda _: heartbeat.received(), self._on_failure)
        return None

    def _after_backoff(self) -> int:
        """When to look around again. Java's `wait(0)` has no end, so a back-off of 0 has none."""
        backoff_ms = self.membership.config.retry_backoff_ms
        return NEVER if backoff_ms == 0 else self.membership.clock.now_ms + backoff_ms

    def _on_failure(self, error: Exception) -> None:
        if isinstance(error, RebalanceInProgressException):
            self.membership.heartbeat.received()
        elif isinstance(error, FencedInstanceIdException):
            self.failure = error
        else:
            self.membership.heartbeat.failed()
            self.membership.threads.after_failed_beat()
