"""Heartbeats of consumers at rest go a way of their own, and whatever befalls them there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.beats import BeatWay
from simulation.chance import between
from simulation.events import Row
from simulation.network import Message
from simulation.world import Simulation

BY_HAND = {"enable.auto.commit": False}
#: A heartbeat leaves, arrives and is answered within so many milliseconds.
ON_ITS_WAY_MS = range(12)


def a_calm_group(**more: object) -> Simulation:
    """Two members at rest, each with a partition, whose heartbeats take some time."""
    sim = Simulation(seed=3, quiet="play", latency=between(2, 5))
    sim.topic("orders", partitions=2)
    sim.consumers("g", "ada", "bea", topics=["orders"], settings=BY_HAND | more)
    sim.run_until_stable("g")
    sim.run_for("10s")
    return sim


def the_way_of(sim: Simulation, client: str) -> BeatWay:
    way = sim.stage.hosts[client]._beat_way
    assert way is not None
    return way


def test_calm_heartbeats_become_no_messages(monkeypatch):
    sim = a_calm_group()
    made: list[BeatWay] = []
    message = BeatWay.message

    def noted(way: BeatWay) -> Message:
        made.append(way)
        return message(way)

    monkeypatch.setattr(BeatWay, "message", noted)

    sim.run_for("2m")
    sim.end()

    assert made == []
    (row,) = [row for row in sim.events if row.kind == "heartbeats_answered"][-1:]
    assert row.count is not None
    assert row.count > 2 * 60 / 3


def test_a_heartbeat_keeps_the_session_that_it_finds_at_its_coordinator():
    sim = a_calm_group()
    way = the_way_of(sim, "ada")

    sim.run_for(way.pulse.at_ms + 1_000 - sim.now_ms)
    sim.crash("ada")
    sim.run_for("1m")

    (fired,) = [row for row in sim.events if row.kind == "timer_fired" and row.client == "ada"]
    assert fired.at_ms - 45_000 in range(way.sent_ms + 2, way.sent_ms + 6)


FAULTS: dict[str, Callable[[Simulation], object]] = {
    "partition": lambda sim: sim.partition("ada"),
    "one way": lambda sim: sim.partition("ada", one_way="to_client"),
    "hold": lambda sim: sim.hold("ada", request="Heartbeat"),
    "slow": lambda sim: sim.slow("ada", by="150ms"),
    "reset": lambda sim: sim.reset_connections("ada"),
    "reset, acted": lambda sim: sim.reset_connections("ada", acted=True),
    "pause": lambda sim: sim.pause("ada"),
    "crash": lambda sim: sim.crash("ada"),
    "stop": lambda sim: sim.stop("bea"),
    "crash of the coordinator": lambda sim: sim.crash_broker(1),
    "move": lambda sim: sim.move_coordinator("g", 2),
    "failing log": lambda sim: sim.fail_append("g"),
    "record": lambda sim: sim.append("orders", 1),
}
CURES: dict[str, Callable[[Simulation], object]] = {
    "partition": lambda sim: sim.repair("ada"),
    "one way": lambda sim: sim.repair("ada"),
    "hold": lambda sim: sim.release("ada", request="Heartbeat"),
    "slow": lambda sim: sim.normal("ada"),
    "pause": lambda sim: sim.resume("ada"),
    "crash": lambda sim: sim.restart("ada"),
    "crash of the coordinator": lambda sim: sim.restart_broker(1),
    "failing log": lambda sim: sim.heal_append("g"),
}


def rows_with(fault: str, after_ms: int) -> list[Row]:
    """Something happens so long after a heartbeat has left, and is over four seconds later."""
    sim = a_calm_group()
    beat_ms = the_way_of(sim, "ada").pulse.at_ms
    sim.at(beat_ms + after_ms, lambda: FAULTS[fault](sim))
    if fault in CURES:
        sim.at(beat_ms + after_ms + 4_000, lambda: CURES[fault](sim))
    sim.run_for("1m")
    sim.end()
    return list(sim.events)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_befalls_a_heartbeat_on_its_way_befalls_it_as_any_message(fault, monkeypatch):
    rows = [rows_with(fault, after_ms) for after_ms in ON_ITS_WAY_MS]

    monkeypatch.setattr(BeatWay, "leave", lambda *_: False)

    assert [rows_with(fault, after_ms) for after_ms in ON_ITS_WAY_MS] == rows
