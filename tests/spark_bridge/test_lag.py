from __future__ import annotations

import pytest

from simulation.events import Row, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.lag import greatest_lags, lag_over_time
from tests.spark_bridge.frames import PLACE, an_event, events, rows_of

FETCHED, RETURNED = WorldEventKind.FETCH_STARTED, WorldEventKind.RECORDS_RETURNED
LOOK = (c.AT_MS, c.POSITION, c.LOG_END, c.LAG, c.LAG_MS)

pytestmark = pytest.mark.spark


def grows(at_ms: int, offset: int, count: int, every_ms: int) -> Row:
    return an_event(
        WorldEventKind.LOG_RATE_CHANGED,
        at_ms,
        group=None,
        topic="t",
        partition=0,
        offset=offset,
        count=count,
        duration_ms=every_ms,
    )


def reads(
    kind: WorldEventKind, at_ms: int, client: str, offset: int, end: int | None = None
) -> Row:
    where = {"topic": "t", "partition": 0, "offset": offset, "end_offset": end}
    return an_event(kind, at_ms, client=client, **where)


ENDED = an_event(WorldEventKind.RUN_ENDED, 100, group=None)


def test_a_lag_is_looked_at_before_and_after_each_move_and_at_the_end(spark):
    frame = events(
        spark,
        grows(0, 0, 1, 10),
        reads(FETCHED, 5, "ada", 0),
        reads(RETURNED, 45, "ada", 0, 4),
        ENDED,
    )

    looks = frame.transform(lag_over_time)

    assert looks.schema.simpleString() == schemas.LAG_OVER_TIME.simpleString()
    # The first record is written at 10, the fifth at 50.
    assert rows_of(looks, *LOOK) == [
        (5, 0, 0, 0, 0),
        (45, 0, 4, 4, 35),
        (45, 4, 4, 0, 0),
        (100, 4, 10, 6, 50),
    ]
    greatest = looks.transform(greatest_lags)
    assert greatest.schema.simpleString() == schemas.GREATEST_LAGS.simpleString()
    assert rows_of(greatest, *PLACE, c.LAG, c.LAG_MS) == [("a-run", "g", "t", 0, 6, 50)]


def test_records_that_come_in_a_burst_are_as_old_as_the_burst(spark):
    frame = events(
        spark, grows(0, 0, 0, 1), reads(FETCHED, 5, "ada", 0), grows(30, 20, 0, 1), ENDED
    )

    looks = frame.transform(lag_over_time)

    assert rows_of(looks, *LOOK) == [(5, 0, 0, 0, 0), (100, 0, 20, 20, 70)]


def test_only_the_reader_that_began_last_counts(spark):
    frame = events(
        spark,
        grows(0, 50, 0, 1),
        reads(FETCHED, 5, "ada", 40),
        reads(FETCHED, 10, "bea", 45),
        reads(RETURNED, 20, "ada", 40, 41),
        ENDED,
    )

    looks = frame.transform(lag_over_time)

    assert rows_of(looks, c.AT_MS, c.POSITION) == [(5, 40), (10, 40), (10, 45), (100, 45)]


def test_a_topic_that_comes_again_has_a_log_of_its_own(spark):
    frame = events(
        spark,
        grows(0, 50, 0, 1),
        reads(FETCHED, 5, "ada", 40),
        an_event(WorldEventKind.TOPIC_DELETED, 30, group=None, topic="t"),
        grows(40, 3, 0, 1),
        reads(FETCHED, 50, "ada", 0),
        ENDED,
    )

    looks = frame.transform(lag_over_time)

    assert rows_of(looks, c.AT_MS, c.POSITION, c.LAG) == [
        (5, 40, 10),
        (30, 40, 10),
        (50, 0, 3),
        (100, 0, 3),
    ]


def test_greatest_lags_of_recorded_runs_are_those_of_the_measures(recorded):
    found = recorded.events.transform(lag_over_time).transform(greatest_lags).collect()

    assert {tuple(row)[:4]: (row.lag, row.lag_ms / 1_000) for row in found} == {
        (run, *place): (lag, measures.lag_s[place])
        for run, measures in recorded.measures.items()
        for place, lag in measures.lag.items()
    }
