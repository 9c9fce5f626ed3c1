"""Faults at a rate: how often they happen, to whom, and that each rate has dice of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simulation.events import Row
from simulation.world import Simulation


def of_kind(sim: Simulation, *kinds: str) -> list[Row]:
    return [row for row in sim.events if row.kind in kinds]


def a_world_of_pauses(seed: int, *targets: str) -> Simulation:
    """An hour in which somebody stands still for a second, once in ten on average."""
    sim = Simulation(seed=seed)
    sim.topic("orders", partitions=4)
    sim.consumers("checkout", *targets, topics=["orders"])
    sim.faults_at_a_rate("pause", targets, every="9s", lasts="1s", until="1h")
    sim.run_for("61m")
    return sim


def pauses(sim: Simulation) -> list[tuple[int, str | None]]:
    return [(row.at_ms, row.client) for row in of_kind(sim, "consumer_paused")]


def test_faults_at_a_rate_happen_so_often_on_average():
    assert 300 < len(pauses(a_world_of_pauses(1, "ada"))) < 420


def test_faults_at_a_rate_hit_all_of_their_targets():
    hit = [client for _, client in pauses(a_world_of_pauses(1, "ada", "bea"))]

    assert min(hit.count("ada"), hit.count("bea")) > len(hit) // 3


def test_faults_at_a_rate_are_healed_each_after_its_time():
    sim = a_world_of_pauses(1, "ada")

    healed = [(row.at_ms - 1_000, row.client) for row in of_kind(sim, "consumer_resumed")]
    assert healed == pauses(sim)


def test_faults_at_a_rate_are_the_seeds():
    first, again, other = (pauses(a_world_of_pauses(seed, "ada")) for seed in (1, 1, 2))

    assert first == again != other


def test_faults_at_a_rate_begin_no_later_than_they_may():
    sim = a_world_of_pauses(1, "ada")

    assert max(at_ms for at_ms, _ in pauses(sim)) < 3_600_000


def test_two_rates_are_drawn_apart():
    sim = Simulation(seed=1)
    sim.topic("orders")
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    for client in ("ada", "bea"):
        sim.faults_at_a_rate("pause", [client], every="9s", lasts="1s", until="10m")
    sim.run_for("10m")

    times = {client: [at for at, who in pauses(sim) if who == client] for client in ("ada", "bea")}
    assert times["ada"] != times["bea"]


def a_world_of_rates(*rates: dict[str, Any]) -> Simulation:
    """Ten minutes in which ada and bea are slowed now and then, at each of these rates."""
    sim = Simulation(seed=1)
    sim.topic("orders")
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    for rate in rates:
        sim.faults_at_a_rate(**{**A_RATE, **rate})
    sim.run_for("11m")
    return sim


A_RATE: dict[str, Any] = {
    "verb": "slow",
    "targets": ["ada"],
    "every": "9s",
    "lasts": "1s",
    "until": "10m",
}
OTHER_RATES: dict[str, dict[str, Any]] = {
    "verb": {"verb": "hold"},
    "targets": {"targets": ["bea"]},
}


def beginnings(sim: Simulation) -> Counter[tuple[int, str | None]]:
    return Counter((row.at_ms, row.detail) for row in of_kind(sim, "fault_started"))


@pytest.mark.parametrize("other", OTHER_RATES.values(), ids=OTHER_RATES)
def test_another_rate_shifts_the_dice_of_none(other):
    alone = beginnings(a_world_of_rates({}))

    beside_it = beginnings(a_world_of_rates(other, {}))

    assert alone <= beside_it


@pytest.mark.parametrize("more", [{"until": "11m"}, {"options": {"by": "2s"}}], ids=str)
def test_a_rate_strikes_at_the_same_times_however_long_or_hard_it_does(more: dict[str, Any]):
    as_it_is, then = a_world_of_rates({}), a_world_of_rates(more)

    times = [row.at_ms for row in of_kind(as_it_is, "fault_started")]
    assert times == [row.at_ms for row in of_kind(then, "fault_started")][: len(times)]


def test_a_rate_that_is_asked_for_twice_is_drawn_twice():
    once, twice = beginnings(a_world_of_rates({})), beginnings(a_world_of_rates({}, {}))

    assert once <= twice
    assert twice != once + once


def test_a_rate_is_the_same_however_its_times_are_written():
    in_ms = {"every": 9_000, "lasts": 1_000, "until": 600_000}

    assert beginnings(a_world_of_rates(in_ms)) == beginnings(a_world_of_rates({}))


def test_faults_at_a_rate_carry_their_options():
    sim = Simulation(seed=1)
    sim.topic("orders")
    sim.consumers("checkout", "ada", topics=["orders"])

    sim.faults_at_a_rate(
        "hold",
        ["ada"],
        every="9s",
        lasts="1s",
        until="1m",
        options={"request": "OffsetCommit"},
    )
    sim.run_for("2m")

    words = {(row.detail or "").split(" of ")[0] for row in of_kind(sim, "fault_healed")}
    assert words == {"hold OffsetCommit"}
    assert len(of_kind(sim, "fault_healed")) == len(of_kind(sim, "fault_started"))


def test_faults_at_a_rate_need_somebody_to_happen_to():
    with pytest.raises(ValueError, match="targets must name at least one"):
        Simulation().faults_at_a_rate("pause", [], every="9s", lasts="1s", until="1m")
