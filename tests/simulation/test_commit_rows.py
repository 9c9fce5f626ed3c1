"""What is recorded of commits that fail, and of where a consumer begins to read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from client import OffsetAndMetadata, TopicPartition
from client.applications import CommitMode, PollLoop
from client.calls import AsyncConsumer
from client.errors import KafkaException
from client.listeners import RebalanceListener
from simulation.checkers import check
from simulation.events import Row
from simulation.measures import Member, measure
from simulation.world import Simulation

ORDERS = TopicPartition("orders", 0)
BY_HAND = {"enable.auto.commit": "false", "auto.offset.reset": "earliest"}


def of_kind(sim: Simulation, *kinds: str) -> list[Row]:
    return [row for row in sim.events if row.kind in kinds]


def failures(sim: Simulation) -> list[tuple[str | None, int | None, str | None]]:
    return [(row.topic, row.offset, row.error) for row in of_kind(sim, "commit_failed")]


def a_world_with(
    does: Callable[[Simulation, AsyncConsumer], Awaitable[None]], **settings: str
) -> Simulation:
    """Ada has got the only partition of orders, does this, and stays."""
    sim = Simulation(seed=3, app_errors="record")
    sim.topic("orders")
    sim.append("orders", 20)

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            await consumer.poll(timeout_ms=100)
        await does(sim, consumer)
        while True:
            await consumer.poll(timeout_ms=100)

    sim.consumers("checkout", "ada", app=app, settings=BY_HAND | settings)
    sim.run_for("20s")
    return sim


async def commits(consumer: AsyncConsumer, offset: int, timeout_ms: int = 5_000) -> None:
    """Commit and take what comes of it."""
    with suppress(KafkaException):
        await consumer.commit_sync({ORDERS: OffsetAndMetadata(offset=offset)}, timeout_ms)


def test_a_commit_of_which_one_topic_is_refused_is_acknowledged_for_the_others():
    sim = Simulation(seed=3, brokers=1)
    for topic in ("orders", "payments"):
        sim.topic(topic, records_per_s=5)
    loop = PollLoop(topics=("orders", "payments"), commit=CommitMode.ASYNC)
    sim.consumers("checkout", "ada", app=loop, settings=BY_HAND)
    sim.run_until_stable("checkout")
    sim.run_for("5s")
    sim.delete_topic("payments")
    deleted_ms = sim.now_ms

    sim.run_for("100ms")

    answered = of_kind(sim, "commit_failed", "commit_acknowledged")
    assert {(row.topic, row.error) for row in answered if row.at_ms > deleted_ms} == {
        ("orders", None),
        ("payments", "UNKNOWN_TOPIC_OR_PARTITION"),
    }


def test_a_commit_outside_a_generation_fails_without_a_request():
    async def does(sim: Simulation, consumer: AsyncConsumer) -> None:
        sim.consumers("checkout", "bea", topics=["orders"])
        while consumer.assignment():
            await consumer.poll(timeout_ms=1)  # until it has given its partition up to join again
        await commits(consumer, 7)

    sim = a_world_with(does)

    assert failures(sim) == [("orders", 7, "RebalanceInProgressException")]
    assert "OffsetCommit" not in {row.request for row in of_kind(sim, "request_sent")}


def test_a_commit_whose_connection_is_lost_fails():
    async def does(sim: Simulation, consumer: AsyncConsumer) -> None:
        await consumer.commit_async({ORDERS: OffsetAndMetadata(offset=7)})
        sim.reset_connections("ada", acted=True)

    sim = a_world_with(does)

    assert failures(sim) == [("orders", 7, "DisconnectException")]


def test_a_commit_that_is_not_answered_in_time_fails():
    async def does(sim: Simulation, consumer: AsyncConsumer) -> None:
        sim.hold("ada", request="OffsetCommit")
        await commits(consumer, 7, timeout_ms=2_000)

    sim = a_world_with(does)

    assert failures(sim) == [("orders", 7, "TimeoutException")]


def test_a_commit_that_no_coordinator_can_take_fails():
    async def does(sim: Simulation, consumer: AsyncConsumer) -> None:
        for broker in (1, 2, 3):
            sim.crash_broker(broker)
        await consumer.poll(timeout_ms=1_000)
        await commits(consumer, 7, timeout_ms=2_000)

    sim = a_world_with(does)

    assert failures(sim)[0] == ("orders", 7, "TimeoutException")


def test_commits_that_repeat_what_is_committed_are_told_when_they_are_refused():
    sim = Simulation(seed=3)
    sim.topic("orders")
    settings = {"auto.commit.interval.ms": "1000"}
    sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.run_for("10s")

    sim.fail_append("checkout")
    sim.run_for("2s")

    assert failures(sim)[0] == ("orders", 0, "COORDINATOR_NOT_AVAILABLE")


def test_commits_that_the_log_or_a_former_coordinator_turns_away_count_as_refused():
    sim = Simulation(seed=3)
    sim.topic("orders", records_per_s=10)
    settings = {"auto.commit.interval.ms": "1000"}
    sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.run_for("5s")
    coordinator = sim.stage.coordinator_of("checkout")
    assert coordinator is not None

    sim.fail_append("checkout")
    sim.run_for("2s")
    sim.heal_append("checkout")
    sim.run_for("5s")
    sim.move_coordinator("checkout", 1 + coordinator.id % 3)
    sim.run_for("10s")

    refused = measure(sim.events).commits_refused[Member("checkout", "ada")]
    assert set(refused) == {"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}


@pytest.mark.parametrize(
    ("seek", "offset"),
    [
        (lambda consumer: consumer.seek(ORDERS, 5), 5),
        (lambda consumer: consumer.seek_to_end(), 20),
        (lambda consumer: consumer.seek_to_beginning(), 0),
    ],
    ids=["to an offset", "to the end", "to the beginning"],
)
def test_a_first_position_that_the_application_chose_is_a_seek(seek, offset):
    sim = Simulation(seed=3)
    sim.topic("orders")
    sim.append("orders", 20)

    class Seeker(RebalanceListener):
        def __init__(self, consumer: AsyncConsumer) -> None:
            self.consumer = consumer

        def on_partitions_assigned(self, _partitions: object) -> None:
            seek(self.consumer)

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"], listener=Seeker(consumer))
        while True:
            await consumer.poll(timeout_ms=100)

    sim.consumers("checkout", "ada", app=app, settings=BY_HAND)
    sim.run_for("20s")

    assert [(row.offset, row.detail) for row in of_kind(sim, "position_set")] == [(offset, "seek")]


def test_a_later_position_that_the_application_chose_is_a_seek():
    async def does(_: Simulation, consumer: AsyncConsumer) -> None:
        await consumer.poll(timeout_ms=1_000)
        consumer.seek(ORDERS, 5)

    sim = a_world_with(does)

    positions = [(row.offset, row.detail) for row in of_kind(sim, "position_set")]
    assert positions == [(0, "reset (no committed offset)"), (5, "seek")]


def test_a_seek_is_told_before_a_commit_of_where_it_went():
    async def does(_: Simulation, consumer: AsyncConsumer) -> None:
        await consumer.poll(timeout_ms=1_000)
        await consumer.commit_sync()
        consumer.seek(ORDERS, 5)
        await consumer.commit_sync()

    sim = a_world_with(does)

    told = [(row.kind, row.offset) for row in of_kind(sim, "position_set", "offset_committed")]
    assert told[1:] == [("offset_committed", 20), ("position_set", 5), ("offset_committed", 5)]
    assert check(sim.events) == ()


def test_a_seek_to_where_the_next_records_are_waits_for_no_other_position():
    async def does(_: Simulation, consumer: AsyncConsumer) -> None:
        consumer.seek(ORDERS, await consumer.position(ORDERS))
        await consumer.poll(timeout_ms=1_000)

    sim = a_world_with(does, **{"max.poll.records": "10"})

    positions = [(row.offset, row.detail) for row in of_kind(sim, "position_set")]
    assert positions == [(0, "reset (no committed offset)"), (10, "seek")]


def test_an_offset_that_is_not_the_position_is_told_as_given_by_hand():
    async def does(_: Simulation, consumer: AsyncConsumer) -> None:
        await consumer.poll(timeout_ms=1_000)
        for offset in (20, 7):
            await consumer.commit_sync({ORDERS: OffsetAndMetadata(offset=offset)})

    sim = a_world_with(does)

    assert [row.offset for row in of_kind(sim, "offset_committed")] == [20, 7]
    assert [row.offset for row in of_kind(sim, "offset_given")] == [7]
    assert check(sim.events) == ()


def test_a_position_beyond_the_log_is_reset_after_the_seek():
    async def does(_: Simulation, consumer: AsyncConsumer) -> None:
        consumer.seek(ORDERS, 500)

    sim = a_world_with(does)

    positions = [(row.offset, row.detail) for row in of_kind(sim, "position_set")]
    assert positions == [(0, "reset (no committed offset)"), (500, "seek"), (0, "reset")]


def test_an_application_that_ends_by_mistake_is_told_with_its_words():
    async def does(_: Simulation, consumer: AsyncConsumer) -> None:
        await consumer.commit_sync({ORDERS: 7})  # type: ignore[dict-item]

    sim = a_world_with(does)

    (stopped,) = of_kind(sim, "consumer_stopped")
    assert stopped.error is not None
    assert stopped.detail


def test_a_position_that_is_committed_before_anything_is_fetched_from_it_has_its_row_first():
    sim = Simulation(seed=100_333)
    sim.topic("orders", records_per_s=1)
    quick = {"auto.commit.interval.ms": 1_000}
    sim.consumers("audit", "ada", topics=["orders"], settings=quick, start=False)
    sim.at(9_565, lambda: sim.add_partitions("orders", 5))
    sim.at(10_843, lambda: sim.start("ada"))
    sim.at(16_626, lambda: sim.delete_topic("orders"))
    sim.at(21_777, lambda: sim.topic("orders", partitions=7))

    sim.run_for("40s")

    assert check(sim.events) == ()
