"""Faults as data, faults that overlap, and what a broken connection leaves intact."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from client.applications import CommitMode, PollLoop
from client.workloads import ConstantTime
from simulation.chance import Law, between, fixed
from simulation.events import Row
from simulation.scenarios.script import On
from simulation.world import Fault, Simulation


def of_kind(sim: Simulation, *kinds: str) -> list[Row]:
    return [row for row in sim.events if row.kind in kinds]


def test_a_fetch_session_outlives_its_connection():
    sim = Simulation(seed=3, brokers=1)
    sim.topic("orders", partitions=2)
    loop = PollLoop(
        topics=("orders",), commit=CommitMode.SYNC, time_per_record=ConstantTime(1_000_000)
    )
    settings = {"enable.auto.commit": "false", "max.poll.records": "1"}
    sim.consumers("checkout", "ada", app=loop, settings=settings)
    sim.run_until_stable("checkout")
    sim.run_for("5s")
    sim.append("orders", 5, partition=0)
    sim.run_for("2s")

    sim.reset_connections("ada")  # while it has records in hand and no fetch under way
    sim.run_for("20s")
    # The fetches since then have named the first partition only: of the second nothing was new.
    sim.append("orders", 1, partition=1)
    sim.run_for("3s")

    assert of_kind(sim, "records_processed")[-1].partition == 1


def test_a_broker_that_is_up_cannot_be_restarted():
    sim = Simulation(seed=1)

    with pytest.raises(ValueError, match="broker 1 is up already"):
        sim.restart_broker(1)


def test_a_connection_that_is_given_up_for_want_of_an_answer_says_which_and_leads_to_what_follows():
    sim = a_disturbed_group()
    sim.run_for("60s")

    sim.partition("ada")
    sim.run_for("40s")

    closed, *after = (row for row in sim.events if row.client == "ada" and row.at_ms > 60_100)
    told = (closed.kind, closed.detail, closed.duration_ms)
    # The consumer looks with the poll that comes next.
    assert told == ("connection_closed", "Fetch had no answer in time", 30_042)
    assert (after[0].kind, after[0].cause) == ("connection_failed", closed.seq)


# --- faults that overlap ---


A_PAUSE = Fault(verb="pause", target="ada", at="20s", lasts="30s")


def lives(sim: Simulation) -> list[tuple[int, str]]:
    """When consumers came and went, in seconds."""
    rows = (row for row in sim.events if row.kind.startswith("consumer_") and row.at_ms)
    return [(round(row.at_ms / 1_000), row.kind.removeprefix("consumer_")) for row in rows]


def test_a_consumer_may_be_killed_while_it_stands_still():
    crash = Fault(verb="crash", target="ada", at="25s", lasts="5s")
    sim = a_disturbed_group(A_PAUSE, crash)

    sim.run_for("2m")

    assert lives(sim) == [(20, "paused"), (25, "crashed"), (30, "started")]


def test_a_pause_that_a_crash_has_ended_does_not_lengthen_a_later_one():
    pause = Fault(verb="pause", target="ada", at="20s", lasts="60s")
    crash = Fault(verb="crash", target="ada", at="25s", lasts="5s")
    again = Fault(verb="pause", target="ada", at="40s", lasts="10s")
    sim = a_disturbed_group(pause, crash, again)

    sim.run_for("2m")

    assert lives(sim)[-2:] == [(40, "paused"), (50, "resumed")]


def test_a_consumer_that_is_told_to_stop_while_it_stands_still_stops_when_it_goes_on():
    stop = Fault(verb="stop", target="ada", at="25s", lasts="60s")
    sim = a_disturbed_group(A_PAUSE, stop)

    sim.run_for("2m")

    told = [(25, "stopping"), (50, "resumed"), (50, "stopped"), (85, "started")]
    assert lives(sim) == [(20, "paused"), *told]


def test_a_consumer_that_takes_longer_to_stop_than_it_is_to_be_away_is_started_when_it_is_gone():
    stop = Fault(verb="stop", target="ada", at="25s", lasts="5s")
    sim = a_disturbed_group(A_PAUSE, stop)

    sim.run_for("2m")

    told = [(25, "stopping"), (50, "resumed"), (50, "stopped"), (50, "started")]
    assert lives(sim) == [(20, "paused"), *told]


def test_a_consumer_that_is_killed_before_it_has_stopped_is_away_as_long_as_the_kill_says():
    stop = Fault(verb="stop", target="ada", at="25s", lasts="5s")
    crash = Fault(verb="crash", target="ada", at="40s", lasts="10s")
    sim = a_disturbed_group(A_PAUSE, stop, crash)

    sim.run_for("2m")

    assert lives(sim) == [(20, "paused"), (25, "stopping"), (40, "crashed"), (50, "started")]


def a_disturbed_group(*faults: Fault) -> Simulation:
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=1)
    sim.consumers("checkout", "ada", topics=["orders"])
    for fault in faults:
        sim.fault(fault)
    return sim


def spans(sim: Simulation, words: str) -> list[tuple[int, int]]:
    """From when to when each fault of these words held, by its healing's cause."""
    rows = sim.events
    return sorted(
        (rows[row.cause - 1].at_ms, row.at_ms)
        for row in of_kind(sim, "fault_healed")
        if row.detail == words and row.cause is not None
    )


