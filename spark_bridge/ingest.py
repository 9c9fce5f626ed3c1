"""Recorded runs to frames: the events, and what was played as a table to join with.

A path is a run directory, a folder with run directories somewhere in it, or a glob. `find_runs`
looks at it first: what is not complete is left out and named, what was recorded in another version
of the schema is refused. Only `run.json` files are read here; Spark reads the events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import Any

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from simulation.errors import RunDirectoryError
from simulation.events import SCHEMA_VERSION
from simulation.run_directory import EVENTS_FOLDER, RUN_FILE, RunFile, read_run_file
from spark_bridge import schemas
from spark_bridge.errors import NoRuns, SchemaVersionRefused, TwoRunsOfOneName
from spark_bridge.urls import url_of


@frozen
class FoundRun:
    """A complete run, and what it says of itself."""

    path: Path
    run_file: RunFile


@frozen
class LeftOut:
    """A folder that began as a run and is none: it cannot be read, and why."""

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{self.path} is left out: {self.why}"


@frozen
class Found:
    """The runs at a path, in the order of their names, and what was left out."""

    runs: tuple[FoundRun, ...]
    left_out: tuple[LeftOut, ...]


def find_runs(path: str | Path) -> Found:
    """The runs at a path; none at all, two of one name or another schema version raise."""
    found: dict[str, FoundRun] = {}
    left_out: list[LeftOut] = []
    for folder in sorted(set(_candidates(path))):
        if (why := _why_incomplete(folder)) is not None:
            left_out.append(LeftOut(folder, why))
            continue
        run_file = read_run_file(folder)
        _refuse_other_versions(folder, run_file)
        if (other := found.get(run_file.run)) is not None:
            raise TwoRunsOfOneName(
                f"{other.path} and {folder} are both called {run_file.run}:"
                " read them one at a time, or move one away"
            )
        found[run_file.run] = FoundRun(folder, run_file)
    if not found:
        reasons = "".join(f"; {each}" for each in left_out)
        raise NoRuns(f"there is no complete run at {path}{reasons}")
    return Found(tuple(found[name] for name in sorted(found)), tuple(left_out))


def read_events(spark: SparkSession, path: str | Path | Found) -> DataFrame:
    """One row per event of the runs at a path, in the columns of docs/events.md."""
    found = path if isinstance(path, Found) else find_runs(path)
    folders = [url_of(run.path / EVENTS_FOLDER) for run in found.runs]
    return spark.read.schema(schemas.EVENTS).parquet(*folders)


def read_runs(spark: SparkSession, path: str | Path | Found) -> DataFrame:
    """One row per run at a path: what was played, with which seed and settings, and what held.

    `settings` has every value of the resolved scenario under its dotted path, as a text.
    """
    found = path if isinstance(path, Found) else find_runs(path)
    rows = [_parameters(run.run_file) for run in found.runs]
    return spark.createDataFrame(rows, schemas.RUNS)


def _candidates(path: str | Path) -> Iterator[Path]:
    """Folders at a path that are runs, or were to become runs."""
    here = Path(path)
    if not here.exists():
        here_and_there = sorted(glob(str(path)))  # noqa: PTH207 - the path may be absolute
        for each in here_and_there:
            yield from _candidates(each)
        return
    for folder, inside, files in os.walk(here):
        if RUN_FILE in files or EVENTS_FOLDER in inside:
            inside.clear()
            yield Path(folder)


def _why_incomplete(folder: Path) -> str | None:
    """What keeps a folder from being a run; None if nothing does."""
    # A run in the making is in a hidden folder that is named for it (run_directory.py).
    if folder.absolute().parent.name.startswith(f".{folder.name}-"):
        return "its recording has not come to an end"
    if not (folder / RUN_FILE).exists():
        return f"there is no {RUN_FILE}"
    try:
        read_run_file(folder)
    except RunDirectoryError as error:
        return str(error)
    if not any((folder / EVENTS_FOLDER).glob("*.parquet")):
        return f"there are no events in {EVENTS_FOLDER}"
    return None


def _refuse_other_versions(run_directory: Path, run_file: RunFile) -> None:
    version = run_file.schema_version
    if version != SCHEMA_VERSION:
        is_newer = version > SCHEMA_VERSION
        cure = "install a newer groupsim to read it" if is_newer else "record the run again"
        raise SchemaVersionRefused(
            f"{run_directory} was recorded in version {version} of the event schema, and this"
            f" groupsim reads version {SCHEMA_VERSION}: {cure}"
        )


def _parameters(run_file: RunFile) -> tuple[Any, ...]:
    scenario, outcome = run_file.scenario, run_file.outcome
    return (
        run_file.run,
        scenario.get("name"),
        scenario.get("title"),
        run_file.variant,
        run_file.seed,
        run_file.detail,
        run_file.versions.get("groupsim"),
        run_file.versions.get("kafka"),
        outcome.get("held"),
        outcome.get("ended_ms"),
        outcome.get("events"),
        dict(_flat(scenario, "")),
    )


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - as JSON has it
    """The values in a nested one, each under its dotted path."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{path}.{place}")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
