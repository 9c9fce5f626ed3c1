"""What `poll` hands out of the buffer, and what fetched errors do: Kafka's `FetchCollector`."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from attrs import define, field

from client.errors import (
    AnyError,
    DataErrorCode,
    IllegalStateException,
    KafkaException,
    OffsetOutOfRangeException,
    TopicAuthorizationException,
)
from client.fetch_buffer import CompletedFetch, FetchBuffer
from client.messages import NO_NODE_ID, FetchPartitionResponse
from client.metadata import ConsumerMetadata
from client.partitions import OffsetAndMetadata, TopicPartition
from client.records import RecordRange, record_range
from client.settings import ConsumerConfig
from client.subscription import FetchPosition, PartitionState, SubscriptionState
from client.timers import Clock
from coordinator.errors import ErrorCode
from coordinator.protocol import NO_PARTITION_LEADER_EPOCH as _NO_EPOCH


class FetchAction(Enum):
    """What an error of one fetched partition makes the consumer do."""

    REFRESH_METADATA = "refresh metadata"
    RESET = "reset the position"
    RETRY = "just fetch again"


#: What an error of one fetched partition does; the codes missing here are raised.
FETCH_ACTIONS: dict[AnyError, FetchAction] = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: FetchAction.REFRESH_METADATA,
    ErrorCode.KAFKA_STORAGE_ERROR: FetchAction.REFRESH_METADATA,
    ErrorCode.FENCED_LEADER_EPOCH: FetchAction.REFRESH_METADATA,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: FetchAction.REFRESH_METADATA,
    ErrorCode.UNKNOWN_TOPIC_ID: FetchAction.REFRESH_METADATA,
    ErrorCode.INCONSISTENT_TOPIC_ID: FetchAction.REFRESH_METADATA,
    DataErrorCode.REPLICA_NOT_AVAILABLE: FetchAction.REFRESH_METADATA,
    DataErrorCode.OFFSET_NOT_AVAILABLE: FetchAction.REFRESH_METADATA,
    ErrorCode.OFFSET_OUT_OF_RANGE: FetchAction.RESET,
    ErrorCode.UNKNOWN_LEADER_EPOCH: FetchAction.RETRY,
    ErrorCode.UNKNOWN_SERVER_ERROR: FetchAction.RETRY,
}


@define(eq=False)
class Collected:
    """What one collection brought: records, or at least positions that moved."""

    ranges: list[RecordRange] = field(factory=list)
    next_offsets: dict[TopicPartition, OffsetAndMetadata] = field(factory=dict)
    has_advanced: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether poll has nothing to return for."""
        return not self.ranges and not self.has_advanced


class Whole(NamedTuple):
    """All that an answer has of a partition, found fit to be taken as it is."""

    records: RecordRange | None
    answer: FetchPartitionResponse
    state: PartitionState


#: What nothing to collect amounts to; not to be added to.
_NOTHING = Collected()
_NONE = ErrorCode.NONE
#: Makes a tuple with names without the call of its class.
_named = tuple.__new__


def found_whole(
    partition: TopicPartition,
    answer: FetchPartitionResponse,
    fetch_offset: int,
    state: PartitionState,
) -> Whole | None:
    """What an answer has of a partition: records as asked for, all in one batch, or none."""
    batches, position = answer.batches, state.position
    if (
        position is None
        or position.offset != fetch_offset
        or answer.error_code is not _NONE
        or answer.preferred_read_replica != NO_NODE_ID
        or len(batches) > 1
    ):
        return None
    if not batches:
        return Whole(None, answer, state)
    batch = batches[0]
    first, end, epoch = fetch_offset, batch.end, batch.leader_epoch
    if first >= end:
        return None
    if first < batch.first:
        first = batch.first
    records = record_range(partition, first, end, None if epoch == _NO_EPOCH else epoch)
    return _named(Whole, (records, answer, state))


