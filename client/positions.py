"""Finding and confirming positions: reset by policy, validation after a leader change.

Kafka's `OffsetFetcher` and `PositionsValidator`. Requests go out without waiting; the next poll
sees what came of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, frozen

from client.dispatch import ConsumerNetworkClient
from client.errors import (
    DataErrorCode,
    KafkaException,
    LogTruncationException,
    NoOffsetForPartitionException,
    RetriableException,
    StaleMetadataException,
    TimeoutException,
    TopicAuthorizationException,
)
from client.futures import RequestFuture, Told, failed_future
from client.java_maps import computed_for_nodes, filled
from client.messages import (
    EpochEndOffset,
    IsolationLevel,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    LogEdge,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
)
from client.metadata import ConsumerMetadata
from client.partitions import BrokerNode, TopicPartition
from client.reset import ResetStrategy, ResetType
from client.settings import ConsumerConfig
from client.states import FetchState
from client.subscription import FetchPosition, SubscriptionState
from client.timers import Timer
from coordinator.errors import ErrorCode
from coordinator.protocol import INVALID_OFFSET, NO_PARTITION_LEADER_EPOCH

Places = Mapping[TopicPartition, LogEdge | int]


@frozen
class FoundOffset:
    """A place in a log that was asked for."""

    offset: int
    timestamp: int | None
    leader_epoch: int | None


@frozen
class _Listed:
    """What an answer to ListOffsets amounts to."""

    found: dict[TopicPartition, FoundOffset]
    to_retry: set[TopicPartition]


@frozen
class _Search:
    """How far a search for offsets has come."""

    found: dict[TopicPartition, FoundOffset]
    remaining: dict[TopicPartition, LogEdge | int]


@define(eq=False, kw_only=True)
class Positions:
    """Resets and validates positions, and answers questions about logs."""

    config: ConsumerConfig
    client: ConsumerNetworkClient
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState
    #: The view with whose leaders the positions were last compared.
    seen_version: int = -1
    _reset_error: Exception | None = None
    _validation_error: Exception | None = None

    @property
    def is_all_there(self) -> bool:
        """Whether every owned partition can be read, and nothing is to be raised."""
        return self._validation_error is None and self.subscriptions.has_all_fetch_positions

    # --- reset ------------------------------------------------------------------------------------

    async def reset_if_needed(self) -> None:
        """Ask where logs begin or end, for partitions that wait for it."""
        if self._reset_error is not None:
            error, self._reset_error = self._reset_error, None
            raise error
        now_ms = self.client.clock.now_ms
        waiting = self.subscriptions.waiting(FetchState.AWAIT_RESET, now_ms)
        if not waiting:
            return
        strategies: dict[TopicPartition, ResetStrategy] = {}
        for partition in waiting:
            strategy = self.subscriptions.state(partition).reset_strategy
            if strategy is None or strategy.type is ResetType.NONE:
                raise NoOffsetForPartitionException(f"no reset policy for {partition}")
            strategies[partition] = strategy
        places = {partition: known.place(now_ms) for partition, known in strategies.items()}
        by_node, _ = self._by_leader(places)
        for node, wanted in by_node:
            self._set_next_retry(wanted, now_ms + self.config.request_timeout_ms)
            future = self._send_list_offsets(node, wanted)
            self._on_reset_answered(future, wanted, strategies)

    def _on_reset_answered(
        self,
        future: RequestFuture[_Listed],
        wanted: Places,
        strategies: Mapping[TopicPartition, ResetStrategy],
    ) -> None:
        def on_success(listed: _Listed) -> None:
            if listed.to_retry:
                self._back_off(listed.to_retry)
                self.metadata.request_update()
            for partition, found in listed.found.items():
                leader = self.metadata.current_leader(partition)
                position = FetchPosition(found.offset, None, leader)
                if found.leader_epoch is not None:
                    self.metadata.update_last_seen_epoch_if_newer(partition, found.leader_epoch)
                strategy = strategies.get(partition)
                self.subscriptions.maybe_seek_unvalidated(partition, position, strategy)

        def on_failure(error: Exception) -> None:
            self._back_off(wanted)
            self.metadata.request_update()
            if not isinstance(error, RetriableException) and self._reset_error is None:
                self._reset_error = error

        future.listen(on_success, on_failure)

    # --- validation -------------------------------------------------------------------------------

    async def validate_if_needed(self) -> None:
        """Ask leaders whether their logs still agree with our positions."""
        if self._validation_error is not None:
            error, self._validation_error = self._validation_error, None
            raise error
        self.look_at_leaders()
        if self.subscriptions.has_all_fetch_positions:
            return
        now_ms = self.client.clock.now_ms
        waiting = self.subscriptions.waiting(FetchState.AWAIT_VALIDATION, now_ms)
        if not waiting:
            return
        by_node: dict[BrokerNode, dict[TopicPartition, FetchPosition]] = {}
        for partition in filled(dict.fromkeys(waiting)):
            position = self.subscriptions.state(partition).position
            if position is not None and position.current_leader.leader is not None:
                by_node.setdefault(position.current_leader.leader, {})[partition] = position
        for node in computed_for_nodes(by_node):
            positions = by_node[node]
            if node.connection not in self.client.network.versions_known:
                self.client.try_connect(node)
                continue
            self._set_next_retry(positions, now_ms + self.config.request_timeout_ms)
            self._send_validation(node, positions)

    def look_at_leaders(self) -> None:
        """On a newer view, compare every position with its present leader."""
        version = self.metadata.update_version
        if self.seen_version == version:
            return
        self.seen_version = version
        for partition in self.subscriptions.assigned_partitions:
            leader = self.metadata.current_leader(partition)
            self.subscriptions.state(partition).maybe_validate(leader)

    def _send_validation(
        self, node: BrokerNode, positions: Mapping[TopicPartition, FetchPosition]
    ) -> None:
        request = OffsetForLeaderEpochRequest(
            request_id=self.client.network.next_request_id(),
            client_id=self.config.client_id,
            partitions=tuple(
                OffsetForLeaderPartition(
                    topic=partition.topic,
                    partition=partition.partition,
                    leader_epoch=_wire_epoch(position.offset_epoch),
                    current_leader_epoch=_wire_epoch(position.current_leader.epoch),
                )
                for partition, position in positions.items()
            ),
        )

        def on_reply(reply: object) -> None:
            assert isinstance(reply, OffsetForLeaderEpochResponse)
            self._on_validated(reply, positions)

        def on_failure(error: Exception) -> None:
            self._back_off(positions)
            self.metadata.request_update()
            if not isinstance(error, RetriableException):
                self._keep_validation_error(error)

        self.client.send(node, request, on_reply, on_failure)

    def _on_validated(
        self,
        reply: OffsetForLeaderEpochResponse,
        positions: Mapping[TopicPartition, FetchPosition],
    ) -> None:
        ends: dict[TopicPartition, EpochEndOffset] = {}
        unauthorized = []
        for end in reply.partitions:
            partition = TopicPartition(end.topic, end.partition)
            if end.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                unauthorized.append(end.topic)
            elif end.error_code is ErrorCode.NONE and partition in positions:
                ends[partition] = end
        if unauthorized:
            self._back_off(positions)
            self.metadata.request_update()
            self._keep_validation_error(
                TopicAuthorizationException(f"not authorized: {sorted(set(unauthorized))}")
            )
            return
        to_retry = [partition for partition in positions if partition not in ends]
        if to_retry:
            if not all(map(self.subscriptions.is_assigned, to_retry)):
                return  # Kafka trips over such a partition and drops the whole answer.
            self._back_off(to_retry)
            self.metadata.request_update()
        truncated = [
            partition
            for partition, end in ends.items()
            if self._is_truncated(partition, positions[partition], end)
        ]
        if truncated:
            self._keep_validation_error(
                LogTruncationException(f"truncated: {', '.join(map(str, truncated))}")
            )

    def _is_truncated(
        self, partition: TopicPartition, asked: FetchPosition, end: EpochEndOffset
    ) -> bool:
        """Take the answer over; True if the log was cut and only the application can decide."""
        state = self.subscriptions.state_or_none(partition)
        if (
            state is None
            or state.fetch_state is not FetchState.AWAIT_VALIDATION
            or state.position != asked
        ):
            return False
        is_undefined = end.end_offset == INVALID_OFFSET or end.leader_epoch < 0
        if not is_undefined and end.end_offset >= asked.offset:
            state.complete_validation()
            return False
        if not self.subscriptions.has_default_reset_policy:
            return True
        if is_undefined:
            state.reset(self.subscriptions.default_reset_strategy)
        else:
            position = FetchPosition(end.end_offset, end.leader_epoch, asked.current_leader)
            state.seek_validated(position)
        return False

    def _keep_validation_error(self, error: Exception) -> None:
        if self._validation_error is None:
            self._validation_error = error

    # --- questions about logs ---------------------------------------------------------------------

    async def list_offsets(self, places: Places, timer: Timer) -> dict[TopicPartition, FoundOffset]:
        """Where these places are, asking again while some leader cannot say."""
        self.metadata.add_transient_topics(partition.topic for partition in places)
        try:
            return await self._list_offsets(places, timer)
        finally:
            self.metadata.clear_transient_topics()

    async def _list_offsets(
        self, places: Places, timer: Timer
    ) -> dict[TopicPartition, FoundOffset]:
        search = _Search({}, dict(places))
        while search.remaining:
            future = self._ask_all_leaders(search.remaining)
            future.listen(lambda listed: self._take_over(listed, search), _raise_unless_retriable)
            if timer.timeout_ms == 0:
                break
            await self.client.poll_until_done(future, timer)
            if not search.remaining:
                break
            if future.is_done:
                await self.client.await_metadata_update(timer)
            if not future.is_done or timer.is_expired:
                raise TimeoutException(f"no offsets in {timer.elapsed_ms} ms")
        return search.found

    def _take_over(self, listed: _Listed, search: _Search) -> None:
        search.found.update(listed.found)
        for partition in list(search.remaining):
            if partition not in listed.to_retry:
                del search.remaining[partition]
        self._remember_ends(listed.found)

    def _ask_all_leaders(self, places: Places) -> RequestFuture[_Listed]:
        by_node, to_retry = self._by_leader(places)
        if not by_node:
            return failed_future(StaleMetadataException())
        everything: RequestFuture[_Listed] = RequestFuture()
        together = _Listed({}, to_retry)
        waiting = {node.connection for node, _ in by_node}
        for node, wanted in by_node:
            future = self._send_list_offsets(node, wanted)

            def on_success(part: _Listed, connection: str = node.connection) -> Told:
                together.found.update(part.found)
                together.to_retry.update(part.to_retry)
                waiting.discard(connection)
                if waiting or everything.is_done:
                    return None
                return everything.complete(together)

            def on_failure(error: Exception) -> Told:
                return None if everything.is_done else everything.fail(error)

            future.listen(on_success, on_failure)
        return everything

    def _remember_ends(self, found: Mapping[TopicPartition, FoundOffset]) -> None:
        for partition, place in found.items():
            state = self.subscriptions.state_or_none(partition)
            if state is None:
                continue
            if self.config.isolation is IsolationLevel.READ_COMMITTED:
                state.last_stable_offset = place.offset
            else:
                state.high_watermark = place.offset

    # --- ListOffsets ------------------------------------------------------------------------------

    def _by_leader(
        self, places: Places
    ) -> tuple[list[tuple[BrokerNode, dict[TopicPartition, LogEdge | int]]], set[TopicPartition]]:
        """Whom to ask for what, and what nobody can be asked for now."""
        by_node: dict[BrokerNode, dict[TopicPartition, LogEdge | int]] = {}
        to_retry: set[TopicPartition] = set()
        for partition, place in filled(places).items():
            leader = self.metadata.current_leader(partition).leader
            if leader is None:
                self.metadata.request_update(forget_equivalent=True)
                to_retry.add(partition)
            elif self.client.is_unavailable(leader):
                to_retry.add(partition)
            else:
                by_node.setdefault(leader, {})[partition] = place
        return [(node, by_node[node]) for node in computed_for_nodes(by_node)], to_retry

    def _send_list_offsets(self, node: BrokerNode, wanted: Places) -> RequestFuture[_Listed]:
        request = ListOffsetsRequest(
            request_id=self.client.network.next_request_id(),
            client_id=self.config.client_id,
            isolation_level=self.config.isolation,
            timeout_ms=self.config.request_timeout_ms,
            partitions=tuple(
                ListOffsetsPartition(
                    topic=partition.topic,
                    partition_index=partition.partition,
                    timestamp=place,
                    current_leader_epoch=_wire_epoch(self.metadata.current_leader(partition).epoch),
                )
                for partition, place in wanted.items()
            ),
        )
        listed: RequestFuture[_Listed] = RequestFuture()

        def on_reply(reply: object) -> Told:
            assert isinstance(reply, ListOffsetsResponse)
            outcome = _listed_in(reply)
            if isinstance(outcome, KafkaException):
                return listed.fail(outcome)
            return listed.complete(outcome)

        self.client.send(node, request, on_reply, listed.fail)
        return listed

    # --- common -----------------------------------------------------------------------------------

    def _set_next_retry(self, partitions: Iterable[TopicPartition], at_ms: int) -> None:
        for partition in partitions:
            self.subscriptions.state(partition).next_retry_ms = at_ms

    def _back_off(self, partitions: Iterable[TopicPartition]) -> None:
        at_ms = self.client.clock.now_ms + self.config.retry_backoff_ms
        for partition in partitions:
            state = self.subscriptions.state_or_none(partition)
            if state is not None:
                state.next_retry_ms = at_ms


def _listed_in(reply: ListOffsetsResponse) -> _Listed | KafkaException:
    """Any error but a missing right is worth another try."""
    listed = _Listed({}, set())
    unauthorized = []
    for answer in reply.partitions:
        partition = TopicPartition(answer.topic, answer.partition_index)
        if answer.error_code is ErrorCode.NONE:
            if answer.offset != INVALID_OFFSET:
                epoch = answer.leader_epoch
                listed.found[partition] = FoundOffset(
                    answer.offset,
                    answer.timestamp,
                    None if epoch == NO_PARTITION_LEADER_EPOCH else epoch,
                )
        elif answer.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            unauthorized.append(answer.topic)
        elif answer.error_code is not DataErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
            listed.to_retry.add(partition)
    if unauthorized:
        return TopicAuthorizationException(f"not authorized: {sorted(set(unauthorized))}")
    return listed


def _raise_unless_retriable(error: Exception) -> None:
    if not isinstance(error, RetriableException):
        raise error


def _wire_epoch(epoch: int | None) -> int:
    return NO_PARTITION_LEADER_EPOCH if epoch is None else epoch
