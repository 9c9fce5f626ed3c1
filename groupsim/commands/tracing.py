"""`trace`: a run as a file for the viewers of traces, written beside its place and renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from groupsim.commands.progress import Reporter
from groupsim.commands.running import ending_well
from groupsim.commands.voice import Voice
from groupsim.report.trace import Trace
from simulation.errors import SimulationError
from simulation.parquet_source import Recording, read_recording

_ROWS_BETWEEN_WORDS = 2_000


def trace(run: Path, out: Path) -> None:
    """Write the trace of a run."""
    voice = Voice()
    recording = read_recording(run)
    with ending_well(), _beside(out) as file, Reporter(voice.talk, run.name) as progress:
        events = 0
        file.write(f'{{"displayTimeUnit": "ms", "otherData": {_facts(recording)},')
        file.write(' "traceEvents": [')
        for events, event in enumerate(_events(recording, progress), 1):
            file.write(",\n" if events > 1 else "\n")
            file.write(json.dumps(event, ensure_ascii=False))
        file.write("\n]}\n")
    voice.say(
        f"{out} has {events:,} events: open it in https://ui.perfetto.dev, which keeps it on this"
        " machine, or in chrome://tracing"
    )


def _facts(recording: Recording) -> str:
    said = recording.run_file
    facts: dict[str, Any] = {
        "run": said.run,
        "variant": said.variant,
        "seed": said.seed,
        "title": said.scenario.get("title"),
        "versions": dict(said.versions),
    }
    return json.dumps(facts, ensure_ascii=False)


def _events(recording: Recording, progress: Reporter) -> Iterator[dict[str, Any]]:
    trace = Trace()
    end_ms = recording[-1].at_ms if len(recording) else 0
    for n, row in enumerate(recording):
        yield from trace.take(row)
        if n % _ROWS_BETWEEN_WORDS == 0:
            progress(row.at_ms, end_ms)
    for n, event in enumerate(trace.rest()):
        yield event
        if n % _ROWS_BETWEEN_WORDS == 0:
            progress(end_ms, end_ms)


@contextmanager
def _beside(path: Path) -> Iterator[IO[str]]:
    """A file in the making, which takes its place when it is whole and leaves nothing otherwise."""
    if path.is_dir():
        raise SimulationError(f"{path} is a folder: name a file, such as {path / 'trace.json'}")
    with NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}-", delete=False
    ) as file:
        try:
            yield file
            file.close()
            # The temporary file is private to its maker; what is kept has usual permissions.
            Path(file.name).chmod(0o666 & ~_umask())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
