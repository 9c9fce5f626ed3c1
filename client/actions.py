"""What an error code makes a member do, per request: the tables.

A code that is missing from a table is an unexpected one: a `KafkaException`, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from coordinator.errors import ErrorCode


class Reset(Enum):
    """How much of its identity a member gives up."""

    NOTHING = "nothing"
    GENERATION = "generation"
    MEMBER_ID = "member id"


@frozen(kw_only=True)
class Action:
    """What one code does besides failing the request.

    `reset` is done only if the generation is still the one that was sent; where it is not,
    `ignored_if_stale` makes the answer count as a good one.
    """

    loses_coordinator: bool = False
    reset: Reset = Reset.NOTHING
    ignored_if_stale: bool = False


_FAIL = Action()
_LOSE_COORDINATOR = Action(loses_coordinator=True)
_RESET_GENERATION = Action(reset=Reset.GENERATION)
_RESET_MEMBER_ID = Action(reset=Reset.MEMBER_ID)

# fmt: off
#: JoinGroup. MEMBER_ID_REQUIRED also gives the member its id.
JOIN_ACTIONS: Mapping[ErrorCode, Action] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _FAIL,
    ErrorCode.COORDINATOR_NOT_AVAILABLE:    _LOSE_COORDINATOR,
    ErrorCode.NOT_COORDINATOR:              _LOSE_COORDINATOR,
    ErrorCode.UNKNOWN_MEMBER_ID:            _RESET_MEMBER_ID,
    ErrorCode.MEMBER_ID_REQUIRED:           _FAIL,
    ErrorCode.REBALANCE_IN_PROGRESS:        _FAIL,
    ErrorCode.FENCED_INSTANCE_ID:           _FAIL,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL:  _FAIL,
    ErrorCode.INVALID_SESSION_TIMEOUT:      _FAIL,
    ErrorCode.INVALID_GROUP_ID:             _FAIL,
    ErrorCode.GROUP_AUTHORIZATION_FAILED:   _FAIL,
    ErrorCode.GROUP_MAX_SIZE_REACHED:       _FAIL,
    ErrorCode.UNSUPPORTED_VERSION:          _FAIL,
}

#: SyncGroup. A coordinator that is loading is not expected here.
SYNC_ACTIONS: Mapping[ErrorCode, Action] = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE:    _LOSE_COORDINATOR,
    ErrorCode.NOT_COORDINATOR:              _LOSE_COORDINATOR,
    ErrorCode.UNKNOWN_MEMBER_ID:            _RESET_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION:           _RESET_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS:        _FAIL,
    ErrorCode.FENCED_INSTANCE_ID:           _FAIL,
    ErrorCode.GROUP_AUTHORIZATION_FAILED:   _FAIL,
}

#: Heartbeat. REBALANCE_IN_PROGRESS makes a stable member rejoin; else it is as good as any answer.
HEARTBEAT_ACTIONS: Mapping[ErrorCode, Action] = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE:    _LOSE_COORDINATOR,
    ErrorCode.NOT_COORDINATOR:              _LOSE_COORDINATOR,
    ErrorCode.ILLEGAL_GENERATION:           Action(reset=Reset.GENERATION, ignored_if_stale=True),
    ErrorCode.UNKNOWN_MEMBER_ID:            Action(reset=Reset.MEMBER_ID, ignored_if_stale=True),
    ErrorCode.FENCED_INSTANCE_ID:           Action(reset=Reset.MEMBER_ID, ignored_if_stale=True),
    ErrorCode.GROUP_AUTHORIZATION_FAILED:   _FAIL,
}

#: OffsetCommit. Those that reset, and a fenced member whose generation has changed, end in
#: RebalanceInProgress or CommitFailed; here a reset does not ask for the sent generation.
COMMIT_ACTIONS: Mapping[ErrorCode, Action] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _FAIL,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:   _FAIL,
    ErrorCode.COORDINATOR_NOT_AVAILABLE:    _LOSE_COORDINATOR,
    ErrorCode.NOT_COORDINATOR:              _LOSE_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT:            _LOSE_COORDINATOR,
    ErrorCode.GROUP_AUTHORIZATION_FAILED:   _FAIL,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED:   _FAIL,
    ErrorCode.OFFSET_METADATA_TOO_LARGE:    _FAIL,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE:   _FAIL,
    ErrorCode.REBALANCE_IN_PROGRESS:        _FAIL,
    ErrorCode.FENCED_INSTANCE_ID:           _FAIL,
    ErrorCode.UNKNOWN_MEMBER_ID:            _RESET_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION:           _RESET_GENERATION,
}
# fmt: on