def test_two_partitions_of_one_client_hold_each_until_its_own_end():
    sim = a_disturbed_group(
        Fault(verb="partition", target="ada", at="10s", lasts="10s"),
        Fault(verb="partition", target="ada", at="12s", lasts="60s"),
    )
    link = sim.stage.network.link("ada", 1)

    sim.run_for("30s")
    was_silent = link.is_silent_to_broker
    sim.run_for("60s")

    assert (was_silent, link.is_silent_to_broker) == (True, False)
    assert spans(sim, "partition ada from broker 1") == [(10_000, 20_000), (12_000, 72_000)]


@pytest.mark.parametrize(("verb", "undo"), [("crash", "started"), ("pause", "resumed")])
def test_a_consumer_is_down_until_the_last_of_its_faults_has_ended(verb, undo):
    sim = a_disturbed_group(
        Fault(verb=verb, target="ada", at="10s", lasts="10s"),
        Fault(verb=verb, target="ada", at="12s", lasts="3s"),
        Fault(verb=verb, target="ada", at="14s", lasts="60s"),
    )

    sim.run_for("2m")

    assert [row.at_ms for row in of_kind(sim, f"consumer_{undo}")][-1] == 74_000
    assert len(of_kind(sim, f"consumer_{undo}")) == (2 if undo == "started" else 1)


HEALED_BY_HAND: dict[str, tuple[Callable[[Simulation], None], str | int, str]] = {
    "crash": (lambda sim: sim.restart("ada"), "ada", "consumer_started"),
    "pause": (lambda sim: sim.resume("ada"), "ada", "consumer_resumed"),
    "crash_broker": (lambda sim: sim.restart_broker(1), 1, "broker_restarted"),
}


@pytest.mark.parametrize("verb", HEALED_BY_HAND)
def test_who_is_up_again_by_hand_is_held_down_by_nothing_from_before(verb):
    heal, target, healed = HEALED_BY_HAND[verb]
    sim = a_disturbed_group(
        Fault(verb=verb, target=target, at="10s"),
        Fault(verb=verb, target=target, at="30s", lasts="10s"),
    )
    sim.at("20s", lambda: heal(sim))

    sim.run_for("1m")

    assert [row.at_ms for row in of_kind(sim, healed)][-2:] == [20_000, 40_000]


def test_a_link_that_is_cut_one_way_and_then_the_other_is_cut_both_ways():
    sim = a_disturbed_group()
    link = sim.stage.network.link("ada", 1)

    sim.partition("ada", 1, one_way="to_broker")
    sim.partition("ada", 1, one_way="to_client")

    assert (link.is_silent_to_broker, link.is_silent_to_client) == (True, True)


def test_a_repair_ends_every_partition_of_a_link():
    sim = a_disturbed_group()
    sim.partition("ada", 1, one_way="to_broker")
    sim.run_for("1s")
    sim.partition("ada", 1)

    sim.run_for("1s")
    sim.repair("ada", 1)

    assert sim.stage.network.link("ada", 1).is_clear
    assert spans(sim, "partition ada from broker 1 one_way to_broker") == [(0, 2_000)]
    assert spans(sim, "partition ada from broker 1") == [(1_000, 2_000)]


