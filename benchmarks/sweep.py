"""How much of the pace of a pool of processes a sweep keeps on Spark, both on two cores.

    python -m benchmarks.sweep            a sweep of about two minutes
    python -m benchmarks.sweep --small    a tenth of it

The pool plays the same runs of the same settings, with the simulator loaded in each of its two
processes; it keeps nothing. Spark plays them as `groupsim sweep` does, results and all. Its session
is there before the clock starts; what is started for the sweep itself, workers and imports, counts.
A ratio of seconds tells what a user waits; one of CPU seconds what it costs, and is the one to
believe on a machine that does other things besides.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from attrs import evolve, frozen

from groupsim.commands.shipped import shipped
from simulation.measures import Number
from simulation.scenarios import Scenario
from simulation.scenarios.grids import Setting, parse_axis, settings_of
from spark_bridge.session import FOR_PLAYING, cluster_session
from spark_bridge.sweeps.folder import at_work
from spark_bridge.sweeps.plan import usual_chunk
from spark_bridge.sweeps.running import play_missing, task_of
from spark_bridge.sweeps.sweep import Sweep

CORES = 2
SEEDS, SEEDS_OF_A_SMALL_ONE = 60, 6
AXIS = "session_timeout_ms=6s..45s:5"
BAR = 0.9


@frozen
class Taken:
    """What some work took."""

    wall_s: float
    cpu_s: float


def taken(work: Callable[[], object]) -> Taken:
    """How long this takes, and how much of the machine, in this process and all below it."""
    began, cpu = time.monotonic(), cpu_of_everyone()
    work()
    return Taken(time.monotonic() - began, cpu_of_everyone() - cpu)


def cpu_of_everyone() -> float:
    """CPU seconds of this process and of everyone that it or they have started, so far."""
    below = {os.getpid()}
    stats = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        stats[int(file.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    while more := {pid for pid, (parent, _) in stats.items() if parent in below} - below:
        below |= more
    ticks = sum(ticks for pid, (_, ticks) in stats.items() if pid in below)
    return ticks / os.sysconf("SC_CLK_TCK")


def play_one(setting: Setting, seed: int) -> dict[str, Number]:
    """What a process of the pool does."""
    return setting.scenario.play(seed=seed).figures()


def by_pool(settings: Sequence[Setting], seeds: int) -> None:
    """Play all of them in two processes."""
    spawned = multiprocessing.get_context("spawn")
    planned = [(setting, seed) for seed in range(seeds) for setting in settings]
    with ProcessPoolExecutor(CORES, mp_context=spawned) as pool:
        list(pool.map(play_one, *zip(*planned, strict=True)))


def by_spark(scenario: Scenario, settings: Sequence[Setting], seeds: int, folder: Path) -> Taken:
    """Play all of them as a sweep."""
    spark = cluster_session(f"local[{CORES}]", "groupsim-benchmark", instead=FOR_PLAYING)
    sweep = Sweep.of(scenario, [parse_axis(AXIS)], seeds=seeds)
    sweep = evolve(sweep, runs_per_chunk=usual_chunk(sweep.runs, CORES))
    with at_work(folder, sweep) as workshop:
        task = task_of(workshop.folder, settings)
        return taken(lambda: list(play_missing(spark, workshop, task, CORES)))


def main() -> None:
    """Play the same runs both ways."""
    whole = Scenario.from_file(shipped()["gc_pause_sweep"])
    scenario = whole.with_overrides({"run_for": "9m"}, variants=["session_45s"])
    settings = settings_of(scenario, [parse_axis(AXIS)])
    seeds = SEEDS_OF_A_SMALL_ONE if "--small" in sys.argv else SEEDS
    runs = seeds * len(settings)
    pool = taken(lambda: by_pool(settings, seeds))
    with tempfile.TemporaryDirectory() as folder:
        spark = by_spark(scenario, settings, seeds, Path(folder) / "sweep")
    print(f"{runs} runs, two at a time: a pool of processes {told(runs, pool)};")
    print(f"    Spark {told(runs, spark)};")
    print(
        f"    {pool.wall_s / spark.wall_s:.2f} of the pool's pace by the clock,"
        f" {pool.cpu_s / spark.cpu_s:.2f} by CPU (wanted: {BAR})"
    )


def told(runs: int, took: Taken) -> str:
    """What it comes to."""
    return (
        f"{took.wall_s:.1f} s, {runs / took.wall_s:.2f} a second"
        f" ({took.cpu_s:.1f} CPU s, {took.cpu_s / took.wall_s:.2f} cores)"
    )


if __name__ == "__main__":
    main()
