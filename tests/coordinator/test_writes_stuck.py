"""Writes of which the log never speaks: five seconds of patience, and the end of a shard.

No recording has slow writes, so these tests are the proof; the outcomes are those of Kafka 4.3.1's
own runtime.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.protocol import JoinGroupResponse
from coordinator.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    begin_a_write,
    join_together,
)

NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR

# --- five seconds ---

PATIENT = {
    "a beat": (lambda broker, ada: broker.beats(ada), NOT_AVAILABLE),
    "a leave": (lambda broker, ada: broker.leaves(ada), NOT_AVAILABLE),
    "a commit": (lambda broker, ada: broker.commits(ada), NOT_AVAILABLE),
    "an offset delete": (lambda broker, _: broker.deletes_offsets("g", ("u", 0)), NOT_AVAILABLE),
    "a group delete": (lambda broker, _: broker.deletes("g"), NOT_AVAILABLE),
    "a parked join": (lambda broker, ada: broker.joins(ada), NOT_AVAILABLE),
    "a stable fetch": (lambda broker, _: broker.fetches("g", require_stable=True), NOT_COORDINATOR),
}


@pytest.mark.parametrize("kind", PATIENT)
def test_five_seconds_is_what_is_waited_for_the_log_by(kind):
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    act, error = PATIENT[kind]
    begin_a_write(broker)
    call = act(broker, ada)
    broker.advances(4_999)
    before = call.is_open

    broker.advances(1)

    assert before
    assert call.errors == [error]


def test_how_long_the_log_is_waited_for_is_a_setting():
    broker = a_broker(offsets_commit_timeout_ms=300)
    call = begin_a_write(broker)

    broker.advances(300)

    assert call.errors == [NOT_AVAILABLE]


def test_each_operation_has_five_seconds_of_its_own():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    first = begin_a_write(broker)
    broker.advances("3s")
    second = broker.beats(ada)

    broker.advances("2s")

    assert (first.is_open, second.is_open) == (False, True)
    broker.advances("3s")
    assert second.error is NOT_AVAILABLE


def test_a_write_that_took_too_long_is_not_rolled_back():
    broker = a_broker()
    call = begin_a_write(broker, "g")
    broker.advances("5s")

    broker.log_speaks()

    assert call.errors == [NOT_AVAILABLE]
    assert broker.offsets() == {("t", 0): 5}


def test_a_write_that_took_too_long_and_then_failed_is_rolled_back():
    broker = a_broker()
    begin_a_write(broker, "g")
    broker.advances("5s")

    broker.log_speaks(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert broker.find_group() is None


def test_a_beat_that_waited_too_long_has_kept_its_session_alive():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.advances("10s")
    begin_a_write(broker)

    call = broker.beats(ada)

    broker.advances("5s")
    assert call.error is NOT_AVAILABLE
    assert broker.session_ends_ms(ada) == 55_000


def test_a_join_that_waited_too_long_is_answered_while_its_member_stays_parked():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = broker.joins(ada)

    broker.advances("5s")

    assert call.response == JoinGroupResponse(error_code=NOT_AVAILABLE)
    assert broker.group().members[ada.member_id].awaiting_join is not None


def test_a_join_that_waited_too_long_is_not_answered_again_when_its_phase_ends():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    early = broker.joins(ada)
    broker.advances("5s")

    late = broker.joins(bea)

    assert early.error is NOT_AVAILABLE
    assert late.response.generation_id == 2
    assert broker.group().leader_id == ada.member_id


def test_a_join_that_waited_too_long_may_be_repeated():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    broker.joins(ada)
    broker.advances("5s")

    again = broker.joins(ada)

    broker.joins(bea)
    assert again.response.generation_id == 2


def test_a_first_join_whose_record_took_too_long_leaves_its_member_parked():
    broker = a_broker(group_initial_rebalance_delay_ms=20_000)
    broker.log_falls_silent()
    ada = a_static_client()
    call = broker.joins(ada)

    broker.advances("5s")

    assert call.response == JoinGroupResponse(error_code=NOT_AVAILABLE)
    assert broker.group().awaiting_join_count == 1
    broker.advances("15s")
    assert broker.state() is COMPLETING_REBALANCE


def test_a_sync_that_waited_too_long_for_another_groups_write_stays_parked():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    begin_a_write(broker)
    early = broker.syncs(bea)
    broker.advances("5s")

    broker.log_speaks()
    broker.syncs(ada, {bea.member_id: b"all"})

    assert early.error is NOT_AVAILABLE
    assert broker.state() is STABLE
    assert broker.syncs(bea).response.assignment == b"all"


def test_a_follower_behind_a_stuck_plan_is_answered_once():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    leader = broker.syncs(ada, {})
    broker.advances("1s")
    follower = broker.syncs(bea)

    broker.advances("10s")

    assert [call.error for call in (leader, follower)] == [NOT_AVAILABLE] * 2


def test_a_plan_that_took_too_long_starts_the_rebalance_over():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    call = broker.syncs(ada, {})

    broker.advances("5s")

    assert call.error is NOT_AVAILABLE
    assert broker.state() is PREPARING_REBALANCE
    assert broker.group().generation_id == 1


def test_a_plan_that_is_committed_after_it_took_too_long_does_not_make_the_group_stable():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    broker.syncs(ada, {})
    broker.advances("5s")

    broker.log_speaks()

    assert broker.state() is PREPARING_REBALANCE


def test_a_static_return_that_took_too_long_is_undone():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.log_falls_silent()
    call = broker.joins(bea.restarted())

    broker.advances("5s")

    assert call.error is NOT_AVAILABLE
    assert bea.member_id in broker.members()


def test_a_load_finds_the_static_return_that_was_undone_before_it_was_committed():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.log_falls_silent()
    broker.joins(bea.restarted())
    broker.advances("5s")
    broker.log_speaks()

    broker.fails_over()

    assert bea.member_id not in broker.members()


def test_a_leave_that_waited_too_long_has_happened():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.log_falls_silent()
    call = broker.leaves(ada)

    broker.advances("5s")

    assert call.error is NOT_AVAILABLE
    assert broker.state() is EMPTY


# --- the shard is given up while writes are under way ---

LOST = {
    "a beat": lambda broker, ada: broker.beats(ada),
    "a leave": lambda broker, ada: broker.leaves(ada),
    "a commit": lambda broker, ada: broker.commits(ada),
    "an offset delete": lambda broker, _: broker.deletes_offsets("g", ("u", 0)),
    "a group delete": lambda broker, _: broker.deletes("g"),
    "a stable fetch": lambda broker, _: broker.fetches("g", require_stable=True),
}


@pytest.mark.parametrize("kind", LOST)
def test_the_end_of_a_shard_sends_elsewhere(kind):
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = LOST[kind](broker, ada)

    broker.loses_its_shard()

    assert call.errors == [NOT_COORDINATOR]


def test_a_leader_and_its_followers_are_sent_elsewhere_once_when_the_shard_ends():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    calls = [broker.syncs(bea), broker.syncs(ada, {})]

    broker.loses_its_shard()

    assert [call.error for call in calls] == [NOT_COORDINATOR] * 2


def test_a_static_return_is_sent_elsewhere_when_the_shard_ends():
    broker = a_broker()
    ada, _ = a_stable_group(broker, a_static_client("ada"), "bea")
    broker.log_falls_silent()
    call = broker.joins(ada.restarted())

    broker.loses_its_shard()

    assert call.response == JoinGroupResponse(
        error_code=NOT_COORDINATOR,
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=ada.member_id,
    )


def test_a_parked_join_that_waits_for_the_log_is_sent_elsewhere_without_its_id():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = broker.joins(ada)

    broker.loses_its_shard()

    assert call.response == JoinGroupResponse(error_code=NOT_COORDINATOR)


def test_a_parked_join_that_does_not_wait_for_the_log_is_sent_elsewhere_under_its_id():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    call = broker.joins(ada)
    begin_a_write(broker)

    broker.loses_its_shard()

    assert call.response == JoinGroupResponse(error_code=NOT_COORDINATOR, member_id=ada.member_id)


def test_a_first_join_is_sent_elsewhere_when_the_shard_ends():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    broker.log_falls_silent()
    call = broker.joins(a_static_client())

    broker.loses_its_shard()

    assert call.response == JoinGroupResponse(error_code=NOT_COORDINATOR)


def test_a_member_that_was_answered_early_is_not_answered_again_when_the_shard_ends():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = broker.joins(ada)
    broker.advances("5s")

    broker.loses_its_shard()

    assert call.error is NOT_AVAILABLE


@pytest.mark.parametrize("error", [None, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_what_the_log_says_of_a_write_after_the_shard_ended_is_ignored(error):
    broker = a_broker()
    call = begin_a_write(broker)
    broker.loses_its_shard()

    broker.log_speaks(error)

    assert call.errors == [NOT_COORDINATOR]


def test_no_timer_of_a_shard_outlives_it():
    broker = a_broker()
    a_stable_group(broker, "ada", "bea")
    join_together(broker, a_client("cyd", group_id="other"))
    begin_a_write(broker)

    broker.loses_its_shard()

    assert len(broker.timers) == 0


def test_members_of_an_empty_group_have_nothing_to_hear_when_the_shard_ends():
    broker = a_broker()
    an_empty_group(broker)
    answers = len(broker.replies)

    broker.loses_its_shard()

    assert len(broker.replies) == answers
