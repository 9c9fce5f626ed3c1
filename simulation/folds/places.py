"""Where and when things happen; stretches of offsets; and how folds are shown their rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from attrs import define, field

from simulation.events import Kind, Row

#: What a fold does with a row of one kind.
Handler = Callable[[Row], None]


class Fold(Protocol):
    """Whoever learns from rows."""

    def handlers(self) -> Mapping[Kind, Handler]:
        """What it does with which kind of row."""


def by_kind(folds: Iterable[Fold]) -> dict[str, tuple[Handler, ...]]:
    """Whom to show a row, by the word of its kind, in the order of the folds."""
    found: dict[str, tuple[Handler, ...]] = {}
    for fold in folds:
        for kind, handler in fold.handlers().items():
            found[kind.value] = (*found.get(kind.value, ()), handler)
    return found


class Place(NamedTuple):
    """A partition as one group reads it."""

    group: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} of {self.group}"


class Member(NamedTuple):
    """A consumer, by its name in the run, in its group."""

    group: str
    client: str

    def __str__(self) -> str:
        return f"{self.client} of {self.group}"


class Span(NamedTuple):
    """A stretch of virtual time."""

    from_ms: int
    to_ms: int


def place_of(row: Row) -> Place | None:
    """The partition that a row is about, if a group reads it there."""
    if row.group is None or row.topic is None or row.partition is None:
        return None
    return Place(row.group, row.topic, row.partition)


@define
class Ranges:
    """A set of offsets as stretches without overlap, each up to but not including its end."""

    _starts: list[int] = field(factory=list)
    _ends: list[int] = field(factory=list)

    def add(self, start: int, end: int) -> int:
        """Put these offsets in; the answer is how many of them were there already."""
        if start >= end:
            return 0
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        known = self.count(start, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        return known

    def count(self, start: int, end: int) -> int:
        """How many of these offsets are in."""
        return sum(high - low for low, high in self.within(start, end))

    def within(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of this stretch that are in."""
        found = []
        for place in range(bisect_right(self._ends, start), len(self._starts)):
            low, high = max(start, self._starts[place]), min(end, self._ends[place])
            if low >= high:
                break
            found.append((low, high))
        return found

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of this stretch that are not in."""
        found = []
        for low, high in self.within(start, end):
            if start < low:
                found.append((start, low))
            start = high
        if start < end:
            found.append((start, end))
        return found
