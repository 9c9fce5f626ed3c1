from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from simulation.events import EventKind, Row, WorldEventKind
from simulation.folds.places import by_kind
from simulation.folds.rosters import Rosters
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.deaths import detections
from spark_bridge.sessions import member_sessions
from tests.spark_bridge.frames import an_event, events, rows_of

REMOVED, REPLACED = EventKind.MEMBER_REMOVED, EventKind.MEMBER_REPLACED
CRASHED = WorldEventKind.CONSUMER_CRASHED
SESSION = (c.CLIENT, c.MEMBER, c.JOINED_MS, c.LEFT_MS, c.ENDED_BY, c.REASON)

pytestmark = pytest.mark.spark


def joins(at_ms: int, client: str) -> Row:
    return an_event(EventKind.MEMBER_ADDED, at_ms, client=client, member=f"{client}-1")


def leaves(at_ms: int, client: str, why: str) -> Row:
    return an_event(REMOVED, at_ms, client=client, member=f"{client}-1", detail=why)


def rests(at_ms: int) -> Row:
    return an_event(EventKind.STATE_CHANGED, at_ms, state="Stable")


def loads(at_ms: int) -> Row:
    return an_event(EventKind.GROUP_LOADED, at_ms, state="Stable")


def test_a_session_lasts_from_joining_to_whatever_ended_it(spark):
    frame = events(
        spark,
        joins(1, "ada"),
        joins(2, "bea"),
        leaves(30, "ada", "it left"),
        an_event(REPLACED, 40, client="bea", member="bea-2", detail="it replaced bea-1"),
    )

    sessions = frame.transform(member_sessions)

    assert sessions.schema.simpleString() == schemas.MEMBER_SESSIONS.simpleString()
    assert rows_of(sessions, *SESSION) == [
        ("ada", "ada-1", 1, 30, "member_removed", "it left"),
        ("bea", "bea-1", 2, 40, "member_replaced", "it replaced bea-1"),
        ("bea", "bea-2", 40, None, None, None),
    ]


def test_a_load_forgets_who_joined_and_brings_back_who_left_since_the_last_rest(spark):
    frame = events(
        spark,
        joins(1, "ada"),
        rests(2),
        joins(5, "bea"),
        leaves(6, "ada", "its session expired"),
        loads(10),
    )

    sessions = frame.transform(member_sessions)

    forgotten = "the coordinator moved before it was written down"
    assert rows_of(sessions, *SESSION) == [
        ("ada", "ada-1", 1, 6, "member_removed", "its session expired"),
        ("ada", "ada-1", 10, None, None, None),
        ("bea", "bea-1", 5, 10, "group_loaded", forgotten),
    ]


@pytest.mark.parametrize(("state", "is_written"), [("Stable", True), ("PreparingRebalance", False)])
def test_a_return_is_written_at_once_only_in_a_group_at_rest(spark, state, is_written):
    back = {"client": "ada", "member": "ada-2", "detail": "it replaced ada-1"}
    frame = events(
        spark,
        joins(1, "ada"),
        rests(2),
        an_event(REPLACED, 5, state=state, **back),
        loads(10),
    )

    sessions = frame.transform(member_sessions)

    now = sessions.where(F.col(c.LEFT_MS).isNull())
    expected = [("ada-2", 5)] if is_written else [("ada-1", 10)]
    assert rows_of(now, c.MEMBER, c.JOINED_MS) == expected


def test_a_death_is_detected_when_the_member_is_removed_or_never(spark):
    frame = events(
        spark,
        joins(1, "ada"),
        joins(1, "bea"),
        joins(1, "cat"),
        an_event(CRASHED, 20, client="ada"),
        an_event(CRASHED, 30, client="bea"),
        leaves(40, "cat", "it left"),
        leaves(63, "ada", "its session expired"),
    )

    found = frame.transform(detections)

    assert found.schema.simpleString() == schemas.DETECTIONS.simpleString()
    assert rows_of(found, c.CLIENT, c.MEMBER, c.CRASHED_MS, c.REMOVED_MS, c.REASON) == [
        ("ada", "ada-1", 20, 63, "its session expired"),
        ("bea", "bea-1", 30, None, None),
    ]


def test_a_static_member_that_came_back_was_never_missed(spark):
    frame = events(
        spark,
        joins(1, "ada"),
        an_event(CRASHED, 20, client="ada"),
        an_event(REPLACED, 40, client="ada", member="ada-2", detail="it replaced ada-1"),
    )

    assert frame.transform(detections).collect() == []


def test_deaths_in_recorded_runs_are_those_of_the_measures(recorded):
    found = recorded.events.transform(detections)

    names = (c.RUN, c.GROUP, c.CLIENT, c.CRASHED_MS, c.REMOVED_MS, c.REASON)
    assert rows_of(found, *names) == sorted(
        (run, death.group, death.client, death.died_ms, death.removed_ms, death.why)
        for run, measures in recorded.measures.items()
        for death in measures.deaths
    )


def test_sessions_in_recorded_runs_are_those_of_the_rosters(recorded):
    found = recorded.events.transform(member_sessions)

    names = (c.RUN, c.GROUP, c.MEMBER, c.FROM_SEQ, c.TO_SEQ)
    assert rows_of(found, *names) == sorted(
        (run, *session) for run, rows in recorded.rows.items() for session in sessions_in(rows)
    )


def sessions_in(rows: list[Row]) -> list[tuple[str, str, int, int | None]]:
    """From when to when the simulator's own roster has each member."""
    rosters = Rosters()
    handlers = by_kind([rosters])
    since: dict[tuple[str, str], int] = {}
    told: list[tuple[str, str, int, int | None]] = []
    for row in rows:
        for handle in handlers.get(row.kind, ()):
            handle(row)
        now = (
            set() if row.group is None else {(row.group, m) for m in rosters.of(row.group).members}
        )
        gone = [key for key in since if key[0] == row.group and key not in now]
        told += [(*key, since.pop(key), row.seq) for key in gone]
        since |= {key: row.seq for key in now if key not in since}
    return told + [(*key, from_seq, None) for key, from_seq in since.items()]
