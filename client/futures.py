"""The answer that a request will have: Kafka's `RequestFuture`.

Listeners run where the answer is handled, on whichever thread that is. Most are done at once; a
few wait themselves (the leader's fetches metadata), and what is left of them then is `Told`: who
completes a future hands it on, or awaits it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from attrs import define, field

from client.errors import CoordinatorNotAvailableException, RetriableException

T = TypeVar("T")

#: What is left of telling somebody: None if all is done, else it is to be awaited.
Told = Awaitable[None] | None
OnSuccess = Callable[[T], Told]
OnFailure = Callable[[Exception], Told]


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
        assert self.is_done
        assert self.error is None
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

    def complete(self, value: T) -> Told:
        """Answer well, and tell the listeners."""
        assert not self.is_done
        self.is_done = True
        self._value = value
        return self._fire() if self._listeners else None

    def fail(self, error: Exception) -> Told:
        """Answer badly, and tell the listeners."""
        assert not self.is_done
        self.is_done = True
        self.error = error
        return self._fire() if self._listeners else None

    def listen(self, on_success: OnSuccess[T], on_failure: OnFailure) -> Told:
        """Tell these two when the answer comes, or at once if it is there."""
        self._listeners.append((on_success, on_failure))
        return self._fire() if self.is_done else None

    def chain(self, other: RequestFuture[T]) -> Told:
        """Hand the answer on to another future."""
        return self.listen(other.complete, other.fail)

    def _fire(self) -> Told:
        """Tell one after the other, as far as that goes without waiting."""
        value: T = self._value  # type: ignore[assignment]  # set by complete, whatever T is
        while self._listeners:
            good, bad = self._listeners.pop(0)
            told = good(value) if self.error is None else bad(self.error)
            if told is not None:
                return self._go_on_after(told) if self._listeners else told
        return None

    async def _go_on_after(self, told: Awaitable[None]) -> None:
        await told
        rest = self._fire()
        if rest is not None:
            await rest


def failed_future(error: Exception) -> RequestFuture[T]:
    """A request that failed before it was sent."""
    return RequestFuture(is_done=True, error=error)


def no_coordinator() -> RequestFuture[T]:
    """A request that has nowhere to go."""
    return failed_future(CoordinatorNotAvailableException())
