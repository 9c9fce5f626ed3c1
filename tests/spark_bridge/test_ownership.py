from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from simulation.events import EventKind, Row, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.ownership import ownership_clocks, ownership_gaps, ownership_intervals
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


FETCHED = WorldEventKind.FETCH_STARTED
RETURNED, PROCESSED = WorldEventKind.RECORDS_RETURNED, WorldEventKind.RECORDS_PROCESSED
PAUSED, RESUMED = WorldEventKind.CONSUMER_PAUSED, WorldEventKind.CONSUMER_RESUMED
CRASHED, REMOVED = WorldEventKind.CONSUMER_CRASHED, EventKind.MEMBER_REMOVED
ENDED = an_event(WorldEventKind.RUN_ENDED, 100, group=None)


def begins(at_ms: int, client: str) -> list[Row]:
    return [a_change(ASSIGNED, at_ms, client), a_change(FETCHED, at_ms, client)]


def records(kind: WorldEventKind, at_ms: int, client: str, end_offset: int) -> Row:
    return an_event(kind, at_ms, client=client, topic="t", partition=0, end_offset=end_offset)


def clocks(spark: SparkSession, *rows: Row) -> tuple[int, int]:
    """How long the partition was nobody's and two's."""
    found = events(spark, *rows, ENDED).transform(ownership_clocks)
    [(unowned_ms, dual_ms)] = rows_of(found, c.UNOWNED_MS, c.DUAL_MS)
    return unowned_ms, dual_ms


def test_a_partition_is_unowned_until_somebody_fetches_from_it(spark):
    frame = events(
        spark, *begins(5, "ada"), a_change(REVOKED, 20, "ada"), *begins(30, "bea"), ENDED
    )

    found = frame.transform(ownership_clocks)

    assert found.schema.simpleString() == schemas.OWNERSHIP_CLOCKS.simpleString()
    assert rows_of(found, *PLACE, c.UNOWNED_MS, c.DUAL_MS) == [("a-run", "g", "t", 0, 10, 0)]


def test_what_is_open_counts_up_to_the_last_row(spark):
    assert clocks(spark, *begins(5, "ada"), an_event(CRASHED, 60, client="ada")) == (40, 0)


def test_a_member_that_was_removed_works_on_what_it_has_in_hand(spark):
    zombie = (
        *begins(0, "ada"),
        records(RETURNED, 10, "ada", 5),
        an_event(REMOVED, 20, client="ada", member="ada-1"),
        *begins(30, "bea"),
        records(PROCESSED, 45, "ada", 5),
        a_change(LOST, 50, "ada"),
    )

    assert clocks(spark, *zombie) == (0, 15)


def test_a_consumer_that_stands_still_keeps_its_partition_and_does_no_work(spark):
    asleep = (
        *begins(0, "ada"),
        an_event(PAUSED, 10, client="ada"),
        *begins(20, "bea"),
        an_event(RESUMED, 40, client="ada"),
        a_change(LOST, 42, "ada"),
    )

    assert clocks(spark, *asleep) == (0, 2)


def test_a_topic_that_is_deleted_is_not_unowned(spark):
    deleted = an_event(WorldEventKind.TOPIC_DELETED, 30, group=None, topic="t")

    assert clocks(spark, *begins(0, "ada"), a_change(REVOKED, 20, "ada"), deleted) == (10, 0)


def test_clocks_of_recorded_runs_are_those_of_the_measures(recorded):
    found = recorded.events.transform(ownership_clocks).collect()

    assert {tuple(row)[:4]: (row.unowned_ms / 1_000, row.dual_ms / 1_000) for row in found} == {
        (run, *place): (unowned_s, measures.dual_s[place])
        for run, measures in recorded.measures.items()
        for place, unowned_s in measures.unowned_s.items()
    }
