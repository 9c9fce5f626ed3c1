"""What stands in the band of a group, and in the lane of the script below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from groupsim.report.bands import NO_COORDINATOR, BandFold, Trouble
from simulation.chance import fixed
from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import by_kind
from simulation.world import Simulation


def told_of(rows: Sequence[Row]) -> BandFold:
    fold = BandFold()
    handlers = by_kind((fold,))
    for row in rows:
        for handle in handlers.get(row.kind, ()):
            handle(row)
    return fold


def a_group_on_three_brokers() -> Simulation:
    sim = Simulation(seed=1, brokers=3)
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("30s")
    return sim


def a_row(kind: Kind, at_ms: int, **facts: Any) -> Row:
    return Row(seq=at_ms, at_ms=at_ms, kind=kind.value, run="a-run", **facts)


@pytest.mark.parametrize("way", ["its broker dies", "it is moved"])
def test_a_group_has_no_coordinator_until_another_broker_has_read_its_log(way):
    sim = a_group_on_three_brokers()
    leader = sim.stage.coordinator_of("checkout")
    assert leader is not None
    if way == "it is moved":
        sim.move_coordinator("checkout", leader.id % 3 + 1, load="10s")
    else:
        sim.crash_broker(leader.id, load="10s")
    sim.run_for("30s")

    stays = told_of(sim.events).states(60_000)

    without = [stay for stay in stays if stay.state == NO_COORDINATOR]
    assert [(stay.from_ms, stay.to_ms) for stay in without] == [(30_000, 40_000)]


def test_a_group_that_is_not_in_the_log_is_gone_once_that_is_read():
    fold = told_of(
        [
            a_row(EventKind.GROUP_CREATED, 1_000, group="checkout", broker=1, state="Empty"),
            a_row(WorldEventKind.BROKER_CRASHED, 5_000, broker=1),
            a_row(EventKind.SHARD_LOADING, 5_000, broker=2, partition=7),
            a_row(EventKind.SHARD_LOADED, 6_000, broker=2, partition=7, count=0),
        ]
    )

    assert [(stay.state, stay.to_ms) for stay in fold.states(9_000)] == [
        *(("Empty", 5_000), (NO_COORDINATOR, 6_000))
    ]


def test_what_a_script_changes_is_told_at_its_moment_and_what_follows_from_it_is_not():
    sim = a_group_on_three_brokers()
    sim.add_partitions("orders", 4)
    sim.run_for("1s")
    sim.link("ada", 2, latency=fixed(9))
    sim.crash_broker(2)
    sim.run_for("1s")

    assert told_of(sim.events).troubles(32_000) == [
        Trouble(what="topic orders has 4 partitions", from_ms=30_000, to_ms=30_000),
        Trouble(what="broker 2 is down", from_ms=31_000, to_ms=32_000),
        Trouble(what="messages of ada and broker 2 take 9ms", from_ms=31_000, to_ms=31_000),
    ]


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ("slow_append checkout by 1m30s", "the log of checkout takes 1m30s to write"),
        ("slow_append checkout", "the log of checkout is slow to write"),
        ("fail_append checkout", "the log of checkout takes no writes"),
        ("partition ada from broker 2", "ada is cut off from broker 2"),
        (
            "partition ada from broker 2 one_way to_broker",
            "nothing of ada reaches broker 2",
        ),
        (
            "partition ada from broker 2 one_way to_client",
            "nothing of broker 2 reaches ada",
        ),
        ("hold all of ada to broker 2", "requests of ada to broker 2 are held"),
        ("hold SyncGroup of ada to broker 2", "SyncGroup of ada to broker 2 is held"),
        ("slow ada to broker 2 by 200ms", "messages of ada and broker 2 take 200ms longer"),
        ("slow ada to broker 2", "messages of ada and broker 2 are slow"),
        ("something new", "something new"),
    ],
)
def test_a_fault_is_told_in_words(detail, words):
    fold = told_of([a_row(WorldEventKind.FAULT_STARTED, 5_000, detail=detail)])

    assert [each.what for each in fold.troubles(9_000)] == [words]
