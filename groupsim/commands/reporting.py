"""`report`: recorded runs as one page to look at and to pass on, or as pictures."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from groupsim.commands.on_spark import doing
from groupsim.commands.progress import Reporter
from groupsim.commands.voice import Voice
from simulation.errors import RunDirectoryError, SimulationError
from simulation.run_directory import RUN_FILE, read_run_file

if TYPE_CHECKING:
    from groupsim.report.story import RunStory

#: What draws and writes, and comes with `groupsim[report]`.
_NEEDED = ("altair", "jinja2", "vl_convert")
#: What tells a sweep's folder from one of runs.
_SWEEP_FILE = "sweep.json"
#: More runs than this cannot be told apart side by side.
RUNS_MAX = 12


@frozen(kw_only=True)
class Order:
    """What was asked of `report`."""

    paths: Sequence[Path]
    page: Path | None = None
    png: Path | None = None
    svg: Path | None = None


def report(order: Order) -> None:
    """Write what was asked for, each file whole or not at all, and say where it is."""
    if order.page is None and order.png is None and order.svg is None:
        raise SimulationError("report needs a place to write to: -o page.html, --png or --svg")
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SimulationError(
            f"report needs {' and '.join(missing)}: pip install 'groupsim[report]'"
        )
    voice = Voice()
    if any((path / _SWEEP_FILE).exists() for path in order.paths):
        _report_a_sweep(voice, order)
        return
    pictures = _pictures_wanted(order)
    if order.page is not None:
        _refuse_a_folder(order.page)
    stories = _read_all(voice, runs_in(order.paths))
    if order.page is not None:
        with doing(voice, f"drawing {order.page}"):
            from groupsim.report.page import page  # noqa: PLC0415 - heavy, and an extra

            content = page(stories).encode()
        _write(voice, order.page, content)
    for kind, target in pictures:
        _draw(voice, stories, target, kind)


def _report_a_sweep(voice: Voice, order: Order) -> None:
    from groupsim.commands.sweeping import answer_for_a_page  # noqa: PLC0415 - it needs Spark

    if len(order.paths) > 1:
        raise SimulationError("a sweep has a page of its own: groupsim report DIR -o page.html")
    pictures = _pictures_wanted(order)
    for kind, target in pictures:
        if target.suffix != f".{kind}":
            raise SimulationError(f"--{kind} {target}: a sweep has one picture, such as it.{kind}")
    if order.page is not None:
        _refuse_a_folder(order.page)
    answer = answer_for_a_page(voice, order.paths[0])
    from groupsim.report.pictures import as_file  # noqa: PLC0415 - heavy, and an extra
    from groupsim.report.sweep_page import picture_of, sweep_page  # noqa: PLC0415 - the same

    if order.page is not None:
        _write(voice, order.page, sweep_page(answer).encode())
    for kind, target in pictures:
        _write(voice, target, as_file(picture_of(answer), kind))


def runs_in(paths: Sequence[Path]) -> list[Path]:
    """The run directories that are meant: each is one, or a folder with some in it."""
    folders = [_runs_at(path) for path in paths]
    found = list(dict.fromkeys(run for folder in folders for run in folder))
    if len(found) > RUNS_MAX:
        raise RunDirectoryError(
            f"{len(found)} runs are too many to stand side by side, {RUNS_MAX} are the most:"
            f" name those to compare, such as {found[0]}"
        )
    in_order = (sorted(runs, key=_place_of) if len(runs) > 1 else runs for runs in folders)
    return list(dict.fromkeys(run for runs in in_order for run in runs))


def _runs_at(path: Path) -> list[Path]:
    inside = sorted(each.parent for each in path.glob(f"[!.]*/{RUN_FILE}"))
    return inside if inside and not (path / RUN_FILE).exists() else [path]


def _place_of(run: Path) -> tuple[int, str]:
    """Where a run stands among those of its folder: as its scenario's file has them, or by name."""
    told = read_run_file(run)
    place = told.variants.index(told.variant) if told.variant in told.variants else 0
    return place, run.name


def _read_all(voice: Voice, runs: Sequence[Path]) -> list[RunStory]:
    from groupsim.report.story import read_story, told_apart  # noqa: PLC0415 - with all they read

    stories = []
    for run in runs:
        with Reporter(voice.talk, f"reading {run}") as reporter:
            stories.append(read_story(run, reporter))
    return told_apart(stories)


def _pictures_wanted(order: Order) -> list[tuple[str, Path]]:
    """Each kind of picture that is asked for, and where it goes: refused before work is done."""
    wanted = [(kind, path) for kind, path in (("png", order.png), ("svg", order.svg)) if path]
    for kind, path in wanted:
        if path.suffix not in ("", f".{kind}") and not path.is_dir():
            raise SimulationError(f"--{kind} {path}: a name that ends in .{kind}, or a folder")
    return wanted


def _draw(voice: Voice, stories: Sequence[RunStory], target: Path, kind: str) -> None:
    """One picture of all runs if a file is wanted; also each chart by itself if it is a folder."""
    is_file = target.suffix == f".{kind}" and not target.is_dir()
    path = target if is_file else target / f"picture.{kind}"
    with doing(voice, f"drawing {path}"):
        from groupsim.report.pictures import as_file, charts_of, picture  # noqa: PLC0415 - as above

        content = as_file(picture(stories), kind)
    _write(voice, path, content)
    for story in () if is_file else stories:
        for name, spec in charts_of(story, stories):
            path = target / f"{_as_file_name(story.name)}-{name}.{kind}"
            with doing(voice, f"drawing {path}"):
                content = as_file(spec, kind)
            _write(voice, path, content)


def _as_file_name(name: str) -> str:
    """A variant's name may have anything in it; a file's may not."""
    return "".join(each if each.isalnum() or each in "-_." else "_" for each in name)


def _refuse_a_folder(path: Path) -> None:
    if path.is_dir():
        raise SimulationError(
            f"{path} is a folder: name a file in it, such as {path / 'page.html'}"
        )


def _write(voice: Voice, path: Path, content: bytes) -> None:
    """Beside its place first, so that whoever looks sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # A temporary file is its maker's alone; a report is for others too.
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    voice.line(f"{path} ({len(content) / 1_000:,.0f} kB)")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
