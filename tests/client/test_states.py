"""The tables of the consumer: every state and every code that matters has its row."""

from __future__ import annotations

import pytest

from client.actions import (
    COMMIT_ACTIONS,
    HEARTBEAT_ACTIONS,
    JOIN_ACTIONS,
    SYNC_ACTIONS,
    Action,
    Reset,
)
from client.errors import EXCEPTIONS, DataErrorCode, KafkaException, RetriableException
from client.states import FETCH_MOVES, MEMBER_MOVES, FetchState, MemberState
from coordinator.errors import ErrorCode

TABLES = [JOIN_ACTIONS, SYNC_ACTIONS, HEARTBEAT_ACTIONS, COMMIT_ACTIONS]
NAMES = ["join", "sync", "heartbeat", "commit"]


def test_every_member_state_has_a_row_of_moves():
    assert set(MEMBER_MOVES) == set(MemberState)


def test_every_fetch_state_has_a_row_of_moves():
    assert set(FETCH_MOVES) == set(FetchState)


def test_a_member_can_be_reset_and_join_again_from_anywhere():
    for moves in MEMBER_MOVES.values():
        assert {MemberState.UNJOINED, MemberState.PREPARING_REBALANCE} <= moves


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_a_lost_coordinator_is_never_also_a_lost_identity(table):
    for action in table.values():
        assert not action.loses_coordinator or action.reset is Reset.NOTHING


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_every_table_knows_that_a_coordinator_can_move(table):
    moved = Action(loses_coordinator=True)

    assert table[ErrorCode.NOT_COORDINATOR] == moved
    assert table[ErrorCode.COORDINATOR_NOT_AVAILABLE] == moved


def test_only_an_illegal_generation_keeps_the_member_id():
    kept = {
        code
        for table in TABLES
        for code, action in table.items()
        if action.reset is Reset.GENERATION
    }

    assert kept == {ErrorCode.ILLEGAL_GENERATION}


def test_every_code_stands_for_an_exception():
    codes = {*ErrorCode, *DataErrorCode} - {ErrorCode.NONE}

    assert set(EXCEPTIONS) == codes
    assert all(issubclass(named, KafkaException) for named in EXCEPTIONS.values())


#: The coordinator's table calls this one retriable; Kafka's consumer raises it as it is.
RAISED = {ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE}


@pytest.mark.parametrize("code", list(EXCEPTIONS), ids=lambda code: code.name)
def test_a_code_is_retriable_where_its_exception_is(code):
    is_retriable = issubclass(EXCEPTIONS[code], RetriableException)

    assert is_retriable == code.retriable or code in RAISED
