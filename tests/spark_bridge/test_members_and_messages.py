"""Generations, requests, heartbeats and coordinators: counted by the rows themselves."""

from __future__ import annotations

from collections import Counter

import pytest

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.coordinators import coordinator_moves
from spark_bridge.generations import generations
from spark_bridge.heartbeats import heartbeats
from spark_bridge.requests import request_latency
from tests.spark_bridge.frames import an_event, events, rows_of

CHANGED, ELECTED = EventKind.STATE_CHANGED, EventKind.LEADER_ELECTED
HEARD, MOVED = WorldEventKind.REPLY_RECEIVED, WorldEventKind.COORDINATOR_MOVED

pytestmark = pytest.mark.spark


def test_a_generation_has_a_leader_a_protocol_and_members(spark):
    frame = events(
        spark,
        an_event(EventKind.MEMBER_ADDED, 1, client="ada", member="ada-1"),
        an_event(ELECTED, 1, member="ada-1"),
        an_event(
            *(CHANGED, 5),
            state="CompletingRebalance",
            generation=1,
            protocol="range",
            count=3,
        ),
        an_event(CHANGED, 7, state="Stable", generation=1),
        an_event(ELECTED, 8, member="bea-1"),
        an_event(CHANGED, 9, state="CompletingRebalance", generation=2, count=1),
        an_event(CHANGED, 20, state="PreparingRebalance", generation=2),
    )

    found = frame.transform(generations)

    assert found.schema.simpleString() == schemas.GENERATIONS.simpleString()
    names = (c.GENERATION, c.LEADER, c.PROTOCOL, c.MEMBERS, c.STARTED_MS, c.STABLE_MS)
    assert rows_of(found, *names) == [
        (1, "ada", "range", 3, 5, 7),
        (2, "bea-1", None, 1, 9, None),
    ]


def test_generations_of_recorded_runs_are_those_that_their_rebalances_end_in(recorded):
    found = rows_of(recorded.events.transform(generations), c.RUN, c.GROUP, c.GENERATION)

    ended = {
        (run, each.group, each.generation)
        for run, measures in recorded.measures.items()
        for each in measures.rebalances
        if each.ended_in == "Stable"
    }
    assert ended - set(found) == set()
    assert len(found) == len(set(found))


def test_requests_are_timed_by_kind_and_error(spark):
    frame = events(
        spark,
        *(
            an_event(HEARD, 9, request="JoinGroup", error="NONE", duration_ms=ms)
            for ms in (1, 3, 8)
        ),
        an_event(HEARD, 9, request="JoinGroup", error="NOT_COORDINATOR", duration_ms=4),
        an_event(WorldEventKind.REQUEST_LOST, 9, request="JoinGroup"),
    )

    found = frame.transform(request_latency)

    assert found.schema.simpleString() == schemas.REQUEST_LATENCY.simpleString()
    assert rows_of(found, c.ERROR, c.REQUESTS, c.P50_MS, c.MAX_MS) == [
        ("LOST", 1, None, None),
        ("NONE", 3, 3.0, 8),
        ("NOT_COORDINATOR", 1, 4.0, 4),
    ]


def test_requests_of_recorded_runs_are_as_many_as_were_answered(recorded):
    found = recorded.events.transform(request_latency).where("error != 'LOST'")

    answered = Counter(
        (run, row.group, row.request, row.error)
        for run, rows in recorded.rows.items()
        for row in rows
        if row.kind == HEARD.value
    )
    names = (c.RUN, c.GROUP, c.REQUEST, c.ERROR, c.REQUESTS)
    assert rows_of(found, *names) == sorted((*key, count) for key, count in answered.items())


def test_heartbeats_are_counted_whether_they_were_folded_or_played(spark):
    frame = events(
        spark,
        an_event(WorldEventKind.HEARTBEATS_ANSWERED, 5, client="ada", count=12),
        an_event(HEARD, 6, client="ada", request="Heartbeat", error="REBALANCE_IN_PROGRESS"),
        an_event(HEARD, 7, client="ada", request="JoinGroup", error="NONE"),
        an_event(WorldEventKind.TIMER_FIRED, 60, client="ada", detail="session"),
    )

    found = frame.transform(heartbeats)

    assert found.schema.simpleString() == schemas.HEARTBEATS.simpleString()
    assert rows_of(found, c.CLIENT, c.BEATS, c.REFUSED, c.EXPIRED) == [("ada", 13, 1, 1)]


def test_a_coordinator_s_move_is_over_when_its_groups_are_loaded(spark):
    frame = events(
        spark,
        an_event(MOVED, 10, group=None, partition=3, broker=2),
        an_event(MOVED, 11, group=None, partition=4, broker=1),
        an_event(EventKind.SHARD_LOADED, 15, group=None, partition=3, broker=2, count=7),
        an_event(MOVED, 20, group=None, partition=4, broker=2),
        an_event(EventKind.SHARD_LOADED, 25, group=None, partition=4, broker=2, count=0),
    )

    found = frame.transform(coordinator_moves)

    assert found.schema.simpleString() == schemas.COORDINATOR_MOVES.simpleString()
    assert rows_of(found, c.PARTITION, c.BROKER, c.MOVED_MS, c.LOADED_MS, c.GROUPS) == [
        (3, 2, 10, 15, 7),
        (4, 1, 11, None, None),
        (4, 2, 20, 25, 0),
    ]


def test_coordinators_of_recorded_runs_move_as_often_as_rows_say(recorded):
    found = recorded.events.transform(coordinator_moves).groupBy(c.RUN).count()

    assert rows_of(found, c.RUN, c.COUNT) == sorted(
        (run, moves)
        for run, rows in recorded.rows.items()
        if (moves := sum(row.kind == MOVED.value for row in rows))
    )
