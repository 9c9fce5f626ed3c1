"""A sweep through Spark Connect, on workers that have nothing of ours."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from pyarrow import parquet

from simulation.scenarios import Limits
from tests.spark_bridge.sweeps import A_DEATH, a_sweep, played

pytestmark = pytest.mark.spark

#: The second setting fails: those rows must come back from a worker like any other.
LIMITS = Limits(events=300)
WORDS = ("--vary", "run_for=40s,10m", "--seeds", "2", "--max-events", "300", "--json")


def rows_of(results: Any) -> list[dict[str, Any]]:
    rows = parquet.read_table(results).to_pylist()
    return sorted(rows, key=lambda row: (row["setting"], row["seed"]))


def test_a_sweep_through_a_server_gives_the_same_rows_as_on_this_machine(spark, connect, tmp_path):
    file = tmp_path / "a_death.yaml"
    file.write_text(A_DEATH)

    ended = connect.call(
        *(sys.executable, "-m", "groupsim", "sweep", file, *WORDS, "--remote", connect.remote),
        *("--out", tmp_path / "there", "--recommend", "max(unowned_s) < 30"),
    )

    assert ended.stderr.count("Traceback") == 0, ended.stderr
    told = json.loads(ended.stdout)
    here = played(
        spark, a_sweep("run_for=40s,10m", limits=LIMITS, runs_per_chunk=16), tmp_path / "here"
    )
    assert rows_of(tmp_path / "there" / "results") == rows_of(here.results)
    assert (ended.returncode, told["failed"], told["recommendation"]["holds"]) == (1, 2, True)
