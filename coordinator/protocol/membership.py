"""FindCoordinator, JoinGroup, SyncGroup, Heartbeat, LeaveGroup: being a member."""

from __future__ import annotations

from enum import IntEnum

from attrs import field, frozen

from coordinator.errors import ErrorCode
from coordinator.protocol.common import (
    CONSUMER_PROTOCOL_TYPE,
    NO_LEADER,
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    Request,
    Response,
    number,
    octets,
    optional_text,
    request,
    text,
    tuple_of,
)
from coordinator.protocol.making import quickly_made


class CoordinatorType(IntEnum):
    """What a FindCoordinator key names."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


@frozen(kw_only=True)
class Node:
    """A broker's address."""

    node_id: int
    host: str
    port: int


@request
@frozen(kw_only=True)
class FindCoordinatorRequest(Request):
    """Who coordinates these keys? Version 4 and later ask for many keys, older ones for one."""

    API_KEY = 10
    VERSIONS = range(7)

    key_type: int = field(default=int(CoordinatorType.GROUP), validator=number)
    coordinator_keys: tuple[str, ...] = field(validator=tuple_of(str))


@frozen(kw_only=True)
class Coordinator:
    """The coordinator of one key, or why there is none."""

    key: str
    node_id: int = -1
    host: str = ""
    port: int = -1
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = ""


@frozen(kw_only=True)
class FindCoordinatorResponse(Response):
    """One entry per key, in the order of the request; below version 4 its only one is the reply."""

    coordinators: tuple[Coordinator, ...] = ()


@quickly_made
@frozen
class JoinGroupRequestProtocol:
    """One assignor a member could use, and what it tells the leader if that one is chosen."""

    name: str = field(validator=text)
    metadata: bytes = field(default=b"", validator=octets)


@request
@frozen(kw_only=True)
class JoinGroupRequest(Request):
    """Let me in, or let me stay, for the next generation."""

    API_KEY = 11
    VERSIONS = range(10)

    group_id: str | None = field(validator=optional_text)
    session_timeout_ms: int = field(default=45_000, validator=number)
    rebalance_timeout_ms: int = field(default=300_000, validator=number)
    member_id: str = field(default=UNKNOWN_MEMBER_ID, validator=text)
    group_instance_id: str | None = field(default=None, validator=optional_text)
    protocol_type: str = field(default=CONSUMER_PROTOCOL_TYPE, validator=text)
    protocols: tuple[JoinGroupRequestProtocol, ...] = field(
        default=(),
        validator=tuple_of(JoinGroupRequestProtocol),
    )
    reason: str | None = field(default=None, validator=optional_text)


@quickly_made
@frozen(kw_only=True)
class JoinGroupResponseMember:
    """A member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@quickly_made
@frozen(kw_only=True)
class JoinGroupResponse(Response):
    """The generation a member is in, or why it is in none."""

    generation_id: int = UNKNOWN_GENERATION_ID
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_LEADER
    skip_assignment: bool = False
    member_id: str = UNKNOWN_MEMBER_ID
    members: tuple[JoinGroupResponseMember, ...] = ()


@quickly_made
@frozen
class SyncGroupRequestAssignment:
    """What the leader gives to one member."""

    member_id: str = field(validator=text)
    assignment: bytes = field(default=b"", validator=octets)


@request
@frozen(kw_only=True)
class SyncGroupRequest(Request):
    """Give me my assignment; from the leader: here is everyone's."""

    API_KEY = 14
    VERSIONS = range(6)

    group_id: str | None = field(validator=optional_text)
    generation_id: int = field(validator=number)
    member_id: str = field(validator=text)
    group_instance_id: str | None = field(default=None, validator=optional_text)
    protocol_type: str | None = field(default=None, validator=optional_text)
    protocol_name: str | None = field(default=None, validator=optional_text)
    assignments: tuple[SyncGroupRequestAssignment, ...] = field(
        default=(),
        validator=tuple_of(SyncGroupRequestAssignment),
    )


@quickly_made
@frozen(kw_only=True)
class SyncGroupResponse(Response):
    """A member's share of the leader's plan."""

    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@request
@frozen(kw_only=True)
class HeartbeatRequest(Request):
    """I am alive. Is there anything I should know?"""

    API_KEY = 12
    VERSIONS = range(5)

    group_id: str | None = field(validator=optional_text)
    generation_id: int = field(validator=number)
    member_id: str = field(validator=text)
    group_instance_id: str | None = field(default=None, validator=optional_text)


@frozen(kw_only=True)
class HeartbeatResponse(Response):
    """Nothing new, or the reason to act."""


@frozen(kw_only=True)
class MemberIdentity:
    """One of those who leave; without a member id, whoever holds the instance id."""

    member_id: str = field(default=UNKNOWN_MEMBER_ID, validator=text)
    group_instance_id: str | None = field(default=None, validator=optional_text)
    reason: str | None = field(default=None, validator=optional_text)


@request
@frozen(kw_only=True)
class LeaveGroupRequest(Request):
    """These members leave now. Below version 3 it is exactly one."""

    API_KEY = 13
    VERSIONS = range(6)

    group_id: str | None = field(validator=optional_text)
    members: tuple[MemberIdentity, ...] = field(validator=tuple_of(MemberIdentity))


@frozen(kw_only=True)
class MemberResponse:
    """What became of one who wanted to leave."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class LeaveGroupResponse(Response):
    """One row per member of the request, in its order; none with an error on top."""

    members: tuple[MemberResponse, ...] = ()
