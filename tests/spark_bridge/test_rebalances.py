from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from simulation.events import EventKind, Row, WorldEventKind
from simulation.measures import Rebalance, measure
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.rebalances import rebalance_phases, rebalances
from tests.spark_bridge.frames import an_event, events, rows_of

ASSIGNED, RECEIVED = WorldEventKind.PARTITION_ASSIGNED, WorldEventKind.REQUEST_RECEIVED
PREPARING, COMPLETING, STABLE = "PreparingRebalance", "CompletingRebalance", "Stable"

#: So many rows make a run that can be looked at often.
SMALL = 5_000
PENDING_CAT = "pending cat to come back with the member id"

pytestmark = pytest.mark.spark


def moves_to(state: str, at_ms: int, detail: str, **facts: object) -> Row:
    return an_event(EventKind.STATE_CHANGED, at_ms, state=state, detail=detail, **facts)


def given(at_ms: int, client: str, partition: int) -> Row:
    return an_event(ASSIGNED, at_ms, client=client, topic="t", partition=partition)


def added(at_ms: int, client: str) -> Row:
    return an_event(EventKind.MEMBER_ADDED, at_ms, client=client, member=f"{client}-1")


def rejoined(at_ms: int, client: str) -> Row:
    return an_event(EventKind.MEMBER_REJOINED, at_ms, client=client, member=f"{client}-1")


def id_given(at_ms: int, client: str) -> Row:
    return an_event(EventKind.MEMBER_ID_GIVEN, at_ms, client=client, member=f"{client}-1")


def completed(at_ms: int) -> Row:
    """A generation begins."""
    return moves_to(COMPLETING, at_ms, "everyone has joined")


def joins_over(at_ms: int, detail: str) -> Row:
    return an_event(EventKind.JOIN_PHASE_ENDED, at_ms, detail=detail)


def test_a_rebalance_has_a_cause_phases_a_holder_and_moves(spark):
    frame = events(
        spark,
        added(0, "ada"),
        added(0, "bea"),
        an_event(EventKind.LEADER_ELECTED, 0, member="ada-1"),
        given(1, "ada", 0),
        given(1, "ada", 1),
        an_event(RECEIVED, 10, request="JoinGroup"),
        moves_to(
            *(PREPARING, 10, "member bea-1 joined; client reason: hello"),
            cause=6,
            generation=1,
            count=2,
            duration_ms=300,
        ),
        an_event(EventKind.MEMBER_REJOINED, 40, member="ada-1"),
        joins_over(40, "everyone has joined"),
        moves_to(COMPLETING, 40, "everyone has joined", generation=2, count=2),
        an_event(RECEIVED, 45, request="SyncGroup", member="bea-1"),
        an_event(RECEIVED, 48, request="SyncGroup", member="ada-1"),
        moves_to(STABLE, 50, "written", generation=2, count=2, protocol="range"),
        given(51, "ada", 0),
        given(51, "bea", 1),
    )

    found = frame.transform(rebalances)

    assert found.schema.simpleString() == schemas.REBALANCES.simpleString()
    [row] = found.collect()
    assert {name: row[name] for name in row.__fields__ if name not in (c.RUN, c.GROUP)} == {
        c.SEQ: 7,
        c.TRIGGER: "JoinGroup",
        c.REASON: "member bea joined",
        c.CLIENT_REASON: "hello",
        c.STARTED_MS: 10,
        c.ENDED_MS: 50,
        c.ENDED_IN: STABLE,
        c.AWAITED: None,
        c.DURATION_MS: 40,
        c.GENERATION: 2,
        c.PROTOCOL: "range",
        c.MEMBERS: 2,
        c.PHASES: [(PREPARING, 10, 40), (COMPLETING, 40, 50)],
        c.AWAITING_JOINS_MS: 30,
        c.AWAITING_LEADER_MS: 8,
        c.SYNCING_MS: 2,
        c.HELD_BY: "ada",
        c.HELD_WHY: "which joined last",
        c.HELD_FROM_MS: 10,
        c.HELD_UNTIL_MS: 40,
        c.DEADLINE_MS: 310,
        c.MOVED: 1,
    }


