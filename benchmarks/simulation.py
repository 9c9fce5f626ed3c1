"""How fast the world is, in CPU seconds, as ratios in one run.

The SimPy toy is the same heartbeat traffic with a dictionary for a coordinator: every member beats
each 3 s, the reply takes 5 ms, a session deadline is set anew. kfake's figures are those of a
broker in Go under synctest on such a machine. Run it with `make bench`, or a part of it alone:
`python -m benchmarks.simulation quiet played deploy traffic scale events`.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import simpy

from simulation.parquet_sink import ParquetSink
from simulation.recorder import NoSink, Sink
from simulation.run_directory import RunFile
from simulation.world import Simulation

BEAT_MS, REPLY_MS, SESSION_MS = 3_000, 5, 45_000
HOUR_MS = 3_600_000


class Toy:
    """Heartbeats for SimPy: one process per member."""

    def __init__(self, members: int) -> None:
        self.env = simpy.Environment()
        self.deadlines: dict[int, float] = {}
        self.beats = 0
        for member in range(members):
            self.env.process(self.member(member))

    def member(self, name: int) -> Generator[Any, Any, None]:
        """Beat, hear the answer, wait."""
        while True:
            self.deadlines[name] = self.env.now + SESSION_MS
            yield self.env.timeout(REPLY_MS)
            self.beats += 1
            yield self.env.timeout(BEAT_MS - REPLY_MS)


def cpu_s(work: Callable[[], object]) -> float:
    """How long this takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def a_group(members: int, *, quiet: str = "skip", sink: Sink | None = None) -> Simulation:
    """A group that has found its rest, one partition each."""
    sim = Simulation(seed=1, sink=sink or NoSink(), quiet=quiet)  # type: ignore[arg-type]
    sim.topic("orders", partitions=members)
    sim.consumers("g", *(f"m{n:05}" for n in range(members)), topics=["orders"])
    sim.run_until_stable("g")
    return sim


def quiet() -> None:
    """(a) A quiet hour of a thousand members, and ten."""
    toy = Toy(1_000)
    toy_s = cpu_s(lambda: toy.env.run(until=HOUR_MS))
    with tempfile.TemporaryDirectory() as folder:
        hour_s = _quiet_hours(1, Path(folder) / "one")
        ten_s = _quiet_hours(10, Path(folder) / "ten")
    print(f"(a) quiet hour of 1,000: SimPy toy {toy_s:.2f} s, ours {hour_s:.2f} s after start-up,")
    print(f"    {toy_s / hour_s:.0f} times faster (wanted: 50); ten hours {ten_s:.2f} s,")
    print(f"    {ten_s / hour_s:.2f} times one (wanted: at most 2)")


def _quiet_hours(hours: int, path: Path) -> float:
    with ParquetSink(path) as sink:
        sim = a_group(1_000, sink=sink)
        sim.run_for("30s")
        taken_s = cpu_s(partial(_run_to_the_end, sim, hours * HOUR_MS))
        sink.finish(_run_file(sim))
    return taken_s


def _run_to_the_end(sim: Simulation, duration_ms: int) -> None:
    sim.run_for(duration_ms)
    sim.end()


def _run_file(sim: Simulation) -> RunFile:
    return RunFile(run="bench", scenario={}, seed=sim.seed, versions={}, outcome={})


def played() -> None:
    """(b) The same, every beat played."""
    members, minutes = 300, 5
    toy = Toy(members)
    toy_s = cpu_s(lambda: toy.env.run(until=minutes * 60_000))
    with tempfile.TemporaryDirectory() as folder, ParquetSink(Path(folder) / "run") as sink:
        sim = a_group(members, quiet="play", sink=sink)
        ours_s = cpu_s(partial(_run_to_the_end, sim, minutes * 60_000))
        sink.finish(_run_file(sim))
    beats = members * minutes * 60_000 / BEAT_MS
    ratio = (beats / ours_s) / (toy.beats / toy_s)
    print(f"(b) every beat played: SimPy toy {toy.beats / toy_s:,.0f} beats/s, ours")
    print(f"    {beats / ours_s:,.0f} with commits: {ratio:.3f} of it (wanted: 0.15)")


