"""Small sweeps, and result rows that are written in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve
from pyspark.sql import DataFrame, SparkSession

from simulation.measures import MEASURES, figure_of
from simulation.scenarios import Scenario
from simulation.scenarios.grids import parse_axis, settings_of
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.sweeps.folder import Folder, at_work
from spark_bridge.sweeps.running import play_missing, task_of
from spark_bridge.sweeps.sweep import Sweep

#: A member dies; how soon that is noticed follows from the session.
A_DEATH = """
name: a_death
cluster: {topics: {orders: {partitions: 2, records: 1/s}}}
groups: {checkout: {members: 2, settings: {heartbeat_interval_ms: 1s}}}
script: [{at: 20s, crash: checkout-2}]
run_for: 40s
"""
AXES = ("session_timeout_ms=6s,10s",)


def a_sweep(
    *axes: str, seeds: int = 2, scenario: str = A_DEATH, runs_per_chunk: int = 2, **more: Any
) -> Sweep:
    """The sweep of a small scenario."""
    sweep = Sweep.of(
        Scenario.from_yaml(scenario), list(map(parse_axis, axes or AXES)), seeds=seeds, **more
    )
    return evolve(sweep, runs_per_chunk=runs_per_chunk)


def played(spark: SparkSession, sweep: Sweep, path: Path, *, cores: int = 2) -> Folder[Sweep]:
    """The folder of a sweep that has been played."""
    axes = [parse_axis(f"{name}={','.join(texts)}") for name, texts in sweep.axes.items()]
    settings = settings_of(Scenario.from_dict(sweep.scenario), axes)
    with at_work(path, sweep) as workshop:
        list(play_missing(spark, workshop, task_of(workshop.folder, settings), cores))
        return workshop.folder


def rows_of(spark: SparkSession, folder: Folder[Sweep]) -> list[dict[str, Any]]:
    """What a sweep found, in the order of settings and seeds."""
    rows = folder.read(spark).orderBy(c.SETTING, c.SEED).collect()
    return [row.asDict(recursive=True) for row in rows]


def results(spark: SparkSession, *settings: Mapping[str, Sequence[Any]]) -> DataFrame:
    """Result rows, setting by setting: for each measure one value, or values, for each seed.

    None instead of a value is a run that failed.
    """
    rows = []
    for number, setting in enumerate(settings):
        for seed, values in enumerate(zip(*setting.values(), strict=True)):
            known = {
                c.SETTING: number,
                c.VARIANT: "as_it_is",
                c.CHOSEN: {"members": str(number + 1)},
                c.SEED: seed,
                c.RUN: f"{number}-{seed}",
            }
            rows.append(known | _measured(dict(zip(setting, values, strict=True))))
    fields = [tuple(row.get(name) for name in schemas.SWEEP_RESULTS.names) for row in rows]
    return spark.createDataFrame(fields, schemas.SWEEP_RESULTS)


def _measured(values: Mapping[str, Any]) -> dict[str, Any]:
    if None in values.values():
        return {c.ERROR: "ValueError: it failed"}
    lists = {name: _listed(values.get(name, ())) for name in MEASURES}
    figures = {name: float(figure_of(MEASURES[name].aggregate, lists[name])) for name in MEASURES}
    return {c.HELD: True, c.MESSAGES: [], c.VALUES: lists, **figures}


def _listed(values: float | Sequence[float]) -> list[float]:
    return list(map(float, values if isinstance(values, Sequence) else [values]))
