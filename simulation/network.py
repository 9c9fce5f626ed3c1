"""The network, as TCP shows it: connections that keep order, links that delay or go silent.

Nothing is lost alone, and nothing overtakes another on its connection. A message on a silent link
waits until the link is repaired, and what comes behind it waits with it; a connection that is reset
takes with it what is on its way. A broker handles one request of a connection at a time. When a
message sent now arrives is drawn from the link's law, by the moment of sending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from sys import intern
from typing import Any, Protocol

from attrs import define, field, frozen

from client.connections import Link as Opening
from client.messages import FetchPartition
from coordinator.protocol import Request
from simulation.chance import LAN, Law, stream_key
from simulation.events import Facts
from simulation.kernel import Kernel, Rank, Turn

_REQUEST, _REPLY = Rank.REQUEST, Rank.REPLY
#: What a link lets by only if it lets requests of every kind by.
_ANY_KIND = ""


_KINDS: dict[type, str] = {}


def kind_of(request: Request) -> str:
    """What a request is called in a recording."""
    known = _KINDS.get(type(request))
    if known is None:
        known = _KINDS[type(request)] = type(request).__name__.removesuffix("Request")
    return known


@define(eq=False)
class Message:
    """A request on its way there and back."""

    connection: Connection
    request: Request
    kind: str
    sent_ms: int
    #: The row of its sending; None for what has no rows of its own.
    row: int | None
    #: What its rows say; those of its answer are here once it is answered with a row.
    facts: Facts
    #: The row that led to it, if it has no row of its own.
    set_by: int | None = None
    #: The first error in its answer.
    error: str = "NONE"
    #: Of a Fetch: every partition of its session.
    wanted: tuple[FetchPartition, ...] = ()
    #: How many of them the broker did not know when it came.
    unknown: int = 0
    #: Whether it commits what is committed already.
    is_repeat: bool = False
    #: Whether a script sent it; it may speak for anybody.
    is_by_hand: bool = False
    #: Whether the coordinator has told that it refuses this commit.
    is_refused: bool = False
    received_ms: int = 0
    received: int | None = None
    #: Once it is answered: with what, and the row of that, if it has one.
    response: object = field(init=False, repr=False)
    replied: int | None = field(init=False, repr=False)

    def again(self, sent_ms: int) -> Message:
        """The same, sent at another time."""
        return Message(
            self.connection,
            self.request,
            self.kind,
            sent_ms,
            self.row,
            self.facts,
            self.set_by,
            self.error,
            self.wanted,
            self.unknown,
            self.is_repeat,
            self.is_by_hand,
            self.is_refused,
            self.received_ms,
            self.received,
        )


class Peer(Protocol):
    """A client: whoever hears answers."""

    name: str

    @property
    def request_timeout_ms(self) -> int:
        """How long after it was sent it gives a request up."""

    @property
    def is_listening(self) -> bool:
        """Whether it reads what arrives."""

    @property
    def wants_other_since_ms(self) -> int:
        """When it last came to want other fetches than those that are under way."""

    def put_behind(self, connection: str, request: Request, other: Request) -> None:
        """A request ended without news and was sent again, so that this other one is before it."""

    def set_sent(self, connection: str, request: Request, sent_ms: int) -> None:
        """This is when a request was sent, as far as its time-out is concerned."""

    def hear(self, message: Message, response: object, replied: int | None) -> None:
        """An answer arrives."""

    def hear_reset(self, connection: Connection, cause: int | None) -> None:
        """A connection turns out to be gone."""


@frozen
class Passage:
    """Something that has come to the end of a link: whether the link lets it by, and what then."""

    is_stopped: Callable[[], bool]
    go_on: Callable[[], None]


@define(eq=False)
class Connection:
    """One connection, from its opening to its end."""

    name: str
    peer: Peer
    link: Link
    #: Which life of the broker it was opened to.
    broker_life: int
    #: The streams of chance that say how long messages take, there and back.
    out_stream: int
    in_stream: int
    is_open: bool = True
    #: Whether the broker knows that it is gone: what comes now is lost.
    is_cut: bool = False
    #: The request that the broker is handling, and those that wait behind it.
    handled: Message | None = None
    waiting: deque[Message] | None = None
    #: Whether those that wait are being let in, one after the other.
    is_letting_in: bool = False
    #: A fetch that found nothing and goes round and round.
    idle: object | None = None
    last_arrival_ms: int = 0
    last_homecoming_ms: int = 0
    #: What a stopped link keeps of requests and of answers, and all that came behind it. Most
    #: connections never have any, and are asked for it by every message.
    kept_out: deque[Passage] | None = None
    kept_in: deque[Passage] | None = None
    #: As whom its client sent each kind of request over it last, and what rows of it say then.
    spoken: dict[type[Request], tuple[Facts, str, Facts]] = field(factory=dict, repr=False)
    #: Its name in a recording.
    label: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Name it."""
        self.label = f"{self.peer.name}/{self.name}"

    def cut(self) -> None:
        """The broker comes to know that it is gone."""
        self.is_cut = True


