"""The run directory: what it is called inside, and how it comes to be complete or absent.

    RUN/run.json           what was played, and what came of it
    RUN/events/*.parquet   everything that happened (simulation/events.py)

It is written in a hidden folder beside its place and renamed at the end, so a directory that is
there is whole.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, define, field, fields_dict, frozen

from simulation.errors import RunDirectoryError
from simulation.events import SCHEMA_VERSION

RUN_FILE = "run.json"
EVENTS_FOLDER = "events"


def _in_order(names: Iterable[str] | None) -> tuple[str, ...]:
    """None is what a version that has no such field says of it."""
    return tuple(names or ())


@frozen(kw_only=True)
class RunFile:
    """What `run.json` says: enough to play the run again and to know what came of it."""

    run: str
    #: As it was played, in the form of a file; one variant, and none left to choose.
    scenario: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    outcome: Mapping[str, Any]
    #: Which variant of the scenario, or its name where it has none.
    variant: str = ""
    #: All that were played together, in the order of the scenario's file.
    variants: tuple[str, ...] = field(default=(), converter=_in_order)
    #: Whether what is repeated is counted ("folded") or told each time ("full").
    detail: str = "folded"
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> str:
        """The file's text; the same value gives the same bytes."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def read_run_file(run_directory: Path) -> RunFile:
    """What a run directory says of itself."""
    path = run_directory / RUN_FILE
    try:
        return _run_file_of(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunDirectoryError(f"{run_directory} is no run directory: no {RUN_FILE}") from error
    except OSError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error.strerror}") from error
    except (TypeError, ValueError) as error:
        raise RunDirectoryError(f"{path} is not the {RUN_FILE} of a run: {error}") from error


def _run_file_of(said: Any) -> RunFile:  # noqa: ANN401 - a file may say anything
    if not isinstance(said, dict) or not isinstance(said.get("schema_version"), int):
        raise TypeError("it has no schema_version")
    if said["schema_version"] > SCHEMA_VERSION:
        # What a newer version says more is not for us, but that it is newer is.
        known: dict[str, Any] = {name: said.get(name) for name in fields_dict(RunFile)}
        return RunFile(**known)
    for name in said:
        if name not in fields_dict(RunFile):
            raise TypeError(f"it has {name!r}, which no {RUN_FILE} has")
    for name in ("run", "scenario", "seed", "versions", "outcome"):
        if name not in said:
            raise TypeError(f"it has no {name}")
    if not isinstance(said.get("variants", []), list):
        raise TypeError(f"its variants must be a list, not {said['variants']!r}")
    found = RunFile(**said)
    _require_kinds(found)
    return found


def _require_kinds(found: RunFile) -> None:
    for name in ("run", "variant", "detail"):
        if not isinstance(getattr(found, name), str):
            raise TypeError(f"its {name} must be a text, not {getattr(found, name)!r}")
    if type(found.seed) is not int or found.seed < 0:
        raise TypeError(f"its seed must be a whole number, not {found.seed!r}")
    for name in ("scenario", "versions", "outcome"):
        if not isinstance(getattr(found, name), Mapping):
            raise TypeError(f"its {name} must be a mapping, not {getattr(found, name)!r}")


def _hidden_name(path: Path) -> str:
    """What folders in the making begin with, if this process makes them."""
    return f".{path.name}-{os.getpid()}-"


def sweep(path: Path) -> None:
    """Remove what this process left of a run directory in the making.

    `abandon` does the same, but a signal may come between any two steps, even before it is called.
    """
    for left in path.parent.glob(f"{glob.escape(_hidden_name(path))}*"):
        shutil.rmtree(left, ignore_errors=True)


@define(eq=False, init=False)
class RunDirectory:
    """A run directory in the making: `folder` is where to write until `complete` or `abandon`."""

    path: Path
    folder: Path
    _shell: Path = field(alias="_shell")

    def __init__(self, path: Path) -> None:
        if path.exists():
            raise RunDirectoryError(f"{path} exists already; a run directory is never written over")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The temporary folder is private to its maker; the one inside has usual permissions.
            shell = Path(tempfile.mkdtemp(prefix=_hidden_name(path), dir=path.parent))
        except OSError as error:
            raise RunDirectoryError(f"cannot write in {path.parent}: {error.strerror}") from error
        self.path = path
        self.folder = shell / path.name
        self._shell = shell
        (self.folder / EVENTS_FOLDER).mkdir(parents=True)

    def complete(self, run_file: RunFile) -> None:
        """Everything is written: let the directory appear under its name."""
        (self.folder / RUN_FILE).write_text(run_file.to_json(), encoding="utf-8")
        self.folder.rename(self.path)
        self._shell.rmdir()

    def abandon(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._shell, ignore_errors=True)
