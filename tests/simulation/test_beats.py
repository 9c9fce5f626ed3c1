"""What consumers at rest repeat goes a way of its own, and whatever befalls it there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from client.resting import Rest
from coordinator import GroupConfig, ListedIds
from coordinator.protocol import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
)
from coordinator.records import OffsetRecord
from simulation.beats import BeatWay, CommitWay, Way
from simulation.chance import between
from simulation.events import Row
from simulation.network import Message
from simulation.world import Simulation

BY_HAND: dict[str, object] = {"enable.auto.commit": False}
#: A heartbeat leaves, arrives and is answered within so many milliseconds.
ON_ITS_WAY_MS = range(12)


def a_calm_group(
    settings: dict[str, object] = BY_HAND, config: GroupConfig | None = None
) -> Simulation:
    """Two members at rest, each with a partition, whose heartbeats take some time."""
    ids = ListedIds(("ada-1", "bea-1", *(f"later-{number}" for number in range(20))))
    sim = Simulation(
        seed=3,
        quiet="play",
        latency=between(2, 5),
        member_ids=ids,
        group_config=config or GroupConfig(),
    )
    sim.topic("orders", partitions=2)
    sim.consumers("g", "ada", "bea", topics=["orders"], settings=settings)
    sim.run_until_stable("g")
    sim.run_for("22s")
    return sim


def the_way_of(sim: Simulation, client: str) -> BeatWay:
    way = sim.stage.hosts[client].beat_way
    assert way is not None
    return way


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [(BeatWay, BY_HAND, "heartbeats_answered"), (CommitWay, {}, "commits_repeated")],
)
def test_calm_repetitions_become_no_messages(kind, settings, told, monkeypatch):
    sim = a_calm_group(settings)
    made: list[Way] = []
    message: Callable[[Way], Message] = kind.message

    def noted(way: Way) -> Message:
        made.append(way)
        return message(way)

    monkeypatch.setattr(kind, "message", noted)

    sim.run_for("2m")
    sim.end()

    assert made == []
    row = [row for row in sim.events if row.kind == told][-1]
    assert row.count is not None
    assert row.count > 2 * 60 / 5


def test_a_heartbeat_keeps_the_session_that_it_finds_at_its_coordinator():
    sim = a_calm_group()
    way = the_way_of(sim, "ada")

    sim.run_for(way.errand.at_ms + 1_000 - sim.now_ms)
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
    "slow log": lambda sim: sim.heal_append("g"),
    "hold of commits": lambda sim: sim.release("ada", request="OffsetCommit"),
}
#: After these the members never rest again.
BUSY_AFTERWARDS = frozenset({"topic deleted"})


def rows_with(fault: str, after_ms: int) -> list[Row]:
    """Something happens so long after a heartbeat has left, and is over four seconds later."""
    sim = a_calm_group()
    beat_ms = the_way_of(sim, "ada").errand.at_ms
    return rows_of(sim, fault, beat_ms + after_ms)


def rows_of(sim: Simulation, fault: str, at_ms: int) -> list[Row]:
    sim.at(at_ms, lambda: FAULTS_OF_COMMITS[fault](sim))
    if fault in CURES:
        sim.at(at_ms + 4_000, lambda: CURES[fault](sim))
    sim.run_for("2s" if fault in BUSY_AFTERWARDS else "1m")
    sim.end()
    return list(sim.events)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_befalls_a_heartbeat_on_its_way_befalls_it_as_any_message(fault, monkeypatch):
    rows = [rows_with(fault, after_ms) for after_ms in ON_ITS_WAY_MS]

    monkeypatch.setattr(BeatWay, "leave", lambda *_: False)

    assert [rows_with(fault, after_ms) for after_ms in ON_ITS_WAY_MS] == rows


# --- commits ---


def commit_as(sim: Simulation, member: str, partition: int, offset: int) -> None:
    """Somebody commits in the name of a member."""
    row = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="orders", partitions=(row,))
    sim.raw_member("somebody", "g").send(
        OffsetCommitRequest(
            api_version=9, group_id="g", member_id=member, generation_id=1, topics=(topic,)
        )
    )


def overtake_on_a_new_way(sim: Simulation) -> None:
    """Somebody commits in ada's name before her first commit that becomes no message."""
    way = sim.stage.hosts["ada"].commit_way
    if way is not None:
        way.standing = None
    commit_as(sim, "ada-1", 0, 3)


