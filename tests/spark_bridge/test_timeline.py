from __future__ import annotations

import pytest

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.timeline import detections, state_intervals
from tests.spark_bridge.frames import an_event, events, rows_of

CREATED, CHANGED = EventKind.GROUP_CREATED, EventKind.STATE_CHANGED
REMOVED, CRASHED = EventKind.MEMBER_REMOVED, WorldEventKind.CONSUMER_CRASHED

pytestmark = pytest.mark.spark


def test_a_stay_ends_where_the_next_begins_and_the_last_is_open(spark):
    frame = events(
        spark,
        an_event(CREATED, 2, state="Empty", generation=0),
        an_event(CHANGED, 6, state="PreparingRebalance", generation=0, detail="ada joined"),
        an_event(REMOVED, 7, state="PreparingRebalance", generation=0),
        an_event(CHANGED, 9, state="CompletingRebalance", generation=1, detail="all joined"),
        an_event(CHANGED, 9, state="Stable", generation=1, detail="written"),
    )

    stays = frame.transform(state_intervals)

    assert stays.schema.simpleString() == schemas.STATE_INTERVALS.simpleString()
    assert rows_of(stays, c.SEQ, c.STATE, c.GENERATION, c.ENTERED_MS, c.LEFT_MS, c.REASON) == [
        (1, "Empty", 0, 2, 6, None),
        (2, "PreparingRebalance", 0, 6, 9, "ada joined"),
        (4, "CompletingRebalance", 1, 9, 9, "all joined"),
        (5, "Stable", 1, 9, None, "written"),
    ]


def test_groups_and_runs_have_timelines_of_their_own(spark):
    frame = events(
        spark,
        an_event(CREATED, 1, seq=1, group="g", state="Empty"),
        an_event(CREATED, 2, seq=2, group="h", state="Empty"),
        an_event(CHANGED, 5, seq=3, group="g", state="Dead"),
        an_event(CREATED, 3, seq=1, group="g", state="Empty", run="b-run"),
    )

    stays = frame.transform(state_intervals)

    assert rows_of(stays, c.RUN, c.GROUP, c.STATE, c.ENTERED_MS, c.LEFT_MS) == [
        ("a-run", "g", "Dead", 5, None),
        ("a-run", "g", "Empty", 1, 5),
        ("a-run", "h", "Empty", 2, None),
        ("b-run", "g", "Empty", 3, None),
    ]


def test_a_death_is_detected_when_the_member_is_removed_or_never(spark):
    frame = events(
        spark,
        an_event(CRASHED, 20, client="ada", member="ada-1"),
        an_event(CRASHED, 30, client="bea", member="bea-1"),
        an_event(REMOVED, 40, member="cat-1", detail="it left"),
        an_event(REMOVED, 63, member="ada-1", detail="its session expired"),
    )

    found = frame.transform(detections)

    assert found.schema.simpleString() == schemas.DETECTIONS.simpleString()
    assert rows_of(found, c.CLIENT, c.MEMBER, c.CRASHED_MS, c.REMOVED_MS, c.REASON) == [
        ("ada", "ada-1", 20, 63, "its session expired"),
        ("bea", "bea-1", 30, None, None),
    ]
