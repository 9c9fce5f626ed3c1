"""The bytes of the consumer protocol: what members put into JoinGroup and leaders into SyncGroup.

Versions 0 to 3 of Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment. A newer
version is read as the newest one known here, as Kafka reads it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from client.assignors.byte_fields import (
    ByteReader,
    SchemaError,
    by_topic,
    bytes_field,
    int16_field,
    int32_field,
    partitions_field,
    text_field,
    texts_field,
)
from client.assignors.interface import (
    UNKNOWN_GENERATION,
    Assignment,
    Subscription,
    TopicPartition,
)
from client.assignors.java_order import text_key

__all__ = [
    "SchemaError",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
]

_NEWEST = 3
_WITH_OWNED_PARTITIONS = 1
_WITH_GENERATION = 2
_WITH_RACK = 3


def encode_subscription(subscription: Subscription, version: int = _NEWEST) -> bytes:
    """A member's subscription, topics and owned partitions sorted; older versions say less."""
    version = _known(version)
    fields = [
        int16_field(version),
        _topics_field(tuple(subscription.topics)),
        bytes_field(subscription.user_data),
    ]
    if version >= _WITH_OWNED_PARTITIONS:
        fields.append(_owned_field(tuple(subscription.owned_partitions)))
    if version >= _WITH_GENERATION:
        fields.append(int32_field(max(subscription.generation_id, UNKNOWN_GENERATION)))
    if version >= _WITH_RACK:
        fields.append(text_field(subscription.rack_id))
    return b"".join(fields)


# A member tells the same topics in every join, and mostly the same partitions as before; and a
# leader gives most members what they had. So these fields are remembered as they were written.
@lru_cache(maxsize=256)
def _topics_field(topics: tuple[str, ...]) -> bytes:
    return texts_field(_sorted(topics))


@lru_cache(maxsize=256)
def _owned_field(partitions: tuple[TopicPartition, ...]) -> bytes:
    owned = by_topic(partitions)
    return partitions_field((topic, sorted(owned[topic])) for topic in _sorted(owned))


def _sorted(topics: Collection[str]) -> Collection[str]:
    return topics if len(topics) < 2 else sorted(topics, key=text_key)  # noqa: PLR2004 (a pair)


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> Subscription:
    """A member's subscription; the instance id is known to the leader from the JoinGroup reply."""
    reader = ByteReader(data)
    version = _known(reader.int16())
    return Subscription(
        topics=reader.texts(),
        user_data=reader.nullable_bytes(),
        owned_partitions=reader.partitions() if version >= _WITH_OWNED_PARTITIONS else (),
        generation_id=(
            max(reader.int32(), UNKNOWN_GENERATION)
            if version >= _WITH_GENERATION
            else UNKNOWN_GENERATION
        ),
        rack_id=(reader.nullable_text() or None) if version >= _WITH_RACK else None,
        group_instance_id=group_instance_id,
    )


def encode_assignment(assignment: Assignment, version: int = _NEWEST) -> bytes:
    """A member's assignment, topics in the order in which they first appear."""
    return (
        int16_field(_known(version))
        + partitions_field(by_topic(assignment.partitions).items())
        + bytes_field(assignment.user_data)
    )


@lru_cache(maxsize=256)
def decode_assignment(data: bytes) -> Assignment:
    """A member's assignment as its leader sent it."""
    reader = ByteReader(data)
    _known(reader.int16())
    return Assignment(partitions=reader.partitions(), user_data=reader.nullable_bytes())


def _known(version: int) -> int:
    if version < 0:
        raise SchemaError(f"the consumer protocol has no version {version}")
    return min(version, _NEWEST)
