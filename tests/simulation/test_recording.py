from __future__ import annotations

from attrs import asdict
from pyarrow import parquet

from simulation.events import Row
from simulation.recorder import MemorySink
from simulation.recording import record_run
from simulation.run_directory import read_run_file
from simulation.story import Story, play


def test_a_recorded_run_holds_every_event_of_its_story(tmp_path):
    sink = MemorySink()
    play(Story(), sink, run="leader_dies-seed-3", seed=3)

    path = record_run(Story(), tmp_path, seed=3)

    rows = parquet.read_table(path / "events").to_pylist()
    assert [Row(**row) for row in rows] == sink.rows


def test_a_recorded_run_says_what_was_played(tmp_path):
    run_file = read_run_file(record_run(Story(partitions=4), tmp_path, seed=3))

    assert (run_file.run, run_file.seed, run_file.schema_version) == ("leader_dies-seed-3", 3, 1)
    assert run_file.scenario["partitions"] == 4
    assert len(run_file.scenario["members"]) == len(asdict(Story())["members"])
    assert sorted(run_file.versions) == ["groupsim", "kafka", "pyarrow"]
    assert run_file.outcome["ended_ms"] == 90_000
