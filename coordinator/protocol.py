"""Requests and replies, one frozen class per Kafka API, fields named as Kafka names them.

Every request carries what Kafka's request header and connection carry (`request_id` stands for
the connection and correlation id). `api_version` is the newest one unless told otherwise. Values
are checked when a request is made, so a wrong type never reaches a group.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

from attrs import field, frozen
from attrs.validators import deep_iterable, instance_of, optional

from coordinator.errors import ErrorCode

UNKNOWN_MEMBER_ID = ""
UNKNOWN_GENERATION_ID = -1
NO_LEADER = ""
INVALID_OFFSET = -1
NO_PARTITION_LEADER_EPOCH = -1
ZERO_TOPIC_ID = ""
CONSUMER_PROTOCOL_TYPE = "consumer"

_text = instance_of(str)
_optional_text = optional(instance_of(str))
_number = instance_of(int)
_bytes = instance_of(bytes)


@frozen(kw_only=True)
class Request:
    """What every request has: an id to answer to, and who sent it in which version."""

    API_KEY: ClassVar[int]
    VERSIONS: ClassVar[range]

    request_id: int = field(default=0, validator=_number)
    client_id: str = field(default="", validator=_text)
    client_host: str = field(default="/127.0.0.1", validator=_text)
    api_version: int = field(default=-1, validator=_number)

    def __attrs_post_init__(self) -> None:
        """Give the newest version to a request without one; refuse one that Kafka does not have."""
        if self.api_version == -1:
            object.__setattr__(self, "api_version", self.VERSIONS[-1])
        elif self.api_version not in self.VERSIONS:
            name, known = type(self).__name__, self.VERSIONS
            raise ValueError(
                f"api_version of {name} must be {known[0]} to {known[-1]}, not {self.api_version}"
            )


@frozen(kw_only=True)
class Response:
    """What every reply has: one error for all of it."""

    error_code: ErrorCode = ErrorCode.NONE


# --- FindCoordinator -----------------------------------------------------------------------------


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


@frozen(kw_only=True)
class FindCoordinatorRequest(Request):
    """Who coordinates these keys? Version 4 and later ask for many keys, older ones for one."""

    API_KEY = 10
    VERSIONS = range(7)

    key_type: int = field(default=CoordinatorType.GROUP, validator=_number)
    coordinator_keys: tuple[str, ...] = field(
        validator=deep_iterable(_text, instance_of(tuple))  # type: ignore[arg-type]
    )


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


# --- JoinGroup -----------------------------------------------------------------------------------


@frozen
class JoinGroupRequestProtocol:
    """One assignor a member could use, and what it tells the leader if that one is chosen."""

    name: str = field(validator=_text)
    metadata: bytes = field(default=b"", validator=_bytes)


@frozen(kw_only=True)
class JoinGroupRequest(Request):
    """Let me in, or let me stay, for the next generation."""

    API_KEY = 11
    VERSIONS = range(10)

    group_id: str | None = field(validator=_optional_text)
    session_timeout_ms: int = field(default=45_000, validator=_number)
    rebalance_timeout_ms: int = field(default=300_000, validator=_number)
    member_id: str = field(default=UNKNOWN_MEMBER_ID, validator=_text)
    group_instance_id: str | None = field(default=None, validator=_optional_text)
    protocol_type: str = field(default=CONSUMER_PROTOCOL_TYPE, validator=_text)
    protocols: tuple[JoinGroupRequestProtocol, ...] = field(
        default=(),
        validator=deep_iterable(
            instance_of(JoinGroupRequestProtocol),
            instance_of(tuple),  # type: ignore[arg-type]
        ),
    )
    reason: str | None = field(default=None, validator=_optional_text)


@frozen(kw_only=True)
class JoinGroupResponseMember:
    """A member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


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


# --- SyncGroup -----------------------------------------------------------------------------------


@frozen
class SyncGroupRequestAssignment:
    """What the leader gives to one member."""

    member_id: str = field(validator=_text)
    assignment: bytes = field(default=b"", validator=_bytes)


