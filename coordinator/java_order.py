"""The order of a Java HashMap, in one place: who comes first where Kafka leaves it to the map.

Kafka keeps a group's members in a `java.util.HashMap` and lets its order decide who leads next,
how the member list reads and which protocol wins a tied vote. With the same ids, `JavaHashMap`
iterates in the same order.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView
from functools import lru_cache
from typing import NoReturn, TypeVar

V = TypeVar("V")

_INITIAL_BUCKETS = 16
_TREEIFY_THRESHOLD = 8
_TREEIFY_LEAST_BUCKETS = 64


@lru_cache(maxsize=65_536)
def string_hash(text: str) -> int:
    """Java's `String.hashCode()`: over UTF-16 code units, as a signed 32-bit number."""
    result = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            result = (31 * result + unit) & 0xFFFFFFFF
    else:
        units = text.encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return result - (1 << 32) if result & 0x80000000 else result


@lru_cache(maxsize=65_536)
def partition_for(group_id: str, partitions: int) -> int:
    """The partition of the offsets topic for a group: |hash| mod count, |-2^31| being 0."""
    hashed = string_hash(group_id)
    return 0 if hashed == -(1 << 31) else abs(hashed) % partitions


def _spread(key: str) -> int:
    """The hash that HashMap uses: the high half folded into the low one."""
    hashed = string_hash(key) & 0xFFFFFFFF
    return hashed ^ (hashed >> 16)


class JavaHashMap(dict[str, V]):
    """A mapping from strings that iterates as Java's HashMap does after the same operations.

    Looking things up is a plain dictionary's; what changes it or goes through it knows of buckets.
    The table grows as Java's does and never shrinks. Java turns a bucket of nine entries into a
    tree once the table has 64 buckets, which changes the order within that bucket; random ids
    practically never get there, and we keep the order of insertion. The order is found out once
    for each change, and whoever goes through the map goes through what it was at that moment.
    """

    __slots__ = ("_buckets", "_keys", "_values")

    def __init__(self) -> None:
        super().__init__()
        self._buckets: list[list[str] | None] = [None] * _INITIAL_BUCKETS
        self._keys: tuple[str, ...] | None = ()
        self._values: tuple[V, ...] | None = ()

    def __iter__(self) -> Iterator[str]:
        keys = self._keys
        if keys is None:
            keys = self._keys = tuple([key for bucket in self._buckets if bucket for key in bucket])
        return iter(keys)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """The keys, in Java's order."""
        return KeysView(self)

    def values(self) -> tuple[V, ...]:  # type: ignore[override]
        """The values, in Java's order."""
        values = self._values
        if values is None:
            values = self._values = tuple([self[key] for key in self])
        return values

    def items(self) -> ItemsView[str, V]:  # type: ignore[override]
        """Keys and values, in Java's order."""
        return ItemsView(self)

    def __setitem__(self, key: str, value: V) -> None:
        is_new = key not in self
        super().__setitem__(key, value)
        self._values = None
        if not is_new:
            return
        self._keys = None
        index = _spread(key) & (len(self._buckets) - 1)
        bucket = self._buckets[index]
        if bucket is None:
            self._buckets[index] = [key]
        else:
            bucket.append(key)
            if len(bucket) > _TREEIFY_THRESHOLD and len(self._buckets) < _TREEIFY_LEAST_BUCKETS:
                self._double()
        if len(self) > len(self._buckets) * 3 // 4:
            self._double()

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._keys = self._values = None
        bucket = self._buckets[_spread(key) & (len(self._buckets) - 1)]
        assert bucket is not None
        bucket.remove(key)

    def pop(self, key: str, default: V | None = None) -> V | None:  # type: ignore[override]
        """Take a key out; its value, or the default."""
        value = self.get(key, default)
        if key in self:
            del self[key]
        return value

    def copy(self) -> JavaHashMap[V]:
        """A map of its own with the same entries in the same order."""
        twin: JavaHashMap[V] = JavaHashMap()
        for key, value in dict.items(self):
            dict.__setitem__(twin, key, value)
        twin._keys, twin._values = self._keys, self._values
        twin._buckets = [None if bucket is None else list(bucket) for bucket in self._buckets]
        return twin

    @property
    def buckets(self) -> int:
        """How many buckets the table has; part of the state, for it decides the order."""
        return len(self._buckets)

    def _double(self) -> None:
        """Twice the buckets; entries of one bucket keep their relative order."""
        mask = 2 * len(self._buckets) - 1
        buckets: list[list[str] | None] = [None] * (mask + 1)
        for key in self:
            index = _spread(key) & mask
            bucket = buckets[index]
            if bucket is None:
                buckets[index] = [key]
            else:
                bucket.append(key)
        self._buckets = buckets
        self._keys = self._values = None

    # The other ways to change a dictionary would pass the buckets by; nobody needs them.

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError("a JavaHashMap is changed by key only")

    update = setdefault = popitem = clear = __ior__ = _refuse
