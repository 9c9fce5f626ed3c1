"""Random worlds that are played on Spark."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from attrs import evolve
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from simulation.campaign import Campaign, Failure
from simulation.random_worlds import draw_world
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.errors import SweepRefused
from spark_bridge.sweeps.folder import Folder, at_work
from spark_bridge.sweeps.worlds import FOUND, Worlds, found_on_spark
from tests.groupsim.command import groupsim
from tests.simulation.test_campaign import crashes_are_failures

pytestmark = pytest.mark.spark

WORLDS = 12
FAILING = [failure for seed in range(WORLDS) if (failure := crashes_are_failures(draw_world(seed)))]


def played(
    spark: SparkSession, path: Path, worlds: int = WORLDS, runs_per_chunk: int = 5, cores: int = 2
) -> tuple[Folder[Worlds], list[Failure | None]]:
    """The folder of a campaign in which crashes are failures, and what was found."""
    plan = evolve(Worlds(first_seed=0, seeds=worlds), runs_per_chunk=runs_per_chunk)
    with at_work(path, plan) as workshop:
        found = found_on_spark(spark, workshop, cores, lambda *_: None, crashes_are_failures)
        return workshop.folder, list(found)


def rows_of(spark: SparkSession, folder: Folder[Worlds]) -> list[tuple[object, ...]]:
    return [tuple(row) for row in folder.read(spark).orderBy(c.SEED).collect()]


def test_a_task_answers_in_the_columns_of_the_rows():
    assert from_arrow_schema(FOUND) == schemas.WORLDS


def test_every_world_is_a_row_and_one_that_fails_says_what_it_broke(spark, tmp_path):
    folder, found = played(spark, tmp_path)

    rows = rows_of(spark, folder)
    assert [row[0] for row in rows] == list(range(WORLDS))
    assert 0 < len(FAILING) < WORLDS
    assert [row for row in rows if row[1]] == [(it.seed, it.kind, it.told) for it in FAILING]
    assert sorted(it.seed for it in found if it) == [it.seed for it in FAILING]


def test_the_rows_are_the_same_whatever_the_chunks_and_tasks(spark, tmp_path):
    one, _ = played(spark, tmp_path / "one")
    other, _ = played(spark, tmp_path / "other", runs_per_chunk=12, cores=1)

    assert rows_of(spark, one) == rows_of(spark, other)


def test_worlds_can_be_added_and_what_was_found_before_is_told_again(spark, tmp_path):
    played(spark, tmp_path, worlds=8)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}

    _, found = played(spark, tmp_path)

    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert len(found) == WORLDS
    assert [it for it in found if it] == FAILING


def test_what_is_found_on_spark_is_made_small_and_saved_here(spark, tmp_path):
    results = StringIO()
    with at_work(tmp_path, evolve(Worlds(first_seed=0, seeds=WORLDS), runs_per_chunk=5)) as shop:
        status = Campaign(
            seeds=range(WORLDS),
            judge=crashes_are_failures,
            elsewhere=found_on_spark(spark, shop, 2, lambda *_: None, crashes_are_failures),
            out=tmp_path,
            results=results,
            talk=StringIO(),
        ).run()

    assert status == 1
    scripts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("world_*.py")}
    assert sorted(scripts) == sorted(f"world_{it.seed}.py" for it in FAILING)
    assert sum(script in results.getvalue() for script in scripts.values()) == 2


def test_a_folder_of_another_campaign_is_refused(tmp_path):
    with at_work(tmp_path, Worlds(first_seed=0, seeds=3)):
        pass

    with (
        pytest.raises(SweepRefused, match="holds another campaign: --seed differs"),
        at_work(tmp_path, Worlds(first_seed=1, seeds=3)),
    ):
        pass


@pytest.mark.usefixtures("spark")
def test_the_command_answers_as_it_does_without_spark(tmp_path):
    (tmp_path / "world_1.py").write_text("what a campaign without Spark has left")
    words = ("campaign", "--worlds", 3, "--json", "--out", tmp_path)

    on_spark = groupsim(*words, "--master", "local[2]")

    assert on_spark.exit_code == 0, on_spark.stderr
    assert json.loads(on_spark.stdout) == json.loads(groupsim(*words).stdout)


def test_jobs_are_for_one_machine(tmp_path):
    result = groupsim("campaign", "--jobs", 2, "--master", "local[2]", "--out", tmp_path)

    assert result.exit_code == 2
    assert "--jobs is for this machine alone" in result.stderr
