"""A member of a group: what it joined with, what it was given, what it waits for."""

from __future__ import annotations

import copy

from attrs import Factory, define, field

from coordinator.errors import InternalFault
from coordinator.protocol import JoinGroupRequest, JoinGroupRequestProtocol, SyncGroupRequest
from coordinator.timers import SessionTimer


@define(kw_only=True, eq=False)
class Member:
    """One member; `awaiting_join` and `awaiting_sync` hold its parked requests."""

    group_id: str
    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    awaiting_join: JoinGroupRequest | None = None
    awaiting_sync: SyncGroupRequest | None = None
    session_timer: SessionTimer = field(
        init=False,
        default=Factory(lambda self: SessionTimer(self.group_id, self.member_id), takes_self=True),
    )

    @property
    def is_static(self) -> bool:
        """Does it come back under the same instance id?"""
        return self.group_instance_id is not None

    @property
    def is_excused(self) -> bool:
        """Is its silence the coordinator's own doing? A member still in its first join is not."""
        return not self.is_new and (
            self.awaiting_join is not None or self.awaiting_sync is not None
        )

    def metadata(self, protocol_name: str | None) -> bytes:
        """What it said under this protocol; the first entry of that name counts."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise InternalFault(f"member {self.member_id} does not support {protocol_name!r}")

    def vote(self, candidates: frozenset[str]) -> str:
        """The first of its protocols that everyone supports."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise InternalFault(f"member {self.member_id} supports none of the candidates")

    def copy(self) -> Member:
        """A member of its own in the same state; the parked requests are values and are shared."""
        return copy.copy(self)

    def snapshot(self) -> tuple[object, ...]:
        """Everything that can differ between two members, as one comparable value."""
        return (
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.protocol_type,
            self.protocols,
            self.assignment,
            self.is_new,
            self.awaiting_join,
            self.awaiting_sync,
        )
