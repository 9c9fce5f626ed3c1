"""Single requests by script: ghosts, and members that speak for others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator import ErrorCode, ListedIds
from coordinator.protocol import (
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Request,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from simulation.events import Row
from simulation.stage import Quiet
from simulation.world import Simulation


def a_heartbeat(member: str) -> Request:
    return HeartbeatRequest(group_id="checkout", member_id=member, generation_id=1)


def a_commit(member: str) -> Request:
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=3)
    topic = OffsetCommitRequestTopic(name="orders", partitions=(position,))
    return OffsetCommitRequest(
        api_version=9, group_id="checkout", member_id=member, generation_id=1, topics=(topic,)
    )


def rows(
    quiet: Quiet, request: Callable[[str], Request], at_ms: int, *, dies: bool = True
) -> list[Row]:
    """In a calm somebody sends a request in ada's name, and soon after it she may die."""
    sim = Simulation(seed=3, quiet=quiet, member_ids=ListedIds(("ada-1",)))
    sim.topic("orders")
    sim.append("orders", 10)
    settings = {"auto.offset.reset": "earliest"}
    sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
    ghost = sim.raw_member("ghost", "checkout")
    sim.at(at_ms, lambda: ghost.send(request("ada-1")))
    if dies:
        sim.at(at_ms + 100, lambda: sim.crash("ada"))
    sim.run_for("2m")
    sim.end()
    return list(sim.events)


@pytest.mark.parametrize("at_ms", range(41_000, 44_000, 500))
@pytest.mark.parametrize("request_of", [a_heartbeat, a_commit])
def test_a_request_in_anothers_name_ends_its_lull(request_of, at_ms):
    assert rows("skip", request_of, at_ms) == rows("play", request_of, at_ms)


@pytest.mark.parametrize("at_ms", range(41_000, 46_000, 1_000))
def test_a_repeated_commit_is_told_where_somebody_has_committed_otherwise_meanwhile(at_ms):
    played = rows("play", a_commit, at_ms, dies=False)

    assert rows("skip", a_commit, at_ms, dies=False) == played
    committed = [row.offset for row in played if row.kind == "offset_committed"]
    assert committed == [10, 3, 10]


def test_ids_can_be_given_as_a_list():
    sim = Simulation(seed=3, member_ids=ListedIds(("ada-1", "bea-1")))
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("1s")
    sim.consumers("checkout", "bea", topics=["orders"])
    sim.run_until_stable("checkout")

    members = {row.client: row.member for row in sim.events if row.kind == "member_added"}
    assert members == {"ada": "ada-1", "bea": "bea-1"}


def test_an_answer_on_a_connection_that_is_gone_is_lost():
    sim = Simulation(seed=3)
    ghost = sim.raw_member("ghost", "checkout")
    ghost.join("orders")

    sim.reset_connections("ghost", acted=True)
    sim.run_for("1s")

    assert ghost.replies == []
    assert [row.kind for row in sim.events if row.client == "ghost"][-1] == "reply_lost"


def test_a_raw_member_that_joined_is_given_its_share_when_it_syncs():
    sim = Simulation(seed=3)
    ghost = sim.raw_member("ghost", "checkout")
    for _ in range(2):  # the first join is answered with an id to join with
        ghost.join("orders")
        sim.run_for("5s")

    ghost.sync(SyncGroupRequestAssignment(ghost.member_id, b"all of it"))
    sim.run_for("1s")

    answer = ghost.replies[-1]
    assert isinstance(answer, SyncGroupResponse)
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"all of it")


def test_a_raw_member_is_seen_to_connect_before_it_asks():
    sim = Simulation(seed=3)
    sim.topic("orders")
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_until_stable()

    sim.raw_member("ghost", "checkout").send(a_heartbeat("nobody"))
    sim.run_for("1s")

    told = [row.kind for row in sim.events if row.client == "ghost"]
    assert told[:2] == ["connection_opened", "request_sent"]
