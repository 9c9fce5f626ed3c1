"""An application that should not have ended as it did is heard of where time passes."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Generator

import pytest

from client.assignors import FunctionAssignor, GroupAssignment
from client.calls import AsyncConsumer
from client.errors import FencedInstanceIdException, KafkaException
from client.listeners import Partitions, RebalanceListener
from client.threads import StuckThread
from simulation.errors import SimulationError
from simulation.world import AppErrors, Simulation


def a_world(app_errors: AppErrors = "raise") -> Simulation:
    sim = Simulation(seed=1, app_errors=app_errors)
    sim.topic("orders", partitions=2)
    return sim


async def expects_too_much(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    for _ in range(20):
        await consumer.poll(500)
    assert len(consumer.assignment()) == 3, "three partitions"


def test_a_failing_assert_of_an_application_fails_the_run():
    sim = a_world()
    sim.consumer("ada", group="checkout", app=expects_too_much)

    with pytest.raises(AssertionError, match="three partitions") as failed:
        sim.run_for("1m")

    told = "".join(traceback.format_exception(failed.value))
    assert "assert len(consumer.assignment()) == 3" in told
    assert "raised in the application of ada\nseed 1, at 10000 ms" in told


async def calls_asyncio(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    await asyncio.to_thread(print)


def test_an_application_that_calls_asyncio_is_told_what_to_await_instead():
    sim = a_world()
    sim.consumer("ada", group="checkout", app=calls_asyncio)

    with pytest.raises(RuntimeError, match="no running event loop") as failed:
        sim.run_for("1m")

    assert "consumer.sleep(1_000) for a second" in failed.value.__notes__[0]


def test_a_run_goes_on_after_it_was_told_of_an_application_that_failed():
    sim = a_world()
    sim.consumer("ada", group="checkout", app=expects_too_much)
    with pytest.raises(AssertionError):
        sim.run_for("1m")

    sim.run_for("1m")

    assert sim.now_ms == 70_000
    assert isinstance(sim.stage.host("ada").failure, AssertionError)


def test_what_an_application_raises_before_it_waits_is_told_when_time_passes():
    async def never_begins(_consumer: AsyncConsumer) -> None:
        raise KeyError("at once")

    sim = a_world()
    sim.consumer("ada", group="checkout", app=never_begins)

    with pytest.raises(KeyError, match="at once"):
        sim.run_for("1s")


def test_an_application_that_is_not_async_is_told_when_time_passes():
    sim = a_world()
    sim.consumer("ada", group="checkout", app=repr)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="app must be an async function, not <built-in function"):
        sim.run_for("1s")


def test_what_an_application_raises_as_it_stops_is_told_at_the_latest_when_the_run_ends():
    async def leaves_in_anger(consumer: AsyncConsumer) -> None:
        try:
            await expects_too_much(consumer)
        finally:
            assert not consumer.assignment()

    sim = a_world()
    sim.consumer("ada", group="checkout", app=leaves_in_anger)
    sim.run_until_stable("checkout")
    sim.stop("ada")

    with pytest.raises(AssertionError):
        sim.end()
    assert sim.events[-1].kind == "run_ended"


class _Fails(RebalanceListener):
    async def on_partitions_assigned(self, partitions: Partitions) -> None:
        assert len(partitions) == 3


def test_a_failing_assert_of_a_listener_fails_the_run():
    async def listens(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"], _Fails())
        await consumer.poll(60_000)

    sim = a_world()
    sim.consumer("ada", group="checkout", app=listens)

    with pytest.raises(KafkaException) as failed:
        sim.run_for("1m")
    assert isinstance(failed.value.__cause__, AssertionError)


def refuses(_cluster: object, _group: object) -> GroupAssignment:
    raise KeyError("no plan")


def test_what_an_assignor_raises_fails_the_run_though_the_loop_is_ready_made():
    sim = a_world()
    settings = {
        "partition_assignment_strategy": [FunctionAssignor(name="refusing", function=refuses)]
    }
    sim.consumer("ada", group="checkout", topics=["orders"], settings=settings)

    with pytest.raises(KeyError, match="no plan"):
        sim.run_for("1m")


def a_pair_with_one_instance_id(sim: Simulation, **options: object) -> None:
    for name in ("ada", "bea"):
        settings = {"group.instance.id": "one"}
        sim.consumer(name, group="checkout", settings=settings, **options)  # type: ignore[arg-type]
        sim.run_for("10s")


def test_a_ready_made_loop_that_kafka_ends_is_part_of_the_story():
    sim = a_world()

    a_pair_with_one_instance_id(sim, topics=["orders"])

    (stopped,) = [row for row in sim.events if row.kind == "consumer_stopped"]
    assert stopped.error == "FencedInstanceIdException"


def test_an_application_that_does_not_expect_what_kafka_raises_fails_the_run():
    async def reads(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        while True:
            await consumer.poll(500)

    with pytest.raises(FencedInstanceIdException):
        a_pair_with_one_instance_id(a_world(), app=reads)


def test_on_request_only_a_row_tells_of_an_application_that_failed():
    sim = a_world("record")
    sim.consumer("ada", group="checkout", app=expects_too_much)

    sim.run_for("1m")

    (stopped,) = [row for row in sim.events if row.kind == "consumer_stopped"]
    assert (stopped.error, stopped.detail) == ("AssertionError", "three partitions")


class _SomethingElse:
    """What a library of its own event loop would have one await."""

    def __await__(self) -> Generator[str, None, None]:
        yield "its future"


async def waits_for_something_else(_consumer: AsyncConsumer) -> None:
    await _SomethingElse()


async def sleeps_half_a_second(consumer: AsyncConsumer) -> None:
    await consumer.sleep(0.5)  # type: ignore[arg-type]


async def polls_for_half_a_second(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    await consumer.poll(0.5)  # type: ignore[arg-type]


async def never_lets_time_pass(consumer: AsyncConsumer) -> None:
    while True:
        await consumer.sleep(0)


@pytest.mark.parametrize(
    ("app", "words"),
    [
        (waits_for_something_else, "can await calls of its consumer only, .*, not 'its future'"),
        (sleeps_half_a_second, "a time must be a whole number of milliseconds, not 0.5"),
        (polls_for_half_a_second, "a time must be a whole number of milliseconds, not 0.5"),
        (never_lets_time_pass, "gone round 20000 times at 0 ms; let time pass in it"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_an_application_that_misunderstands_time_is_told_what_to_do(app, words):
    sim = a_world()
    sim.consumer("ada", group="checkout", app=app)

    with pytest.raises((TypeError, StuckThread), match=words) as failed:
        sim.run_for("1m")
    assert "raised in the application of ada" in failed.value.__notes__


VERBS: dict[str, Callable[[Simulation], object]] = {
    "crash": lambda sim: sim.crash("ada"),
    "pause": lambda sim: sim.pause("ada"),
    "stop": lambda sim: sim.stop("ada"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_application_cannot_end_its_own_consumer_from_within(verb):
    sim = a_world()

    async def ends_itself(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        await consumer.poll(500)
        VERBS[verb](sim)

    sim.consumer("ada", group="checkout", app=ends_itself)
    with pytest.raises(SimulationError, match=r"ada cannot be .* within its own application"):
        sim.run_for("1m")


def test_an_application_may_let_its_consumer_die_a_little_later():
    sim = a_world()

    async def ends_itself(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        await consumer.poll(500)
        sim.after(0, lambda: sim.crash("ada"))
        await consumer.poll(500)

    sim.consumer("ada", group="checkout", app=ends_itself)
    sim.run_for("1m")

    (crashed,) = [row for row in sim.events if row.kind == "consumer_crashed"]
    assert crashed.at_ms == 500
