"""Reading committed offsets: OffsetFetch, repeated while that can help.

A request that outlives its call is kept, and the next call for the same partitions in the same
stable generation waits for it instead of asking again.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, frozen

from client.backoff import ExponentialBackoff
from client.dispatch import ConsumerNetworkClient
from client.errors import (
    KafkaException,
    TopicAuthorizationException,
    UnstableOffsetCommitException,
    exception_of,
    is_retriable,
)
from client.futures import RequestFuture, Told, no_coordinator
from client.membership import Generation, Membership
from client.metadata import ConsumerMetadata
from client.partitions import OffsetAndMetadata, TopicPartition, offset_and_metadata
from client.settings import ConsumerConfig
from client.subscription import FetchPosition, SubscriptionState
from client.timers import Timer
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    NO_PARTITION_LEADER_EPOCH,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

#: Newer versions name topics by id, which the classic consumer never does.
OFFSET_FETCH_VERSION = 9

CommittedOffsets = dict[TopicPartition, OffsetAndMetadata | None]

_LOSE_COORDINATOR = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


@frozen(eq=False)
class _Pending:
    partitions: frozenset[TopicPartition]
    generation: Generation | None
    future: RequestFuture[CommittedOffsets]


@define(eq=False, kw_only=True)
class Committed:
    """What the group has committed, as far as this consumer asks for it."""

    config: ConsumerConfig
    client: ConsumerNetworkClient
    membership: Membership
    subscriptions: SubscriptionState
    metadata: ConsumerMetadata
    retry_backoff: ExponentialBackoff
    _pending: _Pending | None = None

    async def initialize_positions(self, timer: Timer) -> bool:
        """Give committed positions to partitions that have none; False if time ran out."""
        wanted = self.subscriptions.initializing()
        offsets = await self.fetch(wanted, timer)
        if offsets is None:
            return False
        for partition, committed in offsets.items():
            if committed is None:
                continue
            if committed.leader_epoch is not None:
                self.metadata.update_last_seen_epoch_if_newer(partition, committed.leader_epoch)
            state = self.subscriptions.state_or_none(partition)
            if state is not None:
                leader = self.metadata.current_leader(partition)
                state.seek_unvalidated(
                    FetchPosition(committed.offset, committed.leader_epoch, leader)
                )
        return True

    async def fetch(
        self, partitions: Iterable[TopicPartition], timer: Timer
    ) -> CommittedOffsets | None:
        """The committed offsets, None where nothing is; None for all if time ran out."""
        wanted = frozenset(partitions)
        if not wanted:
            return {}
        generation = self.membership.generation_if_stable
        pending = self._pending
        if pending is not None and (
            pending.partitions != wanted or pending.generation != generation
        ):
            self._pending = None
        attempts = 0
        while True:
            discovery = self.membership.discovery
            if discovery.is_unknown() and not await discovery.ensure_ready(timer):
                return None
            if self._pending is None:
                self._pending = _Pending(wanted, generation, self._send(wanted))
            future = self._pending.future
            await self.client.poll_until_done(future, timer)
            if not future.is_done:
                return None
            self._pending = None
            if future.error is None:
                return future.value
            if not future.is_retriable:
                raise future.error
            await self.client.sleep(timer, self.retry_backoff.backoff_ms(attempts))
            attempts += 1
            if timer.is_expired:
                return None

    def _send(self, wanted: frozenset[TopicPartition]) -> RequestFuture[CommittedOffsets]:
        coordinator = self.membership.discovery.check_and_get()
        if coordinator is None:
            return no_coordinator()
        by_topic: dict[str, list[int]] = {}
        for partition in sorted(wanted):
            by_topic.setdefault(partition.topic, []).append(partition.partition)
        request = OffsetFetchRequest(
            request_id=self.client.network.next_request_id(),
            client_id=self.config.client_id,
            api_version=OFFSET_FETCH_VERSION,
            require_stable=True,
            groups=(
                OffsetFetchRequestGroup(
                    group_id=self.config.group_id,
                    topics=tuple(
                        [
                            OffsetFetchRequestTopic(name=topic, partition_indexes=tuple(numbers))
                            for topic, numbers in by_topic.items()
                        ]
                    ),
                ),
            ),
        )

        def handle(reply: object, fetched: RequestFuture[CommittedOffsets]) -> Told:
            assert isinstance(reply, OffsetFetchResponse)
            group = reply.groups[0]
            if group.error_code is not ErrorCode.NONE:
                return fetched.fail(self._group_error(group.error_code))
            offsets = _offsets_of(group)
            if isinstance(offsets, KafkaException):
                return fetched.fail(offsets)
            return fetched.complete(offsets)

        return self.membership.requests.ask(coordinator, request, handle)

    def _group_error(self, error: ErrorCode) -> KafkaException:
        if error in _LOSE_COORDINATOR:
            self.membership.discovery.mark_unknown(is_disconnected=False)
        if error is ErrorCode.GROUP_AUTHORIZATION_FAILED or is_retriable(error):
            return exception_of(error)
        return KafkaException(f"unexpected error in an OffsetFetch reply: {error.name}")


def _offsets_of(group: OffsetFetchResponseGroup) -> CommittedOffsets | KafkaException:
    """The offsets, or the error that the partitions' own errors amount to."""
    offsets: CommittedOffsets = {}
    unauthorized: list[str] = []
    is_unstable = False
    for topic in group.topics:
        for found in topic.partitions:
            partition = TopicPartition(topic.name, found.partition_index)
            if found.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                unauthorized.append(topic.name)
            elif found.error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT:
                is_unstable = True
            elif found.error_code is not ErrorCode.NONE:
                return KafkaException(f"{found.error_code.name} for {partition}")
            elif found.committed_offset < 0:
                offsets[partition] = None
            else:
                epoch = found.committed_leader_epoch
                offsets[partition] = offset_and_metadata(
                    found.committed_offset,
                    None if epoch == NO_PARTITION_LEADER_EPOCH else epoch,
                    found.metadata,
                )
    if unauthorized:
        return TopicAuthorizationException(f"not authorized: {sorted(set(unauthorized))}")
    if is_unstable:
        return UnstableOffsetCommitException("some offset is not decided yet")
    return offsets