def a_group_whose_requests_are_held() -> Simulation:
    """Heartbeats to the first broker are held, commits to the first two, and all to the third."""
    sim = a_disturbed_group()
    sim.hold("ada", 1, request="Heartbeat")
    sim.hold("ada", 1, 2, request="OffsetCommit")
    sim.hold("ada", 3)
    sim.run_for("1s")
    return sim


def healed(sim: Simulation) -> list[str]:
    """The words of each fault that has ended, each with the row that began it."""
    rows, ends = sim.events, of_kind(sim, "fault_healed")
    assert all(row.detail == rows[(row.cause or 0) - 1].detail for row in ends)
    return [row.detail or "" for row in ends]


def test_a_release_ends_every_hold_of_a_client():
    sim = a_group_whose_requests_are_held()

    sim.release("ada")

    assert all(sim.stage.network.link("ada", each).is_clear for each in (1, 2, 3))
    assert healed(sim) == [
        "hold Heartbeat of ada to broker 1",
        "hold OffsetCommit of ada to broker 1",
        "hold OffsetCommit of ada to broker 2",
        "hold all of ada to broker 3",
    ]


def test_a_release_on_one_broker_leaves_what_is_held_on_others():
    sim = a_group_whose_requests_are_held()

    sim.release("ada", 2)

    assert healed(sim) == ["hold OffsetCommit of ada to broker 2"]


def test_a_release_of_one_kind_of_request_leaves_the_others_held():
    sim = a_group_whose_requests_are_held()

    sim.release("ada", request="OffsetCommit")

    assert sim.stage.network.link("ada", 1).held_kinds == {"Heartbeat"}
    assert healed(sim) == [
        "hold OffsetCommit of ada to broker 1",
        "hold OffsetCommit of ada to broker 2",
    ]


TOLD: dict[str, tuple[Callable[[Simulation], object], str]] = {
    "both ways": (lambda sim: sim.partition("ada", 1), "partition ada from broker 1"),
    "one way": (
        lambda sim: sim.partition("ada", 1, one_way="to_broker"),
        "partition ada from broker 1 one_way to_broker",
    ),
    "the other way": (
        lambda sim: sim.partition("ada", 1, one_way="to_client"),
        "partition ada from broker 1 one_way to_client",
    ),
    "messages": (lambda sim: sim.slow("ada", 1, by=1_500), "slow ada to broker 1 by 1s500ms"),
    "usual messages": (lambda sim: sim.slow("ada", 1), "slow ada to broker 1 by 200ms"),
    "writes": (
        lambda sim: sim.slow_append("checkout", by="1m"),
        "slow_append checkout by 1m",
    ),
    "failing writes": (lambda sim: sim.fail_append("checkout"), "fail_append checkout"),
}


@pytest.mark.parametrize(("begin", "words"), TOLD.values(), ids=TOLD)
def test_a_fault_tells_which_way_and_by_how_much(begin, words):
    sim = a_disturbed_group()

    begin(sim)

    assert of_kind(sim, "fault_started")[-1].detail == words


LAWS: dict[str, tuple[Law, str]] = {
    "fixed": (fixed(1_500), "1s500ms"),
    "between": (between(20, 40), "20ms to 40ms"),
    "quantiles": (Law((1, 2, 9)), "1ms to 9ms, half of them at most 2ms"),
}


@pytest.mark.parametrize(("law", "words"), LAWS.values(), ids=LAWS)
def test_a_latency_that_changes_is_told(law, words):
    sim = a_disturbed_group()
    sim.run_for("10s")

    sim.link("ada", 2, latency=law)

    told = [(row.at_ms, row.client, row.broker, row.detail) for row in of_kind(sim, "link_changed")]
    assert told == [(10_000, "ada", 2, words)]


