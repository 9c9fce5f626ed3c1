"""The short ways of consumers and brokers come to what the long ones do, for whole worlds."""

from __future__ import annotations

import pytest

from simulation.campaign import rows_of
from simulation.random_worlds import draw_world
from tests.support.short_ways import SHORT_WAYS, SHORT_WAYS_OF_BROKERS

SEEDS = range(90, 100)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("short_way", SHORT_WAYS + SHORT_WAYS_OF_BROKERS, ids=lambda way: way[1])
def test_a_world_goes_the_same_way_by_the_long_one(seed, short_way, monkeypatch):
    world = draw_world(seed)
    rows = rows_of(world, "play")

    part, asked, answer = short_way
    monkeypatch.setattr(part, asked, lambda *_: answer)

    assert rows_of(world, "play") == rows
