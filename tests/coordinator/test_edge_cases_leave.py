"""LeaveGroup where it surprises.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.protocol import JoinGroupResponse, LeaveGroupResponse, MemberIdentity
from coordinator.states import EMPTY, PREPARING_REBALANCE, STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
)


# 32
def test_a_member_that_leaves_while_it_waits_in_a_sync_is_never_answered():
    broker = a_broker()
    _, bea, cyd = a_joined_group(broker, "ada", "bea", "cyd")
    gone, staying = broker.syncs(bea), broker.syncs(cyd)

    broker.leaves(bea)

    assert gone.is_open
    assert staying.error is ErrorCode.REBALANCE_IN_PROGRESS


# 32
def test_a_member_whose_session_runs_out_while_it_waits_in_a_sync_stays():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea", session_timeout_ms=10_000)
    waiting = broker.syncs(bea)
    broker.advances("9s")
    broker.beats(ada)

    broker.advances("9s")

    assert waiting.is_open
    assert bea.member_id in broker.members()


# 52
def test_a_handed_out_id_that_leaves_starts_a_rebalance_of_a_stable_group():
    broker = a_broker()
    a_stable_group(broker, "ada")
    pending = a_client("bea")
    broker.joins(pending)

    call = broker.leaves(pending)

    assert call.errors == [ErrorCode.NONE]
    assert broker.state() is PREPARING_REBALANCE


# 53
def test_a_batch_of_an_absent_group_is_fine_on_top_and_unknown_in_each_row():
    broker = a_broker()

    call = broker.leaves(a_client(member_id="a"), a_client(member_id="b"))

    assert call.error is ErrorCode.NONE
    assert call.errors == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


# 53
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_single_leave_of_an_absent_group_is_unknown_on_top_in_version(version):
    broker = a_broker()

    call = broker.removes(MemberIdentity(member_id="a"), api_version=version)

    assert call.response == LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)


# 54
def test_whoever_holds_an_instance_id_is_removed_by_it():
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada"))
    broker.joins(ada.restarted())

    call = broker.removes(MemberIdentity(group_instance_id="ada-instance"))

    (row,) = call.response.members
    assert (row.member_id, row.error_code) == ("", ErrorCode.NONE)
    assert broker.members() == []


# 54
@pytest.mark.parametrize("instance_id", [None, "nobody"])
def test_an_entry_without_a_member_id_is_unknown_if_nobody_holds_the_instance_id(instance_id):
    broker = a_broker()
    a_stable_group(broker, "ada")

    call = broker.removes(MemberIdentity(group_instance_id=instance_id))

    assert call.errors == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert broker.state() is STABLE


# 55
def test_a_group_that_all_left_during_the_initial_delay_waits_for_its_end():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada = a_client("ada")
    broker.enters(ada)
    broker.leaves(ada)
    before = broker.state()

    broker.advances("3s")

    assert before is PREPARING_REBALANCE
    assert broker.state() is EMPTY
    assert broker.group().generation_id == 1


def test_a_member_that_leaves_while_it_waits_in_a_join_is_told_that_it_is_unknown():
    broker = a_broker()
    ada, _ = a_preparing_group(broker, "ada", "bea")
    waiting = broker.joins(ada)

    broker.leaves(ada)

    assert waiting.response == JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_batch_starts_one_rebalance_after_all_have_gone():
    broker = a_broker()
    ada, bea, cyd = a_joined_group(broker, "ada", "bea", "cyd")
    waiting = [broker.syncs(each) for each in (bea, cyd)]

    broker.leaves(ada, bea)

    # One after the other, the second leaver's sync would have heard of the first one's rebalance.
    assert [call.is_open for call in waiting] == [True, False]


def test_the_second_of_two_equal_entries_is_unknown():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")

    call = broker.leaves(bea, bea)

    assert call.errors == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert broker.members() == [ada.member_id]


def test_an_empty_batch_does_nothing():
    broker = a_broker()
    a_stable_group(broker, "ada")

    call = broker.removes()

    assert call.response == LeaveGroupResponse()
    assert broker.state() is STABLE


def test_a_handed_out_id_may_leave_under_any_instance_id():
    broker = a_broker()
    pending = a_client("ada")
    broker.joins(pending)

    call = broker.removes(MemberIdentity(member_id=pending.member_id, group_instance_id="whatever"))

    assert call.errors == [ErrorCode.NONE]
    assert broker.session_ends_ms(pending) is None


def test_an_instance_id_of_somebody_else_is_fenced():
    broker = a_broker()
    ada, _ = a_stable_group(broker, a_static_client("ada"), a_static_client("bea"))

    call = broker.removes(MemberIdentity(member_id=ada.member_id, group_instance_id="bea-instance"))

    assert call.errors == [ErrorCode.FENCED_INSTANCE_ID]
    assert broker.state() is STABLE
