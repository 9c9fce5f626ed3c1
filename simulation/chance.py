"""All chance of a run: named streams from one seed, drawn by number.

The k-th draw of a stream is a function of the seed, the stream's name and k. So a consumer more
shifts nobody else's dice, and a draw that nobody needs is never made. Messages are numbered by the
millisecond in which they are sent: what was not played need not be counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b

from attrs import field, frozen
from attrs.validators import min_len

from simulation.arguments import require_whole

_BITS = 64
_MASK = (1 << _BITS) - 1
#: 2**64 divided by the golden ratio: neighbouring numbers land far apart.
_GOLDEN = 0x9E3779B97F4A7C15
#: Kafka's back-offs are stretched by a factor between 0.8 and 1.2.
_JITTER_LEAST, _JITTER_SPAN = 0.8, 0.4


@cache
def stream_key(seed: int, name: str) -> int:
    """The stream of that name."""
    digest = blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def draw(stream: int, k: int) -> int:
    """The k-th draw of a stream, 64 bits of it: splitmix64."""
    z = (stream + k * _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


@frozen
class Law:
    """How long something takes: whole milliseconds at equally likely quantiles, least first.

    Between two of them lie straight lines; integers only, so that every machine draws the same.
    """

    quantiles: tuple[int, ...] = field(validator=min_len(1))
    #: Where each line begins and how far it rises, and how many lie between the quantiles.
    _lines: tuple[tuple[int, int], ...] = field(init=False, eq=False, repr=False)
    _spans: int = field(init=False, eq=False, repr=False)

    @quantiles.validator
    def _least_first(self, _attribute: object, value: tuple[int, ...]) -> None:
        for each in value:
            require_whole("each of quantiles", each, least=1)
        if list(value) != sorted(value):
            raise ValueError(f"quantiles must rise, not {value}")

    def __attrs_post_init__(self) -> None:
        """Draw the lines."""
        ends = (*self.quantiles[1:], self.quantiles[-1])
        lines = tuple((low, high - low) for low, high in zip(self.quantiles, ends, strict=True))
        object.__setattr__(self, "_lines", lines)
        object.__setattr__(self, "_spans", len(lines) - 1)

    def of(self, drawn: int) -> int:
        """The length that belongs to a draw."""
        place = drawn * self._spans
        low, rise = self._lines[place >> _BITS]
        return low + (rise * ((place & _MASK) >> 32) >> 32)

    def drawn(self, stream: int, k: int) -> int:
        """The length that belongs to the k-th draw of a stream; every message asks for two."""
        # `draw` and `of` once more, without the calls.
        z = (stream + k * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        place = (z ^ (z >> 31)) * self._spans
        low, rise = self._lines[place >> 64]
        return low + (rise * (place >> 32 & 0xFFFFFFFF) >> 32) if rise else low

    @property
    def nominal_ms(self) -> int:
        """The one in the middle."""
        return self.quantiles[len(self.quantiles) // 2]

    @property
    def longest_ms(self) -> int:
        """No draw is longer."""
        return self.quantiles[-1]

    def slower_by(self, extra_ms: int) -> Law:
        """The same, and so much more."""
        return Law(tuple(each + extra_ms for each in self.quantiles))


def fixed(ms: int) -> Law:
    """Always the same."""
    return Law((ms,))


def between(least_ms: int, most_ms: int) -> Law:
    """Anything from one to the other."""
    return Law((least_ms, most_ms))


#: A round trip of a few milliseconds in one data centre, now and then a slow one.
LAN = Law((1, 1, 1, 1, 2, 2, 2, 3, 5))

#: A quantile table of waiting times whose mean is 1000, for things that happen at a rate.
_WAITS = Law(
    (1, 65, 134, 208, 288, 375, 470, 575, 693, 827, 981, 1163, 1386, 1674, 2079, 2773, 5545)
)


def wait_ms(mean_ms: int, drawn: int) -> int:
    """How long until something happens that happens once in `mean_ms`, at any time alike."""
    return max(1, _WAITS.of(drawn) * mean_ms // 1_000)


@frozen
class Dice:
    """The choices of one consumer: the same moment, the same choice."""

    stream: int
    now_ms: Callable[[], int]

    def jitter(self) -> float:
        """A factor for a back-off."""
        drawn = draw(self.stream, 2 * self.now_ms()) >> 11
        return _JITTER_LEAST + _JITTER_SPAN * drawn / 2**53

    def pick(self, bound: int) -> int:
        """A number from 0 up to, but not including, the bound."""
        return draw(self.stream, 2 * self.now_ms() + 1) * bound >> _BITS
