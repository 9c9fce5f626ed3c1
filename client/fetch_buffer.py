"""Fetched records that have not been handed out: a queue of chunks, one of them in line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

from attrs import define, field

from client.messages import FetchPartitionResponse, RecordBatch
from client.partitions import TopicPartition
from client.records import RecordRange


@define(eq=False)
class CompletedFetch:
    """One partition's part of a Fetch answer.

    It counts as consumed only when somebody asks for a record beyond its last one.
    """

    partition: TopicPartition
    answer: FetchPartitionResponse
    next_fetch_offset: int
    on_read_out: Callable[[TopicPartition], None]
    last_epoch: int | None = None
    is_initialized: bool = False
    is_consumed: bool = False
    _batch: RecordBatch | None = None
    #: How many batches have been looked at.
    _batches_begun: int = 0
    _has_been_read: bool = False

    def take(self, count_max: int) -> list[RecordRange]:
        """The next records, at most so many of them."""
        ranges: list[RecordRange] = []
        while count_max > 0 and not self.is_consumed:
            batch = self._batch
            if batch is None or max(self.next_fetch_offset, batch.first) >= batch.end:
                self._next_batch()
                continue
            first = max(self.next_fetch_offset, batch.first)
            end = min(batch.end, first + count_max)
            ranges.append(
                RecordRange(
                    partition=self.partition, first=first, end=end, leader_epoch=self.last_epoch
                )
            )
            count_max -= end - first
            self.next_fetch_offset = end
            self._has_been_read = True
        return ranges

    def drain(self) -> None:
        """Throw away the rest; a partition that was read from is fetched last from now on."""
        if self.is_consumed:
            return
        self.is_consumed = True
        if self._has_been_read:
            self.on_read_out(self.partition)

    def _next_batch(self) -> None:
        batches = self.answer.batches
        if self._batches_begun == len(batches):
            if self._batch is not None:
                self.next_fetch_offset = self._batch.next_offset
            self.drain()
            return
        self._batch = batches[self._batches_begun]
        self._batches_begun += 1
        self.last_epoch = self._batch.epoch


@define(eq=False)
class FetchBuffer:
    """The queue and the chunk that is being handed out."""

    in_line: CompletedFetch | None = None
    queue: deque[CompletedFetch] = field(factory=deque)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left here."""
        return not self.queue and (self.in_line is None or self.in_line.is_consumed)

    def add(self, fetches: Iterable[CompletedFetch]) -> None:
        """Queue up at the end."""
        self.queue.extend(fetches)

    def pop(self) -> None:
        """Drop the head of the queue."""
        self.queue.popleft()

    def has_any(self, holds: Callable[[TopicPartition], bool]) -> bool:
        """Whether something queued is of a partition of which this holds."""
        return bool(self.queue) and any(holds(fetch.partition) for fetch in self.queue)

    @property
    def partitions(self) -> set[TopicPartition]:
        """The partitions that have something here."""
        buffered = {fetch.partition for fetch in self.queue} if self.queue else set()
        if self.in_line is not None and not self.in_line.is_consumed:
            buffered.add(self.in_line.partition)
        return buffered

    def retain(self, partitions: Collection[TopicPartition]) -> None:
        """Throw away what is of other partitions."""
        kept: deque[CompletedFetch] = deque()
        for fetch in self.queue:
            if fetch.partition in partitions:
                kept.append(fetch)
            else:
                fetch.drain()
        self.queue = kept
        if self.in_line is not None and self.in_line.partition not in partitions:
            self.in_line.drain()
            self.in_line = None
