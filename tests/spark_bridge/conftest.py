"""A few shipped scenarios, recorded once for all tests, and what the fold makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from groupsim.commands.shipped import shipped
from simulation.events import Row
from simulation.measures import Measures, measure
from simulation.parquet_source import read_recording
from simulation.recording import record
from simulation.scenarios import Scenario
from spark_bridge import columns as c
from spark_bridge.ingest import read_events

#: Small runs that show much: a death, commits that are refused or come too early, a member that is
#: nobody, pauses, a member that is there twice, and a coordinator that dies with writes under way.
PLAYED = (
    ("leader_dies", "leader_dies"),
    ("commit_race", "auto"),
    ("ghost_member", "abandons_the_id"),
    ("static_restart_vs_scale_down", "one_id_twice"),
    ("coordinator_failover", "commits_in_flight"),
)


@frozen
class Recorded:
    """Runs on disk, as Spark reads them and as the simulator does."""

    path: Path
    events: DataFrame
    rows: Mapping[str, list[Row]]
    measures: Mapping[str, Measures]


@pytest.fixture(scope="session")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The runs that every analysis is held against."""
    folder = tmp_path_factory.mktemp("runs")
    rows = {}
    for name, variant in PLAYED:
        path = folder / f"{name}-{variant}"
        result = record(Scenario.from_file(shipped()[name]), path, variant=variant)
        rows[result.run] = list(read_recording(path))
    return Recorded(
        path=folder,
        events=read_events(spark, folder).repartition(2, c.RUN).cache(),
        rows=rows,
        measures={run: measure(of_run) for run, of_run in rows.items()},
    )
