"""Java's orders, where Kafka's assignors depend on them: of strings, and of hash maps and sets.

Java turns a bucket of nine entries into a tree once a table has 64 buckets, which changes the
order within that bucket. Ids with a UUID practically never get there (short ones that count up
can), and we keep the order of insertion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

from coordinator.java_order import string_hash

K = TypeVar("K")

_INITIAL_BUCKETS = 16
_FEWEST_BUCKETS_WITH_TREES = 64
_LONGEST_CHAIN_OF_PUTS = 8
_LONGEST_CHAIN_OF_COMPUTES = 7


def text_key(text: str) -> bytes:
    """A key that sorts strings as Java's `String.compareTo` does, by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def text_hash(text: str) -> int:
    """Java's `String.hashCode()`, as an unsigned 32-bit number."""
    return string_hash(text) & 0xFFFFFFFF


def partition_hash(partition: tuple[str, int]) -> int:
    """Kafka's `TopicPartition.hashCode()`, as an unsigned 32-bit number."""
    topic, number = partition
    return (31 * (31 + number) + string_hash(topic)) & 0xFFFFFFFF


def put_order(texts: Iterable[str]) -> list[str]:
    """Strings in the order of a HashMap or HashSet to which they were added one by one."""
    return list(_put_order(tuple(texts)))


@lru_cache(maxsize=64)
def _put_order(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Remembered: a leader asks for the order of its members several times in a row."""
    table: HashTable[str] = HashTable(text_hash)
    for text in texts:
        table.put(text)
    return tuple(table)


def compute_order(texts: Iterable[str]) -> list[str]:
    """Strings in the order of a HashMap that `computeIfAbsent` filled one by one."""
    table: HashTable[str] = HashTable(text_hash)
    for text in texts:
        table.compute(text)
    return list(table)


class HashTable(Generic[K]):
    """The keys of a Java HashMap or HashSet, iterated as Java does after the same operations."""

    __slots__ = ("_buckets", "_chains", "_hash_of", "_size")

    def __init__(self, hash_of: Callable[[K], int]) -> None:
        self._hash_of = hash_of
        self._size = 0
        self._buckets = _INITIAL_BUCKETS
        self._chains: dict[int, list[K]] = {}

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        for bucket in sorted(self._chains):
            yield from self._chains[bucket]

    def put(self, key: K) -> None:
        """Add a key at the end of its bucket; the table grows after it."""
        chain = self._chain_of(key)
        if key in chain:
            return
        chain.append(key)
        self._size += 1
        if len(chain) > _LONGEST_CHAIN_OF_PUTS and self._buckets < _FEWEST_BUCKETS_WITH_TREES:
            self._double()
        if self._size > self._buckets * 3 // 4:
            self._double()

    def compute(self, key: K) -> None:
        """Add a key at the head of its bucket; the table has grown before it, one key late."""
        if self._size > self._buckets * 3 // 4:
            self._double()
        chain = self._chain_of(key)
        if key in chain:
            return
        chain.insert(0, key)
        self._size += 1
        if len(chain) > _LONGEST_CHAIN_OF_COMPUTES and self._buckets < _FEWEST_BUCKETS_WITH_TREES:
            self._double()

    def remove(self, key: K) -> None:
        """Take a key out; the table keeps its size."""
        self._chain_of(key).remove(key)
        self._size -= 1

    def _chain_of(self, key: K) -> list[K]:
        hashed = self._hash_of(key)
        return self._chains.setdefault((hashed ^ hashed >> 16) & (self._buckets - 1), [])

    def _double(self) -> None:
        """Twice the buckets; the keys of one bucket keep their relative order."""
        keys = list(self)
        self._buckets *= 2
        self._chains = {}
        for key in keys:
            self._chain_of(key).append(key)
