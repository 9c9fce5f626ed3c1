"""Requests and replies of the APIs that only consumers and data brokers speak.

Same style as `coordinator.protocol`, which has the group's own. Records are ranges of offsets:
a million of them cost no more than ten.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

from attrs import frozen

from client.cluster import ClusterView, PartitionMetadata, PlainMetadata
from client.errors import AnyError
from client.partitions import BrokerNode, TopicPartition, broker_node
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    INVALID_OFFSET,
    NO_PARTITION_LEADER_EPOCH,
    ZERO_TOPIC_ID,
    Request,
)
from coordinator.protocol.common import request
from coordinator.protocol.making import quickly_made, surely_made

NO_NODE_ID = -1
NO_SESSION_ID = 0
INITIAL_SESSION_EPOCH = 0
FINAL_SESSION_EPOCH = -1


class IsolationLevel(Enum):
    """Whether records of open transactions are shown."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class LogEdge(Enum):
    """The two ends of a log that ListOffsets can be asked for by name."""

    EARLIEST = "earliest"
    LATEST = "latest"


@frozen(kw_only=True)
class DataResponse:
    """What every reply here has: one error for all of it."""

    error_code: AnyError = ErrorCode.NONE


# --- Metadata ------------------------------------------------------------------------------------


@request
@frozen(kw_only=True)
class MetadataRequest(Request):
    """Who are the brokers, and who leads these topics? `topics` None means all of them."""

    API_KEY = 3
    VERSIONS = range(14)

    topics: tuple[str, ...] | None = None
    allow_auto_topic_creation: bool = True


@frozen(kw_only=True)
class MetadataResponseBroker:
    """A broker's address and rack."""

    node_id: int
    host: str = "broker"
    port: int = 9092
    rack: str | None = None


@quickly_made
@frozen(kw_only=True)
class MetadataResponsePartition:
    """A partition's leader and replicas; leader -1 when there is none."""

    partition_index: int
    leader_id: int = NO_NODE_ID
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    replica_nodes: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    error_code: AnyError = ErrorCode.NONE


@quickly_made
@frozen(kw_only=True)
class MetadataResponseTopic:
    """A topic, or why there is nothing to tell of it."""

    name: str
    topic_id: str = ZERO_TOPIC_ID
    is_internal: bool = False
    partitions: tuple[MetadataResponsePartition, ...] = ()
    error_code: AnyError = ErrorCode.NONE

    @cached_property
    def told(self) -> tuple[PartitionMetadata, ...]:
        """The partitions as a consumer keeps them; all who hear this answer share them."""
        return tuple(
            PartitionMetadata(
                partition=TopicPartition(self.name, found.partition_index),
                leader_id=None if found.leader_id < 0 else found.leader_id,
                leader_epoch=_epoch(found.leader_epoch),
                replica_ids=found.replica_nodes,
                offline_replica_ids=found.offline_replicas,
                error=found.error_code,
            )
            for found in self.partitions
        )


def _epoch(epoch: int) -> int | None:
    return None if epoch == NO_PARTITION_LEADER_EPOCH else epoch


@quickly_made
@frozen(kw_only=True)
class MetadataResponse(DataResponse):
    """The cluster as one broker sees it."""

    brokers: tuple[MetadataResponseBroker, ...] = ()
    topics: tuple[MetadataResponseTopic, ...] = ()

    @cached_property
    def nodes(self) -> tuple[BrokerNode, ...]:
        """The brokers as a consumer keeps them, by id."""
        return tuple(
            broker_node(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in sorted(self.brokers, key=lambda broker: broker.node_id)
        )

    @cached_property
    def topic_ids(self) -> dict[str, str]:
        """The ids of the topics that have one."""
        return {
            topic.name: topic.topic_id for topic in self.topics if topic.topic_id != ZERO_TOPIC_ID
        }

    @cached_property
    def plain(self) -> PlainMetadata | None:
        """What a consumer makes of this that knew nothing before; None if it speaks of errors.

        A thousand consumers that hear the same of a thousand partitions share it.
        """
        if any(topic.error_code is not ErrorCode.NONE for topic in self.topics):
            return None
        told = {each.partition: each for topic in self.topics for each in topic.told}
        epochs: dict[TopicPartition, int] = {}
        for partition, each in told.items():
            if each.error is not ErrorCode.NONE or each.leader_epoch is None:
                return None
            epochs[partition] = each.leader_epoch
        internal = frozenset(topic.name for topic in self.topics if topic.is_internal)
        view = ClusterView(
            nodes=self.nodes, partitions=told, topic_ids=self.topic_ids, internal_topics=internal
        )
        return PlainMetadata(view, epochs)


# --- ListOffsets ---------------------------------------------------------------------------------


@quickly_made
@frozen(kw_only=True)
class ListOffsetsPartition:
    """One partition and the place in its log: an end, or the first record from a time on."""

    topic: str
    partition_index: int
    timestamp: LogEdge | int
    current_leader_epoch: int = NO_PARTITION_LEADER_EPOCH


@request
@frozen(kw_only=True)
class ListOffsetsRequest(Request):
    """Which offsets are there?"""

    API_KEY = 2
    VERSIONS = range(1, 12)

    partitions: tuple[ListOffsetsPartition, ...]
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    timeout_ms: int = 30_000


@quickly_made
@frozen(kw_only=True)
class ListOffsetsPartitionResponse:
    """One partition's offset; -1 when no record is there."""

    topic: str
    partition_index: int
    offset: int = INVALID_OFFSET
    timestamp: int | None = None
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    error_code: AnyError = ErrorCode.NONE


@frozen(kw_only=True)
class ListOffsetsResponse(DataResponse):
    """One entry per partition of the request."""

    partitions: tuple[ListOffsetsPartitionResponse, ...] = ()


# --- OffsetForLeaderEpoch ------------------------------------------------------------------------


@frozen(kw_only=True)
class OffsetForLeaderPartition:
    """One partition and the epoch whose end is asked for."""

    topic: str
    partition: int
    leader_epoch: int
    current_leader_epoch: int = NO_PARTITION_LEADER_EPOCH


@request
@frozen(kw_only=True)
class OffsetForLeaderEpochRequest(Request):
    """Where did these epochs end?"""

    API_KEY = 23
    VERSIONS = range(2, 5)

    partitions: tuple[OffsetForLeaderPartition, ...]


@frozen(kw_only=True)
class EpochEndOffset:
    """The end of an epoch; -1 when the broker knows none."""

    topic: str
    partition: int
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    end_offset: int = INVALID_OFFSET
    error_code: AnyError = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetForLeaderEpochResponse(DataResponse):
    """One entry per partition of the request."""

    partitions: tuple[EpochEndOffset, ...] = ()


# --- Fetch ---------------------------------------------------------------------------------------


@quickly_made
@frozen(kw_only=True)
class FetchPartition:
    """One partition and where to read on; the topic's id, as far as metadata has told it."""

    topic: str
    partition: int
    topic_id: str = ZERO_TOPIC_ID
    fetch_offset: int = 0
    current_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    partition_max_bytes: int = 1_048_576


@request
@frozen(kw_only=True)
class FetchRequest(Request):
    """Give me what comes next, as soon as there is `min_bytes` of it or `max_wait_ms` passed."""

    API_KEY = 1
    VERSIONS = range(4, 19)

    partitions: tuple[FetchPartition, ...] = ()
    forgotten: tuple[tuple[str, int], ...] = ()
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 52_428_800
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    rack_id: str = ""
    session_id: int = NO_SESSION_ID
    session_epoch: int = INITIAL_SESSION_EPOCH


@quickly_made
@frozen(kw_only=True)
class RecordBatch:
    """Records of one epoch: offsets `first` up to, but not including, `end`.

    `next_offset` is where reading goes on. It lies beyond `end` where the log was compacted, and
    a batch without records (a transaction's marker) has `end` equal to `first`.
    """

    first: int
    end: int
    next_offset: int = INVALID_OFFSET
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH

    def __attrs_post_init__(self) -> None:
        """Go on right behind the records unless told otherwise."""
        if self.next_offset == INVALID_OFFSET:
            object.__setattr__(self, "next_offset", self.end)

    @property
    def epoch(self) -> int | None:
        """The leader epoch, if there is one."""
        return None if self.leader_epoch == NO_PARTITION_LEADER_EPOCH else self.leader_epoch


@quickly_made
@frozen(kw_only=True)
class FetchPartitionResponse:
    """What one partition has, or why it has nothing."""

    topic: str
    partition_index: int
    batches: tuple[RecordBatch, ...] = ()
    high_watermark: int = INVALID_OFFSET
    last_stable_offset: int = INVALID_OFFSET
    log_start_offset: int = INVALID_OFFSET
    preferred_read_replica: int = NO_NODE_ID
    current_leader_id: int = NO_NODE_ID
    current_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    error_code: AnyError = ErrorCode.NONE


@quickly_made
@frozen(kw_only=True)
class FetchResponse(DataResponse):
    """One entry per partition; within a session, only those with news."""

    session_id: int = NO_SESSION_ID
    partitions: tuple[FetchPartitionResponse, ...] = ()
    node_endpoints: tuple[MetadataResponseBroker, ...] = ()


#: How the values are made of which every record that is fetched leads to one.
fetch_partition = surely_made(
    FetchPartition,
    "topic",
    "partition",
    "topic_id",
    "fetch_offset",
    "current_leader_epoch",
    "partition_max_bytes",
)
fetch_request = surely_made(
    FetchRequest,
    "request_id",
    "client_id",
    "partitions",
    "forgotten",
    "max_wait_ms",
    "min_bytes",
    "max_bytes",
    "isolation_level",
    "rack_id",
    "session_id",
    "session_epoch",
)
record_batch = surely_made(RecordBatch, "first", "end", "next_offset", "leader_epoch")
fetched_partition = surely_made(
    FetchPartitionResponse,
    "topic",
    "partition_index",
    "batches",
    "high_watermark",
    "last_stable_offset",
    "log_start_offset",
)
fetch_response = surely_made(FetchResponse, "session_id", "partitions", "node_endpoints")
