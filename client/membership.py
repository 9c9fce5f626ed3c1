"""Joining, syncing and leaving by the classic protocol: Kafka's `AbstractCoordinator`.

What a rebalance means to the consumer (commits, callbacks, assignment) is in
`client.rebalancing`, the requests and the handlers of their answers are in `client.joining`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field, frozen

from client.actions import Reset
from client.discovery import Discovery
from client.dispatch import ConsumerNetworkClient
from client.errors import (
    IllegalGenerationException,
    MemberIdRequiredException,
    RebalanceInProgressException,
    UnknownMemberIdException,
)
from client.futures import RequestFuture
from client.heartbeats import Heartbeat, HeartbeatThread
from client.settings import ConsumerConfig
from client.states import MEMBER_MOVES, MemberState
from client.threads import Threads
from client.timers import Clock, Timer
from coordinator.protocol import UNKNOWN_GENERATION_ID, UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from client.joining import GroupRequests
    from client.rebalancing import Rebalancing

#: A reason on the wire is at most this long.
REASON_LENGTH_MAX = 255

#: The states in which there is a generation to send heartbeats for.
_JOINED = tuple(state for state in MemberState if state.has_joined)

_REJOIN_AT_ONCE = (
    UnknownMemberIdException,
    IllegalGenerationException,
    RebalanceInProgressException,
    MemberIdRequiredException,
)


@frozen(kw_only=True)
class Generation:
    """Who we are in the group; compared as a whole."""

    generation_id: int = UNKNOWN_GENERATION_ID
    member_id: str = UNKNOWN_MEMBER_ID
    protocol_name: str | None = None

    @property
    def is_reset(self) -> bool:
        """Whether there is no generation."""
        return self.generation_id == UNKNOWN_GENERATION_ID and self.protocol_name is None

    @property
    def is_nobody(self) -> bool:
        """Whether the generation or the member id is missing, so that nothing is owned."""
        return self.generation_id == UNKNOWN_GENERATION_ID or self.member_id == UNKNOWN_MEMBER_ID

    def __str__(self) -> str:
        protocol = "null" if self.protocol_name is None else self.protocol_name
        return (
            f"Generation{{generationId={self.generation_id}, memberId='{self.member_id}', "
            f"protocol='{protocol}'}}"
        )


NO_GENERATION = Generation()


class CloseOperation:
    """What closing does to the membership (KIP-1092), as `close` names it."""

    DEFAULT = "DEFAULT"
    LEAVE_GROUP = "LEAVE_GROUP"
    REMAIN_IN_GROUP = "REMAIN_IN_GROUP"
    ALL = (DEFAULT, LEAVE_GROUP, REMAIN_IN_GROUP)


@define(eq=False, kw_only=True, repr=False)
class Membership:
    """One consumer's membership in its group."""

    config: ConsumerConfig
    clock: Clock
    client: ConsumerNetworkClient
    threads: Threads
    discovery: Discovery
    heartbeat: Heartbeat
    generation: Generation = NO_GENERATION
    rejoin_needed: bool = True
    rejoin_reason: str = ""
    needs_join_prepare: bool = True
    join_future: RequestFuture[bytes] | None = None
    heartbeat_thread: HeartbeatThread | None = None
    requests: GroupRequests = field(init=False)
    rebalancing: Rebalancing = field(init=False)
    #: Whether there is a generation to send heartbeats for.
    has_joined: bool = field(default=False, init=False)
    #: Where this consumer stands with its group; only `move_to` changes it.
    state: MemberState = field(default=MemberState.UNJOINED, init=False)

    # --- state ------------------------------------------------------------------------------------

    def move_to(self, state: MemberState) -> None:
        """Change the state; the one place that does."""
        assert state in MEMBER_MOVES[self.state], (self.state, state)
        self.state = state
        self.has_joined = state in _JOINED

    @property
    def generation_if_stable(self) -> Generation | None:
        """The generation, if it can be spoken for."""
        return self.generation if self.state is MemberState.STABLE else None

    @property
    def is_rejoin_needed_or_pending(self) -> bool:
        """Whether the flag is set or a join is under way."""
        return self.rejoin_needed or self.join_future is not None

    def request_rejoin(self, reason: str) -> None:
        """Join again at the next opportunity."""
        self.rejoin_reason = reason
        self.rejoin_needed = True
        self.threads.disturb()

    def reset_and_rejoin(self, reason: str, reset: Reset) -> None:
        """Give up the generation, and the member id if so told, and join again."""
        self.move_to(MemberState.UNJOINED)
        if reset is Reset.MEMBER_ID:
            self.generation = NO_GENERATION
        else:
            self.generation = Generation(member_id=self.generation.member_id)
        self.request_rejoin(reason)
        self.needs_join_prepare = True

    # --- the heartbeat thread's view --------------------------------------------------------------

    def poll_heartbeat(self, now_ms: int) -> None:
        """The application polls: raise what ended the heartbeat thread, wake it if it is due."""
        thread = self.heartbeat_thread
        if thread is None:
            return
        if thread.failure is not None:
            self.heartbeat_thread = None
            raise thread.failure
        if self.heartbeat.polled(now_ms):
            self.threads.notify()

    # --- joining ----------------------------------------------------------------------------------

    async def ensure_active(self, timer: Timer) -> bool:
        """Become a stable member within the time; whether that is so."""
        if self.discovery.is_unknown() and not await self.discovery.ensure_ready(timer):
            return False
        return not self.rebalancing.is_rejoin_needed_or_pending() or await self.join(timer)

    async def join(self, timer: Timer) -> bool:
        """The same for one that has to join, while the coordinator is known."""
        if self.heartbeat_thread is None:
            self.heartbeat_thread = HeartbeatThread(self)
            self.heartbeat_thread.start()
        while True:
            if self.needs_join_prepare and not await self._prepare(timer):
                return False
            if self.join_future is None:
                self.begin_join()
            future = self.join_future
            assert future is not None
            if not await self.client.poll_until_done(future, timer):
                return False
            if future.error is None:
                await self._complete_join(future.value)
            elif not await self._after_failed_join(future, timer):
                return False
            if not self.rebalancing.is_rejoin_needed_or_pending():
                return True
            if self.discovery.is_unknown() and not await self.discovery.ensure_ready(timer):
                return False

    def begin_join(self) -> None:
        """Ask to be let into the next generation."""
        self.move_to(MemberState.PREPARING_REBALANCE)
        self.join_future = self.requests.send_join()

    def end_join(self) -> None:
        """The join is complete; the next one is prepared anew."""
        self.join_future = None
        self.needs_join_prepare = True

    async def _prepare(self, timer: Timer) -> bool:
        """Be ready to join; False if that needs more time."""
        # Cleared first: a prepare that raises is not repeated.
        self.needs_join_prepare = False
        if await self.rebalancing.on_join_prepare(timer, self.generation):
            return True
        self.needs_join_prepare = True
        return False

    async def _complete_join(self, assignment: bytes) -> None:
        if not self.generation.is_reset and self.state is MemberState.STABLE:
            # If this raises, the finished join is kept and completed again by the next poll.
            await self.rebalancing.on_join_complete(self.generation, assignment)
            self.end_join()
            return
        reason = (
            "rebalance failed since the generation/state was modified by heartbeat thread to "
            f"{self.generation}/{self.state.name} before the rebalance callback triggered"
        )
        self.reset_and_rejoin(reason, Reset.MEMBER_ID)
        self.join_future = None

    async def _after_failed_join(self, future: RequestFuture[bytes], timer: Timer) -> bool:
        """Whether to join again at once; raises what cannot be helped by that."""
        error = future.error
        assert error is not None
        self.join_future = None
        if not isinstance(error, MemberIdRequiredException):
            self.request_rejoin(f"rebalance failed due to {type(error).__name__}")
        if isinstance(error, _REJOIN_AT_ONCE):
            return True
        if not future.is_retriable:
            raise error
        if timer.is_expired:
            return False
        await self.client.sleep(timer, self.config.retry_backoff_ms)
        return True

    # --- leaving ----------------------------------------------------------------------------------

    async def maybe_leave_group(self, reason: str, operation: str = CloseOperation.DEFAULT) -> None:
        """Tell the coordinator if there is a reason to, and be nobody."""
        with self.threads.lock:
            if self._should_tell_of_leaving(operation):
                await self.requests.send_leave(reason)
                await self.client.poll_no_wakeup()
            self.reset_and_rejoin("consumer pro-actively leaving the group", Reset.MEMBER_ID)

    async def close(self, timer: Timer, operation: str) -> None:
        """Stop beating, give up what is owned, leave, and wait for what is still unanswered."""
        thread, self.heartbeat_thread = self.heartbeat_thread, None
        if thread is not None:
            thread.close()
            assert thread.turns is not None
            self.threads.join(thread.turns)
        with self.threads.lock:
            await self.rebalancing.on_leave_prepare()
            await self.maybe_leave_group("the consumer is being closed", operation)
            coordinator = self.discovery.check_and_get()
            if coordinator is not None:
                await self.client.await_pending(coordinator, timer)

    def _should_tell_of_leaving(self, operation: str) -> bool:
        if self.discovery.is_unknown() or self.state is MemberState.UNJOINED:
            return False
        if self.generation.member_id == UNKNOWN_MEMBER_ID:
            return False
        if operation == CloseOperation.LEAVE_GROUP:
            return True
        return operation == CloseOperation.DEFAULT and not self.config.is_static
