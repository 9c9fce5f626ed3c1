"""Two holes of Kafka's own around static members, which the checkers excuse (docs/measures.md)."""

from __future__ import annotations

from simulation.checkers import check
from simulation.events import Row
from simulation.world import Simulation


def of_kind(sim: Simulation, *kinds: str) -> list[Row]:
    return [row for row in sim.events if row.kind in kinds]


def a_static_member_that_misses_a_rebalance() -> Simulation:
    """Eva stands still while bea joins, for longer than a rebalance waits, not than a session."""
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=2)
    settings = {
        "partition.assignment.strategy": "cooperative-sticky",
        "max.poll.interval.ms": "20000",
        "session.timeout.ms": "45000",
    }
    sim.consumers("checkout", "eva", topics=["orders"], settings=settings, static=True)
    sim.run_until_stable("checkout")
    sim.pause("eva")
    sim.consumers("checkout", "bea", topics=["orders"], settings=settings)
    sim.run_for("30s")
    return sim


def test_a_static_member_that_misses_a_rebalance_still_owns_what_another_is_given():
    sim = a_static_member_that_misses_a_rebalance()

    of_eva = {row.partition for row in of_kind(sim, "partition_assigned") if row.client == "eva"}
    of_bea = {row.partition for row in of_kind(sim, "partition_assigned") if row.client == "bea"}
    assert of_eva & of_bea
    assert of_kind(sim, "partition_revoked", "partition_lost", "member_removed") == []
    assert check(sim.events) == ()


def test_a_static_member_that_missed_a_rebalance_gives_its_partitions_up_when_it_is_back():
    sim = a_static_member_that_misses_a_rebalance()

    sim.resume("eva")
    sim.run_until_stable("checkout")

    lost = of_kind(sim, "partition_revoked", "partition_lost")
    assert {row.client for row in lost} >= {"eva"}
    assert check(sim.events) == ()


def a_topic_that_grows_while_its_static_leader_is_away() -> Simulation:
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=2)
    settings = {"metadata.max.age.ms": "10000", "max.poll.interval.ms": "20000"}
    sim.consumers("checkout", "dan", topics=["orders"], settings=settings, static=True)
    sim.run_until_stable("checkout")
    sim.crash("dan")
    sim.run_for("5s")
    sim.add_partitions("orders", 3)
    sim.restart("dan")
    sim.run_for("10m")
    return sim


def test_partitions_that_are_added_while_a_static_leader_is_away_are_overlooked():
    sim = a_topic_that_grows_while_its_static_leader_is_away()
    sim.end()

    assert {row.partition for row in of_kind(sim, "partition_assigned")} == {0, 1}
    assert check(sim.events, patience=sim.patience()) == ()


def test_partitions_that_were_overlooked_are_found_with_the_next_change():
    sim = a_topic_that_grows_while_its_static_leader_is_away()

    sim.add_partitions("orders", 4)
    sim.run_for("1m")

    assert {row.partition for row in of_kind(sim, "partition_assigned")} == {0, 1, 2, 3}
