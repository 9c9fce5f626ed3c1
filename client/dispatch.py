"""Kafka's `ConsumerNetworkClient`: what waits to be sent, and the handlers of what came back.

Handlers run on whichever thread makes the network pass, the application's or the heartbeat's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from attrs import define, field

from client.errors import DisconnectException, TimeoutException, WakeupException
from client.futures import OnFailure, OnSuccess, RequestFuture
from client.in_flight import ClientRequest
from client.java_maps import filled_with_nodes
from client.messages import FetchRequest
from client.metadata import ConsumerMetadata
from client.network import NetworkClient
from client.partitions import BrokerNode
from client.settings import ConsumerConfig
from client.threads import Threads
from client.timers import NEVER, Clock, Timer, Wait, WaitKind, require_whole_ms
from coordinator.protocol import HeartbeatRequest, Request

#: No network wait is longer than this, nor than the heartbeat interval.
MAX_POLL_TIMEOUT_MS = 5_000

#: Whether a pass should wait; None means always.
ShouldBlock = Callable[[], bool]


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
    #: How many ends of fetches were told.
    fetched: int = 0
    #: How many ends of others, but for heartbeats, which only a membership minds.
    ended: int = 0
    #: Whether somebody called `wakeup`, and no call has raised yet.
    is_woken_up: bool = False
    _unsent: dict[BrokerNode, deque[ClientRequest]] = field(factory=dict)
    _pending_disconnects: deque[BrokerNode] = field(factory=deque)
    _delay_ms_max: int = field(init=False)
    #: How long a pass waits at most, with something in flight.
    patience_ms: int = field(init=False)

    @_delay_ms_max.default
    def _longest_wait(self) -> int:
        return min(self.config.heartbeat_interval_ms, MAX_POLL_TIMEOUT_MS)

    @patience_ms.default
    def _longest_pass(self) -> int:
        return min(self._delay_ms_max, self.config.request_timeout_ms)

    # --- sending ----------------------------------------------------------------------------------

    def send(
        self,
        node: BrokerNode,
        request: Request,
        on_reply: OnSuccess[object],
        on_failure: OnFailure,
        timeout_ms: int | None = None,
    ) -> None:
        """Queue a request for a node; it leaves with a network pass, and a pass tells its end."""
        if timeout_ms is None:
            timeout_ms = self.config.request_timeout_ms
        queue = self._unsent.get(node)
        if queue is None:
            queue = self._unsent[node] = deque()
        now_ms = self.clock.now_ms
        queue.append(ClientRequest(node, request, now_ms, timeout_ms, on_reply, on_failure))
        self.network.channels.is_woken = True

    def least_loaded_node(self) -> BrokerNode | None:
        """A broker that can be asked anything."""
        return self.network.least_loaded_node(self.clock.now_ms)

    def is_unavailable(self, node: BrokerNode) -> bool:
        """Whether a node's connection failed and must not be tried yet."""
        states, now_ms = self.network.states, self.clock.now_ms
        return now_ms < states.backs_off_until_ms and states.is_unavailable(node.connection, now_ms)

    def try_connect(self, node: BrokerNode) -> None:
        """Begin to connect, if that makes sense now."""
        self.network.ready(node, self.clock.now_ms)

    def disconnect_later(self, node: BrokerNode) -> None:
        """Give up a connection with the next network pass."""
        self._pending_disconnects.append(node)
        self.network.channels.is_woken = True

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
        self.is_woken_up = True
        self.network.channels.is_woken = True
        self.threads.disturb()

    def maybe_trigger_wakeup(self) -> None:
        """Raise if somebody called `wakeup`, once."""
        if self.is_woken_up and not self.wakeups_disabled:
            self.is_woken_up = False
            raise WakeupException

    # --- passes -----------------------------------------------------------------------------------

    async def poll(
        self,
        timer: Timer,
        should_block: ShouldBlock | None = None,
        *,
        wakeups: bool = True,
        comes_back: bool = False,
        is_idle: bool | None = None,
    ) -> None:
        """Make one network pass, waiting for news at most as long as the timer runs.

        Passes that would do nothing are not made; neither is, for a caller that only comes back,
        one whose wait would end at once because of a wake-up. `is_idle` is what a caller has been
        told already of whether a pass that does not wait would do nothing.
        """
        if self._unsent and self._only_sends(timer.current_ms):
            return
        if is_idle is None:
            is_idle = self._is_idle(timer.current_ms)
        if not is_idle:
            if self.network.ended or self._pending_disconnects:
                await self._begin_pass()
            timeout_ms = self._timeout_ms(timer, should_block)
        elif timer.current_ms < timer.deadline_ms and (should_block is None or should_block()):
            if comes_back:
                self.network.channels.is_woken = False
            elif self.network.channels.is_woken and self._makes_woken_pass(timer):
                return
            timeout_ms = self._patience_ms(timer)
        else:
            self.network.channels.is_woken = False
            if not self.threads.is_spinning():
                timer.update()
                return
            timeout_ms = 0
        await self._end_pass(timer, timeout_ms, wakeups=wakeups)

    async def poll_no_wakeup(self) -> None:
        """Make one pass without waiting and without looking for wakeups."""
        if self._unsent:
            if self._only_sends(self.clock.now_ms):
                return
        elif self._is_idle(self.clock.now_ms):
            self.network.channels.is_woken = False
            if not self.threads.is_spinning():
                return
        if self.network.ended or self._pending_disconnects:
            await self._begin_pass()
        if self._unsent:
            self._try_send(self.clock.now_ms)
        await self._end_pass(None, 0, wakeups=False)

    async def poll_until_done(
        self, future: RequestFuture[Any], timer: Timer, *, wakeups: bool = True
    ) -> bool:
        """Make passes until the answer is there or time is up; at least one."""
        while True:
            if not self._unsent or not self._only_sends(timer.current_ms):
                is_idle = self._is_idle(timer.current_ms)
                is_over = future.is_done or timer.current_ms >= timer.deadline_ms
                if is_over and is_idle and not self.threads.is_spinning():
                    self.network.channels.is_woken = False
                    timer.current_ms = self.clock.now_ms
                    return future.is_done
                await self.poll(
                    timer, future.should_block, wakeups=wakeups, comes_back=True, is_idle=is_idle
                )
            if future.is_done or timer.current_ms >= timer.deadline_ms:
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
        duration_ms = min(duration_ms, timer.deadline_ms - timer.current_ms)
        if duration_ms <= 0:
            self.threads.count_turn()
        else:
            await self.sleep_for(duration_ms)
        timer.current_ms = self.clock.now_ms

    async def sleep_for(self, duration_ms: int) -> None:
        """Let time pass on this thread."""
        if type(duration_ms) is not int:
            require_whole_ms(duration_ms)
        if duration_ms <= 0:
            self.threads.count_turn()
        else:
            await Wait(WaitKind.SLEEP, min(NEVER, self.clock.now_ms + duration_ms))

    # --- inside a pass ----------------------------------------------------------------------------

    def _only_sends(self, now_ms: int) -> bool:
        """Make a pass that finds one request to send and nothing else; whether it was such a one.

        It does not wait, whatever was wanted: what is sent wakes it up.
        """
        network, unsent = self.network, self._unsent
        if (
            len(unsent) > 1
            or now_ms != self.clock.now_ms
            or network.ended
            or self._pending_disconnects
            or self.is_woken_up
            or now_ms >= self.metadata.fresh_until_ms
            or self.metadata.has_error
            or not network.is_idle(now_ms)
        ):
            return False
        for node, queue in unsent.items():
            can_send = len(queue) == 1 and network.can_send(node.connection)
            if not can_send or self.threads.is_spinning():
                return False
            network.send(queue.popleft(), now_ms)
        unsent.clear()
        self.passes += 1
        network.channels.receive()  # It finds nothing there.
        if self.threads.has_due_heartbeat:
            self.threads.run_due_heartbeats()
        return True

    def makes_idle_pass(self) -> bool:
        """Make a pass of a heartbeat thread's, if it does nothing; whether it did nothing."""
        network = self.network
        if (
            self._unsent
            or network.ended
            or self._pending_disconnects
            or self.is_woken_up
            or not network.is_idle(self.clock.now_ms)
            or self.metadata.has_error
        ):
            return False
        network.channels.is_woken = False
        return True

    def makes_idle_round(self) -> bool:
        """Make a pass of the application's that does not wait, if it does nothing; whether so."""
        now_ms = self.clock.now_ms
        if (
            now_ms >= self.metadata.fresh_until_ms
            or not self._is_idle(now_ms)
            or self.threads.is_spinning()
        ):
            return False
        self.network.channels.is_woken = False
        return True

    def _is_idle(self, now_ms: int) -> bool:
        """Whether a pass that does not wait would do nothing at all."""
        network = self.network
        return (
            not (self._unsent or network.ended or self._pending_disconnects or self.is_woken_up)
            and network.is_idle(now_ms)
            and not self.metadata.has_error
            and not self.threads.has_due_heartbeat
        )

    def _makes_woken_pass(self, timer: Timer) -> bool:
        """Make a pass that would wait, but finds nothing to do and was woken; whether it is over.

        While metadata is not fresh, whoever asks how long it will be makes a draw.
        """
        if timer.current_ms >= self.metadata.fresh_until_ms:
            return False
        if self.threads.is_spinning():
            return False
        self.passes += 1
        self.network.channels.receive()
        timer.update()
        return True

    async def _begin_pass(self) -> None:
        """Do what is left from before."""
        if self.network.ended:
            await self._tell_ends()
        if self._pending_disconnects:
            self._handle_pending_disconnects()

    async def _end_pass(self, timer: Timer | None, timeout_ms: int, *, wakeups: bool) -> None:
        """Wait at most so long for news, and handle them; without a timer, from now on."""
        self.passes += 1
        network, unsent, clock = self.network, self._unsent, self.clock
        await network.poll(timeout_ms, clock.now_ms if timer is None else timer.current_ms)
        now_ms = clock.now_ms
        if timer is not None and now_ms > timer.current_ms:
            timer.current_ms = now_ms
        if unsent and (self.is_woken_up or any(unsent.values())):
            self._check_disconnects()
        if wakeups and self.is_woken_up:
            self.maybe_trigger_wakeup()
        if unsent:
            if any(unsent.values()):
                self._try_send(now_ms)
                self._fail_expired(now_ms)
                for node in [node for node, queue in unsent.items() if not queue]:
                    del unsent[node]
            else:
                unsent.clear()
        if network.ended:
            await self._tell_ends()
        if self.metadata.has_error:
            self.metadata.maybe_throw_any()
        if self.threads.has_due_heartbeat:
            self.threads.run_due_heartbeats()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing here waits for a pass."""
        return not (
            self._unsent
            or self._pending_disconnects
            or self.is_woken_up
            or self.metadata.has_error
            or not self.network.is_at_rest
        )

    def only_to_end(self, connection: str, now_ms: int) -> ClientRequest | None:
        """The request that the pass that waits would end with an answer, and do nothing else."""
        network = self.network
        if (
            not self.is_at_rest
            or now_ms > network.in_time_until_ms
            or now_ms < network.states.backs_off_until_ms
        ):
            return None
        return network.next_to_end(connection)

    def idle_until_ms(self, now_ms: int) -> int:
        """Until when passes that wait can only be ended by news; now, if this one has others.

        What is in flight may turn out to have been sent earlier than it seems (`set_sent`), by the
        wait for records and a round trip.
        """
        if not self.is_at_rest:
            return now_ms
        spare_ms = (self.config.request_timeout_ms - self.config.fetch_max_wait_ms) // 2
        until_ms = now_ms + min(self._delay_ms_max, spare_ms)
        return max(now_ms, min(until_ms, self.network.in_time_until_ms))

    def next_at_rest(self) -> ClientRequest:
        """The one request that is queued, for whoever sends it as the next pass would."""
        ((node, queue),) = self._unsent.items()
        del self._unsent[node]
        self.passes += 1
        return queue.popleft()

    def wait_anew(self, wait_ms: int) -> None:
        """The application's pass that was waiting is over, and the next one waits so long.

        For whoever knows what comes between them, and that the next one finds nothing to do. The
        coroutine that waits is not resumed, so nothing that it keeps from before its wait may
        matter after it (`PollLoop._wait` keeps its timers alone).
        """
        now_ms, network = self.clock.now_ms, self.network
        self.passes += 1
        if wait_ms > self.patience_ms:
            wait_ms = self.patience_ms
        if network.in_flight_count == 0 and wait_ms > self.config.retry_backoff_ms:
            wait_ms = self.config.retry_backoff_ms
        deadline_ms = now_ms + wait_ms
        if deadline_ms > self.metadata.expires_ms:
            deadline_ms = self.metadata.expires_ms
        self.threads.application_wait = Wait(WaitKind.NETWORK, deadline_ms, network.channels)

    def _timeout_ms(self, timer: Timer, should_block: ShouldBlock | None) -> int:
        """Send what can be sent; say how long to wait for news."""
        delay_ms = self._try_send(timer.current_ms) if self._unsent else self._delay_ms_max
        if self.network.ended or not (should_block is None or should_block()):
            return 0
        return min(delay_ms, self._patience_ms(timer))

    def _patience_ms(self, timer: Timer) -> int:
        """How long to wait for news while there is nothing to send."""
        wait_ms = min(timer.deadline_ms - timer.current_ms, self._delay_ms_max)
        if self.network.in_flight_count == 0:
            wait_ms = min(wait_ms, self.config.retry_backoff_ms)
        return max(wait_ms, 0)

    def _try_send(self, now_ms: int) -> int:
        """Send what can be sent; say after how long more might be."""
        delay_ms = self._delay_ms_max
        network = self.network
        is_fresh = now_ms < self.metadata.fresh_until_ms  # So that to ask needs no draw.
        for node, queue in self._in_order():
            while is_fresh and queue and network.can_send(node.connection):
                network.send(queue.popleft(), now_ms)
            if queue:
                node_ms = network.states.connection_delay_ms(node.connection, now_ms)
                delay_ms = min(delay_ms, node_ms)
                while queue and network.ready(node, now_ms):
                    network.send(queue.popleft(), now_ms)
        return delay_ms

    def _in_order(self) -> list[tuple[BrokerNode, deque[ClientRequest]]]:
        """The queues in the order of Kafka's map; mostly there is but one."""
        unsent = self._unsent
        if len(unsent) > 1:
            return [(node, unsent[node]) for node in filled_with_nodes(unsent)]
        return list(unsent.items())

    async def _tell_ends(self) -> None:
        """Let the senders of requests that have ended handle that."""
        ended = self.network.ended
        while ended:
            sent = ended.popleft()
            kind = type(sent.request)
            if kind is FetchRequest:
                self.fetched += 1
            elif kind is not HeartbeatRequest:
                self.ended += 1
            if sent.reply is not None:
                told = sent.on_reply(sent.reply)
            else:
                told = sent.on_failure(sent.error or DisconnectException())
            if told is not None:
                await told
        self.network.channels.is_woken = True

    def _handle_pending_disconnects(self) -> None:
        while self._pending_disconnects:
            node = self._pending_disconnects.popleft()
            self._fail_unsent(node)
            self.network.disconnect(node.connection)

    def _check_disconnects(self) -> None:
        for node, _ in self._in_order():
            if self.network.states.is_disconnected(node.connection):
                self._fail_unsent(node)

    def _fail_unsent(self, node: BrokerNode) -> None:
        self.network.ended.extend(self._unsent.pop(node, ()))

    def _fail_expired(self, now_ms: int) -> None:
        for queue in self._unsent.values():
            while queue and now_ms - queue[0].created_ms > queue[0].timeout_ms:
                late = queue.popleft()
                late.error = TimeoutException("the request could not be sent in time")
                self.network.ended.append(late)
