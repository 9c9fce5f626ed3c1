"""A fetch that finds nothing goes round and round, and nobody plays it.

Such a fetch waits at the broker for `max_wait_ms`, comes back empty and is sent again: a cycle of
that wait and twice the link's nominal latency, in every mode. Where it is at a time follows from
the phase; it becomes an event when records come, when its link or its consumer is disturbed, and
never otherwise. A request that is sent behind it is handled when the fetch would have come back.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from attrs import define, field

from client.messages import FetchRequest
from simulation.cluster import SimulatedCluster, TopicPartition
from simulation.data_answers import RECORD_BYTES
from simulation.kernel import FAR_MS, Kernel, Rank, WakeUp
from simulation.network import Connection, Message, Network

_LOG = Rank.LOG


@define(eq=False)
class IdleFetch:
    """A fetch that arrived at `at_ms` and found nothing."""

    fetches: IdleFetches = field(repr=False)
    connection: Connection = field(repr=False)
    message: Message
    at_ms: int
    wait_ms: int
    cycle_ms: int
    latency_ms: int
    #: Whether one record is too little for it.
    wants_many: bool
    #: The turn in which it is looked at again, if there is one.
    wakes: WakeUp | None = field(default=None, repr=False)
    wakes_ms: int = field(default=0, repr=False)
    #: Whether it is stopped in its tracks: it comes back at the end of this wait, for real.
    is_real: bool = False
    #: Whether its client takes it for one that cannot time out, as it goes round.
    is_far: bool = False

    @property
    def name(self) -> str:
        """The connection that it waits on."""
        return self.connection.label

    def wake(self) -> None:
        """It is looked at."""
        self.fetches.look_at(self)

    def began_ms(self, now_ms: int) -> int:
        """When the present round reached the broker."""
        if self.is_real:
            return self.at_ms
        return self.at_ms + (now_ms - self.at_ms) // self.cycle_ms * self.cycle_ms

    def ready_ms(self, now_ms: int) -> int:
        """When the fetch is at the broker, from now on."""
        if self.at_ms <= now_ms <= self.at_ms + self.wait_ms:
            return now_ms  # In the first round, as most are.
        began_ms = self.began_ms(now_ms)
        return now_ms if now_ms <= began_ms + self.wait_ms else began_ms + self.cycle_ms

    def free_ms(self, now_ms: int) -> int:
        """When the broker is free for what comes behind, from now on."""
        return max(now_ms, self.began_ms(now_ms) + self.wait_ms)

    def sent_ms(self, now_ms: int) -> int:
        """When the present round was sent."""
        if self.at_ms <= now_ms <= self.at_ms + self.wait_ms + self.latency_ms:
            return self.at_ms - self.latency_ms
        began_ms = self.began_ms(now_ms)
        if now_ms > began_ms + self.wait_ms + self.latency_ms:
            began_ms += self.cycle_ms
        return began_ms - self.latency_ms


@define(eq=False, repr=False)
class IdleFetches:
    """All fetches that wait for records."""

    kernel: Kernel
    network: Network
    cluster: SimulatedCluster
    #: The clients that are left alone at the moment.
    asleep: Container[str] = ()
    #: Called before a fetch of such a client is looked at.
    before_look: Callable[[str], None] = field(default=lambda _client: None)
    #: The connections, by their labels, whose fetches have asked for a partition.
    _by_partition: dict[TopicPartition, dict[str, Connection]] = field(factory=dict)
    _looks: int = field(default=0, init=False)

    def park(self, message: Message) -> None:
        """Let a fetch wait for records."""
        connection = message.connection
        request = message.request
        assert isinstance(request, FetchRequest)
        if not connection.is_open:
            self.network.let_next_in(connection)  # Nobody would hear the answer.
            return
        latency_ms, wait_ms = connection.link.present_law.nominal_ms, request.max_wait_ms
        cycle_ms, wants_many = wait_ms + 2 * latency_ms, request.min_bytes > RECORD_BYTES
        now_ms = self.kernel.now_ms
        connection.idle = idle = IdleFetch(
            self, connection, message, now_ms, wait_ms, cycle_ms, latency_ms, wants_many
        )
        by_partition, label = self._by_partition, connection.label
        for wanted in message.wanted:
            place = (wanted.topic, wanted.partition)
            waiting = by_partition.get(place)
            if waiting is None:
                waiting = by_partition[place] = {}
            if waiting.get(label) is not connection:
                waiting[label] = connection
        if not self._goes_round(message):
            idle.is_real = True
        elif connection.waiting:
            self.network.let_next_in(connection)
        else:
            connection.handled = None
        self._arrange_look(connection, idle)
        if not (idle.is_real or idle.is_far):
            # It is answered in its first round, so this is what its client will go by then.
            connection.peer.set_sent(connection.name, request, now_ms - latency_ms)

    def _goes_round(self, message: Message) -> bool:
        """Whether it would come back empty and be sent again as it is."""
        peer, link = message.connection.peer, message.connection.link
        is_latest_wish = peer.wants_other_since_ms < message.sent_ms
        return not message.unknown and link.is_clear and peer.is_listening and is_latest_wish

    # --- when it is looked at again ---

    def on_log_changed(self, partition: TopicPartition) -> None:
        """A log grows otherwise than before, or has another leader, or is gone."""
        waiting = self._by_partition.get(partition, {})
        for label, connection in list(waiting.items()):
            idle = connection.idle
            if isinstance(idle, IdleFetch) and _is_about(idle.message, partition):
                self._arrange_look(connection, idle, at_once=True)
            else:
                del waiting[label]  # It was about this partition once.

    def on_disturbed(self, connection: Connection) -> None:
        """The link or the consumer is not what it was: the present round is the last."""
        if connection.link.client in self.asleep:
            self.before_look(connection.link.client)
        idle = connection.idle
        if not isinstance(idle, IdleFetch) or idle.is_real:
            return
        now_ms = self.kernel.now_ms
        connection.peer.set_sent(connection.name, idle.message.request, idle.sent_ms(now_ms))
        idle.at_ms = max(idle.began_ms(now_ms), idle.ready_ms(now_ms) - idle.wait_ms)
        if now_ms > idle.began_ms(now_ms) + idle.wait_ms:
            idle.at_ms = idle.ready_ms(now_ms)
        idle.is_real = True
        if connection.handled is None:
            connection.handled = idle.message
        self._arrange_look(connection, idle)

    def pass_idle(self, message: Message) -> int:
        """A request has come behind an idle fetch: when it is handled."""
        connection = message.connection
        idle = connection.idle
        assert isinstance(idle, IdleFetch)
        # Right behind it: what is still on its way comes later than the fetch, if that is answered.
        connection.peer.put_behind(connection.name, idle.message.request, message.request)
        return idle.free_ms(self.kernel.now_ms)

    def forget(self, connection: Connection) -> None:
        """A connection is gone, and its fetch with it."""
        idle, connection.idle = connection.idle, None
        if isinstance(idle, IdleFetch):
            idle.wakes = None
            if connection.handled is idle.message:
                self.network.let_next_in(connection)  # What was sent behind it is still handled.

    # --- inside ---

    def _arrange_look(
        self, connection: Connection, idle: IdleFetch, *, at_once: bool = False
    ) -> None:
        now_ms = self.kernel.now_ms
        next_ms = now_ms if at_once else self._next_news_ms(idle)
        look_ms = None if next_ms is None else idle.ready_ms(next_ms)
        if idle.is_real or (idle.wants_many and self._has_some(idle)):
            end_ms = idle.free_ms(now_ms)
            look_ms = end_ms if look_ms is None else min(max(look_ms, idle.at_ms), end_ms)
        if not (idle.is_real or idle.is_far or self._is_in_time(idle, look_ms)):
            idle.is_far = True
            connection.peer.set_sent(connection.name, idle.message.request, FAR_MS)
        if idle.wakes is not None:
            if idle.wakes[0] == look_ms:
                return
            idle.wakes = None
        if look_ms is not None:
            self._look_in(connection, idle, look_ms)

    def _is_in_time(self, idle: IdleFetch, look_ms: int | None) -> bool:
        """Whether it is looked at in its first round, and before its client gives it up."""
        if look_ms is None or look_ms > idle.at_ms + idle.wait_ms:
            return False
        sent_ms = idle.at_ms - idle.latency_ms
        return look_ms <= sent_ms + idle.connection.peer.request_timeout_ms

    def _look_in(self, connection: Connection, idle: IdleFetch, look_ms: int) -> None:
        self._looks = number = self._looks + 1
        client = connection.link.client
        self.kernel.wake_in((look_ms, _LOG, client, connection.name, number, None, idle))

    def _next_news_ms(self, idle: IdleFetch) -> int | None:
        """When some log has more than this fetch asks for, or enough for it to be answered."""
        now_ms, next_ms, topics = self.kernel.now_ms, None, self.cluster.topics
        for wanted in idle.message.wanted:
            topic = topics.get(wanted.topic)
            if topic is None or not 0 <= wanted.partition < len(topic.logs):
                continue  # Whoever deletes a topic says so (`on_log_changed`).
            log = topic.logs[wanted.partition]
            at_ms = log.grows_beyond_ms(wanted.fetch_offset, now_ms)
            if at_ms is not None and (next_ms is None or at_ms < next_ms):
                next_ms = at_ms
        return next_ms

    def _has_some(self, idle: IdleFetch) -> bool:
        """Whether there is something, though too little to be answered before the wait is over."""
        now_ms = self.kernel.now_ms
        return any(
            (log := self.cluster.log((wanted.topic, wanted.partition))) is not None
            and log.end_at(now_ms) > wanted.fetch_offset
            for wanted in idle.message.wanted
        )

    def look_at(self, idle: IdleFetch) -> None:
        """Answer a fetch if there is something for it by now, or if its wait is over."""
        connection, message = idle.connection, idle.message
        link = connection.link
        idle.wakes = None
        if connection.idle is not idle:
            return
        if link.client in self.asleep:
            self.before_look(link.client)
            if connection.idle is not idle:
                return  # What was made up for has brought it home.
        now_ms = self.kernel.now_ms
        if connection.handled is not None and connection.handled is not message:
            # That one is answered first: it was put before this fetch when it came.
            self._look_later(connection, idle, now_ms + 1)
            return
        at_last = idle.is_real or (idle.wants_many and self._has_some(idle))
        if at_last:
            at_last = now_ms >= idle.began_ms(now_ms) + idle.wait_ms
        connection.idle = None
        if self.network.brokers[link.broker].answer_parked(message, at_last=at_last):
            idle.wakes = None
            if idle.is_far and not idle.is_real:
                connection.peer.set_sent(connection.name, message.request, idle.sent_ms(now_ms))
        else:
            connection.idle = idle
            self._arrange_look(connection, idle)

    def _look_later(self, connection: Connection, idle: IdleFetch, look_ms: int) -> None:
        if not (idle.is_real or idle.is_far):
            idle.is_far = True
            connection.peer.set_sent(connection.name, idle.message.request, FAR_MS)
        self._look_in(connection, idle, look_ms)


def _is_about(message: Message, partition: TopicPartition) -> bool:
    return any((wanted.topic, wanted.partition) == partition for wanted in message.wanted)
