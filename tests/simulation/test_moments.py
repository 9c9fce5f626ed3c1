"""Where a broken bound tells people to look."""

from __future__ import annotations

import pytest

from simulation.bounds import parse_bound
from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from simulation.measures import MEASURES, measure
from simulation.moments import Moment, moment_of
from tests.support.rows import (
    a_death_and_its_rebalance,
    a_recording,
    an_event,
    starts_reading,
    the_end,
    works,
)


def moment(bound, rows):
    found = moment_of(parse_bound(bound), measure(rows))
    return None if found is None else str(found)


def two_gaps():
    """A gap of a second, one of four, and one of a second again; then a fourth that is short."""
    return a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.PARTITION_REVOKED, 5_000, client="ada"),
        *starts_reading("bea", 6_000),
        an_event(W.PARTITION_REVOKED, 10_000, client="bea"),
        *starts_reading("ada", 14_000),
        an_event(W.PARTITION_REVOKED, 20_000, client="ada"),
        *starts_reading("bea", 20_500),
        the_end(30_000),
    )


def records_twice_and_never():
    """Ada commits what she then does not do, and does what she has not committed."""
    return a_recording(
        an_event(W.LOG_RATE_CHANGED, 0, group=None, offset=0, count=10, duration_ms=1_000),
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        *works("ada", 2_000, 10, 20),
        an_event(E.OFFSET_COMMITTED, 2_100, client="ada", offset=15),
        an_event(W.CONSUMER_CRASHED, 2_500, client="ada"),
        *starts_reading("bea", 9_000, offset=15),
        *works("bea", 9_500, 15, 30),
        an_event(W.RECORDS_RETURNED, 10_000, client="bea", offset=30, end_offset=40),
        an_event(E.OFFSET_COMMITTED, 10_100, client="bea", offset=40),
        an_event(W.CONSUMER_CRASHED, 10_500, client="bea"),
        an_event(E.COMMIT_REFUSED, 11_000, client="bea", error="UNKNOWN_MEMBER_ID"),
        *starts_reading("cat", 11_500, offset=40),
        an_event(W.RECORDS_RETURNED, 30_000, client="cat", offset=40, end_offset=300),
        the_end(31_000),
    )


@pytest.mark.parametrize(
    ("bound", "rows", "expected"),
    [
        ("unowned_s < 1", two_gaps, "orders-0 of checkout from 10.0 s to 14.0 s"),
        ("sum(unowned_s) < 1", two_gaps, "orders-0 of checkout from 10.0 s to 14.0 s"),
        (
            "rebalance_s < 1",
            a_death_and_its_rebalance,
            "rebalance:1 of checkout from 0.0 s to 3.01 s",
        ),
        ("detection_s < 1", a_death_and_its_rebalance, "ada of checkout from 20.0 s to 63.0 s"),
        ("duplicates == 0", records_twice_and_never, "orders-0 of checkout at 9.5 s"),
        ("lost == 0", records_twice_and_never, "orders-0 of checkout at 10.5 s"),
        ("lag < 10", records_twice_and_never, "orders-0 of checkout at 30.0 s"),
        ("lag_s < 10", records_twice_and_never, "orders-0 of checkout from 4.1 s to 30.0 s"),
        ("commits_refused == 0", records_twice_and_never, "bea of checkout at 11.0 s"),
    ],
)
def test_a_bound_is_broken_at_its_worst_moment(bound, rows, expected):
    assert moment(bound, rows()) == expected


@pytest.mark.parametrize(
    ("bound", "number"), [("rebalances < 2", 2), ("rebalances == 1", 2), ("rebalances < 1", 1)]
)
def test_of_too_many_rebalances_the_first_that_is_not_allowed_is_shown(bound, number):
    found = moment(bound, a_death_and_its_rebalance())

    assert found is not None
    assert found.startswith(f"rebalance:{number} of checkout from ")


@pytest.mark.parametrize("bound", ["unowned_s > 100", "rebalances >= 9", "rebalances == 9"])
def test_too_little_of_something_happens_at_no_moment(bound):
    assert moment(bound, a_death_and_its_rebalance()) is None


def test_nothing_at_all_happens_at_no_moment():
    assert [name for name in MEASURES if moment(f"{name} > 0", a_recording(the_end(1)))] == []


def test_a_moment_is_shown_with_a_second_on_both_sides_but_never_before_the_start():
    found = Moment(group="checkout", what="ada", from_ms=400, to_ms=2_000)

    assert found.around == (0, 3_000)
