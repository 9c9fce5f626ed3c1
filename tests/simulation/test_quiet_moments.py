"""Quiet time is exact to the turn, where several things happen in one millisecond."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from client.calls import AsyncConsumer
from simulation.chance import Law, fixed
from simulation.partings import first_difference
from simulation.stage import Quiet
from simulation.world import Simulation


# A look at metadata comes to the broker behind a fetch at 30,082 ms; it is answered at 30,094 ms.
@pytest.mark.parametrize("at_ms", range(30_080, 30_096))
def test_both_ways_agree_when_records_come_as_the_broker_turns_to_a_look_at_metadata(at_ms):
    def play(quiet: Quiet) -> Simulation:
        sim = Simulation(seed=1, quiet=quiet, latency=fixed(2), brokers=1)
        sim.topic("orders")
        settings = {"metadata.max.age.ms": 5_000, "fetch.max.wait.ms": 20}
        sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
        sim.at(at_ms, lambda: sim.append("orders", 1))
        sim.run_for("35s")
        return sim

    assert first_difference(play("skip").events, play("play").events) is None


async def fails_on_records(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    async for _ in consumer.batches(500):
        raise ZeroDivisionError


# Ada hears of the records in the millisecond in which bea's heartbeat leaves, or its answer comes.
@pytest.mark.parametrize("at_ms", [30_025, 30_035])
@pytest.mark.parametrize(
    "touch",
    [lambda sim: sim.crash("bea"), lambda sim: sim.stop("bea"), lambda sim: sim.events],
    ids=["crash", "stop", "ask"],
)
def test_both_ways_agree_when_a_failure_ends_a_lull_amid_a_millisecond(
    at_ms: int, touch: Callable[[Simulation], object]
):
    def play(quiet: Quiet) -> Simulation:
        sim = Simulation(seed=1, quiet=quiet, latency=fixed(5), brokers=1)
        sim.topic("orders")
        sim.topic("refunds")
        sim.consumer("ada", group="audit", app=fails_on_records)
        settings = {"heartbeat.interval.ms": 1_000}
        sim.consumers("checkout", "bea", topics=["refunds"], settings=settings)
        sim.at(at_ms, lambda: sim.append("orders", 1))
        with pytest.raises(ZeroDivisionError):
            sim.run_for("1m")
        touch(sim)
        sim.run_for("20s")
        return sim

    assert first_difference(play("skip").events, play("play").events) is None


def ask_amid_a_turn(sim: Simulation) -> None:
    sim.after(0, lambda: len(sim.events))


def ask_between_two_runs(sim: Simulation) -> None:
    assert sim.events


# The last heartbeat has been handled, but its answer is still on its way.
@pytest.mark.parametrize("ask", [ask_amid_a_turn, ask_between_two_runs])
def test_both_ways_say_what_set_a_session_though_somebody_asked_since(ask):
    def play(quiet: Quiet) -> Simulation:
        sim = Simulation(seed=1, quiet=quiet, latency=Law((1, 1, 1, 200)), brokers=1)
        sim.topic("orders")
        settings = {"enable.auto.commit": False, "session.timeout.ms": 10_000}
        sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
        sim.run_for(30_200)
        ask(sim)
        sim.run_for(1)
        sim.crash("ada")
        sim.run_for("20s")
        return sim

    assert first_difference(play("skip").events, play("play").events) is None
