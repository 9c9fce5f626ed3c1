from __future__ import annotations

from attrs import evolve

from simulation.partings import causes_of, first_difference
from tests.support.rows import a_death_and_its_rebalance

ROWS = a_death_and_its_rebalance()


def test_a_run_does_not_part_from_itself():
    assert first_difference(ROWS, ROWS) is None


def test_the_name_of_a_run_is_no_difference():
    assert first_difference(ROWS, [evolve(row, run="another") for row in ROWS]) is None


def test_runs_part_at_the_first_row_that_differs():
    changed = [evolve(row, at_ms=row.at_ms + 1) if row.seq >= 5 else row for row in ROWS]

    parting = first_difference(ROWS, changed)

    assert parting is not None
    assert (parting.seq, parting.left, parting.right) == (5, ROWS[4], changed[4])


def test_a_run_that_is_over_has_no_row_where_they_part():
    parting = first_difference(ROWS, ROWS[:7])

    assert parting is not None
    assert (parting.seq, parting.left, parting.right) == (8, ROWS[7], None)


def test_causes_are_told_from_the_nearest_on():
    rows = [evolve(row, cause=row.seq - 1 if row.seq > 1 else None) for row in ROWS]

    assert [row.seq for row in causes_of(rows, rows[9], most=3)] == [9, 8, 7]
