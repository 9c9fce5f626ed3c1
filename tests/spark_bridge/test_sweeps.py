"""Sweeps as they are played and kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from simulation.measures import MEASURES
from simulation.parquet_source import read_recording
from simulation.scenarios import Limits, Scenario
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.errors import SweepRefused
from spark_bridge.ingest import find_runs
from spark_bridge.sweeps.folder import at_work, read_folder
from spark_bridge.sweeps.plan import usual_chunk
from spark_bridge.sweeps.playing import RESULT
from spark_bridge.sweeps.running import cores_of
from spark_bridge.sweeps.sweep import Sweep
from tests.spark_bridge.sweeps import A_DEATH, a_sweep, played, rows_of

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def usual(spark, tmp_path_factory):
    """A sweep that has been played; nobody changes it."""
    return played(spark, a_sweep(), tmp_path_factory.mktemp("usual") / "sweep")


@pytest.fixture
def copy(usual, tmp_path):
    """The same in a folder of one's own."""
    shutil.copytree(usual.path, tmp_path / "sweep")
    return read_folder(tmp_path / "sweep", Sweep)


def test_a_task_answers_in_the_columns_of_the_results():
    assert from_arrow_schema(RESULT) == schemas.SWEEP_RESULTS


def test_a_row_has_what_the_same_run_has_when_it_is_played_alone(spark, usual):
    rows = rows_of(spark, usual)

    alone = Scenario.from_yaml(A_DEATH).with_overrides({"session_timeout_ms": "10s"}).play(seed=1)
    row = rows[3]
    assert (row[c.CHOSEN], row[c.SEED]) == ({"session_timeout_ms": "10s"}, 1)
    assert {name: row[name] for name in MEASURES} == alone.figures()
    assert row[c.VALUES] == {name: list(alone.measures.values(name).values()) for name in MEASURES}
    assert (row[c.ERROR], row[c.HELD], row[c.EVENT_COUNT]) == (None, True, alone.events)


@pytest.mark.parametrize(("runs_per_chunk", "cores"), [(1, 1), (3, 4)])
def test_the_rows_are_the_same_whatever_the_chunks_and_tasks(
    spark, usual, tmp_path, runs_per_chunk, cores
):
    other = played(spark, a_sweep(runs_per_chunk=runs_per_chunk), tmp_path / "other", cores=cores)

    assert rows_of(spark, other) == rows_of(spark, usual)


def test_only_what_is_missing_is_played_again(spark, usual, copy, tmp_path):
    (kept, lost) = sorted(copy.results.glob("chunk=*"))
    files = sorted(kept.iterdir())
    lost.rename(tmp_path / "lost")
    assert copy.missing() == [1]

    played(spark, a_sweep(), copy.path)

    assert sorted(kept.iterdir()) == files
    assert rows_of(spark, copy) == rows_of(spark, usual)


def test_seeds_can_be_added_and_only_those_are_played(spark, usual, copy, tmp_path):
    files = sorted(copy.results.rglob("*.parquet"))

    more = played(spark, a_sweep(seeds=3, runs_per_chunk=3), copy.path)

    assert sorted(set(more.results.rglob("*.parquet")) & set(files)) == files
    rows = rows_of(spark, more)
    assert [row for row in rows if row[c.SEED] < 2] == rows_of(spark, usual)
    assert rows == rows_of(spark, played(spark, a_sweep(seeds=3), tmp_path / "at_once"))


def test_a_sweep_that_has_been_added_to_is_dealt_out_as_it_was_begun(tmp_path):
    for seeds, runs_per_chunk in ((2, 3), (5, 4), (5, 1)):
        with at_work(tmp_path / "sweep", a_sweep(seeds=seeds, runs_per_chunk=runs_per_chunk)):
            pass

    assert read_folder(tmp_path / "sweep", Sweep).plan.chunks() == [
        range(3),
        range(3, 4),
        range(4, 8),
        range(8, 10),
    ]


