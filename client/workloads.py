"""How long an application takes over its records.

A range is cut only where its records differ, so a constant time costs the same for ten records
and for a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from attrs import evolve, frozen

from client.partitions import TopicPartition
from client.records import RecordRange

_US_PER_MS = 1_000

#: A range of neighbouring records and the time that they take together.
Piece = tuple[RecordRange, int]


class TimePerRecord(Protocol):
    """Cuts a range into pieces that are processed as one."""

    def pieces(self, records: RecordRange) -> Iterator[Piece]:
        """The pieces in order, each with its time in milliseconds."""
        ...


@frozen
class ConstantTime:
    """Every record takes the same time, given in microseconds: many take less than one ms."""

    us_per_record: int

    def pieces(self, records: RecordRange) -> Iterator[Piece]:
        """The whole range as one piece."""
        # The time is that of all records before its end, less that of all before its beginning,
        # so that no cut loses a part of a ms.
        each_us = self.us_per_record
        until_ms = records.end * each_us // _US_PER_MS
        yield records, until_ms - records.first * each_us // _US_PER_MS


@frozen
class DrawnTime:
    """Each record's time is drawn, in milliseconds, by its place and not by when it is read."""

    draw_ms: Callable[[TopicPartition, int], int]

    def pieces(self, records: RecordRange) -> Iterator[Piece]:
        """One piece per record, since each may take as long as it likes."""
        for offset in range(records.first, records.end):
            piece = evolve(records, first=offset, end=offset + 1)
            yield piece, self.draw_ms(records.partition, offset)


@frozen(kw_only=True)
class SlowRecord:
    """One record takes its own time; the others go as usual."""

    partition: TopicPartition
    offset: int
    takes_ms: int
    others: TimePerRecord

    def pieces(self, records: RecordRange) -> Iterator[Piece]:
        """What is before the slow record, the record itself, and what is behind it."""
        is_here = records.partition == self.partition
        if not is_here or not records.first <= self.offset < records.end:
            yield from self.others.pieces(records)
            return
        if records.first < self.offset:
            yield from self.others.pieces(evolve(records, end=self.offset))
        yield evolve(records, first=self.offset, end=self.offset + 1), self.takes_ms
        if self.offset + 1 < records.end:
            yield from self.others.pieces(evolve(records, first=self.offset + 1))


AT_ONCE = ConstantTime(0)
