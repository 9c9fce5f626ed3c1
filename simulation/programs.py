"""What runs in a consumer: a ready-made poll loop, or an async function that the user wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import Any, Protocol

from attrs import define, evolve, field, frozen

from client.applications import PollLoop, ResultStore, RunningLoop
from client.calls import AsyncConsumer
from client.errors import (
    IllegalArgumentException,
    IllegalStateException,
    KafkaException,
    WakeupException,
)

#: What a user writes: an async function that is given the consumer's calls.
Application = Callable[[AsyncConsumer], Coroutine[Any, Any, Any]]

_KAFKA_S_OWN = (KafkaException, IllegalStateException, IllegalArgumentException)

#: What asyncio's own functions say where no loop of asyncio runs them.
_NO_ASYNCIO = "no running event loop"


class Running(Protocol):
    """A program in one life of a consumer."""

    #: Whether the program itself tells when records are processed.
    tells_of_processing: bool

    def run(self) -> Coroutine[Any, Any, Any]:
        """The coroutine to start."""

    def stop(self, operation: str) -> None:
        """End in an orderly way once the consumer is woken."""


class Program(Protocol):
    """What can be started again and again."""

    @property
    def topics(self) -> str:
        """The topics that it is known to want, as a regular expression; "" if that is not known."""

    @property
    def unrest_ms(self) -> int:
        """For how long after its start it is known to disturb its group by itself."""

    def start(self, calls: AsyncConsumer, tell: Callable[[object], None]) -> Running:
        """Begin a life."""

    def is_surprised_by(self, error: BaseException) -> bool:
        """Whether it should not have ended like this, so that the script is to hear of it."""


@define(eq=False)
class _RunningPollLoop:
    loop: RunningLoop
    tells_of_processing: bool = True

    def run(self) -> Coroutine[Any, Any, Any]:
        return self.loop.run()

    def stop(self, operation: str) -> None:
        self.loop.is_stopping = True
        if operation != self.loop.loop.close_operation:
            self.loop.loop = evolve(self.loop.loop, close_operation=operation)


@frozen
class PollLoopProgram:
    """A ready-made poll loop; the consumers of a group share one store of results."""

    loop: PollLoop
    results: ResultStore

    @property
    def topics(self) -> str:
        """What the loop subscribes to."""
        return self.loop.pattern or "|".join(map(re.escape, self.loop.topics))

    @property
    def unrest_ms(self) -> int:
        """Until its last stall is over."""
        return max((stall.at_ms + stall.for_ms for stall in self.loop.stalls), default=0)

    def start(self, calls: AsyncConsumer, tell: Callable[[object], None]) -> Running:
        """Begin a life."""
        return _RunningPollLoop(RunningLoop(self.loop, calls, tell, self.results))

    def is_surprised_by(self, error: BaseException) -> bool:
        """Kafka's own exceptions are part of a story; what a user's assignor raises is not."""
        cause: BaseException | None = error
        while isinstance(cause, _KAFKA_S_OWN):
            cause = cause.__cause__
        return cause is not None


@define(eq=False)
class _RunningApplication:
    application: Application
    calls: AsyncConsumer
    tells_of_processing: bool = False
    _stops_with: str | None = field(default=None, init=False)

    async def run(self) -> None:
        """Run what the user wrote; if it is woken to stop and does not close, close for it."""
        running = self.application(self.calls)
        if not isawaitable(running):
            raise TypeError(f"app must be an async function, not {self.application!r}")
        try:
            await running
        except WakeupException:
            if self._stops_with is None:
                raise
        except RuntimeError as error:
            if str(error) == _NO_ASYNCIO:
                error.add_note(
                    "no asyncio runs in virtual time: await calls of the consumer, such as"
                    " consumer.sleep(1_000) for a second"
                )
            raise
        if self._stops_with is not None and not self.calls.is_closed:
            await self.calls.close(operation=self._stops_with)

    def stop(self, operation: str) -> None:
        self._stops_with = operation


@frozen
class UserProgram:
    """An async function; what a poll handed out counts as processed when it polls again."""

    application: Application
    #: It says for itself, while it runs, what it subscribes to.
    topics: str = ""
    unrest_ms: int = 0

    def start(self, calls: AsyncConsumer, _tell: Callable[[object], None]) -> Running:
        """Begin a life."""
        return _RunningApplication(self.application, calls)

    def is_surprised_by(self, _error: BaseException) -> bool:
        """Whoever wrote it can catch in it what they expect."""
        return True
