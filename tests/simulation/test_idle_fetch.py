"""A fetch that is not played still ends where a real one would: when the consumer wants another."""

from __future__ import annotations

import pytest

from client import TopicPartition
from client.calls import AsyncConsumer
from simulation.events import Row
from simulation.idle_fetch import IdleFetches
from simulation.world import Simulation

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
BY_HAND = {"enable.auto.commit": "false", "auto.offset.reset": "earliest"}


def processed(sim: Simulation) -> list[Row]:
    return [row for row in sim.events if row.kind == "records_processed"]


async def reads(consumer: AsyncConsumer, for_ms: int) -> None:
    until_ms = consumer.clock.now_ms + for_ms
    while consumer.clock.now_ms < until_ms:
        await consumer.poll(timeout_ms=100)


def test_a_consumer_that_seeks_while_nothing_is_written_reads_from_there():
    sim = Simulation(seed=3)
    sim.topic("orders")
    sim.append("orders", 20)

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        await reads(consumer, 10_000)
        consumer.seek(FIRST, 5)
        await reads(consumer, 10_000)

    sim.consumers("checkout", "ada", app=app, settings=BY_HAND)
    sim.run_for("20s")

    assert [(row.offset, row.end_offset) for row in processed(sim)] == [(0, 20), (5, 20)]


def test_a_partition_that_is_resumed_while_nothing_is_written_is_read():
    sim = Simulation(seed=3, brokers=1)
    sim.topic("orders", partitions=2)

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        await reads(consumer, 10_000)
        consumer.pause([SECOND])
        sim.append("orders", 1, partition=0)  # so that another fetch goes out, without the second
        await reads(consumer, 5_000)
        sim.append("orders", 20, partition=1)
        await reads(consumer, 5_000)
        consumer.resume([SECOND])
        await reads(consumer, 2_000)

    sim.consumers("checkout", "ada", app=app, settings=BY_HAND)
    sim.run_for("30s")

    assert [(row.partition, row.end_offset) for row in processed(sim)] == [(0, 1), (1, 20)]


def test_a_partition_that_is_paused_is_soon_not_fetched_any_more():
    sim = Simulation(seed=3, brokers=1)
    sim.topic("orders", partitions=2)

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        await reads(consumer, 10_000)
        consumer.pause([SECOND])
        await reads(consumer, 5_000)
        sim.append("orders", 20, partition=1)
        await reads(consumer, 5_000)
        sim.truncate("orders", 1, before=15)
        consumer.resume([SECOND])
        await reads(consumer, 2_000)

    sim.consumers("checkout", "ada", app=app, settings=BY_HAND)
    sim.run_for("30s")

    assert [(row.offset, row.end_offset) for row in processed(sim)] == [(15, 20)]


def test_a_partition_whose_leader_moves_to_a_broker_with_an_idle_fetch_is_read_from_there():
    sim = Simulation(seed=3)
    sim.topic("orders", partitions=3)
    sim.consumers("checkout", "ada", topics=["orders"], settings=BY_HAND)
    sim.run_until_stable("checkout")
    sim.run_for("10s")

    sim.crash_broker(1)
    sim.run_for("10s")
    sim.append("orders", 20, partition=0)
    sim.run_for("2s")

    assert [(row.partition, row.end_offset) for row in processed(sim)] == [(0, 20)]


def rows_of_slow_records(settings: dict[str, str]) -> list[Row]:
    """All that happens where records come between rounds, and the link is not always good."""
    sim = Simulation(seed=11, brokers=2)
    sim.topic("orders", partitions=4, records_per_s=5)
    sim.consumers("checkout", "ada", "bea", topics=["orders"], settings=settings)
    for number in range(1, 9):
        sim.run_for("3s")
        repair = sim.partition("ada", 1 + number % 2, one_way="to_client" if number % 3 else None)
        sim.run_for(f"{number * 107}ms")
        repair()
        sim.produce("orders", records_per_s=number * 3 % 8)
        to_normal = sim.slow("bea", by=f"{number * 20}ms")
        sim.run_for("1s")
        to_normal()
    return list(sim.events)


@pytest.mark.parametrize("timeout_ms", [30_000, 1_000, 420, 250, 100])
@pytest.mark.parametrize("wait_ms", [500, 2_000])
def test_a_fetch_times_out_as_if_nobody_knew_that_it_will_be_answered(
    timeout_ms, wait_ms, monkeypatch
):
    settings = {"request.timeout.ms": str(timeout_ms), "fetch.max.wait.ms": str(wait_ms)}
    rows = rows_of_slow_records(settings)

    monkeypatch.setattr(IdleFetches, "_is_in_time", lambda *_: False)

    assert rows_of_slow_records(settings) == rows
