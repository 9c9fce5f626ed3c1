"""The heartbeats of a consumer at rest, as long as they are all that happens.

Each leaves an interval after the one before and is answered well before the next: so a few times
say all that there is to know. They are kept in one small object, since with a thousand consumers
nothing else of one is at hand when its time comes. `client.resting` starts a pulse and writes down
what came of it before anybody else acts or looks.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

from client.timers import LONG_AGO, NEVER
from coordinator.protocol import HeartbeatRequest


def _nothing() -> None:
    """Write nothing down: there is nobody who would start a pulse."""


@define(eq=False, repr=False)
class Pulse:
    """When the next heartbeat leaves, and what has become of the last."""

    #: Until when nothing else is due, if nothing disturbs the consumer before.
    until_ms: int = LONG_AGO
    #: When the next one leaves, and when the consumer wants to do something else.
    at_ms: int = NEVER
    ends_ms: int = NEVER
    #: What each of them says, and over which connection.
    request: HeartbeatRequest | None = None
    connection: str = ""
    interval_ms: int = 0
    #: So long before the next one the last must be answered.
    backoff_ms: int = 0
    #: When the last was sent and the last answer heard, if that is not written down yet.
    sent_ms: int | None = None
    heard_ms: int | None = None
    #: Whether the last is not answered.
    is_out: bool = False
    #: Writes down where it belongs what is known here alone, and ends the pulse.
    write_down: Callable[[], None] = _nothing

    def beat(self, now_ms: int) -> HeartbeatRequest | None:
        """Send the heartbeat that is due; None if none is, or not that alone."""
        if now_ms != self.at_ms or now_ms >= self.until_ms or self.is_out:
            return None
        self.is_out, self.sent_ms, self.at_ms = True, now_ms, now_ms + self.interval_ms
        return self.request

    @property
    def wakes_ms(self) -> int:
        """When the consumer wants to act again."""
        return min(self.ends_ms, self.at_ms)

    def hear(self, request: object, now_ms: int) -> bool:
        """Take the good answer to the last one, if it is that; whether it is."""
        sent_ms = self.sent_ms
        if sent_ms is None or not self.is_out or request is not self.request:
            return False
        if not sent_ms <= now_ms < self.until_ms or now_ms + self.backoff_ms > self.at_ms:
            return False  # So late, the thread's next turn comes after the next heartbeat is due.
        self.is_out, self.heard_ms = False, now_ms
        return True

    def end(self) -> None:
        """Something else happens: what is known here alone is written down."""
        self.until_ms = LONG_AGO
        if self.sent_ms is not None:
            self.write_down()
