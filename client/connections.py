"""Connections to brokers: what we know of each, and when it may be tried again.

`ConnectionStates` is Kafka's `ClusterConnectionStates`; `Channels` stands where Kafka has a
socket selector. Opening a connection takes no time: the host says beforehand how attempts end
(`Link`), and an accepted one is ready at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum

from attrs import define, field

from client.backoff import ExponentialBackoff
from client.timers import LONG_AGO, NEVER


class Link(Enum):
    """What becomes of an attempt to open a connection."""

    ACCEPT = "accept"
    REFUSE = "refuse"
    HANG = "hang"


class ConnectionState(Enum):
    """How far a connection is, as the client believes."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    READY = "ready"


# To name a member of an enumeration costs as much as a call, and these are asked in every pass.
_READY, _DISCONNECTED = ConnectionState.READY, ConnectionState.DISCONNECTED


@define(eq=False)
class _NodeState:
    host: str
    last_attempt_ms: int
    reconnect_backoff_ms: int
    setup_timeout_ms: int
    state: ConnectionState = ConnectionState.CONNECTING
    failed_attempts: int = 0
    failed_connect_attempts: int = 0


@define(eq=False, kw_only=True, repr=False)
class ConnectionStates:
    """Every connection's state, and the back-off before it may be opened again."""

    reconnect_backoff: ExponentialBackoff
    setup_timeout: ExponentialBackoff
    _nodes: dict[str, _NodeState] = field(factory=dict)
    #: How many connections are being opened.
    connecting_count: int = 0
    #: From when on every connection that is down may be tried again.
    backs_off_until_ms: int = LONG_AGO

    def state_of(self, connection: str) -> ConnectionState | None:
        """The state, or None for one that was never tried."""
        node = self._nodes.get(connection)
        return None if node is None else node.state

    def can_connect(self, connection: str, now_ms: int) -> bool:
        """Whether it is down and its back-off is over."""
        node = self._nodes.get(connection)
        if node is None:
            return True
        return (
            node.state is ConnectionState.DISCONNECTED
            and now_ms - node.last_attempt_ms >= node.reconnect_backoff_ms
        )

    def connection_delay_ms(self, connection: str, now_ms: int) -> int:
        """How long until it makes sense to look at this connection again."""
        node = self._nodes.get(connection)
        if node is None:
            return 0
        if node.state is _READY:
            return NEVER
        if node.state is _DISCONNECTED:
            return max(node.reconnect_backoff_ms - (now_ms - node.last_attempt_ms), 0)
        return node.setup_timeout_ms

    def is_unavailable(self, connection: str, now_ms: int) -> bool:
        """Whether it is down and must not be tried yet."""
        if now_ms >= self.backs_off_until_ms:
            return False
        node = self._nodes.get(connection)
        return (
            node is not None
            and node.state is ConnectionState.DISCONNECTED
            and self.connection_delay_ms(connection, now_ms) > 0
        )

    def is_disconnected(self, connection: str) -> bool:
        """Whether it was tried or open, and is down."""
        node = self._nodes.get(connection)
        return node is not None and node.state is _DISCONNECTED

    def is_connecting(self, connection: str) -> bool:
        """Whether it is being opened."""
        return self.state_of(connection) is ConnectionState.CONNECTING

    def is_ready(self, connection: str) -> bool:
        """Whether requests can go out on it."""
        node = self._nodes.get(connection)
        return node is not None and node.state is _READY

    @property
    def has_ready(self) -> bool:
        """Whether any connection is ready."""
        return any(node.state is ConnectionState.READY for node in self._nodes.values())

    def last_attempt_ms(self, connection: str) -> int:
        """When it was last tried or lost."""
        node = self._nodes.get(connection)
        return LONG_AGO if node is None else node.last_attempt_ms

    def connecting(self, connection: str, now_ms: int, host: str) -> None:
        """An attempt begins; a broker that moved to another host begins without a past."""
        node = self._nodes.get(connection)
        if node is None or node.host != host:
            self._nodes[connection] = _NodeState(
                host,
                now_ms,
                self.reconnect_backoff.backoff_ms(0),
                self.setup_timeout.backoff_ms(0),
            )
            self.connecting_count += node is None or node.state is not ConnectionState.CONNECTING
            return
        node.last_attempt_ms = now_ms
        self._move(node, ConnectionState.CONNECTING)

    def ready(self, connection: str) -> None:
        """The attempt succeeded."""
        node = self._nodes[connection]
        self._move(node, ConnectionState.READY)
        node.failed_attempts = 0
        node.reconnect_backoff_ms = self.reconnect_backoff.backoff_ms(0)
        self._reset_setup_timeout(node)

    def disconnected(self, connection: str, now_ms: int) -> None:
        """The connection is gone, or the attempt failed."""
        node = self._nodes[connection]
        node.last_attempt_ms = now_ms
        node.reconnect_backoff_ms = self.reconnect_backoff.backoff_ms(node.failed_attempts)
        until_ms = now_ms + node.reconnect_backoff_ms
        self.backs_off_until_ms = max(self.backs_off_until_ms, until_ms)
        node.failed_attempts += 1
        if node.state is ConnectionState.CONNECTING:
            node.failed_connect_attempts += 1
            node.setup_timeout_ms = self.setup_timeout.backoff_ms(node.failed_connect_attempts)
        else:
            self._reset_setup_timeout(node)
        self._move(node, ConnectionState.DISCONNECTED)

    def timed_out(self, now_ms: int) -> list[str]:
        """The attempts that have taken too long."""
        if not self.connecting_count:
            return []
        return [
            connection
            for connection, node in self._nodes.items()
            if node.state is ConnectionState.CONNECTING
            and now_ms - node.last_attempt_ms > node.setup_timeout_ms
        ]

    def _move(self, node: _NodeState, state: ConnectionState) -> None:
        self.connecting_count += (state is ConnectionState.CONNECTING) - (
            node.state is ConnectionState.CONNECTING
        )
        node.state = state

    def _reset_setup_timeout(self, node: _NodeState) -> None:
        node.failed_connect_attempts = 0
        node.setup_timeout_ms = self.setup_timeout.backoff_ms(0)


