from __future__ import annotations

import pytest

from simulation.errors import SimulationError
from simulation.fork import fork
from simulation.world import Simulation


def a_minute_of_two(sim: Simulation) -> None:
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_for("1m")
    sim.end()


def the_first_stable_row() -> int:
    sim = Simulation()
    a_minute_of_two(sim)
    return next(row.seq for row in sim.events if row.state == "Stable")


def test_a_fork_is_the_same_run_up_to_its_event_and_another_one_after_it():
    stable = the_first_stable_row()

    forked = fork(a_minute_of_two, at=stable, change=lambda sim: sim.crash("bea"))

    assert forked.original[:stable] == forked.forked[:stable]
    assert forked.first_difference is not None
    assert forked.first_difference > stable
    assert "consumer_crashed" in {row.kind for row in forked.forked}
    assert "consumer_crashed" not in {row.kind for row in forked.original}


def test_a_fork_is_changed_in_the_millisecond_of_its_row():
    sim = Simulation()
    a_minute_of_two(sim)
    stable_ms = sim.events[the_first_stable_row() - 1].at_ms
    last = max(row.seq for row in sim.events if row.at_ms == stable_ms)

    forked = fork(a_minute_of_two, at=last, change=lambda sim: sim.crash("bea"))

    crashed = next(row for row in forked.forked if row.kind == "consumer_crashed")
    assert (crashed.at_ms, crashed.seq) == (stable_ms, last + 1)


def test_a_fork_that_changes_nothing_is_the_same_run():
    forked = fork(a_minute_of_two, at=5, change=lambda _sim: None)

    assert forked.first_difference is None


def test_both_runs_of_a_fork_are_played_in_the_world_that_is_asked_for():
    def in_one_broker_s_world(seed: int) -> Simulation:
        return Simulation(seed=seed, brokers=1, quiet="play", member_ids=["a-1", "b-1"])

    forked = fork(a_minute_of_two, at=5, change=lambda _sim: None, world=in_one_broker_s_world)

    for rows in (forked.original, forked.forked):
        assert {row.broker for row in rows} == {None, 1}
        assert {row.member for row in rows} == {None, "a-1", "b-1"}


def test_a_run_cannot_be_changed_after_its_last_moment():
    last = len(fork(a_minute_of_two, at=5, change=lambda _sim: None).original)

    with pytest.raises(SimulationError, match=f"nothing can be changed after row {last}"):
        fork(a_minute_of_two, at=last, change=lambda sim: sim.crash("bea"))


def test_a_run_cannot_be_forked_where_it_never_was():
    with pytest.raises(SimulationError, match="there is no row 100000"):
        fork(a_minute_of_two, at=100_000, change=lambda _sim: None)


@pytest.mark.parametrize("at", [0, -1])
def test_a_run_cannot_be_forked_before_its_first_row(at):
    with pytest.raises(ValueError, match=f"at must be at least 1, not {at}"):
        fork(a_minute_of_two, at=at, change=lambda _sim: None)