@frozen(kw_only=True)
class SyncGroupRequest(Request):
    """Give me my assignment; from the leader: here is everyone's."""

    API_KEY = 14
    VERSIONS = range(6)

    group_id: str | None = field(validator=_optional_text)
    generation_id: int = field(validator=_number)
    member_id: str = field(validator=_text)
    group_instance_id: str | None = field(default=None, validator=_optional_text)
    protocol_type: str | None = field(default=None, validator=_optional_text)
    protocol_name: str | None = field(default=None, validator=_optional_text)
    assignments: tuple[SyncGroupRequestAssignment, ...] = field(
        default=(),
        validator=deep_iterable(
            instance_of(SyncGroupRequestAssignment),
            instance_of(tuple),  # type: ignore[arg-type]
        ),
    )


@frozen(kw_only=True)
class SyncGroupResponse(Response):
    """A member's share of the leader's plan."""

    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


# --- Heartbeat -----------------------------------------------------------------------------------


@frozen(kw_only=True)
class HeartbeatRequest(Request):
    """I am alive. Is there anything I should know?"""

    API_KEY = 12
    VERSIONS = range(5)

    group_id: str | None = field(validator=_optional_text)
    generation_id: int = field(validator=_number)
    member_id: str = field(validator=_text)
    group_instance_id: str | None = field(default=None, validator=_optional_text)


@frozen(kw_only=True)
class HeartbeatResponse(Response):
    """Nothing new, or the reason to act."""


# --- LeaveGroup ----------------------------------------------------------------------------------


@frozen(kw_only=True)
class MemberIdentity:
    """One of those who leave; without a member id, whoever holds the instance id."""

    member_id: str = field(default=UNKNOWN_MEMBER_ID, validator=_text)
    group_instance_id: str | None = field(default=None, validator=_optional_text)
    reason: str | None = field(default=None, validator=_optional_text)


@frozen(kw_only=True)
class LeaveGroupRequest(Request):
    """These members leave now. Below version 3 it is exactly one."""

    API_KEY = 13
    VERSIONS = range(6)

    group_id: str | None = field(validator=_optional_text)
    members: tuple[MemberIdentity, ...] = field(
        validator=deep_iterable(
            instance_of(MemberIdentity),
            instance_of(tuple),  # type: ignore[arg-type]
        )
    )


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


# --- OffsetCommit --------------------------------------------------------------------------------


@frozen(kw_only=True)
class OffsetCommitRequestPartition:
    """How far one partition has been processed."""

    partition_index: int = field(validator=_number)
    committed_offset: int = field(validator=_number)
    committed_leader_epoch: int = field(default=NO_PARTITION_LEADER_EPOCH, validator=_number)
    committed_metadata: str | None = field(default=None, validator=_optional_text)


@frozen(kw_only=True)
class OffsetCommitRequestTopic:
    """Partitions of one topic, named below version 10 and by id from there on."""

    name: str = field(default="", validator=_text)
    topic_id: str = field(default=ZERO_TOPIC_ID, validator=_text)
    partitions: tuple[OffsetCommitRequestPartition, ...] = ()


@frozen(kw_only=True)
class OffsetCommitRequest(Request):
    """Remember these positions for the group."""

    API_KEY = 8
    VERSIONS = range(2, 11)

    group_id: str | None = field(validator=_optional_text)
    generation_id: int = field(default=UNKNOWN_GENERATION_ID, validator=_number)
    member_id: str = field(default=UNKNOWN_MEMBER_ID, validator=_text)
    group_instance_id: str | None = field(default=None, validator=_optional_text)
    retention_time_ms: int = field(default=-1, validator=_number)
    topics: tuple[OffsetCommitRequestTopic, ...] = field(
        default=(),
        validator=deep_iterable(
            instance_of(OffsetCommitRequestTopic),
            instance_of(tuple),  # type: ignore[arg-type]
        ),
    )


