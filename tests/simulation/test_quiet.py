"""Skipping quiet time gives the same rows as playing it, and a mistake in it would be noticed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from simulation.broker import Broker
from simulation.events import Row
from simulation.lull import Exchange, Jump, Lull
from simulation.quiet import Lulls
from simulation.recorder import MemorySink, NoSink
from simulation.world import Simulation
from tests.simulation.random_worlds import END_S, a_random_world

WORLDS = 200
#: A mistake has to show within so many worlds, from the first in which it is known to.
WORLDS_PER_MISTAKE = 10


def rows_of(number: int, quiet: str) -> list[Row]:
    sim = a_random_world(number, quiet=quiet)
    # Questions on the way are answered from the calm, and must not disturb it.
    for stretch_ms in (END_S * 400 + 37 * number, 700, END_S * 600):
        sim.run_for(stretch_ms)
        assert sim.events
    sim.end()
    assert isinstance(sim.sink, MemorySink)
    return sim.sink.rows


@cache
def played(number: int) -> list[Row]:
    return rows_of(number, "play")


@pytest.mark.parametrize("tens", range(WORLDS // 10))
def test_both_ways_give_the_same_rows(tens):
    for number in range(10 * tens, 10 * tens + 10):
        assert rows_of(number, "skip") == played(number), f"world {number}"


def a_quiet_group(members: int, quiet: str = "skip") -> Simulation:
    sim = Simulation(seed=1, quiet=quiet, sink=NoSink())  # type: ignore[arg-type]
    sim.topic("orders", partitions=members)
    sim.consumers("g", *(f"member-{n}" for n in range(members)), topics=["orders"])
    sim.run_until_stable("g")
    return sim


def turns_of_an_hour(members: int) -> int:
    sim = a_quiet_group(members)
    sim.run_for("1m")
    before = sim.stage.kernel.turns
    sim.run_for("1h")
    return sim.stage.kernel.turns - before


def test_a_quiet_hour_costs_next_to_nothing():
    # What is left are the looks of fifty shards for expired offsets, six times an hour.
    assert turns_of_an_hour(20) < 350


def test_played_out_every_beat_is_an_event():
    sim = a_quiet_group(2, quiet="play")
    before = sim.stage.kernel.turns

    sim.run_for("1m")

    assert sim.stage.kernel.turns - before > 2 * 20 * 3


# --- mistakes, planted one at a time ---


def _one_beat_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Lulls._count

    def wrong(self: Lulls, lull: Lull, jump: Jump) -> None:
        count(self, lull, jump)
        self.stage.recorder.fold(lull.host.name, None).beats.count += 1

    monkeypatch.setattr(Lulls, "_count", wrong)


def _the_coordinator_hears_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_self: Lulls, lull: Lull, _jump: Jump) -> None:
        lull.broker.restore_timer(lull.timer)

    monkeypatch.setattr(Lulls, "_tell_coordinator", wrong)


def _sessions_are_set_a_little_late(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Broker.take_quietly

    def wrong(self: Broker, request: object, at_ms: int, cause: object) -> None:
        take(self, request, at_ms + 1, cause)  # type: ignore[arg-type]

    monkeypatch.setattr(Broker, "take_quietly", wrong)


def _beats_go_out_of_step(monkeypatch: pytest.MonkeyPatch) -> None:
    jump_to = Lulls._jump_to

    def wrong(self: Lulls, *args: object) -> Jump:
        jump = jump_to(self, *args)  # type: ignore[arg-type]
        last = jump.last_beat
        jump.last_beat = Exchange(last.sent_ms + 1, last.handled_ms + 1, last.heard_ms + 1)
        return jump

    monkeypatch.setattr(Lulls, "_jump_to", wrong)


def _metadata_is_never_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_refreshes", lambda *_: [])


def _a_group_is_not_woken_by_a_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "wake_group", lambda *_: None)


def _a_changed_cluster_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_knows_the_cluster", lambda *_: True)


def _new_positions_are_taken_for_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_is_all", lambda *_: True)


def _the_commit_timer_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    move = Lulls._move_consumer

    def wrong(self: Lulls, lull: Lull, jump: Jump, machine: object) -> None:
        jump.commits = 0
        move(self, lull, jump, machine)  # type: ignore[arg-type]

    monkeypatch.setattr(Lulls, "_move_consumer", wrong)


def _the_last_lap_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    find = Lulls._find_jump

    def wrong(self: Lulls, lull: Lull, machine: object) -> Jump | None:
        jump = find(self, lull, machine)  # type: ignore[arg-type]
        if jump is not None:
            jump.beats -= 1
        return jump

    monkeypatch.setattr(Lulls, "_find_jump", wrong)


MISTAKES: dict[Callable[[pytest.MonkeyPatch], None], int] = {
    _one_beat_too_many: 0,
    _the_coordinator_hears_of_nothing: 0,
    _sessions_are_set_a_little_late: 3,
    _beats_go_out_of_step: 0,
    _metadata_is_never_looked_at: 0,
    _a_group_is_not_woken_by_a_join: 2,
    _a_changed_cluster_is_not_noticed: 25,
    _new_positions_are_taken_for_old: 1,
    _the_commit_timer_is_forgotten: 0,
    _the_last_lap_is_not_played: 0,
}


@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__.strip("_"))
def test_it_would_be_noticed_if(plant, monkeypatch):
    plant(monkeypatch)

    first = MISTAKES[plant]
    assert any(differs(number) for number in range(first, first + WORLDS_PER_MISTAKE))


def differs(number: int) -> bool:
    try:
        return rows_of(number, "skip") != played(number)
    except (AssertionError, ValueError, KeyError):
        return True  # It broke down, which is a way to be noticed.
