"""Where Kafka's own coordinator fails inside: who hears of it, and what goes on all the same."""

from __future__ import annotations

from coordinator import ErrorCode
from coordinator.protocol import HeartbeatRequest
from coordinator.states import PREPARING_REBALANCE
from tests.support.builders import (
    a_broker,
    a_client,
    a_stable_group,
    a_static_client,
    some_protocols,
)


def a_group_whose_choice_one_member_gave_up(broker):
    """Stable on range; the static bea came back with a list that nobody could vote for."""
    both = some_protocols("range", "sticky")
    ada, bea = a_stable_group(
        broker, a_client("ada", protocols=both), a_static_client("bea", protocols=both)
    )
    back = broker.joins(bea.restarted(), protocols=some_protocols("sticky", "sticky"))
    return ada, back


def test_a_static_return_that_leaves_no_candidate_fails_inside():
    broker = a_broker()

    _, back = a_group_whose_choice_one_member_gave_up(broker)

    assert back.error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_group_that_cannot_be_described_is_an_error_and_no_exception():
    broker = a_broker()
    a_group_whose_choice_one_member_gave_up(broker)

    described = broker.describes()

    assert described.error_code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_fault_after_a_write_leaves_the_join_parked_and_the_broker_alive():
    broker = a_broker()
    both = some_protocols("range", "sticky")
    ada, bea = a_stable_group(
        broker, a_static_client("ada", protocols=both), a_static_client("bea", protocols=both)
    )
    leader, other = (ada, bea) if broker.group().is_leader(ada.member_id) else (bea, ada)
    broker.log_falls_silent()
    back = broker.joins(leader.restarted(), api_version=9, protocols=leader.protocols)
    broker.joins(other.restarted(), protocols=some_protocols("sticky", "sticky"))

    broker.log_speaks()

    assert back.is_open
    assert broker.asks(HeartbeatRequest(group_id="g", generation_id=1, member_id="x")).error is (
        ErrorCode.UNKNOWN_MEMBER_ID
    )


def test_static_members_with_no_rebalance_timeout_do_not_stop_the_clock():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.group().members[bea.member_id].rebalance_timeout_ms = 0

    broker.leaves(ada)
    broker.advances(10)

    assert broker.state() is PREPARING_REBALANCE


def test_a_request_that_failed_inside_is_not_remembered_as_answered():
    broker = a_broker()
    ada = a_static_client("ada")
    pending = broker.joins(ada, group_instance_id=None)

    refused = broker.joins(ada, member_id=pending.response.member_id)

    shard = broker.machine.slots[0].shard
    assert refused.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert shard is not None
    assert shard.answered_early == set()