@define(eq=False)
class Link:
    """What lies between one client and one broker."""

    client: str
    broker: int
    law: Law = LAN
    extra_ms: int = 0
    is_silent_to_broker: bool = False
    is_silent_to_client: bool = False
    #: The kinds of requests that do not get through at the moment; "" stands for all.
    held_kinds: frozenset[str] = frozenset()
    #: How to go on with what it keeps, for each direction of a connection that it stops.
    held: list[Callable[[], None]] = field(factory=list)
    #: When its rules last changed.
    changed_ms: int = -1
    _slow: Law | None = None

    @property
    def present_law(self) -> Law:
        """The law, slowed down if it is."""
        if self.extra_ms == 0:
            return self.law
        if self._slow is None or self._slow.quantiles[0] != self.law.quantiles[0] + self.extra_ms:
            self._slow = self.law.slower_by(self.extra_ms)
        return self._slow

    def take(self, law: Law) -> None:
        """Let another law say how long messages take from now on."""
        self.law, self._slow = law, None

    @property
    def is_clear(self) -> bool:
        """Whether everything gets through."""
        return not (self.is_silent_to_broker or self.is_silent_to_client or self.held_kinds)

    def stops(self, kind: str) -> bool:
        """Whether a request of this kind does not get through now."""
        return self.is_silent_to_broker or kind in self.held_kinds or "" in self.held_kinds

    def stops_answers(self) -> bool:
        """Whether nothing of the broker's gets through now."""
        return self.is_silent_to_client

    def release(self) -> None:
        """Let go what can go; what still cannot comes back to be held."""
        held, self.held = self.held, []
        for go in held:
            go()


class BrokerSide(Protocol):
    """What the network needs of a broker."""

    life: int
    is_up: bool

    def receive(self, message: Message) -> None:
        """Begin to handle a request."""

    def answer_parked(self, message: Message, *, at_last: bool) -> bool:
        """Look again at a fetch that waits; whether it was answered."""


