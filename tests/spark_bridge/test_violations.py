"""Each sentence is broken by a log written here, and kept by another that comes near.

All logs are runs of one frame, so that Spark goes through them once. The simulator's own checkers,
which share no code with these, must say the same of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from simulation.checkers import check
from simulation.events import NOTHING_COMMITTED, EventKind, Row, WorldEventKind
from simulation.parquet_sink import ParquetSink
from simulation.random_worlds import draw_world
from simulation.recorder import MemorySink
from simulation.run_directory import RunFile
from simulation.world_plans import prepare
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.ingest import read_events
from spark_bridge.violations import violations
from tests.spark_bridge.frames import an_event, events

pytestmark = pytest.mark.spark

COMPLETING, STABLE, EMPTY = "CompletingRebalance", "Stable", "Empty"
#: Random worlds with coordinators that move, writes that fail, seeks and cooperative groups.
WORLDS = (11, 12, 0)


# --- what rows say ---


def created() -> Row:
    return an_event(EventKind.GROUP_CREATED, 0, state=EMPTY, generation=0)


def moves(state: str, generation: int, **facts: Any) -> Row:
    return an_event(EventKind.STATE_CHANGED, 10, state=state, generation=generation, **facts)


def loaded(generation: int, count: int, **facts: Any) -> Row:
    facts = {"state": STABLE, "generation": generation, "count": count} | facts
    return an_event(EventKind.GROUP_LOADED, 12, **facts)


def of(client: str, **facts: Any) -> dict[str, Any]:
    """Whom a row is about."""
    return {"client": client, "member": f"{client}-1"} | facts


def at(partition: int = 0, **facts: Any) -> dict[str, Any]:
    """Which partition a row is about."""
    return {"topic": "t", "partition": partition} | facts


def joins(client: str, **facts: Any) -> Row:
    return an_event(EventKind.MEMBER_ADDED, 1, **of(client, **facts))


def rejoins(client: str, **facts: Any) -> Row:
    return an_event(EventKind.MEMBER_REJOINED, 8, **of(client, **facts))


def comes_back(client: str, instead_of: str, **facts: Any) -> Row:
    told = of(client, detail=f"it replaced {instead_of}", **facts)
    return an_event(EventKind.MEMBER_REPLACED, 9, **told)


def processes(client: str, generation: int, **facts: Any) -> Row:
    place = at(offset=0, end_offset=5, generation=generation)
    return an_event(WorldEventKind.RECORDS_PROCESSED, 20, **of(client, **facts), **place)


def commits(client: str, offset: int, generation: int = 1, **facts: Any) -> Row:
    told = of(client, generation=generation) | at(offset=offset) | facts
    return an_event(EventKind.OFFSET_COMMITTED, 30, **told)


def takes(client: str, **facts: Any) -> Row:
    return an_event(WorldEventKind.PARTITION_ASSIGNED, 25, **of(client, **facts), **at())


def gives_up(client: str) -> Row:
    return an_event(WorldEventKind.PARTITION_REVOKED, 26, **of(client), **at())


def goes_to(client: str, offset: int, why: str) -> Row:
    return an_event(WorldEventKind.POSITION_SET, 27, **of(client), **at(offset=offset), detail=why)


def hears(client: str, offset: int) -> Row:
    return an_event(WorldEventKind.COMMIT_ACKNOWLEDGED, 31, **of(client), **at(offset=offset))


def a_group(*clients: str, protocol: str = "range") -> tuple[Row, ...]:
    """Members that are at rest in generation 1, known for certain."""
    count = len(clients)
    return (
        created(),
        *map(joins, clients),
        moves(COMPLETING, 1, protocol=protocol, count=count),
        moves(STABLE, 1, protocol=protocol, count=count),
    )


COOPERATIVE = a_group("ada", "bea", protocol="cooperative-sticky")
SENT, RECEIVED = WorldEventKind.REQUEST_SENT, WorldEventKind.REQUEST_RECEIVED
WRITTEN, FAILED = WorldEventKind.WRITE_COMMITTED, EventKind.WRITE_FAILED


def request(seq: int, cause: int | None) -> tuple[Row, Row]:
    """A commit on its way, in two rows."""
    facts = {"client": "ada", "request": "OffsetCommit"}
    return (
        an_event(SENT, 28, seq=seq, cause=cause, **facts),
        an_event(RECEIVED, 29, seq=seq + 1, cause=seq, **facts),
    )


# fmt: off

#: Logs that break a sentence: the rows, then the checker, the row, the one it contradicts, and why.
BROKEN: Mapping[str, tuple[tuple[Row, ...], str, int, int, str]] = {
    "a generation comes twice": (
        (moves(COMPLETING, 1), moves(STABLE, 1), moves(COMPLETING, 1)),
        "GenerationsRise", 3, 2, "g went from generation 1 to 1"),
    "a group falls back": (
        (moves(STABLE, 4), moves("PreparingRebalance", 3)),
        "GenerationsRise", 2, 1, "g went from generation 4 to 3"),
    "two process a partition": (
        (processes("ada", 1), processes("bea", 2), processes("cat", 2), processes("cat", 2)),
        "OneProcessorPerGeneration", 3, 2, "bea and cat both processed t-0 of g in generation 2"),
    "two of one beginning process a partition": (
        (*a_group("ada", "bea"), processes("ada", 1), processes("bea", 1)),
        "OneProcessorPerGeneration", 7, 6, "ada and bea both processed t-0 of g in generation 1"),
    "a commit of an old generation": (
        (joins("ada"), moves(STABLE, 4), commits("ada", 5, 3)),
        "CommitsAreCurrent", 3, 2, "a commit of generation 3 in generation 4"),
    "a commit of no member": (
        (*a_group("ada"), commits("bea", 5)),
        "CommitsAreCurrent", 5, 4, "a commit of bea, who is no member"),
    "a commit without a generation among members": (
        (*a_group("ada"), commits("ada", 5, -1)),
        "CommitsAreCurrent", 5, 4, "a commit without a generation in a group that is Stable"),
    "a commit goes back": (
        (commits("ada", 9), commits("ada", 5)),
        "CommitsOnlyAdvance", 2, 1, "t-0 of g went back from 9 to 5, by ada"),
    "a seek explains one commit only": (
        (commits("ada", 9), goes_to("ada", 2, "seek"), commits("ada", 3), commits("ada", 2)),
        "CommitsOnlyAdvance", 4, 3, "t-0 of g went back from 3 to 2, by ada"),
    "another's seek explains nothing": (
        (commits("ada", 9), goes_to("bea", 2, "seek"), commits("ada", 5)),
        "CommitsOnlyAdvance", 3, 1, "t-0 of g went back from 9 to 5, by ada"),
    "a reset explains nothing once its reader has begun at what was committed": (
        (goes_to("ada", 0, NOTHING_COMMITTED), commits("bea", 9), goes_to("ada", 9, "committed"),
         commits("ada", 4)),
        "CommitsOnlyAdvance", 4, 2, "t-0 of g went back from 9 to 4, by ada"),
    "to begin at what was committed explains nothing": (
        (commits("bea", 4), goes_to("ada", 4, "committed"), commits("bea", 9), commits("ada", 5)),
        "CommitsOnlyAdvance", 4, 3, "t-0 of g went back from 9 to 5, by ada"),
    "two cooperative owners": (
        (*COOPERATIVE, takes("ada"), takes("bea")),
        "CooperativeOwnersAreAlone", 7, 6, "ada and bea both own t-0 of g"),
    "two static cooperative owners of this generation": (
        (created(), joins("ada", instance="a"), joins("bea", instance="b"),
         moves(COMPLETING, 1, count=2, protocol="cooperative-sticky"),
         moves(STABLE, 1, count=2, protocol="cooperative-sticky"),
         takes("ada", instance="a"), takes("bea", instance="b")),
        "CooperativeOwnersAreAlone", 7, 6, "ada and bea both own t-0 of g"),
    "a static owner is back in time for this generation": (
        (created(), joins("ada", instance="a"), joins("bea"),
         moves(COMPLETING, 1, count=2, protocol="cooperative-sticky"),
         moves(STABLE, 1, count=2, protocol="cooperative-sticky"), rejoins("bea"),
         comes_back("cat", "ada-1", instance="a"), rejoins("cat", instance="a"),
         moves(COMPLETING, 2, count=2, protocol="cooperative-sticky"),
         moves(STABLE, 2, count=2, protocol="cooperative-sticky"),
         takes("cat", instance="a"), takes("bea")),
        "CooperativeOwnersAreAlone", 12, 11, "cat and bea both own t-0 of g"),
    "an acknowledged commit is lost": (
        (commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 4, "committed")),
        "AcknowledgedCommitsSurvive", 4, 2,
        "bea began t-0 of g at 4, committed; 9 was acknowledged"),
    "an acknowledged commit is lost by a reset": (
        (commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 0, "reset")),
        "AcknowledgedCommitsSurvive", 4, 2,
        "bea began t-0 of g at 0, reset; 9 was acknowledged"),
    "an acknowledged commit is gone, and its reader sent beyond it": (
        (commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 30, NOTHING_COMMITTED)),
        "AcknowledgedCommitsSurvive", 4, 2,
        "bea began t-0 of g at 30, reset (no committed offset); 9 was acknowledged"),
    "an acknowledged commit is gone, and the records before it as well": (
        (commits("ada", 9), hears("ada", 9), takes("bea"),
         an_event(WorldEventKind.LOG_START_MOVED, 32, group=None, **at(offset=20)),
         goes_to("bea", 20, NOTHING_COMMITTED)),
        "AcknowledgedCommitsSurvive", 5, 2,
        "bea began t-0 of g at 20, reset (no committed offset); 9 was acknowledged"),
}

#: Logs that come near, and break nothing.
KEPT: Mapping[str, tuple[Row, ...]] = {
    "a group that is gone begins anew": (
        moves(COMPLETING, 3), an_event(EventKind.GROUP_REMOVED, 11), moves(COMPLETING, 1)),
    "a load takes the generation back": (
        moves(STABLE, 4), loaded(3, 1), moves(COMPLETING, 4)),
    "one after the other processes": (processes("ada", 1), processes("bea", 2)),
    "a static member is back": (
        processes("ada", 3, instance="pod"),
        an_event(EventKind.MEMBER_REPLACED, 21, **of("bea", instance="pod"),
                 detail="it replaced ada-1"),
        processes("bea", 3, instance="pod")),
    "an assignor of somebody's own shares": (
        moves(COMPLETING, 1, protocol="mine"), processes("ada", 1), processes("bea", 1)),
    # The generation was not written down when its coordinator moved: its number is given out again.
    "a generation that was lost comes again": (
        *a_group("ada", "bea"), rejoins("ada"), rejoins("bea"), moves(COMPLETING, 2),
        loaded(1, 2), rejoins("bea"), moves(COMPLETING, 2),
        processes("ada", 2), processes("bea", 2)),
    "anyone commits in an empty group": (created(), commits("ada", 5, -1, member=None)),
    "a commit of somebody of whom a load leaves doubt": (
        *a_group("ada"), loaded(1, 2), commits("bea", 5)),
    "a seek explains a commit": (
        commits("ada", 9), goes_to("ada", 2, "seek"), commits("ada", 3)),
    "a reset explains a commit once more": (
        commits("ada", 9), goes_to("ada", 9, "committed"), goes_to("ada", 2, "reset"),
        commits("ada", 3)),
    "a repetition from before the reset comes after it": (
        goes_to("ada", 0, "reset"), commits("ada", 9, cause=50), commits("ada", 0)),
    "a reset explains a commit": (
        commits("ada", 9), goes_to("ada", 2, "reset"), commits("ada", 3)),
    "an offset is forgotten": (
        commits("ada", 9), an_event(EventKind.OFFSET_REMOVED, 30, **at()), commits("ada", 5)),
    "an offset is given by hand": (
        commits("ada", 9), an_event(WorldEventKind.OFFSET_GIVEN, 30, **of("ada"), **at(offset=5)),
        commits("ada", 5)),
    "a commit from outside the group": (commits("ada", 9), commits("ada", 5, -1, member=None)),
    "a request is overtaken": (
        *request(1, 99), *request(3, 99),
        commits("ada", 9, cause=4, seq=5), commits("ada", 5, cause=2, seq=6)),
    "a request that was overtaken goes ahead of the newest": (
        *request(1, 99), *request(3, 99), commits("ada", 5, cause=4, seq=5),
        commits("ada", 9, cause=2, seq=6), *request(7, 99), commits("ada", 5, cause=8, seq=9)),
    "a commit has waited for its coordinator": (
        commits("ada", 9, seq=1),
        an_event(WorldEventKind.REPLY_RECEIVED, 30, **of("ada"), request="FindCoordinator", seq=2),
        *request(3, 2), commits("ada", 5, cause=4, seq=5)),
    "a script commits": (
        commits("ada", 9, seq=1), *request(2, None), commits("ada", 5, cause=3, seq=4)),
    "a topic comes again": (
        commits("ada", 9), an_event(WorldEventKind.TOPIC_DELETED, 30, group=None, topic="t"),
        commits("ada", 5)),
    "a cooperative partition changes hands": (
        *COOPERATIVE, takes("ada"), gives_up("ada"), takes("bea")),
    "a cooperative owner dies": (
        *COOPERATIVE, takes("ada"), an_event(WorldEventKind.CONSUMER_CRASHED, 26, client="ada"),
        takes("bea")),
    "a cooperative owner is no member any more": (
        *COOPERATIVE, takes("ada"), an_event(EventKind.MEMBER_REMOVED, 26, **of("ada")),
        takes("bea")),
    "eager owners overlap": (*a_group("ada", "bea"), takes("ada"), takes("bea")),
    "a static owner has missed the generation": (
        created(), joins("ada", instance="a"), joins("bea"),
        moves(COMPLETING, 1, count=2, protocol="cooperative-sticky"),
        moves(STABLE, 1, count=2, protocol="cooperative-sticky"),
        takes("ada", instance="a"), rejoins("bea"),
        moves(COMPLETING, 2, count=2, protocol="cooperative-sticky"),
        moves(STABLE, 2, count=2, protocol="cooperative-sticky"), takes("bea")),
    "a static owner was back before, and has missed the generation": (
        created(), joins("ada", instance="a"), joins("bea"),
        moves(COMPLETING, 1, count=2, protocol="cooperative-sticky"),
        moves(STABLE, 1, count=2, protocol="cooperative-sticky"),
        comes_back("cat", "ada-1", instance="a"), takes("cat", instance="a"),
        rejoins("bea"), moves(COMPLETING, 2, count=2, protocol="cooperative-sticky"),
        moves(STABLE, 2, count=2, protocol="cooperative-sticky"), takes("bea")),
    "the next owner begins where it was acknowledged": (
        commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 9, "committed")),
    "only the first position counts": (
        commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 9, "committed"),
        goes_to("bea", 2, "reset")),
    "the next owner seeks": (
        commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 2, "seek")),
    "the acknowledged offset is forgotten": (
        commits("ada", 9), hears("ada", 9), an_event(EventKind.OFFSET_REMOVED, 32, **at()),
        takes("bea"), goes_to("bea", 0, NOTHING_COMMITTED)),
    "the next owner is sent on from what was committed": (
        commits("ada", 9), hears("ada", 9), takes("bea"), goes_to("bea", 30, "reset")),
    "a topic that comes again has nothing committed": (
        an_event(WorldEventKind.TOPIC_DELETED, 5, group=None, topic="t"), commits("ada", 9),
        hears("ada", 9), takes("bea"), goes_to("bea", 30, NOTHING_COMMITTED)),
    "the records are gone": (
        commits("ada", 9), hears("ada", 9), takes("bea"),
        an_event(WorldEventKind.LOG_START_MOVED, 32, group=None, **at(offset=20)),
        goes_to("bea", 0, "reset")),
    "what was acknowledged late is not what is committed": (
        commits("ada", 5), commits("ada", 9), hears("ada", 5), takes("bea"),
        goes_to("bea", 4, "committed")),
    "a commit whose write fails never was": (
        commits("ada", 9, cause=50), an_event(FAILED, 31, cause=50), commits("ada", 5, cause=51)),
}

# fmt: on


def rows_of(run: str, log: tuple[Row, ...]) -> list[Row]:
    return [evolve(row, run=run, seq=row.seq or place) for place, row in enumerate(log, 1)]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Mapping[str, list[tuple[object, ...]]]:
    """What Spark finds in each of the logs."""
    logs = {name: log for name, (log, *_) in BROKEN.items()} | dict(KEPT)
    rows = [row for name, log in logs.items() for row in rows_of(name, log)]
    told: dict[str, list[tuple[object, ...]]] = {name: [] for name in logs}
    for row in events(spark, *rows).transform(violations).collect():
        told[row[c.RUN]].append((row[c.CHECKER], row[c.SEQ], row[c.OTHER_SEQ], row[c.SEEN]))
    return told


@pytest.mark.parametrize("name", BROKEN)
def test_a_log_that_breaks_a_sentence_is_found_with_its_rows(found, name):
    log, *expected = BROKEN[name]

    assert found[name] == [tuple(expected)]
    assert [(each.checker, each.rows[-1], each.seen) for each in check(rows_of(name, log))] == [
        (expected[0], expected[1], expected[3])
    ]


@pytest.mark.parametrize("name", KEPT)
def test_a_log_that_comes_near_breaks_nothing(found, name):
    assert found[name] == []
    assert check(rows_of(name, KEPT[name])) == ()


def test_recorded_runs_and_random_worlds_are_without_violations(spark, recorded, tmp_path):
    rows = [*recorded.rows.values(), *(play(seed, tmp_path / f"world-{seed}") for seed in WORLDS)]

    found = recorded.events.unionByName(read_events(spark, tmp_path)).transform(violations)

    assert found.schema.simpleString() == schemas.VIOLATIONS.simpleString()
    assert found.collect() == []
    assert [check(of_run) for of_run in rows] == [()] * len(rows)


def play(seed: int, path: Path) -> list[Row]:
    """Record a random world as a run, and give its rows."""
    world, sink = draw_world(seed), MemorySink()
    sim = prepare(world, sink=sink)
    sim.run_for(world.runs_for_ms())
    sim.end()
    with ParquetSink(path) as file:
        for row in sink.rows:
            file.take(evolve(row, run=path.name))
        file.finish(RunFile(run=path.name, scenario={}, seed=seed, versions={}, outcome={}))
    return sink.rows
