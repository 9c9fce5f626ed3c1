"""The tables of states, moves and answers: total, and Kafka's."""

from __future__ import annotations

import pytest

from coordinator import ErrorCode, GroupState
from coordinator.errors import IllegalMove
from coordinator.group import Group
from coordinator.states import (
    COMMIT_ANSWERS,
    COMMIT_KEEPS_SESSION,
    COMPLETING_REBALANCE,
    DEAD,
    DELETE_ANSWERS,
    EMPTY,
    HEARTBEAT_ANSWERS,
    MOVES,
    PREPARING_REBALANCE,
    REASONS_TO_MOVE,
    REJOIN_CHANGED,
    REJOIN_UNCHANGED,
    STABLE,
    SYNC_ANSWERS,
    WRITE_ERRORS,
)

TABLES = {
    "moves": MOVES,
    "heartbeat answers": HEARTBEAT_ANSWERS,
    "sync answers": SYNC_ANSWERS,
    "rejoins with the same protocols": REJOIN_UNCHANGED,
    "rejoins with other protocols": REJOIN_CHANGED,
    "commit answers": COMMIT_ANSWERS,
    "whether a commit keeps a session": COMMIT_KEEPS_SESSION,
    "delete answers": DELETE_ANSWERS,
}

#: From where a state may be reached (Kafka's ClassicGroupState#validPreviousStates).
REACHED_FROM = {
    EMPTY: {PREPARING_REBALANCE},
    PREPARING_REBALANCE: {STABLE, COMPLETING_REBALANCE, EMPTY},
    COMPLETING_REBALANCE: {PREPARING_REBALANCE},
    STABLE: {COMPLETING_REBALANCE},
    DEAD: {STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, EMPTY, DEAD},
}


@pytest.mark.parametrize("name", TABLES)
def test_every_state_has_a_row_in_the_table_of(name):
    assert set(TABLES[name]) == set(GroupState)


@pytest.mark.parametrize("target", GroupState)
def test_a_state_is_reached_from_where_kafka_allows(target):
    sources = {source for source in GroupState if target in MOVES[source]}

    assert sources == REACHED_FROM[target]


def test_every_move_but_the_last_has_its_reasons():
    moves = {(source, target) for source, targets in MOVES.items() for target in targets}

    assert set(REASONS_TO_MOVE) == {(source, target) for source, target in moves if target != DEAD}


def test_states_are_named_as_on_the_wire():
    assert [state.value for state in GroupState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]


@pytest.mark.parametrize("source", GroupState)
@pytest.mark.parametrize("target", GroupState)
def test_a_group_moves_as_the_table_says_and_no_other_way(source, target):
    group = Group(group_id="g", state=source)

    if target in MOVES[source]:
        group.move_to(target, 7)
        assert (group.state, group.previous_state, group.state_since_ms) == (target, source, 7)
    else:
        with pytest.raises(IllegalMove, match=f"from {source.value} to {target.value}"):
            group.move_to(target, 7)


def test_a_new_group_is_empty_and_was_nothing_before():
    group = Group(group_id="g")

    assert (group.state, group.previous_state, group.generation_id) == (EMPTY, DEAD, 0)


def test_an_illegal_move_carries_its_facts():
    group = Group(group_id="g", state=STABLE)

    with pytest.raises(IllegalMove) as caught:
        group.move_to(EMPTY, 0)

    assert (caught.value.group_id, caught.value.source, caught.value.target) == ("g", STABLE, EMPTY)


def test_failed_writes_are_translated_as_kafka_does():
    by_code = {said.code: heard.code for said, heard in WRITE_ERRORS.items()}

    assert by_code == {3: 15, 19: 15, 7: 15, 6: 16, 56: 16, 10: -1, 18: -1, 4: -1}


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (EMPTY, ErrorCode.NONE),
        (PREPARING_REBALANCE, ErrorCode.NON_EMPTY_GROUP),
        (COMPLETING_REBALANCE, ErrorCode.NON_EMPTY_GROUP),
        (STABLE, ErrorCode.NON_EMPTY_GROUP),
        (DEAD, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_only_an_empty_group_may_be_deleted(state, error):
    assert DELETE_ANSWERS[state] is error


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (EMPTY, 25),
        (PREPARING_REBALANCE, 27),
        (COMPLETING_REBALANCE, 0),
        (STABLE, 0),
        (DEAD, 15),
    ],
)
def test_a_members_beat_is_answered_by_state(state, code):
    assert HEARTBEAT_ANSWERS[state].code == code


@pytest.mark.parametrize(
    ("state", "code", "keeps"),
    [
        (EMPTY, 25, False),
        (PREPARING_REBALANCE, 0, True),
        (COMPLETING_REBALANCE, 27, False),
        (STABLE, 0, True),
        (DEAD, 15, False),
    ],
)
def test_a_members_commit_is_answered_by_state(state, code, keeps):
    assert (COMMIT_ANSWERS[state].code, COMMIT_KEEPS_SESSION[state]) == (code, keeps)
