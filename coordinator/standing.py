"""A commit that is sent again and again, and of which nothing is new but its time.

Who keeps positions (a shard, a log) need not change them each time. It keeps the commit, and writes
it down as it was taken last when anybody looks at positions there, or changes any.
"""

from __future__ import annotations

from attrs import define, field

from coordinator.protocol import OffsetCommitRequest, OffsetCommitResponse
from coordinator.records import OffsetRecord, position, record_of_position


@define(eq=False, repr=False)
class Standing:
    """What such a commit comes to in one machine; a copy of that machine has none of them."""

    request: OffsetCommitRequest
    #: What is to be kept of it, as it was when that was last asked for.
    records: tuple[OffsetRecord, ...]
    response: OffsetCommitResponse
    #: When it was taken last.
    at_ms: int
    #: The time that the records have.
    _recorded_ms: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin with the records of the first time."""
        self._recorded_ms = self.at_ms

    def renewed(self) -> tuple[OffsetRecord, ...]:
        """What is to be kept of it, as it was taken last."""
        if self._recorded_ms != self.at_ms:
            self._recorded_ms = self.at_ms
            self.records = tuple(_at(each, self.at_ms) for each in self.records)
        return self.records


def _at(record: OffsetRecord, now_ms: int) -> OffsetRecord:
    """The same position, committed at another time."""
    old = record.value
    assert old is not None
    value = position(old.committed_offset, old.leader_epoch, now_ms, old.topic_id)
    return record_of_position(record.group_id, record.topic, record.partition, value)
