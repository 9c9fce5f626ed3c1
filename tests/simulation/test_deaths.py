"""Applications that end in a world: which of them their group has to find out about by itself."""

from __future__ import annotations

from functools import partial

import pytest

from client.calls import AsyncConsumer
from simulation.measures import Measures, measure
from simulation.world import Simulation

SESSION_MS = 10_000


def deaths_of(*, closes: bool, instance: str | None = None) -> Measures:
    """Ada reads for a while and returns; the group is watched for long after."""

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        for _ in range(20):
            await consumer.poll(500)
        if closes:
            await consumer.close()

    settings: dict[str, object] = {"session.timeout.ms": SESSION_MS}
    if instance is not None:
        settings["group.instance.id"] = instance
    sim = Simulation(seed=1)
    sim.topic("orders")
    sim.consumer("ada", group="checkout", app=app, settings=settings)
    sim.run_for("1m")
    return measure(sim.events)


def test_a_group_detects_an_application_that_returned_without_closing_by_its_session():
    measures = deaths_of(closes=False)

    (death,) = measures.deaths
    assert (death.client, death.why) == ("ada", "its session expired")
    assert SESSION_MS - 3_000 <= measures.figure("detection_s") * 1_000 <= SESSION_MS


@pytest.mark.parametrize("instance", [None, "one"], ids=["dynamic", "static"])
def test_an_application_that_closes_its_consumer_does_not_die(instance: str | None):
    assert deaths_of(closes=True, instance=instance).deaths == ()


def test_no_session_ends_of_a_member_that_has_left():
    # An answer lets the LeaveGroup in that waits behind it on its connection: what the answered
    # request has set may not outlive what the leave has cancelled.
    sim = Simulation(seed=0)
    sim.topic("orders", partitions=4)
    settings = {"partition.assignment.strategy": "cooperative-sticky"}
    sim.consumers("checkout", "ada", "bea", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    at_ms = sim.now_ms + 20_000
    for name in ("ada", "bea"):
        sim.at(at_ms, partial(sim.stop, name))
        sim.at(at_ms + 10_000, partial(sim.restart, name))
        at_ms += 15_000

    sim.run_for("2m")

    assert [row for row in sim.events if (row.kind, row.detail) == ("timer_fired", "session")] == []
