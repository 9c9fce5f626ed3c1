"""The short ways of consumers and brokers come to what the long ones do, for whole worlds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from simulation.campaign import rows_of
from simulation.events import Row
from simulation.random_worlds import draw_world
from tests.support.short_ways import SHORT_WAYS, SHORT_WAYS_OF_BROKERS

SEEDS = range(90, 100)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("short_way", SHORT_WAYS + SHORT_WAYS_OF_BROKERS, ids=lambda way: way[1])
def test_a_world_goes_the_same_way_by_the_long_one(seed, short_way, monkeypatch):
    rows = rows_by_all_short_ways(seed)

    part, asked, answer = short_way
    monkeypatch.setattr(part, asked, lambda *_: answer)

    assert rows_of(draw_world(seed), "play") == rows


@cache
def rows_by_all_short_ways(seed: int) -> Sequence[Row]:
    """What a world comes to as it is."""
    return rows_of(draw_world(seed), "play")
