"""What is appended to `__consumer_offsets`: values, and tombstones that take them back.

`Shard.replay` (shard.py) applies them; what is written when is decided by the handlers.
"""

from __future__ import annotations

from attrs import frozen

from coordinator.protocol import NO_PARTITION_LEADER_EPOCH, ZERO_TOPIC_ID
from coordinator.protocol.making import quickly_made, surely_made

#: A topic and a partition of it.
TopicPartition = tuple[str, int]


@quickly_made
@frozen(kw_only=True)
class OffsetAndMetadata:
    """A committed position as the coordinator keeps it."""

    committed_offset: int
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    topic_id: str = ZERO_TOPIC_ID


@quickly_made
@frozen(kw_only=True)
class OffsetRecord:
    """A position is committed; with `value` None it is forgotten (a tombstone)."""

    group_id: str
    topic: str
    partition: int
    value: OffsetAndMetadata | None


@quickly_made
@frozen(kw_only=True)
class MemberMetadata:
    """A member in a group record; only the selected protocol's metadata survives a load."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@frozen(kw_only=True)
class GroupMetadata:
    """A group at a generation, its members in the order of Kafka's map."""

    protocol_type: str
    generation_id: int
    protocol_name: str | None = None
    leader: str | None = None
    current_state_timestamp_ms: int = -1
    members: tuple[MemberMetadata, ...] = ()


@frozen(kw_only=True)
class GroupRecord:
    """A group's generation is written down; with `value` None the group is gone (a tombstone)."""

    group_id: str
    value: GroupMetadata | None


Record = OffsetRecord | GroupRecord

#: The usual position and the record of one, made without a look: one per partition of each commit.
position = surely_made(
    OffsetAndMetadata, "committed_offset", "leader_epoch", "commit_timestamp_ms", "topic_id"
)
record_of_position = surely_made(OffsetRecord, "group_id", "topic", "partition", "value")
