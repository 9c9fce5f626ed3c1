"""Quiet time changes nothing in what comes with groupsim, whether it is skipped or played.

The first variant of each scenario is played in full, both ways, without measures and checkers:
some 35 s of CPU for all of them together. Only a scenario of weeks would have to be cut short.
"""

from __future__ import annotations

import pytest

from groupsim.commands.shipped import shipped
from simulation.events import Row
from simulation.partings import first_difference
from simulation.recorder import MemorySink
from simulation.scenarios.playing import stage
from simulation.stage import Quiet
from tests.support.shipped import story


def rows_of(name: str, quiet: Quiet) -> list[Row]:
    scenario = story(name)
    first = scenario.variant(scenario.variant_names[0])
    sink = MemorySink()
    sim = stage(first, seed=first.seed, run=name, sink=sink, quiet=quiet).sim
    sim.run_for(first.run_for)
    sim.end()
    return sink.rows


@pytest.mark.parametrize("name", shipped())
def test_the_rows_are_the_same_with_and_without_quiet_time_in(name):
    assert first_difference(rows_of(name, "skip"), rows_of(name, "play")) is None
