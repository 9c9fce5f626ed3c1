"""While time passes, the collector leaves alone what was there before."""

from __future__ import annotations

import gc

import pytest

from simulation.world import Simulation


@pytest.fixture
def frozen():
    """Whatever a test sets aside is given back."""
    yield
    gc.unfreeze()


def a_simulation():
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=1)
    sim.consumers("g", "ada", topics=["orders"])
    return sim


def test_what_was_there_before_is_set_aside_while_time_passes_and_not_after_it():
    sim, seen = a_simulation(), []
    sim.at("1s", lambda: seen.append(gc.get_freeze_count() > 0))

    sim.run_for("2s")

    assert seen == [True]
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("frozen")
def test_what_the_user_has_set_aside_stays_there():
    sim = a_simulation()
    gc.freeze()

    sim.run_for("2s")

    assert gc.get_freeze_count() > 0
