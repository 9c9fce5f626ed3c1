"""Partition logs in closed form: who asks at a time is told where the log begins and ends then.

Producers are stretches of steady growth, so a million records cost no more than one. What a log
says is a function of time; nothing here is ever told that time passes.
"""

from __future__ import annotations

from bisect import bisect_right

from attrs import define, field, frozen

from client.messages import RecordBatch, record_batch


@frozen
class Growth:
    """From `at_ms` on the log, which ends at `offset` then, gains `count` in each `every_ms`."""

    at_ms: int
    offset: int
    count: int
    every_ms: int

    def end_at(self, now_ms: int) -> int:
        """Where the log ends."""
        return self.offset + (now_ms - self.at_ms) * self.count // self.every_ms

    def reached_ms(self, end: int) -> int | None:
        """When the log first ends at or beyond `end`; None if this growth never gets there."""
        if end <= self.offset:
            return self.at_ms
        if self.count == 0:
            return None
        return self.at_ms - (-(end - self.offset) * self.every_ms // self.count)


@define(eq=False)
class PartitionLog:
    """One partition's records."""

    retention_ms: int | None = None
    _growths: list[Growth] = field(factory=lambda: [Growth(0, 0, 0, 1)])
    #: The leader epochs and the offsets at which they began.
    _epochs: list[tuple[int, int]] = field(factory=lambda: [(0, 0)])
    _start: int = 0
    #: The leader's epoch.
    epoch: int = field(default=0, init=False)

    # --- asking ---

    def end_at(self, now_ms: int) -> int:
        """The offset of the next record."""
        last = self._growths[-1]
        if last.at_ms > now_ms:
            last = self._growth_at(now_ms)
        return last.end_at(now_ms)

    def start_at(self, now_ms: int) -> int:
        """The offset of the first record that is still there."""
        if self.retention_ms is not None and now_ms > self.retention_ms:
            return max(self._start, self.end_at(now_ms - self.retention_ms))
        return self._start

    def edges_at(self, now_ms: int) -> tuple[int, int]:
        """The offsets of the first record that is still there and of the next one."""
        last = self._growths[-1]
        if self.retention_ms is not None or last.at_ms > now_ms:
            return self.start_at(now_ms), self.end_at(now_ms)
        return self._start, last.offset + (now_ms - last.at_ms) * last.count // last.every_ms

    def grows_beyond_ms(self, offset: int, now_ms: int) -> int | None:
        """When the log gains a record at or beyond `offset`, as far as is known now."""
        last = self._growths[-1]
        since_ms, count = last.at_ms, last.count
        if since_ms > now_ms:
            return last.reached_ms(max(self.end_at(now_ms), offset) + 1)
        if count == 0:
            return None
        # The same without the calls: every fetch that waits asks this of every partition.
        gained, every_ms = (now_ms - since_ms) * count // last.every_ms, last.every_ms
        if gained < offset - last.offset:
            gained = offset - last.offset
        return since_ms - (-(gained + 1) * every_ms // count)

    def written_ms(self, offset: int) -> int | None:
        """When the record of this offset was appended; None if it has not been."""
        for growth, following in zip(self._growths, [*self._growths[1:], None], strict=True):
            at_ms = growth.reached_ms(offset + 1)
            if at_ms is not None and (following is None or at_ms < following.at_ms):
                return at_ms
        return None

    def batches(self, first: int, end: int) -> tuple[RecordBatch, ...]:
        """The records of these offsets, by leader epoch."""
        if first >= self._epochs[-1][1]:
            if first >= end:
                return ()
            return (record_batch(first, end, end, self.epoch),)
        found = []
        for (epoch, begins), (_, ends) in zip(
            self._epochs, [*self._epochs[1:], (0, end)], strict=True
        ):
            low, high = max(first, begins), min(end, ends)
            if low < high:
                found.append(RecordBatch(first=low, end=high, leader_epoch=epoch))
        return tuple(found)

    def end_of_epoch(self, epoch: int, now_ms: int) -> tuple[int, int]:
        """The latest epoch up to this one, and where it ended; (-1, -1) if there is none."""
        for number in range(len(self._epochs) - 1, -1, -1):
            if self._epochs[number][0] <= epoch:
                is_last = number == len(self._epochs) - 1
                end = self.end_at(now_ms) if is_last else self._epochs[number + 1][1]
                return self._epochs[number][0], end
        return -1, -1

    @property
    def is_growing(self) -> bool:
        """Whether records come by themselves."""
        return self._growths[-1].count > 0

    @property
    def has_grown(self) -> bool:
        """Whether records have ever come by themselves."""
        return any(growth.count for growth in self._growths)

    # --- changing ---

    def grow(self, now_ms: int, count: int, every_ms: int, first: int = 0) -> Growth:
        """From now on gain so many records in each stretch of time, and the `first` at once."""
        growth = Growth(now_ms, self.end_at(now_ms) + first, count, every_ms)
        self._push(growth)
        return growth

    def append(self, now_ms: int, count: int) -> Growth:
        """Gain so many records at once, and go on growing at the same pace."""
        before = self._growths[-1]
        growth = Growth(now_ms, self.end_at(now_ms) + count, before.count, before.every_ms)
        self._push(growth)
        return growth

    def lead_from(self, epoch: int, now_ms: int) -> None:
        """A new leader's epoch begins."""
        end = self.end_at(now_ms)
        if self._epochs[-1][1] == end:
            self._epochs.pop()
        self._epochs.append((epoch, end))
        self.epoch = epoch

    def truncate_before(self, offset: int) -> None:
        """Delete the records before this one."""
        self._start = max(self._start, offset)

    def _push(self, growth: Growth) -> None:
        if self._growths[-1].at_ms == growth.at_ms:
            self._growths.pop()
        self._growths.append(growth)

    def _growth_at(self, now_ms: int) -> Growth:
        last = self._growths[-1]
        if last.at_ms <= now_ms:
            return last
        return self._growths[bisect_right(self._growths, now_ms, key=_begin) - 1]


def _begin(growth: Growth) -> int:
    return growth.at_ms
