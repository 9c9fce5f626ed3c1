"""The same story and seed give the same bytes, whatever Python's hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from simulation.recording import record
from tests.support.stories import the_leader_dies

ROOT = Path(__file__).parent.parent
PROGRAM = """
import sys
from pathlib import Path
from simulation.recording import record
from tests.support.stories import the_leader_dies

crowd = [f"member-{n}" for n in range(25)]
story = the_leader_dies(members=crowd, stagger="7ms", partitions=60, assignor="sticky")
record(story, Path(sys.argv[1]) / "leader_dies", seed=5)
"""


def files_of(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def recorded_under(hash_seed: str, folder: Path) -> dict[str, bytes]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return files_of(folder)


def test_two_processes_with_different_hash_seeds_record_the_same_bytes(tmp_path):
    first = recorded_under("1", tmp_path / "one")
    second = recorded_under("2", tmp_path / "two")

    assert sorted(first) == [
        "leader_dies/events/part-0.parquet",
        "leader_dies/run.json",
    ]
    assert first == second


def test_a_second_run_in_the_same_process_records_the_same_bytes(tmp_path):
    record(the_leader_dies(), tmp_path / "one")
    record(the_leader_dies(), tmp_path / "two")

    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


#: Worlds with faults, moves, deleted topics and all commit modes, twice in the same process.
WORLDS_PROGRAM = """
from hashlib import sha256
from simulation.campaign import rows_of
from simulation.random_worlds import draw_world

for seed in (3, 11, 29, 3):
    print(seed, sha256(repr(rows_of(draw_world(seed), "skip")).encode()).hexdigest())
"""


def worlds_under(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", WORLDS_PROGRAM]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_random_worlds_are_the_same_under_any_hash_seed_and_when_they_are_played_again():
    first, second = worlds_under("1"), worlds_under("2")

    assert len(first) == 4
    assert first[0] == first[-1]
    assert first == second
