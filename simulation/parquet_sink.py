"""The sink that keeps a run for good: events as Parquet in a run directory.

The only module here that imports pyarrow. Rows are written in row groups of bounded size, so
memory does not grow with the run. The bytes follow from the rows alone: no clock, no order of a
set, nothing of the machine; the writer's own version stands in the file, so two versions of
pyarrow may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from attrs import define, field
from pyarrow import parquet

from simulation.events import COLUMNS, ColumnType, Row
from simulation.run_directory import EVENTS_FOLDER, RunDirectory, RunFile

#: At most so many rows wait in memory, some 30 MB.
ROWS_PER_GROUP = 65_536

_EVENTS_FILE = "part-0.parquet"

_ARROW_TYPES: Mapping[ColumnType, pa.DataType] = {
    ColumnType.INT32: pa.int32(),
    ColumnType.INT64: pa.int64(),
    ColumnType.TEXT: pa.string(),
}

SCHEMA = pa.schema(
    [
        pa.field(column.name, _ARROW_TYPES[column.type], nullable=column.is_optional)
        for column in COLUMNS
    ]
)

#: Texts repeat, so they are kept once; numbers mostly rise, so their differences are kept.
_TEXTS = [column.name for column in COLUMNS if column.type is ColumnType.TEXT]
_NUMBERS = {
    column.name: "DELTA_BINARY_PACKED" for column in COLUMNS if column.type is not ColumnType.TEXT
}

#: How a file of events is written, by this sink or by whoever makes one without playing a run.
FILE_OPTIONS: Mapping[str, Any] = {
    "compression": "zstd",
    "use_dictionary": _TEXTS,
    "column_encoding": _NUMBERS,
    "store_schema": False,
}

PYARROW_VERSION: str = pa.__version__


@define(eq=False, init=False)
class ParquetSink:
    """Streams rows into a run directory, which appears when `finish` is called and not before.

    Leaving its `with` block without `finish`, by an exception or otherwise, leaves nothing behind.
    """

    _directory: RunDirectory
    _writer: parquet.ParquetWriter
    _rows_per_group: int
    _waiting: list[Row] = field(factory=list)
    _is_finished: bool = False

    def __init__(self, path: Path | str, *, rows_per_group: int = ROWS_PER_GROUP) -> None:
        directory = RunDirectory(Path(path))
        try:
            writer = parquet.ParquetWriter(
                directory.folder / EVENTS_FOLDER / _EVENTS_FILE,
                SCHEMA,
                **FILE_OPTIONS,
            )
        except BaseException:
            directory.abandon()
            raise
        self.__attrs_init__(directory=directory, writer=writer, rows_per_group=rows_per_group)

    def take(self, row: Row) -> None:
        """Keep this row, on disk as soon as enough of them wait."""
        self._waiting.append(row)
        if len(self._waiting) >= self._rows_per_group:
            self._write_group()

    def finish(self, run_file: RunFile) -> None:
        """The run is over and all of it is told: let the run directory appear."""
        if self._waiting:
            self._write_group()
        self._writer.close()
        self._directory.complete(run_file)
        self._is_finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_finished:
            # A disk that is full refuses the last bytes too; they are not wanted any more.
            with suppress(OSError):
                self._writer.close()
            self._directory.abandon()

    def _write_group(self) -> None:
        columns: list[Any] = [
            pa.array(map(attrgetter(column.name), self._waiting), _ARROW_TYPES[column.type])
            for column in COLUMNS
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA))
        self._waiting.clear()
