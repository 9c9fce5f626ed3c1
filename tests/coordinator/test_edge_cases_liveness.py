"""Whose silence counts, and from when: handed-out ids, parked members, new members, static ones.

The number before each test is that of the edge case it restates.
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
    a_preparing_group,
    a_stable_group,
    a_static_client,
)


# 25
def test_an_initial_delay_ends_without_the_ids_that_were_handed_out():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada, bea = a_client("ada"), a_client("bea")
    waiting = broker.enters(ada)
    broker.joins(bea)

    broker.advances("3s")

    assert waiting.error is ErrorCode.NONE
    assert list(broker.group().pending_joins) == [bea.member_id]


# 25
def test_each_handed_out_id_that_comes_after_the_initial_delay_costs_another_rebalance():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada, bea = a_client("ada"), a_client("bea")
    broker.enters(ada)
    broker.joins(bea)
    broker.advances("3s")

    call = broker.joins(bea)

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE


# 26
def test_a_handed_out_id_that_never_returns_holds_a_rebalance_until_its_session_timeout():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    broker.joins(a_client("ghost", session_timeout_ms=10_000))
    calls = [broker.joins(ada), broker.joins(bea)]
    broker.advances(9_999)
    before = [call.is_open for call in calls]

    broker.advances(1)

    assert before == [True, True]
    assert [call.error for call in calls] == [ErrorCode.NONE, ErrorCode.NONE]


# 26
def test_a_handed_out_id_that_never_returns_holds_a_rebalance_no_longer_than_its_timeout():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", rebalance_timeout_ms=8_000)
    broker.joins(a_client("ghost", session_timeout_ms=10_000))
    calls = [broker.joins(ada), broker.joins(bea)]

    broker.advances("8s")

    assert [call.error for call in calls] == [ErrorCode.NONE, ErrorCode.NONE]
    assert len(broker.group().pending_joins) == 1


# 27
def test_a_handed_out_id_lives_for_the_session_timeout_it_was_asked_with():
    broker = a_broker()
    ada = a_client(session_timeout_ms=10_000)

    broker.joins(ada)

    assert broker.session_ends_ms(ada) == 10_000


# 27
def test_a_member_that_has_just_come_in_has_five_minutes():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada = a_client(session_timeout_ms=10_000)

    broker.enters(ada)

    assert broker.session_ends_ms(ada) == 300_000


# 27
def test_a_member_has_its_session_timeout_from_the_end_of_its_first_join_phase():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada = a_client(session_timeout_ms=10_000)
    broker.enters(ada)

    broker.advances("3s")

    assert broker.session_ends_ms(ada) == 13_000


# 28
def test_an_old_member_that_waits_in_a_join_outlives_its_session():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    waiting = broker.joins(ada)

    for _ in range(20):
        broker.advances("9s")
        broker.beats(bea)

    assert waiting.is_open
    assert ada.member_id in broker.members()


# 28
def test_a_new_member_that_waits_in_a_join_for_five_minutes_is_removed():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada", rebalance_timeout_ms=1_000_000)
    new = a_static_client("new")
    waiting = broker.joins(new)
    for _ in range(10):
        broker.advances("30s")
        broker.beats(ada)

    assert waiting.response == JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    assert broker.members() == [ada.member_id]


# 29
def test_a_session_that_ran_out_in_a_join_starts_anew_when_the_join_is_answered():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.joins(ada)
    broker.advances("8s")
    broker.beats(bea)
    broker.advances("8s")
    during = broker.session_ends_ms(ada)

    broker.joins(bea)

    assert during is None
    assert broker.session_ends_ms(ada) == 26_000


# 29
def test_a_session_that_ran_out_in_a_sync_starts_anew_when_the_sync_is_answered():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.syncs(bea)
    broker.advances("8s")
    broker.beats(ada)
    broker.advances("8s")
    during = broker.session_ends_ms(bea)

    broker.syncs(ada, {})

    assert during is None
    assert broker.session_ends_ms(bea) == 26_000


# 30
def test_a_static_member_that_did_not_rejoin_gets_a_fresh_session_when_the_phase_ends():
    broker = a_broker()
    ada, bea = a_stable_group(
        broker,
        a_client("ada", rebalance_timeout_ms=30_000),
        a_static_client("bea", rebalance_timeout_ms=30_000),
    )
    broker.joins(ada)

    broker.advances("30s")

    assert broker.state() is COMPLETING_REBALANCE
    assert broker.session_ends_ms(bea) == 30_000 + bea.session_timeout_ms


# 31
def test_a_beat_of_another_generation_does_not_prolong_a_session():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.advances("6s")
    broker.beats(ada)

    call = broker.beats(bea, generation_id=7)

    assert call.error is ErrorCode.ILLEGAL_GENERATION
    broker.advances("4s")
    assert broker.members() == [ada.member_id]


def test_two_silent_members_of_three_are_removed_and_the_third_is_called_to_rejoin():
    broker = a_broker()
    ada, _, _ = a_stable_group(broker, "ada", "bea", "cyd", session_timeout_ms=45_000)
    broker.advances("40s")
    broker.beats(ada)

    broker.advances("6s")

    assert broker.members() == [ada.member_id]
    assert broker.beats(ada).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_the_last_silent_member_leaves_an_empty_group_of_the_next_generation():
    broker = a_broker()
    a_stable_group(broker, "ada")

    broker.advances("45s")

    assert broker.state() is EMPTY
    assert broker.group().generation_id == 2


@pytest.mark.parametrize(
    ("verb", "is_prolonged"),
    [
        ("beats", True),
        ("commits", True),
        ("syncs", False),
        ("joins", False),
        ("nothing", False),
    ],
)
def test_a_session_in_a_stable_group_is_prolonged_by(verb, is_prolonged):
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.advances("5s")

    if verb != "nothing":
        getattr(broker, verb)(bea)

    assert broker.session_ends_ms(bea) == (15_000 if is_prolonged else 10_000)


def test_a_fetch_does_not_prolong_a_session():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.advances("5s")

    broker.fetches("g", require_stable=True)

    assert broker.session_ends_ms(ada) == 45_000


def test_a_new_member_that_beats_during_the_initial_delay_shortens_its_own_five_minutes():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    ada = a_client(session_timeout_ms=10_000)
    broker.enters(ada)

    call = broker.beats(ada, generation_id=0)

    assert call.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.session_ends_ms(ada) == 10_000


def test_a_changed_session_timeout_counts_from_the_next_time_the_session_starts():
    broker = a_broker()
    ada, bea = a_preparing_group(broker, "ada", "bea", session_timeout_ms=10_000)

    broker.joins(bea, session_timeout_ms=30_000)

    assert broker.session_ends_ms(bea) == 30_000
    assert broker.session_ends_ms(ada) == 10_000


def test_a_member_that_expires_while_others_are_awaited_ends_the_phase_if_it_was_the_last():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    waiting = broker.joins(ada)

    broker.advances("10s")

    assert waiting.error is ErrorCode.NONE
    assert broker.members() == [ada.member_id]
    assert bea.member_id not in broker.members()


def test_an_expired_id_ends_even_an_initial_delay_when_nobody_else_is_awaited():
    broker = a_broker(group_initial_rebalance_delay_ms=20_000)
    waiting = broker.enters(a_client("ada"))
    broker.joins(a_client("ghost", session_timeout_ms=6_000))

    broker.advances("6s")

    assert waiting.error is ErrorCode.NONE


def test_a_stable_group_stays_stable_while_everyone_beats():
    broker = a_broker()
    clients = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)

    for _ in range(10):
        broker.advances("9s")
        for each in clients:
            broker.beats(each)

    assert broker.state() is STABLE