def test_a_latency_that_stays_as_it_is_is_not_told():
    sim = a_disturbed_group()
    sim.link("ada", 2, latency=fixed(7))

    sim.link("ada", latency=fixed(7))

    assert [row.broker for row in of_kind(sim, "link_changed")] == [2, 1, 3]


def test_what_slows_and_what_fails_the_writes_of_a_group_is_healed_by_one_verb():
    sim = a_disturbed_group()
    sim.slow_append("checkout", by="1m")
    sim.slow_append("other", by="2s")
    sim.fail_append("checkout")

    sim.heal_append("checkout")

    assert healed(sim) == ["slow_append checkout by 1m", "fail_append checkout"]


def test_writes_go_on_being_slow_when_they_no_longer_fail():
    sim = a_disturbed_group(
        Fault(verb="fail_append", target="checkout", at="10s", lasts="5s"),
        Fault(verb="slow_append", target="checkout", at="12s", lasts="60s"),
    )
    shard = sim.stage.shard_of("checkout")

    sim.run_for("20s")

    assert shard not in sim.stage.trouble.failing
    assert sim.stage.trouble.slow_ms == {shard: 1_000}


def test_two_groups_of_one_log_are_healed_apart():
    sim = Simulation(seed=1)
    first = "g0"
    shard = sim.stage.shard_of(first)
    second = next(f"g{n}" for n in range(1, 500) if sim.stage.shard_of(f"g{n}") == shard)
    sim.fail_append(first)
    sim.fail_append(second)

    sim.heal_append(first)
    is_failing = shard in sim.stage.trouble.failing
    sim.heal_append(second)

    assert is_failing
    assert shard not in sim.stage.trouble.failing


def test_a_link_is_as_slow_as_the_worst_that_slows_it():
    sim = a_disturbed_group()
    link = sim.stage.network.link("ada", 1)

    heal_worst = sim.slow("ada", 1, by="2s")
    sim.slow("ada", 1, by="500ms")
    worst_ms = link.extra_ms
    heal_worst()

    assert (worst_ms, link.extra_ms) == (2_000, 500)


# --- faults as data ---


def test_a_fault_may_be_between_a_client_and_a_single_broker():
    sim = a_disturbed_group(
        Fault(verb="slow", target="ada", brokers=(2,), at="10s", options={"by": "2s"})
    )

    sim.run_for("11s")

    assert [sim.stage.network.link("ada", each).extra_ms for each in (1, 2, 3)] == [0, 2_000, 0]


def test_a_fault_may_wait_for_an_event():
    joins = On(kind="request_sent", request="JoinGroup", client="ada", nth=2, after="5ms")
    sim = a_disturbed_group(Fault(verb="crash", target="ada", on=joins, lasts="10s"))

    sim.run_for("2m")

    sent = [row for row in of_kind(sim, "request_sent") if row.request == "JoinGroup"]
    crashed, restarted = of_kind(sim, "consumer_crashed", "consumer_started")[1:]
    assert crashed.at_ms == sent[1].at_ms + 5
    assert restarted.at_ms == crashed.at_ms + 10_000


def test_a_fault_may_happen_at_several_events():
    beginnings = On(kind="partition_assigned", client="ada", times=3, after="20s")
    sim = a_disturbed_group(Fault(verb="crash", target="ada", on=beginnings, lasts="10s"))

    sim.run_for("5m")

    assert len(of_kind(sim, "consumer_crashed")) == 3


@pytest.mark.parametrize(
    "when", [{}, {"at": "1s", "on": On(kind="leader_elected")}], ids=["neither", "both"]
)
def test_a_fault_must_have_either_a_time_or_an_event(when):
    with pytest.raises(ValueError, match="either at or on"):
        Fault(verb="crash", target="ada", **when)


def test_an_event_to_wait_for_names_a_kind_of_request_that_there_is():
    with pytest.raises(ValueError, match=r"request must be one of .*, not 'JionGroup'"):
        Fault(verb="crash", target="ada", on=On(kind="request_sent", request="JionGroup"))


def test_only_a_fault_of_links_may_name_brokers():
    with pytest.raises(ValueError, match="brokers must stand with one of partition, hold, slow"):
        Fault(verb="crash", target="ada", brokers=(1,), at="1s")
