"""A log that is slow for a while: writes keep the order in which they were asked for."""

from __future__ import annotations

from simulation.campaign import fail_of
from simulation.world import Fault
from simulation.world_plans import ConsumerPlan, TopicPlan, World

SETTINGS = {
    "partition_assignment_strategy": ("range",),
    "max_poll_interval_ms": 60_000,
    "metadata_max_age_ms": 5_000,
    "auto_commit_interval_ms": 1_000,
}


def test_a_write_does_not_overtake_another_that_waits_for_the_same_millisecond():
    """A world that a campaign found and made small."""
    world = World(
        seed=43,
        brokers=3,
        topics=(TopicPlan(name="refunds", partitions=8),),
        consumers=tuple(
            ConsumerPlan(name=name, group="checkout", topics=("refunds",), settings=SETTINGS)
            for name in ("fay", "gus")
        ),
        faults=(
            Fault(
                verb="slow_append",
                target="checkout",
                at=44_157,
                lasts=1_134,
                options={"by": 1_203},
            ),
        ),
    )

    assert fail_of(world) is None