@define(eq=False, kw_only=True)
class Collector:
    """Drains the buffer, partition after partition, up to `max.poll.records`."""

    config: ConsumerConfig
    clock: Clock
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState

    def collect(self, buffer: FetchBuffer) -> Collected:
        """Take what there is; an error is raised only if nothing came before it."""
        if buffer.is_empty:
            return _NOTHING
        collected = Collected()
        paused: list[CompletedFetch] = []
        remaining = self.config.max_poll_records
        try:
            while remaining > 0:
                fetch = buffer.in_line
                if fetch is None or fetch.is_consumed:
                    if not self._next_in_line(buffer, collected):
                        break
                elif self._is_paused(fetch.partition):
                    paused.append(fetch)
                    buffer.in_line = None
                else:
                    remaining -= self._take(fetch, remaining, collected)
        except KafkaException:
            if collected.is_empty:
                raise
        finally:
            if paused:
                buffer.add(paused)
        return collected

    def take_whole(self, whole: Whole) -> None:
        """Take what was found whole: the position moves behind the records."""
        records, answer, state = whole
        assert state.position is not None
        self._take_note(answer, state)
        if records is None:
            return
        next_offset, leader = answer.batches[0].next_offset, state.position.current_leader
        state.position = _named(FetchPosition, (next_offset, records.leader_epoch, leader))
        self.subscriptions.move_to_end(records.partition)

    def _next_in_line(self, buffer: FetchBuffer, collected: Collected) -> bool:
        if not buffer.queue:
            return False
        head = buffer.queue[0]
        if head.is_initialized:
            buffer.in_line = head
        else:
            try:
                buffer.in_line = self._initialize(head)
            except Exception:
                if collected.is_empty and not head.answer.batches:
                    buffer.pop()
                raise
        buffer.pop()
        return True

    def _is_paused(self, partition: TopicPartition) -> bool:
        state = self.subscriptions.state_or_none(partition)
        return state is not None and state.is_paused

    def _take(self, fetch: CompletedFetch, count_max: int, collected: Collected) -> int:
        """Hand out records if they are still wanted at this position; say how many."""
        partition = fetch.partition
        state = self.subscriptions.fetchable_state(partition)
        if state is None:
            fetch.drain()
            return 0
        position = state.position
        assert position is not None
        if fetch.next_fetch_offset != position.offset:
            fetch.drain()
            return 0
        ranges = fetch.take(count_max)
        if fetch.next_fetch_offset > position.offset:
            state.position = FetchPosition(
                fetch.next_fetch_offset, fetch.last_epoch, position.current_leader
            )
            collected.has_advanced = True
        collected.ranges += ranges
        collected.next_offsets[partition] = OffsetAndMetadata(
            offset=fetch.next_fetch_offset, leader_epoch=fetch.last_epoch
        )
        return sum([found.end - found.first for found in ranges])

    def _initialize(self, fetch: CompletedFetch) -> CompletedFetch | None:
        """Look at an answer for the first time; None if there is nothing to hand out of it."""
        partition, answer = fetch.partition, fetch.answer
        state = self.subscriptions.state_or_none(partition)
        try:
            if state is None or not state.has_valid_position:
                return None
            if answer.error_code is not _NONE:
                self._handle_error(fetch)
                return None
        finally:
            if answer.error_code is not _NONE:
                self.subscriptions.move_to_end(partition)
        if state.position is None or state.position.offset != fetch.next_fetch_offset:
            return None
        self._take_note(answer, state)
        fetch.is_initialized = True
        return fetch

    def _take_note(self, answer: FetchPartitionResponse, state: PartitionState) -> None:
        if answer.high_watermark >= 0:
            state.high_watermark = answer.high_watermark
        if answer.log_start_offset >= 0:
            state.log_start_offset = answer.log_start_offset
        if answer.last_stable_offset >= 0:
            state.last_stable_offset = answer.last_stable_offset
        if answer.preferred_read_replica != NO_NODE_ID:
            self.subscriptions.has_read_from_followers = True
            expires_ms = self.clock.now_ms + self.metadata.metadata_max_age_ms
            state.prefer_replica(answer.preferred_read_replica, expires_ms)

    def _handle_error(self, fetch: CompletedFetch) -> None:
        partition, error = fetch.partition, fetch.answer.error_code
        action = FETCH_ACTIONS.get(error)
        if action is FetchAction.REFRESH_METADATA:
            self.metadata.request_update()
            self.subscriptions.state(partition).forget_preferred_replica()
        elif action is FetchAction.RESET:
            self._handle_out_of_range(fetch)
        elif error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise TopicAuthorizationException(f"not authorized: {partition.topic}")
        elif error is DataErrorCode.CORRUPT_MESSAGE:
            raise KafkaException(f"corrupt message in {partition}")
        elif action is None:
            raise IllegalStateException(f"unexpected error {error.name} fetching {partition}")

    def _handle_out_of_range(self, fetch: CompletedFetch) -> None:
        """A follower may be behind, so only the leader's word counts, for the present position."""
        state = self.subscriptions.state(fetch.partition)
        if state.forget_preferred_replica() is not None:
            return
        if state.position is None or state.position.offset != fetch.next_fetch_offset:
            return
        if not self.subscriptions.has_default_reset_policy:
            raise OffsetOutOfRangeException(
                f"offset {state.position.offset} of {fetch.partition} is out of range"
            )
        state.reset(self.subscriptions.default_reset_strategy)
