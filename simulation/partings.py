"""Where two runs part: the first row in which they differ, and what led to it.

The run's own name stands in every row and is not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from attrs import asdict, evolve, frozen

from simulation.events import Row

__all__ = ["Parting", "causes_of", "first_difference", "parting_of"]


@frozen(kw_only=True)
class Parting:
    """The first difference of two runs; a run that is over by then has no row there."""

    seq: int
    left: Row | None
    right: Row | None

    def columns(self) -> dict[str, tuple[object, object]]:
        """The columns in which the two rows differ, with both values; none if a run is over."""
        if self.left is None or self.right is None:
            return {}
        one, other = asdict(self.left), asdict(self.right)
        return {
            name: (value, other[name])
            for name, value in one.items()
            if name != "run" and value != other[name]
        }


def first_difference(left: Iterable[Row], right: Iterable[Row]) -> Parting | None:
    """Where these rows begin to differ; None if they never do."""
    for seq, (one, other) in enumerate(zip_longest(left, right), 1):
        if one is None or other is None or not _is_same(one, other):
            return Parting(seq=seq, left=one, right=other)
    return None


def _is_same(one: Row, other: Row) -> bool:
    return one == other or (one.run != other.run and evolve(one, run=other.run) == other)


def parting_of(left: Sequence[Row], right: Sequence[Row]) -> int | None:
    """The `seq` of the first row in which they differ; None if they never do."""
    found = first_difference(left, right)
    return None if found is None else found.seq


def causes_of(rows: Sequence[Row], row: Row | None, most: int) -> list[Row]:
    """What led to a row, the nearest cause first."""
    found: list[Row] = []
    while row is not None and row.cause is not None and len(found) < most:
        row = rows[row.cause - 1]
        found.append(row)
    return found
