"""What a checker is, and what it says when its sentence does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import define, field, frozen

from simulation.events import Kind, Row
from simulation.folds.places import Handler


@frozen(kw_only=True)
class Violation:
    """A checker's sentence that does not hold, what was seen instead, and the rows that show it."""

    checker: str
    sentence: str
    seen: str
    #: When it was seen, or rest was due.
    at_ms: int
    #: The `seq` of the rows that show it, in order.
    rows: tuple[int, ...]

    def __str__(self) -> str:
        rows = ", ".join(map(str, self.rows))
        return f"{self.checker} at {self.at_ms} ms, rows {rows}: {self.seen}; but {self.sentence}"

    def report(self, seed: int, command: str) -> str:
        """The violation, the seed it happened under, and how to see it again."""
        return f"{self}\n  seed {seed}; to repeat it: {command}"


@define(eq=False)
class Checker:
    """One property of runs; a subclass says which, in its `sentence`."""

    sentence: ClassVar[str]
    found: list[Violation] = field(factory=list, init=False)

    def handlers(self) -> Mapping[Kind, Handler]:
        """What it looks at."""
        raise NotImplementedError

    def blame(self, seen: str, *rows: Row, at_ms: int | None = None) -> None:
        """Write a violation down, as of the last of its rows unless another time is given."""
        self.found.append(
            Violation(
                checker=type(self).__name__,
                sentence=self.sentence,
                seen=seen,
                at_ms=rows[-1].at_ms if at_ms is None else at_ms,
                rows=tuple(row.seq for row in rows),
            )
        )
