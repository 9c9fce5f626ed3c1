"""Finished runs, read back: the rows of a run directory, in order or by their `seq`.

The counterpart of parquet_sink.py. A directory that is half-written, foreign, damaged or of another
version is refused with a sentence, before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import overload

import pyarrow as pa
from attrs import define, field
from pyarrow import compute, parquet

from simulation.errors import RunDirectoryError
from simulation.events import COLUMNS, SCHEMA_VERSION, ColumnType, Row
from simulation.parquet_sink import SCHEMA
from simulation.run_directory import EVENTS_FOLDER, RUN_FILE, RunFile, read_run_file

_NAMES = [column.name for column in COLUMNS]
_TEXTS = [column.name for column in COLUMNS if column.type is ColumnType.TEXT]
#: So many rows become values at a time.
_BATCH = 4_096


@define(eq=False)
class Recording(Sequence[Row]):
    """A finished run. The row of a `seq` stands at `seq` - 1, and is made when it is asked for."""

    path: Path
    run_file: RunFile
    _table: pa.Table = field(alias="_table")

    def __len__(self) -> int:
        return self._table.num_rows

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step == 1:
                return list(_rows(self._table.slice(start, max(0, stop - start))))
            return [self[each] for each in range(start, stop, step)]
        if not -len(self) <= place < len(self):
            raise IndexError(f"there is no row {place + 1} in a run of {len(self)}")
        return next(_rows(self._table.slice(place % len(self), 1)))

    def __iter__(self) -> Iterator[Row]:
        return _in_batches(self._table)

    def without(self, kinds: Collection[str]) -> Iterator[Row]:
        """The rows of all other kinds; those left out are never made."""
        wanted = compute.invert(
            compute.is_in(self._table.column("kind").cast(pa.string()), pa.array(sorted(kinds)))
        )
        return _in_batches(self._table.filter(wanted))

    def causes(self) -> list[int | None]:
        """The cause of every row, in order."""
        return list(self._table.column("cause").to_pylist())


def read_recording(run_directory: Path) -> Recording:
    """What a run directory holds; one that is not whole raises `RunDirectoryError`."""
    if not run_directory.exists():
        raise RunDirectoryError(f"there is no run directory {run_directory}")
    if not run_directory.is_dir():
        raise RunDirectoryError(f"{run_directory} is a file, and a run is a folder")
    _refuse_a_folder_of_runs(run_directory)
    run_file = read_run_file(run_directory)
    _refuse_other_versions(run_directory, run_file)
    table = _read_table(run_directory)
    expected = run_file.outcome.get("events")
    if expected is not None and expected != table.num_rows:
        raise RunDirectoryError(
            f"{run_directory} is damaged: {RUN_FILE} counts {expected} events,"
            f" and {table.num_rows} are there"
        )
    return Recording(run_directory, run_file, _table=table)


def _refuse_a_folder_of_runs(folder: Path) -> None:
    """`run --out DIR` makes a folder with one run for each variant; people name the folder."""
    if (folder / RUN_FILE).exists():
        return
    inside = sorted(path.parent.name for path in folder.glob(f"[!.]*/{RUN_FILE}"))
    if inside:
        raise RunDirectoryError(
            f"{folder} holds several runs: name one of them, such as {folder / inside[0]}"
            f" (there: {', '.join(inside)})"
        )


def _refuse_other_versions(run_directory: Path, run_file: RunFile) -> None:
    version = run_file.schema_version
    if version == SCHEMA_VERSION:
        return
    is_newer = version > SCHEMA_VERSION
    cure = "install a newer groupsim to read it" if is_newer else "play the run again"
    raise RunDirectoryError(
        f"{run_directory} was recorded in version {version} of the event schema,"
        f" and this groupsim reads version {SCHEMA_VERSION}: {cure}"
    )


def _read_table(run_directory: Path) -> pa.Table:
    folder = run_directory / EVENTS_FOLDER
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise RunDirectoryError(f"{run_directory} is not complete: no events in {folder}")
    parts = []
    for path in files:
        try:
            # Texts repeat: kept once each, a long run fits into memory.
            part = parquet.read_table(path, read_dictionary=_TEXTS)
        except (pa.ArrowException, OSError) as error:
            first_line = str(error).splitlines()[0]
            raise RunDirectoryError(f"{path} cannot be read: {first_line}") from error
        if part.column_names != SCHEMA.names:
            raise RunDirectoryError(f"{path} does not hold the events of a run: other columns")
        parts.append(part)
    return pa.concat_tables(parts)


def _in_batches(table: pa.Table) -> Iterator[Row]:
    for start in range(0, table.num_rows, _BATCH):
        yield from _rows(table.slice(start, _BATCH))


def _rows(table: pa.Table) -> Iterator[Row]:
    columns = [table.column(name).to_pylist() for name in _NAMES]
    for values in zip(*columns, strict=True):
        yield Row(**dict(zip(_NAMES, values, strict=True)))
