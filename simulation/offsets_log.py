"""A partition of `__consumer_offsets`: what coordinators wrote, compacted, and how long it is.

And what may be wrong with such partitions for a while.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from coordinator.records import OffsetRecord, Record
from coordinator.standing import Standing

Key = tuple[str, str | None, int]


@define(eq=False)
class OffsetsLog:
    """Keeps the latest record of each key, in the order of writing; it survives its brokers."""

    end_offset: int = 0
    _latest: dict[Key, Record] = field(factory=dict, init=False)
    #: Commits whose latest time is not written down yet, in the order of those times.
    _standing: dict[Standing, None] = field(factory=dict, init=False)

    def append(self, records: Iterable[Record]) -> None:
        """Take these records."""
        new = tuple(records)
        self.end_offset += len(new)
        self.repeat(new)

    def repeat(self, records: Iterable[Record]) -> None:
        """Take records that say again what is there; they do not count, so none is missed."""
        if self._standing:
            self._write_down()
        self._put(records)

    def keep(self, standing: Standing) -> None:
        """Take a commit that says again what is there, and write it down when that is read."""
        self._standing.pop(standing, None)
        self._standing[standing] = None

    def _write_down(self) -> None:
        kept, self._standing = self._standing, {}
        for standing in kept:
            self._put(standing.renewed())

    def _put(self, records: Iterable[Record]) -> None:
        latest = self._latest
        for record in records:
            key: Key
            if type(record) is OffsetRecord:
                key = (record.group_id, record.topic, record.partition)
            else:
                key = (record.group_id, None, -1)
            latest.pop(key, None)
            latest[key] = record

    def records(self) -> tuple[Record, ...]:
        """What a broker reads that takes this partition over."""
        if self._standing:
            self._write_down()
        return tuple(self._latest.values())


@define(eq=False)
class LogTrouble:
    """What is wrong with the logs of the offsets topic at the moment, by partition."""

    failing: set[int] = field(factory=set)
    slow_ms: dict[int, int] = field(factory=dict)

    def of(self, shard: int) -> bool:
        """Whether writes of this partition are not what they should be."""
        return shard in self.failing or shard in self.slow_ms
