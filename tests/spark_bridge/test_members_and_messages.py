"""Generations, requests and coordinators: counted by the rows themselves."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import Any

import pytest

from simulation.events import EventKind, Row, WorldEventKind
from simulation.folds.places import by_kind
from simulation.folds.rosters import Rosters
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.coordinators import coordinator_moves
from spark_bridge.generations import generations
from spark_bridge.requests import request_latency
from tests.spark_bridge.frames import an_event, events, rows_of

CHANGED, ELECTED = EventKind.STATE_CHANGED, EventKind.LEADER_ELECTED
SELECTED = EventKind.PROTOCOL_SELECTED
HEARD, MOVED = WorldEventKind.REPLY_RECEIVED, WorldEventKind.COORDINATOR_MOVED

pytestmark = pytest.mark.spark


def test_a_generation_has_a_leader_a_protocol_and_members(spark):
    frame = events(
        spark,
        an_event(EventKind.MEMBER_ADDED, 1, client="ada", member="ada-1"),
        an_event(ELECTED, 1, member="ada-1"),
        an_event(SELECTED, 5, generation=1, detail="sticky: cat-1; range: bea-1, ada-1"),
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
    assert [row[c.VOTES] for row in found.orderBy(c.GENERATION).collect()] == [
        {"range": ["ada", "bea-1"], "sticky": ["cat-1"]},
        None,
    ]


def test_generations_of_recorded_runs_are_those_that_a_walk_through_the_rows_finds(recorded):
    found = recorded.events.transform(generations).orderBy(c.RUN, c.SEQ).collect()

    assert [tuple(row) for row in found] == [
        (run, *each) for run in sorted(recorded.rows) for each in generations_in(recorded.rows[run])
    ]


def generations_in(rows: list[Row]) -> list[tuple[object, ...]]:
    """Each generation as the coordinator's rows tell it, one after the other."""
    rosters = Rosters()
    handlers = by_kind([rosters])
    leaders: dict[str | None, str | None] = {}
    votes: dict[str | None, str] = {}
    told: list[list[object]] = []
    at_work: dict[str | None, list[object]] = {}
    for row in rows:
        for handle in handlers.get(row.kind, ()):
            handle(row)
        if row.kind == ELECTED.value:
            leaders[row.group] = row.member
        elif row.kind == SELECTED.value:
            votes[row.group] = row.detail or ""
        elif row.kind in (CHANGED.value, "group_loaded", "group_removed"):
            before = at_work.pop(row.group, None)
            if before is not None and (row.kind, row.state) == (CHANGED.value, "Stable"):
                before[-1] = row.at_ms
            if (row.kind, row.state) == (CHANGED.value, "CompletingRebalance"):
                leader, chosen = rosters.name(leaders[row.group]), ballot(rosters, votes[row.group])
                facts = (row.group, row.seq, row.generation, leader, row.protocol, chosen)
                at_work[row.group] = [*facts, row.count, row.at_ms, None]
                told.append(at_work[row.group])
    return [tuple(each) for each in told]


def ballot(rosters: Rosters, told: str) -> dict[str, list[str]]:
    votes = dict(part.split(": ") for part in told.split("; "))
    return {name: sorted(map(rosters.name, ids.split(", "))) for name, ids in votes.items()}


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


def test_requests_of_recorded_runs_took_as_long_as_their_answers_say(recorded):
    found = recorded.events.transform(request_latency)

    took: dict[tuple[Any, ...], list[int]] = {}
    lost: Counter[tuple[Any, ...]] = Counter()
    for run, rows in recorded.rows.items():
        for row in rows:
            if row.kind == HEARD.value:
                key = (run, row.group, row.request, row.error)
                took.setdefault(key, []).append(row.duration_ms or 0)
            elif row.kind in ("request_lost", "reply_lost"):
                lost[run, row.group, row.request, "LOST"] += 1
    names = (c.RUN, c.GROUP, c.REQUEST, c.ERROR, c.REQUESTS, c.P50_MS, c.P99_MS, c.MAX_MS)
    answered = [
        (*key, len(all_ms), at_share(all_ms, 50), at_share(all_ms, 99), max(all_ms))
        for key, all_ms in took.items()
    ]
    unheard = [(*key, count, None, None, None) for key, count in lost.items()]
    assert [tuple(row) for row in found.select(*names).orderBy(*names[:4]).collect()] == sorted(
        answered + unheard, key=lambda told: told[:4]
    )


def at_share(all_ms: list[int], hundredths: int) -> object:
    """The value below which so many in a hundred lie, between two of them if need be."""
    place = (len(all_ms) - 1) * hundredths / 100
    low, high = sorted(all_ms)[int(place)], sorted(all_ms)[ceil(place)]
    return pytest.approx(low + (high - low) * (place % 1))


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


def test_coordinators_of_recorded_runs_move_as_their_rows_say(recorded):
    found = recorded.events.transform(coordinator_moves)

    moves: dict[tuple[str, int], tuple[Any, ...]] = {}
    for run, rows in recorded.rows.items():
        latest: dict[int | None, Row] = {}
        for row in rows:
            if row.kind == MOVED.value:
                latest[row.partition] = row
                moves[run, row.seq] = (row.partition, row.broker, row.at_ms, None, None)
            elif row.kind == "shard_loaded" and (moved := latest.pop(row.partition, None)):
                told = moves[run, moved.seq]
                moves[run, moved.seq] = (*told[:3], row.at_ms, row.count)
    names = (c.RUN, c.SEQ, c.PARTITION, c.BROKER, c.MOVED_MS, c.LOADED_MS, c.GROUPS)
    assert rows_of(found, *names) == sorted((*key, *told) for key, told in moves.items())
    assert moves
