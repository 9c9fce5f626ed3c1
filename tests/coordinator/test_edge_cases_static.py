"""Static members (KIP-345) where they surprise: replacement, fencing, the quiet return.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.events import EventKind
from coordinator.protocol import JoinGroupResponse, SyncGroupResponse
from coordinator.states import PREPARING_REBALANCE, STABLE
from coordinator.subscription import subscription_to
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    some_protocols,
)


# 18
def test_a_static_member_may_return_with_another_subscription_without_a_rebalance():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))

    call = broker.joins(
        bea.restarted(), protocols=some_protocols("range", metadata=subscription_to("other"))
    )

    assert call.error is ErrorCode.NONE
    assert call.response.generation_id == 1
    assert broker.state() is STABLE


# 18
def test_a_static_member_that_returned_without_a_rebalance_gets_its_old_share():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    back = bea.restarted()
    broker.joins(back, protocols=some_protocols("range", metadata=subscription_to("other")))

    call = broker.syncs(back)

    assert call.response.assignment == b"share of bea"


# 18, the other way round
def test_a_static_member_that_returns_with_another_choice_of_protocol_starts_a_rebalance():
    broker = a_broker()
    (ada,) = a_stable_group(
        broker, a_static_client("ada", protocols=some_protocols("range", "sticky"))
    )

    broker.joins(ada.restarted(), protocols=some_protocols("sticky", "range"))

    assert broker.group().generation_id == 2
    assert broker.group().protocol_name == "sticky"


# 18
@pytest.mark.parametrize(
    ("a_group", "protocol", "joins"),
    [
        (a_stable_group, "range", False),
        (a_stable_group, "sticky", True),
        (a_joined_group, "range", True),
        (a_preparing_group, "range", True),
    ],
)
def test_the_return_of_a_static_member_is_told_as_a_join_where_it_takes_part_in_a_rebalance(
    a_group, protocol, joins
):
    broker = a_broker()
    both = some_protocols("range", "sticky")
    _, bea = a_group(
        broker, a_client("ada", protocols=both), a_static_client("bea", protocols=both)
    )

    broker.joins(bea.restarted(), protocols=some_protocols(protocol))

    (back,) = (each for each in broker.events if each.kind is EventKind.MEMBER_REPLACED)
    told = [each.kind for each in broker.events if each.member_id == back.member_id]
    assert (EventKind.MEMBER_REJOINED in told) is joins


# 19
def test_a_static_leader_that_returns_is_told_its_old_id_as_leader_before_version_9():
    broker = a_broker()
    ada, _ = a_stable_group(broker, a_static_client("ada"), "bea")
    back = ada.restarted()

    call = broker.joins(back, api_version=8)

    assert call.response == JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=ada.member_id,
        member_id=back.member_id,
    )
    assert ada.member_id not in broker.members()


# 19
def test_a_static_leader_that_returns_leads_and_skips_the_assignment_from_version_9():
    broker = a_broker()
    ada, bea = a_stable_group(broker, a_static_client("ada"), "bea")
    back = ada.restarted()

    call = broker.joins(back, api_version=9)

    assert (call.response.leader, call.response.skip_assignment) == (back.member_id, True)
    assert {row.member_id for row in call.response.members} == {back.member_id, bea.member_id}


# 19
def test_a_static_follower_that_returns_gets_no_members_and_skips_nothing():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", a_static_client("bea"))

    call = broker.joins(bea.restarted())

    assert (call.response.leader, call.response.skip_assignment) == (ada.member_id, False)
    assert call.response.members == ()


# 20
def test_a_static_member_that_returns_before_the_sync_starts_a_rebalance_though_nothing_changed():
    broker = a_broker()
    _, bea = a_joined_group(broker, "ada", a_static_client("bea"))

    call = broker.joins(bea.restarted())

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE


# 21
def test_the_waiting_join_of_a_static_member_is_fenced_when_another_takes_its_place():
    broker = a_broker()
    ada, bea = a_stable_group(broker, a_static_client("ada"), "bea")
    waiting = broker.joins(ada)
    old_id = ada.member_id

    broker.joins(ada.restarted())

    assert waiting.response == JoinGroupResponse(
        error_code=ErrorCode.FENCED_INSTANCE_ID, member_id=old_id
    )
    assert bea.member_id in broker.members()


# 21
def test_the_waiting_sync_of_a_static_member_is_fenced_when_another_takes_its_place():
    broker = a_broker()
    _, bea = a_joined_group(broker, "ada", a_static_client("bea"))
    waiting = broker.syncs(bea)

    broker.joins(bea.restarted())

    assert waiting.response == SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID)


# 21
@pytest.mark.parametrize(
    ("instance_id", "error"),
    [("ada-instance", ErrorCode.FENCED_INSTANCE_ID), (None, ErrorCode.UNKNOWN_MEMBER_ID)],
    ids=["with its instance id it is fenced", "without it it is unknown"],
)
def test_the_old_process_of_a_replaced_static_member_is_turned_away(instance_id, error):
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada"))
    broker.joins(ada.restarted())

    calls = [
        broker.beats(ada, group_instance_id=instance_id),
        broker.syncs(ada, group_instance_id=instance_id),
        broker.joins(ada, group_instance_id=instance_id),
    ]

    assert [call.error for call in calls] == [error] * 3


# 22
def test_a_replaced_static_member_is_described_with_its_first_client_id_and_host():
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada", client_host="/10.0.0.1"))

    broker.joins(ada.restarted(), client_id="other", client_host="/10.0.0.2")

    (row,) = broker.describes().members
    assert (row.client_id, row.client_host) == ("ada", "/10.0.0.1")


# 23
@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Stable"])
def test_a_member_that_names_an_instance_id_nobody_holds_is_unknown_in(state):
    broker = a_broker()
    builders = {
        "PreparingRebalance": a_preparing_group,
        "CompletingRebalance": a_joined_group,
        "Stable": a_stable_group,
    }
    ada, _ = builders[state](broker, "ada", "bea")

    call = broker.joins(ada, group_instance_id="nobody")

    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.describes().group_state == state


# 24
def test_a_static_member_may_act_under_its_member_id_alone():
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada"))
    ada.group_instance_id = None

    calls = [broker.beats(ada), broker.syncs(ada), broker.commits(ada), broker.leaves(ada)]

    assert [error for call in calls for error in call.errors] == [ErrorCode.NONE] * 4


# 24
def test_a_static_member_may_rejoin_under_its_member_id_alone():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    bea.group_instance_id = None

    call = broker.joins(bea)

    assert call.error is ErrorCode.NONE


def test_a_static_member_that_was_replaced_before_it_synced_leaves_a_ghost_that_rebalances():
    broker = a_broker()
    ada, bea = a_joined_group(
        broker,
        a_client("ada", rebalance_timeout_ms=10_000),
        a_static_client("bea", rebalance_timeout_ms=10_000),
    )
    broker.syncs(ada, {})
    back = bea.restarted()
    broker.joins(back)
    broker.syncs(back)

    broker.advances("10s")

    assert broker.state() is PREPARING_REBALANCE
    assert broker.members() == sorted([ada.member_id, back.member_id])


def test_a_first_static_join_is_never_asked_for_a_member_id():
    broker = a_broker()

    call = broker.joins(a_static_client("ada"), api_version=9)

    assert call.error is ErrorCode.NONE


def test_a_static_replacement_takes_over_the_old_session_timeout_first():
    broker = a_broker()
    _, bea = a_stable_group(
        broker,
        a_client("ada", session_timeout_ms=60_000),
        a_static_client("bea", session_timeout_ms=10_000),
    )
    back = bea.restarted()

    broker.joins(back, session_timeout_ms=60_000)

    broker.advances("10s")
    assert back.member_id not in broker.members()
