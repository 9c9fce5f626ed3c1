"""The folder of a sweep: what is played, and what is known of it so far.

    DIR/sweep.json              which settings, which seeds
    DIR/results/chunk=*/        one row for each run, chunk by chunk
    DIR/runs/RUN/               the run directories, if events are kept

A chunk is written beside its place and renamed, so one that is there is whole: whatever ends a
sweep, the same command goes on where it was. Spark must see the folder under the same path.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import asdict, define, evolve, fields_dict, frozen
from pyspark.sql import DataFrame, SparkSession

from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.errors import SweepRefused
from spark_bridge.sweeps.sweep import Sweep
from spark_bridge.urls import url_of

SWEEP_FILE = "sweep.json"
_RESULTS, _RUNS, _LOCK = "results", "runs", ".lock"
#: Spark does not read what begins so.
_MAKING = "_making-"

#: What a difference in sweep.json is called on the command line.
_CALLED = {
    "scenario": "the scenario",
    "variants": "--variant",
    "axes": "--vary",
    "first_seed": "--seed",
    "seeds": "--seeds",
    "limits": "--max-...",
    "allow_python": "--allow-python",
    "keeps_events": "--keep-events",
    "versions": "the version of groupsim",
}


@frozen
class SweepFolder:
    """What is kept of a sweep."""

    path: Path
    sweep: Sweep

    @property
    def results(self) -> Path:
        """Where the rows are."""
        return self.path / _RESULTS

    @property
    def runs(self) -> Path:
        """Where run directories are, if events are kept."""
        return self.path / _RUNS

    def chunks(self) -> list[int]:
        """The chunks that are there, each of them whole."""
        found = self.results.glob(f"{c.CHUNK}=*")
        return sorted(int(each.name.partition("=")[2]) for each in found)

    def missing(self) -> list[int]:
        """The chunks that are still to be played."""
        there = set(self.chunks())
        return [chunk for chunk in range(self.sweep.chunks) if chunk not in there]

    def runs_kept(self) -> int:
        """How many runs have been played."""
        return sum(len(self.sweep.runs_of(chunk)) for chunk in self.chunks())

    def read(self, spark: SparkSession) -> DataFrame:
        """One row per run that has been played, whichever chunk it came in."""
        rows = spark.read.schema(schemas.SWEEP_RESULTS).parquet(url_of(self.results))
        return rows.select(*schemas.SWEEP_RESULTS.names)


@define(eq=False)
class Workshop:
    """The folder of a sweep while somebody is at work in it, and nobody else."""

    folder: SweepFolder

    def place_of(self, chunk: int) -> Path:
        """Where to write a chunk until it is whole."""
        return self._making / f"{c.CHUNK}={chunk}"

    def keep(self, chunk: int) -> None:
        """It is whole: let it appear."""
        self.place_of(chunk).rename(self.folder.results / f"{c.CHUNK}={chunk}")

    def clear(self) -> None:
        """Remove what somebody has left who was killed, or what is half done."""
        for left in self.folder.results.glob(f"{_MAKING}*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in self.folder.runs.glob(".*"):
            shutil.rmtree(left, ignore_errors=True)

    @property
    def _making(self) -> Path:
        # Spark may outlive a process that is killed, and must not write where the next one does.
        return self.folder.results / f"{_MAKING}{os.getpid()}"


def read_folder(path: Path) -> SweepFolder:
    """The folder of a sweep that was begun before."""
    file = path / SWEEP_FILE
    try:
        return SweepFolder(path, _sweep_of(json.loads(file.read_text(encoding="utf-8"))))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SweepRefused(f"{path} is no sweep: there is no {SWEEP_FILE}") from error
    except (TypeError, ValueError) as error:
        raise SweepRefused(f"{file} is not the {SWEEP_FILE} of a sweep: {error}") from error


def _sweep_of(said: Any) -> Sweep:  # noqa: ANN401 - a file may say anything
    if not isinstance(said, dict) or set(said) != set(fields_dict(Sweep)):
        raise TypeError(f"it must have {', '.join(fields_dict(Sweep))}")
    return Sweep(**said)


def refuse_another(path: Path, sweep: Sweep) -> None:
    """Say why a folder cannot be this sweep's, if it cannot."""
    if (path / SWEEP_FILE).exists():
        before, now = asdict(read_folder(path).sweep), asdict(sweep)
        others = [called for name, called in _CALLED.items() if before[name] != now[name]]
        if others:
            raise SweepRefused(
                f"{path} holds another sweep: {', '.join(others)} differ{'s' * (len(others) == 1)};"
                " repeat its own command to go on with it, or choose another folder with --out"
            )
    elif path.exists() and (not path.is_dir() or any(not _is_hidden(it) for it in path.iterdir())):
        raise SweepRefused(f"{path} is there already and is no sweep: choose another with --out")


@contextmanager
def at_work(path: Path, sweep: Sweep) -> Iterator[Workshop]:
    """The folder of this sweep, begun or gone on with; another sweep's is refused."""
    refuse_another(path, sweep)
    if (path / SWEEP_FILE).exists():
        sweep = evolve(sweep, runs_per_chunk=read_folder(path).sweep.runs_per_chunk)
    (path / _RESULTS).mkdir(parents=True, exist_ok=True)
    with (path / _LOCK).open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SweepRefused(
                f"somebody is at work in {path}: let it end, or choose another folder with --out"
            ) from error
        _write(path / SWEEP_FILE, sweep.to_json())
        workshop = Workshop(SweepFolder(path, sweep))
        workshop.clear()
        try:
            yield workshop
        finally:
            workshop.clear()


def _is_hidden(path: Path) -> bool:
    return path.name.startswith((".", _RESULTS))


def _write(path: Path, text: str) -> None:
    """Let a file appear whole."""
    beside = path.with_name(f".{path.name}-{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
