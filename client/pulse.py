"""The pulse of a consumer at rest: what it sends again and again, as long as that is all.

Heartbeats leave an interval after one another and are answered well before the next. So do
automatic commits of positions that have not moved; one of them may leave while a heartbeat is on
its way, but no heartbeat while a commit is. So a few times say all that there is to know. They are
kept in small objects, since with a thousand consumers nothing else of one is at hand when its time
comes. `client.resting` starts a pulse and writes down what came of it before anybody else acts or
looks.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from client.timers import LONG_AGO, NEVER
from coordinator.protocol import HeartbeatRequest, OffsetCommitRequest


def _nothing() -> None:
    """Write nothing down: there is nobody who would start a pulse."""


@define(eq=False, repr=False)
class Errand:
    """A request that leaves again and again, and what has become of it."""

    request: HeartbeatRequest | OffsetCommitRequest | None = None
    #: When it leaves next, and how long after that once more.
    at_ms: int = NEVER
    interval_ms: int = 0
    #: When it was sent last, and when last answered, if that is not written down yet.
    sent_ms: int | None = None
    heard_ms: int | None = None
    #: Whether it is not answered.
    is_out: bool = False

    def start(
        self, request: HeartbeatRequest | OffsetCommitRequest | None, at_ms: int, interval_ms: int
    ) -> None:
        """Leave from then on; without a request it is not to be waited for."""
        self.request, self.at_ms, self.interval_ms = request, at_ms, interval_ms
        self.is_out = False


@define(eq=False, repr=False)
class Pulse:
    """When the next request leaves, and what has become of the last."""

    #: Until when nothing else is due, if nothing disturbs the consumer before.
    until_ms: int = LONG_AGO
    #: When the consumer wants to do something else.
    ends_ms: int = NEVER
    #: Over which connection they leave.
    connection: str = ""
    #: When the heartbeat thread next looks round, and how long after that once more.
    turn_at_ms: int = NEVER
    backoff_ms: int = 0
    #: When something was last sent or answered, if that is not written down yet.
    stepped_ms: int = LONG_AGO
    beats: Errand = field(factory=Errand)
    commits: Errand = field(factory=Errand)
    #: Writes down where it belongs what is known here alone, and ends the pulse.
    write_down: Callable[[], None] = _nothing

    @property
    def wakes_ms(self) -> int:
        """When the consumer wants to act again."""
        at_ms, beats_ms, commits_ms = self.ends_ms, self.beats.at_ms, self.commits.at_ms
        if beats_ms < at_ms:  # `min`, without the call.
            at_ms = beats_ms
        return min(at_ms, commits_ms)

    def leave(self, errand: Errand, now_ms: int) -> int | None:
        """Let this leave if it is due, and that alone; when the next thing is, or None."""
        commits = self.commits
        other_ms = commits.at_ms
        if errand is commits:
            other_ms = self.beats.at_ms
        if (
            now_ms != errand.at_ms
            or now_ms == other_ms
            or now_ms >= self.until_ms
            or errand.is_out
            or commits.is_out  # The heartbeat would have to wait for the answer to the commit.
        ):
            return None
        errand.is_out = True
        errand.sent_ms = self.stepped_ms = now_ms
        errand.at_ms = wakes_ms = now_ms + errand.interval_ms
        if errand is not commits or self.turn_at_ms <= now_ms:
            self.turn_at_ms = now_ms + self.backoff_ms  # A heartbeat leaves in such a turn.
        if other_ms < wakes_ms:  # `min`, without the call.
            wakes_ms = other_ms
        return min(self.ends_ms, wakes_ms)

    def hear(self, errand: Errand, now_ms: int) -> bool:
        """Take the good answer to what was sent last of this, if it is on its way; whether so."""
        beats, commits = self.beats, self.commits
        if (
            not errand.is_out
            or not self.stepped_ms <= now_ms < self.until_ms
            or now_ms >= beats.at_ms
            or now_ms >= commits.at_ms
            # The answer to the heartbeat comes first.
            or (errand is commits and beats.is_out)
        ):
            return False
        errand.is_out = False
        errand.heard_ms = self.stepped_ms = now_ms
        if self.turn_at_ms <= now_ms:
            self.turn_at_ms = now_ms + self.backoff_ms
        return True

    def end(self) -> None:
        """Something else happens: what is known here alone is written down."""
        self.until_ms = LONG_AGO
        if self.stepped_ms > LONG_AGO:
            self.write_down()
