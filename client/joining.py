"""The group's own requests and what their answers do: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Which error code does what is in the tables of `client.actions`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from attrs import define

from client.actions import (
    HEARTBEAT_ACTIONS,
    JOIN_ACTIONS,
    SYNC_ACTIONS,
    Action,
    Reset,
)
from client.errors import KafkaException, UnjoinedGroupException, exception_of
from client.futures import RequestFuture, Told, failed_future, no_coordinator
from client.membership import REASON_LENGTH_MAX, Generation, Membership
from client.partitions import BrokerNode
from client.states import MemberState
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    CONSUMER_PROTOCOL_TYPE,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    Request,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

#: How much longer than the rebalance timeout a JoinGroup may take.
JOIN_GROUP_TIMEOUT_LAPSE_MS = 5_000

T = TypeVar("T")

#: What an answer does, and to the future that waits for it.
Handle = Callable[[object, RequestFuture[T]], Told]


@define(eq=False)
class GroupRequests:
    """Sends a member's requests and carries out what the answers ask for."""

    membership: Membership

    # --- JoinGroup --------------------------------------------------------------------------------

    def send_join(self) -> RequestFuture[bytes]:
        """Ask to be let into the next generation; the answer is the assignment that follows."""
        membership = self.membership
        config = membership.config
        coordinator = membership.discovery.check_and_get()
        if coordinator is None:
            return no_coordinator()
        assert config.group_id is not None
        request = JoinGroupRequest(
            request_id=membership.client.network.next_request_id(),
            client_id=config.client_id,
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=membership.generation.member_id,
            group_instance_id=config.group_instance_id,
            protocols=membership.rebalancing.join_protocols(),
            reason=membership.rejoin_reason[:REASON_LENGTH_MAX],
        )
        timeout_ms = max(
            config.request_timeout_ms, config.max_poll_interval_ms + JOIN_GROUP_TIMEOUT_LAPSE_MS
        )
        sent = membership.generation

        def handle(reply: object, joined: RequestFuture[bytes]) -> Told:
            assert isinstance(reply, JoinGroupResponse)
            if reply.error_code is ErrorCode.NONE:
                return self._on_joined(reply, joined)
            self._on_join_refused(reply, sent)
            return joined.fail(_error_of(reply.error_code, JOIN_ACTIONS))

        return self.ask(coordinator, request, handle, timeout_ms=timeout_ms)

    def _on_joined(self, reply: JoinGroupResponse, joined: RequestFuture[bytes]) -> Told:
        membership = self.membership
        if reply.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
            return joined.fail(exception_of(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        if membership.state is not MemberState.PREPARING_REBALANCE:
            return joined.fail(UnjoinedGroupException())
        membership.move_to(MemberState.COMPLETING_REBALANCE)
        if membership.heartbeat_thread is not None:
            membership.heartbeat_thread.enable()
        membership.generation = Generation(
            generation_id=reply.generation_id,
            member_id=reply.member_id,
            protocol_name=reply.protocol_name,
        )
        if reply.leader == reply.member_id:
            return self._lead(reply, joined)
        return self._send_sync(()).chain(joined)

    async def _lead(self, reply: JoinGroupResponse, joined: RequestFuture[bytes]) -> None:
        """Decide for everyone and tell the coordinator; what goes wrong fails the join."""
        synced: RequestFuture[bytes]
        with self.membership.threads.lock:
            try:
                assignments = await self.membership.rebalancing.on_leader_elected(reply)
                synced = self._send_sync(assignments)
            except Exception as error:  # noqa: BLE001 (also what a user's assignor raises)
                synced = failed_future(error)
            await _rest_of(synced.chain(joined))

    def _on_join_refused(self, reply: JoinGroupResponse, sent: Generation) -> None:
        membership = self.membership
        self._act(JOIN_ACTIONS.get(reply.error_code), reply.error_code, "JOIN_GROUP", sent)
        if reply.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            membership.generation = Generation(member_id=reply.member_id)
            membership.request_rejoin(
                f"need to re-join with the given member-id: {reply.member_id}"
            )

    # --- SyncGroup --------------------------------------------------------------------------------

    def _send_sync(
        self, assignments: tuple[SyncGroupRequestAssignment, ...]
    ) -> RequestFuture[bytes]:
        membership = self.membership
        coordinator = membership.discovery.check_and_get()
        if coordinator is None:
            return no_coordinator()
        config, sent = membership.config, membership.generation
        assert config.group_id is not None
        request = SyncGroupRequest(
            request_id=membership.client.network.next_request_id(),
            client_id=config.client_id,
            group_id=config.group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=sent.protocol_name,
            assignments=assignments,
        )

        def handle(reply: object, synced: RequestFuture[bytes]) -> Told:
            assert isinstance(reply, SyncGroupResponse)
            if reply.error_code is ErrorCode.NONE:
                return self._on_synced(reply, synced)
            action = SYNC_ACTIONS.get(reply.error_code)
            self._act(action, reply.error_code, "SYNC_GROUP", sent)
            return synced.fail(_error_of(reply.error_code, SYNC_ACTIONS))

        return self.ask(coordinator, request, handle)

    def _on_synced(self, reply: SyncGroupResponse, synced: RequestFuture[bytes]) -> Told:
        membership = self.membership
        generation = membership.generation
        if reply.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
            return synced.fail(exception_of(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        if generation.is_reset or membership.state is not MemberState.COMPLETING_REBALANCE:
            # The heartbeat thread has given the generation up meanwhile.
            return synced.fail(exception_of(ErrorCode.ILLEGAL_GENERATION))
        if reply.protocol_name not in (None, generation.protocol_name):
            return synced.fail(exception_of(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        membership.move_to(MemberState.STABLE)
        membership.rejoin_reason = ""
        membership.rejoin_needed = False
        return synced.complete(reply.assignment)

    # --- Heartbeat and LeaveGroup -----------------------------------------------------------------

    def heartbeat(self) -> HeartbeatRequest:
        """What says that this member is alive."""
        membership = self.membership
        config, generation = membership.config, membership.generation
        assert config.group_id is not None
        return HeartbeatRequest(
            request_id=membership.client.network.next_request_id(),
            client_id=config.client_id,
            group_id=config.group_id,
            generation_id=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=config.group_instance_id,
        )

    def error_of_beat(self, error: ErrorCode, sent: Generation) -> KafkaException | None:
        """Do what the answer to a heartbeat asks for; what it amounts to, if it is no good one."""
        membership = self.membership
        if error is ErrorCode.NONE:
            return None
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            if membership.state is MemberState.STABLE:
                membership.request_rejoin("group is already rebalancing")
            return None  # To the session it is as good as any answer.
        action = HEARTBEAT_ACTIONS.get(error)
        if action is not None and action.ignored_if_stale and membership.generation != sent:
            return None
        self._act(action, error, "HEARTBEAT", sent)
        return _error_of(error, HEARTBEAT_ACTIONS)

    async def send_leave(self, reason: str) -> None:
        """Say that this member leaves; whatever the answer is, it is not acted on."""
        membership = self.membership
        coordinator = membership.discovery.coordinator
        assert coordinator is not None
        config = membership.config
        assert config.group_id is not None
        request = LeaveGroupRequest(
            request_id=membership.client.network.next_request_id(),
            client_id=config.client_id,
            group_id=config.group_id,
            members=(
                MemberIdentity(
                    member_id=membership.generation.member_id, reason=reason[:REASON_LENGTH_MAX]
                ),
            ),
        )

        def handle(reply: object, left: RequestFuture[None]) -> Told:
            assert isinstance(reply, LeaveGroupResponse)
            return left.complete(None)

        self.ask(coordinator, request, handle)

    # --- common -----------------------------------------------------------------------------------

    def ask(
        self,
        coordinator: BrokerNode,
        request: Request,
        handle: Handle[T],
        then_on_failure: Callable[[Exception], None] | None = None,
        timeout_ms: int | None = None,
    ) -> RequestFuture[T]:
        """What the handler makes of an answer; a lost connection also loses the coordinator."""
        outcome: RequestFuture[T] = RequestFuture()

        def on_reply(reply: object) -> Told:
            try:
                told = handle(reply, outcome)
            except Exception as error:  # noqa: BLE001 (whatever it is, it ends the request)
                return None if outcome.is_done else outcome.fail(error)
            return None if told is None else _guarded(told, outcome)

        def on_failure(error: Exception) -> Told:
            self.membership.discovery.on_request_failed(error)
            told = outcome.fail(error)
            if then_on_failure is not None:
                then_on_failure(error)
            return told

        self.membership.client.send(coordinator, request, on_reply, on_failure, timeout_ms)
        return outcome

    def _act(self, action: Action | None, error: ErrorCode, api: str, sent: Generation) -> None:
        """Do to the membership what the table says."""
        if action is None:
            return
        if action.loses_coordinator:
            self.membership.discovery.mark_unknown(is_disconnected=False)
        if action.reset is not Reset.NOTHING and self.membership.generation == sent:
            self.membership.reset_and_rejoin(
                f"encountered {error.name} from {api} response", action.reset
            )


async def _guarded(told: Awaitable[None], outcome: RequestFuture[T]) -> None:
    """Go on handling an answer; what is raised by that ends the request."""
    try:
        await told
    except Exception as error:  # noqa: BLE001 (whatever it is, it ends the request)
        if not outcome.is_done:
            await _rest_of(outcome.fail(error))


async def _rest_of(told: Told) -> None:
    if told is not None:
        await told


def _error_of(error: ErrorCode, actions: Mapping[ErrorCode, Action]) -> KafkaException:
    if error in actions:
        return exception_of(error)
    return KafkaException(f"unexpected error in a reply of the coordinator: {error.name}")
