"""Faults that strike whoever leads a group, or wait for what the leader does."""

from __future__ import annotations

import pytest

from simulation.scenarios.script import On
from simulation.world import Fault, Simulation
from tests.simulation.test_faults import a_disturbed_group, lives, of_kind


def a_group_whose_leader_dies(*faults: Fault) -> Simulation:
    """ada leads three consumers, and bea those that are left."""
    sim = Simulation(seed=3)
    sim.topic("orders", partitions=3)
    sim.consumers("checkout", "ada", "bea", "cat", topics=["orders"])
    for fault in faults:
        sim.fault(fault)
    sim.at("10s", lambda: sim.crash("ada"))
    sim.run_for("1m")
    return sim


@pytest.mark.parametrize(("nth", "leader"), [(1, "ada"), (2, "bea")])
def test_a_fault_may_wait_for_what_the_leader_of_a_group_does(nth, leader):
    syncs = On(kind="request_sent", request="SyncGroup", client="leader of checkout", nth=nth)

    sim = a_group_whose_leader_dies(Fault(verb="slow", target="cat", brokers=(1,), on=syncs))

    (began,) = of_kind(sim, "fault_started")
    (sent,) = (
        row.at_ms
        for row in of_kind(sim, "request_sent")
        if (row.request, row.client) == ("SyncGroup", leader)
        and (leader == "ada" or row.at_ms > 10_000)
    )
    assert began.at_ms == sent


def test_a_fault_may_strike_whoever_leads_a_group_when_it_happens():
    sim = a_group_whose_leader_dies(
        *(
            Fault(verb="pause", target="leader of checkout", at=at, lasts="1s")
            for at in (7000, "58s")
        )
    )

    sim.run_for("5s")

    paused = [row.client for row in of_kind(sim, "consumer_paused")]
    resumed = [row.client for row in of_kind(sim, "consumer_resumed")]
    assert paused == resumed == ["ada", "bea"]


def test_a_fault_of_the_leader_strikes_nobody_where_nobody_leads():
    sim = a_disturbed_group(Fault(verb="crash", target="leader of audit", at="10s", lasts="1s"))

    sim.run_for("1m")

    assert [each for _, each in lives(sim)] == []


def test_a_raw_member_that_leads_has_no_process_that_could_stand_still():
    sim = Simulation()
    sim.topic("orders")
    ghost = sim.raw_member("ghost", "checkout")
    for _ in range(2):
        ghost.join("orders")
        sim.run_for("5s")
    sim.fault(Fault(verb="pause", target="leader of checkout", at="11s", lasts="5s"))
    sim.fault(Fault(verb="slow", target="leader of checkout", at="12s", lasts="5s"))

    sim.run_for("20s")

    assert {row.client for row in of_kind(sim, "fault_started")} == {"ghost"}
    assert of_kind(sim, "consumer_paused") == []


def test_what_nobody_does_is_not_done_by_the_leader_of_a_group_without_one():
    created = On(kind="topic_created", client="leader of audit")
    sim = a_disturbed_group(Fault(verb="crash", target="ada", on=created))

    sim.topic("clicks")
    sim.run_for("1m")

    assert of_kind(sim, "consumer_crashed") == []


@pytest.mark.parametrize("client", ["any of checkout", "owner of orders-0", 5])
def test_an_event_to_wait_for_is_of_one_client(client):
    with pytest.raises(ValueError, match="must be a consumer's name, or `leader of GROUP`"):
        On(kind="request_sent", client=client)