def test_a_rebalance_may_be_held_by_a_static_member_that_comes_back_last(spark):
    back = {"client": "bea", "member": "bea-2", "detail": "it replaced bea-1"}
    frame = events(
        spark,
        added(0, "ada"),
        added(0, "bea"),
        moves_to(PREPARING, 10, "session of cat-1 expired"),
        rejoined(11, "ada"),
        an_event(EventKind.MEMBER_REPLACED, 17, **back),
        joins_over(17, "everyone has joined"),
        completed(17),
        moves_to(STABLE, 18, "written"),
    )

    [row] = frame.transform(rebalances).collect()

    assert (row[c.HELD_BY], row[c.HELD_FROM_MS], row[c.HELD_UNTIL_MS]) == ("bea", 10, 17)


def test_a_rebalance_that_the_end_cuts_off_is_open_and_counts_up_to_the_end(spark):
    frame = events(
        spark,
        moves_to(PREPARING, 10, "member bea-1 joined", count=1),
        an_event(WorldEventKind.RUN_ENDED, 90, group=None),
    )

    found = frame.transform(rebalances)

    names = (c.ENDED_MS, c.ENDED_IN, c.DURATION_MS, c.AWAITING_JOINS_MS, c.HELD_BY)
    assert rows_of(found, *names) == [(None, None, 80, 80, None)]
    assert rows_of(found.transform(rebalance_phases), c.STATE, c.STARTED_MS, c.ENDED_MS) == [
        (PREPARING, 10, 90)
    ]


@pytest.mark.parametrize(
    ("rows", "awaited"),
    [
        ((added(0, "ada"), added(0, "bea")), "the initial delay, which gathers the first members"),
        ((id_given(20, "cat"),), PENDING_CAT),
        ((added(0, "ada"), completed(5), added(6, "bea")), "ada to join"),
        ((added(0, "ada"), added(0, "bea"), completed(5), id_given(6, "cat")), "ada, bea to join"),
        ((added(0, "ada"), completed(5), rejoined(6, "ada"), id_given(7, "cat")), PENDING_CAT),
    ],
)
def test_a_wait_for_joins_that_goes_on_says_whom_it_waits_for(spark, rows, awaited):
    frame = events(spark, *rows, moves_to(PREPARING, 10, "member cat-1 joined", count=1))

    assert rows_of(frame.transform(rebalances), c.AWAITED) == [(awaited,)]


def test_a_wait_for_the_assignment_that_goes_on_waits_for_the_leader(spark):
    frame = events(
        spark,
        added(0, "ada"),
        an_event(EventKind.LEADER_ELECTED, 0, member="ada-1"),
        moves_to(PREPARING, 10, "member ada-1 joined", count=1),
        moves_to(COMPLETING, 20, "everyone has joined"),
    )

    assert rows_of(frame.transform(rebalances), c.AWAITED) == [("leader ada to assign",)]


def test_a_coordinator_that_gives_the_group_up_ends_its_rebalance(spark):
    frame = events(
        spark,
        moves_to(PREPARING, 10, "member bea-1 joined", count=1),
        an_event(EventKind.GROUP_LOADED, 30, state=STABLE, generation=4, count=2),
        moves_to(PREPARING, 60, "session of ada-1 expired", count=1),
        an_event(EventKind.GROUP_REMOVED, 70),
    )

    found = frame.transform(rebalances)

    names = (c.SEQ, c.STARTED_MS, c.ENDED_MS, c.ENDED_IN, c.GENERATION)
    assert rows_of(found, *names) == [(1, 10, 30, STABLE, 4), (3, 60, 70, "Dead", None)]


@pytest.mark.parametrize(
    ("detail", "who", "why"),
    [
        ("pending member bea-1 never came back", "pending member bea", "which never came back"),
        ("session of bea-1 expired", "bea", "whose session expired"),
        ("the timer was due; still awaited: ada-1, bea-1", "ada, bea", "awaited in vain"),
        ("the initial delay was over", "the initial delay", "which gathers the first members"),
    ],
)
def test_the_end_of_the_wait_for_joins_says_who_held_it(spark, detail, who, why):
    frame = events(
        spark,
        added(0, "ada"),
        added(0, "bea"),
        moves_to(PREPARING, 10, "member bea-1 joined", count=1),
        joins_over(60, detail),
        moves_to(COMPLETING, 60, detail),
        moves_to(STABLE, 61, "written"),
    )

    found = frame.transform(rebalances)

    assert rows_of(found, c.HELD_BY, c.HELD_WHY, c.HELD_UNTIL_MS) == [(who, why, 60)]


