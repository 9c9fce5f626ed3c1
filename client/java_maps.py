"""The order of Kafka's hash maps, where the first of several decides: an error, a connection.

A map that was filled one by one begins with 16 buckets, a copy is cut to its size; keys that
share a bucket keep the order in which they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from client.assignors.java_order import partition_hash, text_hash
from client.partitions import BrokerNode, TopicPartition

K = TypeVar("K")
V = TypeVar("V")

_FIRST_BUCKETS = 16
_INT_MASK = 0xFFFFFFFF
#: Java's `Boolean.hashCode(false)`: no node is fenced.
_NOT_FENCED_HASH = 1237


def filled(entries: Mapping[TopicPartition, V]) -> dict[TopicPartition, V]:
    """The entries in the order of a map that was filled one by one."""
    if len(entries) <= 1:
        return dict(entries)
    in_order = _filled_order(tuple(entries))
    return dict(zip(in_order, map(entries.__getitem__, in_order), strict=True))


@lru_cache(maxsize=1_024)
def _filled_order(partitions: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...]:
    return tuple(_in_buckets(partitions, partition_hash, _buckets_after_puts(len(partitions))))


def copied(entries: Mapping[TopicPartition, V]) -> dict[TopicPartition, V]:
    """The entries in the order of a copy of such a map."""
    if len(entries) <= 1:
        return dict(entries)
    buckets = 1
    while buckets < len(entries) / 0.75 + 1:
        buckets *= 2
    return {key: entries[key] for key in _in_buckets(entries, partition_hash, buckets)}


def copied_set(partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """The partitions in the order of a set that was made as a copy of another."""
    buckets = _FIRST_BUCKETS
    while buckets < int(len(partitions) / 0.75) + 1:
        buckets *= 2
    return _in_buckets(partitions, partition_hash, buckets)


def sized(entries: Mapping[TopicPartition, V]) -> dict[TopicPartition, V]:
    """The entries in the order of a map that was made for their number, and had to grow."""
    buckets = _buckets_made_for(len(entries))
    return {key: entries[key] for key in _in_buckets(entries, partition_hash, buckets)}


def filled_with_texts(texts: Iterable[str]) -> list[str]:
    """Strings in the order of a map that was filled one by one."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= 1:
        return distinct
    return _in_buckets(distinct, text_hash, _buckets_after_puts(len(distinct)))


def filled_with_numbers(numbers: Iterable[int]) -> list[int]:
    """Numbers in the order of a map that was filled one by one."""
    distinct = list(dict.fromkeys(numbers))
    return _in_buckets(distinct, lambda number: number, _buckets_after_puts(len(distinct)))


def filled_with_nodes(nodes: Iterable[BrokerNode]) -> list[BrokerNode]:
    """Brokers in the order of a map that was filled one by one."""
    distinct = list(dict.fromkeys(nodes))
    if len(distinct) <= 1:
        return distinct
    return _in_buckets(distinct, _node_hash, _buckets_after_puts(len(distinct)))


def computed_for_nodes(nodes: Iterable[BrokerNode]) -> list[BrokerNode]:
    """Brokers in the order of a map to which each was added by `computeIfAbsent`: at the head."""
    distinct = list(dict.fromkeys(nodes))
    if len(distinct) <= 1:
        return distinct
    return _in_buckets(reversed(distinct), _node_hash, _buckets_after_puts(len(distinct)))


def converted_nodes(nodes: Sequence[BrokerNode]) -> list[BrokerNode]:
    """Brokers put one by one into a map that was made for their number, and had to grow."""
    if len(nodes) <= 1:
        return list(nodes)
    return _in_buckets(nodes, _node_hash, _buckets_made_for(len(nodes)))


@lru_cache(maxsize=4_096)
def _node_hash(node: BrokerNode) -> int:
    """Kafka's `Node.hashCode()`, as an unsigned 32-bit number."""
    hashed = 31 + text_hash(node.host)
    rack_hash = 0 if node.rack is None else text_hash(node.rack)
    for part in (node.id, node.port, rack_hash, _NOT_FENCED_HASH):
        hashed = (31 * hashed + part) & _INT_MASK
    return hashed


def _buckets_after_puts(count: int) -> int:
    buckets = _FIRST_BUCKETS
    while count > buckets * 3 // 4:
        buckets *= 2
    return buckets


def _buckets_made_for(count: int) -> int:
    buckets = 1
    while buckets < count or buckets * 3 // 4 < count:
        buckets *= 2
    return buckets


def _in_buckets(keys: Iterable[K], hash_of: Callable[[K], int], buckets: int) -> list[K]:
    mask = buckets - 1

    def bucket(key: K) -> int:
        hashed = hash_of(key)
        return (hashed ^ hashed >> 16) & mask

    return sorted(keys, key=bucket)
