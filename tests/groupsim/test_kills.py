"""Whatever ends a run, and whenever: its run directory is complete or absent."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulation.parquet_source import read_recording
from tests.groupsim.command import ROOT

#: GROUPSIM_KILLS=200 makes it thorough.
KILLS = int(os.environ.get("GROUPSIM_KILLS", "24"))
SHORT = """\
cluster: {topics: {orders: {partitions: 8, records: 100/s}}}
groups:
  checkout: {members: 6, subscribe: [orders]}
script:
  - {at: 20s, crash: checkout-1}
run_for: 2m
variants: {one: {}, two: {}}
"""
#: A killed process; a process that was asked to end, before and after it could say so.
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


def start(scenario: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "groupsim", "run", str(scenario), "--out", str(out)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def faults_of(scenario: Path, out: Path, number: int) -> list[str]:
    """Kill a run at a moment of its life; say what is wrong with what it left."""
    dice = random.Random(number)  # noqa: S311 # which moment is no secret
    how = list(ENDS)[number % len(ENDS)]
    with start(scenario, out) as process:
        try:
            _, talk = process.communicate(timeout=dice.uniform(0.05, 2.5))
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            _, talk = process.communicate()
    found = [] if process.returncode in ENDS[how] else [f"{how!r}: {process.returncode}, {talk}"]
    for path in sorted(out.glob("*")) if out.exists() else []:
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
    scenario, tmp_path
):
    with ThreadPoolExecutor(2) as pool:
        faults = pool.map(
            lambda number: faults_of(scenario, tmp_path / str(number), number), range(KILLS)
        )

        assert [fault for found in faults for fault in found] == []


def test_a_run_that_is_left_alone_is_complete(scenario, tmp_path):
    with start(scenario, tmp_path / "out") as process:
        assert process.wait(timeout=60) == 0

    assert [len(read_recording(tmp_path / "out" / name)) > 100 for name in ("one", "two")] == [
        True,
        True,
    ]