def test_seeds_cannot_be_taken_away(tmp_path):
    with at_work(tmp_path / "sweep", a_sweep(seeds=3)):
        pass

    with (
        pytest.raises(SweepRefused, match="has 3 already: --seeds can be raised, not lowered to 2"),
        at_work(tmp_path / "sweep", a_sweep(seeds=2)),
    ):
        pass


def test_what_somebody_left_who_was_killed_is_not_read_and_goes_away(spark, usual, copy):
    left = copy.results / "_making-1" / "chunk=9"
    left.mkdir(parents=True)
    (left / "part-0.parquet").write_bytes(b"half")
    assert rows_of(spark, copy) == rows_of(spark, usual)

    with at_work(copy.path, a_sweep()):
        pass

    assert not left.exists()


def test_a_run_that_fails_is_a_row_with_its_error_and_the_others_are_played(spark, tmp_path):
    limits = Limits(events=200)
    folder = played(spark, a_sweep("run_for=30s,10m", limits=limits), tmp_path / "sweep")

    rows = rows_of(spark, folder)

    assert [row[c.ERROR] is None for row in rows] == [True, True, False, False]
    assert rows[3][c.ERROR].startswith("TooManyEvents: more than 200 events by")
    assert (rows[3][c.SEED], rows[3]["unowned_s"], rows[3][c.VALUES]) == (1, None, None)


def test_runs_are_kept_with_their_events_if_they_are_asked_for(spark, tmp_path):
    folder = played(spark, a_sweep(seeds=1, keeps_events=True), tmp_path / "sweep")

    found = find_runs(folder.runs)

    assert [each.run_file.run for each in found.runs] == [
        "a_death-setting-0-seed-0",
        "a_death-setting-1-seed-0",
    ]
    rows = rows_of(spark, folder)
    assert [len(read_recording(each.path)) for each in found.runs] == [
        row[c.EVENT_COUNT] for row in rows
    ]


def test_a_folder_knows_its_sweep_and_refuses_another(tmp_path):
    with at_work(tmp_path / "sweep", a_sweep()):
        pass

    with (
        pytest.raises(SweepRefused, match="holds another sweep: --vary, --seed differ;"),
        at_work(tmp_path / "sweep", a_sweep("members=2,3", first_seed=3)),
    ):
        pass


def test_a_sweep_goes_on_in_the_chunks_that_it_was_begun_with(tmp_path):
    with at_work(tmp_path / "sweep", a_sweep(runs_per_chunk=3)):
        pass

    with at_work(tmp_path / "sweep", a_sweep(runs_per_chunk=1)) as workshop:
        assert workshop.folder.plan.runs_per_chunk == 3


def test_two_cannot_be_at_work_in_one_folder(tmp_path):
    with (
        at_work(tmp_path / "sweep", a_sweep()),
        pytest.raises(SweepRefused, match="somebody is at work"),
        at_work(tmp_path / "sweep", a_sweep()),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("other.txt", "mine", "is there already and is no sweep"),
        ("sweep.json", "{", r"is not the sweep.json of a sweep: Expecting"),
        ("sweep.json", json.dumps({"seeds": 3}), "it must have first_seed, seeds"),
    ],
)
def test_a_folder_of_something_else_is_refused(tmp_path: Path, name, text, complaint):
    (tmp_path / name).write_text(text)

    with pytest.raises(SweepRefused, match=complaint), at_work(tmp_path, a_sweep()):
        pass


def test_where_there_is_no_sweep_nothing_can_be_asked(tmp_path):
    with pytest.raises(SweepRefused, match=r"is no sweep: there is no sweep.json"):
        read_folder(tmp_path, Sweep)


def test_spark_tells_how_many_tasks_it_does_at_a_time(spark):
    assert cores_of(spark) == 2


@pytest.mark.parametrize(("runs", "size"), [(10, 32), (3_000, 60), (1_000_000, 256)])
def test_a_chunk_is_a_small_share_of_a_sweep_but_worth_a_job(runs, size):
    assert usual_chunk(runs, cores=2) == size
