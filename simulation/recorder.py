"""The recorder: gives every event its place in the run's order and hands it to a sink.

Sinks that need nothing live here; `simulation.parquet_sink` writes run directories.
"""

from __future__ import annotations

from typing import Protocol, Unpack

from attrs import define, field

from simulation.events import Facts, Kind, Row


class Sink(Protocol):
    """Where rows go, one after the other in the order of `seq`."""

    def take(self, row: Row) -> None:
        """Keep this row, or not."""


@define(eq=False)
class MemorySink:
    """Keeps every row."""

    rows: list[Row] = field(factory=list)

    def take(self, row: Row) -> None:
        """Keep this row."""
        self.rows.append(row)


class NoSink:
    """Keeps nothing."""

    def take(self, row: Row) -> None:
        """Let this row go."""


@define(eq=False)
class Recorder:
    """Writes a run down. What `record` returns is how later events name this one as their cause."""

    run: str
    sink: Sink
    recorded: int = 0

    def record(self, kind: Kind, at_ms: int, cause: int | None, **facts: Unpack[Facts]) -> int:
        """Put one event down and return its `seq`."""
        self.recorded += 1
        self.sink.take(
            Row(
                seq=self.recorded,
                at_ms=at_ms,
                kind=kind.value,
                cause=cause,
                run=self.run,
                **facts,
            )
        )
        return self.recorded
