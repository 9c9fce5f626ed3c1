"""Requests of one kind that do not arrive for a while."""

from __future__ import annotations

from simulation.checkers import check
from simulation.world import Fault, Simulation


def a_world_whose_heartbeats_are_held() -> Simulation:
    """Bea's heartbeats wait for ten seconds, which her session survives."""
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=4, records_per_s=10)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.fault(
        Fault(
            verb="hold",
            target="bea",
            at="20s",
            lasts="10s",
            options={"request": "Heartbeat"},
        )
    )
    sim.run_for("2m")
    return sim


def test_what_was_held_is_released_with_the_end_of_the_fault():
    sim = a_world_whose_heartbeats_are_held()

    words = {
        kind: sorted(str(row.detail) for row in sim.events if row.kind == kind)
        for kind in ("fault_started", "fault_healed")
    }
    assert words["fault_started"] == words["fault_healed"]
    assert [row for row in sim.events if row.kind == "member_removed"] == []
    assert check(sim.events) == ()


def test_a_consumer_that_reads_on_is_not_said_to_seek():
    sim = a_world_whose_heartbeats_are_held()

    positions = [row for row in sim.events if row.kind == "position_set"]
    assert len(positions) == 4
    assert {row.detail for row in positions} == {"reset (no committed offset)"}
