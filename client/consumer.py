"""The consumer as a machine.

Replies, the passing of time, connection events and application calls go in; requests, callbacks
and results come out, and when the consumer next wants to act.

Nothing here reads a clock, draws a number or touches a network. The application is a coroutine;
the host starts it and moves the time.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from client.assembly import Surroundings, assemble
from client.backoff import Chance, NoChance
from client.calls import AsyncConsumer
from client.connections import Link
from client.following import Following
from client.in_flight import ClientRequest
from client.listeners import ConsumerInterceptor
from client.messages import MetadataResponse
from client.outputs import ApplicationEnded
from client.resting import Rest
from client.settings import ConsumerConfig
from client.threads import Threads
from client.timers import Clock, Wait, WaitKind
from coordinator.protocol import Request


class UnknownRequest(Exception):
    """The host answered a request that is not the oldest in flight on its connection."""


class Consumer:
    """One consumer of the classic protocol.

    Every door takes the present time and returns what happened, in order. Whatever was due before
    that time happens first, at its own time; a host that wakes the consumer at `next_wakeup_ms`
    never finds anything overdue.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        *,
        now_ms: int = 0,
        chance: Chance | None = None,
        interceptors: tuple[ConsumerInterceptor, ...] = (),
    ) -> None:
        self.config = config
        self.clock = Clock(now_ms)
        self.threads = Threads(self.clock)
        self._told: list[object] = []
        self._is_dead = False
        #: Whether it was at rest when it last acted, so that only what it told has changed.
        self.has_rested = False
        #: What the application calls.
        self.calls: AsyncConsumer = assemble(
            Surroundings(
                config=config,
                clock=self.clock,
                threads=self.threads,
                chance=chance or NoChance(),
                interceptors=interceptors,
                tell=self.tell,
            )
        )
        #: Its heartbeats while they are all that happens; a host may let them leave by themselves.
        self.pulse = self.threads.pulse
        self._rest: Rest | None = None
        self._following: Following | None = None
        if self.calls.group is not None:
            parts = self.threads, self.calls.polling, self.calls.group
            self._rest, self._following = Rest(*parts), Following(*parts)

    # --- doors ------------------------------------------------------------------------------------

    def start(self, application: Coroutine[Wait, None, Any], now_ms: int) -> tuple[object, ...]:
        """Run a coroutine that uses `calls` as the application's thread."""
        self._advance(now_ms)
        self.threads.start(application, self._on_end)
        return self._settled()

    def on_reply(
        self, connection: str, reply: object, now_ms: int, *, to: Request | None = None
    ) -> tuple[object, ...]:
        """The answer to the oldest unanswered request of a connection arrives.

        A host that knows which request it answers says so: `to` must then be that oldest one.
        """
        rest = self._rest
        if rest is not None and rest.hear(connection, reply, to, now_ms):
            self.has_rested = True
            return self._taken() if self._told else ()
        self._leave_rest(now_ms)
        if self._following is not None and self._following.hear(connection, reply, to, now_ms):
            return self._taken()
        self.threads.advance(now_ms)
        network = self.calls.client.network
        oldest = network.oldest_unanswered(connection)
        if oldest is None:
            raise UnknownRequest(f"nothing unanswered is in flight on {connection}")
        if to is not None and oldest is not to:
            raise UnknownRequest(f"{oldest} is unanswered on {connection} before {to}")
        network.channels.arrive(connection, reply)
        told = self._settled()
        if rest is not None and type(reply) is MetadataResponse:
            rest.go_on(now_ms)
        return told

    def on_disconnect(self, connection: str, now_ms: int) -> tuple[object, ...]:
        """The broker closes a connection."""
        self._advance(now_ms)
        self.calls.client.network.channels.cut(connection)
        return self._settled()

    def set_link(self, connection: str, link: Link, now_ms: int) -> tuple[object, ...]:
        """From now on attempts to open this connection end like this."""
        self._advance(now_ms)
        self.calls.client.network.channels.links[connection] = link
        return self._settled()

    def wakeup(self, now_ms: int) -> tuple[object, ...]:
        """`wakeup()` from another thread, possibly during a call."""
        self._advance(now_ms)
        self.calls.wakeup()
        return self._settled()

    def on_time(self, now_ms: int) -> tuple[object, ...]:
        """Time has passed."""
        if self._rest is not None and (told := self._rest.look(now_ms)) is not None:
            self.has_rested = True
            return (*self._taken(), *told) if self._told else told
        self._advance(now_ms)
        return self._settled()

    def on_stop(self, now_ms: int) -> None:
        """The process is stopped, by a collector or an operator, after what was due until now."""
        self.write_down()
        self.clock.now_ms = max(self.clock.now_ms, now_ms)

    def on_resume(self, now_ms: int) -> tuple[object, ...]:
        """The process was stopped until now; it catches up now."""
        self.write_down()
        self.has_rested = False
        self.calls.polling.on_resume(self.clock.now_ms, now_ms)
        self.threads.skip(now_ms)
        return self._settled()

    def crash(self) -> None:
        """The process dies: no commit, no callback, no farewell. No door may be used any more."""
        self._is_dead = True
        self.write_down()
        self.threads.end()

    # --- what it shows ----------------------------------------------------------------------------

    @property
    def next_wakeup_ms(self) -> int:
        """When the consumer wants to act if nothing comes before."""
        return self.threads.next_wakeup_ms

    @property
    def is_running(self) -> bool:
        """Whether the application's coroutine has not ended."""
        return self.threads.is_application_running

    @property
    def is_blocked_in_poll(self) -> bool:
        """Whether the application waits for the network in a poll that has nothing to hand out.

        Not while a stall is planned: then it is not the network alone that decides what comes.
        """
        if self.threads.is_to_stall:
            return False
        wait = self.threads.application_wait
        return self.calls.polling.is_waiting and wait is not None and wait.kind is WaitKind.NETWORK

    @property
    def swallows_empty_polls(self) -> bool:
        """Whether the application hears of a poll only when it brings records."""
        return self.calls.polling.swallows_empty_polls

    @property
    def in_flight(self) -> list[ClientRequest]:
        """The requests that have been sent and have not ended."""
        self.write_down()
        return self.calls.client.network.in_flight()

    def write_down(self) -> None:
        """Let what was done at rest show in every part: whoever looks into one asks for it."""
        if self._rest is not None:
            self._rest.write_down()

    def tell(self, fact: object) -> None:
        """Put a fact between the others; an application may tell its own."""
        if not self._is_dead:
            self._told.append(fact)

    # --- inside -----------------------------------------------------------------------------------

    def _advance(self, now_ms: int) -> None:
        self._leave_rest(now_ms)
        self.threads.advance(now_ms)

    def _leave_rest(self, now_ms: int) -> None:
        if self._rest is not None:
            self._rest.write_down()  # The clock, too, may not know of the last heartbeats.
        if now_ms < self.clock.now_ms:
            raise ValueError(f"now_ms must not be before {self.clock.now_ms}, not {now_ms}")
        self.has_rested = False

    def _settled(self) -> tuple[object, ...]:
        self.threads.settle()
        return self._taken()

    def _taken(self) -> tuple[object, ...]:
        if not self._told:
            return ()
        told, self._told = tuple(self._told), []
        return told

    def _on_end(self, value: object, error: BaseException | None) -> None:
        self.tell(ApplicationEnded(at_ms=self.clock.now_ms, value=value, error=error))
