"""A run makes the collector of cyclic garbage more patient, and leaves it as it was."""

from __future__ import annotations

import gc
import sys

import pytest

from simulation.world import Simulation


@pytest.fixture
def thresholds():
    """Sets the collector, and sets it back after the test."""
    before = gc.get_threshold()
    yield gc.set_threshold
    gc.set_threshold(*before)


def thresholds_during(sim):
    seen = []
    sim.at("1s", lambda: seen.append(gc.get_threshold()))
    sim.run_for("2s")
    return seen[0]


def test_the_collector_waits_for_more_new_objects_while_time_passes(thresholds):
    thresholds(700, 10, 10)

    young, *older = thresholds_during(Simulation())

    assert young > 700
    assert older == [10, 10]


def test_after_a_run_the_collector_is_set_as_before(thresholds):
    thresholds(700, 10, 10)

    Simulation().run_for("2s")

    assert gc.get_threshold() == (700, 10, 10)


def test_nothing_is_put_off_for_longer_than_a_run(thresholds):
    thresholds(700, 10, 10)
    sim = Simulation()
    kept: list[list[int]] = []
    sim.at("1s", lambda: kept.extend([] for _ in range(5_000)))

    sim.run_for("2s")

    assert gc.get_count()[1] == 0


def looks_at_everything(sim, *, keeping):
    """How often the collector looks at everything in a second that makes and keeps so much."""
    gc.collect()
    kept: list[list[int]] = []
    sim.after("1s", lambda: kept.extend([] for _ in range(keeping)))
    before = gc.get_stats()[2]["collections"]
    sim.run_for("2s")
    return gc.get_stats()[2]["collections"] - before


def test_a_run_in_which_the_world_has_grown_looks_at_everything(thresholds):
    thresholds(700, 10, 10)

    assert looks_at_everything(Simulation(), keeping=sys.getallocatedblocks()) > 0


def test_a_run_in_which_little_has_come_does_not_look_at_everything(thresholds):
    thresholds(700, 10, 10)

    assert looks_at_everything(Simulation(), keeping=5_000) == 0


def test_a_run_that_fails_sets_the_collector_back(thresholds):
    thresholds(700, 10, 10)
    sim = Simulation()
    sim.at("1s", lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        sim.run_for("2s")

    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("young", [0, 10_000_000], ids=["off", "more patient"])
def test_a_collector_stays_as_it_is_that_is(young, thresholds):
    thresholds(young, 10, 10)

    assert thresholds_during(Simulation()) == (young, 10, 10)
