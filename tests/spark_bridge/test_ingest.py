from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from simulation.recording import record
from simulation.run_directory import EVENTS_FOLDER, RUN_FILE
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.errors import NoRuns, SchemaVersionRefused, TwoRunsOfOneName
from spark_bridge.ingest import Found, find_runs, read_events, read_runs
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


def paths_of(found: Found) -> list[Path]:
    return [run.path for run in found.runs]


@pytest.mark.spark
def test_several_runs_are_read_as_one_frame(spark, tmp_path):
    for seed in (1, 2):
        recorded(tmp_path, seed=seed)

    events = read_events(spark, tmp_path)

    assert sorted(row[c.RUN] for row in events.select(c.RUN).distinct().collect()) == [
        "leader_dies-seed-1",
        "leader_dies-seed-2",
    ]


@pytest.mark.spark
def test_what_was_played_is_a_table_to_join_with(spark, tmp_path):
    recorded(tmp_path, seed=7)

    runs = read_runs(spark, tmp_path)

    assert runs.schema == schemas.RUNS
    [row] = runs.collect()
    assert (row[c.RUN], row[c.SCENARIO], row[c.VARIANT]) == (
        "leader_dies-seed-7",
        "leader_dies",
        "leader_dies",
    )
    assert (row[c.SEED], row[c.ENDED_MS], row[c.HELD]) == (7, 90_000, True)
    settings = row[c.SETTINGS]
    assert settings["run_for"] == "1m30s"
    assert settings["cluster.topics.orders.partitions"] == "6"
    assert settings["groups.checkout.settings.partition_assignment_strategy"] == '["range"]'
    assert settings["script.0.crash"] == "leader of checkout"


def test_a_path_is_a_run_a_folder_or_a_glob(tmp_path):
    one, two = (recorded(tmp_path / "deep", seed=seed) for seed in (1, 2))

    assert paths_of(find_runs(one)) == [one]
    assert paths_of(find_runs(tmp_path)) == [one, two]
    assert paths_of(find_runs(str(tmp_path / "*" / "seed-2"))) == [two]


def test_what_is_not_complete_is_left_out_and_named(tmp_path):
    whole = recorded(tmp_path, seed=1)
    without_run_file = recorded(tmp_path, seed=2)
    (without_run_file / RUN_FILE).unlink()
    without_events = recorded(tmp_path, seed=3)
    for file in (without_events / EVENTS_FOLDER).iterdir():
        file.unlink()
    in_the_making = tmp_path / ".seed-4-123-x"
    in_the_making.mkdir()
    shutil.copytree(whole, in_the_making / "seed-4")

    found = find_runs(tmp_path)

    assert paths_of(found) == [whole]
    assert [str(each) for each in found.left_out] == [
        f"{in_the_making / 'seed-4'} is left out: its recording has not come to an end",
        f"{without_run_file} is left out: there is no run.json",
        f"{without_events} is left out: there are no events in events",
    ]


def test_two_runs_of_one_name_are_refused(tmp_path):
    run = recorded(tmp_path)
    shutil.copytree(run, tmp_path / "copy")

    with pytest.raises(TwoRunsOfOneName, match="are both called leader_dies-seed-0"):
        find_runs(tmp_path)


@pytest.mark.parametrize(("version", "cure"), [(99, "install a newer groupsim"), (1, "record")])
def test_a_run_of_another_schema_version_is_refused_in_words(tmp_path, version, cure):
    with_version(recorded(tmp_path), version)

    with pytest.raises(SchemaVersionRefused, match=rf"version {version} .* version 3: {cure}"):
        find_runs(tmp_path)


def test_a_folder_without_runs_is_refused_in_words(tmp_path):
    with pytest.raises(NoRuns, match="there is no complete run at"):
        find_runs(tmp_path)


def test_a_glob_that_nothing_matches_is_refused_in_words(tmp_path):
    with pytest.raises(NoRuns, match=r"no complete run at .*/none-\*"):
        find_runs(str(tmp_path / "none-*"))
