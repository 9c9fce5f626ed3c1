from __future__ import annotations

from pathlib import Path

import pytest
from attrs import asdict
from pyarrow import ArrowInvalid, parquet

from simulation.events import Row
from simulation.parquet_sink import SCHEMA, ParquetSink
from simulation.run_directory import RunFile

A_RUN = RunFile(run="a-run", scenario={}, seed=0, versions={}, outcome={})

ROWS = [
    Row(seq=1, at_ms=0, kind="run_started", run="a-run", detail="Grüße"),
    Row(seq=2, at_ms=0, kind="partition_assigned", cause=1, run="a-run", topic="t", partition=0),
    Row(seq=3, at_ms=9, kind="offset_committed", cause=2, run="a-run", offset=1 << 40),
]


def a_recording(path: Path, *, rows_per_group: int = 2) -> Path:
    with ParquetSink(path, rows_per_group=rows_per_group) as sink:
        for row in ROWS:
            sink.take(row)
        sink.finish(A_RUN)
    (file,) = (path / "events").iterdir()
    return file


def test_rows_are_read_back_as_they_were_written(tmp_path):
    table = parquet.read_table(a_recording(tmp_path / "a-run"))

    assert [Row(**row) for row in table.to_pylist()] == ROWS


def test_a_run_directory_may_be_named_by_a_text(tmp_path):
    with ParquetSink(str(tmp_path / "a-run")) as sink:
        sink.finish(A_RUN)

    assert (tmp_path / "a-run" / "run.json").exists()


def test_a_file_has_the_columns_and_types_of_the_schema(tmp_path):
    assert parquet.read_schema(a_recording(tmp_path / "a-run")).equals(SCHEMA)


def test_rows_leave_memory_group_by_group(tmp_path):
    metadata = parquet.read_metadata(a_recording(tmp_path / "a-run", rows_per_group=2))

    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [2, 1]


def test_every_column_is_compressed_with_zstd(tmp_path):
    group = parquet.read_metadata(a_recording(tmp_path / "a-run")).row_group(0)

    assert {group.column(number).compression for number in range(group.num_columns)} == {"ZSTD"}


def test_the_same_rows_give_the_same_bytes(tmp_path):
    first, second = a_recording(tmp_path / "one"), a_recording(tmp_path / "two")

    assert first.read_bytes() == second.read_bytes()


def test_a_run_that_is_not_finished_leaves_nothing_behind(tmp_path):
    with ParquetSink(tmp_path / "a-run") as sink:
        sink.take(ROWS[0])

    assert list(tmp_path.iterdir()) == []


def test_a_value_of_a_wrong_type_is_refused_and_leaves_nothing_behind(tmp_path):
    wrong = Row(**{**asdict(ROWS[0]), "at_ms": "soon"})

    with (
        pytest.raises(ArrowInvalid, match="soon"),
        ParquetSink(tmp_path / "a-run", rows_per_group=1) as sink,
    ):
        sink.take(wrong)

    assert list(tmp_path.iterdir()) == []


def test_a_run_of_no_events_is_complete_too(tmp_path):
    with ParquetSink(tmp_path / "a-run") as sink:
        sink.finish(A_RUN)

    assert parquet.read_table(tmp_path / "a-run" / "events").num_rows == 0
