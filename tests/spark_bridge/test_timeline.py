from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.timeline import state_intervals
from tests.spark_bridge.frames import an_event, events, rows_of

CREATED, CHANGED = EventKind.GROUP_CREATED, EventKind.STATE_CHANGED
REMOVED = EventKind.MEMBER_REMOVED

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


def test_stays_of_recorded_runs_add_up_to_their_rebalances(recorded):
    moving = ("PreparingRebalance", "CompletingRebalance")
    stays = recorded.events.transform(state_intervals).where(F.col(c.STATE).isin(*moving))

    found = stays.where(F.col(c.LEFT_MS).isNotNull()).collect()

    assert sorted(
        (row.run, row.group, row.state, row.entered_ms, row.left_ms) for row in found
    ) == sorted(
        (run, each.group, phase.state, phase.started_ms, phase.ended_ms)
        for run, measures in recorded.measures.items()
        for each in measures.rebalances
        for phase in (each.phases if each.ended_in else each.phases[:-1])
    )
