"""What binds a consumer's machine to virtual time, to the network and to the recorder.

Every input goes through `_let`, and what the machine tells in return is carried out there: requests
go on the wire, and what the application was given, did and lost is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import define, field

from client.connections import Link as Opening
from client.consumer import Consumer
from client.messages import FetchRequest
from client.network import ConnectionAttempted, ConnectionClosed, RequestSent
from client.outputs import (
    ApplicationEnded,
    ProcessingBegan,
    RecordsProcessed,
    RecordsReturned,
)
from client.states import MemberState
from coordinator.protocol import (
    OffsetCommitRequest,
    Request,
)
from simulation.chance import Dice, stream_key
from simulation.consumer_book import ConsumerBook
from simulation.errors import SimulationError
from simulation.events import WITHOUT_CLOSING, Facts, WorldEventKind
from simulation.facts import facts_of_reply
from simulation.kernel import Rank, Turn
from simulation.network import Connection, Message, Network

#: Requests without rows of their own.
_WITHOUT_ROWS = frozenset({"Fetch", "Metadata", "Heartbeat"})
#: So many requests fit into one life of a consumer.
_IDS_OF_A_LIFE = 1 << 32
_LIVES_OF_A_CONSUMER = 1 << 16

W = WorldEventKind


@define(eq=False, kw_only=True)
class ConsumerHost(ConsumerBook):
    """One consumer through all its lives."""

    network: Network
    brokers_of: Callable[[str], int]
    on_pause: Callable[[Connection], None]
    #: Called after each step of the machine; quiet time is found there.
    after_step: Callable[[ConsumerHost], None] = field(default=lambda _host: None)
    #: Called before anything touches the consumer.
    before_touching: Callable[[ConsumerHost], None] = field(default=lambda _host: None)
    #: Called with what ended its application and should not have.
    on_failure: Callable[[BaseException], None] = field(default=lambda _error: None)
    is_paused: bool = field(default=False, init=False)
    #: What ended its application in the life before this one, if anything was raised.
    failure: BaseException | None = field(default=None, init=False)
    life: int = field(default=0, init=False)
    connections: dict[str, Connection] = field(factory=dict, init=False)
    _inbox: list[Callable[[], None]] = field(factory=list, init=False)
    _wake: Turn | None = field(default=None, init=False)

    @property
    def is_alive(self) -> bool:
        """Whether it runs, paused or not."""
        return self.machine is not None

    @property
    def is_listening(self) -> bool:
        """Whether it reads what arrives."""
        return self.machine is not None and not self.is_paused

    def is_settled_in(self, generation_id: int) -> bool:
        """Whether it is a member of this generation and wants no other."""
        group = None if self.machine is None else self.machine.calls.group
        if group is None:
            return True
        membership = group.membership
        return (
            membership.state is MemberState.STABLE
            and membership.generation.generation_id == generation_id
            and not membership.is_rejoin_needed_or_pending
        )

    def __repr__(self) -> str:
        return f"<ConsumerHost {self.name}>"

    # --- its lives ---

    def start(self, cause: int | None = None) -> None:
        """Begin to work."""
        if self.machine is not None:
            raise ValueError(f"{self.name} is running already")
        role = self.role
        self.life += 1
        self.cause = self._record(W.CONSUMER_STARTED, cause)
        self.is_paused = self.is_stopping = False
        self._forget()
        dice = Dice(stream_key(role.seed, f"{role.name}/choices"), self._own_ms)
        machine = Consumer(role.config, now_ms=self.kernel.now_ms, chance=dice)
        first_id = (role.number * _LIVES_OF_A_CONSUMER + self.life) * _IDS_OF_A_LIFE
        machine.calls.client.network.number_requests_from(first_id)
        self.machine = machine
        self.show_links()
        self.running = role.program.start(machine.calls, machine.tell)
        self._let(partial(machine.start, self.running.run()))

    def crash(self, cause: int | None = None) -> int:
        """Die without a word; what it owned is nobody's from here on."""
        self._touch()
        crashed = self._record(W.CONSUMER_CRASHED, cause)
        self._end(crashed, "crashed")
        return crashed

    def stop(self, operation: str, cause: int | None = None) -> None:
        """Ask the application to end as it would when told to shut down."""
        self._touch()
        self.cause = self._record(W.CONSUMER_STOPPING, cause, detail=operation)
        self.is_stopping = True
        assert self.running is not None
        self.running.stop(operation)
        if self.machine is not None and not self.is_paused:
            self._let(self.machine.wakeup)

    def pause(self, cause: int | None = None) -> int:
        """Stand still, all threads; what arrives waits."""
        self._touch()
        self.cause = self._record(W.CONSUMER_PAUSED, cause)
        self.is_paused = True
        self.cancel_wake()
        for connection in list(self.connections.values()):
            self.on_pause(connection)
        return self.cause

    def resume(self, cause: int | None = None) -> None:
        """Go on: first what was due, late, then what has arrived."""
        if self.machine is None or not self.is_paused:
            return
        self.cause = self._record(W.CONSUMER_RESUMED, cause)
        self.is_paused = False
        machine = self.machine
        self._let(machine.on_resume)
        arrived, self._inbox = self._inbox, []
        for hear in arrived:
            hear()
        if self.is_alive and self.is_stopping:
            self._let(machine.wakeup)

    def _end(self, cause: int | None, why: str) -> None:
        """Nothing is left of this life but what is on the wire."""
        for topic, partition in sorted(self._owned):
            facts: Facts = {**self._owned_facts, "topic": topic, "partition": partition}
            facts["detail"] = why
            self.recorder.record(W.PARTITION_LOST, self.kernel.now_ms, cause, **facts)
        self._owned = ()
        self.cancel_wake()
        for connection in list(self.connections.values()):
            self.network.close(connection)
        self.connections.clear()
        if self.machine is not None:
            self.machine.crash()
        self.machine = self.running = None
        self.is_paused = False
        self._inbox.clear()

    def _own_ms(self) -> int:
        return self.kernel.now_ms if self.machine is None else self.machine.clock.now_ms

    # --- inputs ---

    def wake(self) -> None:
        """Time has passed."""
        self._wake = None
        if self.machine is not None and not self.is_paused:
            self._let(self.machine.on_time)

    def hear(self, message: Message, response: object, replied: int | None) -> None:
        """An answer arrives."""
        self.before_touching(self)
        if self.is_paused and message.connection.is_open:
            self._inbox.append(partial(self.hear, message, response, replied))
            return
        self._catch_up()
        is_heard = self.machine is not None and message.connection.is_open
        heard = None
        if message.row is not None or replied is not None:
            facts: Facts = {**message.facts, **facts_of_reply(response), "set_by": None}
            facts["duration_ms"] = self.kernel.now_ms - message.sent_ms
            kind = W.REPLY_RECEIVED if is_heard else W.REPLY_LOST
            heard = self.recorder.record(kind, self.kernel.now_ms, replied, **facts)
        if not is_heard or self.machine is None:
            return
        if heard is not None:
            self.cause = heard
        self._note(message, response)
        connection = message.connection.name
        self._let(partial(self.machine.on_reply, connection, response, to=message.request))

    def hear_reset(self, connection: Connection, cause: int | None) -> None:
        """A connection turns out to be gone."""
        self.before_touching(self)
        if self.connections.get(connection.name) is not connection or self.machine is None:
            return
        if self.is_paused:
            self._inbox.append(partial(self.hear_reset, connection, cause))
            return
        self._catch_up()
        if self.connections.get(connection.name) is not connection:
            return
        del self.connections[connection.name]
        if cause is not None:
            self.cause = cause
        self._let(partial(self.machine.on_disconnect, connection.name))

    def _catch_up(self) -> None:
        """Do what is due at this instant before anything is heard: it may give up a connection."""
        if self._wake is not None and self._wake.at_ms <= self.kernel.now_ms:
            self.cancel_wake()
            self.wake()

    def show_links(self) -> None:
        """Tell the machine how attempts to connect would end now."""
        if self.machine is None:
            return
        links = self.machine.calls.client.network.channels.links
        for broker in sorted(self.network.brokers):
            link = self.network.opening(self.name, broker)
            for connection in (f"b{broker}", f"c{broker}", _bootstrap_name(broker)):
                links[connection] = link

    def put_behind(self, connection: str, request: Request, other: Request) -> None:
        """A request ended without news and was sent again, so that this other one is before it."""
        if self.machine is None:
            return
        self.machine.calls.client.network.move_behind(connection, request, other)

    def set_sent(self, connection: str, request: Request, sent_ms: int) -> None:
        """This is when a request was sent, as far as its time-out is concerned."""
        if self.machine is None:
            return
        self.machine.calls.client.network.set_sent(connection, request, sent_ms)

    # --- outputs ---

    def _let(self, act: Callable[[int], tuple[object, ...]]) -> None:
        """Let the machine act now, and carry out what comes of it."""
        told = act(self.kernel.now_ms)
        for fact in told:
            if isinstance(fact, RecordsReturned):
                self._expect_after(fact)
        for fact in told:
            self._carry_out(fact)
        if self.machine is None:
            return
        if self._in_hand and self.machine.calls.polling.is_waiting:
            self._put_down()
        self._look_at_ownership()
        if not self.is_paused:
            self._arrange_wake()
            self.after_step(self)

    def _carry_out(self, fact: object) -> None:
        if isinstance(fact, RequestSent):
            self._send(fact)
        elif isinstance(fact, ConnectionAttempted):
            self._connect(fact)
        elif isinstance(fact, ConnectionClosed):
            self._on_closed(fact)
        elif isinstance(fact, RecordsReturned):
            self._on_returned(fact)
        elif isinstance(fact, ProcessingBegan):
            self._began_ms = fact.at_ms
        elif isinstance(fact, RecordsProcessed):
            self._record_range(W.RECORDS_PROCESSED, fact.records, fact.at_ms - self._began_ms)
        elif isinstance(fact, ApplicationEnded):
            self._on_ended(fact)
        else:
            self._write_down(fact)

    def _on_ended(self, fact: ApplicationEnded) -> None:
        self._put_down()
        self._look_at_ownership()
        error = None if fact.error is None else type(fact.error).__name__
        # The first line says it; below it, pytest shows values, which may not be the same twice.
        why = None if fact.error is None else str(fact.error).partition("\n")[0] or None
        if fact.error is None and not self._is_closed:
            why = WITHOUT_CLOSING
        stopped = self._record(W.CONSUMER_STOPPED, self.cause, error=error, detail=why)
        self._end(stopped, "stopped")
        self.failure = fact.error
        if fact.error is not None and self.role.program.is_surprised_by(fact.error):
            fact.error.add_note(f"raised in the application of {self.name}")
            self.on_failure(fact.error)

    def _connect(self, fact: ConnectionAttempted) -> None:
        broker = self.brokers_of(fact.connection)
        label = f"{self.name}/{fact.connection}"
        if fact.link is Opening.ACCEPT:
            connection = self.network.connect(self, fact.connection, broker)
            self.connections[fact.connection] = connection
            self._record(W.CONNECTION_OPENED, self.cause, broker=broker, connection=label)
        else:
            detail = "refused" if fact.link is Opening.REFUSE else "nobody answers"
            self._record(
                W.CONNECTION_FAILED, self.cause, broker=broker, connection=label, detail=detail
            )

    def _on_closed(self, fact: ConnectionClosed) -> None:
        connection = self.connections.pop(fact.connection, None)
        if connection is None:
            return
        self.network.close(connection)
        self._record(
            W.CONNECTION_CLOSED,
            self.cause,
            broker=connection.link.broker,
            connection=connection.label,
            count=fact.unanswered,
        )

    def _send(self, fact: RequestSent) -> None:
        connection = self.connections.get(fact.connection)
        self._look_at_ownership()
        if connection is None or fact.lost:
            return
        request = fact.request
        kind = type(request).__name__.removesuffix("Request")
        facts: Facts = {
            **self.facts(),
            "broker": connection.link.broker,
            "request": kind,
            "connection": connection.label,
        }
        message = Message(connection, request, kind, self.kernel.now_ms, None, facts)
        if isinstance(request, FetchRequest):
            self._note_fetch(request, message)
        elif isinstance(request, OffsetCommitRequest):
            message.is_repeat = self._is_repeat(request)
            self._note_commit(request)
        if kind not in _WITHOUT_ROWS and not message.is_repeat:
            self.recorder.close(self.name)  # so that the request's id is the number of its row
            facts["request_id"] = self.recorder.recorded + 1
            message.row = self.recorder.record(
                W.REQUEST_SENT, self.kernel.now_ms, self.cause, **facts
            )
        else:
            facts["set_by"] = self.cause
        self.network.send(message)

    def _end_idle_rounds(self) -> None:
        super()._end_idle_rounds()
        for connection in list(self.connections.values()):
            self.on_pause(connection)

    # --- time ---

    def _touch(self) -> None:
        if self.machine is None:
            raise ValueError(f"{self.name} is not running")
        if self.machine.threads.is_application_acting:
            raise SimulationError(
                f"{self.name} cannot be stopped, paused or crashed within its own application; "
                "let it happen after that, as by sim.after(0, ...)"
            )
        self.before_touching(self)

    def _arrange_wake(self) -> None:
        assert self.machine is not None
        at_ms = self.machine.next_wakeup_ms
        if self._wake is not None:
            if self._wake.at_ms == at_ms:
                return
            self.kernel.cancel(self._wake)
        turn = Turn(max(at_ms, self.kernel.now_ms), Rank.CONSUMER, self.name)
        self._wake = turn
        self.kernel.at(turn, self.wake)

    def expect_wake(self, turn: Turn) -> None:
        """It has been arranged that this consumer wakes then."""
        self._wake = turn

    def cancel_wake(self) -> None:
        """Let nothing but news wake this consumer."""
        if self._wake is not None:
            self.kernel.cancel(self._wake)
            self._wake = None


def _bootstrap_name(broker: int) -> str:
    return "bootstrap" if broker == 1 else f"bootstrap{broker}"
