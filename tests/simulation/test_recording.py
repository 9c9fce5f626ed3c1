from __future__ import annotations

import json

import pytest
from attrs import evolve
from pyarrow import parquet

from simulation.errors import SimulationError
from simulation.events import Row
from simulation.parquet_sink import ParquetSink
from simulation.recording import record, replay
from simulation.run_directory import RUN_FILE, RunFile, read_run_file
from simulation.scenarios import Scenario, ScenarioError
from simulation.version import VERSION
from simulation.world import Simulation
from tests.support.stories import rows_of, the_leader_dies


def test_a_recorded_run_holds_every_event_of_its_scenario(tmp_path):
    rows = rows_of(the_leader_dies(), seed=3)

    record(the_leader_dies(), tmp_path / "run", seed=3)

    recorded = parquet.read_table(tmp_path / "run" / "events").to_pylist()
    assert [Row(**row) for row in recorded] == rows


def test_a_recorded_run_says_what_was_played(tmp_path):
    scenario = the_leader_dies(partitions=4)

    result = record(scenario, tmp_path / "run", seed=3)

    run_file = read_run_file(tmp_path / "run")
    assert (run_file.run, run_file.seed, run_file.schema_version) == ("leader_dies-seed-3", 3, 3)
    assert Scenario.from_dict(run_file.scenario) == scenario
    assert run_file.versions["groupsim"] == VERSION
    assert sorted(run_file.versions) == ["groupsim", "kafka", "pyarrow"]
    assert run_file.outcome == result.outcome()
    assert run_file.outcome["ended_ms"] == 90_000


def test_a_recorded_variant_knows_its_place_among_the_others(tmp_path):
    scenario = evolve(the_leader_dies(), variants={"slow": {}, "fast": {}})

    record(scenario, tmp_path / "run", variant="fast")

    run_file = read_run_file(tmp_path / "run")
    assert (run_file.variant, run_file.variants) == ("fast", ("slow", "fast"))


@pytest.mark.parametrize("detail", ["folded", "full"])
def test_a_replay_gives_the_same_bytes(tmp_path, detail):
    record(the_leader_dies(), tmp_path / "run", seed=3, detail=detail)

    again = replay(tmp_path / "run")

    assert (again.same, again.differs_at) == (True, None)
    assert again.sentence.endswith("events when it is played again, byte for byte")


def test_a_replay_of_a_variant_gives_the_same_bytes(tmp_path):
    changed = {"groups.checkout.static": True}
    scenario = Scenario.from_dict({**the_leader_dies().to_dict(), "variants": {"static": changed}})
    record(scenario, tmp_path / "run")

    assert replay(tmp_path / "run").same


def test_a_replay_says_from_which_row_on_a_run_differs(tmp_path):
    record(the_leader_dies(), tmp_path / "run")
    path = tmp_path / "run" / RUN_FILE
    told = json.loads(path.read_text())
    told["scenario"]["script"][0]["at"] = "30s"
    path.write_text(json.dumps(told))

    again = replay(tmp_path / "run")

    crash = next(row for row in rows_of(the_leader_dies()) if row.kind == "consumer_crashed")
    assert not again.same
    assert again.differs_at is not None
    assert again.differs_at <= crash.seq


def test_a_run_with_a_foreign_scenario_is_refused_with_its_place(tmp_path):
    record(the_leader_dies(), tmp_path / "run")
    path = tmp_path / "run" / RUN_FILE
    told = json.loads(path.read_text())
    told["scenario"]["grops"] = {}
    path.write_text(json.dumps(told))

    with pytest.raises(ScenarioError, match=r"unknown key 'grops'.*did you mean `groups`"):
        replay(tmp_path / "run")


def test_a_run_that_a_script_recorded_has_no_scenario_to_play_again(tmp_path):
    with ParquetSink(tmp_path / "run") as sink:
        sim = Simulation(seed=7, sink=sink)
        sim.end()
        sink.finish(RunFile(run="run", scenario={}, seed=7, versions={}, outcome={}))

    with pytest.raises(SimulationError, match=r"it holds no scenario, .*; run that script again"):
        replay(tmp_path / "run")
