"""The same answers from a cluster and through Spark Connect, and runs played on bare workers."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.cluster import on_the_workers
from tests.cluster.conftest import Cluster
from tests.cluster.daemons import SPARK_HOME
from tests.groupsim.command import groupsim
from tests.groupsim.runs import a_death, directory_of
from tests.test_docs_commands import PAGES, commands_of, goes_to_a_cluster

pytestmark = pytest.mark.spark

GROUPSIM = (sys.executable, "-m", "groupsim")
ON_CLUSTERS = [each for page in PAGES for each in commands_of(page) if goes_to_a_cluster(each)]

WAYS = ("spark-submit", "connect")


@pytest.fixture(scope="module", params=WAYS)
def seen(request: pytest.FixtureRequest) -> Any:
    """What a program saw on the workers of the cluster."""
    if request.param == "connect":
        connect: Cluster = request.getfixturevalue("connect")
        ended = connect.call(sys.executable, on_the_workers.__file__, connect.remote)
    else:
        cluster: Cluster = request.getfixturevalue("cluster")
        submit = (SPARK_HOME / "bin" / "spark-submit", "--master", cluster.master)
        driver = {"PYSPARK_DRIVER_PYTHON": sys.executable}
        ended = cluster.call(*submit, on_the_workers.__file__, **driver)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def test_tasks_run_in_the_workers_own_python_which_has_pyspark_and_pyarrow_only(seen, bare_python):
    there = {"prefix": str(bare_python.parent.parent), "found": []}

    assert seen["before"] == [there] * on_the_workers.TASKS


def test_a_scenario_plays_on_the_workers_as_it_does_here(seen):
    assert len(seen["here"]) > 100
    assert seen["there"] == [seen["here"]] * on_the_workers.TASKS


def shown(verb: str, flag: str) -> list[object]:
    """The words of the command that docs/cluster.md shows for this, up to the cluster's address."""
    [command] = [each for each in ON_CLUSTERS if f" {verb} " in each and f" {flag} " in each]
    return list(command.split()[1:-1])


def test_all_that_the_pages_show_of_clusters_is_called_here():
    assert [each.split()[1] for each in ON_CLUSTERS] == [
        *("analyze", "sweep", "analyze", "campaign")
    ]


@pytest.fixture(scope="module")
def local_tables(spark: SparkSession) -> str:
    """The tables of a run, as a session on this machine shows them."""
    assert (spark.conf.get("spark.master") or "").startswith("local")
    analyze, _, *question, _ = shown("analyze", "--master")
    answer = groupsim(analyze, directory_of(a_death), *question)
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout


def test_a_cluster_shows_the_tables_that_this_machine_does(cluster, local_tables):
    analyze, _, *question = shown("analyze", "--master")

    ended = cluster.call(*GROUPSIM, analyze, directory_of(a_death), *question, cluster.master)

    assert (ended.returncode, ended.stdout) == (0, local_tables), ended.stderr


def test_a_connect_server_shows_the_tables_that_this_machine_does(connect, local_tables):
    analyze, _, *question = shown("analyze", "--remote")

    ended = connect.call(*GROUPSIM, analyze, directory_of(a_death), *question, connect.remote)

    assert (ended.returncode, ended.stdout) == (0, local_tables), ended.stderr


@pytest.mark.usefixtures("spark")
def test_a_sweep_on_a_cluster_is_the_sweep_on_this_machine(cluster, tmp_path):
    sweep, scenario, *question, _, _, flag = shown("sweep", "--master")
    here = groupsim(sweep, scenario, *question, "--out", tmp_path / "here")

    words = (sweep, scenario, *question, "--out", tmp_path / "there", flag, cluster.master)
    ended = cluster.call(*GROUPSIM, *words)

    assert (ended.returncode, ended.stdout) == (here.exit_code, here.stdout), ended.stderr
    assert here.exit_code == 0, here.stderr


def test_a_campaign_through_a_server_finds_what_it_finds_on_this_machine(connect, tmp_path):
    campaign, *words, _, _, flag = shown("campaign", "--remote")
    here = groupsim(campaign, *words, "--out", tmp_path / "here")

    ended = connect.call(
        *GROUPSIM, campaign, *words, "--out", tmp_path / "there", flag, connect.remote
    )

    assert (ended.returncode, ended.stdout) == (here.exit_code, here.stdout), ended.stderr
    rows = parquet.read_table(tmp_path / "there" / "results").sort_by("seed").to_pylist()
    assert [(row["seed"], row["kind"]) for row in rows] == [(seed, None) for seed in range(4)]


def test_a_master_without_room_for_us_is_told_in_time(cluster):
    wish = "--conf spark.executor.memory=50g pyspark-shell"
    patience = f"cluster_session({cluster.master!r}, executor_within_s=2)"
    code = f"from spark_bridge.session import cluster_session\n{patience}"

    ended = cluster.call(sys.executable, "-c", code, PYSPARK_SUBMIT_ARGS=wish)

    assert "has given no executor within 2 s: see that it has workers" in ended.stderr
