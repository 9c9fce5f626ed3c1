"""Testing a protocol edge case: what does a coordinator answer while the leader sends no plan?

Whoever writes a client library has to cope with each of these answers. `group_coordinator` is
Kafka's coordinator in one object, without a world around it; freezegun moves its time.

    pytest -v 06_protocol_edge_case.py
"""

from collections.abc import Iterator

import pytest
from attrs import evolve
from freezegun import freeze_time
from freezegun.api import FrozenDateTimeFactory

from coordinator.local import LocalMember
from groupsim import ErrorCode, LocalCoordinator

REBALANCE_TIMEOUT_S = 60


@pytest.fixture
def clock() -> Iterator[FrozenDateTimeFactory]:
    """The time of a test."""
    with freeze_time("2026-01-01") as frozen:
        assert isinstance(frozen, FrozenDateTimeFactory)
        yield frozen


def joined(broker: LocalCoordinator) -> list[LocalMember]:
    """A leader and a follower in generation 3; neither has sent its SyncGroup yet."""
    limit_ms = REBALANCE_TIMEOUT_S * 1_000
    members = broker.stable_group("orders", "leader", "follower", rebalance_timeout_ms=limit_ms)
    answers = [broker.join("orders", each, rebalance_timeout_ms=limit_ms) for each in members]
    return [broker.member_of(answer) for answer in answers]


def test_heartbeats_are_fine_but_a_commit_must_wait(group_coordinator: LocalCoordinator) -> None:
    """The group is CompletingRebalance: a member of it may beat, and may not commit."""
    _, follower = joined(group_coordinator)

    assert group_coordinator.heartbeat(follower).error is ErrorCode.NONE
    commit = group_coordinator.commit(follower, {("orders", 0): 5})
    assert commit.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_of_the_old_generation_is_refused(group_coordinator: LocalCoordinator) -> None:
    """A client that missed the answer to its JoinGroup still has the number of the last one."""
    leader, _ = joined(group_coordinator)
    late = evolve(leader, generation_id=leader.generation_id - 1)

    assert group_coordinator.sync(late).error is ErrorCode.ILLEGAL_GENERATION


def test_a_leader_that_beats_but_sends_no_plan_is_removed(
    clock: FrozenDateTimeFactory, group_coordinator: LocalCoordinator
) -> None:
    """Its heartbeats do not save it: the rebalance timeout runs for whoever has not synced."""
    leader, follower = joined(group_coordinator)
    sync = group_coordinator.sync(follower)
    for _ in range(REBALANCE_TIMEOUT_S // 10 - 1):
        clock.tick(10)
        assert group_coordinator.heartbeat(leader).error is ErrorCode.NONE
        assert group_coordinator.heartbeat(follower).error is ErrorCode.NONE
    assert not sync.done

    clock.tick(10)

    assert group_coordinator.heartbeat(leader).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sync.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert group_coordinator.describe("orders").leader == follower.member_id