@frozen(kw_only=True)
class OffsetCommitResponsePartition:
    """Whether one partition's position is remembered."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetCommitResponseTopic:
    """The partitions of one topic."""

    name: str
    topic_id: str = ZERO_TOPIC_ID
    partitions: tuple[OffsetCommitResponsePartition, ...] = ()


@frozen(kw_only=True)
class OffsetCommitResponse(Response):
    """One error per partition; Kafka has none on top here, so `error_code` stays NONE."""

    topics: tuple[OffsetCommitResponseTopic, ...] = ()


# --- OffsetFetch ---------------------------------------------------------------------------------


@frozen(kw_only=True)
class OffsetFetchRequestTopic:
    """Partitions of one topic, named below version 10 and by id from there on."""

    name: str = field(default="", validator=_text)
    topic_id: str = field(default=ZERO_TOPIC_ID, validator=_text)
    partition_indexes: tuple[int, ...] = ()


@frozen(kw_only=True)
class OffsetFetchRequestGroup:
    """What is wanted of one group; `topics` None means all that is committed."""

    group_id: str | None = field(validator=_optional_text)
    member_id: str | None = field(default=None, validator=_optional_text)
    member_epoch: int = field(default=-1, validator=_number)
    topics: tuple[OffsetFetchRequestTopic, ...] | None = None


@frozen(kw_only=True)
class OffsetFetchRequest(Request):
    """What has been committed? Below version 8 for exactly one group."""

    API_KEY = 9
    VERSIONS = range(1, 11)

    groups: tuple[OffsetFetchRequestGroup, ...] = field(
        validator=deep_iterable(
            instance_of(OffsetFetchRequestGroup),
            instance_of(tuple),  # type: ignore[arg-type]
        )
    )
    require_stable: bool = field(default=False, validator=instance_of(bool))


@frozen(kw_only=True)
class OffsetFetchResponsePartition:
    """One partition's committed position; offset -1 when nothing is committed."""

    partition_index: int
    committed_offset: int = INVALID_OFFSET
    committed_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    metadata: str = ""
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetFetchResponseTopic:
    """The partitions of one topic."""

    name: str
    topic_id: str = ZERO_TOPIC_ID
    partitions: tuple[OffsetFetchResponsePartition, ...] = ()


@frozen(kw_only=True)
class OffsetFetchResponseGroup:
    """The committed positions of one group."""

    group_id: str | None
    topics: tuple[OffsetFetchResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetFetchResponse(Response):
    """One entry per group. In versions 2 to 7 the only group's error stands on top as well."""

    groups: tuple[OffsetFetchResponseGroup, ...] = ()


# --- OffsetDelete --------------------------------------------------------------------------------


@frozen(kw_only=True)
class OffsetDeleteRequestTopic:
    """Partitions of one topic."""

    name: str = field(validator=_text)
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteRequest(Request):
    """Forget these positions."""

    API_KEY = 47
    VERSIONS = range(1)

    group_id: str | None = field(validator=_optional_text)
    topics: tuple[OffsetDeleteRequestTopic, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteResponsePartition:
    """Whether one partition's position is forgotten."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetDeleteResponseTopic:
    """The partitions of one topic."""

    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteResponse(Response):
    """One error per partition, or one on top and no partitions."""

    topics: tuple[OffsetDeleteResponseTopic, ...] = ()


# --- DescribeGroups, ListGroups, DeleteGroups ----------------------------------------------------


@frozen(kw_only=True)
class DescribeGroupsRequest(Request):
    """What do these groups look like?"""

    API_KEY = 15
    VERSIONS = range(7)

    groups: tuple[str | None, ...]


@frozen(kw_only=True)
class DescribedGroupMember:
    """One member of a described group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@frozen(kw_only=True)
class DescribedGroup:
    """A group as an administrator sees it."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedGroupMember, ...] = ()
    authorized_operations: int = -2_147_483_648


@frozen(kw_only=True)
class DescribeGroupsResponse(Response):
    """One entry per group; errors stand in the entries."""

    groups: tuple[DescribedGroup, ...] = ()


@frozen(kw_only=True)
class ListGroupsRequest(Request):
    """Which groups are there? Empty filters let everything through."""

    API_KEY = 16
    VERSIONS = range(6)

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


@frozen(kw_only=True)
class ListedGroup:
    """One line of the list."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = "classic"


@frozen(kw_only=True)
class ListGroupsResponse(Response):
    """The groups of all shards that this broker serves."""

    groups: tuple[ListedGroup, ...] = ()


@frozen(kw_only=True)
class DeleteGroupsRequest(Request):
    """Remove these groups and their offsets."""

    API_KEY = 42
    VERSIONS = range(3)

    groups_names: tuple[str | None, ...]


@frozen(kw_only=True)
class DeletableGroupResult:
    """Whether one group is gone."""

    group_id: str | None
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class DeleteGroupsResponse(Response):
    """One row per group; errors stand in the rows."""

    results: tuple[DeletableGroupResult, ...] = ()
