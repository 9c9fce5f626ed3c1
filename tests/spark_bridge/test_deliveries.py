"""Each story has a topic of its own, so that Spark tells all of them at once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve
from pyspark.sql import DataFrame, SparkSession

from simulation.events import EventKind, Row, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.deliveries import duplicates, losses
from tests.spark_bridge.frames import an_event, events

pytestmark = pytest.mark.spark

Story = Mapping[str, Mapping[str, int]]


def at(kind: EventKind | WorldEventKind, client: str, *offsets: int, **facts: object) -> Row:
    places = dict(zip(("offset", "end_offset"), offsets, strict=False))
    return an_event(kind, 0, client=client, partition=0, **places, **facts)


def takes(client: str, position: int, why: str = "committed") -> list[Row]:
    return [
        at(WorldEventKind.PARTITION_ASSIGNED, client),
        at(WorldEventKind.POSITION_SET, client, position, detail=why),
    ]


def is_handed(client: str, start: int, end: int) -> Row:
    return at(WorldEventKind.RECORDS_RETURNED, client, start, end)


def does(client: str, start: int, end: int) -> list[Row]:
    return [is_handed(client, start, end), at(WorldEventKind.RECORDS_PROCESSED, client, start, end)]


def commits(client: str, offset: int) -> Row:
    return at(EventKind.OFFSET_COMMITTED, client, offset)


def loses(client: str) -> Row:
    return at(WorldEventKind.PARTITION_LOST, client)


def dies(client: str) -> Row:
    return an_event(WorldEventKind.CONSUMER_CRASHED, 0, client=client)


REFUSED = at(WorldEventKind.COMMIT_FAILED, "kim", 10, error="ILLEGAL_GENERATION")
FORGOTTEN = at(EventKind.OFFSET_REMOVED, "", detail="expired")

# Whoever dies has a name of its own, for a death is one in all topics.
AGAIN = {
    "once": [*takes("ada", 0), *does("ada", 0, 10)],
    "after a death": [
        *takes("bob", 0),
        *does("bob", 0, 10),
        dies("bob"),
        *takes("ada", 0),
        *does("ada", 0, 6),
    ],
    "gone back": [
        *takes("ada", 0),
        *does("ada", 0, 10),
        *takes("ada", 4, "seek"),
        *does("ada", 4, 8),
    ],
    "refused": [
        *takes("kim", 0),
        *does("kim", 0, 10),
        REFUSED,
        loses("kim"),
        *takes("ada", 0),
        *does("ada", 0, 10),
    ],
    "refused once": [
        *takes("kim", 0),
        *does("kim", 0, 10),
        REFUSED,
        commits("kim", 10),
        loses("kim"),
        *takes("ada", 8),
        *does("ada", 8, 10),
    ],
    "forgotten": [
        *takes("ada", 0),
        *does("ada", 0, 10),
        FORGOTTEN,
        *takes("ada", 0),
        *does("ada", 0, 10),
    ],
    "two at once": [*takes("ada", 0), *takes("bea", 0), *does("ada", 0, 10), *does("bea", 0, 3)],
    "too late": [*takes("ada", 0), *takes("bea", 0), *does("bea", 0, 10), *does("ada", 0, 3)],
    "by itself": [*takes("ada", 0), *does("ada", 0, 10), *does("ada", 5, 12)],
    "an idle owner": [
        *takes("eve", 0),
        *does("eve", 0, 10),
        loses("eve"),
        *takes("fay", 0),
        loses("fay"),
        *takes("ada", 0),
        *does("ada", 0, 10),
    ],
    "into a gap": [
        *takes("ada", 0),
        *does("ada", 0, 5),
        *does("ada", 8, 10),
        *does("ada", 4, 7),
        *does("ada", 6, 9),
    ],
}

NEVER = {
    "done": [*takes("ada", 0), *does("ada", 0, 10), commits("ada", 10)],
    "in hand": [*takes("ada", 0), is_handed("ada", 0, 10), commits("ada", 10)],
    "dead": [
        *takes("joe", 0),
        *does("joe", 0, 4),
        is_handed("joe", 4, 10),
        commits("joe", 10),
        dies("joe"),
    ],
    "skipped": [
        *takes("ada", 0),
        *does("ada", 0, 4),
        *takes("ada", 20, "reset"),
        *does("ada", 20, 25),
        commits("ada", 25),
    ],
    "unread": [*takes("ada", 5), commits("ada", 9)],
    "filled later": [
        *takes("ada", 0),
        *does("ada", 0, 4),
        *does("ada", 8, 10),
        *does("ada", 5, 7),
        commits("ada", 10),
    ],
    "not committed": [*takes("ada", 0), *does("ada", 0, 4), *does("ada", 8, 10)],
    "a failed write": [
        *takes("ada", 0),
        evolve(commits("ada", 9), cause=1),
        an_event(EventKind.WRITE_FAILED, 0, cause=1),
    ],
}


def told(spark: SparkSession, stories: Mapping[str, list[Row]]) -> DataFrame:
    rows = [
        evolve(row, topic=None if row.partition is None else name)
        for name, story in stories.items()
        for row in story
    ]
    return events(spark, *rows)


def by_topic(frame: DataFrame) -> Story:
    assert frame.schema.simpleString() == schemas.RECORDS_BY_CAUSE.simpleString()
    found: dict[str, dict[str, int]] = {}
    for row in frame.collect():
        found.setdefault(row[c.TOPIC], {})[row[c.REASON]] = row[c.RECORDS]
    return found


@pytest.fixture(scope="module")
def again(spark: SparkSession) -> Story:
    return by_topic(told(spark, AGAIN).transform(duplicates))


@pytest.fixture(scope="module")
def never(spark: SparkSession) -> Story:
    return by_topic(told(spark, NEVER).transform(losses))


def test_records_that_are_processed_once_are_no_duplicates(again):
    assert "once" not in again


@pytest.mark.parametrize(
    ("story", "cause", "records"),
    [
        ("after a death", "bob crashed before it had committed them", 6),
        ("gone back", "ada went to 4: seek", 4),
        ("refused", "the commit of offset 10 by kim failed: ILLEGAL_GENERATION", 10),
        ("refused once", "kim lost the partition before it had committed them", 2),
        ("forgotten", "the committed offset was removed: expired", 10),
        ("two at once", "ada had not committed them when bea took over", 3),
        ("too late", "ada went on with them after bea had taken over", 3),
        ("by itself", "ada read them again", 5),
        ("an idle owner", "eve lost the partition before it had committed them", 10),
        ("into a gap", "ada read them again", 3),
    ],
)
def test_records_that_come_again_have_a_cause(again, story, cause, records):
    assert again[story] == {cause: records}


@pytest.mark.parametrize("story", ["done", "in hand", "not committed", "a failed write"])
def test_nothing_is_lost_of_what_is(never, story):
    assert story not in never


@pytest.mark.parametrize(
    ("story", "cause", "records"),
    [
        ("dead", "joe crashed with them in hand", 6),
        ("skipped", "ada went from 4 to 20: reset", 16),
        ("unread", "committed before anyone had processed them", 4),
        ("filled later", "committed before anyone had processed them", 2),
    ],
)
def test_records_that_never_come_have_a_cause(never, story, cause, records):
    assert never[story] == {cause: records}


@pytest.mark.parametrize(("analysis", "name"), [(duplicates, "duplicates"), (losses, "lost")])
def test_the_causes_in_recorded_runs_are_those_of_the_measures(recorded, analysis, name):
    found = recorded.events.transform(analysis).collect()

    assert {tuple(row)[:5]: row[c.RECORDS] for row in found} == {
        (run, *tally.place, tally.cause): tally.records
        for run, measures in recorded.measures.items()
        for tally in getattr(measures, name)
    }
