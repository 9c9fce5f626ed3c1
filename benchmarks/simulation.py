"""How fast the world is, in CPU seconds, as ratios in one run.

The SimPy toy is the same heartbeat traffic with a dictionary for a coordinator: every member beats
each 3 s, the reply takes 5 ms, a session deadline is set anew. kfake's figures are those of a
broker in Go under synctest on such a machine. Run it with `make bench`, or a part of it alone:
`python -m benchmarks.simulation quiet played deploy traffic scale turns events`. With `--large`
nothing is shortened or estimated: that takes an hour.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import simpy

from simulation.parquet_sink import ParquetSink
from simulation.recorder import NoSink, Sink
from simulation.run_directory import RunFile
from simulation.stage import Quiet
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


def a_group(
    members: int,
    *,
    quiet: Quiet = "skip",
    sink: Sink | None = None,
    settings: Mapping[str, object] | None = None,
) -> Simulation:
    """A group that has found its rest, one partition each."""
    sim = Simulation(seed=1, sink=sink or NoSink(), quiet=quiet)
    sim.topic("orders", partitions=members)
    names = [f"m{n:05}" for n in range(members)]
    sim.consumers("g", *names, topics=["orders"], settings=settings)
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
    """(b) The same, every beat and commit played; five minutes, since a rate needs no hour."""
    toy = Toy(1_000)
    toy_s = cpu_s(lambda: toy.env.run(until=_PLAYED_MS))
    toy_rate = toy.beats / toy_s
    print(f"(b) every beat played: SimPy toy {toy_rate:,.0f} beats/s")
    _tell_played("with automatic commits each 5 s, as in (a)", {}, toy_rate)
    _tell_played("heartbeats alone, as the toy has them", {"enable.auto.commit": False}, toy_rate)


_PLAYED_MS = 300_000


def _tell_played(what: str, settings: Mapping[str, object], toy_rate: float) -> None:
    members = 1_000
    with tempfile.TemporaryDirectory() as folder, ParquetSink(Path(folder) / "run") as sink:
        sim = a_group(members, quiet="play", sink=sink, settings=settings)
        sim.run_for("30s")
        ours_s = cpu_s(partial(_run_to_the_end, sim, _PLAYED_MS))
        sink.finish(_run_file(sim))
    rate = members * _PLAYED_MS / BEAT_MS / ours_s
    print(f"    {what}: {rate:,.0f}, {rate / toy_rate:.3f} of it (wanted: 0.15)")


#: What kfake spends on a deploy on such a machine, in CPU seconds, by members and assignor.
KFAKE_S = {
    (50, "range"): 8.4,
    (50, "cooperative-sticky"): 3.8,
    (150, "range"): 104.0,
    (150, "cooperative-sticky"): 49.0,
}


def deploy() -> None:
    """(c), (d) Rolling deploys; of the large ones a few members only, unless told `--large`.

    No rows are kept, as kfake keeps none.
    """
    for members, rolled in ((50, 50), (150, 15), (1_000, 4)):
        for strategy in ("range", "cooperative-sticky"):
            _deploy(members, members if "--large" in sys.argv else rolled, strategy)


def _deploy(members: int, rolled: int, strategy: str) -> None:
    sim = Simulation(seed=1, sink=NoSink())
    taken_s = cpu_s(partial(_roll, sim, members, 2 * members, strategy, rolled))
    of_all = "all" if rolled == members else f"{rolled}"
    virtual_s = sim.now_ms / 1_000
    told = (
        f"(c/d) deploy, {members:,} members, {of_all} of them rolled, {strategy}: {taken_s:.1f} s"
        f" for {virtual_s:,.0f} virtual seconds, {virtual_s / taken_s:.0f} times faster;"
        f" {1e6 * taken_s / members / (rolled + 1):.0f} us for each member and restart,"
        f" {sim.stage.recorder.recorded:,} events"
    )
    kfake_s = KFAKE_S.get((members, strategy))
    if kfake_s is not None:
        whole_s = taken_s * members / rolled
        so_far = "" if rolled == members else f", by that pace {whole_s:.0f} s for all"
        told += f"{so_far}; kfake {kfake_s} s, {whole_s / kfake_s:.2f} of it (wanted: below 0.5)"
    print(told)


def _roll(
    sim: Simulation, members: int, partitions: int, strategy: str, rolled: int | None = None
) -> None:
    sim.topic("orders", partitions=partitions)
    names = [f"m{n:05}" for n in range(members)]
    settings = {"partition.assignment.strategy": strategy}
    sim.consumers("g", *names, topics=["orders"], settings=settings)
    sim.run_until_stable("g")
    at_ms = sim.now_ms + 60_000
    for name in names[:rolled]:
        sim.at(at_ms, partial(sim.stop, name))
        sim.at(at_ms + 10_000, partial(sim.restart, name))
        at_ms += 15_000
    sim.run_for(at_ms + 60_000 - sim.now_ms)
    sim.end()
    assert sim.is_stable("g")


def traffic() -> None:
    """(e) A thousand records a second; a tenth of the five minutes, unless told `--large`.

    No rows are kept, as kfake keeps none.
    """
    whole_ms = 300_000
    duration_ms = whole_ms if "--large" in sys.argv else whole_ms // 10
    sim = Simulation(seed=1, sink=NoSink())
    sim.topic("orders", partitions=100, records_per_s=1_000)
    sim.consumers("g", *(f"m{n:05}" for n in range(50)), topics=["orders"])
    taken_s = cpu_s(partial(_run_to_the_end, sim, duration_ms))
    whole_s = taken_s * whole_ms / duration_ms
    print(
        f"(e) traffic: {taken_s:.1f} s for {duration_ms // 1_000} virtual seconds,"
        f" {sim.stage.recorder.recorded:,} events; by that pace {whole_s:.0f} s for five minutes,"
        f" {whole_s / 21:.2f} of kfake's 21 s (wanted: below 0.5)"
    )


def scale() -> None:
    """(f) Cost per event from ten to a thousand members, with `--large` to ten thousand.

    An event is a row of the recording, which is kept in memory: of a group's start, an hour of
    calm, a death and what follows on it. Of small groups there are several, since one is over too
    soon to be told.
    """
    figures = []
    for members in (10, 100, 1_000, 10_000) if "--large" in sys.argv else (10, 100, 1_000):
        groups = max(1, 500 // members)
        taken_s, events = 0.0, 0
        for seed in range(groups):
            sim = Simulation(seed=seed)
            taken_s += cpu_s(partial(_live_and_die, sim, members))
            events += sim.stage.recorder.recorded
        figures.append((members, 1e6 * taken_s / events))
    _tell_growth("event", figures)


def _live_and_die(sim: Simulation, members: int) -> None:
    sim.topic("orders", partitions=members)
    names = [f"m{n:05}" for n in range(members)]
    sim.consumers("g", *names, topics=["orders"])
    sim.run_until_stable("g")
    sim.run_for("1h")
    sim.crash(names[3])
    sim.run_for("3m")
    sim.end()
    assert sim.is_stable("g")


def turns() -> None:
    """(f) Cost per turn of the kernel where every heartbeat and commit is played."""
    figures = []
    for members in (10, 100, 1_000, 10_000) if "--large" in sys.argv else (10, 100, 1_000):
        sim = a_group(members, quiet="play")
        sim.run_for("30s")  # Joins and first fetches cost more than what follows.
        before = sim.stage.kernel.turns
        taken_s = cpu_s(partial(sim.run_for, max(30, 2_000 // members) * 1_000))
        figures.append((members, 1e6 * taken_s / (sim.stage.kernel.turns - before)))
    _tell_growth("turn that is played", figures)


def _tell_growth(what: str, figures: list[tuple[int, float]]) -> None:
    told = ", ".join(f"{members:,} members {each:.1f} us" for members, each in figures)
    least, most = min(each for _, each in figures), max(each for _, each in figures)
    print(f"(f) cost per {what}: {told}; {most / least:.2f} between them (wanted: at most 2)")


def events() -> None:
    """(f) Bytes on disk and memory of a long run: ten million events with `--large`."""
    wanted = 10_000_000 if "--large" in sys.argv else 300_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with ParquetSink(path) as sink:
            sim = Simulation(seed=1, sink=sink)
            sim.topic("orders", partitions=600, burst=(600, "1s"))
            sim.consumers("g", *(f"m{n}" for n in range(6)), topics=["orders"])
            recorder = sim.stage.recorder
            taken_s = cpu_s(
                partial(sim.run_until, lambda: recorder.recorded >= wanted, within="10d")
            )
            sim.end()
            sink.finish(_run_file(sim))
        size = sum(file.stat().st_size for file in path.rglob("*.parquet"))
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024
    print(
        f"(f) {recorder.recorded:,} events in {taken_s:.1f} s: {size / recorder.recorded:.1f} bytes"
        f" each on disk (wanted: at most 12); at most {memory_mb} MB of memory"
    )


PARTS = (quiet, played, deploy, traffic, scale, turns, events)

if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if not name.startswith("-")]
    for part in PARTS:
        if not chosen or part.__name__ in chosen:
            part()
