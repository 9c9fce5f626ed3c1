"""A round of a poll that is not made would have done nothing: worlds go the same way with it."""

from __future__ import annotations

import pytest

from client.polling import PollLoop
from simulation.campaign import rows_of
from simulation.random_worlds import draw_world

#: The first is a world in which an error in the buffer takes a position away.
SEEDS = (700_014, *range(60, 84))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_goes_the_same_way_if_every_round_is_made_in(seed, monkeypatch):
    world = draw_world(seed)
    rows = rows_of(world, "skip")

    monkeypatch.setattr(PollLoop, "_is_idle", lambda *_: False)

    assert rows_of(world, "skip") == rows
