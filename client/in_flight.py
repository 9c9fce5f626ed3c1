"""A request between its making and its end, as the two halves of a consumer's network share it."""

from __future__ import annotations

from attrs import define

from client.futures import OnFailure, OnSuccess
from client.partitions import BrokerNode
from client.timers import LONG_AGO
from coordinator.protocol import Request


def _to_nobody(_: object) -> None:
    """Handle the end of a request that the network sends for itself, elsewhere."""


@define(eq=False)
class ClientRequest:
    """A request on its way to a node, who handles its end, and that end: a reply or an error."""

    node: BrokerNode
    request: Request
    created_ms: int
    timeout_ms: int
    on_reply: OnSuccess[object] = _to_nobody
    on_failure: OnFailure = _to_nobody
    sent_ms: int = LONG_AGO
    reply: object | None = None
    #: Why there is no reply, if it is not that the connection was lost.
    error: Exception | None = None

    @property
    def is_internal(self) -> bool:
        """Whether the network sends it for itself."""
        return self.on_reply is _to_nobody
