"""What to fetch from whom: Kafka's `Fetcher`.

At most one Fetch per broker is out, and none to a broker of which something fetchable is still
buffered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from attrs import define, field

from client.collecting import Collected, Collector, Whole, found_whole
from client.dispatch import ConsumerNetworkClient
from client.errors import DataErrorCode, IllegalStateException
from client.fetch_buffer import CompletedFetch, FetchBuffer
from client.fetch_sessions import FetchSession, SessionRequest, WantedPartitions
from client.futures import RequestFuture
from client.in_flight import ClientRequest
from client.java_maps import (
    computed_for_nodes,
    converted_nodes,
    filled_with_nodes,
    filled_with_numbers,
)
from client.messages import (
    NO_NODE_ID,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    IsolationLevel,
    fetch_partition,
    fetch_request,
)
from client.metadata import ConsumerMetadata
from client.partitions import BrokerNode, TopicPartition, broker_node
from client.records import RecordRange
from client.settings import ConsumerConfig
from client.subscription import FetchPosition, PartitionState, SubscriptionState
from client.timers import Timer
from coordinator.errors import ErrorCode
from coordinator.protocol import NO_PARTITION_LEADER_EPOCH, ZERO_TOPIC_ID

#: Who hears of the end of a request.
_Hearers = tuple[Callable[[object], None], Callable[[Exception], None]]

_NONE = ErrorCode.NONE
_TELL_NEW_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
#: Makes a tuple with names without the call of its class.
_named = tuple.__new__


class PlainAnswer(NamedTuple):
    """An answer in which nothing is unusual, and what its broker is to be asked for next."""

    found: Sequence[Whole]
    records: tuple[RecordRange, ...]
    to_ask: dict[TopicPartition, PartitionState]


@define(eq=False, kw_only=True, repr=False)
class Fetcher:
    """Sends fetches and buffers what they bring."""

    config: ConsumerConfig
    client: ConsumerNetworkClient
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState
    collector: Collector
    buffer: FetchBuffer = field(factory=FetchBuffer)
    _sessions: dict[int, FetchSession] = field(factory=dict)
    #: What is being asked for, by the id of the broker.
    _under_way: dict[int, SessionRequest] = field(factory=dict)
    #: Who hears the next answer of a broker: one fetch is out, so they are the same for all.
    _hearers: dict[int, _Hearers] = field(factory=dict)
    _isolation: IsolationLevel = field(init=False)

    @_isolation.default
    def _isolation_as_sent(self) -> IsolationLevel:
        return self.config.isolation

    @property
    def has_available_fetches(self) -> bool:
        """Whether something queued could be handed out."""
        buffer = self.buffer
        return bool(buffer.queue) and buffer.has_any(self.subscriptions.is_fetchable)

    def collect(self) -> Collected:
        """Take records out of the buffer."""
        return self.collector.collect(self.buffer)

    def retain_buffered(self, partitions: Collection[TopicPartition]) -> None:
        """Throw away what is buffered of other partitions."""
        self.buffer.retain(partitions)

    def send_fetches(self) -> int:
        """Ask every broker that can be asked; say how many were."""
        wanted = self._wanted_by_node()
        if not wanted:
            return 0
        nodes = wanted if len(wanted) == 1 else converted_nodes(computed_for_nodes(wanted))
        for node in nodes:
            session = self._sessions.get(node.id)
            if session is None:
                session = self._sessions[node.id] = FetchSession()
            request = self._ask(node.id, session, wanted[node])
            self.client.send(node, request, *self._hearers[node.id])
        return len(wanted)

    @property
    def has_asked_everyone(self) -> bool:
        """Whether every broker that could be asked for what is owned has been, and is to answer."""
        if self.subscriptions.has_read_from_followers:
            return False
        return self.subscriptions.is_led_by(self._under_way)

    def plain_answer(self, node: BrokerNode, reply: FetchResponse) -> PlainAnswer | None:
        """An answer of which one collection would hand out all records, and leave nothing.

        None where anything is unusual, or where others than this broker are to be asked. So far,
        nothing is changed.
        """
        session, asked = self._sessions.get(node.id), self._under_way.get(node.id)
        if session is None or asked is None or not session.is_continued_by(reply):
            return None
        to_ask = self._to_ask_next(node.id)
        if not to_ask:
            return None
        found: list[Whole] = []
        handed_out: list[RecordRange] = []
        remaining = self.config.max_poll_records
        for answer in reply.partitions:
            partition = _named(TopicPartition, (answer.topic, answer.partition_index))
            state, wanted = to_ask.get(partition), asked.partitions.get(partition)
            if state is None or wanted is None:
                return None
            whole = found_whole(partition, answer, wanted.fetch_offset, state)
            if whole is None:
                return None
            found.append(whole)
            records = whole[0]
            if records is not None:
                handed_out.append(records)
                remaining -= records.end - records.first
        if remaining <= 0:
            return None
        return _named(PlainAnswer, (found, tuple(handed_out), to_ask))

    def _to_ask_next(self, node_id: int) -> dict[TopicPartition, PartitionState]:
        """What to ask a broker for that has answered; nothing, if others are to be asked too."""
        to_ask = {}
        for partition, state in self.subscriptions.fetchable(()):
            leader = None if state.position is None else state.position.current_leader.leader
            if leader is None:
                return {}
            if leader.id == node_id:
                to_ask[partition] = state
            elif leader.id not in self._under_way:
                return {}
        return to_ask

    def take_plain(
        self, node: BrokerNode, reply: FetchResponse, plain: PlainAnswer
    ) -> ClientRequest:
        """Take a plain answer; how to ask for what follows."""
        session = self._sessions[node.id]
        session.go_on(reply)
        found, handed_out, to_ask = plain
        for whole in found:
            self.collector.take_whole(whole)
        for records in handed_out:  # They have gone to the end of the line.
            to_ask[records.partition] = to_ask.pop(records.partition)
        wanted: WantedPartitions = {}
        for partition, state in to_ask.items():
            assert state.position is not None
            wanted[partition] = self._fetch_of(session, partition, state.position)
        request = self._ask(node.id, session, wanted)
        on_reply, on_failure = self._hearers[node.id]
        now_ms, timeout_ms = self.client.clock.now_ms, self.config.request_timeout_ms
        return ClientRequest(node, request, now_ms, timeout_ms, on_reply, on_failure)

    async def close(self, timer: Timer) -> None:
        """End the sessions and wait for the answers; then nothing is buffered any more."""
        nodes = []
        for node_id in filled_with_numbers(self._sessions):
            self._sessions[node_id].close()
            node = self.metadata.view.node(node_id)
            if node is not None and not self.client.is_unavailable(node):
                nodes.append(node)
        futures: list[RequestFuture[object]] = []
        for node in converted_nodes(filled_with_nodes(nodes)):
            future: RequestFuture[object] = RequestFuture()
            futures.append(future)
            request = self._request(self._sessions[node.id].request({}))
            self.client.send(node, request, future.complete, future.fail)
        while not timer.is_expired and not all(future.is_done for future in futures):
            await self.client.poll(timer, wakeups=False)
            timer.update()
        self.buffer.retain(())

    # --- what to ask for --------------------------------------------------------------------------

    def _wanted_by_node(self) -> dict[BrokerNode, WantedPartitions]:
        buffered = self.buffer.partitions
        engaged: Collection[int] = self._under_way
        if buffered:
            if not self.subscriptions.fetchable(buffered):
                return {}  # To look for the nodes of what is buffered would have effects.
            engaged = self._under_way.keys() | self._nodes_of(buffered)
        reads_from_followers = self.subscriptions.has_read_from_followers
        wanted: dict[BrokerNode, WantedPartitions] = {}
        for partition, state in self.subscriptions.fetchable(
            buffered, () if reads_from_followers else engaged
        ):
            position = state.position
            assert position is not None
            node = position.current_leader.leader
            if node is None or reads_from_followers:
                node = self._node_for(partition, state)
                if node is None or node.id in engaged:
                    continue
            if self.client.is_unavailable(node):
                continue
            of_node = wanted.get(node)
            if of_node is None:
                of_node = wanted[node] = {}
            session = self._sessions.get(node.id)
            of_node[partition] = self._fetch_of(session, partition, position)
        return wanted

    def _fetch_of(
        self, session: FetchSession | None, partition: TopicPartition, position: FetchPosition
    ) -> FetchPartition:
        """What to ask for; the very same as the last time if nothing has changed."""
        epoch = position.current_leader.epoch
        if epoch is None:
            epoch = NO_PARTITION_LEADER_EPOCH
        topic_id = self.metadata.view.topic_ids.get(partition.topic, ZERO_TOPIC_ID)
        last = None if session is None else session.partitions.get(partition)
        if (
            last is not None
            and last.fetch_offset == position.offset
            and last.current_leader_epoch == epoch
            and last.topic_id == topic_id
        ):
            return last
        topic, number = partition
        most_bytes = self.config.max_partition_fetch_bytes
        return fetch_partition(topic, number, topic_id, position.offset, epoch, most_bytes)

    def _nodes_of(self, partitions: Collection[TopicPartition]) -> set[int]:
        fetchable = sorted(filter(self.subscriptions.is_fetchable, partitions))
        nodes = (self._node_for(each, self.subscriptions.state(each)) for each in fetchable)
        return {node.id for node in nodes if node is not None}

    def _node_for(self, partition: TopicPartition, state: PartitionState) -> BrokerNode | None:
        """The replica the leader sent us to, as long as it is online; else the leader."""
        assert state.position is not None
        leader = state.position.current_leader.leader
        if leader is None:
            self.metadata.request_update()
            return None
        preferred = state.preferred_replica(self.client.clock.now_ms)
        if preferred is None:
            return leader
        node = self.metadata.view.online_replica(partition, preferred)
        if node is None:
            self.metadata.request_update()
            state.forget_preferred_replica()
            return leader
        return node

    # --- asking -----------------------------------------------------------------------------------

    def _ask(self, node_id: int, session: FetchSession, wanted: WantedPartitions) -> FetchRequest:
        self._under_way[node_id] = asked = session.request(wanted)
        if node_id not in self._hearers:
            on_reply = partial(self._on_reply, node_id, session)
            self._hearers[node_id] = on_reply, partial(self._on_failure, node_id, session)
        return self._request(asked)

    def _request(self, asked: SessionRequest) -> FetchRequest:
        to_send, to_forget, _, (session_id, epoch) = asked
        config = self.config
        return fetch_request(
            self.client.network.next_request_id(),
            config.client_id,
            to_send,
            to_forget,
            config.fetch_max_wait_ms,
            config.fetch_min_bytes,
            config.fetch_max_bytes,
            self._isolation,
            config.client_rack,
            session_id,
            epoch,
        )

    def _on_reply(self, node_id: int, session: FetchSession, reply: object) -> None:
        assert isinstance(reply, FetchResponse)
        try:
            self._on_fetched(reply, session, self._under_way[node_id])
        finally:
            self._under_way.pop(node_id, None)

    def _on_failure(self, node_id: int, session: FetchSession, _: Exception) -> None:
        session.lost()
        for partition in session.partitions:
            state = self.subscriptions.state_or_none(partition)
            if state is not None:
                state.forget_preferred_replica()
        self._under_way.pop(node_id, None)

    def _on_fetched(
        self, reply: FetchResponse, session: FetchSession, asked: SessionRequest
    ) -> None:
        if not session.accepts(reply):
            if reply.error_code is DataErrorCode.FETCH_SESSION_TOPIC_ID_ERROR:
                self.metadata.request_update()
            return
        new_leaders: dict[TopicPartition, tuple[int, int]] = {}
        for answer in reply.partitions:
            partition = TopicPartition(answer.topic, answer.partition_index)
            wanted = asked.partitions.get(partition)
            if wanted is None:
                raise IllegalStateException(f"an answer for {partition}, which was not asked for")
            if (
                answer.error_code is not _NONE
                and answer.error_code in _TELL_NEW_LEADER
                and (
                    answer.current_leader_id != NO_NODE_ID
                    and answer.current_leader_epoch != NO_PARTITION_LEADER_EPOCH
                )
            ):
                leader = (answer.current_leader_id, answer.current_leader_epoch)
                new_leaders[partition] = leader
            self.buffer.queue.append(
                CompletedFetch(
                    partition, answer, wanted.fetch_offset, self.subscriptions.move_to_end
                )
            )
        if new_leaders:
            self._take_over(new_leaders, reply)

    def _take_over(
        self, leaders: dict[TopicPartition, tuple[int, int]], reply: FetchResponse
    ) -> None:
        """A broker that does not lead any more says who does (KIP-951)."""
        nodes = [
            broker_node(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in reply.node_endpoints
        ]
        for partition in self.metadata.update_partition_leadership(leaders, nodes):
            state = self.subscriptions.state_or_none(partition)
            if state is not None:
                state.maybe_validate(self.metadata.current_leader(partition))
