"""Kafka's retry schedule, and the chance that it draws on."""

from __future__ import annotations

import math
from typing import Protocol

from attrs import field, frozen


class Chance(Protocol):
    """The random choices of one consumer, made by its host."""

    def jitter(self) -> float:
        """A factor for one back-off; Kafka's lie between 0.8 and 1.2."""
        ...

    def pick(self, bound: int) -> int:
        """A number from 0 up to, but not including, the bound."""
        ...


class NoChance:
    """Chance switched off: every back-off as it stands, among equals the first."""

    def jitter(self) -> float:
        """No jitter."""
        return 1.0

    def pick(self, bound: int) -> int:  # noqa: ARG002
        """The first."""
        return 0


@frozen(kw_only=True)
class ExponentialBackoff:
    """Waits that double from `initial_ms` up to `max_ms`; constant where nothing is between them.

    The cap is reached by the same floating-point steps as in Kafka, so that it is cut to the
    same millisecond.
    """

    initial_ms: int
    max_ms: int
    chance: Chance
    #: No wait is longer than this.
    longest_ms: int = field(init=False)
    _exponent_max: float = field(init=False)

    @longest_ms.default
    def _longer_of_both(self) -> int:
        return max(self.initial_ms, self.max_ms)

    @_exponent_max.default
    def _exponent_of_the_cap(self) -> float:
        if self.max_ms <= self.initial_ms:
            return 0.0
        return math.log(self.max_ms / max(self.initial_ms, 1)) / math.log(2)

    def backoff_ms(self, attempts: int) -> int:
        """How long to wait after so many failures before this one."""
        initial_ms = min(self.initial_ms, self.max_ms)
        if self._exponent_max == 0:
            return initial_ms
        term = initial_ms * math.pow(2, min(attempts, self._exponent_max))
        return min(int(self.chance.jitter() * term), self.max_ms)
