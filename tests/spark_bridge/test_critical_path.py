from __future__ import annotations

import pytest

from simulation.critical_path import Witness, explain
from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.critical_path import critical_paths
from tests.spark_bridge.frames import an_event, events, rows_of

CHANGED, SENT = EventKind.STATE_CHANGED, WorldEventKind.REQUEST_SENT

pytestmark = pytest.mark.spark


def test_a_path_leads_by_causes_from_the_beginning_to_the_end(spark):
    frame = events(
        spark,
        an_event(WorldEventKind.TIMER_FIRED, 10),
        an_event(CHANGED, 10, state="PreparingRebalance", cause=1),
        an_event(WorldEventKind.REPLY_SENT, 12, client="ada", cause=2),
        an_event(WorldEventKind.REPLY_SENT, 12, client="bea", cause=2),
        an_event(SENT, 20, client="bea", cause=4),
        an_event(SENT, 35, client="ada", cause=3),
        an_event(CHANGED, 36, state="CompletingRebalance", cause=6),
        an_event(CHANGED, 40, state="Stable", cause=7),
    )

    path = frame.transform(critical_paths)

    assert path.schema.simpleString() == schemas.CRITICAL_PATHS.simpleString()
    assert rows_of(path, c.START_SEQ, c.STEP, c.SEQ, c.CLIENT, c.WAITED_MS) == [
        (2, 1, 2, None, 0),
        (2, 2, 3, "ada", 2),
        (2, 3, 6, "ada", 23),
        (2, 4, 7, None, 1),
        (2, 5, 8, None, 4),
    ]


def test_what_was_on_its_way_before_is_left_out_and_the_beginning_is_not(spark):
    frame = events(
        spark,
        an_event(SENT, 5, client="ada"),
        an_event(CHANGED, 10, state="PreparingRebalance"),
        an_event(CHANGED, 30, state="Stable", cause=1),
    )

    path = frame.transform(critical_paths)

    assert rows_of(path, c.STEP, c.SEQ, c.WAITED_MS) == [(1, 2, 0), (2, 3, 20)]


def test_paths_of_recorded_runs_are_those_that_why_tells(recorded):
    found = recorded.events.transform(critical_paths)

    told = []
    for run, rows in recorded.rows.items():
        witness = Witness.of(rows)
        for rebalance in witness.measures().rebalances:
            path = explain(rows, rebalance, witness).path
            told += [
                (run, rebalance.seq, number, step.seq, step.at_ms, step.kind, step.waited_ms)
                for number, step in enumerate(path, 1)
            ]
    names = (c.RUN, c.START_SEQ, c.STEP, c.SEQ, c.AT_MS, c.KIND, c.WAITED_MS)
    assert rows_of(found, *names) == sorted(told)
