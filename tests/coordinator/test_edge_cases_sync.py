"""SyncGroup and Heartbeat where they surprise.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.protocol import SyncGroupResponse
from coordinator.states import PREPARING_REBALANCE, STABLE
from coordinator.timers import SyncTimer
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
)


# 44
def test_a_sync_of_the_generation_that_just_ended_is_told_of_the_rebalance():
    broker = a_broker()
    _, bea = a_preparing_group(broker, "ada", "bea")

    call = broker.syncs(bea)

    assert call.response == SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


# 44
def test_a_sync_of_the_last_generation_is_illegal_once_the_next_one_has_begun():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    for each in (ada, bea):
        broker.joins(each)

    call = broker.syncs(bea, generation_id=1)

    assert call.error is ErrorCode.ILLEGAL_GENERATION


# 45
def test_a_sync_to_an_empty_group_is_of_nobody_though_its_generation_fits():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.syncs(a_client(member_id="last", generation_id=2))

    assert broker.group().generation_id == 2
    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID


# 46
def test_a_member_that_the_leader_forgot_gets_an_empty_share():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    forgotten = broker.syncs(bea)

    broker.syncs(ada, {ada.member_id: b"everything"})

    assert forgotten.response == SyncGroupResponse(
        protocol_type="consumer", protocol_name="range", assignment=b""
    )


# 46
def test_a_stranger_in_the_leaders_plan_gets_nothing():
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")

    call = broker.syncs(ada, {ada.member_id: b"mine", "stranger": b"theirs"})

    assert call.response.assignment == b"mine"
    assert broker.members() == [ada.member_id]


# 47
def test_a_second_plan_of_the_leader_is_ignored_once_the_group_is_stable():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")

    call = broker.syncs(ada, {ada.member_id: b"other"})

    assert call.response.assignment == b"share of ada"


# 47
def test_what_a_follower_plans_is_ignored():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    follower = broker.syncs(bea, {bea.member_id: b"all of it"})

    broker.syncs(ada, {bea.member_id: b"a part"})

    assert follower.response.assignment == b"a part"


# 48
def test_a_follower_that_beats_but_never_syncs_is_removed_from_a_stable_group():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea", rebalance_timeout_ms=20_000)
    broker.syncs(ada, {})
    for _ in range(3):
        broker.advances("5s")
        broker.beats(bea)
    before = broker.state()

    broker.advances("5s")

    assert before is STABLE
    assert broker.members() == [ada.member_id]
    assert broker.state() is PREPARING_REBALANCE


# 48
def test_nobody_is_chased_once_everyone_has_synced():
    broker = a_broker()
    a_stable_group(broker, "ada", "bea")

    assert broker.due_ms(SyncTimer("g")) is None


# 48
def test_followers_that_wait_are_sent_back_when_the_leader_never_syncs():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea", rebalance_timeout_ms=20_000)
    waiting = broker.syncs(bea)

    broker.advances("20s")

    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.members() == [bea.member_id]
    assert ada.member_id not in broker.members()


# 48
def test_a_static_member_that_never_syncs_is_removed_as_well():
    broker = a_broker()
    ada, _ = a_joined_group(
        broker,
        a_client("ada", rebalance_timeout_ms=20_000),
        a_static_client("bea", rebalance_timeout_ms=20_000),
    )
    broker.syncs(ada, {})

    broker.advances("20s")

    assert broker.members() == [ada.member_id]


# 49
@pytest.mark.parametrize(
    ("protocol_type", "protocol_name"),
    [(None, "range"), ("consumer", None), (None, None)],
    ids=["type", "name", "type and name"],
)
def test_a_sync_is_inconsistent_from_version_5_without_its_protocol(protocol_type, protocol_name):
    broker = a_broker()

    call = broker.syncs(
        a_client(group_id=""),
        api_version=5,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
    )

    # Even before the group id is looked at, which is invalid here.
    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


# 49
def test_a_sync_needs_no_protocol_before_version_5():
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")

    call = broker.syncs(ada, {}, api_version=4)

    assert call.error is ErrorCode.NONE


# 50
def test_a_beat_between_join_and_sync_is_fine():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")

    calls = [broker.beats(each) for each in (ada, bea)]

    assert [call.error for call in calls] == [ErrorCode.NONE, ErrorCode.NONE]


# 51
def test_a_beat_is_taken_blindly_while_the_shard_loads():
    broker = a_broker()
    broker.loses_its_shard()
    broker.begins_to_load()

    call = broker.beats(a_client(group_id="nowhere", member_id="nobody", generation_id=99))

    assert call.error is ErrorCode.NONE


def test_the_sync_that_a_member_repeats_is_never_answered():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    first = broker.syncs(bea)
    second = broker.syncs(bea)

    broker.syncs(ada, {})

    assert first.is_open
    assert second.error is ErrorCode.NONE


@pytest.mark.parametrize(
    "said", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}], ids=["type", "name"]
)
def test_a_sync_that_names_another_protocol_than_the_groups_is_inconsistent(said):
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")

    call = broker.syncs(ada, {}, **said)

    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_under_a_handed_out_id_is_of_nobody():
    broker = a_broker()
    a_joined_group(broker, "ada")
    pending = a_client("bea")
    broker.joins(pending)

    call = broker.syncs(pending, generation_id=1)

    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID
