"""The ways of what a consumer at rest repeats, when nothing stands in them: most messages go so.

A consumer at rest (`client.pulse`) sends its heartbeats, and its commits of positions that have not
moved, over one connection to a coordinator that answers at once. Each goes through both machines
and over the wire as every request does, but what the way needs is kept in one place, and no message
is made of it unless it meets something: then it goes on like any other, from where it is. Where
quiet time is skipped each answer becomes a message on its way home, since that is what
`simulation.quiet` looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import define, field

from client.pulse import Errand, Pulse
from coordinator.errors import ErrorCode
from coordinator.protocol import HeartbeatRequest, OffsetCommitRequest, Request, Response
from coordinator.standing import Standing
from coordinator.timers import SetTimer
from simulation.events import Facts
from simulation.network import Connection, Message
from simulation.recorder import Fold, Tally

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.consumer_host import ConsumerHost

_NONE = ErrorCode.NONE


def _closed_fold() -> Fold:
    """A fold in which nothing is counted."""
    return Fold("", None, is_closed=True)


@define(eq=False, repr=False)
class Way:
    """The way of what one consumer repeats, as long as it is the same member of its group."""

    host: ConsumerHost
    pulse: Pulse
    errand: Errand
    connection: Connection
    broker: Broker
    #: What rows of it would say.
    facts: Facts
    #: When it was sent last, and the row that led to that.
    sent_ms: int = field(default=0, init=False)
    set_by: int | None = field(default=None, init=False)
    #: The answer to it.
    response: Response | None = field(default=None, init=False)
    #: Where it is counted, and among what else.
    tally: Tally = field(factory=Tally, init=False)
    fold: Fold = field(factory=_closed_fold, init=False)
    #: What is repeated.
    request: Request = field(kw_only=True)
    #: Whether each answer is looked at, for quiet time or for a row of its own.
    is_looked_at: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        """See who wants to know of each."""
        self.is_looked_at = self.host.seeks_quiet or not self.host.recorder.is_folding

    def is_of(self, message: Message) -> bool:
        """Whether a request like this goes this way."""
        return (
            self.request is message.request
            and self.connection is message.connection
            and self.facts is message.facts
        )

    def leave(self, now_ms: int) -> bool:
        """Let it leave if it is due, and that alone; whether it did."""
        pulse, errand, host = self.pulse, self.errand, self.host
        if errand.request is not self.request:
            return False
        wakes_ms = pulse.leave(errand, now_ms)
        if wakes_ms is None:
            return False
        self.sent_ms, self.set_by = now_ms, host.cause
        host.network.post(self.connection, arrive, self)
        host.kernel.wake_at(wakes_ms, host)
        is_beat_next = pulse.beats.at_ms < pulse.commits.at_ms
        host.next_way = host.beat_way if is_beat_next else host.commit_way
        return True

    def taken(self, now_ms: int) -> tuple[Response, SetTimer] | None:
        """What the coordinator makes of it, if it is plain: a good answer, and a session anew."""
        raise NotImplementedError

    def count_in(self, fold: Fold) -> None:
        """Let it be counted there from now on."""
        raise NotImplementedError

    def message(self) -> Message:
        """The last one like any other request."""
        raise NotImplementedError


@define(eq=False, repr=False)
class BeatWay(Way):
    """That of heartbeats."""

    request: HeartbeatRequest = field(kw_only=True)

    def taken(self, now_ms: int) -> tuple[Response, SetTimer] | None:
        """What the coordinator answers; one that is told of a rebalance asks it once more."""
        beaten = self.broker.machine.beat_at_once(self.request, now_ms)
        return None if beaten is None or beaten[0].error_code is not _NONE else beaten

    def count_in(self, fold: Fold) -> None:
        """Let it be counted among the heartbeats."""
        self.fold, self.tally = fold, fold.beats

    def message(self) -> Message:
        """The last one like any other request."""
        return Message(
            self.connection, self.request, "Heartbeat", self.sent_ms, None, self.facts, self.set_by
        )


@define(eq=False, repr=False)
class CommitWay(Way):
    """That of commits which say what is committed already."""

    request: OffsetCommitRequest = field(kw_only=True)
    #: What it came to the last time.
    standing: Standing | None = field(default=None, init=False)

    def taken(self, now_ms: int) -> tuple[Response, SetTimer] | None:
        """What the coordinator answers, and the log takes at once."""
        broker, standing = self.broker, self.standing
        broker.show_cluster()  # A topic may be gone.
        shard = broker.machine.shard_of(self.request.group_id or "")
        if not broker.writes_at_once(shard, now_ms):
            return None
        if standing is None:
            return self._begun(shard, now_ms)
        session = broker.machine.commit_again(standing, now_ms)
        if session is None:
            self.standing = None  # Somebody else has been there: look anew.
            return None
        broker.logs[shard].keep(standing)
        return standing.response, session

    def _begun(self, shard: int, now_ms: int) -> tuple[Response, SetTimer] | None:
        """The same for the first time, if it says nothing new."""
        broker, request = self.broker, self.request
        if not broker.is_committed(request):
            return None
        committed = broker.machine.commit_at_once(request, now_ms)
        if committed is None:
            return None
        _, records, _, response, session = committed
        broker.log_of(shard).repeat(records)
        self.standing = Standing(request, records, response, now_ms)
        return response, session

    def count_in(self, fold: Fold) -> None:
        """Let it be counted among the commits."""
        self.fold, self.tally = fold, fold.commits

    def message(self) -> Message:
        """The last one like any other request."""
        message = Message(
            self.connection,
            self.request,
            "OffsetCommit",
            self.sent_ms,
            None,
            self.facts,
            self.set_by,
        )
        message.is_repeat = True
        return message


def arrive(way: Way) -> None:
    """A request has come to its broker."""
    connection, broker, host = way.connection, way.broker, way.host
    network, now_ms = host.network, host.kernel.now_ms
    taken = way.taken(now_ms) if network.is_free(connection, broker) else None
    if taken is None:
        network.come(way.message())
        return
    way.response, (timer, due_ms) = taken
    if way.fold.is_closed:
        way.count_in(host.recorder.fold(host.name, way.set_by))
    broker.timers.set_one(timer, due_ms, way.fold, now_ms)
    network.post_home(connection, come_home, way)


def come_home(way: Way) -> None:
    """The answer has come back to the consumer."""
    connection, errand, tally = way.connection, way.errand, way.tally
    now_ms = way.host.kernel.now_ms
    if (
        way.is_looked_at
        or not tally.count
        or way.fold.is_closed
        or not connection.is_open
        or connection.link.is_silent_to_client
        or connection.kept_in
        or errand.request is not way.request
        or not way.pulse.hear(errand, now_ms)
    ):
        message = way.message()
        message.response, message.replied = way.response, None
        way.host.network.bring_home(message)
        return
    tally.count += 1
    tally.last_heard_ms = now_ms


def beat_way(host: ConsumerHost, message: Message, known: BeatWay | None) -> BeatWay:
    """The way of heartbeats such as this one, which is known or is made here."""
    if known is not None and known.is_of(message):
        return known
    request, pulse, connection, broker = _ends_of(host, message)
    assert isinstance(request, HeartbeatRequest)
    return BeatWay(host, pulse, pulse.beats, connection, broker, message.facts, request=request)


def commit_way(host: ConsumerHost, message: Message, known: CommitWay | None) -> CommitWay | None:
    """The same of commits such as this one; None if it may be news."""
    if not message.is_repeat:
        return None
    if known is not None and known.is_of(message):
        return known
    request, pulse, connection, broker = _ends_of(host, message)
    assert isinstance(request, OffsetCommitRequest)
    return CommitWay(host, pulse, pulse.commits, connection, broker, message.facts, request=request)


def _ends_of(host: ConsumerHost, message: Message) -> tuple[Request, Pulse, Connection, Broker]:
    """What is sent, by whom, over what and to whom."""
    assert host.machine is not None
    connection = message.connection
    broker = host.network.brokers[connection.link.broker]
    return message.request, host.machine.pulse, connection, cast("Broker", broker)
