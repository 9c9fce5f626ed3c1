"""The way of a heartbeat there and back, when nothing stands in it: the way that most messages go.

A consumer at rest (`client.pulse`) sends its heartbeats over one connection to a coordinator that
answers at once. Each goes through both machines and over the wire as every request does, but what
the way needs is kept in one place, and no message is made of it unless it meets something: then it
goes on like any other, from where it is. Where quiet time is skipped each answer becomes a message
on its way home, since that is what `simulation.quiet` looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from client.pulse import Pulse
from coordinator.errors import ErrorCode
from coordinator.protocol import HeartbeatRequest, HeartbeatResponse
from simulation.events import Facts
from simulation.network import Connection, Message
from simulation.recorder import Fold

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.consumer_host import ConsumerHost

_NONE = ErrorCode.NONE


@define(eq=False, repr=False)
class BeatWay:
    """The way of one consumer's heartbeats, as long as it is the same member of its group."""

    host: ConsumerHost
    pulse: Pulse
    connection: Connection
    broker: Broker
    #: What every heartbeat says, and rows of it would.
    request: HeartbeatRequest
    facts: Facts
    #: When the last one was sent, and the row that led to it.
    sent_ms: int = 0
    set_by: int | None = None
    #: The answer to it.
    response: HeartbeatResponse | None = None
    #: What counts them.
    fold: Fold | None = None

    def leave(self, now_ms: int) -> bool:
        """Let the heartbeat leave that is due, if it is all that is; whether it did."""
        pulse, host = self.pulse, self.host
        beat = pulse.beat(now_ms)
        if beat is None:
            return False
        self.request, self.sent_ms, self.set_by = beat, now_ms, host.cause
        host.network.post(self.connection, now_ms, arrive, self)
        host.kernel.wake_at(pulse.wakes_ms, host)
        return True

    def message(self) -> Message:
        """The last heartbeat like any other request."""
        return Message(
            self.connection, self.request, "Heartbeat", self.sent_ms, None, self.facts, self.set_by
        )


def arrive(way: BeatWay) -> None:
    """A heartbeat has come to its broker."""
    connection, broker, host = way.connection, way.broker, way.host
    now_ms = host.kernel.now_ms
    beaten = None
    if host.network.is_free(connection, broker):
        beaten = broker.beat_at_once(way.request, now_ms)
    if beaten is None:
        host.network.come(way.message())
        return
    if beaten[0].error_code is not _NONE:
        message = way.message()
        message.received_ms = now_ms
        broker.answer_beat(message, beaten, now_ms)
        return
    way.response, (timer, due_ms) = beaten
    fold = way.fold
    if fold is None or fold.is_closed:
        fold = way.fold = host.recorder.fold(host.name, way.set_by)
    broker.timers.set_one(timer, due_ms, fold, now_ms)
    host.network.post_home(connection, come_home, way)


def come_home(way: BeatWay) -> None:
    """The answer has come back to the consumer."""
    connection, host, fold = way.connection, way.host, way.fold
    if (
        host.seeks_quiet
        or not connection.is_open
        or connection.link.is_silent_to_client
        or connection.kept_in
        or fold is None
        or fold.is_closed
        or not fold.beats.count
        or not host.recorder.is_folding
        or not way.pulse.hear(way.request, host.kernel.now_ms)
    ):
        message = way.message()
        message.response, message.replied = way.response, None
        host.network.bring_home(message)
        return
    tally = fold.beats
    tally.count += 1
    tally.last_heard_ms = host.kernel.now_ms
