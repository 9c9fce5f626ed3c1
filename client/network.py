"""Kafka's `NetworkClient`: requests in flight, their time-outs, reconnecting, metadata refresh.

One call of `poll` is one network pass. It may wait; everything else here is immediate. Above it,
`client.dispatch` keeps what could not be sent yet and runs the handlers of what came back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from attrs import define, field, frozen

from client.connections import Channels, ChannelState, ConnectionStates, Link
from client.errors import DataErrorCode
from client.in_flight import ClientRequest
from client.java_maps import filled_with_texts
from client.messages import MetadataRequest, MetadataResponse
from client.metadata import ConsumerMetadata
from client.outputs import ConnectionAttempted, ConnectionClosed, RequestSent
from client.partitions import BrokerNode
from client.settings import ConsumerConfig
from client.threads import Threads
from client.timers import LONG_AGO, NEVER, Clock, Wait, WaitKind
from coordinator.protocol import Request

#: A connection carries at most so many unanswered requests.
MAX_IN_FLIGHT_PER_CONNECTION = 100

_NETWORK = WaitKind.NETWORK
_OPEN = ChannelState.OPEN


@frozen
class _LeastLoaded:
    node: BrokerNode | None
    any_ready: bool


@define(eq=False, kw_only=True, repr=False)
class NetworkClient:
    """The lower half of a consumer's network."""

    config: ConsumerConfig
    clock: Clock
    metadata: ConsumerMetadata
    states: ConnectionStates
    pick: Callable[[int], int]
    threads: Threads
    tell: Callable[[object], None]
    channels: Channels = field(factory=Channels)
    #: Connections whose broker has told which versions it speaks.
    versions_known: set[str] = field(factory=set)
    is_closed: bool = False
    #: Requests that have ended and whose senders have not been told.
    ended: deque[ClientRequest] = field(factory=deque)
    _in_flight: dict[str, deque[ClientRequest]] = field(factory=dict)
    #: How many requests are in flight, and a time before which none of them is overdue.
    in_flight_count: int = field(default=0, init=False)
    _overdue_from_ms: int = field(default=NEVER, init=False)
    _aborted: list[ClientRequest] = field(factory=list)
    _last_request_id: int = 0
    #: The version of the Metadata request that is in flight.
    _metadata_in_progress: int | None = None
    _metadata_attempt_start_ms: int | None = None

    # --- asking -----------------------------------------------------------------------------------

    def next_request_id(self) -> int:
        """A number for the next request."""
        self._last_request_id += 1
        return self._last_request_id

    def in_flight(self) -> list[ClientRequest]:
        """Requests that were sent and have not ended, oldest first on each connection."""
        return [request for queue in self._in_flight.values() for request in queue]

    def oldest_unanswered(self, connection: str) -> Request | None:
        """The request whose answer comes next on this connection."""
        channel, sent = self.channels.get(connection), self._in_flight.get(connection, ())
        if channel is None or len(sent) <= len(channel.inbound):
            return None
        return sent[len(channel.inbound)].request

    def has_in_flight(self, connection: str) -> bool:
        """Whether some request on this connection has not ended."""
        return bool(self._in_flight.get(connection))

    def is_ready(self, node: BrokerNode, now_ms: int) -> bool:
        """Whether a request may go out now; an update of metadata that is due goes first."""
        return (
            now_ms < self.metadata.fresh_until_ms or not self._is_metadata_due(now_ms)
        ) and self.can_send(node.connection)

    def least_loaded_node(self, now_ms: int) -> BrokerNode | None:
        """The node with the fewest requests in flight; among equals, chance decides."""
        return self._least_loaded(now_ms).node

    def is_idle(self, now_ms: int) -> bool:
        """Whether a pass that does not wait would neither send nor end anything."""
        return not (
            self._aborted
            or self.channels.news
            or self.clock.now_ms >= self._overdue_from_ms
            or self.states.connecting_count
            or self._metadata_attempt_start_ms is not None
            or (now_ms >= self.metadata.fresh_until_ms and self._is_metadata_due(now_ms))
        )

    @property
    def is_at_rest(self) -> bool:
        """Whether only time, or what comes, gives it something to do."""
        return not (
            self._aborted
            or self.ended
            or self.channels.is_woken
            or self.channels.news
            or self.states.connecting_count
            or self._metadata_in_progress is not None
            or self._metadata_attempt_start_ms is not None
        )

    def overdue_from(self, by_ms: int) -> int:
        """A time before which no request in flight is overdue.

        Requests are looked at anew if the time that is known for them is not later than `by_ms`.
        """
        if by_ms >= self._overdue_from_ms:
            self._look_at_overdue()
        return self._overdue_from_ms

    @property
    def refresh_at_ms(self) -> int:
        """When metadata is asked for once the view expires; never while an answer is awaited."""
        return NEVER if self._metadata_in_progress is not None else self.metadata.expires_ms

    @property
    def can_refresh(self) -> bool:
        """Whether somebody can be asked for metadata at once, and nothing else comes of it."""
        config = self.config
        patience_ms = config.metadata_recovery_rebootstrap_trigger_ms
        if config.rebootstraps and patience_ms < config.request_timeout_ms:
            return False
        return any(self.can_send(node.connection) for node in self.metadata.nodes)

    def refresh(self, now_ms: int) -> None:
        """Ask for metadata, which is due."""
        self._maybe_update_metadata(now_ms)
        self.channels.receive()  # The pass that put it on the wire finds nothing there.

    @property
    def in_time_until_ms(self) -> int:
        """Until when no request in flight is overdue, and no refresh of metadata due."""
        return min(self._overdue_from_ms, self.metadata.fresh_until_ms) - 1

    def next_to_end(self, connection: str) -> ClientRequest | None:
        """The request to which the next answer on a connection is, if that ends it at once."""
        channel, sent = self.channels.get(connection), self._in_flight.get(connection)
        if sent and channel is not None and not channel.inbound and channel.state is _OPEN:
            return sent[0]
        return None

    # --- what only a host does --------------------------------------------------------------------

    def number_requests_from(self, first_id: int) -> None:
        """Let the numbers of requests be unique among several consumers."""
        self._last_request_id = first_id

    def move_behind(self, connection: str, request: Request, other: Request) -> None:
        """A request ended without news and left again, so that this other one is before it."""
        queue = self._in_flight.get(connection, deque())
        moved = next((sent for sent in queue if sent.request is request), None)
        before = next((sent for sent in queue if sent.request is other), None)
        if moved is not None and before is not None:
            queue.remove(moved)
            queue.insert(queue.index(before) + 1, moved)

    def set_sent(self, connection: str, request: Request, sent_ms: int) -> None:
        """This is when a request was sent, as far as its time-out is concerned."""
        for sent in self._in_flight.get(connection, ()):
            if sent.request is request:
                sent.sent_ms = sent_ms
                overdue_ms = sent_ms + sent.timeout_ms + 1
                if overdue_ms < self._overdue_from_ms:
                    self._overdue_from_ms = overdue_ms
                self.threads.expect_by(overdue_ms)

    # --- doing ------------------------------------------------------------------------------------

    def ready(self, node: BrokerNode, now_ms: int) -> bool:
        """Whether a request may go out now, after trying to connect if that is what is missing."""
        if self.is_ready(node, now_ms):
            return True
        if self.states.can_connect(node.connection, now_ms):
            self._connect(node, now_ms)
        return self.is_ready(node, now_ms)

    def send(self, request: ClientRequest, now_ms: int) -> None:
        """Put a request on the wire."""
        request.sent_ms = now_ms
        self.put_in_flight(request)
        connection = request.node.connection
        self.tell(
            RequestSent(
                self.clock.now_ms,
                connection,
                request.request,
                self.threads.running_beat is not None,
                self.channels.sent(connection),
            )
        )

    def put_in_flight(self, request: ClientRequest) -> None:
        """Take note of a request that is on the wire already."""
        self.queue_to(request.node.connection).append(request)
        self.in_flight_count += 1
        overdue_ms = request.sent_ms + request.timeout_ms + 1
        if overdue_ms < self._overdue_from_ms:
            self._overdue_from_ms = overdue_ms

    def queue_to(self, connection: str) -> deque[ClientRequest]:
        """What is in flight on a connection, as long as that is open."""
        return self._in_flight.setdefault(connection, deque())

    def end_answered(self, connection: str) -> None:
        """The oldest request of a connection is answered, and its sender knows."""
        self._in_flight[connection].popleft()
        self.in_flight_count -= 1

    def disconnect(self, connection: str) -> None:
        """Give up a connection; what was in flight on it ends with the next pass."""
        if self.states.is_disconnected(connection):
            return
        self._close_channel(connection)
        self._cancel(connection, self.clock.now_ms, self._aborted)
        self.states.disconnected(connection, self.clock.now_ms)

    async def poll(self, timeout_ms: int, now_ms: int) -> None:
        """Make one pass: refresh metadata if due, wait for news, and end what has an end."""
        if self._aborted:
            self.ended.extend(self._aborted)
            self._aborted.clear()
            return
        metadata = self.metadata
        if now_ms >= metadata.fresh_until_ms or self._metadata_in_progress is not None:
            timeout_ms = min(timeout_ms, self._maybe_update_metadata(now_ms))
        elif timeout_ms > 0:
            timeout_ms = min(timeout_ms, metadata.expires_ms - now_ms)
        if self.threads.is_spinning():
            # Passes take no time here, so a thread that only makes passes must be given some.
            await Wait(_NETWORK, self.clock.now_ms + 1)
        channels = self.channels
        if timeout_ms > 0 and not (channels.is_woken or channels.news):
            timeout_ms = min(timeout_ms, self.config.request_timeout_ms)
            deadline_ms = min(NEVER, self.clock.now_ms + timeout_ms)
            await Wait(_NETWORK, deadline_ms, channels)
        received = channels.receive()
        if received is not None:
            self._end_answered(received.replies)
            if received.gone:
                self._give_up(received.gone)
                return
        if (
            self.clock.now_ms >= self._overdue_from_ms
            or self.states.connecting_count > 0
            or self._metadata_attempt_start_ms is not None
        ):  # Something here can have taken too long.
            self._give_up(())

    def close(self) -> None:
        """Close every connection."""
        self.is_closed = True
        for connection in self.channels.names:
            self._close_channel(connection)

    # --- one pass ---------------------------------------------------------------------------------

    def _end_answered(self, replies: Iterable[tuple[str, object]]) -> None:
        """End the oldest request of each connection on which a reply has come."""
        for connection, reply in replies:
            request = self._in_flight[connection].popleft()
            self.in_flight_count -= 1
            if isinstance(reply, MetadataResponse):
                assert request.is_internal
                self._on_metadata(reply, self.clock.now_ms)
            else:
                request.reply = reply
                self.ended.append(request)

    def _give_up(self, gone: Iterable[str]) -> None:
        """End what was lost with connections that are gone, and what has taken too long."""
        now_ms = self.clock.now_ms
        lost: list[ClientRequest] = []
        for connection in gone:
            self._on_disconnected(connection, now_ms, lost)
        for connection in self.states.timed_out(now_ms):
            self._close_channel(connection)
            self._on_disconnected(connection, now_ms, lost)
        for connection, overdue in self._overdue(now_ms):
            self._close_channel(connection, overdue)
            self._on_disconnected(connection, now_ms, lost)
        self._maybe_rebootstrap(now_ms, lost)
        self.ended.extend(lost)

    def _overdue(self, now_ms: int) -> list[tuple[str, ClientRequest]]:
        """The connections over which an answer is overdue, each with what is not answered."""
        if now_ms < self._overdue_from_ms:
            return []
        late: dict[str, tuple[str, ClientRequest]] = {}
        for connection, queue in self._in_flight.items():
            overdue = (each for each in queue if now_ms - each.sent_ms > each.timeout_ms)
            first = next(overdue, None)
            if first is not None:
                late[str(first.node.id)] = connection, first
        self._look_at_overdue()
        return [late[node_id] for node_id in filled_with_texts(late)]

    def _look_at_overdue(self) -> None:
        from_ms = NEVER
        for queue in self._in_flight.values():
            for request in queue:
                overdue_ms = request.sent_ms + request.timeout_ms + 1
                if overdue_ms < from_ms:
                    from_ms = overdue_ms
        self._overdue_from_ms = from_ms

    def _on_disconnected(self, connection: str, now_ms: int, lost: list[ClientRequest]) -> None:
        self.states.disconnected(connection, now_ms)
        self.versions_known.discard(connection)
        self._cancel(connection, now_ms, lost)
        if self._is_metadata_due(now_ms):
            self._fail_metadata(now_ms)
        self.metadata.request_update()

    def _cancel(self, connection: str, now_ms: int, lost: list[ClientRequest]) -> None:
        for request in self._in_flight.pop(connection, ()):
            self.in_flight_count -= 1
            if request.is_internal:
                self._fail_metadata(now_ms)
            else:
                lost.append(request)

    # --- connections ------------------------------------------------------------------------------

    def can_send(self, connection: str) -> bool:
        """Whether a connection takes a request now."""
        return (
            self.states.is_ready(connection)
            and self.channels.is_usable(connection)
            and len(self._in_flight.get(connection, ())) < MAX_IN_FLIGHT_PER_CONNECTION
        )

    def _connect(self, node: BrokerNode, now_ms: int) -> None:
        connection = node.connection
        self.states.connecting(connection, now_ms, node.host)
        link = self.channels.open(connection)
        self.tell(ConnectionAttempted(at_ms=self.clock.now_ms, connection=connection, link=link))
        if link is Link.ACCEPT:
            self.versions_known.add(connection)
            self.states.ready(connection)

    def _close_channel(self, connection: str, overdue: ClientRequest | None = None) -> None:
        channel = self.channels.close(connection)
        if channel is None:
            return
        unanswered = 0
        if channel.state is ChannelState.OPEN:
            unanswered = len(self._in_flight.get(connection, ())) - len(channel.inbound)
        self.tell(
            ConnectionClosed(
                at_ms=self.clock.now_ms,
                connection=connection,
                unanswered=unanswered,
                overdue=None if overdue is None else overdue.request,
                waited_ms=None if overdue is None else self.clock.now_ms - overdue.sent_ms,
            )
        )

    def _least_loaded(self, now_ms: int) -> _LeastLoaded:
        nodes = self.metadata.nodes
        offset = self.pick(len(nodes))
        in_order = nodes[offset:] + nodes[:offset]
        fewest = NEVER
        ready: BrokerNode | None = None
        connecting: BrokerNode | None = None
        connectable: BrokerNode | None = None
        any_ready = False
        for node in in_order:
            connection = node.connection
            any_ready = any_ready or (
                self.states.is_ready(connection) and self.channels.is_usable(connection)
            )
            if self.can_send(connection):
                count = len(self._in_flight.get(connection, ()))
                if count == 0:
                    return _LeastLoaded(node, any_ready=True)
                if count < fewest:
                    fewest, ready = count, node
            elif self.states.is_connecting(connection):
                connecting = node
            elif self.states.can_connect(connection, now_ms) and (
                connectable is None
                or self.states.last_attempt_ms(connectable.connection)
                > self.states.last_attempt_ms(connection)
            ):
                connectable = node
        return _LeastLoaded(ready or connecting or connectable, any_ready)

    # --- metadata ---------------------------------------------------------------------------------

    def _is_metadata_due(self, now_ms: int) -> bool:
        return (
            self._metadata_in_progress is None and self.metadata.time_to_next_update_ms(now_ms) == 0
        )

    def _maybe_update_metadata(self, now_ms: int) -> int:
        """Ask for metadata if it is due; say after how long to look again."""
        wait_ms = self.metadata.time_to_next_update_ms(now_ms)
        if self._metadata_in_progress is not None:
            wait_ms = max(wait_ms, self.config.request_timeout_ms)
        if wait_ms > 0:
            return wait_ms
        if self._metadata_attempt_start_ms is None:
            self._metadata_attempt_start_ms = now_ms
        choice = self._least_loaded(now_ms)
        if self.config.rebootstraps and choice.node is None and not choice.any_ready:
            self._rebootstrap(now_ms)
            choice = self._least_loaded(now_ms)
        if choice.node is None:
            return self.config.reconnect_backoff_ms
        return self._ask_for_metadata(choice.node, now_ms)

    def _ask_for_metadata(self, node: BrokerNode, now_ms: int) -> int:
        if self.can_send(node.connection):
            self._send_metadata_request(node, now_ms)
            return self.config.request_timeout_ms
        if any(self.states.is_connecting(other.connection) for other in self.metadata.nodes):
            return self.config.reconnect_backoff_ms
        if self.states.can_connect(node.connection, now_ms):
            self._connect(node, now_ms)
            return self.config.reconnect_backoff_ms
        return NEVER

    def _send_metadata_request(self, node: BrokerNode, now_ms: int) -> None:
        wanted = self.metadata.next_request()
        self._metadata_in_progress = wanted.request_version
        request = MetadataRequest(
            request_id=self.next_request_id(),
            client_id=self.config.client_id,
            topics=wanted.topics,
            allow_auto_topic_creation=self.config.allow_auto_create_topics,
        )
        self.send(ClientRequest(node, request, now_ms, self.config.request_timeout_ms), now_ms)

    def _on_metadata(self, reply: MetadataResponse, now_ms: int) -> None:
        assert self._metadata_in_progress is not None
        if self.config.rebootstraps and reply.error_code is DataErrorCode.REBOOTSTRAP_REQUIRED:
            self._metadata_attempt_start_ms = LONG_AGO
        elif not reply.brokers:
            self.metadata.failed_update(now_ms)
        else:
            self.metadata.update(reply, self._metadata_in_progress, now_ms)
            self._metadata_attempt_start_ms = None
        self._metadata_in_progress = None

    def _fail_metadata(self, now_ms: int) -> None:
        self.metadata.failed_update(now_ms)
        self._metadata_in_progress = None

    def _maybe_rebootstrap(self, now_ms: int, lost: list[ClientRequest]) -> None:
        start_ms = self._metadata_attempt_start_ms
        trigger_ms = self.config.metadata_recovery_rebootstrap_trigger_ms
        if not self.config.rebootstraps or start_ms is None or now_ms - start_ms <= trigger_ms:
            return
        for node in self.metadata.nodes:
            self._close_channel(node.connection)
            if self.states.state_of(node.connection) is not None and not (
                self.states.is_disconnected(node.connection)
            ):
                self._on_disconnected(node.connection, now_ms, lost)
        self._rebootstrap(now_ms)

    def _rebootstrap(self, now_ms: int) -> None:
        self.metadata.bootstrap()
        self._metadata_attempt_start_ms = now_ms
