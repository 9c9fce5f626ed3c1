"""Groups that come to rest after the last disturbance, and groups that do not."""

from __future__ import annotations

import pytest
from attrs import evolve

from client.assignors import FunctionAssignor, GroupAssignment
from client.calls import AsyncConsumer
from client.settings import ConsumerConfig
from simulation.checkers import Patience, check
from simulation.errors import SimulationError
from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from simulation.world import Simulation
from tests.support.rows import (
    a_recording,
    a_stable_group,
    an_event,
    found_in,
    moves,
    starts_reading,
    the_end,
)

PATIENCE = Patience.of(
    [ConsumerConfig(group_id="checkout", client_id="ada")], topics={"ada": "orders"}
)
#: 45 s session, 300 s rebalance, 305 s for a join, 36 s to connect, 3.6 s of back-offs,
#: 3 s heartbeat, 300 s for old metadata.
SETTLE_MS = 992_600


def a_world_with_ada(*events):
    return (
        an_event(W.TOPIC_CREATED, 0, topic="orders", count=1),
        an_event(W.CONSUMER_STARTED, 0, client="ada"),
        *events,
        the_end(SETTLE_MS),
    )


def test_the_patience_of_kafkas_defaults_adds_up():
    assert PATIENCE.settle_ms == SETTLE_MS


def test_a_group_that_does_not_come_to_rest_is_found():
    events = a_world_with_ada(moves(500, "PreparingRebalance"))

    assert found_in(*events, patience=PATIENCE) == [("Liveness", (2,))]


def test_what_is_found_is_of_the_moment_when_rest_was_due():
    events = a_world_with_ada(moves(500, "PreparingRebalance"))

    (found,) = check(a_recording(*events), patience=PATIENCE)

    assert str(found).startswith(
        f"Liveness at {SETTLE_MS} ms, rows 2: checkout is PreparingRebalance"
        f" {SETTLE_MS} ms after the last disturbance"
    )


def test_a_group_that_nobody_asked_to_join_is_found_by_its_name():
    (found,) = check(a_recording(*a_world_with_ada()), patience=PATIENCE)

    assert found.seen.startswith(f"no coordinator knows checkout {SETTLE_MS} ms after")


def test_a_group_that_rebalances_again_and_keeps_its_partitions_is_found_too():
    events = a_world_with_ada(
        moves(500, "Stable"), *starts_reading("ada", 600), moves(700, "PreparingRebalance")
    )

    assert found_in(*events, patience=PATIENCE) == [("Liveness", (2,))]


def test_a_partition_that_nobody_takes_is_found():
    events = a_world_with_ada(moves(500, "Stable"))

    assert found_in(*events, patience=PATIENCE) == [("Liveness", (2,))]


def test_a_group_at_rest_with_all_partitions_owned_is_innocent():
    events = a_world_with_ada(moves(500, "Stable"), *starts_reading("ada", 600))

    assert found_in(*events, patience=PATIENCE) == []


def test_a_partition_keeps_its_owner_when_a_member_that_was_away_takes_it_up_and_loses_it():
    events = a_world_with_ada(
        moves(500, "Stable"),
        *starts_reading("ada", 600),
        an_event(W.PARTITION_ASSIGNED, 700, client="bea"),
        an_event(W.PARTITION_LOST, 800, client="bea", detail="fenced"),
    )

    assert found_in(*events, patience=PATIENCE) == []


def partitions_are_added():
    return (an_event(W.PARTITIONS_ADDED, 0, topic="orders", count=2),)


def a_static_member_comes_back(client, protocol="range"):
    return (
        an_event(
            E.MEMBER_REPLACED,
            0,
            client=client,
            member=f"{client}-2",
            protocol=protocol,
            detail=f"it replaced {client}-1",
        ),
        an_event(W.REPLY_RECEIVED, 0, client=client, request="JoinGroup"),
    )


def a_group_led_by_ada(*events):
    return a_world_with_ada(
        an_event(E.LEADER_ELECTED, 0, client="ada"),
        moves(0, "Stable"),
        an_event(E.ASSIGNMENT_STORED, 0),
        *starts_reading("ada", 0),
        *events,
    )


def test_new_partitions_may_be_overlooked_by_a_static_leader_that_comes_back():
    events = a_group_led_by_ada(*partitions_are_added(), *a_static_member_comes_back("ada"))

    assert found_in(*events, patience=PATIENCE) == []


def a_topic_comes_again(count):
    return (
        an_event(W.TOPIC_DELETED, 0, topic="orders"),
        an_event(W.TOPIC_CREATED, 0, topic="orders", count=count),
    )


