"""Kafka's `ConsumerNetworkClient`: what waits to be sent, and the handlers of what came back.

Handlers run on whichever thread makes the network pass, the application's or the heartbeat's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field

from client.errors import DisconnectException, TimeoutException, WakeupException
from client.futures import RequestFuture
from client.java_maps import filled_with_nodes
from client.metadata import ConsumerMetadata
from client.network import ClientRequest, NetworkClient
from client.partitions import BrokerNode
from client.settings import ConsumerConfig
from client.threads import Threads
from client.timers import NEVER, Clock, Timer, Wait, WaitKind, require_whole_ms
from coordinator.protocol import HeartbeatRequest, Request

#: No network wait is longer than this, nor than the heartbeat interval.
MAX_POLL_TIMEOUT_MS = 5_000

#: Whether a pass should wait; None means always.
ShouldBlock = Callable[[], bool]


@define(eq=False)
class _Unsent:
    request: ClientRequest
    future: RequestFuture[object]


@define(eq=False)
class _Completion:
    request: Request
    future: RequestFuture[object]
    reply: object | None = None
    error: Exception | None = None

    async def fire(self) -> None:
        if self.error is not None:
            await self.future.fail(self.error)
        else:
            await self.future.complete(self.reply)


@define(eq=False, kw_only=True, repr=False)
class ConsumerNetworkClient:
    """The upper half of a consumer's network."""

    config: ConsumerConfig
    clock: Clock
    network: NetworkClient
    metadata: ConsumerMetadata
    threads: Threads
    wakeups_disabled: bool = False
    #: How many network passes were made; one that would do nothing is not.
    passes: int = 0
    #: How many ends of requests were told, but for heartbeats, which only a membership minds.
    ended: int = 0
    _wakeup: bool = False
    _unsent: dict[BrokerNode, deque[_Unsent]] = field(factory=dict)
    _completions: deque[_Completion] = field(factory=deque)
    _pending_disconnects: deque[BrokerNode] = field(factory=deque)
    _delay_ms_max: int = field(init=False)

    @_delay_ms_max.default
    def _longest_wait(self) -> int:
        return min(self.config.heartbeat_interval_ms, MAX_POLL_TIMEOUT_MS)

    # --- sending ----------------------------------------------------------------------------------

    def send(
        self, node: BrokerNode, request: Request, timeout_ms: int | None = None
    ) -> RequestFuture[object]:
        """Queue a request for a node; it leaves with a network pass."""
        future: RequestFuture[object] = RequestFuture()
        queued = ClientRequest(
            node=node,
            request=request,
            created_ms=self.clock.now_ms,
            timeout_ms=self.config.request_timeout_ms if timeout_ms is None else timeout_ms,
            on_end=lambda reply: self._on_end(request, future, reply),
        )
        self._unsent.setdefault(node, deque()).append(_Unsent(queued, future))
        self.network.channels.wake()
        return future

    def least_loaded_node(self) -> BrokerNode | None:
        """A broker that can be asked anything."""
        return self.network.least_loaded_node(self.clock.now_ms)

    def is_unavailable(self, node: BrokerNode) -> bool:
        """Whether a node's connection failed and must not be tried yet."""
        return self.network.states.is_unavailable(node.connection, self.clock.now_ms)

    def try_connect(self, node: BrokerNode) -> None:
        """Begin to connect, if that makes sense now."""
        self.network.ready(node, self.clock.now_ms)

    def disconnect_later(self, node: BrokerNode) -> None:
        """Give up a connection with the next network pass."""
        self._pending_disconnects.append(node)
        self.network.channels.wake()

    def has_pending(self, node: BrokerNode) -> bool:
        """Whether something to this node is queued or in flight."""
        return bool(self._unsent.get(node)) or self.network.has_in_flight(node.connection)

    @property
    def has_unsent(self) -> bool:
        """Whether anything is queued."""
        return any(self._unsent.values())

    @property
    def has_any_pending(self) -> bool:
        """Whether anything is queued or in flight."""
        return self.network.in_flight_count > 0 or self.has_unsent

    # --- wakeups ----------------------------------------------------------------------------------

    def wakeup(self) -> None:
        """Make the present or the next waiting call raise."""
        self._wakeup = True
        self.network.channels.wake()

    def maybe_trigger_wakeup(self) -> None:
        """Raise if somebody called `wakeup`, once."""
        if self._wakeup and not self.wakeups_disabled:
            self._wakeup = False
            raise WakeupException

    # --- passes -----------------------------------------------------------------------------------

    async def poll(
        self,
        timer: Timer,
        should_block: ShouldBlock | None = None,
        *,
        wakeups: bool = True,
        comes_back: bool = False,
    ) -> None:
        """Make one network pass, waiting for news at most as long as the timer runs.

        Passes that would do nothing are not made; neither is, for a caller that only comes back,
        one whose wait would end at once because of a wake-up.
        """
        if self._is_idle(timer.current_ms):
            is_waiting = not timer.is_expired and (should_block is None or should_block())
            if self._is_over_at_once(is_waiting=is_waiting, comes_back=comes_back):
                timer.update()
                return
        self.passes += 1
        if self._completions:
            await self._fire_completions()
        self._handle_pending_disconnects()
        await self.network.poll(self._timeout_ms(timer, should_block), timer.current_ms)
        timer.update()
        self._check_disconnects()
        if wakeups:
            self.maybe_trigger_wakeup()
        if self._unsent:
            self._try_send(timer.current_ms)
            self._fail_expired(timer.current_ms)
            self._unsent = {node: queue for node, queue in self._unsent.items() if queue}
        if self._completions:
            await self._fire_completions()
        self.metadata.maybe_throw_any()
        self.threads.run_due_heartbeats()

    async def poll_no_wakeup(self) -> None:
        """Make one pass without waiting and without looking for wakeups."""
        await self.poll(self.clock.timer(0), wakeups=False)

    async def poll_until_done(
        self, future: RequestFuture[Any], timer: Timer, *, wakeups: bool = True
    ) -> bool:
        """Make passes until the answer is there or time is up; at least one."""
        while True:
            await self.poll(timer, future.should_block, wakeups=wakeups, comes_back=True)
            if future.is_done or timer.is_expired:
                return future.is_done

    async def transmit_sends(self) -> None:
        """Put on the wire what is queued, handling nothing that comes back."""
        now_ms = self.clock.now_ms
        if self._unsent:
            self._try_send(now_ms)
        await self.network.poll(0, now_ms)

    async def await_metadata_update(self, timer: Timer) -> bool:
        """Wait for a newer view of the cluster."""
        version = self.metadata.request_update()
        while True:
            await self.poll(timer)
            if self.metadata.update_version != version or timer.is_expired:
                return self.metadata.update_version > version

    async def ensure_fresh_metadata(self, timer: Timer) -> bool:
        """Wait for a newer view if one is wanted or due."""
        is_due = self.metadata.time_to_next_update_ms(timer.current_ms) == 0
        if self.metadata.update_requested or is_due:
            return await self.await_metadata_update(timer)
        return True

    async def await_pending(self, node: BrokerNode, timer: Timer) -> None:
        """Wait until nothing to this node is queued or in flight."""
        while self.has_pending(node) and not timer.is_expired:
            await self.poll(timer)

    async def sleep(self, timer: Timer, duration_ms: int) -> None:
        """Sleep, but not beyond the timer."""
        await self.sleep_for(min(duration_ms, timer.remaining_ms))
        timer.update()

    async def sleep_for(self, duration_ms: int) -> None:
        """Let time pass on this thread."""
        require_whole_ms(duration_ms)
        if duration_ms <= 0:
            self.threads.count_turn()
        else:
            await Wait(WaitKind.SLEEP, min(NEVER, self.clock.now_ms + duration_ms))

    # --- inside a pass ----------------------------------------------------------------------------

    def _is_idle(self, now_ms: int) -> bool:
        """Whether a pass that does not wait would do nothing at all."""
        return (
            not (self._completions or self._unsent or self._pending_disconnects or self._wakeup)
            and self.network.is_idle(now_ms)
            and not self.metadata.has_error
            and not self.threads.has_due_heartbeat
        )

    def _is_over_at_once(self, *, is_waiting: bool, comes_back: bool) -> bool:
        """Do what is left of a pass that finds nothing to do; whether that was all of it."""
        if comes_back or not is_waiting:
            self.network.channels.forget_wake()
        return not is_waiting and not self.threads.is_spinning()

    def _timeout_ms(self, timer: Timer, should_block: ShouldBlock | None) -> int:
        """Send what can be sent; say how long to wait for news."""
        delay_ms = self._try_send(timer.current_ms) if self._unsent else self._delay_ms_max
        if self._completions or not (should_block is None or should_block()):
            return 0
        if self.network.in_flight_count == 0:
            delay_ms = min(delay_ms, self.config.retry_backoff_ms)
        return min(timer.remaining_ms, delay_ms)

    def _try_send(self, now_ms: int) -> int:
        """Send what can be sent; say after how long more might be."""
        delay_ms = self._delay_ms_max
        states = self.network.states
        for node in filled_with_nodes(self._unsent):
            queue = self._unsent[node]
            if queue:
                delay_ms = min(delay_ms, states.connection_delay_ms(node.connection, now_ms))
            while queue and self.network.ready(node, now_ms):
                self.network.send(queue.popleft().request, now_ms)
        return delay_ms

    def _on_end(
        self, request: Request, future: RequestFuture[object], reply: object | None
    ) -> None:
        error = DisconnectException() if reply is None else None
        self._completions.append(_Completion(request, future, reply, error))

    async def _fire_completions(self) -> None:
        while self._completions:
            completion = self._completions.popleft()
            if not isinstance(completion.request, HeartbeatRequest):
                self.ended += 1
            await completion.fire()
        self.network.channels.wake()

    def _handle_pending_disconnects(self) -> None:
        while self._pending_disconnects:
            node = self._pending_disconnects.popleft()
            self._fail_unsent(node)
            self.network.disconnect(node.connection)

    def _check_disconnects(self) -> None:
        if not self._unsent:
            return
        for node in filled_with_nodes(self._unsent):
            if self.network.states.is_disconnected(node.connection):
                self._fail_unsent(node)

    def _fail_unsent(self, node: BrokerNode) -> None:
        for unsent in self._unsent.pop(node, ()):
            request, error = unsent.request.request, DisconnectException()
            self._completions.append(_Completion(request, unsent.future, None, error))

    def _fail_expired(self, now_ms: int) -> None:
        for queue in self._unsent.values():
            while queue and now_ms - queue[0].request.created_ms > queue[0].request.timeout_ms:
                late = queue.popleft()
                error = TimeoutException("the request could not be sent in time")
                self._completions.append(
                    _Completion(late.request.request, late.future, None, error)
                )
