"""A member that keeps what it owns goes through a rebalance without a poll's rounds."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from client.following import Following
from simulation.recorder import MemorySink
from simulation.world import Simulation

STEPS = ("_commits", "_joins", "_syncs", "_completes")
OF_THE_EAGER = ("_commits", "_syncs")


def _rows_of_a_deploy(strategy):
    """Six members, of whom two are stopped and started again, one after the other."""
    sink = MemorySink()
    simulation = Simulation(seed=3, sink=sink)
    simulation.topic("orders", partitions=12)
    names = [f"m{number}" for number in range(6)]
    settings = {"partition.assignment.strategy": strategy}
    simulation.consumers("g", *names, topics=["orders"], settings=settings)
    simulation.run_until_stable("g")
    for number, name in enumerate(names[2:4]):
        at_ms = simulation.now_ms + 20_000 * (number + 1)
        simulation.at(at_ms, partial(simulation.stop, name))
        simulation.at(at_ms + 10_000, partial(simulation.restart, name))
    simulation.run_for(80_000)
    simulation.end()
    return sink.rows


@pytest.fixture
def taken(monkeypatch):
    """How often each step was taken in one go."""
    counted: Counter[str] = Counter()
    for name in STEPS:
        monkeypatch.setattr(Following, name, _counting(getattr(Following, name), name, counted))
    return counted


def _counting(step, name, counted):
    def take(*arguments):
        is_taken = step(*arguments)
        counted[name] += is_taken
        return is_taken

    return take


def test_a_cooperative_deploy_takes_every_step_in_one_go(taken):
    _rows_of_a_deploy("cooperative-sticky")

    assert min(taken[step] for step in STEPS) > 0


def test_an_eager_member_gives_up_and_takes_over_by_the_rounds(taken):
    _rows_of_a_deploy("range")

    assert tuple(step for step in STEPS if taken[step]) == OF_THE_EAGER


@pytest.mark.parametrize(
    ("step", "strategy"),
    [
        *((step, "cooperative-sticky") for step in STEPS),
        *((step, "range") for step in OF_THE_EAGER),
    ],
)
def test_a_deploy_goes_the_same_way_without(step, strategy, monkeypatch):
    rows = _rows_of_a_deploy(strategy)

    monkeypatch.setattr(Following, step, lambda *_: False)

    assert _rows_of_a_deploy(strategy) == rows
