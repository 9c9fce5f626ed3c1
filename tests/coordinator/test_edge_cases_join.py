"""Where Kafka's answer to a join surprises: who is let in, and whom that disturbs.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.protocol import JoinGroupResponse
from coordinator.records import GroupMetadata, GroupRecord
from coordinator.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    some_protocols,
)


# 1
def test_a_join_under_an_id_does_not_make_an_absent_group():
    broker = a_broker()
    stray = a_client(member_id="stray")

    call = broker.joins(stray)

    assert call.response == JoinGroupResponse(
        error_code=ErrorCode.UNKNOWN_MEMBER_ID, member_id="stray"
    )
    assert broker.find_group() is None


# 2
@pytest.mark.parametrize(
    "lacking", [{"protocol_type": ""}, {"protocols": ()}], ids=["protocol type", "protocols"]
)
def test_a_refused_first_join_leaves_an_empty_group_behind_when_it_lacks(lacking):
    broker = a_broker()
    ada = a_client(**lacking)

    call = broker.joins(ada)

    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert [group.group_state for group in broker.lists()] == ["Empty"]


# 2
def test_the_empty_group_of_a_refused_first_join_is_written_down():
    broker = a_broker()

    broker.joins(a_client(protocols=()))

    nothing = GroupMetadata(protocol_type="", generation_id=0, current_state_timestamp_ms=0)
    assert broker.written == [GroupRecord(group_id="g", value=nothing)]


# 3
def test_a_lone_member_cannot_change_to_a_protocol_it_did_not_offer_before():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada", protocols=some_protocols("range"))

    call = broker.joins(ada, protocols=some_protocols("sticky"))

    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert call.response.member_id == ada.member_id
    assert broker.state() is STABLE


# 3
def test_a_lone_member_may_change_its_protocol_after_it_has_left():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada", protocols=some_protocols("range"))
    broker.leaves(ada)

    call = broker.enters(ada.restarted(), protocols=some_protocols("sticky"))

    assert call.response.protocol_name == "sticky"


# 4
def test_a_group_that_is_empty_again_takes_another_protocol_type():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.enters(a_client(protocol_type="connect"))

    assert call.response.protocol_type == "connect"


# 4
def test_a_group_whose_last_member_left_during_the_initial_delay_keeps_its_protocol_type():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada = a_client()
    broker.enters(ada)
    broker.leaves(ada)

    call = broker.joins(a_client("bea", protocol_type="connect"))

    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert broker.state() is PREPARING_REBALANCE


# 5
def test_a_handed_out_id_that_joins_with_an_instance_id_is_a_server_error():
    broker = a_broker()
    ada = a_client()
    broker.joins(ada)

    call = broker.joins(ada, group_instance_id="instance")

    assert call.response == JoinGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


# 6
def test_a_full_group_does_not_look_whether_a_joining_id_is_known():
    broker = a_broker(group_max_size=1)
    a_stable_group(broker, "ada")

    call = broker.joins(a_client(member_id="stray"))

    assert call.response == JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED)


# 7
def test_a_full_group_has_no_room_for_a_static_member_that_restarts():
    broker = a_broker(group_max_size=2)
    ada, _ = a_stable_group(broker, a_static_client("ada"), a_static_client("bea"))

    call = broker.joins(ada.restarted())

    assert call.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert ada.member_id in broker.members()


# 8
def test_a_member_that_rejoins_when_all_places_are_taken_is_evicted():
    broker = a_broker(group_max_size=2)
    ada, bea = a_preparing_group(broker, "ada", "bea")
    broker.joins(a_client("cyd"), api_version=3)

    call = broker.joins(bea)

    assert call.response == JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert bea.member_id not in broker.members()
    assert ada.member_id in broker.members()


# 9
def test_an_eviction_does_not_end_the_join_phase_though_nobody_else_is_awaited():
    broker = a_broker(group_max_size=2)
    ada, bea = a_stable_group(broker, "ada", "bea", rebalance_timeout_ms=10_000)
    joins = [broker.joins(ada), broker.joins(a_client("cyd"), api_version=3)]

    broker.joins(bea)

    assert [call.is_open for call in joins] == [True, True]
    broker.advances("10s")
    assert [call.error for call in joins] == [ErrorCode.NONE, ErrorCode.NONE]


# 10
def test_more_ids_than_there_is_room_for_may_be_handed_out():
    broker = a_broker(group_max_size=1)
    clients = [a_client(name) for name in ("ada", "bea", "cyd")]

    calls = [broker.joins(each) for each in clients]

    assert [call.error for call in calls] == [ErrorCode.MEMBER_ID_REQUIRED] * 3


# 10
def test_the_size_of_a_group_counts_when_a_handed_out_id_comes_back():
    broker = a_broker(group_max_size=1)
    ada, bea = a_client("ada"), a_client("bea")
    for each in (ada, bea, ada):
        broker.joins(each)

    call = broker.joins(bea)

    assert call.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(broker.group().pending_joins) == []


# 10
def test_a_full_group_hands_out_no_more_ids():
    broker = a_broker(group_max_size=1)
    a_stable_group(broker, "ada")

    call = broker.joins(a_client("bea"))

    assert call.error is ErrorCode.GROUP_MAX_SIZE_REACHED


# 11
def test_a_follower_that_rejoins_unchanged_is_told_the_current_generation_at_once():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")

    call = broker.joins(bea)

    assert call.response == JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=ada.member_id,
        member_id=bea.member_id,
    )
    assert broker.state() is STABLE


# 11
def test_a_follower_that_rejoins_unchanged_does_not_prolong_its_session():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.advances("6s")
    broker.beats(ada)

    broker.joins(bea)

    broker.advances("4s")
    assert broker.members() == [ada.member_id]


# 12
def test_a_follower_that_prefers_its_protocols_in_another_order_starts_a_rebalance():
    broker = a_broker()
    both = some_protocols("range", "sticky")
    _, bea = a_stable_group(broker, "ada", "bea", protocols=both)

    call = broker.joins(bea, protocols=both[::-1])

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE


# 13
def test_a_leader_that_rejoins_a_stable_group_unchanged_starts_a_rebalance():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")

    call = broker.joins(ada)

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE


# 13
def test_a_leader_that_rejoins_unchanged_before_it_has_synced_gets_the_member_list_again():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")

    call = broker.joins(ada)

    assert call.response.generation_id == 1
    assert {row.member_id for row in call.response.members} == {ada.member_id, bea.member_id}
    assert broker.state() is COMPLETING_REBALANCE


# 14
def test_new_timeouts_of_a_follower_that_is_answered_at_once_are_forgotten():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)

    call = broker.joins(bea, session_timeout_ms=20_000, rebalance_timeout_ms=7)

    stored = broker.group().members[bea.member_id]
    assert call.error is ErrorCode.NONE
    assert (stored.session_timeout_ms, stored.rebalance_timeout_ms) == (10_000, 300_000)


# 15
def test_the_join_that_a_member_repeats_is_never_answered():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    first = broker.joins(ada)

    second = broker.joins(ada)

    broker.joins(bea)
    assert first.is_open
    assert second.error is ErrorCode.NONE


# 15
def test_a_repeated_join_does_not_count_twice():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")

    calls = [broker.joins(ada), broker.joins(ada)]

    assert [call.is_open for call in calls] == [True, True]
    assert broker.group().awaiting_join_count == 1


# 16
def test_a_stable_group_is_not_disturbed_by_a_client_that_asks_for_an_id():
    broker = a_broker()
    a_stable_group(broker, "ada")

    call = broker.joins(a_client("bea"))

    assert call.error is ErrorCode.MEMBER_ID_REQUIRED
    assert broker.state() is STABLE


# 16
def test_a_stable_group_rebalances_when_the_client_comes_back_with_its_id():
    broker = a_broker()
    a_stable_group(broker, "ada")
    bea = a_client("bea")
    broker.joins(bea)

    call = broker.joins(bea)

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE


# 17
def test_a_newcomer_between_join_and_sync_sends_waiting_followers_back_at_once():
    broker = a_broker()
    _, bea = a_joined_group(broker, "ada", "bea")
    waiting = broker.syncs(bea)

    broker.joins(a_static_client("cyd"))

    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.state() is PREPARING_REBALANCE


# 17
def test_a_newcomer_between_join_and_sync_makes_all_assignments_blank():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    for each in (ada, bea):
        broker.joins(each)

    broker.joins(a_static_client("cyd"))

    described = broker.describes()
    assert {row.member_assignment for row in described.members} == {b""}


# 17, the other way round
def test_a_newcomer_in_a_stable_group_leaves_the_assignments_where_they_are():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")

    broker.joins(a_static_client("bea"))

    shares = {row.member_id: row.member_assignment for row in broker.describes().members}
    assert shares[ada.member_id] == b"share of ada"


def test_an_empty_group_is_not_disturbed_by_a_stray_id():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.joins(a_client(member_id="stray"))

    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.state() is EMPTY
