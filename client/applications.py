"""Ready-made applications: the poll loop that most consumers are, as a value.

A `PollLoop` says what an application does; `run` does it, as a coroutine for `Consumer.start`.
How long records take is in `client.workloads`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from attrs import define, field, frozen

from client.calls import AsyncConsumer, RecordBatches
from client.errors import (
    CommitFailedException,
    RebalanceInProgressException,
    TimeoutException,
    WakeupException,
)
from client.listeners import Offsets, Partitions, RebalanceListener
from client.membership import CloseOperation
from client.outputs import CommitRefused, ProcessingBegan, RecordsProcessed, RecordsSkipped
from client.partitions import OffsetAndMetadata, TopicPartition
from client.records import ConsumerRecords, RecordRange
from client.settings import DEFAULT_CLOSE_TIMEOUT_MS
from client.workloads import AT_ONCE, TimePerRecord

#: What an application shrugs off when it commits: its group will hand the records out again.
_TOLERATED = (CommitFailedException, RebalanceInProgressException, TimeoutException)

#: Makes a tuple with names without the call of its class.
_named = tuple.__new__


class CommitMode(Enum):
    """When an application commits, and so what it promises about each record."""

    #: Leave it to `enable.auto.commit`: at least once.
    AUTO = "auto"
    #: Process, then commit and wait: at least once.
    SYNC = "sync after each poll"
    #: Process, then commit without waiting: at least once.
    ASYNC = "async after each poll"
    #: Commit, then process: at most once.
    BEFORE = "sync before processing"
    #: Keep the offset with the result, and seek there when assigned: exactly once.
    WITH_RESULTS = "with results"


_AUTO, _WITH_RESULTS = CommitMode.AUTO, CommitMode.WITH_RESULTS


@frozen
class Stall:
    """The whole process stands still, as a garbage collector makes it.

    Whatever it was at: no thread runs, and what falls due or arrives waits until it is over. As
    after a pause, processing ends when it would have, or with the stall if that is later.
    """

    at_ms: int
    for_ms: int


@define(eq=False)
class ResultStore:
    """Results with the offsets they reach to, written as one; all consumers of a group share it."""

    next_offsets: dict[TopicPartition, int] = field(factory=dict)

    def keep(self, partition: TopicPartition, next_offset: int, *, after: int | None) -> bool:
        """Keep results up to an offset, if they follow on those kept so far; say whether.

        `after` is how far the results reached when the writer last looked, None for no results.
        Offsets may be missing in a log, so the first offset of the records would not do.
        """
        if self.next_offsets.get(partition) != after:
            return False
        self.next_offsets[partition] = next_offset
        return True


@frozen(kw_only=True)
class PollLoop:
    """An application: poll, process, commit, again; and what its callbacks do."""

    topics: tuple[str, ...] = ()
    #: Instead of topics: every topic whose name matches.
    pattern: str | None = None
    poll_timeout_ms: int = 500
    time_per_record: TimePerRecord = AT_ONCE
    commit: CommitMode = CommitMode.AUTO
    #: Commit what was processed when partitions are revoked; without meaning for AUTO.
    commits_when_revoked: bool = True
    assigned_callback_ms: int = 0
    revoked_callback_ms: int = 0
    lost_callback_ms: int = 0
    #: Times since the application began.
    stalls: tuple[Stall, ...] = ()
    #: A graceful stop first finishes all that was polled. If not, the rest is left, although an
    #: auto-commit on closing declares it done; commits of the loop's own do not.
    finishes_batch: bool = True
    close_timeout_ms: int = DEFAULT_CLOSE_TIMEOUT_MS
    close_operation: str = CloseOperation.DEFAULT


@define(eq=False)
class RunningLoop:
    """A poll loop at work. `run()` is the coroutine to start; `stop()` ends it gracefully.

    An abrupt stop is the host's: `Consumer.crash()`.
    """

    loop: PollLoop
    consumer: AsyncConsumer
    tell: Callable[[object], None]
    results: ResultStore = field(factory=ResultStore)
    is_stopping: bool = False
    _is_polling: bool = field(default=False, init=False)
    #: How far the results of each partition reached when this loop last looked.
    _results_seen: dict[TopicPartition, int | None] = field(factory=dict, init=False)
    #: Where processing has come to in each partition of which records in hand are left: the
    #: next offset, and the leader epoch of the record before it.
    _unfinished: dict[TopicPartition, tuple[int, int | None]] = field(factory=dict, init=False)

    def stop(self) -> None:
        """Leave the loop, from wherever it waits, and close. The host then drives on."""
        self.is_stopping = True
        # A wakeup while it processes would only meet its next commit.
        if self._is_polling:
            self.consumer.wakeup()

    async def run(self) -> None:
        """Subscribe, go round until stopped, close."""
        for stall in self.loop.stalls:
            self.consumer.client.threads.stall_at(self._now_ms + stall.at_ms, stall.for_ms)
        listener = _LoopListener(self)
        if self.loop.pattern is not None:
            self.consumer.subscribe_pattern(self.loop.pattern, listener)
        else:
            self.consumer.subscribe(self.loop.topics, listener)
        batches = self.consumer.batches(self.loop.poll_timeout_ms)
        if self.loop.commit is _AUTO and self.loop.time_per_record == AT_ONCE:
            batches.at_once = self._process_at_once
        while not self.is_stopping:
            try:
                await self._handle(await self._next_of(batches))
            except WakeupException:
                continue
        await self.consumer.close(self.loop.close_timeout_ms, self.loop.close_operation)

    async def commit_processed(self) -> bool:
        """Commit what was processed; False if the group refused, which is no reason to stop."""
        try:
            await self._commit_sync(self._processed())
        except _TOLERATED as error:
            self.tell(CommitRefused(at_ms=self._now_ms, error=error))
            return False
        return True

    def seek_to_results(self, partitions: Iterable[TopicPartition]) -> None:
        """Read on from where the results reach; where there are none, from the position."""
        for partition in partitions:
            reached = self._results_seen[partition] = self.results.next_offsets.get(partition)
            if reached is not None:
                self.consumer.seek(partition, reached)

    def forget(self, partitions: Partitions) -> None:
        """These are no longer ours, so where we were in them means nothing."""
        for partition in partitions:
            self._unfinished.pop(partition, None)
            self._results_seen.pop(partition, None)

    async def _next_of(self, batches: RecordBatches) -> ConsumerRecords:
        self._is_polling = True
        try:
            return await anext(batches)
        finally:
            self._is_polling = False

    async def _commit_sync(self, offsets: Offsets | None = None) -> None:
        """Commit and wait; a wakeup that meets the commit was meant for the loop: once more."""
        try:
            await self.consumer.commit_sync(offsets)
        except WakeupException:
            try:
                await self.consumer.commit_sync(offsets)
            finally:
                if self._is_polling:  # The poll that called us back still has to hear of it.
                    self.consumer.wakeup()

    # --- one batch --------------------------------------------------------------------------------

    async def _handle(self, records: ConsumerRecords) -> None:
        mode = self.loop.commit
        if mode is _AUTO:
            await self._process(records)
            return
        if mode is CommitMode.BEFORE:
            await self._commit_then_process(records)
            return
        await self._process(records)
        if mode is CommitMode.SYNC:
            await self.commit_processed()
        elif mode is CommitMode.ASYNC:
            await self.consumer.commit_async(self._processed(), self._on_committed)

    async def _commit_then_process(self, records: ConsumerRecords) -> None:
        try:
            await self._commit_sync()
        except (*_TOLERATED, WakeupException) as error:
            # Processing now could make a record count twice, so it is left to whoever gets it.
            for found in records.ranges:
                self._skip(found, error)
            return
        await self._process(records)

    def _processed(self) -> Offsets:
        """All positions, but no further than processing has come where it was cut short."""
        processed = self.consumer.subscriptions.all_consumed()
        for partition, (offset, epoch) in self._unfinished.items():
            if partition in processed:
                processed[partition] = OffsetAndMetadata(offset=offset, leader_epoch=epoch)
        return processed

    async def _process(self, records: ConsumerRecords) -> None:
        # Of a partition with several ranges, the first says where processing begins.
        self._unfinished = {
            found.partition: (found.first, None) for found in reversed(records.ranges)
        }
        refused: set[TopicPartition] = set()
        clock, sleep_for = self.consumer.clock, self.consumer.client.sleep_for
        for found in records.ranges:
            for piece, takes_ms in self.loop.time_per_record.pieces(found):
                if found.partition in refused:
                    self._skip(piece, _overtaken(piece))
                    continue
                self.tell(ProcessingBegan(at_ms=clock.now_ms, records=piece, takes_ms=takes_ms))
                await sleep_for(takes_ms)
                if self._takes_effect(piece):
                    self.tell(RecordsProcessed(at_ms=clock.now_ms, records=piece))
                    self._unfinished[piece.partition] = (piece.end, piece.leader_epoch)
                else:
                    refused.add(piece.partition)
                    self._skip(piece, _overtaken(piece))
                if self.is_stopping and not self.loop.finishes_batch:
                    return
        self._unfinished.clear()
        if refused:
            self.seek_to_results(sorted(refused))

    def _process_at_once(self, ranges: tuple[RecordRange, ...]) -> None:
        """What `_process` comes to where records take no time and leave no results."""
        now_ms, tell = self.consumer.clock.now_ms, self.tell
        for found in ranges:
            tell(_named(ProcessingBegan, (now_ms, found, 0)))
            tell(_named(RecordsProcessed, (now_ms, found)))

    def _takes_effect(self, piece: RecordRange) -> bool:
        """Write the results, if that is the mode; False if another member has overtaken us."""
        if self.loop.commit is not _WITH_RESULTS:
            return True
        seen = self._results_seen.get(piece.partition)
        if not self.results.keep(piece.partition, piece.end, after=seen):
            return False
        self._results_seen[piece.partition] = piece.end
        return True

    def _skip(self, records: RecordRange, error: Exception) -> None:
        self.tell(RecordsSkipped(at_ms=self._now_ms, records=records, error=error))

    def _on_committed(self, _: Offsets, error: Exception | None) -> None:
        if error is not None:
            self.tell(CommitRefused(at_ms=self._now_ms, error=error))

    @property
    def _now_ms(self) -> int:
        return self.consumer.clock.now_ms


def _overtaken(records: RecordRange) -> CommitFailedException:
    return CommitFailedException(f"another member has written results of {records.partition}")


@define(eq=False)
class _LoopListener(RebalanceListener):
    """The callbacks of a poll loop: slow if told so, committing or seeking as its mode wants."""

    running: RunningLoop
    ignores_none_assigned = True

    async def on_partitions_assigned(self, partitions: Partitions) -> None:
        running = self.running
        if partitions:  # It is called with none too, and then has nothing to do.
            await running.consumer.sleep(running.loop.assigned_callback_ms)
        if running.loop.commit is CommitMode.WITH_RESULTS:
            running.seek_to_results(partitions)

    async def on_partitions_revoked(self, partitions: Partitions) -> None:
        running = self.running
        await running.consumer.sleep(running.loop.revoked_callback_ms)
        commits = running.loop.commit in (CommitMode.SYNC, CommitMode.ASYNC)
        if partitions and commits and running.loop.commits_when_revoked:
            await running.commit_processed()
        running.forget(partitions)

    async def on_partitions_lost(self, partitions: Partitions) -> None:
        # They are somebody else's, so there is nothing to commit.
        await self.running.consumer.sleep(self.running.loop.lost_callback_ms)
        self.running.forget(partitions)
