"""Whatever ends a run, and whenever: its run directory is complete or absent."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock

import pytest

from simulation.parquet_source import read_recording
from tests.groupsim.nursery import SHORT, VARIANTS, command

KILLS = 200
#: A killed process; a process that was asked to end, before and after the command began.
ENDS = {
    signal.SIGKILL: {-signal.SIGKILL, 0},
    signal.SIGTERM: {-signal.SIGTERM, 143, 0},
    signal.SIGINT: {-signal.SIGINT, 130, 1, 0},
}


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenario") / "short.yaml"
    file.write_text(SHORT)
    return file


@pytest.fixture(scope="module")
def whole_life_s(scenario):
    """How long a run takes here, beside another, once everything is loaded."""
    took_s = 0.0
    for names in (["first"], ["whole", "beside"]):
        began_s = time.monotonic()
        codes = [exit_code(each) for each in [start(scenario, scenario.parent / n) for n in names]]
        assert codes == [0] * len(names)
        took_s = time.monotonic() - began_s
    return took_s


#: Everything is loaded once; each run is then a process of its own in no time.
_NURSERY = multiprocessing.get_context("forkserver")
_NURSERY.set_forkserver_preload(["__main__", "tests.groupsim.nursery"])
#: A status can be read once, and whoever starts a process asks how the others ended: of two threads
#: that ask at a time, the second would be told 255.
_READS_STATUS = Lock()


def start(scenario: Path, out: Path) -> BaseProcess:
    out.mkdir()
    arguments = ("run", str(scenario), "--out", str(out / "runs"))
    process = _NURSERY.Process(target=command, args=(out / "talk", *arguments))
    with _READS_STATUS:
        process.start()
    return process


def exit_code(process: BaseProcess, within_s: float | None = None) -> int | None:
    """How a process ended; None if it has not in that time."""
    wait([process.sentinel], within_s)
    with _READS_STATUS:
        return process.exitcode


def faults_of(scenario: Path, out: Path, number: int, whole_life_s: float) -> list[str]:
    """Kill a run at a moment of its life; say what is wrong with what it left."""
    dice = random.Random(number)  # noqa: S311 # which moment is no secret
    how = list(ENDS)[number % len(ENDS)]
    process = start(scenario, out)
    if exit_code(process, dice.uniform(0, whole_life_s)) is None and process.pid is not None:
        os.kill(process.pid, how)
    code = exit_code(process)
    found = [] if code in ENDS[how] else [f"{how!r}: {code}"]
    runs = out / "runs"
    left = sorted(runs.iterdir()) if runs.exists() else []
    if runs.exists() and not left and how != signal.SIGKILL:
        found.append(f"{how!r} left an empty folder")
    for path in left:
        # A hidden folder may stay behind only where nobody could clear it away.
        if path.name.startswith("."):
            found += [] if how == signal.SIGKILL else [f"{how!r} left {path.name}"]
            continue
        try:
            read_recording(path)
        except Exception as error:  # noqa: BLE001 # whatever it is, it is a finding
            found.append(f"{how!r} left {path}: {error}")
    return found


def test_a_run_that_is_killed_at_any_moment_leaves_its_directory_complete_or_absent(
    scenario, whole_life_s, tmp_path
):
    def faults(number: int) -> list[str]:
        return faults_of(scenario, tmp_path / str(number), number, whole_life_s)

    with ThreadPoolExecutor(2) as pool:
        assert [fault for found in pool.map(faults, range(KILLS)) for fault in found] == []


@pytest.mark.usefixtures("whole_life_s")
def test_a_run_that_is_left_alone_is_complete(scenario):
    out = scenario.parent / "whole" / "runs"

    assert sorted(path.name for path in out.iterdir()) == sorted(VARIANTS)
    assert all(len(read_recording(out / name)) > 100 for name in VARIANTS)
