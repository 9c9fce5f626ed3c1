"""The consumer as an application sees it: KafkaConsumer's methods in snake case.

Whatever may wait or run the application's own code is awaited; the rest is not. No asyncio is
involved: the coroutines yield what they wait for to the host of the consumer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress

from attrs import define, field

from client.assignors import ConsumerGroupMetadata
from client.collecting import Collected
from client.dispatch import ConsumerNetworkClient
from client.errors import (
    IllegalArgumentException,
    IllegalStateException,
    InvalidGroupIdException,
    KafkaException,
    TimeoutException,
)
from client.fetching import Fetcher
from client.group import GroupClient
from client.java_maps import copied
from client.listeners import CommitCallback, ConsumerInterceptor, Offsets, RebalanceListener
from client.membership import CloseOperation
from client.messages import LogEdge
from client.metadata import ConsumerMetadata
from client.outputs import OffsetsGiven, PausesChanged, PositionSought, RecordsReturned
from client.partitions import OffsetAndMetadata, TopicPartition
from client.polling import PollLoop
from client.positions import FoundOffset, Positions
from client.records import NO_RECORDS, ConsumerRecords, RecordRange
from client.reset import EARLIEST, LATEST, ResetStrategy
from client.settings import DEFAULT_CLOSE_TIMEOUT_MS, ConsumerConfig
from client.subscription import FetchPosition, SubscriptionState, SubscriptionType
from client.timers import Clock, Wait, WaitKind

#: The reason of an enforced rebalance that was given none.
ENFORCED_REASON = "rebalance enforced by user"


@define(eq=False, kw_only=True, repr=False)
class AsyncConsumer:
    """The methods of one consumer."""

    config: ConsumerConfig
    clock: Clock
    client: ConsumerNetworkClient
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState
    fetcher: Fetcher
    positions: Positions
    interceptors: tuple[ConsumerInterceptor, ...]
    tell: Callable[[object], None]
    group: GroupClient | None
    is_closed: bool = False
    polling: PollLoop = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Be ready to poll."""
        self.polling = PollLoop(
            config=self.config,
            clock=self.clock,
            client=self.client,
            metadata=self.metadata,
            subscriptions=self.subscriptions,
            fetcher=self.fetcher,
            positions=self.positions,
            group=self.group,
        )

    # --- subscribing ------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener | None = None) -> None:
        """Want exactly these topics. To want none, `await unsubscribe()`."""
        self._ensure_open()
        self._group()
        if isinstance(topics, str):
            raise TypeError(f"topics must be several names, not the one text {topics!r}")
        wanted = list(topics)
        if not wanted:
            raise IllegalArgumentException("topics must not be empty: await unsubscribe() instead")
        if any(not topic.strip() for topic in wanted):
            raise IllegalArgumentException(f"topics must not be blank: {wanted}")
        self._require_assignors()
        self.fetcher.retain_buffered(
            {tp for tp in self.subscriptions.assigned_partitions if tp.topic in wanted}
        )
        if self.subscriptions.subscribe(wanted, listener):
            self.metadata.request_update_for_new_topics()

    def subscribe_pattern(self, pattern: str, listener: RebalanceListener | None = None) -> None:
        """Want every topic whose whole name matches."""
        group = self._group()
        if not pattern:
            raise IllegalArgumentException("pattern must not be empty")
        self._ensure_open()
        self._require_assignors()
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise ValueError(f"pattern {pattern!r} cannot be read: {error}") from error
        self.subscriptions.subscribe_pattern(compiled, listener)
        group.leading.update_pattern_subscription(self.metadata.view)
        self.metadata.request_update_for_new_topics()

    async def unsubscribe(self) -> None:
        """Give up everything and leave the group, without a commit."""
        self._ensure_open()
        self.fetcher.retain_buffered(())
        if self.group is not None:
            await self.group.rebalancing.on_leave_prepare()
            await self.group.membership.maybe_leave_group(
                "the consumer unsubscribed from all topics"
            )
        self.subscriptions.unsubscribe()

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without group management."""
        self._ensure_open()
        wanted = [TopicPartition(*partition) for partition in partitions]
        if not wanted:
            await self.unsubscribe()
            return
        if any(not partition.topic.strip() for partition in wanted):
            raise IllegalArgumentException("topics of partitions must not be blank")
        self.fetcher.retain_buffered(set(wanted))
        if self.group is not None:
            await self.group.commits.maybe_auto_commit_async(self.clock.now_ms)
        if self.subscriptions.assign_from_user(wanted):
            self.metadata.request_update_for_new_topics()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions owned now."""
        self._ensure_open()
        return frozenset(self.subscriptions.assigned_partitions)

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to."""
        self._ensure_open()
        return self.subscriptions.group_topics

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who this consumer is in its group, as of its last completed rebalance."""
        self._ensure_open()
        return self._group().rebalancing.group_metadata

    def enforce_rebalance(self, reason: str = "") -> None:
        """Join again with the next poll."""
        self._ensure_open()
        if self.group is None:
            raise IllegalStateException("a consumer without a group cannot rebalance")
        self.group.membership.request_rejoin(reason or ENFORCED_REASON)

    # --- polling ----------------------------------------------------------------------------------

    async def poll(self, timeout_ms: int) -> ConsumerRecords:
        """Records, as soon as there are any; none after the time-out."""
        timer = self.clock.timer(timeout_ms)
        self._ensure_open()
        if self.subscriptions.type is SubscriptionType.NONE:
            raise IllegalStateException("not subscribed to any topic, nor assigned any partition")
        collected = await self.polling.collect(timer)
        return NO_RECORDS if collected is None else self._returned(collected)

    def batches(self, timeout_ms: int = 500) -> RecordBatches:
        """`async for records in consumer.batches():` polls on until there are records."""
        return RecordBatches(self, timeout_ms)

    def _returned(self, collected: Collected) -> ConsumerRecords:
        records = ConsumerRecords(tuple(collected.ranges), collected.next_offsets)
        if records:
            self.tell(RecordsReturned(at_ms=self.clock.now_ms, ranges=records.ranges))
        for interceptor in self.interceptors:
            with suppress(Exception):  # Kafka logs and swallows what an interceptor raises.
                records = interceptor.on_consume(records)
        return records

    # --- committing -------------------------------------------------------------------------------

    async def commit_sync(
        self, offsets: Offsets | None = None, timeout_ms: int | None = None
    ) -> None:
        """Commit these offsets, or all positions, and wait until that is done."""
        wanted = self.subscriptions.all_consumed() if offsets is None else _checked(offsets)
        self._ensure_open()
        group = self._group()
        limit_ms = self._or_default(timeout_ms)
        self._note(wanted)
        if not await group.commits.commit_sync(copied(wanted), self.clock.timer(limit_ms)):
            raise TimeoutException(f"no commit within {limit_ms} ms")

    async def commit_async(
        self, offsets: Offsets | None = None, callback: CommitCallback | None = None
    ) -> None:
        """Commit these offsets, or all positions, and go on; a later call runs the callback."""
        wanted = self.subscriptions.all_consumed() if offsets is None else _checked(offsets)
        self._ensure_open()
        group = self._group()
        self._note(wanted)
        await group.commits.commit_async(copied(wanted), callback or _ignore)

    def _note(self, wanted: Offsets) -> None:
        """Learn from what is to be committed, and tell what of it is not a position."""
        self._note_epochs(wanted)
        positions = self.subscriptions.all_consumed()
        given = {
            partition: offset
            for partition, offset in wanted.items()
            if partition not in positions or positions[partition].offset != offset.offset
        }
        if given:
            self.tell(OffsetsGiven(at_ms=self.clock.now_ms, offsets=given))

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None for a partition of which nothing is."""
        self._ensure_open()
        group = self._group()
        limit_ms = self._or_default(timeout_ms)
        wanted = [TopicPartition(*partition) for partition in partitions]
        offsets = await group.committed.fetch(wanted, self.clock.timer(limit_ms))
        if offsets is None:
            raise TimeoutException(f"no committed offsets within {limit_ms} ms")
        self._note_epochs({tp: known for tp, known in offsets.items() if known is not None})
        return offsets

    # --- positions --------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int | None = None) -> None:
        """Read on from there with the next poll."""
        if offset < 0:
            raise IllegalArgumentException(f"offset must not be negative, not {offset}")
        self._ensure_open()
        self.client.threads.disturb()
        wanted = TopicPartition(*partition)
        position = FetchPosition(offset, leader_epoch, self.metadata.current_leader(wanted))
        if leader_epoch is not None:
            self.metadata.update_last_seen_epoch_if_newer(wanted, leader_epoch)
        self.subscriptions.state(wanted).seek_unvalidated(position)
        self.tell(PositionSought(at_ms=self.clock.now_ms, partition=wanted, offset=offset))

    def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read from the first record, looked up by the next poll; no partitions means all."""
        self._request_reset(partitions, EARLIEST)

    def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read from the end, looked up by the next poll; no partitions means all."""
        self._request_reset(partitions, LATEST)

    def _request_reset(
        self, partitions: Collection[TopicPartition], strategy: ResetStrategy
    ) -> None:
        self._ensure_open()
        self.client.threads.disturb()
        for each in partitions or self.subscriptions.assigned_partitions:
            partition = TopicPartition(*each)
            self.subscriptions.state(partition).reset(strategy)
            self.tell(PositionSought(at_ms=self.clock.now_ms, partition=partition, offset=None))

    async def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int:
        """The next offset to be handed out, found first if it is not known."""
        self._ensure_open()
        wanted = TopicPartition(*partition)
        if not self.subscriptions.is_assigned(wanted):
            raise IllegalStateException(f"{wanted} is not assigned to this consumer")
        limit_ms = self._or_default(timeout_ms)
        timer = self.clock.timer(limit_ms)
        while True:
            state = self.subscriptions.state(wanted)
            if state.has_valid_position and state.position is not None:
                return state.position.offset
            await self.polling.update_positions(timer)
            await self.client.poll(timer)
            if timer.is_expired:
                raise TimeoutException(f"no position of {wanted} within {limit_ms} ms")

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out no more of these."""
        self._set_paused(partitions, is_paused=True)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand them out again."""
        self._set_paused(partitions, is_paused=False)

    def _set_paused(self, partitions: Iterable[TopicPartition], *, is_paused: bool) -> None:
        self._ensure_open()
        for partition in partitions:
            self.subscriptions.state(TopicPartition(*partition)).is_paused = is_paused
        self.tell(PausesChanged(at_ms=self.clock.now_ms))

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        self._ensure_open()
        return frozenset(self.subscriptions.where(lambda state: state.is_paused))

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Where these logs begin."""
        return await self._edges(partitions, LogEdge.EARLIEST, timeout_ms)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Where these logs end, as far as this consumer may read."""
        return await self._edges(partitions, LogEdge.LATEST, timeout_ms)

    async def _edges(
        self, partitions: Iterable[TopicPartition], edge: LogEdge, timeout_ms: int | None
    ) -> dict[TopicPartition, int]:
        self._ensure_open()
        timer = self.clock.timer(self._or_default(timeout_ms))
        places = {TopicPartition(*partition): edge for partition in partitions}
        found = await self.positions.list_offsets(places, timer)
        return {partition: place.offset for partition, place in found.items()}

    async def offsets_for_times(
        self, timestamps: dict[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, FoundOffset | None]:
        """The first record from each time on; None where there is none."""
        self._ensure_open()
        timer = self.clock.timer(self._or_default(timeout_ms))
        places = {TopicPartition(*partition): at_ms for partition, at_ms in timestamps.items()}
        found = await self.positions.list_offsets(places, timer)
        return {partition: found.get(partition) for partition in places}

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as far as fetches have told it."""
        self._ensure_open()
        return self.subscriptions.lag(TopicPartition(*partition), self.config.isolation)

    # --- the end ----------------------------------------------------------------------------------

    def wakeup(self) -> None:
        """Make the present or next waiting call raise `WakeupException`."""
        self.client.wakeup()

    async def sleep(self, duration_ms: int) -> None:
        """Let time pass outside the consumer, as an application does with a record."""
        await self.client.sleep_for(duration_ms)

    async def stall(self, duration_ms: int) -> None:
        """Let time pass while the whole process stands still: not even heartbeats are sent."""
        if duration_ms > 0:
            await Wait(WaitKind.STALL, self.clock.now_ms + duration_ms)

    async def close(
        self,
        timeout_ms: int = DEFAULT_CLOSE_TIMEOUT_MS,
        operation: str = CloseOperation.DEFAULT,
    ) -> None:
        """Commit, give up what is owned, leave unless told otherwise, and close connections."""
        if timeout_ms < 0:
            raise IllegalArgumentException(f"timeout_ms must not be negative, not {timeout_ms}")
        if operation not in CloseOperation.ALL:
            known = ", ".join(CloseOperation.ALL)
            raise ValueError(f"operation must be one of {known}, not {operation!r}")
        if self.is_closed:
            return
        try:
            await self._close(timeout_ms, operation)
        finally:
            self.is_closed = True

    async def _close(self, timeout_ms: int, operation: str) -> None:
        timer = self.clock.timer(min(timeout_ms, self.config.request_timeout_ms))
        first: Exception | None = None
        if self.group is not None:
            first = await _error_of(self.group.close(timer, operation))
        remaining_ms = max(0, timeout_ms - timer.elapsed_ms)
        timer.reset(min(remaining_ms, self.config.request_timeout_ms))
        self.client.wakeups_disabled = True
        second = await _error_of(self.fetcher.close(timer))
        self.client.network.close()
        if first is not None or second is not None:
            raise KafkaException("failed to close the consumer", first or second)

    # --- common -----------------------------------------------------------------------------------

    def _ensure_open(self) -> None:
        if self.is_closed:
            raise IllegalStateException("this consumer is closed")

    def _group(self) -> GroupClient:
        if self.group is None:
            raise InvalidGroupIdException("groups and commits need a group.id")
        return self.group

    def _require_assignors(self) -> None:
        if not self.config.partition_assignment_strategy:
            raise IllegalStateException("partition.assignment.strategy is empty")

    def _or_default(self, timeout_ms: int | None) -> int:
        return self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms

    def _note_epochs(self, offsets: Offsets) -> None:
        for partition, committed in offsets.items():
            if committed.leader_epoch is not None:
                self.metadata.update_last_seen_epoch_if_newer(partition, committed.leader_epoch)


