"""What can go wrong: Kafka's error codes for replies, and our own exceptions for bugs and misuse.

A client that asks wrongly gets a reply with an `ErrorCode`; nothing is raised. The exceptions here
mean that we, or the host that drives the machine, are wrong.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.states import GroupState

__all__ = [
    "CoordinatorError",
    "ErrorCode",
    "IllegalMove",
    "InternalFault",
    "OutOfTurn",
]


class ErrorCode(Enum):
    """A code on the wire: its number, and whether clients may simply try again.

    Only the codes that group coordination can meet are listed; names, numbers and retriability
    are those of `org.apache.kafka.common.protocol.Errors`.
    """

    UNKNOWN_SERVER_ERROR = (-1, False)
    NONE = (0, False)
    OFFSET_OUT_OF_RANGE = (1, False)
    UNKNOWN_TOPIC_OR_PARTITION = (3, True)
    INVALID_FETCH_SIZE = (4, False)
    LEADER_NOT_AVAILABLE = (5, True)
    NOT_LEADER_OR_FOLLOWER = (6, True)
    REQUEST_TIMED_OUT = (7, True)
    MESSAGE_TOO_LARGE = (10, False)
    OFFSET_METADATA_TOO_LARGE = (12, False)
    NETWORK_EXCEPTION = (13, True)
    COORDINATOR_LOAD_IN_PROGRESS = (14, True)
    COORDINATOR_NOT_AVAILABLE = (15, True)
    NOT_COORDINATOR = (16, True)
    INVALID_TOPIC_EXCEPTION = (17, False)
    RECORD_LIST_TOO_LARGE = (18, False)
    NOT_ENOUGH_REPLICAS = (19, True)
    ILLEGAL_GENERATION = (22, False)
    INCONSISTENT_GROUP_PROTOCOL = (23, False)
    INVALID_GROUP_ID = (24, False)
    UNKNOWN_MEMBER_ID = (25, False)
    INVALID_SESSION_TIMEOUT = (26, False)
    REBALANCE_IN_PROGRESS = (27, False)
    INVALID_COMMIT_OFFSET_SIZE = (28, False)
    TOPIC_AUTHORIZATION_FAILED = (29, False)
    GROUP_AUTHORIZATION_FAILED = (30, False)
    UNSUPPORTED_VERSION = (35, False)
    INVALID_REQUEST = (42, False)
    KAFKA_STORAGE_ERROR = (56, True)
    NON_EMPTY_GROUP = (68, False)
    GROUP_ID_NOT_FOUND = (69, False)
    FENCED_LEADER_EPOCH = (74, True)
    UNKNOWN_LEADER_EPOCH = (75, True)
    MEMBER_ID_REQUIRED = (79, False)
    GROUP_MAX_SIZE_REACHED = (81, False)
    FENCED_INSTANCE_ID = (82, False)
    GROUP_SUBSCRIBED_TO_TOPIC = (86, False)
    UNSTABLE_OFFSET_COMMIT = (88, True)
    UNKNOWN_TOPIC_ID = (100, True)
    INCONSISTENT_TOPIC_ID = (103, True)
    FENCED_MEMBER_EPOCH = (110, False)
    UNRELEASED_INSTANCE_ID = (111, False)
    UNSUPPORTED_ASSIGNOR = (112, False)
    STALE_MEMBER_EPOCH = (113, False)
    TRANSACTION_ABORTABLE = (120, False)
    INVALID_REGULAR_EXPRESSION = (128, False)

    def __init__(self, code: int, retriable: bool) -> None:  # noqa: FBT001 (an enum's own row)
        self.code = code
        self.retriable = retriable

    def __repr__(self) -> str:
        return f"ErrorCode.{self.name}"

    __hash__ = object.__hash__  # a code is looked up far more often than made


class CoordinatorError(Exception):
    """The machine or its host broke a rule of the machine; always a bug, never a client's doing."""


class IllegalMove(CoordinatorError):
    """A group was sent to a state that the table of moves does not allow from where it stands."""

    def __init__(self, group_id: str, source: GroupState, target: GroupState) -> None:
        super().__init__(f"group {group_id!r} cannot move from {source.value} to {target.value}")
        self.group_id = group_id
        self.source = source
        self.target = target


class OutOfTurn(CoordinatorError):
    """The host spoke of a write or a shard that the machine is not waiting for; check the host."""


class InternalFault(CoordinatorError):
    """Kafka's own coordinator would fail inside here with an unexpected exception.

    Raised where Kafka raises, caught by the machine around one operation: what the operation did
    so far stays done, what it wanted to write is lost, and an unanswered caller hears
    UNKNOWN_SERVER_ERROR.
    """
