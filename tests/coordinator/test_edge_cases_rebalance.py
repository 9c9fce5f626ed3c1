"""The join phase where it surprises: how long it lasts, who leads, which protocol wins.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode, EventKind
from coordinator.records import GroupMetadata, GroupRecord
from coordinator.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE
from coordinator.timers import JoinTimer
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    join_together,
    some_protocols,
)


# 33
def test_a_later_joiner_does_not_prolong_a_join_phase_that_has_begun():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea", rebalance_timeout_ms=10_000)
    broker.joins(ada)

    broker.joins(a_static_client("cyd", rebalance_timeout_ms=60_000))

    assert broker.due_ms(JoinTimer("g")) == 10_000


# 33
def test_a_join_phase_lasts_as_long_as_the_most_patient_member_allows():
    broker = a_broker()
    ada, _, _ = a_stable_group(
        broker,
        a_client("ada", rebalance_timeout_ms=10_000),
        a_client("bea", rebalance_timeout_ms=60_000),
        a_client("cyd", rebalance_timeout_ms=20_000),
    )

    broker.joins(ada)

    assert broker.due_ms(JoinTimer("g")) == 60_000


# 34
def test_a_group_that_all_members_left_does_not_wait_for_a_handed_out_id():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    broker.joins(a_client("ghost"))

    broker.leaves(ada, bea)

    assert broker.state() is EMPTY
    assert broker.group().generation_id == 2
    assert len(broker.group().pending_joins) == 1


# 35
def test_a_second_member_delays_the_first_rebalance_by_another_full_delay():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    waiting = broker.joins(a_static_client("ada"))
    broker.advances(2_999)
    broker.joins(a_static_client("bea"))

    broker.advances(3_000)

    assert waiting.is_open
    broker.advances(1)
    assert waiting.error is ErrorCode.NONE


# 35
def test_the_first_members_rebalance_timeout_ends_a_first_rebalance_that_keeps_growing():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    waiting = broker.joins(a_static_client("ada", rebalance_timeout_ms=10_000))
    for name in ("bea", "cyd", "dan"):
        broker.advances(2_000)
        broker.joins(a_static_client(name))
    broker.advances(3_999)
    before = waiting.is_open

    broker.advances(1)

    assert before
    assert broker.now_ms == 10_000
    assert waiting.error is ErrorCode.NONE


# 36
def test_a_rebalance_timeout_below_the_initial_delay_does_not_shorten_it():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    waiting = broker.joins(a_static_client("ada", rebalance_timeout_ms=100))
    broker.advances(2_999)
    before = waiting.is_open

    broker.advances(1)

    assert before
    assert waiting.error is ErrorCode.NONE


# 36
def test_a_second_member_does_not_prolong_a_delay_above_the_first_ones_rebalance_timeout():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    waiting = broker.joins(a_static_client("ada", rebalance_timeout_ms=100))
    broker.joins(a_static_client("bea", rebalance_timeout_ms=60_000))

    broker.advances("3s")

    assert waiting.error is ErrorCode.NONE


# 37
def test_a_group_that_became_empty_waits_the_initial_delay_again():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    an_empty_group(broker)
    waiting = broker.joins(a_static_client("ada"))
    broker.advances(2_999)
    before = waiting.is_open

    broker.advances(1)

    assert before
    assert waiting.response.generation_id == 3


# 38
def test_static_members_that_did_not_rejoin_do_not_end_up_in_a_new_generation():
    broker = a_broker()
    _, bea, cyd = a_stable_group(
        broker,
        a_client("ada", rebalance_timeout_ms=10_000),
        a_static_client("bea", rebalance_timeout_ms=10_000),
        a_static_client("cyd", rebalance_timeout_ms=10_000),
    )
    ada = a_client("new", rebalance_timeout_ms=10_000)
    broker.enters(ada)
    broker.leaves(ada)

    broker.advances("10s")

    assert broker.state() is PREPARING_REBALANCE
    assert broker.group().generation_id == 1
    assert broker.members() == sorted([bea.member_id, cyd.member_id])


# 38
def test_the_wait_for_static_members_begins_again_each_time_it_ends():
    broker = a_broker()
    ada, _ = a_stable_group(
        broker,
        a_client("ada", rebalance_timeout_ms=10_000),
        a_static_client("bea", rebalance_timeout_ms=10_000, session_timeout_ms=60_000),
    )
    broker.leaves(ada)

    broker.advances("35s")

    assert broker.state() is PREPARING_REBALANCE
    assert broker.due_ms(JoinTimer("g")) == 40_000


# 38
def test_the_wait_for_static_members_ends_when_one_of_them_joins():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.leaves(ada)

    call = broker.joins(bea)

    assert call.response.generation_id == 2


# 39
def test_the_leader_is_told_of_static_members_that_did_not_rejoin():
    broker = a_broker()
    ada, bea, _ = a_stable_group(
        broker,
        a_client("ada", rebalance_timeout_ms=10_000),
        a_static_client("bea", rebalance_timeout_ms=10_000),
        a_client("cyd", rebalance_timeout_ms=10_000),
    )
    call = broker.joins(ada)

    broker.advances("10s")

    assert {row.member_id for row in call.response.members} == {ada.member_id, bea.member_id}


# 40
def test_a_group_whose_last_member_leaves_is_written_down_empty_with_its_type_kept():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.advances("1s")

    broker.leaves(ada)

    nobody = GroupMetadata(
        protocol_type="consumer", generation_id=2, current_state_timestamp_ms=1_000
    )
    assert broker.written[-1] == GroupRecord(group_id="g", value=nobody)
    assert broker.state() is EMPTY


# 41
@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ("range", "roundrobin", "range"),
        ("roundrobin", "range", "range"),
        ("sticky", "range", "sticky"),
        ("range", "sticky", "sticky"),
        ("cooperative-sticky", "roundrobin", "roundrobin"),
        ("eager", "compatible", "compatible"),
    ],
)
def test_a_tied_vote_goes_by_the_hash_of_the_names_not_by_who_came_first(first, second, winner):
    broker = a_broker()

    a_joined_group(
        broker,
        a_client("ada", protocols=some_protocols(first, second)),
        a_client("bea", protocols=some_protocols(second, first)),
    )

    assert broker.group().protocol_name == winner


def test_the_vote_is_told_with_who_voted_for_what():
    broker = a_broker()

    ada, bea, cyd = a_joined_group(
        broker,
        a_client("ada", protocols=some_protocols("range", "sticky")),
        a_client("bea", protocols=some_protocols("sticky", "range")),
        a_client("cyd", protocols=some_protocols("range", "sticky")),
    )

    vote = [each for each in broker.events if each.kind is EventKind.PROTOCOL_SELECTED][-1]
    assert (vote.protocol_name, vote.count) == ("range", 2)
    votes = dict(part.split(": ") for part in (vote.detail or "").split("; "))
    assert {name: set(ids.split(", ")) for name, ids in votes.items()} == {
        "range": {ada.member_id, cyd.member_id},
        "sticky": {bea.member_id},
    }


# 42
def test_what_most_prefer_is_no_candidate_if_one_member_does_not_know_it():
    broker = a_broker()
    both = some_protocols("sticky", "range")

    a_joined_group(
        broker,
        a_client("ada", protocols=both),
        a_client("bea", protocols=both),
        a_client("cyd", protocols=some_protocols("range")),
    )

    assert broker.group().protocol_name == "range"


# 43
def test_another_member_leads_at_once_when_the_leader_leaves():
    broker = a_broker(ids=("c", "a", "b"))
    cyd, _, _ = a_stable_group(broker, "cyd", "ada", "bea")

    broker.leaves(cyd)

    assert broker.group().leader_id == "a"


# 43
def test_the_lead_moves_on_at_the_end_of_the_phase_if_the_new_leader_did_not_rejoin():
    broker = a_broker(ids=("c", "a", "b"))
    cyd, _, bea = a_stable_group(broker, "cyd", "ada", "bea", rebalance_timeout_ms=10_000)
    broker.leaves(cyd)
    call = broker.joins(bea)

    broker.advances("10s")

    assert call.response.leader == "b"
    assert broker.members() == ["b"]


# 43
def test_a_leader_that_does_not_rejoin_is_followed_by_the_first_in_hash_order_that_did():
    broker = a_broker(ids=("a", "d", "c", "b"))
    _, dan, cyd, _ = a_stable_group(broker, "ada", "dan", "cyd", "bea", rebalance_timeout_ms=10_000)
    for each in (dan, cyd):
        broker.joins(each, protocols=some_protocols("range", "sticky"))

    broker.advances("10s")

    assert broker.group().leader_id == "c"


def test_a_generation_after_the_greatest_number_is_the_least():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.group().generation_id = 2_147_483_647

    call = broker.joins(ada)

    assert call.response.generation_id == -2_147_483_648


def test_a_member_that_names_a_protocol_twice_takes_it_out_of_the_vote():
    broker = a_broker()
    twice = some_protocols("range", "range", "sticky")

    a_joined_group(
        broker,
        a_client("ada", protocols=twice),
        a_client("bea", protocols=some_protocols("range", "sticky")),
    )

    assert broker.group().protocol_name == "sticky"


def test_a_member_that_does_not_rejoin_in_time_is_dropped():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", rebalance_timeout_ms=10_000)
    call = broker.joins(ada)

    broker.advances("10s")

    assert call.response.generation_id == 2
    assert broker.members() == [ada.member_id]
    assert broker.beats(bea).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_flag_left_over_from_one_initial_delay_prolongs_the_next_one():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada = a_static_client("ada", rebalance_timeout_ms=3_000)
    bea = a_static_client("bea")
    join_together(broker, ada, bea)
    broker.leaves(ada, bea)
    waiting = broker.joins(a_static_client("cyd"))

    broker.advances("3s")

    assert waiting.is_open
    broker.advances("3s")
    assert waiting.error is ErrorCode.NONE


def test_the_first_completed_join_phase_is_generation_one():
    broker = a_broker()

    call = broker.joins(a_static_client("ada"))

    assert call.response.generation_id == 1
    assert broker.state() is COMPLETING_REBALANCE
