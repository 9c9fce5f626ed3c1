"""What binds a consumer's machine to virtual time, to the network and to the recorder.

What the machine tells in return for an input goes to `_let`, which carries it out: requests go on
the wire, and what the application was given, did and lost is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

from attrs import define, field

from client.connections import Link as Opening
from client.consumer import Consumer
from client.messages import FetchRequest
from client.outputs import (
    ApplicationEnded,
    CommitFailed,
    ConnectionAttempted,
    ConnectionClosed,
    OffsetsGiven,
    PausesChanged,
    PositionSought,
    ProcessingBegan,
    RecordsProcessed,
    RecordsReturned,
    RequestSent,
)
from client.states import MemberState
from coordinator.protocol import OffsetCommitRequest, Request
from simulation.beats import BeatWay, CommitWay, Way, beat_way, commit_way
from simulation.chance import Dice, stream_key
from simulation.consumer_book import ConsumerBook
from simulation.errors import SimulationError
from simulation.events import WITHOUT_CLOSING, Facts, WorldEventKind
from simulation.kernel import WakeUp
from simulation.network import Connection, Message, Network, kind_of

#: Requests without rows of their own.
_WITHOUT_ROWS = frozenset({"Fetch", "Metadata", "Heartbeat"})
#: So many requests fit into one life of a consumer.
_IDS_OF_A_LIFE = 1 << 32
_LIVES_OF_A_CONSUMER = 1 << 16

W = WorldEventKind
_PROCESSED = W.RECORDS_PROCESSED


@define(eq=False, kw_only=True)
class ConsumerHost(ConsumerBook):
    """One consumer through all its lives."""

    network: Network
    brokers_of: Callable[[str], int]
    on_pause: Callable[[Connection], None]
    #: Called after a step in which a repetition was answered; quiet time is found there.
    after_step: Callable[[ConsumerHost], None] | None = None
    #: The consumers that are left alone at the moment.
    asleep: Container[str] = ()
    #: Called before anything touches the consumer while it is one of these.
    before_touching: Callable[[ConsumerHost], None] = field(default=lambda _host: None)
    #: Called with what ended its application and should not have.
    on_failure: Callable[[BaseException], None] = field(default=lambda _error: None)
    is_paused: bool = field(default=False, init=False)
    #: What ended its application in the life before this one, if anything was raised.
    failure: BaseException | None = field(default=None, init=False)
    life: int = field(default=0, init=False)
    connections: dict[str, Connection] = field(factory=dict, init=False)
    _inbox: list[Callable[[], None]] = field(factory=list, init=False)
    #: When it is woken if nothing comes before.
    wakes: WakeUp | None = field(default=None, init=False)
    wakes_ms: int = field(default=0, init=False)
    #: How it deals with what its machine tells; of everything else it makes nothing.
    _ways: dict[type, Callable[[Any], None]] = field(init=False)
    #: Where its heartbeats and commits go while they are all that happens.
    beat_way: BeatWay | None = field(default=None, init=False)
    commit_way: CommitWay | None = field(default=None, init=False)
    #: That of what leaves next, if that is known.
    next_way: Way | None = field(default=None, init=False)

    @_ways.default
    def _all_ways(self) -> dict[type, Callable[[Any], None]]:
        return {
            RequestSent: self._send,
            ConnectionAttempted: self._connect,
            ConnectionClosed: self._on_closed,
            RecordsReturned: self._on_returned,
            ProcessingBegan: self._on_began,
            RecordsProcessed: self._on_processed,
            ApplicationEnded: self._on_ended,
            CommitFailed: self._on_commit_failed,
            PositionSought: self._on_sought,
            OffsetsGiven: self._on_given,
            PausesChanged: self._on_pauses_changed,
        }

    def __attrs_post_init__(self) -> None:
        """Keep what is needed to find quiet time, if anybody looks for it."""
        self.seeks_quiet = self.after_step is not None

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
            if self.is_stopping:
                raise ValueError(f"{self.name} is still stopping; start it when it has stopped")
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
        self.machine, self.request_timeout_ms = machine, role.config.request_timeout_ms
        self.show_links()
        self.running = role.program.start(machine.calls, machine.tell)
        self._let(machine.start(self.running.run(), self.kernel.now_ms))

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
            self._let(self.machine.wakeup(self.kernel.now_ms))

    def pause(self, cause: int | None = None) -> int:
        """Stand still, all threads; what arrives waits."""
        self._touch()
        self.cause = self._record(W.CONSUMER_PAUSED, cause)
        self.is_paused = True
        if self.machine is not None:
            self.machine.on_stop(self.kernel.now_ms)
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
        self._let(machine.on_resume(self.kernel.now_ms))
        arrived, self._inbox = self._inbox, []
        for hear in arrived:
            hear()
        if self.is_alive and self.is_stopping:
            self._let(machine.wakeup(self.kernel.now_ms))

    def _end(self, cause: int | None, why: str) -> None:
        """Nothing is left of this life but what is on the wire."""
        for topic, partition in sorted(self._owned):
            more: Facts = {"topic": topic, "partition": partition, "detail": why}
            now_ms = self.kernel.now_ms
            self.recorder.put(W.PARTITION_LOST, now_ms, cause, self._owned_facts, more)
        self._owned = ()
        self.cancel_wake()
        for connection in list(self.connections.values()):
            self.network.close(connection)
        self.connections.clear()
        if self.machine is not None:
            self.machine.crash()
        self.machine = self.running = None
        self.beat_way = self.commit_way = self.next_way = None
        self.is_paused = False
        self._inbox.clear()

    def _own_ms(self) -> int:
        return self.kernel.now_ms if self.machine is None else self.machine.clock.now_ms

    # --- inputs ---

    def wake(self) -> None:
        """Time has passed."""
        self.wakes = None
        now_ms, way = self.kernel.now_ms, self.next_way
        if way is not None and not self.is_paused and way.leave(now_ms):
            return
        machine = self.machine
        if machine is not None and not self.is_paused:
            self._let(machine.on_time(now_ms))

    def hear(self, message: Message, response: object, replied: int | None) -> None:
        """An answer arrives."""
        if self.name in self.asleep:
            self.before_touching(self)
        if self.is_paused and message.connection.is_open:
            self._inbox.append(partial(self.hear, message, response, replied))
            return
        now_ms = self.kernel.now_ms
        if self.wakes is not None and self.wakes_ms <= now_ms:
            self._catch_up()
        machine = self.machine
        is_heard = machine is not None and message.connection.is_open
        if message.row is not None or replied is not None:
            kind = W.REPLY_RECEIVED if is_heard else W.REPLY_LOST
            more: Facts = {"duration_ms": now_ms - message.sent_ms}
            heard = self.recorder.put(kind, now_ms, replied, message.facts, more)
            if is_heard:
                self.cause = heard
        if machine is None or not is_heard:
            return
        self._note(message, response)
        connection = message.connection.name
        self._let(machine.on_reply(connection, response, now_ms, to=message.request))

    def hear_reset(self, connection: Connection, cause: int | None) -> None:
        """A connection turns out to be gone."""
        if self.name in self.asleep:
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
        self._let(self.machine.on_disconnect(connection.name, self.kernel.now_ms))

    def _catch_up(self) -> None:
        """Do what is due at this instant before anything is heard: it may give up a connection."""
        if self.wakes is not None and self.wakes_ms <= self.kernel.now_ms:
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

    def _let(self, told: tuple[object, ...]) -> None:
        """Carry out what came of letting the machine act."""
        machine = self.machine
        assert machine is not None
        if not machine.has_rested:
            group = machine.calls.group
            if group is not None and group.membership.generation is not self._generation:
                self.facts()  # The machine is somebody else from here on.
        if told:
            self._carry_out(told)
            if self.machine is None:
                return
        if self._in_hand and machine.calls.polling.is_waiting:
            self._put_down()
        self._look_at_new_ownership(machine)
        if self.is_paused:
            return
        at_ms = machine.threads.next_wakeup_ms
        if self.wakes is None or self.wakes_ms != at_ms:
            self.kernel.wake_at(at_ms, self)
        heard = self.last_heard
        if (
            heard is not None
            and self.after_step is not None
            and (heard is self.last_beat or heard is self.last_repeat)
        ):
            self.after_step(self)

    def _look_at_new_ownership(self, machine: Consumer) -> None:
        if not machine.has_rested and machine.calls.subscriptions.assignments != self._assignments:
            self._look_at_ownership()

    def _carry_out(self, told: tuple[object, ...]) -> None:
        if len(told) == 1 and type(told[0]) is RequestSent:
            self._send(told[0])
            return
        self._told = told
        for fact in told:
            if type(fact) is RecordsReturned:
                self._expect_after(fact)
        ways = self._ways
        for fact in told:
            carry_out = ways.get(type(fact))
            if carry_out is not None:
                carry_out(fact)

    def _on_began(self, fact: ProcessingBegan) -> None:
        self._began_ms = fact.at_ms

    def _on_processed(self, fact: RecordsProcessed) -> None:
        self._record_range(_PROCESSED, fact.records, fact.at_ms - self._began_ms)

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
        why = None if fact.overdue is None else f"{kind_of(fact.overdue)} had no answer in time"
        closed = self._record(
            W.CONNECTION_CLOSED,
            self.cause,
            broker=connection.link.broker,
            connection=connection.label,
            count=fact.unanswered,
            duration_ms=fact.waited_ms,
            detail=why,
        )
        if why is not None:
            self.cause = closed  # No row has led to it, but the time that has passed.

    def _send(self, fact: RequestSent) -> None:
        if self.machine is not None:
            self._look_at_new_ownership(self.machine)
        connection = self.connections.get(fact.connection)
        if connection is None or fact.lost:
            return
        request = fact.request
        spoken = connection.spoken.get(type(request))
        if spoken is None or spoken[0] is not self._facts:
            spoken = self._speak(connection, request)
        _, kind, facts = spoken
        message = Message(connection, request, kind, self.kernel.now_ms, None, facts, self.cause)
        if kind == "Fetch":
            assert isinstance(request, FetchRequest)
            self._note_fetch(request, message)
        elif kind == "Heartbeat":
            self.beat_way = self.next_way = beat_way(self, message, self.beat_way)
        elif kind not in _WITHOUT_ROWS:
            if isinstance(request, OffsetCommitRequest):
                message.is_repeat = self._is_repeat(request)
                self._note_commit(request)
                self.commit_way = commit_way(self, message, self.commit_way)
            if not message.is_repeat:
                self._tell_of(message)
        self.network.send(message)

    def _speak(self, connection: Connection, request: Request) -> tuple[Facts, str, Facts]:
        """Who it is now, the kind of a request, and what rows of all such over a connection say."""
        kind = kind_of(request)
        facts: Facts = {
            **self._facts,
            "broker": connection.link.broker,
            "request": kind,
            "connection": connection.label,
        }
        spoken = connection.spoken[type(request)] = self._facts, kind, facts
        return spoken

    def _tell_of(self, message: Message) -> None:
        """Give a request a row."""
        recorder = self.recorder
        recorder.close(self.name)  # so that the request's id is the number of its row
        facts: Facts = {**message.facts, "request_id": recorder.recorded + 1}
        message.facts, message.set_by = facts, None
        message.row = recorder.put(W.REQUEST_SENT, message.sent_ms, self.cause, facts)

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
        if self.name in self.asleep:
            self.before_touching(self)

    def cancel_wake(self) -> None:
        """Let nothing but news wake this consumer."""
        self.wakes = None


def _bootstrap_name(broker: int) -> str:
    return "bootstrap" if broker == 1 else f"bootstrap{broker}"
