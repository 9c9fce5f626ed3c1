"""LocalCoordinator: protocol edge cases by the wall clock, as short as a test can be."""

from __future__ import annotations

import pytest
from freezegun import freeze_time

from coordinator import ErrorCode, GroupConfig, LocalCoordinator
from coordinator.local import NotAnswered


class Clock:
    """A clock that a test moves; freezegun would do the same to the wall clock."""

    def __init__(self):
        self.now_ms = 1_000

    def __call__(self):
        return self.now_ms

    def tick(self, seconds):
        self.now_ms += seconds * 1_000


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def broker(clock):
    return LocalCoordinator(group_initial_rebalance_delay_ms=0, now_ms=clock)


def test_the_wall_clock_is_the_default_and_freezegun_moves_it():
    with freeze_time("2026-01-01") as wall_clock:
        broker = LocalCoordinator(group_initial_rebalance_delay_ms=0)
        ada, bea = broker.stable_group("g", "ada", "bea")

        wall_clock.tick(40)
        broker.heartbeat(bea)
        wall_clock.tick(6)
        broker.advance()

        assert broker.describe("g").members == (bea.member_id,)
        assert broker.heartbeat(ada).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_removed_and_the_rebalance_begins(clock, broker):
    ada, bea = broker.stable_group("g", "ada", "bea")

    clock.tick(40)
    broker.heartbeat(bea)
    clock.tick(6)
    broker.advance()

    assert broker.describe("g").state == "PreparingRebalance"
    assert broker.describe("g").members == (bea.member_id,)
    assert broker.heartbeat(ada).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_stable_group_has_one_generation_and_one_leader(broker):
    members = broker.stable_group("g", "ada", "bea", "cat")

    assert {member.generation_id for member in members} == {3}
    assert [member.is_leader for member in members].count(True) == 1
    assert broker.describe("g").state == "Stable"


def test_an_answer_is_not_done_while_its_request_is_parked(clock):
    broker = LocalCoordinator(group_initial_rebalance_delay_ms=3_000, now_ms=clock)

    joined = broker.join("g", api_version=3)

    was_done_at_once = joined.done
    clock.tick(3)
    broker.advance()
    assert (was_done_at_once, joined.done) == (False, True)
    assert joined.result.generation_id == 1


def test_asking_a_parked_answer_for_its_result_says_what_it_waits_for(clock):
    broker = LocalCoordinator(now_ms=clock)
    joined = broker.join("g", api_version=3)

    with pytest.raises(NotAnswered, match=r"'g' is PreparingRebalance.* due in 3000 ms"):
        _ = joined.result


def test_timers_fire_at_their_own_time_however_late_one_looks(clock, broker):
    ada, bea = broker.stable_group("g", "ada", "bea")

    clock.tick(10 * 60)
    broker.advance()

    # Both sessions ended at 45 s; then the group was Empty, and at ten minutes it was removed.
    assert broker.describe("g").state == "Dead"
    assert broker.heartbeat(ada).error is broker.heartbeat(bea).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_commits_can_be_read_back(broker):
    (ada,) = broker.stable_group("g", "ada")

    broker.commit(ada, {("orders", 0): 7, ("orders", 1): 9})

    assert broker.committed("g") == {("orders", 0): 7, ("orders", 1): 9}


def test_a_restart_keeps_what_was_written_and_forgets_what_was_not(broker):
    (ada,) = broker.stable_group("g", "ada")
    broker.commit(ada, {("orders", 0): 7})
    ghost = broker.join("g", client_id="ghost")

    broker.restart()

    assert broker.heartbeat(ada).error is ErrorCode.NONE
    assert broker.committed("g") == {("orders", 0): 7}
    assert broker.join("g", ghost.result.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_failed_write_is_answered_with_what_kafka_makes_of_it(broker):
    (ada,) = broker.stable_group("g", "ada")

    broker.fail_next_write(ErrorCode.NOT_ENOUGH_REPLICAS)
    refused = broker.commit(ada, {("orders", 0): 7})

    row = refused.result.topics[0].partitions[0]
    assert row.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.committed("g") == {}


def test_leaving_makes_the_group_empty(broker):
    ada, bea = broker.stable_group("g", "ada", "bea")

    left = broker.leave(ada, bea)

    assert [row.error_code for row in left.result.members] == [ErrorCode.NONE, ErrorCode.NONE]
    assert broker.describe("g").state == "Empty"


def test_nobody_joined_by_a_refused_join(broker):
    refused = broker.join("g", "stranger")

    with pytest.raises(ValueError, match="UNKNOWN_MEMBER_ID"):
        broker.member_of(refused)


def test_a_clock_that_goes_back_is_refused(clock, broker):
    clock.tick(-1)

    with pytest.raises(ValueError, match="the clock went back"):
        broker.advance()


def test_settings_come_by_name_or_as_a_whole_but_not_both():
    with pytest.raises(ValueError, match="not both"):
        LocalCoordinator(GroupConfig(), group_max_size=3)
    with pytest.raises(ValueError, match="group_max_sise"):
        LocalCoordinator(group_max_sise=3)