def deploy() -> None:
    """(c), (d) Rolling deploys."""
    known = {(50, "range"): 8.4, (50, "cooperative-sticky"): 3.8}
    known |= {(150, "range"): 104.0, (150, "cooperative-sticky"): 49.0}
    sizes = [(50, 100), (150, 300)]
    if "--large" in sys.argv:
        sizes.append((1_000, 2_000))
    for members, partitions in sizes:
        for strategy in ("range", "cooperative-sticky"):
            sim = Simulation(seed=1, sink=NoSink())
            taken_s = cpu_s(partial(_roll, sim, members, partitions, strategy))
            kfake_s = known.get((members, strategy))
            against = (
                "" if kfake_s is None else f"; kfake {kfake_s} s, {taken_s / kfake_s:.2f} of it"
            )
            print(
                f"(c/d) deploy of {members} with {partitions} partitions, {strategy}:"
                f" {taken_s:.1f} s for {sim.now_ms / 60_000:.1f} virtual minutes,"
                f" {sim.stage.recorder.recorded:,} rows{against}"
            )


def _roll(sim: Simulation, members: int, partitions: int, strategy: str) -> None:
    sim.topic("orders", partitions=partitions)
    names = [f"m{n:05}" for n in range(members)]
    settings = {"partition.assignment.strategy": strategy}
    sim.consumers("g", *names, topics=["orders"], settings=settings)
    sim.run_until_stable("g")
    at_ms = sim.now_ms + 60_000
    for name in names:
        sim.at(at_ms, partial(sim.stop, name))
        sim.at(at_ms + 10_000, partial(sim.restart, name))
        at_ms += 15_000
    sim.run_for(at_ms + 60_000 - sim.now_ms)
    sim.end()
    assert sim.is_stable("g")


def traffic() -> None:
    """(e) A thousand records a second for five minutes."""
    sim = Simulation(seed=1, sink=NoSink())
    sim.topic("orders", partitions=100, records_per_s=1_000)
    sim.consumers("g", *(f"m{n:05}" for n in range(50)), topics=["orders"])
    taken_s = cpu_s(partial(_run_to_the_end, sim, 300_000))
    rows = sim.stage.recorder.recorded
    print(f"(e) traffic: {taken_s:.1f} s, {rows:,} rows; kfake 21 s, {taken_s / 21:.2f} of it")


def scale() -> None:
    """(f) Cost per turn from ten to many members."""
    figures = []
    for members in (10, 100, 1_000):
        sim = Simulation(seed=1, sink=NoSink(), quiet="play")
        sim.topic("orders", partitions=members)
        sim.consumers("g", *(f"m{n:05}" for n in range(members)), topics=["orders"])
        seconds = max(20, 2_000 // members)
        taken_s = cpu_s(partial(_run_to_the_end, sim, seconds * 1_000))
        figures.append((members, 1e6 * taken_s / sim.stage.kernel.turns))
    told = ", ".join(f"{members:,} members {each:.0f} us" for members, each in figures)
    least, most = min(each for _, each in figures), max(each for _, each in figures)
    print(f"(f) cost per turn: {told}; {most / least:.2f} between them (wanted: at most 2)")


def events() -> None:
    """(f) Bytes on disk and memory of a long run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with ParquetSink(path) as sink:
            sim = Simulation(seed=1, sink=sink)
            sim.topic("orders", partitions=12, records_per_s=120)
            sim.consumers("g", *(f"m{n}" for n in range(6)), topics=["orders"])
            taken_s = cpu_s(partial(_run_to_the_end, sim, 300_000))
            sink.finish(_run_file(sim))
        size = sum(file.stat().st_size for file in path.rglob("*.parquet"))
    rows = sim.stage.recorder.recorded
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024
    print(
        f"(f) {rows:,} rows in {taken_s:.1f} s: {size / rows:.1f} bytes each on disk"
        f" (wanted: at most 12); at most {memory_mb} MB of memory"
    )


PARTS = (quiet, played, deploy, traffic, scale, events)

if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if not name.startswith("-")]
    for part in PARTS:
        if not chosen or part.__name__ in chosen:
            part()
