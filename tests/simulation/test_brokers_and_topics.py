"""What becomes of a group when its brokers or topics change."""

from __future__ import annotations

from simulation.world import Simulation
from tests.simulation.test_world import a_world, of_kind, owners


def committed_of(sim: Simulation, group: str) -> dict[tuple[str, int | None], int]:
    """What the coordinator has of a group, by topic and partition."""
    broker = sim.stage.coordinator_of(group)
    assert broker is not None
    shard = broker.machine.slots[sim.stage.shard_of(group)].shard
    assert shard is not None
    return {
        (topic, partition): each.committed_offset
        for (topic, partition), each in shard.offsets[group].items()
    }


def test_a_coordinator_that_moves_takes_its_group_along():
    sim = a_world()
    before = sim.stage.coordinator_of("checkout")
    assert before is not None

    sim.move_coordinator("checkout", 1 + before.id % 3, load="2s")
    sim.run_for("30s")

    assert sim.is_stable("checkout")
    assert [row.count for row in of_kind(sim.events, "group_loaded")] == [3]
    assert of_kind(sim.events, "member_removed") == []


def test_a_broker_that_crashes_is_replaced_and_every_acknowledged_commit_survives():
    sim = a_world()
    sim.run_for("20s")
    broker = sim.stage.coordinator_of("checkout")
    assert broker is not None

    sim.crash_broker(broker.id, load="1s")
    sim.run_for("30s")
    sim.restart_broker(broker.id)
    sim.run_for("30s")

    assert sim.is_stable("checkout")
    acknowledged = {
        row.partition: row.offset or 0 for row in of_kind(sim.events, "commit_acknowledged")
    }
    kept = committed_of(sim, "checkout")
    assert len(acknowledged) == len(kept) == 12
    assert all(kept["orders", partition] >= offset for partition, offset in acknowledged.items())


def test_a_broker_that_is_back_takes_so_long_to_load_what_nobody_leads():
    sim = Simulation(seed=7, brokers=1)
    sim.topic("orders")
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("20s")
    sim.crash_broker(1)
    sim.run_for("5s")

    sim.restart_broker(1, load="7s")
    restarted_ms = sim.now_ms
    sim.run_for("10s")

    assert restarted_ms + 7_000 in {row.at_ms for row in of_kind(sim.events, "group_loaded")}


def test_partitions_that_are_added_find_owners():
    sim = a_world()

    sim.add_partitions("orders", 15)
    sim.run_for("6m")

    assert len(owners(sim)) == 15


def test_a_new_topic_is_found_by_a_pattern():
    sim = Simulation(seed=3)
    sim.topic("orders-eu", partitions=2)
    sim.consumers("checkout", "ada", pattern="orders-.*", settings={"metadata.max.age.ms": "10000"})
    sim.run_until_stable("checkout")

    sim.topic("orders-us", partitions=2)
    sim.run_for("30s")

    topics = {row.topic for row in of_kind(sim.events, "partition_assigned")}
    assert topics == {"orders-eu", "orders-us"}


def test_a_topic_that_is_deleted_is_given_up():
    sim = Simulation(seed=3)
    sim.topic("orders", partitions=2)
    sim.topic("payments", partitions=2)
    sim.consumers(
        "checkout", "ada", topics=["orders", "payments"], settings={"metadata_max_age_ms": 10_000}
    )
    sim.run_until_stable("checkout")

    sim.delete_topic("payments")
    sim.run_for("30s")

    revoked = {row.topic for row in of_kind(sim.events, "partition_revoked", "partition_lost")}
    assert "payments" in revoked


def test_what_was_committed_of_a_topic_goes_with_it():
    sim = Simulation(seed=3)
    for topic in ("orders", "payments"):
        sim.topic(topic, partitions=2)
    sim.consumers("checkout", "ada", topics=["orders", "payments"])
    sim.run_for("20s")
    before = {topic for topic, _ in committed_of(sim, "checkout")}

    sim.delete_topic("payments")

    assert before == {"orders", "payments"}
    assert {topic for topic, _ in committed_of(sim, "checkout")} == {"orders"}
