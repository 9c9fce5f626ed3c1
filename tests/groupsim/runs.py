"""Run directories to read: short stories, played once for all tests of a process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from client.applications import PollLoop
from client.workloads import ConstantTime
from simulation.events import Row
from simulation.parquet_sink import ParquetSink
from simulation.run_directory import RunFile
from simulation.world import Simulation


def a_group(*names: str, **options: object) -> Simulation:
    """A world with one group that is at work for half a minute."""
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=6, records_per_s=10)
    sim.consumers("checkout", *names, topics=["orders"], **options)  # type: ignore[arg-type]
    sim.run_for("30s")
    return sim


def a_death() -> Simulation:
    """Ada crashes, and is missed when her session is over."""
    sim = a_group("ada", "bea")
    sim.crash("ada")
    sim.run_for("60s")
    return sim


def a_ghost() -> Simulation:
    """Somebody asks for a member id and never comes back; then cat joins."""
    sim = a_group("ada", "bea")
    sim.raw_member("ghost", "checkout").join("orders", session_timeout_ms=45_000)
    sim.run_for("2s")
    sim.consumer("cat", group="checkout", topics=["orders"])
    sim.run_for("60s")
    return sim


def a_slow_member() -> Simulation:
    """Bea has records to process when cat joins."""
    sim = a_group("ada", "bea", app=PollLoop(time_per_record=ConstantTime(300_000)))
    sim.consumer("cat", group="checkout", topics=["orders"])
    sim.run_for("60s")
    return sim


def a_pause() -> Simulation:
    """Bea stands still when cat joins."""
    sim = a_group("ada", "bea")
    sim.pause("bea")
    sim.run_for("5s")
    sim.consumer("cat", group="checkout", topics=["orders"])
    sim.run_for("15s")
    sim.resume("bea")
    sim.run_for("10s")
    return sim


Tale = Callable[[], Simulation]


@cache
def rows_of(tale: Tale) -> tuple[Row, ...]:
    """The rows of a story."""
    sim = tale()
    sim.end()
    return tuple(sim.events)


@cache
def directory_of(tale: Tale) -> Path:
    """The run directory of a story; nobody may change it."""
    path = Path(mkdtemp(prefix="groupsim-tests-")) / tale.__name__
    rows = rows_of(tale)
    with ParquetSink(path) as sink:
        for row in rows:
            sink.take(row)
        sink.finish(
            RunFile(
                run="run",
                scenario={"title": tale.__doc__},
                seed=1,
                versions={},
                outcome={"events": len(rows)},
            )
        )
    return path