@pytest.mark.parametrize(
    ("count", "found"), [(2, []), (3, ["Liveness"])], ids=["as large as before", "larger"]
)
def test_a_topic_may_be_overlooked_that_is_as_a_returned_static_leader_found_it(count, found):
    events = a_group_led_by_ada(
        *partitions_are_added(), *a_static_member_comes_back("ada"), *a_topic_comes_again(count)
    )

    assert [name for name, _ in found_in(*events, patience=PATIENCE)] == found


@pytest.mark.parametrize(
    ("protocol", "found"), [("cooperative-sticky", []), ("range", ["Liveness"])]
)
def test_what_a_member_had_to_give_up_may_be_nobodys_when_it_comes_back(protocol, found):
    events = a_world_with_ada(
        moves(500, "Stable"),
        an_event(E.ASSIGNMENT_STORED, 500),
        *a_static_member_comes_back("ada", protocol),
    )

    assert [name for name, _ in found_in(*events, patience=PATIENCE)] == found


@pytest.mark.parametrize(
    "happened",
    [
        (*a_static_member_comes_back("ada"), *partitions_are_added()),
        (*partitions_are_added(), *a_static_member_comes_back("bea")),
    ],
    ids=["a static leader that was back before", "a static follower that comes back"],
)
def test_new_partitions_are_not_overlooked_by(happened):
    events = a_group_led_by_ada(*happened)

    assert [name for name, _ in found_in(*events, patience=PATIENCE)] == ["Liveness"]


@pytest.mark.parametrize("disturbance", [W.CONNECTION_RESET, W.LINK_CHANGED])
def test_time_counts_from_the_last_disturbance(disturbance):
    events = a_world_with_ada(
        moves(500, "PreparingRebalance"),
        an_event(disturbance, 700, client="ada"),
        moves(SETTLE_MS, "Stable"),
    )

    assert found_in(*events, patience=PATIENCE) == []


@pytest.mark.parametrize(("cause", "found"), [(None, []), (2, ["Liveness"])])
def test_a_request_disturbs_that_a_script_sends_and_no_other(cause, found):
    events = a_world_with_ada(
        moves(500, "PreparingRebalance"),
        an_event(W.REQUEST_SENT, 700, client="ghost", request="JoinGroup", cause=cause),
        moves(SETTLE_MS, "Stable"),
    )

    assert [name for name, _ in found_in(*events, patience=PATIENCE)] == found


@pytest.mark.parametrize(
    ("joined", "longer_ms"),
    [
        (an_event(E.MEMBER_ADDED, 500, client="ghost", duration_ms=145_000), 100_000),
        (an_event(E.MEMBER_REJOINED, 500, client="ghost", duration_ms=145_000), 100_000),
        (an_event(E.MEMBER_REPLACED, 500, client="ghost", duration_ms=145_000), 100_000),
        # A rebalance counts twice: to wait for joins, and for the answer to one.
        (moves(500, "PreparingRebalance", duration_ms=350_000), 100_000),
        (an_event(E.MEMBER_ADDED, 500, client="bea", duration_ms=10_000), 0),
        (moves(500, "PreparingRebalance", duration_ms=3_000), 0),
    ],
    ids=[
        "a long session",
        "a long session from now on",
        "a long session of one that is back",
        "a long rebalance",
        "a short session",
        "a short rebalance",
    ],
)
def test_rest_is_asked_for_later_by_what_the_rows_tell_of(joined, longer_ms):
    events = a_world_with_ada(joined, moves(600, "PreparingRebalance"))[:-1]
    due_ms = SETTLE_MS + longer_ms

    early, late = (
        found_in(*events, the_end(at_ms), patience=PATIENCE) for at_ms in (due_ms - 1, due_ms)
    )

    assert [early, [name for name, _ in late]] == [[], ["Liveness"]]


@pytest.mark.parametrize(
    ("owner", "found"), [("ada", ["Liveness"]), ("zombie", [])], ids=["a member", "no member"]
)
def test_a_topic_is_wanted_by_an_unknown_program_that_owns_a_partition_of_it_as(owner, found):
    events = (
        an_event(W.TOPIC_CREATED, 0, topic="orders", count=2),
        an_event(W.CONSUMER_STARTED, 0, client="ada"),
        *a_stable_group("ada"),
        an_event(W.PARTITION_ASSIGNED, 600, client=owner, partition=1),
        the_end(SETTLE_MS),
    )

    told = found_in(*events, patience=evolve(PATIENCE, topics={"ada": ""}))

    assert [name for name, _ in told] == found


