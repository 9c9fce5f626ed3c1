from __future__ import annotations

import pytest

from simulation.events import EventKind, Row, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.commits import commits, commits_refused, committed_offsets
from tests.spark_bridge.frames import PLACE, an_event, events, rows_of

COMMITTED, REFUSED = EventKind.OFFSET_COMMITTED, EventKind.COMMIT_REFUSED
WRITTEN, LOADED = WorldEventKind.WRITE_COMMITTED, EventKind.GROUP_LOADED

pytestmark = pytest.mark.spark


def commit(cause: int, partition: int, offset: int) -> Row:
    place = {"topic": "t", "partition": partition, "offset": offset}
    return an_event(COMMITTED, 10, client="ada", cause=cause, **place)


def answer(error: str) -> Row:
    sent = WorldEventKind.REPLY_SENT
    return an_event(sent, 10, client="ada", request="OffsetCommit", error=error)


def test_a_member_s_commits_are_counted_by_request(spark):
    frame = events(
        spark,
        answer("NONE"),
        answer("NONE"),
        answer("COORDINATOR_NOT_AVAILABLE"),
        an_event(WorldEventKind.COMMITS_REPEATED, 20, client="ada", count=7),
        an_event(REFUSED, 30, member="ada-1", client="ada", error="ILLEGAL_GENERATION"),
        an_event(WorldEventKind.COMMIT_FAILED, 40, client="ada", cause=9, error="TimeoutException"),
        an_event(WorldEventKind.RUN_ENDED, 2_000, group=None),
    )

    found = frame.transform(commits)

    assert found.schema.simpleString() == schemas.COMMITS.simpleString()
    names = (c.CLIENT, c.ACCEPTED, c.REPEATED, c.REFUSED, c.UNANSWERED, c.PER_S)
    assert rows_of(found, *names) == [("ada", 9, 7, 1, 1, 4.5)]


def test_refused_commits_are_counted_by_error_and_by_the_member_s_name(spark):
    frame = events(
        spark,
        an_event(EventKind.MEMBER_ADDED, 1, client="ada", member="ada-1"),
        an_event(REFUSED, 2, member="ada-1", error="ILLEGAL_GENERATION"),
        an_event(REFUSED, 3, member="ada-1", error="ILLEGAL_GENERATION"),
        an_event(REFUSED, 4, member="ada-1", error="UNKNOWN_MEMBER_ID"),
    )

    found = frame.transform(commits_refused)

    assert found.schema.simpleString() == schemas.COMMITS_REFUSED.simpleString()
    assert rows_of(found, c.CLIENT, c.ERROR, c.COUNT) == [
        ("ada", "ILLEGAL_GENERATION", 2),
        ("ada", "UNKNOWN_MEMBER_ID", 1),
    ]


def test_a_commit_that_was_not_written_when_the_coordinator_changed_never_was(spark):
    frame = events(
        spark,
        commit(101, 0, 5),
        an_event(WRITTEN, 10, group=None, cause=101),
        commit(102, 0, 8),
        an_event(LOADED, 11),
    )

    found = frame.transform(committed_offsets)

    assert rows_of(found, *PLACE, c.COMMITTED) == [("a-run", "g", "t", 0, 5)]


def test_commits_in_recorded_runs_are_those_of_the_measures(recorded):
    accepted = {
        tuple(row)[:3]: row[c.ACCEPTED] for row in recorded.events.transform(commits).collect()
    }
    refused = recorded.events.transform(commits_refused)

    for run, measures in recorded.measures.items():
        for member, count in measures.commits.items():
            assert accepted.get((run, *member), 0) == count
    assert rows_of(refused, c.RUN, c.GROUP, c.CLIENT, c.ERROR, c.COUNT) == sorted(
        (run, *member, error, count)
        for run, measures in recorded.measures.items()
        for member, errors in measures.commits_refused.items()
        for error, count in errors.items()
    )
