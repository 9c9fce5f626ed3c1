"""Writes of a coordinator that are under way while something else happens to its log."""

from __future__ import annotations

from client.calls import AsyncConsumer
from coordinator.records import OffsetRecord
from simulation.world import Simulation


async def commits_what_it_reads(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    while True:
        if await consumer.poll(500):
            await consumer.commit_async()


def a_group_that_commits(*members: str) -> Simulation:
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=len(members), records_per_s=10)
    sim.consumers("checkout", *members, topics=["orders"], app=commits_what_it_reads)
    sim.run_until_stable("checkout")
    sim.run_for("10s")
    return sim


def coordinator_of(sim: Simulation) -> int:
    broker = sim.stage.coordinator_of("checkout")
    assert broker is not None
    return broker.id


def last_acknowledged(sim: Simulation) -> int | None:
    return [row for row in sim.events if row.kind == "commit_acknowledged"][-1].offset


def last_in_the_log(sim: Simulation) -> int:
    log = sim.stage.logs[sim.stage.shard_of("checkout")]
    return [
        each.value.committed_offset
        for each in log.records()
        if isinstance(each, OffsetRecord) and each.value is not None
    ][-1]


def test_a_write_under_way_does_not_outlive_a_move_there_and_back():
    sim = a_group_that_commits("ada")
    first = coordinator_of(sim)
    sim.slow_append("checkout", by="30s")
    sim.run_for("700ms")
    sim.heal_append("checkout")
    sim.move_coordinator("checkout", first % 3 + 1)
    sim.run_for("10s")
    sim.crash("ada")

    sim.run_for("1s")
    sim.move_coordinator("checkout", first)
    sim.run_for("30s")

    assert last_in_the_log(sim) == last_acknowledged(sim)


def test_a_coordinator_that_comes_back_does_not_wait_for_the_writes_it_gave_up():
    sim = a_group_that_commits("ada")
    first = coordinator_of(sim)
    sim.slow_append("checkout", by="30s")
    sim.run_for("700ms")
    sim.heal_append("checkout")
    sim.move_coordinator("checkout", first % 3 + 1)
    sim.run_for("5s")
    sim.move_coordinator("checkout", first)

    back_ms = sim.now_ms
    sim.run_for("5s")

    acknowledged = [row for row in sim.events if row.kind == "commit_acknowledged"]
    assert acknowledged[-1].at_ms > back_ms + 2_000


def test_a_write_behind_one_that_fails_is_not_kept_by_the_log():
    sim = a_group_that_commits("ada", "bea")
    sim.slow_append("checkout", by="3s")
    sim.run_for("2s")
    sim.fail_append("checkout")
    sim.run_until(lambda: any(row.kind == "write_failed" for row in sim.events))
    sim.heal_append("checkout")

    healed_ms = sim.now_ms
    sim.run_for("10s")

    written = [row for row in sim.events if row.kind == "write_committed" and row.at_ms > healed_ms]
    asked_for_ms = [sim.events[row.cause - 1].at_ms for row in written if row.cause is not None]
    assert min(asked_for_ms) >= healed_ms