@pytest.mark.parametrize(
    "trouble",
    [
        an_event(W.CONSUMER_CRASHED, 0, client="ada"),
        an_event(W.CONSUMER_PAUSED, 0, client="ada"),
        an_event(W.FAULT_STARTED, 0, client="ada", detail="partition ada from broker 1"),
    ],
    ids=["nobody runs", "everybody stands still", "a fault is never healed"],
)
def test_rest_is_not_asked_for_where(trouble):
    events = a_world_with_ada(trouble, moves(500, "PreparingRebalance"))

    assert found_in(*events, patience=PATIENCE) == []


def partition_of_ada(kind, at_ms, **facts):
    return an_event(kind, at_ms, client="ada", detail="partition ada from broker 1", **facts)


@pytest.mark.parametrize(
    ("healed", "found"), [((3,), []), ((3, 4), ["Liveness"])], ids=["one of two", "both"]
)
def test_rest_is_asked_for_when_every_fault_is_healed_and_not_when(healed, found):
    events = a_world_with_ada(
        partition_of_ada(W.FAULT_STARTED, 0),
        partition_of_ada(W.FAULT_STARTED, 100),
        *(partition_of_ada(W.FAULT_HEALED, 200, cause=cause) for cause in healed),
        moves(500, "PreparingRebalance"),
    )

    told = found_in(*events[:-1], the_end(2 * SETTLE_MS), patience=PATIENCE)

    assert [name for name, _ in told] == found


def a_run_with(assignor: str | FunctionAssignor) -> Simulation:
    """Twenty minutes of one consumer, after a coordinator has moved."""
    sim = Simulation(seed=1)
    sim.topic("orders")
    settings = {"partition.assignment.strategy": [assignor]}
    sim.consumer("ada", group="checkout", topics=["orders"], settings=settings)
    sim.crash_broker(2, load="3s")
    sim.run_for("20m")
    sim.end()
    return sim


def gives_nothing(_cluster: object, _group: object) -> GroupAssignment:
    return {}


def test_the_patience_of_a_world_is_that_of_its_consumers():
    sim = a_run_with("range")

    assert sim.patience() == Patience.of(
        [sim.stage.host("ada").role.config],
        topics={"ada": "orders"},
        load_ms=3_000,
        brokers=(1, 2, 3),
    )


@pytest.mark.parametrize(
    ("assignor", "found"),
    [("range", []), (FunctionAssignor(name="idle", function=gives_nothing), ["Liveness"])],
    ids=["at rest", "not at rest"],
)
def test_a_world_can_be_asked_whether_it_came_to_rest(assignor, found):
    sim = a_run_with(assignor)

    violations = check(sim.events, patience=sim.patience())

    assert [each.checker for each in violations] == found


#: So that rest is asked for after 82.6 s.
QUICK = {
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 2_000,
    "max.poll.interval.ms": 10_000,
    "request.timeout.ms": 5_000,
    "metadata.max.age.ms": 10_000,
}


@pytest.mark.parametrize("joins_ms", [10_000, 74_000], ids=["at first", "when rest is due soon"])
def test_a_ghost_may_keep_its_partitions_for_as_long_as_its_own_session(joins_ms):
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=2)
    sim.consumer("ada", group="checkout", topics=["orders"], settings=QUICK)
    ghost = sim.raw_member("ghost", "checkout")
    for at_ms in (joins_ms, joins_ms + 200):
        sim.at(at_ms, lambda: ghost.join("orders", session_timeout_ms=120_000))
    sim.run_for("20m")
    sim.end()

    assert check(sim.events, patience=sim.patience()) == ()


async def reads_orders(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    while True:
        await consumer.poll(1_000)


@pytest.mark.parametrize("app", [None, reads_orders], ids=["a ready-made loop", "a user's own"])
def test_a_partition_without_an_owner_is_missed_by(app):
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=2)
    topics = ["orders"] if app is None else []
    sim.consumer("ada", group="checkout", topics=topics, app=app, settings=QUICK)
    sim.run_for("5m")
    sim.end()

    rows = [row for row in sim.events if (row.kind, row.partition) != ("partition_assigned", 0)]

    assert [each.checker for each in check(rows, patience=sim.patience())] == ["Liveness"]


def test_without_consumers_there_is_nothing_to_wait_for():
    with pytest.raises(SimulationError, match="there is no consumer"):
        Simulation().patience()
