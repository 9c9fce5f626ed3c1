"""A consumer that is given another part between two of its lives."""

from __future__ import annotations

import pytest

from simulation.world import Simulation


def topics_given_out(sim: Simulation) -> set[str | None]:
    return {row.topic for row in sim.events if row.kind == "partition_assigned"}


def test_a_consumer_comes_back_with_the_settings_it_was_given_between_its_lives():
    sim = Simulation(seed=1)
    sim.topic("orders")
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("10s")
    sim.stop("ada")
    sim.run_for("1s")

    sim.recast("ada", topics=["orders"], settings={"partition.assignment.strategy": "sticky"})
    sim.restart("ada")
    sim.run_for("1m")

    protocols = [row.protocol for row in sim.events if row.kind == "state_changed"]
    assert [each for each in protocols if each][-1] == "sticky"


def test_a_consumer_that_is_recast_stays_what_it_was_but_for_what_is_said():
    sim = Simulation(seed=7)
    sim.topic("orders")
    sim.consumers("checkout", "ada", topics=["orders"], static=True, start=False)

    sim.recast("ada", settings={"max.poll.records": 10})
    sim.start("ada")
    sim.run_until_stable("checkout")

    config = sim.stage.host("ada").role.config
    assert (config.group_instance_id, config.max_poll_records) == ("ada", 10)
    assert topics_given_out(sim) == {"orders"}


def test_a_consumer_that_is_recast_with_a_pattern_forgets_its_topics():
    sim = Simulation(seed=7)
    sim.topic("orders")
    sim.topic("payments")
    sim.consumers("checkout", "ada", topics=["orders"], start=False)

    sim.recast("ada", pattern="pay.*")
    sim.start("ada")
    sim.run_until_stable("checkout")

    assert topics_given_out(sim) == {"payments"}


def test_a_running_consumer_cannot_be_recast():
    sim = Simulation(seed=1)
    sim.topic("orders")
    sim.consumers("checkout", "ada", topics=["orders"])

    with pytest.raises(ValueError, match="ada is running"):
        sim.recast("ada", topics=["orders"])
