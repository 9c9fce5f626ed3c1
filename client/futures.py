"""The answer that a request will have: Kafka's `RequestFuture`.

Listeners run where the answer is handled, on whichever thread that is, and may wait themselves:
the leader's listener fetches metadata. Hence completing a future is awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from attrs import define, field

from client.errors import CoordinatorNotAvailableException, RetriableException

T = TypeVar("T")
S = TypeVar("S")

OnSuccess = Callable[[T], Awaitable[None] | None]
OnFailure = Callable[[Exception], Awaitable[None] | None]


@define(eq=False)
class RequestFuture(Generic[T]):
    """A value or an error to come, and who wants to hear of it."""

    is_done: bool = False
    error: Exception | None = None
    _value: T | None = None
    _listeners: list[tuple[OnSuccess[T], OnFailure]] = field(factory=list)

    @property
    def value(self) -> T:
        """What the request brought; only to be asked of a future that succeeded."""
        assert self.succeeded
        return self._value  # type: ignore[return-value]  # set by complete, whatever T is

    @property
    def succeeded(self) -> bool:
        """Whether the answer is there and good."""
        return self.is_done and self.error is None

    @property
    def failed(self) -> bool:
        """Whether the answer is there and bad."""
        return self.error is not None

    @property
    def is_retriable(self) -> bool:
        """Whether it failed in a way that may pass."""
        return isinstance(self.error, RetriableException)

    def should_block(self) -> bool:
        """Whether there is still something to wait for."""
        return not self.is_done

    async def complete(self, value: T) -> None:
        """Answer well, and tell the listeners."""
        assert not self.is_done
        self.is_done, self._value = True, value
        await self._fire()

    async def fail(self, error: Exception) -> None:
        """Answer badly, and tell the listeners."""
        assert not self.is_done
        self.is_done, self.error = True, error
        await self._fire()

    async def add_listener(self, on_success: OnSuccess[T], on_failure: OnFailure) -> None:
        """Tell these two when the answer comes, or at once if it is there."""
        self._listeners.append((on_success, on_failure))
        if self.is_done:
            await self._fire()

    async def chain(self, other: RequestFuture[T]) -> None:
        """Hand the answer on to another future."""
        await self.add_listener(other.complete, other.fail)

    async def _fire(self) -> None:
        while self._listeners:
            on_success, on_failure = self._listeners.pop(0)
            told = on_success(self.value) if self.error is None else on_failure(self.error)
            if told is not None:
                await told


def failed_future(error: Exception) -> RequestFuture[T]:
    """A request that failed before it was sent."""
    return RequestFuture(is_done=True, error=error)


def no_coordinator() -> RequestFuture[T]:
    """A request that has nowhere to go."""
    return failed_future(CoordinatorNotAvailableException())
