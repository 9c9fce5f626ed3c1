"""Runs that are kept: a scenario is played into a run directory, and out of it again.

`run.json` holds the scenario as it was played, so that a run needs nothing but its directory to be
played again; `replay` does so and compares the events.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from attrs import evolve, frozen

from simulation.errors import SimulationError
from simulation.events import Row
from simulation.parquet_sink import PYARROW_VERSION, ParquetSink
from simulation.parquet_source import Recording, read_recording
from simulation.run_directory import EVENTS_FOLDER, RunFile
from simulation.scenarios import Limits, RunResult, Scenario, play
from simulation.scenarios.playing import PlayOptions, Progress
from simulation.version import KAFKA_VERSION, VERSION


def record(scenario: Scenario, path: Path, **options: Unpack[PlayOptions]) -> RunResult:
    """Play a scenario, or one of its variants, into the run directory `path`.

    The directory appears when the run is over and complete, and not otherwise.
    """
    with ParquetSink(path) as sink:
        options["sink"] = sink
        result = play(scenario, **options)
        sink.finish(
            RunFile(
                run=result.run,
                scenario=result.scenario.to_dict(),
                variant=result.variant,
                variants=scenario.variant_names,
                seed=result.seed,
                detail=options.get("detail", "folded"),
                versions={
                    "groupsim": VERSION,
                    "kafka": KAFKA_VERSION,
                    "pyarrow": PYARROW_VERSION,
                },
                outcome=result.outcome(),
            )
        )
    return evolve(result, path=path)


@frozen(kw_only=True)
class Replay:
    """Whether a run that was played again gave the same events, and if not, from which row on."""

    same: bool
    events: int
    differs_at: int | None
    sentence: str


def replay(
    run_directory: Path,
    *,
    progress: Progress | None = None,
    allow_python: bool = False,
    limits: Limits | None = None,
) -> Replay:
    """Play a run again from its `run.json`, and compare the events byte for byte."""
    before = read_recording(run_directory)
    told = before.run_file
    if not told.scenario:
        raise SimulationError(
            f"{run_directory} cannot be played again: it holds no scenario, for a script"
            " recorded it; run that script again, or let simulation.fork.fork play it twice"
        )
    limits = limits or Limits()
    scenario = Scenario.from_dict(
        told.scenario,
        file=str(run_directory / "run.json"),
        allow_python=allow_python,
        limits=limits,
    )
    with TemporaryDirectory(prefix="groupsim-") as folder:
        again = Path(folder) / "again"
        record(
            scenario,
            again,
            run=told.run,
            seed=told.seed,
            detail="full" if told.detail == "full" else "folded",
            progress=progress,
            limits=limits,
            allow_python=allow_python,
        )
        if _event_bytes(run_directory) == _event_bytes(again):
            return _same(before, "byte for byte")
        return _compared(before, read_recording(again))


def _event_bytes(run_directory: Path) -> list[bytes]:
    files = sorted((run_directory / EVENTS_FOLDER).glob("*.parquet"))
    return [path.read_bytes() for path in files]


def _compared(before: Recording, again: Recording) -> Replay:
    """The files differ; do the rows?"""
    differs_at = next(_differences(before, again), None)
    if differs_at is None:
        written = before.run_file.versions.get("pyarrow")
        return _same(before, f"row for row (written by pyarrow {written}, not {PYARROW_VERSION})")
    version = before.run_file.versions.get("groupsim")
    why = (
        f"both were played by groupsim {VERSION}, so its files were changed, or this is our bug"
        if version == VERSION
        else f"it was recorded by groupsim {version}, and this is {VERSION}"
    )
    sentence = (
        f"{before.run_file.run} differs from row {differs_at} on when it is played again; {why}"
    )
    return Replay(same=False, events=len(before), differs_at=differs_at, sentence=sentence)


def _differences(before: Recording, again: Recording) -> Iterator[int]:
    rows: Iterator[tuple[Row | None, Row | None]] = zip_longest(before, again)
    yield from (n for n, (one, other) in enumerate(rows, 1) if one != other)


def _same(before: Recording, how: str) -> Replay:
    events = len(before)
    sentence = (
        f"{before.run_file.run} gives the same {events} events when it is played again, {how}"
    )
    return Replay(same=True, events=events, differs_at=None, sentence=sentence)
