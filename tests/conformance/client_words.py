"""The common words of recorded conversations: partitions, offsets, errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from client.errors import DataErrorCode
from client.partitions import OffsetAndMetadata, TopicPartition
from coordinator.errors import ErrorCode

Fields = dict[str, Any]


def partition_of(name: str) -> TopicPartition:
    """`topic-number` as a partition."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def names_of(partitions: Iterable[tuple[str, int]]) -> list[str]:
    """Partitions by topic and number, as `topic-number`."""
    return [f"{topic}-{number}" for topic, number in sorted(partitions)]


def offset_of(value: int | Mapping[str, Any]) -> OffsetAndMetadata:
    """An offset as a call gives it."""
    if isinstance(value, int):
        return OffsetAndMetadata(offset=value)
    return OffsetAndMetadata(
        offset=value["offset"],
        leader_epoch=value.get("leader_epoch"),
        metadata=value.get("metadata", ""),
    )


def error_of(name: str | None) -> Any:
    """An error code by its name in Kafka."""
    if name is None:
        return ErrorCode.NONE
    return ErrorCode[name] if name in ErrorCode.__members__ else DataErrorCode[name]
