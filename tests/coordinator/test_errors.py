"""Error codes: Kafka's names, numbers and retriability."""

from __future__ import annotations

import pytest

from coordinator import CoordinatorError, ErrorCode
from coordinator.errors import IllegalMove, InternalFault, OutOfTurn

#: Those that a client may simply try again with.
RETRIABLE = {
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "NETWORK_EXCEPTION": 13,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "NOT_ENOUGH_REPLICAS": 19,
    "KAFKA_STORAGE_ERROR": 56,
    "UNSTABLE_OFFSET_COMMIT": 88,
    "UNKNOWN_TOPIC_ID": 100,
}
FINAL = {
    "UNKNOWN_SERVER_ERROR": -1,
    "NONE": 0,
    "MESSAGE_TOO_LARGE": 10,
    "OFFSET_METADATA_TOO_LARGE": 12,
    "RECORD_LIST_TOO_LARGE": 18,
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "INVALID_GROUP_ID": 24,
    "UNKNOWN_MEMBER_ID": 25,
    "INVALID_SESSION_TIMEOUT": 26,
    "REBALANCE_IN_PROGRESS": 27,
    "INVALID_COMMIT_OFFSET_SIZE": 28,
    "TOPIC_AUTHORIZATION_FAILED": 29,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "UNSUPPORTED_VERSION": 35,
    "INVALID_REQUEST": 42,
    "NON_EMPTY_GROUP": 68,
    "GROUP_ID_NOT_FOUND": 69,
    "MEMBER_ID_REQUIRED": 79,
    "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
    "GROUP_SUBSCRIBED_TO_TOPIC": 86,
    "FENCED_MEMBER_EPOCH": 110,
    "UNRELEASED_INSTANCE_ID": 111,
    "UNSUPPORTED_ASSIGNOR": 112,
    "STALE_MEMBER_EPOCH": 113,
    "TRANSACTION_ABORTABLE": 120,
    "INVALID_REGULAR_EXPRESSION": 128,
}


@pytest.mark.parametrize(("name", "code"), RETRIABLE.items())
def test_one_may_try_again_after(name, code):
    assert (ErrorCode[name].code, ErrorCode[name].retriable) == (code, True)


@pytest.mark.parametrize(("name", "code"), FINAL.items())
def test_one_may_not_simply_try_again_after(name, code):
    assert (ErrorCode[name].code, ErrorCode[name].retriable) == (code, False)


def test_no_two_errors_share_a_number():
    codes = [error.code for error in ErrorCode]

    assert len(set(codes)) == len(codes)


def test_an_error_is_shown_by_its_name():
    assert repr(ErrorCode.NOT_COORDINATOR) == "ErrorCode.NOT_COORDINATOR"


@pytest.mark.parametrize("kind", [IllegalMove, OutOfTurn, InternalFault])
def test_our_own_errors_have_one_root(kind):
    assert issubclass(kind, CoordinatorError)
