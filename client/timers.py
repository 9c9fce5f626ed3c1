"""Virtual time inside a consumer: a clock that the host moves, and timers that read it.

A timer remembers the time at which it was last updated, as Kafka's does, and answers by that
time; where Kafka forgets to update one, so do we.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define

from client.errors import IllegalArgumentException

if TYPE_CHECKING:
    from client.connections import Channels

#: Later than any time that is ever reached.
NEVER = 2**63 - 1
#: Earlier than any time that matters: Kafka's clocks stand far from zero, ours begins there.
LONG_AGO = -(2**62)


def require_whole_ms(duration_ms: int) -> None:
    """Refuse seconds with a fraction, and whatever else is not a number of milliseconds."""
    if type(duration_ms) is not int:
        raise TypeError(f"a time must be a whole number of milliseconds, not {duration_ms!r}")


def _refuse(timeout_ms: int) -> NoReturn:
    require_whole_ms(timeout_ms)
    raise IllegalArgumentException(f"a time limit must not be negative, not {timeout_ms}")


@define(eq=False)
class Clock:
    """The consumer's time in milliseconds; its host moves it, nobody else."""

    now_ms: int = 0

    def timer(self, timeout_ms: int) -> Timer:
        """A timer that starts now."""
        now_ms = self.now_ms
        if type(timeout_ms) is not int or timeout_ms < 0:
            _refuse(timeout_ms)
        deadline_ms = now_ms + timeout_ms
        if deadline_ms > NEVER:
            deadline_ms = NEVER
        return Timer(self, now_ms, now_ms, deadline_ms, timeout_ms)


@define(eq=False)
class Timer:
    """A time limit as Kafka's `Timer` keeps it: it expires at its deadline, not after it."""

    clock: Clock
    current_ms: int
    start_ms: int
    deadline_ms: int
    timeout_ms: int

    @property
    def is_expired(self) -> bool:
        """Whether the deadline had come when this timer was last updated."""
        return self.current_ms >= self.deadline_ms

    @property
    def remaining_ms(self) -> int:
        """Time left when this timer was last updated."""
        return max(0, self.deadline_ms - self.current_ms)

    @property
    def elapsed_ms(self) -> int:
        """Time since the last reset, by the last update."""
        return self.current_ms - self.start_ms

    def update(self, now_ms: int | None = None) -> None:
        """Look at the clock, or take a time that the caller has read already."""
        if now_ms is None:
            now_ms = self.clock.now_ms
        if now_ms > self.current_ms:
            self.current_ms = now_ms

    def reset(self, timeout_ms: int) -> None:
        """Begin anew at the time of the last update; a negative limit is refused, as in Kafka."""
        if type(timeout_ms) is not int or timeout_ms < 0:
            _refuse(timeout_ms)
        self.timeout_ms = timeout_ms
        self.start_ms = self.current_ms
        self.deadline_ms = min(NEVER, self.current_ms + timeout_ms)

    def go_round(self) -> None:
        """Take the time since the start for rounds of this limit: begin when the last has begun."""
        rounds = (self.current_ms - self.start_ms) // self.timeout_ms
        self.start_ms += rounds * self.timeout_ms
        self.deadline_ms = min(NEVER, self.start_ms + self.timeout_ms)

    def update_and_reset(self, timeout_ms: int) -> None:
        """Begin anew now."""
        if self.clock.now_ms > self.current_ms:
            self.current_ms = self.clock.now_ms
        self.reset(timeout_ms)


class WaitKind(Enum):
    """What a thread of the consumer waits for."""

    NETWORK = "network"
    SLEEP = "sleep"
    STALL = "stall"
    MONITOR = "monitor"


@define(eq=False)
class Wait:
    """What a coroutine of the consumer yields: until when it waits, or for which news."""

    kind: WaitKind
    deadline_ms: int
    #: Where news come in that end it, if any do.
    channels: Channels | None = None

    def __await__(self) -> Generator[Wait, Any, None]:
        yield self