@define(eq=False)
class RecordBatches:
    """Polls that bring records, one after the other, without end."""

    consumer: AsyncConsumer
    timeout_ms: int
    #: What is done with the records, if that takes no time, calls nobody and is all.
    at_once: Callable[[tuple[RecordRange, ...]], None] | None = None

    def __aiter__(self) -> RecordBatches:
        return self

    async def __anext__(self) -> ConsumerRecords:
        """The records of the next poll that has any."""
        polling, config = self.consumer.polling, self.consumer.config
        # Polls that nobody hears of are counted when a heartbeat is due: none may be late by then.
        if config.max_poll_interval_ms > 2 * config.heartbeat_interval_ms:
            polling.swallows_empty_polls = True
            if self.at_once is not None and not self.consumer.interceptors:
                polling.handles_at_once = self._hand_out
        try:
            while not (records := await self.consumer.poll(self.timeout_ms)):
                pass
        finally:
            polling.swallows_empty_polls = False
            polling.handles_at_once = None
        return records

    def _hand_out(self, ranges: tuple[RecordRange, ...]) -> None:
        assert self.at_once is not None
        self.consumer.tell(RecordsReturned(self.consumer.clock.now_ms, ranges))
        self.at_once(ranges)


def _checked(offsets: Offsets) -> Offsets:
    """Offsets to commit, by partition; a plain pair of topic and number will do for one."""
    checked = {}
    for partition, offset in offsets.items():
        if not isinstance(offset, OffsetAndMetadata):
            raise TypeError(f"offsets must be OffsetAndMetadata values, not {offset!r}")
        checked[TopicPartition(*partition)] = offset
    return checked


def _ignore(_offsets: Offsets, _error: Exception | None) -> None:
    """The callback of a commit whose end nobody wants to hear of."""


async def _error_of(closing: Awaitable[None]) -> Exception | None:
    """Run one step of closing; what it raises must not keep the next step from running."""
    try:
        await closing
    except Exception as error:  # noqa: BLE001 (raised once everything is closed)
        return error
    return None
