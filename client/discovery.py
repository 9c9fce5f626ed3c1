"""Finding the group's coordinator, and noticing that it is gone.

Losing the coordinator changes nothing about membership: generation and assignment stay.
"""

from __future__ import annotations

from attrs import define

from client.backoff import ExponentialBackoff
from client.dispatch import ConsumerNetworkClient
from client.errors import (
    DisconnectException,
    NoAvailableBrokersException,
    RetriableException,
    exception_of,
)
from client.futures import RequestFuture, Told, failed_future
from client.heartbeats import Heartbeat
from client.partitions import BrokerNode, coordinator_node
from client.settings import ConsumerConfig
from client.threads import Threads
from client.timers import Timer
from coordinator.errors import ErrorCode
from coordinator.protocol import FindCoordinatorRequest, FindCoordinatorResponse


@define(eq=False, kw_only=True)
class Discovery:
    """The coordinator as far as it is known, and the lookup that is under way."""

    config: ConsumerConfig
    client: ConsumerNetworkClient
    threads: Threads
    heartbeat: Heartbeat
    retry_backoff: ExponentialBackoff
    coordinator: BrokerNode | None = None
    _lookup: RequestFuture[None] | None = None
    _fatal_error: Exception | None = None
    #: Pauses since the present search began; each is longer than the one before.
    _pauses: int = 0

    def check_and_get(self) -> BrokerNode | None:
        """The coordinator; one whose connection failed and backs off is no longer it."""
        client, known = self.client, self.coordinator
        if (
            known is not None
            and client.clock.now_ms < client.network.states.backs_off_until_ms
            and client.is_unavailable(known)
        ):
            self.mark_unknown(is_disconnected=True)
        return self.coordinator

    def is_unknown(self) -> bool:
        """Whether there is nobody to send the group's requests to."""
        client = self.client
        is_known = self.coordinator is not None
        if is_known and client.clock.now_ms >= client.network.states.backs_off_until_ms:
            return False  # No connection is backing off.
        return self.check_and_get() is None

    def mark_unknown(self, *, is_disconnected: bool) -> None:
        """Forget the coordinator, and its connection too unless that is gone already."""
        if self.coordinator is None:
            return
        left, self.coordinator = self.coordinator, None
        if not is_disconnected:
            self.client.disconnect_later(left)

    async def ensure_ready(self, timer: Timer, *, wakeups: bool = True) -> bool:
        """Find the coordinator within the time; at least one try."""
        if not self.is_unknown():
            return True
        with self.threads.lock:
            self._pauses = 0
            while await self._try_once(timer, wakeups=wakeups):
                if not self.is_unknown() or timer.is_expired:
                    break
            return not self.is_unknown()

    async def ensure_ready_now(self) -> bool:
        """Find the coordinator in one try that does not wait."""
        return await self.ensure_ready(self.client.clock.timer(0), wakeups=False)

    async def look_up(self) -> RequestFuture[None]:
        """The lookup under way, or a new one."""
        if self._lookup is None:
            node = self.client.least_loaded_node()
            if node is None:
                return failed_future(NoAvailableBrokersException())
            self._lookup = self._send_lookup(node)
        return self._lookup

    async def look_up_or_forget(self) -> None:
        """The heartbeat thread's way: forget a lookup that is under way, else begin one."""
        if self._lookup is not None:
            self._lookup = None
        else:
            await self.look_up()

    async def _try_once(self, timer: Timer, *, wakeups: bool) -> bool:
        """One lookup and the pause after a failed one; False when time ran out on it."""
        if self._fatal_error is not None:
            error, self._fatal_error = self._fatal_error, None
            raise error
        lookup = await self.look_up()
        await self.client.poll_until_done(lookup, timer, wakeups=wakeups)
        if not lookup.is_done:
            return False
        fatal: Exception | None = None
        if lookup.failed:
            if lookup.is_retriable:
                await self._pause(timer)
                await self.client.await_metadata_update(timer)
            else:
                fatal = lookup.error
        elif self.coordinator is not None and self.client.is_unavailable(self.coordinator):
            self.mark_unknown(is_disconnected=False)
            await self._pause(timer)
        self._lookup = None
        if fatal is not None:
            raise fatal
        return True

    async def _pause(self, timer: Timer) -> None:
        pause_ms = self.retry_backoff.backoff_ms(self._pauses)
        self._pauses += 1
        await self.client.sleep(timer, pause_ms)

    def _send_lookup(self, node: BrokerNode) -> RequestFuture[None]:
        assert self.config.group_id is not None
        request = FindCoordinatorRequest(
            request_id=self.client.network.next_request_id(),
            client_id=self.config.client_id,
            coordinator_keys=(self.config.group_id,),
        )
        found: RequestFuture[None] = RequestFuture()

        def on_reply(reply: object) -> Told:
            assert isinstance(reply, FindCoordinatorResponse)
            return self._on_found(reply, found)

        def on_failure(error: Exception) -> Told:
            if not isinstance(error, RetriableException):
                self._fatal_error = error
            return found.fail(error)

        self.client.send(node, request, on_reply, on_failure)
        return found

    def _on_found(self, reply: FindCoordinatorResponse, found: RequestFuture[None]) -> Told:
        coordinator = reply.coordinators[0]
        if coordinator.error_code is not ErrorCode.NONE:
            return found.fail(exception_of(coordinator.error_code))
        self.coordinator = coordinator_node(coordinator.node_id, coordinator.host, coordinator.port)
        self.client.try_connect(self.coordinator)
        self.heartbeat.reset_session_timeout()
        return found.complete(None)

    def on_request_failed(self, error: Exception) -> None:
        """A group request ended without an answer."""
        if isinstance(error, DisconnectException):
            self.mark_unknown(is_disconnected=True)
