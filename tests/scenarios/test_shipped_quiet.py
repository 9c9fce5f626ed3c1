"""Quiet time changes nothing in what comes with groupsim, whether it is skipped or played.

Each is played in full, both ways, without measures and checkers; of the rolling deploy, which is as
long as all others together, the first variant alone.
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

#: The scenario of which one variant must do.
LARGE = "rolling_deploy"


def variants() -> list[tuple[str, str]]:
    return [
        (name, variant)
        for name in shipped()
        for variant in story(name).variant_names[: 1 if name == LARGE else None]
    ]


def rows_of(name: str, variant: str, quiet: Quiet) -> list[Row]:
    scenario = story(name).variant(variant)
    sink = MemorySink()
    sim = stage(scenario, seed=scenario.seed, run=name, sink=sink, quiet=quiet).sim
    sim.run_for(scenario.run_for)
    sim.end()
    return sink.rows


@pytest.mark.parametrize(("name", "variant"), variants())
def test_the_rows_are_the_same_with_and_without_quiet_time_in(name, variant):
    assert first_difference(rows_of(name, variant, "skip"), rows_of(name, variant, "play")) is None
