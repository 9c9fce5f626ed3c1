from __future__ import annotations

import pytest

from simulation.events import Row, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.ownership import ownership_gaps, ownership_intervals
from tests.spark_bridge.frames import PLACE, an_event, events, rows_of

ASSIGNED = WorldEventKind.PARTITION_ASSIGNED
REVOKED = WorldEventKind.PARTITION_REVOKED
LOST = WorldEventKind.PARTITION_LOST

pytestmark = pytest.mark.spark


def a_change(kind: WorldEventKind, at_ms: int, client: str, partition: int = 0) -> Row:
    return an_event(
        kind, at_ms, client=client, member=f"{client}-1", topic="t", partition=partition
    )


def test_a_stretch_lasts_from_the_assignment_to_what_ended_it(spark):
    frame = events(
        spark,
        a_change(ASSIGNED, 6, "ada", 0),
        a_change(ASSIGNED, 6, "bea", 1),
        a_change(LOST, 20, "ada", 0),
        a_change(REVOKED, 64, "bea", 1),
        a_change(ASSIGNED, 65, "bea", 0),
        a_change(ASSIGNED, 65, "bea", 1),
    )

    stretches = frame.transform(ownership_intervals)

    assert stretches.schema.simpleString() == schemas.OWNERSHIP_INTERVALS.simpleString()
    names = (c.PARTITION, c.CLIENT, c.OWNED_FROM_MS, c.OWNED_UNTIL_MS, c.ENDED_BY)
    assert rows_of(stretches, *names) == [
        (0, "ada", 6, 20, "partition_lost"),
        (0, "bea", 65, None, None),
        (1, "bea", 6, 64, "partition_revoked"),
        (1, "bea", 65, None, None),
    ]


def test_two_owners_at_once_have_a_stretch_each(spark):
    frame = events(
        spark,
        a_change(ASSIGNED, 1, "ada"),
        a_change(ASSIGNED, 5, "bea"),
        a_change(LOST, 9, "ada"),
    )

    stretches = frame.transform(ownership_intervals)

    assert rows_of(stretches, c.CLIENT, c.OWNED_FROM_MS, c.OWNED_UNTIL_MS) == [
        ("ada", 1, 9),
        ("bea", 5, None),
    ]


def test_a_partition_is_unowned_from_one_owners_stop_to_the_next_ones_start(spark):
    frame = events(
        spark,
        a_change(ASSIGNED, 6, "ada"),
        a_change(LOST, 20, "ada"),
        a_change(ASSIGNED, 64, "bea"),
        a_change(REVOKED, 70, "bea"),
    )

    gaps = frame.transform(ownership_intervals).transform(ownership_gaps)

    assert gaps.schema.simpleString() == schemas.OWNERSHIP_GAPS.simpleString()
    names = (*PLACE, c.UNOWNED_FROM_MS, c.UNOWNED_UNTIL_MS, c.LAST_OWNER, c.NEXT_OWNER)
    assert rows_of(gaps, *names) == [
        ("a-run", "g", "t", 0, 20, 64, "ada", "bea"),
        ("a-run", "g", "t", 0, 70, None, "bea", None),
    ]


def test_there_is_no_gap_while_anyone_owns_the_partition(spark):
    frame = events(
        spark,
        a_change(ASSIGNED, 1, "ada"),
        a_change(ASSIGNED, 3, "bea"),
        a_change(REVOKED, 4, "bea"),
        a_change(REVOKED, 9, "ada"),
        a_change(ASSIGNED, 9, "cat"),
    )

    gaps = frame.transform(ownership_intervals).transform(ownership_gaps)

    assert gaps.collect() == []


def test_a_gap_begins_when_the_last_of_overlapping_owners_stops(spark):
    frame = events(
        spark,
        a_change(ASSIGNED, 1, "ada"),
        a_change(ASSIGNED, 3, "bea"),
        a_change(REVOKED, 4, "bea"),
        a_change(LOST, 9, "ada"),
        a_change(ASSIGNED, 12, "cat"),
    )

    gaps = frame.transform(ownership_intervals).transform(ownership_gaps)

    assert rows_of(gaps, c.UNOWNED_FROM_MS, c.UNOWNED_UNTIL_MS, c.LAST_OWNER, c.NEXT_OWNER) == [
        (9, 12, "ada", "cat"),
    ]