def delete_offsets(sim: Simulation) -> None:
    """Somebody wants a position forgotten that is ada's; it is refused while she reads there."""
    topic = OffsetDeleteRequestTopic(name="orders", partitions=(0,))
    sim.raw_member("somebody", "g").send(OffsetDeleteRequest(group_id="g", topics=(topic,)))


def seek(sim: Simulation) -> None:
    """Ada's application goes somewhere else, as from a callback."""
    machine = sim.stage.hosts["ada"].machine
    assert machine is not None
    if owned := machine.calls.subscriptions.assigned_partitions:
        machine.calls.seek(owned[0], 7)


FAULTS_OF_COMMITS: dict[str, Callable[[Simulation], object]] = {
    **FAULTS,
    "hold of commits": lambda sim: sim.hold("ada", request="OffsetCommit"),
    "slow log": lambda sim: sim.slow_append("g", by="300ms"),
    "bea commits": lambda sim: commit_as(sim, "bea-1", 0, 0),
    "somebody overtakes": lambda sim: commit_as(sim, "ada-1", 0, 3),
    "somebody overtakes on a new way": overtake_on_a_new_way,
    "somebody repeats": lambda sim: commit_as(sim, "ada-1", 0, 0),
    "offsets deleted": delete_offsets,
    "seek": seek,
    "topic deleted": lambda sim: sim.delete_topic("orders"),
    "more partitions": lambda sim: sim.add_partitions("orders", 3),
}


@cache
def next_commit_ms() -> int:
    """When ada's next automatic commit leaves in a calm group."""
    way = a_calm_group({}).stage.hosts["ada"].commit_way
    assert way is not None
    return way.errand.at_ms


def rows_after_a_commit(fault: str) -> list[list[Row]]:
    """The same, so long after an automatic commit has left, for each time on its way."""
    at_ms = next_commit_ms()
    return [rows_of(a_calm_group({}), fault, at_ms + after_ms) for after_ms in ON_ITS_WAY_MS]


@pytest.mark.parametrize("fault", FAULTS_OF_COMMITS)
def test_what_befalls_a_commit_on_its_way_befalls_it_as_any_message(fault, monkeypatch):
    rows = rows_after_a_commit(fault)

    monkeypatch.setattr(CommitWay, "leave", lambda *_: False)
    is_same_by_messages = rows_after_a_commit(fault) == rows
    monkeypatch.setattr(Rest, "_start_pulse", lambda *_: None)
    is_same_without_a_pulse = rows_after_a_commit(fault) == rows

    assert is_same_by_messages
    assert is_same_without_a_pulse


def test_what_is_committed_again_is_kept_for_as_long_as_any_commit(monkeypatch):
    """By the time of the last commit positions expire once the group is left."""

    def removed_ms() -> list[int]:
        config = GroupConfig(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
        sim = a_calm_group({}, config)
        sim.crash("bea")
        sim.run_for("1m")
        sim.crash("ada")
        sim.run_for("3m")
        return [row.at_ms for row in sim.events if row.kind == "offset_removed"]

    known = removed_ms()
    monkeypatch.setattr(Rest, "_start_pulse", lambda *_: None)

    assert len(known) == 2
    assert removed_ms() == known


def test_the_log_has_what_was_committed_again():
    sim = a_calm_group({})

    sim.run_for("1m")

    broker = sim.stage.coordinator_of("g")
    assert broker is not None
    index = broker.machine.shard_of("g")
    shard = broker.machine.slots[index].shard
    in_the_log = [each for each in broker.logs[index].records() if isinstance(each, OffsetRecord)]
    known = {each.value for each in in_the_log if each.value is not None}
    assert shard is not None
    assert known == set(shard.offsets["g"].values())
    assert all(value.commit_timestamp_ms > sim.now_ms - 10_000 for value in known)