@define(eq=False, repr=False)
class Network:
    """All links and connections."""

    kernel: Kernel
    seed: int
    law: Law = LAN
    brokers: dict[int, BrokerSide] = field(factory=dict)
    links: dict[tuple[str, int], Link] = field(factory=dict)
    #: The open connections, by client and name.
    open: dict[tuple[str, str], Connection] = field(factory=dict)
    lost: Callable[[Message, str], None] = field(default=lambda _message, _why: None)
    #: Called when a request reaches a connection whose fetch goes round idly; when it is handled.
    pass_idle: Callable[[Message], int] = field(default=lambda _message: 0)
    forget_idle: Callable[[Connection], None] = field(default=lambda _connection: None)
    _sent: int = 0

    def link(self, client: str, broker: int) -> Link:
        """The link between these two."""
        found = self.links.get((client, broker))
        if found is None:
            found = self.links[client, broker] = Link(client, broker, self.law)
        return found

    # --- connections ---

    def opening(self, client: str, broker: int) -> Opening:
        """What becomes of an attempt to connect now."""
        link = self.links.get((client, broker))
        if link is not None and (link.is_silent_to_broker or link.is_silent_to_client):
            return Opening.HANG
        return Opening.ACCEPT if self.brokers[broker].is_up else Opening.REFUSE

    def connect(self, peer: Peer, name: str, broker: int) -> Connection:
        """A client opens a connection."""
        link = self.link(peer.name, broker)
        label = f"{peer.name}/{name}"
        out, back = stream_key(self.seed, f"{label}/out"), stream_key(self.seed, f"{label}/in")
        name = intern(name)  # Each client has its own of the same name, and turns hold it.
        connection = Connection(name, peer, link, self.brokers[broker].life, out, back)
        self.open[peer.name, name] = connection
        return connection

    def close(self, connection: Connection) -> None:
        """A client gives a connection up; what it has sent still arrives."""
        connection.is_open = False
        self.forget_idle(connection)
        key = (connection.peer.name, connection.name)
        if self.open.get(key) is connection:
            del self.open[key]

    def reset(self, connection: Connection, cause: int | None, *, acted: bool = False) -> None:
        """A connection breaks: both sides forget it, and what is on its way is lost.

        If the broker has `acted`, it still gets what was sent to it; only its answers are lost, and
        what the client sends before it knows.
        """
        if acted:
            self.post(connection, self._come_to_an_end, connection)
        else:
            connection.broker_life = -1
            connection.handled = None
            while connection.waiting:
                self.lost(connection.waiting.popleft(), "the connection is gone")
        self.close(connection)
        hear = partial(connection.peer.hear_reset, connection, cause)
        self.post_home(connection, partial(self._come_home, connection), hear)

    # --- messages ---

    def send(self, message: Message) -> None:
        """Put a request on the wire."""
        self.post(message.connection, self.come, message)

    def post(self, connection: Connection, errand: Callable[[Any], None], what: object) -> None:
        """Let something be done with what is sent now, when it comes to the broker."""
        link, kernel = connection.link, self.kernel
        now_ms = kernel.now_ms
        law = link.present_law if link.extra_ms else link.law
        at_ms = now_ms + law.drawn(connection.out_stream, now_ms)
        if at_ms < connection.last_arrival_ms:
            at_ms = connection.last_arrival_ms
        connection.last_arrival_ms = at_ms
        self._sent = sent = self._sent + 1
        kernel.carry((at_ms, _REQUEST, link.client, connection.name, sent, errand, what))

    def is_free(self, connection: Connection, broker: BrokerSide) -> bool:
        """Whether the broker would handle at once what comes over a connection, of any kind."""
        link = connection.link
        return (
            connection.handled is None
            and connection.idle is None
            and broker.is_up
            and connection.broker_life == broker.life
            and not (connection.waiting or connection.kept_out or connection.is_cut)
            and not (link.is_silent_to_broker or link.held_kinds)
        )

    def come(self, message: Message) -> None:
        """A request comes to the end of its link."""
        connection = message.connection
        link = connection.link
        broker = self.brokers[link.broker]
        if self.is_free(connection, broker):
            connection.handled = message
            broker.receive(message)
        elif connection.kept_out or link.stops(message.kind):
            is_stopped = partial(link.stops, message.kind)
            passage = Passage(is_stopped, partial(self._arrive, message))
            self._keep_out(connection, passage)
        else:
            self._arrive(message)

    def _come_to_an_end(self, connection: Connection) -> None:
        """The end of a connection comes to the broker, behind all that was sent before it."""
        stops = partial(connection.link.stops, _ANY_KIND)
        if connection.kept_out or stops():
            self._keep_out(connection, Passage(stops, connection.cut))
        else:
            connection.cut()

    def _arrive(self, message: Message) -> None:
        connection = message.connection
        broker = self.brokers[connection.link.broker]
        if not broker.is_up or connection.broker_life != broker.life or connection.is_cut:
            self.lost(message, "the connection is gone")
        elif connection.handled is not None or connection.waiting:
            if connection.waiting is None:
                connection.waiting = deque()
            connection.waiting.append(message)
        else:
            self._handle(message, broker)

    def _handle(self, message: Message, broker: BrokerSide) -> None:
        """Handle a request, when a fetch that goes round idly lets it by."""
        connection = message.connection
        connection.handled = message
        if connection.idle is not None:
            free_ms = self.pass_idle(message)
            if free_ms > self.kernel.now_ms:
                self._sent += 1
                turn = (free_ms, _REQUEST, connection.link.client, connection.name, self._sent)
                self.kernel.at(turn, partial(self._handle_late, message))
                return
        broker.receive(message)

    def _handle_late(self, message: Message) -> None:
        connection = message.connection
        broker = self.brokers[connection.link.broker]
        if connection.broker_life == broker.life and connection.handled is message:
            broker.receive(message)

    def let_next_in(self, connection: Connection) -> None:
        """The broker is done with a request: on to the next."""
        connection.handled = None
        if connection.is_letting_in or not connection.waiting:
            return  # A line of hundreds is taken one by one, not each from within the one before.
        connection.is_letting_in = True
        broker = self.brokers[connection.link.broker]
        while connection.waiting and connection.handled is None:
            self._handle(connection.waiting.popleft(), broker)
        connection.is_letting_in = False

    def reply(self, message: Message, response: object, replied: int | None) -> None:
        """Put an answer on the wire; the next request of the connection is handled at once."""
        connection = message.connection
        message.response, message.replied = response, replied
        self.post_home(connection, self.bring_home, message)
        if connection.waiting:
            self.let_next_in(connection)
        else:
            connection.handled = None

    def post_home(
        self, connection: Connection, errand: Callable[[Any], None], what: object
    ) -> None:
        """Let something be done with what is sent now, when it comes to the client."""
        link, kernel = connection.link, self.kernel
        now_ms = kernel.now_ms
        law = link.present_law if link.extra_ms else link.law
        at_ms = now_ms + law.drawn(connection.in_stream, now_ms)
        if at_ms < connection.last_homecoming_ms:
            at_ms = connection.last_homecoming_ms
        connection.last_homecoming_ms = at_ms
        self._sent = sent = self._sent + 1
        kernel.carry((at_ms, _REPLY, link.client, connection.name, sent, errand, what))

    def bring_home(self, message: Message) -> None:
        """An answer comes to the end of its link."""
        connection = message.connection
        hear = connection.peer.hear
        if connection.kept_in or connection.link.is_silent_to_client:
            answer = partial(hear, message, message.response, message.replied)
            self._come_home(connection, answer)
        else:
            hear(message, message.response, message.replied)

    def _come_home(self, connection: Connection, deliver: Callable[[], None]) -> None:
        link = connection.link
        if connection.kept_in or link.is_silent_to_client:
            if connection.kept_in is None:
                connection.kept_in = deque()
            self._keep(connection, connection.kept_in, Passage(link.stops_answers, deliver))
        else:
            deliver()

    # --- links that stop something ---

    def _keep_out(self, connection: Connection, passage: Passage) -> None:
        if connection.kept_out is None:
            connection.kept_out = deque()
        self._keep(connection, connection.kept_out, passage)

    def _keep(self, connection: Connection, kept: deque[Passage], passage: Passage) -> None:
        """The link stops this one, or keeps something that came before it."""
        kept.append(passage)
        if len(kept) == 1:
            connection.link.held.append(partial(self._send_again, connection, kept))

    def _go_on(self, connection: Connection, kept: deque[Passage]) -> None:
        """Let everything by, in order, up to the first that the link stops."""
        while kept:
            if kept[0].is_stopped():
                connection.link.held.append(partial(self._send_again, connection, kept))
                return
            kept[0].go_on()
            kept.popleft()

    def _send_again(self, connection: Connection, kept: deque[Passage]) -> None:
        """The link lets something by again: what it kept is on its way once more."""
        is_out = kept is connection.kept_out
        now_ms = self.kernel.now_ms
        stream = connection.out_stream if is_out else connection.in_stream
        latency_ms = connection.link.present_law.drawn(stream, now_ms)
        self._sent += 1
        rank = Rank.REQUEST if is_out else Rank.REPLY
        turn = Turn(now_ms + latency_ms, rank, connection.peer.name, connection.name, self._sent)
        self.kernel.at(turn, partial(self._go_on, connection, kept))
