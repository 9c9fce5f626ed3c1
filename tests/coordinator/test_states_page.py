"""The page of states is what the tables say."""

from __future__ import annotations

from pathlib import Path

from coordinator.states import DEAD, MOVES, REASONS_TO_MOVE
from coordinator.states_page import page

PAGE = Path(__file__).parents[2] / "docs" / "states.md"


def test_the_page_of_states_is_printed_from_the_tables():
    assert PAGE.read_text() == page()


def test_every_legal_move_has_its_reason():
    legal = {
        (source, target) for source, ends in MOVES.items() for target in ends if target is not DEAD
    }

    assert set(REASONS_TO_MOVE) == legal
