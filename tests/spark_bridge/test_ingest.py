from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulation.errors import RunDirectoryError
from simulation.recording import record
from simulation.run_directory import RUN_FILE
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.errors import SchemaVersionRefused
from spark_bridge.ingest import read_events, refuse_other_versions
from tests.support.stories import rows_of, the_leader_dies


def recorded(folder: Path, *, seed: int = 0) -> Path:
    """The run directory of a short story."""
    path = folder / f"seed-{seed}"
    record(the_leader_dies(), path, seed=seed)
    return path


def with_version(run_directory: Path, version: int) -> Path:
    """Make a run say that it was recorded in another version."""
    path = run_directory / RUN_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": version}))
    return run_directory


@pytest.mark.spark
def test_spark_reads_what_was_recorded(spark, tmp_path):
    rows = rows_of(the_leader_dies())

    events = read_events(spark, recorded(tmp_path))

    assert [row.asDict() for row in events.orderBy(c.SEQ).collect()] == [
        {name: getattr(row, name) for name in schemas.EVENTS.names} for row in rows
    ]


@pytest.mark.spark
def test_several_runs_are_read_as_one_frame(spark, tmp_path):
    runs = [recorded(tmp_path, seed=seed) for seed in (1, 2)]

    events = read_events(spark, *runs)

    assert sorted(row[c.RUN] for row in events.select(c.RUN).distinct().collect()) == [
        "leader_dies-seed-1",
        "leader_dies-seed-2",
    ]


def test_a_run_of_another_schema_version_is_refused_in_words(tmp_path):
    run = with_version(recorded(tmp_path), 99)

    with pytest.raises(SchemaVersionRefused, match=r"recorded in version 99 .* reads version 1"):
        refuse_other_versions(run)


def test_a_folder_that_is_no_run_is_refused_in_words(tmp_path):
    with pytest.raises(RunDirectoryError, match="is no run directory"):
        refuse_other_versions(tmp_path)
