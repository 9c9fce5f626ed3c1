"""Three holes of Kafka's own around static members that checkers excuse (docs/measures.md)."""

from __future__ import annotations

from simulation.campaign import fail_of
from simulation.checkers import check
from simulation.events import Row
from simulation.ghosts import GhostPlan
from simulation.world import Fault, Simulation
from simulation.world_plans import Act, ConsumerPlan, TopicPlan, World


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


def a_static_member_that_dies_between_two_rounds() -> Simulation:
    """Eva is told to give two partitions up, and crashes on her way back into the group."""
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=4)
    settings = {"partition.assignment.strategy": "cooperative-sticky"}
    sim.consumers("checkout", "eva", topics=["orders"], settings=settings, static=True)
    sim.run_until_stable("checkout")

    def is_told(row: Row) -> bool:
        is_of_eva = row.client == "eva" and row.generation == 2
        return is_of_eva and row.kind == "reply_sent" and row.request == "SyncGroup"

    sim.when(is_told, lambda: sim.crash("eva"))
    sim.consumers("checkout", "bea", topics=["orders"], settings=settings)
    sim.run_for("20s")
    sim.restart("eva")
    sim.run_for("10m")
    return sim


def test_what_a_static_member_was_to_give_up_has_no_owner_if_it_dies_before_the_second_round():
    sim = a_static_member_that_dies_between_two_rounds()
    sim.end()

    back = max(row.seq for row in of_kind(sim, "consumer_started") if row.client == "eva")
    owned = {row.partition for row in of_kind(sim, "partition_assigned") if row.seq > back}
    assert len(owned) == 2
    assert [row for row in of_kind(sim, "partition_assigned") if row.client == "bea"] == []
    assert check(sim.events, patience=sim.patience()) == ()


def test_what_was_to_be_given_up_finds_an_owner_with_the_next_rebalance():
    sim = a_static_member_that_dies_between_two_rounds()

    settings = {"partition.assignment.strategy": "cooperative-sticky"}
    sim.consumers("checkout", "cat", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.run_for("1m")

    owners: dict[int | None, str | None] = {}
    for row in of_kind(sim, "partition_assigned", "partition_revoked", "partition_lost"):
        owners[row.partition] = row.client if row.kind == "partition_assigned" else None
    assert set(owners) == {0, 1, 2, 3}
    assert None not in owners.values()


def test_partitions_that_a_static_leader_had_not_heard_of_yet_when_it_died_are_overlooked_too():
    # They are added, then bea leads an assignment by metadata from before, dies and is back.
    world = World(
        seed=900647,
        brokers=1,
        topics=(TopicPlan(name="orders", partitions=1), TopicPlan(name="refunds", partitions=1)),
        consumers=(
            ConsumerPlan(name="ada", group="checkout", topics=("orders", "refunds")),
            ConsumerPlan(
                name="bea",
                group="checkout",
                topics=("orders", "refunds"),
                is_static=True,
                starts_at_ms=6_115,
            ),
        ),
        ghosts=(
            GhostPlan(
                name="ghost0",
                group="checkout",
                topic="orders",
                steps=((35_227, "kick"),),
                protocols=("roundrobin",),
            ),
        ),
        faults=(Fault(verb="crash", target="bea", at=38_789, lasts=1),),
        acts=(Act(at_ms=32_694, verb="add_partitions", args=("refunds", 9)),),
    )

    assert fail_of(world) is None
