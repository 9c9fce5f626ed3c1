"""What a campaign looks at besides the checkers: invariants, odd ends, worlds that run away."""

from __future__ import annotations

import pytest

from client.applications import Stall
from client.assignors.sticky_constrained import NOBODY_LEFT
from client.calls import AsyncConsumer
from client.errors import IllegalStateException
from client.rebalancing import Rebalancing
from coordinator.invariants import BrokenInvariant
from simulation import inspection
from simulation.campaign import fail_of
from simulation.inspection import Inspector, RunsAway, UnexpectedEnd
from simulation.shrinking import shrink
from simulation.world import Fault, Simulation
from simulation.world_plans import ConsumerPlan, TopicPlan, World
from simulation.world_scripts import script_of


def an_inspected_run() -> Simulation:
    sim = Simulation(seed=1)
    sim.stage.recorder.watchers.append(Inspector(sim).see)
    sim.topic("orders", partitions=2)
    return sim


def test_a_coordinator_that_breaks_an_invariant_is_noticed():
    sim = an_inspected_run()
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_until_stable("checkout")
    group = sim.stage.group("checkout")
    assert group is not None

    group.awaiting_join_count += 1

    with pytest.raises(BrokenInvariant, match="joins are parked"):
        let_a_member_die(sim)


def let_a_member_die(sim: Simulation) -> None:
    sim.crash("ada")
    sim.run_for("2m")


async def trip(consumer: AsyncConsumer) -> None:
    consumer.subscribe(["orders"])
    await consumer.poll(1_000)
    raise KeyError("a mistake")


def test_an_application_that_ends_with_a_mistake_is_noticed():
    sim = an_inspected_run()
    sim.consumer("ada", group="checkout", app=trip)

    with pytest.raises(UnexpectedEnd, match="ada ended with KeyError"):
        sim.run_for("1m")


def test_an_application_that_ends_as_kafkas_own_would_is_let_go():
    sim = an_inspected_run()

    async def give_up(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        await consumer.poll(1_000)
        raise IllegalStateException(NOBODY_LEFT)

    sim.consumer("ada", group="checkout", app=give_up)
    with pytest.raises(IllegalStateException, match=NOBODY_LEFT):  # the test's own, not a finding
        sim.run_for("1m")


def test_a_consumer_that_syncs_with_a_coordinator_that_is_loading_ends_as_kafkas_own():
    world = World(
        seed=40_001_116,
        brokers=2,
        topics=(TopicPlan(name="orders", partitions=1),),
        consumers=(
            ConsumerPlan(
                name="ada",
                group="checkout",
                pattern=".*",
                stall=Stall(at_ms=2_677, for_ms=18_073),
                starts_at_ms=946,
            ),
        ),
        faults=(
            Fault(verb="crash_broker", target=1, at=18_720, lasts=1),
            Fault(verb="crash_broker", target=2, at=21_200, lasts=1),
        ),
    )

    assert fail_of(world) is None


def test_a_world_that_tells_too_much_is_stopped(monkeypatch):
    monkeypatch.setattr(inspection, "ROWS_MAX", 20)
    sim = an_inspected_run()
    sim.consumers("checkout", "ada", topics=["orders"])

    with pytest.raises(RunsAway, match="row 21"):
        sim.run_for("1m")


# --- a planted fault, from its finding to the script that shows it ---


def a_cooperative_plan(name: str, starts_at_ms: int) -> ConsumerPlan:
    settings = {
        "partition_assignment_strategy": ("cooperative-sticky",),
        "session_timeout_ms": 10_000,
        "max_poll_interval_ms": 30_000,
        "max_poll_records": 10,
    }
    return ConsumerPlan(
        name=name,
        group="checkout",
        topics=("orders",),
        settings=settings,
        us_per_record=1_000,
        starts_at_ms=starts_at_ms,
    )


def a_cooperative_world() -> World:
    """A member comes later than the others, and there is more to it than a fault needs."""
    return World(
        seed=4,
        brokers=3,
        topics=(TopicPlan(name="orders", partitions=4, records_per_s=1),),
        consumers=tuple(
            a_cooperative_plan(name, at_ms)
            for name, at_ms in (("ada", 0), ("bea", 0), ("cat", 9_000))
        ),
    )


async def _forget_to_rejoin(*_: object) -> None:
    """Give partitions up without joining for them again."""


def test_a_planted_fault_is_found_made_small_and_shown_by_a_script(monkeypatch, capsys):
    monkeypatch.setattr(Rebalancing, "_revoke", _forget_to_rejoin)
    world = a_cooperative_world()
    failure = fail_of(world)
    assert failure is not None

    small = shrink(
        world, lambda each: (found := fail_of(each)) is not None and found.kind == failure.kind
    )
    exec(script_of(small, failure.kind), {"__file__": "world.py"})  # noqa: S102 (of our own making)

    printed = capsys.readouterr().out
    assert failure.kind == "Liveness"
    assert len(small.consumers) == 2
    assert {name for plan in small.consumers for name in plan.settings} == {
        "partition_assignment_strategy"
    }
    assert (small.brokers, small.topics) == (1, (TopicPlan(name="orders", partitions=2),))
    assert "nobody of checkout owns orders-" in printed
    assert printed.endswith("seed 4; to repeat it: python world.py\n")
