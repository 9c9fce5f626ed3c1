"""A raw member: single requests by script, for ghosts and protocol abuse.

It has no loop and no heartbeat of its own. Each call sends one request; the answer arrives while
the run goes on, and is kept.
"""

from __future__ import annotations

from attrs import define, evolve, field

from client.assignors import Subscription
from client.connections import Link as Opening
from client.consumer_protocol import encode_subscription
from coordinator.protocol import (
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    Request,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from simulation.arguments import require_kind
from simulation.events import Facts, WorldEventKind
from simulation.facts import with_reply
from simulation.kernel import FAR_MS
from simulation.network import Connection, Message, kind_of
from simulation.stage import Stage

#: Raw members count their requests from here, beyond those of all consumers.
_FIRST_ID = 1 << 62


@define(eq=False, kw_only=True)
class RawMember:
    """A client that does what it is told and nothing else."""

    name: str
    group: str
    stage: Stage = field(repr=False)
    member_id: str = UNKNOWN_MEMBER_ID
    generation_id: int = UNKNOWN_GENERATION_ID
    #: What the group speaks, as the last answer to a join said; a sync must say it again (KIP-559).
    protocol_type: str | None = field(default=None, init=False)
    protocol_name: str | None = field(default=None, init=False)
    #: Every answer so far, in the order of arrival.
    replies: list[object] = field(factory=list, init=False)
    is_listening: bool = field(default=True, init=False)
    wants_other_since_ms: int = field(default=-1, init=False)
    _connection: Connection | None = field(default=None, init=False, repr=False)

    def join(
        self,
        *topics: str,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        protocols: tuple[str, ...] = ("range",),
    ) -> None:
        """Ask to be in the group."""
        metadata = encode_subscription(Subscription(topics=topics))
        self.send(
            JoinGroupRequest(
                group_id=self.group,
                member_id=self.member_id,
                session_timeout_ms=session_timeout_ms,
                rebalance_timeout_ms=rebalance_timeout_ms,
                protocols=tuple(JoinGroupRequestProtocol(name, metadata) for name in protocols),
            )
        )

    def sync(self, *assignments: SyncGroupRequestAssignment) -> None:
        """Ask for an assignment, or give everybody's."""
        example = "one such as SyncGroupRequestAssignment(member_id, assignment)"
        for each in assignments:
            require_kind("each of assignments", each, SyncGroupRequestAssignment, example)
        self.send(
            SyncGroupRequest(
                group_id=self.group,
                member_id=self.member_id,
                generation_id=self.generation_id,
                protocol_type=self.protocol_type,
                protocol_name=self.protocol_name,
                assignments=assignments,
            )
        )

    def heartbeat(self) -> None:
        """Say that it is alive."""
        self.send(
            HeartbeatRequest(
                group_id=self.group, member_id=self.member_id, generation_id=self.generation_id
            )
        )

    def leave(self) -> None:
        """Say that it goes."""
        self.send(
            LeaveGroupRequest(
                group_id=self.group, members=(MemberIdentity(member_id=self.member_id),)
            )
        )

    def forget(self) -> None:
        """Know nothing any more of the member id it was given."""
        self.member_id, self.generation_id = UNKNOWN_MEMBER_ID, UNKNOWN_GENERATION_ID
        self.protocol_type = self.protocol_name = None

    @property
    def can_send(self) -> bool:
        """Whether somebody coordinates the group and can be reached."""
        coordinator = self.stage.coordinator_of(self.group)
        if coordinator is None:
            return False
        found = self._connection
        is_connected = found is not None and found.is_open and found.link.broker == coordinator.id
        network = self.stage.network
        return is_connected or network.opening(self.name, coordinator.id) is Opening.ACCEPT

    def send(self, request: Request, *, broker: int | None = None) -> None:
        """Send any request, to the group's coordinator unless told otherwise."""
        stage = self.stage
        if not isinstance(request, Request):
            raise TypeError(f"request must be one such as HeartbeatRequest(...), not {request!r}")
        if broker is not None:
            stage.require_broker(broker)
        else:
            coordinator = stage.coordinator_of(self.group)
            if coordinator is None:
                raise ValueError(f"nobody coordinates {self.group} at {stage.kernel.now_ms} ms")
            broker = coordinator.id
        stage.raw_requests += 1
        numbered = evolve(request, request_id=_FIRST_ID + stage.raw_requests, client_id=self.name)
        kind = kind_of(request)
        connection = self._connection_to(broker)
        facts: Facts = {
            **self._facts(),
            "broker": broker,
            "request": kind,
            "connection": connection.label,
            "request_id": stage.recorder.recorded + 1,
        }
        row = stage.recorder.record(WorldEventKind.REQUEST_SENT, stage.kernel.now_ms, None, **facts)
        message = Message(connection, numbered, kind, stage.kernel.now_ms, row, facts)
        message.is_by_hand = True
        stage.network.send(message)

    # --- what the network needs of it ---

    def hear(self, message: Message, response: object, replied: int | None) -> None:
        """An answer arrives."""
        stage = self.stage
        now_ms = stage.kernel.now_ms
        facts = with_reply(message.facts, response)
        facts["duration_ms"] = now_ms - message.sent_ms
        if not message.connection.is_open:
            stage.recorder.record(WorldEventKind.REPLY_LOST, now_ms, replied, **facts)
            return
        stage.recorder.record(WorldEventKind.REPLY_RECEIVED, now_ms, replied, **facts)
        self.replies.append(response)
        if isinstance(response, JoinGroupResponse):
            self.member_id = response.member_id or self.member_id
            self.generation_id = response.generation_id
            self.protocol_type = response.protocol_type
            self.protocol_name = response.protocol_name

    def hear_reset(self, connection: Connection, cause: int | None) -> None:
        """A connection turns out to be gone; the next request opens another."""
        del cause
        if self._connection is connection:
            self._connection = None

    def put_behind(self, connection: str, request: Request, other: Request) -> None:
        """A raw member has no time-outs and expects nothing in order."""

    def set_sent(self, connection: str, request: Request, sent_ms: int) -> None:
        """The same."""

    @property
    def request_timeout_ms(self) -> int:
        """Later than anything happens."""
        return FAR_MS

    def _connection_to(self, broker: int) -> Connection:
        found = self._connection
        if found is None or not found.is_open or found.link.broker != broker:
            if self.stage.network.opening(self.name, broker) is not Opening.ACCEPT:
                raise ValueError(f"{self.name} cannot reach broker {broker} now")
            found = self._connection = self.stage.network.connect(self, f"c{broker}", broker)
            facts: Facts = {**self._facts(), "broker": broker, "connection": found.label}
            now_ms = self.stage.kernel.now_ms
            self.stage.recorder.record(WorldEventKind.CONNECTION_OPENED, now_ms, None, **facts)
        return found

    def _facts(self) -> Facts:
        facts: Facts = {"group": self.group, "client": self.name}
        if self.member_id != UNKNOWN_MEMBER_ID:
            facts["member"] = self.member_id
        if self.generation_id != UNKNOWN_GENERATION_ID:
            facts["generation"] = self.generation_id
        return facts
