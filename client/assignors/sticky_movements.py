"""Which partitions the general sticky algorithm has moved between which members so far.

Two partitions of a topic that change places have moved for nothing. So when a partition is to go
from one member to another, and an earlier one of its topic went the opposite way, that one goes
back instead.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from client.assignors.java_order import HashTable

#: From which member to which.
Pair = tuple[int, int]


@define(kw_only=True, eq=False)
class Movements:
    """Every partition's move so far, from its first owner to its latest."""

    hash_of: Callable[[int], int]
    topic_of: Callable[[int], int]
    _pairs: dict[int, Pair] = field(init=False, factory=dict)
    _moved: dict[tuple[int, Pair], HashTable[int]] = field(init=False, factory=dict)

    def instead_of(self, partition: int, source: int, target: int) -> int:
        """The partition that should move so that `partition` need not."""
        first_source, _ = self._pairs.get(partition, (source, target))
        opposite = self._moved.get((self.topic_of(partition), (target, first_source)))
        return next(iter(opposite)) if opposite else partition

    def record(self, partition: int, source: int, target: int) -> None:
        """Note a move; one that leads back to the first owner is no move at all."""
        pair = (source, target)
        earlier = self._pairs.pop(partition, None)
        if earlier is not None:
            self._moved[self.topic_of(partition), earlier].remove(partition)
            pair = (earlier[0], target)
            if earlier[0] == target:
                return
        self._pairs[partition] = pair
        key = (self.topic_of(partition), pair)
        if not self._moved.get(key):
            # Kafka drops an emptied set; a new one begins with a small table.
            self._moved[key] = HashTable(self.hash_of)
        self._moved[key].put(partition)