class ChannelState(Enum):
    """What is really true of a connection, whether or not the client has noticed."""

    OPEN = "open"
    REFUSED = "refused"
    HANGING = "hanging"
    CUT = "cut"


_OPEN, _CUT, _REFUSED = ChannelState.OPEN, ChannelState.CUT, ChannelState.REFUSED

#: How an attempt looks from below, by what the host said would become of it.
_OPENED_AS = {
    Link.ACCEPT: ChannelState.OPEN,
    Link.REFUSE: ChannelState.REFUSED,
    Link.HANG: ChannelState.HANGING,
}


@define(eq=False)
class Channel:
    """One opened connection and the replies that have arrived on it, in order."""

    state: ChannelState
    inbound: deque[object] = field(factory=deque)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state is ChannelState.CUT or self.state is ChannelState.REFUSED


@define(eq=False)
class Received:
    """What one look at the network brought: one reply per connection, and those that went."""

    replies: Sequence[tuple[str, object]] = ()
    gone: Sequence[str] = ()


@define(eq=False)
class Channels:
    """All open connections, in the order of opening; replies and cuts wait here to be noticed."""

    links: dict[str, Link] = field(factory=dict)
    _open: dict[str, Channel] = field(factory=dict)
    #: Whether the present or next wait ends at once: something was sent, opened or called.
    is_woken: bool = False
    #: How many replies and ends of connections wait to be noticed.
    news: int = 0

    def open(self, connection: str) -> Link:
        """Open a connection; an accepted one also ends the next wait."""
        link = self.links.get(connection, Link.ACCEPT)
        self.close(connection)
        self._open[connection] = Channel(_OPENED_AS[link])
        if link is Link.ACCEPT:
            self.is_woken = True
        elif link is Link.REFUSE:
            self.news += 1
        return link

    def close(self, connection: str) -> Channel | None:
        """Give up a connection and what has arrived on it."""
        channel = self._open.pop(connection, None)
        if channel is not None:
            self.news -= len(channel.inbound) + channel.is_over
        return channel

    def arrive(self, connection: str, reply: object) -> None:
        """A reply comes in on an open connection."""
        self._open[connection].inbound.append(reply)
        self.news += 1

    def get(self, connection: str) -> Channel | None:
        """The channel, if the connection is open or being opened."""
        return self._open.get(connection)

    @property
    def names(self) -> list[str]:
        """All connections, in the order of opening."""
        return list(self._open)

    def is_usable(self, connection: str) -> bool:
        """Whether bytes can be written, also into a cut that nobody has noticed."""
        channel = self._open.get(connection)
        return channel is not None and (channel.state is _OPEN or channel.state is _CUT)

    def sent(self, connection: str) -> bool:
        """A request was put on the wire; whether it is lost: the broker had closed the connection.

        The next wait ends at once, as with Kafka's selector.
        """
        self.is_woken = True
        channel = self._open.get(connection)
        return channel is None or channel.state is _CUT

    def cut(self, connection: str) -> None:
        """The broker closes the connection; what had arrived before can still be read."""
        channel = self._open.get(connection)
        if channel is not None and channel.state is ChannelState.OPEN:
            channel.state = ChannelState.CUT
            self.news += 1

    def receive(self) -> Received | None:
        """Take what there is: from each connection one reply, or the news that it is gone."""
        self.is_woken = False
        if not self.news:
            return None
        replies: list[tuple[str, object]] = []
        gone: list[str] = []
        for connection, channel in self._open.items():
            if channel.inbound:
                replies.append((connection, channel.inbound.popleft()))
            elif channel.state is _CUT or channel.state is _REFUSED:
                gone.append(connection)
        self.news -= len(replies)
        for connection in gone:
            self.close(connection)
        return Received(replies, gone)
