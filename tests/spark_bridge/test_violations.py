from __future__ import annotations

import pytest

from simulation.checkers import check
from simulation.events import EventKind, Row, WorldEventKind
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.violations import (
    commits_of_others,
    generations_that_fall,
    two_processors_of_a_generation,
    violations,
)
from tests.spark_bridge.frames import an_event, events, rows_of

CHANGED, COMMITTED = EventKind.STATE_CHANGED, EventKind.OFFSET_COMMITTED
SHOWN = (c.OTHER_SEQ, c.SEQ, c.SEEN)

pytestmark = pytest.mark.spark


def moves(state: str, generation: int) -> Row:
    return an_event(CHANGED, 10, state=state, generation=generation)


def processes(client: str, generation: int, **facts: object) -> Row:
    place = {"topic": "t", "partition": 0, "generation": generation}
    return an_event(
        WorldEventKind.RECORDS_PROCESSED, 20, client=client, member=f"{client}-1", **place, **facts
    )


def commit(client: str, generation: int) -> Row:
    return an_event(COMMITTED, 30, client=client, member=f"{client}-1", generation=generation)


def test_a_new_generation_has_a_higher_number(spark):
    frame = events(
        spark,
        moves("CompletingRebalance", 1),
        moves("Stable", 1),
        moves("CompletingRebalance", 1),
        an_event(EventKind.GROUP_REMOVED, 11),
        moves("CompletingRebalance", 1),
    )

    found = frame.transform(generations_that_fall)

    assert rows_of(found, *SHOWN) == [(2, 3, "g went from generation 1 to 1")]


def test_a_partition_has_one_processor_in_a_generation(spark):
    frame = events(
        spark,
        processes("ada", 1),
        processes("ada", 1),
        processes("bea", 2),
        processes("cat", 2),
        processes("eva", 3, instance="pod"),
        processes("fay", 3, instance="pod"),
    )

    found = frame.transform(two_processors_of_a_generation)

    assert rows_of(found, *SHOWN) == [(3, 4, "bea and cat both processed t-0 in generation 2")]


def test_an_assignor_of_somebody_s_own_may_share_partitions(spark):
    shared = an_event(CHANGED, 5, state="CompletingRebalance", generation=1, protocol="mine")

    frame = events(spark, shared, processes("ada", 1), processes("bea", 1))

    assert frame.transform(two_processors_of_a_generation).collect() == []


def test_only_members_of_the_present_generation_commit(spark):
    frame = events(
        spark,
        an_event(EventKind.MEMBER_ADDED, 1, client="ada", member="ada-1"),
        moves("Stable", 4),
        commit("ada", 4),
        commit("ada", 3),
        commit("bea", 4),
        commit("ada", -1),
    )

    found = frame.transform(commits_of_others)

    assert rows_of(found, *SHOWN) == [
        (2, 4, "a commit of generation 3 in generation 4"),
        (2, 5, "a commit of bea, who is no member"),
    ]


def test_recorded_runs_are_without_violations_as_the_checkers_say(recorded):
    found = recorded.events.transform(violations)

    assert found.schema.simpleString() == schemas.VIOLATIONS.simpleString()
    assert found.count() == sum(len(check(rows)) for rows in recorded.rows.values())
