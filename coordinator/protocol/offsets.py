"""OffsetCommit, OffsetFetch, OffsetDelete: the positions that a group keeps."""

from __future__ import annotations

from attrs import field, frozen

from coordinator.errors import ErrorCode
from coordinator.protocol.common import (
    INVALID_OFFSET,
    NO_PARTITION_LEADER_EPOCH,
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    ZERO_TOPIC_ID,
    Request,
    Response,
    flag,
    number,
    optional_text,
    optional_tuple_of,
    request,
    text,
    tuple_of,
)
from coordinator.protocol.making import quickly_made


@quickly_made
@frozen(kw_only=True)
class OffsetCommitRequestPartition:
    """How far one partition has been processed."""

    partition_index: int = field(validator=number)
    committed_offset: int = field(validator=number)
    committed_leader_epoch: int = field(default=NO_PARTITION_LEADER_EPOCH, validator=number)
    committed_metadata: str | None = field(default=None, validator=optional_text)


@quickly_made
@frozen(kw_only=True)
class OffsetCommitRequestTopic:
    """Partitions of one topic, named below version 10 and by id from there on."""

    name: str = field(default="", validator=text)
    topic_id: str = field(default=ZERO_TOPIC_ID, validator=text)
    partitions: tuple[OffsetCommitRequestPartition, ...] = field(
        default=(), validator=tuple_of(OffsetCommitRequestPartition)
    )


@request
@frozen(kw_only=True)
class OffsetCommitRequest(Request):
    """Remember these positions for the group."""

    API_KEY = 8
    VERSIONS = range(2, 11)

    group_id: str | None = field(validator=optional_text)
    generation_id: int = field(default=UNKNOWN_GENERATION_ID, validator=number)
    member_id: str = field(default=UNKNOWN_MEMBER_ID, validator=text)
    group_instance_id: str | None = field(default=None, validator=optional_text)
    retention_time_ms: int = field(default=-1, validator=number)
    topics: tuple[OffsetCommitRequestTopic, ...] = field(
        default=(),
        validator=tuple_of(OffsetCommitRequestTopic),
    )

    def with_topics(self, topics: tuple[OffsetCommitRequestTopic, ...]) -> OffsetCommitRequest:
        """The same commit of other topics."""
        return OffsetCommitRequest(
            request_id=self.request_id,
            client_id=self.client_id,
            client_host=self.client_host,
            api_version=self.api_version,
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            retention_time_ms=self.retention_time_ms,
            topics=topics,
        )


@quickly_made
@frozen(kw_only=True)
class OffsetCommitResponsePartition:
    """Whether one partition's position is remembered."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@quickly_made
@frozen(kw_only=True)
class OffsetCommitResponseTopic:
    """The partitions of one topic."""

    name: str
    topic_id: str = ZERO_TOPIC_ID
    partitions: tuple[OffsetCommitResponsePartition, ...] = ()


@quickly_made
@frozen(kw_only=True)
class OffsetCommitResponse(Response):
    """One error per partition; Kafka has none on top here, so `error_code` stays NONE."""

    topics: tuple[OffsetCommitResponseTopic, ...] = ()


@quickly_made
@frozen(kw_only=True)
class OffsetFetchRequestTopic:
    """Partitions of one topic, named below version 10 and by id from there on."""

    name: str = field(default="", validator=text)
    topic_id: str = field(default=ZERO_TOPIC_ID, validator=text)
    partition_indexes: tuple[int, ...] = field(default=(), validator=tuple_of(int))


@quickly_made
@frozen(kw_only=True)
class OffsetFetchRequestGroup:
    """What is wanted of one group; `topics` None means all that is committed."""

    group_id: str | None = field(validator=optional_text)
    member_id: str | None = field(default=None, validator=optional_text)
    member_epoch: int = field(default=-1, validator=number)
    topics: tuple[OffsetFetchRequestTopic, ...] | None = field(
        default=None, validator=optional_tuple_of(OffsetFetchRequestTopic)
    )


@request
@frozen(kw_only=True)
class OffsetFetchRequest(Request):
    """What has been committed? Below version 8 for exactly one group."""

    API_KEY = 9
    VERSIONS = range(1, 11)

    groups: tuple[OffsetFetchRequestGroup, ...] = field(validator=tuple_of(OffsetFetchRequestGroup))
    require_stable: bool = field(default=False, validator=flag)


@quickly_made
@frozen(kw_only=True)
class OffsetFetchResponsePartition:
    """One partition's committed position; offset -1 when nothing is committed."""

    partition_index: int
    committed_offset: int = INVALID_OFFSET
    committed_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    metadata: str = ""
    error_code: ErrorCode = ErrorCode.NONE


@quickly_made
@frozen(kw_only=True)
class OffsetFetchResponseTopic:
    """The partitions of one topic."""

    name: str
    topic_id: str = ZERO_TOPIC_ID
    partitions: tuple[OffsetFetchResponsePartition, ...] = ()


@quickly_made
@frozen(kw_only=True)
class OffsetFetchResponseGroup:
    """The committed positions of one group."""

    group_id: str | None
    topics: tuple[OffsetFetchResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE


@quickly_made
@frozen(kw_only=True)
class OffsetFetchResponse(Response):
    """One entry per group. In versions 2 to 7 the only group's error stands on top as well."""

    groups: tuple[OffsetFetchResponseGroup, ...] = ()


@frozen(kw_only=True)
class OffsetDeleteRequestTopic:
    """Partitions of one topic."""

    name: str = field(validator=text)
    partitions: tuple[int, ...] = field(default=(), validator=tuple_of(int))


@request
@frozen(kw_only=True)
class OffsetDeleteRequest(Request):
    """Forget these positions."""

    API_KEY = 47
    VERSIONS = range(1)

    group_id: str | None = field(validator=optional_text)
    topics: tuple[OffsetDeleteRequestTopic, ...] = field(
        default=(), validator=tuple_of(OffsetDeleteRequestTopic)
    )


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