def test_the_leader_of_the_time_holds_the_wait_for_its_assignment(spark):
    frame = events(
        spark,
        added(0, "ada"),
        an_event(EventKind.LEADER_ELECTED, 0, member="ada-1"),
        moves_to(PREPARING, 10, "member ada-1 joined", count=1),
        moves_to(COMPLETING, 20, "everyone has joined"),
        an_event(EventKind.LEADER_ELECTED, 80, member="bea-1"),
        moves_to(PREPARING, 80, "session of ada-1 expired; client reason: none"),
    )

    found = frame.transform(rebalances)

    assert rows_of(found, c.HELD_BY, c.HELD_WHY, c.HELD_FROM_MS, c.HELD_UNTIL_MS) == [
        ("leader ada", "until session of ada expired", 20, 80)
    ]


def test_a_rebalance_whose_coordinator_is_gone_says_what_it_waited_for(spark):
    frame = events(
        spark,
        moves_to(PREPARING, 10, "member ada-1 joined", count=1),
        moves_to(COMPLETING, 20, "everyone has joined"),
        an_event(EventKind.GROUP_LOADED, 80, state=STABLE, generation=1, count=1),
        moves_to(PREPARING, 90, "member ada-1 joined", count=1),
        moves_to("Dead", 95, "the coordinator gave its shard up"),
    )

    found = frame.transform(rebalances)

    assert rows_of(found, c.HELD_BY, c.HELD_WHY, c.HELD_FROM_MS, c.HELD_UNTIL_MS) == [
        ("the wait for joins", "until the coordinator was another", 90, 95),
        ("the wait for the assignment", "until the coordinator was another", 20, 80),
    ]


def test_rebalances_of_recorded_runs_are_those_of_the_measures(recorded):
    found = recorded.events.transform(rebalances).orderBy(c.RUN, c.SEQ).collect()

    assert [told(row) for row in found] == [
        measured(run, each)
        for run, measures in sorted(recorded.measures.items())
        for each in measures.rebalances
    ]


def test_rebalances_that_are_cut_off_wait_for_whom_the_measures_say(spark, recorded):
    cuts = [
        (run, f"{run} up to {each.seq + more}", each.seq + more)
        for run, measures in recorded.measures.items()
        if len(recorded.rows[run]) < SMALL
        for each in measures.rebalances
        for more in (0, 8)
    ]

    whole = recorded.events.withColumnRenamed(c.RUN, c.NAME)
    named = spark.createDataFrame(cuts, [c.NAME, c.RUN, c.END_SEQ])
    frame = whole.join(named, on=c.NAME).where(F.col(c.SEQ) <= F.col(c.END_SEQ))

    found = frame.select(*schemas.EVENTS.names).transform(rebalances)
    expected = sorted(
        (name, each.group, each.seq, each.awaited)
        for run, name, until in cuts
        for each in measure(recorded.rows[run][:until]).rebalances
        if each.awaited
    )
    is_open = F.col(c.AWAITED).isNotNull()
    assert rows_of(found.where(is_open), c.RUN, c.GROUP, c.SEQ, c.AWAITED) == expected
    endings = (" to join", " to assign", " to come back with the member id", " first members")
    found_endings = {each for each in endings for *_, words in expected if words.endswith(each)}
    assert found_endings == set(endings)
    assert all(words.endswith(endings) for *_, words in expected)


def told(row: object) -> tuple[object, ...]:
    """A row of the frame, in the words of the fold."""
    names = [name for name in schemas.REBALANCES.names if name not in NOT_MEASURED]
    return tuple(row[name] for name in names)  # type: ignore[index]


#: The fold does not tell the kind of trigger, and tells of an open end by its state alone.
NOT_MEASURED = (c.TRIGGER, c.ENDED_MS, c.AWAITING_JOINS_MS, c.AWAITING_LEADER_MS, c.SYNCING_MS)


def measured(run: str, each: Rebalance) -> tuple[object, ...]:
    held = each.held
    hold = (None,) * 4 if held is None else (held.who, held.why, held.started_ms, held.ended_ms)
    return (
        *(run, each.group, each.seq, each.cause, each.client_reason, each.started_ms),
        *(
            each.ended_in,
            each.awaited,
            each.duration_ms,
            each.generation,
            each.protocol,
            each.members,
        ),
        [(phase.state, phase.started_ms, phase.ended_ms) for phase in each.phases],
        *(*hold, each.deadline_ms, each.moved),
    )
