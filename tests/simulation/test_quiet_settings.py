"""Quiet time is free and exact whatever the settings are, and whichever link is slow."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from client.calls import AsyncConsumer
from client.listeners import Partitions, RebalanceListener
from simulation.chance import Law, fixed
from simulation.partings import first_difference
from simulation.recorder import NoSink
from simulation.stage import Quiet
from simulation.world import Simulation

Script = Callable[[Simulation], None]


def differ(script: Script, seed: int = 0) -> object:
    """Where a script gives other rows when quiet time is played; None if nowhere."""
    skipped, played = Simulation(seed=seed), Simulation(seed=seed, quiet="play")
    for sim in (skipped, played):
        script(sim)
        sim.end()
    return first_difference(skipped.events, played.events)


def a_group(sim: Simulation, *members: str, **settings: object) -> None:
    sim.topic("orders", partitions=3)
    sim.consumers("checkout", *members, topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.run_for("20s")


def turns_of_a_quiet_hour(seed: int, **settings: object) -> int:
    sim = Simulation(seed=seed, sink=NoSink())
    a_group(sim, "ada", "bea", **settings)
    before = sim.stage.kernel.turns
    sim.run_for("1h")
    return sim.stage.kernel.turns - before


def slow_all_but_the_coordinator(sim: Simulation, by: str) -> None:
    coordinator = sim.stage.coordinator_of("checkout")
    assert coordinator is not None
    for broker in (1, 2, 3):
        if broker != coordinator.id:
            sim.slow("ada", broker, by=by)


@pytest.mark.parametrize("by", ["2400ms", "2600ms", "4s"])
def test_both_ways_agree_when_metadata_comes_over_a_slow_link(by):
    def script(sim: Simulation) -> None:
        a_group(sim, "ada", request_timeout_ms=5_000, metadata_max_age_ms=5_000)
        slow_all_but_the_coordinator(sim, by)
        sim.run_for("5m")

    assert differ(script) is None


@pytest.mark.parametrize("interval_ms", [1_000, 3_000, 5_000])
def test_a_quiet_hour_is_free_where_beats_and_commits_fall_together(interval_ms):
    turns = [
        turns_of_a_quiet_hour(
            seed, heartbeat_interval_ms=interval_ms, auto_commit_interval_ms=interval_ms
        )
        for seed in range(6)
    ]

    assert max(turns) < 350


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_agree_where_beats_and_commits_fall_together(seed):
    def script(sim: Simulation) -> None:
        a_group(sim, "ada", "bea", heartbeat_interval_ms=3_000, auto_commit_interval_ms=3_000)
        for later_ms in range(0, 3_000, 131):
            sim.run_for(60_000 + later_ms)
            sim.append("orders", 1, partition=later_ms % 3)
        sim.crash("ada")
        sim.run_for("2m")

    assert differ(script, seed) is None


#: Beats further apart than the longest wait of a consumer for the network.
FAR_APART: list[dict[str, object]] = [
    {"heartbeat_interval_ms": 6_000},
    {"heartbeat_interval_ms": 13_000, "enable_auto_commit": False},
    {"heartbeat_interval_ms": 15_000, "auto_commit_interval_ms": 15_000},
    {"heartbeat_interval_ms": 10_000, "auto_commit_interval_ms": 60_000},
    {"heartbeat_interval_ms": 10_000, "max_poll_interval_ms": 4_000},
    {"max_poll_interval_ms": 2_500, "enable_auto_commit": False},
]


@pytest.mark.parametrize("settings", FAR_APART[:4], ids=str)
def test_a_quiet_hour_is_free_where_beats_are_far_apart(settings):
    assert turns_of_a_quiet_hour(1, **settings) < 350


@pytest.mark.parametrize("settings", FAR_APART, ids=str)
def test_both_ways_agree_where_beats_are_far_apart(settings):
    def script(sim: Simulation) -> None:
        a_group(sim, "ada", "bea", **settings)
        for later_ms in range(0, 15_000, 1_931):
            sim.run_for(40_000 + later_ms)
            sim.append("orders", 1, partition=later_ms % 3)
        sim.slow("bea", by="2600ms")
        sim.run_for("100s")
        sim.crash("ada")
        sim.run_for("2m")

    assert differ(script) is None


@pytest.mark.parametrize("quiet", ["skip", "play"])
def test_who_polls_in_time_stays_though_heartbeats_are_further_apart(quiet):
    sim = Simulation(seed=1, quiet=quiet)
    a_group(sim, "ada", "bea", max_poll_interval_ms=2_500, enable_auto_commit=False)
    sim.end()

    assert not [row for row in sim.events if row.request == "LeaveGroup"]


def a_slow_listener(for_ms: int) -> Callable[[AsyncConsumer], Coroutine[Any, Any, None]]:
    class Slow(RebalanceListener):
        def __init__(self, consumer: AsyncConsumer) -> None:
            self.consumer = consumer

        async def on_partitions_assigned(self, partitions: Partitions) -> None:
            if not partitions:
                await self.consumer.sleep(for_ms)

    async def application(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"], Slow(consumer))
        async for _ in consumer.batches(500):
            pass

    return application


@pytest.mark.parametrize("for_ms", range(1_494, 1_502))
def test_both_ways_agree_when_an_application_comes_back_as_a_heartbeat_is_due(for_ms):
    def script(sim: Simulation) -> None:
        sim.topic("orders", partitions=1)
        settings = {"heartbeat_interval_ms": 300, "partition.assignment.strategy": "range"}
        for name in ("ada", "bea"):
            sim.consumer(name, group="checkout", app=a_slow_listener(for_ms), settings=settings)
        sim.run_for("20s")
        sim.crash("ada")
        sim.run_for("1m")

    assert differ(script) is None


@pytest.mark.parametrize("until_ms", [60_000, 61_234])
def test_both_ways_stop_at_the_same_time_when_a_time_is_waited_for(until_ms):
    def script(sim: Simulation) -> None:
        a_group(sim, "ada", "bea")
        sim.run_until(lambda: sim.now_ms >= until_ms)
        sim.append("orders", 1)
        sim.run_for("1m")

    assert differ(script) is None


def test_both_ways_stop_at_the_same_time_when_heartbeats_are_waited_for():
    def has_beaten_often(sim: Simulation) -> bool:
        beats = [row.count or 0 for row in sim.events if row.kind == "heartbeats_answered"]
        return sum(beats) > 60

    def script(sim: Simulation) -> None:
        a_group(sim, "ada", "bea")
        sim.run_until(lambda: has_beaten_often(sim))
        sim.append("orders", 1)
        sim.run_for("1m")

    assert differ(script) is None


@pytest.mark.parametrize("interval_ms", [5_000, 60_000])
def test_both_ways_agree_when_a_static_member_replaces_itself_without_a_rebalance(interval_ms):
    def script(sim: Simulation) -> None:
        settings = {"max.poll.interval.ms": 15_000, "auto.commit.interval.ms": interval_ms}
        sim.topic("orders", partitions=2)
        sim.consumer("ada", group="checkout", topics=["orders"], static=True, settings=settings)
        sim.run_for("150s")
        sim.pause("ada")
        sim.run_for("20s")
        sim.resume("ada")
        sim.run_for("2m")

    assert differ(script) is None


@pytest.mark.parametrize(("age_ms", "backoff_ms"), [(100, 100), (500, 1_000), (1_000, 900)])
def test_both_ways_agree_when_looks_at_metadata_are_held_apart_by_the_back_off(age_ms, backoff_ms):
    def script(sim: Simulation) -> None:
        settings = {"metadata.max.age.ms": age_ms, "retry.backoff.ms": backoff_ms}
        sim.topic("orders")
        sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
        sim.run_for("30500ms")
        sim.add_partitions("orders", 2)
        sim.run_for("10s")

    assert differ(script) is None


def test_both_ways_agree_when_a_lull_ends_as_an_answer_comes_home():
    def play(quiet: Quiet) -> Simulation:
        sim = Simulation(seed=1, quiet=quiet, latency=fixed(50), brokers=1)
        sim.topic("orders")
        settings = {"metadata.max.age.ms": 10_300, "heartbeat.interval.ms": 1_000}
        sim.consumers("checkout", "ada", "bea", topics=["orders"], settings=settings)
        zed = sim.raw_member("zed", "other")
        for at_ms in range(9_900, 11_000, 50):
            sim.at(at_ms, zed.heartbeat)
        sim.run_for("12s")
        return sim

    assert first_difference(play("skip").events, play("play").events) is None


def test_nobody_falls_into_a_lull_while_a_write_is_under_way_though_its_log_is_fast_again():
    def play(quiet: Quiet) -> Simulation:
        sim = Simulation(seed=1, quiet=quiet)
        sim.topic("orders")
        settings = {"auto.commit.interval.ms": 1_700}
        sim.consumers("checkout", "ada", "bea", "cat", topics=["orders"], settings=settings)
        sim.run_for("30s")
        sim.slow_append("checkout", by="900ms")
        sim.run_for("8600ms")
        sim.heal_append("checkout")
        # Ada's commit is under way; the others' heartbeats come and wait for it.
        sim.run_for("500ms")
        assert sim.events  # to ask is to close what counts them
        sim.run_for("10s")
        return sim

    assert first_difference(play("skip").events, play("play").events) is None


def test_both_ways_agree_where_a_look_at_metadata_may_take_longer_than_the_client_is_patient():
    def script(sim: Simulation) -> None:
        trigger = {"metadata_recovery_rebootstrap_trigger_ms": 100}  # It waits behind a fetch.
        a_group(sim, "ada", metadata_max_age_ms=5_100, **trigger)
        sim.run_for("2m")

    assert differ(script) is None


def test_both_ways_agree_where_a_session_may_end_before_the_next_heartbeat():
    rare_tail = Law((1,) * 30 + (3_500,))

    def play(quiet: Quiet) -> Simulation:
        sim = Simulation(quiet=quiet, brokers=1, latency=rare_tail)
        a_group(sim, "ada", heartbeat_interval_ms=4_000, session_timeout_ms=6_000)
        sim.run_for("10m")
        return sim

    assert first_difference(play("skip").events, play("play").events) is None
