"""The folder of a sweep or a campaign: what is played, and what is known of it so far.

    DIR/sweep.json              which settings, which seeds; campaign.json for a campaign
    DIR/results/chunk=*/        one row for each run, chunk by chunk
    DIR/runs/RUN/               the run directories of a sweep, if events are kept

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
from typing import Any, Generic, TypeVar

from attrs import asdict, evolve, fields_dict, frozen
from pyspark.sql import DataFrame, SparkSession

from spark_bridge import columns as c
from spark_bridge.errors import SweepRefused
from spark_bridge.sweeps.plan import Plan
from spark_bridge.urls import url_of

_RESULTS, _RUNS, _LOCK = "results", "runs", ".lock"
#: Spark does not read what begins so.
_MAKING = "_making-"

#: What is played there: a sweep or a campaign.
Planned_co = TypeVar("Planned_co", bound=Plan, covariant=True)
Known = TypeVar("Known", bound=Plan)


@frozen
class Folder(Generic[Planned_co]):
    """What is kept of a plan."""

    path: Path
    plan: Planned_co

    @property
    def results(self) -> Path:
        """Where the rows are."""
        return self.path / _RESULTS

    @property
    def runs(self) -> Path:
        """Where run directories are, if events are kept."""
        return self.path / _RUNS

    def place_of(self, chunk: int) -> Path:
        """Where the rows of a chunk are."""
        return self.results / f"{c.CHUNK}={chunk}"

    def chunks(self) -> list[int]:
        """The chunks that are there, each of them whole."""
        found = self.results.glob(f"{c.CHUNK}=*")
        return sorted(int(each.name.partition("=")[2]) for each in found)

    def missing(self) -> list[int]:
        """The chunks that are still to be played."""
        there = set(self.chunks())
        return [chunk for chunk, _ in enumerate(self.plan.chunks()) if chunk not in there]

    def runs_kept(self) -> int:
        """How many runs have been played."""
        runs = self.plan.chunks()
        return sum(len(runs[chunk]) for chunk in self.chunks())

    def read(self, spark: SparkSession) -> DataFrame:
        """One row per run that has been played, whichever chunk it came in."""
        rows = spark.read.schema(self.plan.ROWS).parquet(url_of(self.results))
        return rows.select(*self.plan.ROWS.names)


@frozen(eq=False)
class Workshop(Generic[Planned_co]):
    """The folder of a plan while somebody is at work in it, and nobody else."""

    folder: Folder[Planned_co]

    def place_of(self, chunk: int) -> Path:
        """Where to write a chunk until it is whole."""
        return self._making / f"{c.CHUNK}={chunk}"

    def keep(self, chunk: int) -> None:
        """It is whole: let it appear."""
        self.place_of(chunk).rename(self.folder.place_of(chunk))

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


def read_folder(path: Path, kind: type[Known]) -> Folder[Known]:
    """The folder of a sweep or a campaign that was begun before."""
    file = path / kind.FILE
    try:
        return Folder(path, _plan_of(json.loads(file.read_text(encoding="utf-8")), kind))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SweepRefused(f"{path} is no {kind.WORD}: there is no {kind.FILE}") from error
    except (TypeError, ValueError) as error:
        raise SweepRefused(f"{file} is not the {kind.FILE} of a {kind.WORD}: {error}") from error


def _plan_of(said: Any, kind: type[Known]) -> Known:  # noqa: ANN401 - a file may say anything
    if not isinstance(said, dict) or set(said) != set(fields_dict(kind)):
        raise TypeError(f"it must have {', '.join(fields_dict(kind))}")
    return kind(**said)


def gone_on_with(path: Path, plan: Known) -> Known:
    """The same plan as it has been begun in a folder, if it has; another one is refused.

    It may have more seeds than before: what is kept stays, and only the new ones are missing.
    """
    if not (path / plan.FILE).exists():
        if path.exists() and (not path.is_dir() or _foreign(path, plan)):
            raise SweepRefused(
                f"{path} is there already and is no {plan.WORD}: choose another with --out"
            )
        return plan
    known = read_folder(path, type(plan)).plan
    _refuse_another(path, known, plan)
    if plan.seeds == known.seeds:
        return evolve(plan, runs_per_chunk=known.runs_per_chunk, before=known.before)
    return evolve(plan, before=[*known.before, [known.runs, known.runs_per_chunk]])


def _refuse_another(path: Path, known: Plan, plan: Plan) -> None:
    before, now = asdict(known), asdict(plan)
    others = [called for name, called in plan.CALLED.items() if before[name] != now[name]]
    if others:
        raise SweepRefused(
            f"{path} holds another {plan.WORD}: {', '.join(others)}"
            f" differ{'s' * (len(others) == 1)}; repeat its own command to go on with it,"
            " or choose another folder with --out"
        )
    if plan.seeds < known.seeds:
        raise SweepRefused(
            f"{path} has {known.seeds:,} already: {plan.SEEDS} can be raised, not lowered"
            f" to {plan.seeds:,}; choose another folder with --out"
        )


@contextmanager
def at_work(path: Path, plan: Known) -> Iterator[Workshop[Known]]:
    """The folder of this plan, begun or gone on with; another plan's is refused."""
    gone_on_with(path, plan)
    (path / _RESULTS).mkdir(parents=True, exist_ok=True)
    with (path / _LOCK).open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SweepRefused(
                f"somebody is at work in {path}: let it end, or choose another folder with --out"
            ) from error
        # Asked again: whoever was at work a moment ago may have added seeds.
        plan = gone_on_with(path, plan)
        _write(path / plan.FILE, plan.to_json())
        workshop = Workshop(Folder(path, plan))
        workshop.clear()
        try:
            yield workshop
        finally:
            workshop.clear()


def _foreign(path: Path, plan: Plan) -> list[Path]:
    return [each for each in path.iterdir() if not each.name.startswith(plan.AT_HOME)]


def _write(path: Path, text: str) -> None:
    """Let a file appear whole."""
    beside = path.with_name(f".{path.name}-{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
