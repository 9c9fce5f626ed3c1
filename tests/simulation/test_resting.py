"""A heartbeat at rest comes to what the passes over the network come to: worlds go the same way."""

from __future__ import annotations

import pytest

from client.resting import Rest
from simulation.campaign import rows_of
from simulation.random_worlds import draw_world

SEEDS = range(90, 110)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_goes_the_same_way_if_every_pass_is_made_in(seed, monkeypatch):
    world = draw_world(seed)
    rows = rows_of(world, "play")

    monkeypatch.setattr(Rest, "_is_calm", lambda *_: False)

    assert rows_of(world, "play") == rows
