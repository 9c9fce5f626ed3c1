"""What makes a group rebalance: one story for each of Kafka's triggers, read from the recording."""

from __future__ import annotations

from client.applications import PollLoop
from client.calls import AsyncConsumer
from client.partitions import TopicPartition
from client.workloads import AT_ONCE, SlowRecord
from simulation.checkers import check
from simulation.measures import Rebalance
from simulation.world import Simulation

#: Metadata is looked at often, so that new partitions are noticed in the length of a story.
SETTINGS = {"metadata_max_age_ms": 5_000, "auto_offset_reset": "earliest"}


def a_calm_group(*names: str, partitions: int = 6) -> Simulation:
    """These consumers share a topic and have come to rest."""
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=partitions, records_per_s=5)
    sim.consumers("checkout", *names, topics=["orders"], settings=SETTINGS)
    sim.run_until_stable("checkout")
    sim.run_for("20s")
    return sim


def the_last_rebalance(sim: Simulation) -> Rebalance:
    """The group's last one; whatever the story, no checker has anything to say."""
    sim.run_until_stable("checkout")
    sim.run_for("10s")
    assert check(sim.events) == ()
    return sim.rebalances("checkout")[-1]


def owners(sim: Simulation) -> dict[str | None, int]:
    """How many partitions each consumer owns in the end."""
    held: dict[tuple[str | None, int | None], str | None] = {}
    for row in sim.events:
        if row.kind == "partition_assigned":
            held[row.topic, row.partition] = row.client
        elif row.kind in ("partition_revoked", "partition_lost"):
            held.pop((row.topic, row.partition), None)
    return {client: list(held.values()).count(client) for client in held.values()}


def test_a_member_that_joins_takes_its_share():
    sim = a_calm_group("ada", "bea")

    sim.consumer("cat", group="checkout", topics=["orders"], settings=SETTINGS)
    sim.run_for("1s")

    last = the_last_rebalance(sim)
    assert (last.cause, last.members, last.moved) == ("member cat joined", 3, 3)
    assert last.duration_ms < 4_000
    assert owners(sim) == {"ada": 2, "bea": 2, "cat": 2}


def test_a_member_that_leaves_is_replaced_within_a_heartbeat():
    sim = a_calm_group("ada", "bea")

    sim.stop("ada")
    sim.run_for("1s")

    last = the_last_rebalance(sim)
    assert (last.cause, last.members, last.moved) == ("ada left", 1, 3)
    assert last.duration_ms < 4_000
    assert owners(sim) == {"bea": 6}


def test_a_member_that_dies_is_replaced_when_its_session_ends():
    sim = a_calm_group("ada", "bea")
    died_ms = sim.now_ms

    sim.crash("ada")
    sim.run_for("1m")

    last = the_last_rebalance(sim)
    assert (last.cause, last.members) == ("session of ada expired", 1)
    # Its last heartbeat may have been under way when it died.
    assert 41_000 < last.started_ms - died_ms < 45_010
    assert owners(sim) == {"bea": 6}


def test_a_member_that_stops_polling_leaves_by_itself():
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=2, records_per_s=1)
    slow = SlowRecord(
        partition=TopicPartition("orders", 0), offset=20, takes_ms=40_000, others=AT_ONCE
    )
    settings = {**SETTINGS, "max_poll_interval_ms": 15_000}
    sim.consumers(
        "checkout",
        *("ada", "bea"),
        settings=settings,
        app=PollLoop(topics=("orders",), time_per_record=slow),
    )
    sim.run_until_stable("checkout")
    sim.run_until(lambda: len(sim.rebalances("checkout")) > 1)

    left = sim.rebalances("checkout")[1]
    (stuck,) = [row.client for row in sim.events if row.kind == "member_removed"]
    assert left.cause == f"{stuck} left"
    (removed,) = [row for row in sim.events if row.kind == "member_removed"]
    assert "poll" in (removed.detail or "")


def test_a_coordinator_that_moves_costs_no_rebalance():
    sim = a_calm_group("ada", "bea")
    before = len(sim.rebalances("checkout"))
    coordinator = sim.stage.coordinator_of("checkout")
    assert coordinator is not None

    sim.move_coordinator("checkout", 1 + coordinator.id % 3, load="2s")
    sim.run_for("30s")

    the_last_rebalance(sim)
    assert len(sim.rebalances("checkout")) == before
    assert owners(sim) == {"ada": 3, "bea": 3}


def test_a_coordinator_that_moves_during_a_rebalance_makes_everyone_join_again():
    sim = a_calm_group("ada", "bea")
    coordinator = sim.stage.coordinator_of("checkout")
    assert coordinator is not None

    sim.stop("ada")
    sim.when(
        lambda row: row.state == "PreparingRebalance",
        lambda: sim.move_coordinator("checkout", 1 + coordinator.id % 3, load="2s"),
    )
    sim.run_for("1m")

    interrupted, *_ = [each for each in sim.rebalances("checkout") if each.ended_in == "Dead"]
    assert interrupted.cause == "ada left"
    the_last_rebalance(sim)
    assert owners(sim) == {"bea": 6}


def test_a_coordinator_that_comes_back_while_its_log_is_read_has_it_read_anew():
    sim = a_calm_group("ada", "bea")
    coordinator = sim.stage.coordinator_of("checkout")
    assert coordinator is not None
    other, asked_ms = 1 + coordinator.id % 3, sim.now_ms

    for to, load in ((other, "3s"), (coordinator.id, "0ms"), (other, "4s")):
        sim.move_coordinator("checkout", to, load=load)
        sim.run_for("1s")
    sim.run_for("30s")

    loaded = [row.at_ms - asked_ms for row in sim.events if row.kind == "shard_loaded"]
    assert loaded == [1_000, 6_000]
    assert owners(sim) == {"ada": 3, "bea": 3}


def test_a_subscription_that_changes_makes_its_consumer_join_again():
    sim = a_calm_group("ada")
    sim.topic("payments", partitions=2)

    async def changes_its_mind(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        for _ in range(40):
            await consumer.poll(timeout_ms=500)
        consumer.subscribe(["orders", "payments"])
        while True:
            await consumer.poll(timeout_ms=500)

    sim.consumer("bea", group="checkout", settings=SETTINGS, app=changes_its_mind)
    sim.run_for("40s")

    last = the_last_rebalance(sim)
    assert last.cause in ("member bea joined with new metadata", "leader bea rejoined")
    assert owners(sim) == {"ada": 3, "bea": 5}


def test_partitions_that_are_added_are_noticed_by_the_leader():
    sim = a_calm_group("ada", "bea")

    sim.add_partitions("orders", 8)
    sim.run_for("20s")

    last = the_last_rebalance(sim)
    assert last.client_reason == "cached metadata has changed"
    assert last.cause in ("leader ada rejoined", "leader bea rejoined")
    assert owners(sim) == {"ada": 4, "bea": 4}
