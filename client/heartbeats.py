"""When to beat, and what silence means: the three timers and the heartbeat thread's loop.

Kafka's `Heartbeat` and `AbstractCoordinator.HeartbeatThread`. The order of the branches matters:
a poll that is overdue is not acted on while the coordinator is unknown or silent.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attrs import define, field

from client.backoff import ExponentialBackoff
from client.errors import FencedInstanceIdException
from client.settings import ConsumerConfig
from client.threads import HeartbeatTurns
from client.timers import NEVER, Clock, Wait, WaitKind
from coordinator.protocol import HeartbeatResponse

if TYPE_CHECKING:
    from client.membership import Generation, Membership


@define(eq=False, kw_only=True)
class Heartbeat:
    """The heartbeat, session and poll timers of a member.

    Kafka's three timers are always updated together, so here they share the time of the last
    update, and each is its deadline.
    """

    config: ConsumerConfig
    clock: Clock
    retry_backoff: ExponentialBackoff
    beat_at_ms: int = field(default=0, init=False)
    session_ends_ms: int = field(default=0, init=False)
    poll_ends_ms: int = field(default=0, init=False)
    _current_ms: int = field(init=False)
    _failures: int = 0

    def __attrs_post_init__(self) -> None:
        """Start all three."""
        self._current_ms = self.clock.now_ms
        self.reset_timeouts()

    def polled(self, now_ms: int) -> bool:
        """The application polls; whether the next heartbeat should leave."""
        if now_ms > self._current_ms:
            self._current_ms = now_ms
        self.poll_ends_ms = self._current_ms + self.config.max_poll_interval_ms
        return self._current_ms >= self.beat_at_ms

    def polled_every(self, timeout_ms: int, now_ms: int) -> None:
        """Polls have ended and begun since the last that was told, each after its time-out."""
        last_ms = self.poll_ends_ms - self.config.max_poll_interval_ms
        waited_ms = max(0, now_ms - last_ms)
        self.poll_ends_ms += waited_ms // timeout_ms * timeout_ms if timeout_ms else waited_ms

    def sent(self, now_ms: int) -> None:
        """A heartbeat leaves; the next is due an interval later, answer or not."""
        self.beat_at_ms = self._update(now_ms) + self.config.heartbeat_interval_ms

    def received(self, now_ms: int) -> None:
        """A heartbeat was answered well."""
        self._failures = 0
        self.session_ends_ms = self._update(now_ms) + self.config.session_timeout_ms

    def failed(self) -> None:
        """A heartbeat was not; the next is due after a back-off."""
        backoff_ms = self.retry_backoff.backoff_ms(self._failures)
        self.beat_at_ms = self._update(self.clock.now_ms) + backoff_ms
        self._failures += 1

    def reset_timeouts(self) -> None:
        """A new generation begins."""
        now_ms, config = self._update(self.clock.now_ms), self.config
        self.session_ends_ms = now_ms + config.session_timeout_ms
        self.poll_ends_ms = now_ms + config.max_poll_interval_ms
        self.beat_at_ms = now_ms + config.heartbeat_interval_ms

    def reset_session_timeout(self) -> None:
        """The coordinator was found."""
        self.session_ends_ms = self._update(self.clock.now_ms) + self.config.session_timeout_ms

    def is_due(self, now_ms: int) -> bool:
        """Whether the next heartbeat should leave."""
        if now_ms > self._current_ms:
            self._current_ms = now_ms
        return self._current_ms >= self.beat_at_ms

    def time_to_next_ms(self, now_ms: int) -> int:
        """How long until the next heartbeat is due."""
        if now_ms > self._current_ms:
            self._current_ms = now_ms
        return max(0, self.beat_at_ms - self._current_ms)

    def _update(self, now_ms: int) -> int:
        """The time of the latest update, this one or one with a later time."""
        if now_ms > self._current_ms:
            self._current_ms = now_ms
        return self._current_ms


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
        self.turns = self.membership.threads.start_heartbeat(self.run(), self.idle_until_ms)

    def enable(self) -> None:
        """A new generation has begun: beat for it."""
        self.is_enabled = True
        self.membership.heartbeat.reset_timeouts()
        self.membership.threads.notify()

    def pause(self) -> None:
        """Wait to be enabled, as after a turn in which there is no generation to beat for."""
        turns = self.turns
        assert turns is not None
        if self.is_enabled or turns.is_notified or turns.deadline_ms != NEVER:
            self.is_enabled = False
            self.membership.threads.take_turn(turns, NEVER)

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
        if not membership.has_joined or self.failure is not None:
            self.is_enabled = False
            return None
        await membership.client.poll_no_wakeup()
        now_ms = membership.clock.now_ms
        if membership.discovery.is_unknown():
            await membership.discovery.look_up_or_forget()
            return self._after_backoff()
        is_due = heartbeat.is_due(now_ms)
        if now_ms >= heartbeat.session_ends_ms:
            membership.discovery.mark_unknown(is_disconnected=False)
        elif now_ms >= heartbeat.poll_ends_ms:
            await membership.maybe_leave_group("consumer poll timeout has expired.")
        elif not is_due:
            return self._after_backoff()
        else:
            heartbeat.sent(now_ms)
            coordinator = membership.discovery.coordinator
            assert coordinator is not None
            on_reply = partial(self.hear, membership.generation)
            membership.client.send(
                coordinator, membership.requests.heartbeat(), on_reply, self.lose
            )
        return None

    def idle_until_ms(self) -> int | None:
        """Take a turn that finds nothing to do, and say until when it waits; None if it finds more.

        Its pass over the network is made, for what that is worth: a wait that was to end at once
        does not.
        """
        membership = self.membership
        heartbeat, now_ms = membership.heartbeat, membership.clock.now_ms
        backoff_ms = membership.config.retry_backoff_ms
        if (
            not self.is_beating
            or backoff_ms == 0
            or not membership.has_joined
            or heartbeat.is_due(now_ms)
            or now_ms >= heartbeat.session_ends_ms
            or now_ms >= heartbeat.poll_ends_ms
            or not membership.client.makes_idle_pass()
            or membership.discovery.is_unknown()
        ):
            return None
        return now_ms + backoff_ms

    @property
    def is_beating(self) -> bool:
        """Whether its next turns are only about heartbeats."""
        return self.is_enabled and not self.is_closed and self.failure is None

    def hear(self, sent: Generation, reply: object) -> None:
        """A heartbeat of that generation is answered."""
        assert isinstance(reply, HeartbeatResponse)
        try:
            error = self.membership.requests.error_of_beat(reply.error_code, sent)
        except Exception as raised:  # noqa: BLE001 (whatever it is, it ends the request)
            self._on_failure(raised)
            return
        if error is None:
            self.membership.heartbeat.received(self.membership.clock.now_ms)
        else:
            self._on_failure(error)

    def lose(self, error: Exception) -> None:
        """A heartbeat will not be answered; a lost connection also loses the coordinator."""
        self.membership.discovery.on_request_failed(error)
        self._on_failure(error)

    def _after_backoff(self) -> int:
        """When to look around again. Java's `wait(0)` has no end, so a back-off of 0 has none."""
        backoff_ms = self.membership.config.retry_backoff_ms
        return NEVER if backoff_ms == 0 else self.membership.clock.now_ms + backoff_ms

    def _on_failure(self, error: Exception) -> None:
        if isinstance(error, FencedInstanceIdException):
            self.failure = error
        else:
            self.membership.heartbeat.failed()
            self.membership.threads.after_failed_beat()
