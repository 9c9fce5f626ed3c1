"""What `poll` hands out: ranges of offsets that become records only where one looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from client.partitions import OffsetAndMetadata, TopicPartition
from coordinator.protocol.making import quickly_made, surely_made


@frozen(kw_only=True)
class ConsumerRecord:
    """One record; it has a place and no payload."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int | None = None


@quickly_made
@frozen(kw_only=True)
class RecordRange:
    """Neighbouring records of one partition and epoch: `first` up to, not including, `end`."""

    partition: TopicPartition
    first: int
    end: int
    leader_epoch: int | None = None

    def __len__(self) -> int:
        return self.end - self.first

    def __iter__(self) -> Iterator[ConsumerRecord]:
        topic, partition = self.partition
        for offset in range(self.first, self.end):
            yield ConsumerRecord(
                topic=topic, partition=partition, offset=offset, leader_epoch=self.leader_epoch
            )


#: The same, made of values that are known to be right: there is one for every fetch.
record_range = surely_made(RecordRange, "partition", "first", "end", "leader_epoch")


@frozen
class ConsumerRecords:
    """The records of one poll, partition after partition in the order they were collected."""

    ranges: tuple[RecordRange, ...] = ()
    next_offsets: Mapping[TopicPartition, OffsetAndMetadata] = field(factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        for found in self.ranges:
            yield from found

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions that have records here."""
        return tuple(dict.fromkeys(found.partition for found in self.ranges))

    def of(self, partition: TopicPartition) -> tuple[RecordRange, ...]:
        """The ranges of one partition, in order."""
        return tuple(found for found in self.ranges if found.partition == partition)


NO_RECORDS = ConsumerRecords()
