"""Plays a story into a run directory."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from attrs import asdict

from simulation.parquet_sink import PYARROW_VERSION, ParquetSink
from simulation.run_directory import RunFile
from simulation.story import Story, play

#: Whose behaviour is played.
KAFKA_VERSION = "4.3.1"


def record_run(story: Story, folder: Path, *, seed: int = 0) -> Path:
    """The run directory of this story, a new one in `folder`."""
    run = f"{story.name}-seed-{seed}"
    path = folder / run
    with ParquetSink(path) as sink:
        events = play(story, sink, run=run, seed=seed)
        sink.finish(
            RunFile(
                run=run,
                scenario=asdict(story),
                seed=seed,
                versions={
                    "groupsim": version("groupsim"),
                    "kafka": KAFKA_VERSION,
                    "pyarrow": PYARROW_VERSION,
                },
                outcome={"ended_ms": story.run_for_ms, "events": events},
            )
        )
    return path
