"""What binds the coordinator's machine to virtual time, to its clients and to the recorder.

The one place where its outcomes are carried out. Causes are kept here: whatever a step asks for
is recorded as caused by what triggered the step (a request that came, a timer that fired, a write
that the log took), and a timer that fires names the event that set it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from attrs import define, evolve, field, frozen

from coordinator import Event, GroupCoordinator, Outcome, Reply, TimerQueue, Write
from coordinator.protocol import (
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    JoinGroupResponse,
    Request,
    Response,
)
from coordinator.records import Record
from coordinator.timers import (
    ExpiryTimer,
    JoinTimer,
    SessionTimer,
    SetTimer,
    SyncTimer,
    Timer,
    TimerChange,
    WriteTimer,
)
from simulation.events import Facts, WorldEventKind
from simulation.kernel import Kernel, Rank, Turn
from simulation.recorder import Recorder

OFFSETS_TOPIC = "__consumer_offsets"

#: The word for each timer in the `detail` of the event in which it fires.
TIMER_WORDS: dict[type[Timer], str] = {
    SessionTimer: "session",
    JoinTimer: "join",
    SyncTimer: "sync",
    ExpiryTimer: "expiry",
    WriteTimer: "write",
}

#: What a caller does with an answer, told the `seq` of its hearing.
Handler = Callable[[Response, int], None]


class Caller(Protocol):
    """Whoever sends requests and hears the answers."""

    @property
    def is_alive(self) -> bool:
        """Is there anyone to hear an answer?"""

    def facts(self) -> Facts:
        """Who it is, as of now: the columns that its requests and their answers carry."""


@frozen(kw_only=True)
class Call:
    """A request on its way there and back."""

    request: Request
    caller: Caller
    facts: Facts
    handle: Handler
    sent_ms: int


@frozen
class Setting:
    """The latest setting of a timer: by which event, and when."""

    set_by: int
    at_ms: int


@define(eq=False, kw_only=True)
class CoordinatorHost:
    """One broker's coordinator at the end of links that take `latency_ms` each way.

    Writes to its log take no time and succeed.
    """

    machine: GroupCoordinator
    kernel: Kernel
    recorder: Recorder
    broker: int = 1
    latency_ms: int = 2
    _timers: TimerQueue = field(factory=TimerQueue, init=False)
    _settings: dict[Timer, Setting] = field(factory=dict, init=False)
    _logs: dict[int, list[Record]] = field(factory=dict, init=False)
    _open: dict[int, Call] = field(factory=dict, init=False)
    _sent: int = field(default=0, init=False)
    _wakes: int = field(default=0, init=False)
    _wakes_at_ms: int | None = field(default=None, init=False)

    def load(self, shard: int, cause: int) -> None:
        """Let the broker coordinate the groups of this partition of the offsets topic."""
        outcome = self.machine.load(shard, self._logs.get(shard, []), self.kernel.now_ms)
        self._carry_out(outcome, cause)

    def send(self, request: Request, caller: Caller, cause: int, handle: Handler) -> int:
        """Put a request on the wire and return the `seq` of that; `handle` gets its answer."""
        self._sent += 1
        now_ms = self.kernel.now_ms
        facts: Facts = {
            **caller.facts(),
            "broker": self.broker,
            "request": type(request).__name__.removesuffix("Request"),
            "request_id": self._sent,
            "connection": f"{request.client_id}/coordinator",
        }
        call = Call(
            request=evolve(request, request_id=self._sent),
            caller=caller,
            facts=facts,
            handle=handle,
            sent_ms=now_ms,
        )
        sent = self.recorder.record(WorldEventKind.REQUEST_SENT, now_ms, cause, **facts)
        self.kernel.at(self._arrival(Rank.REQUEST, call), partial(self._receive, call, sent))
        return sent

    def _arrival(self, rank: Rank, call: Call) -> Turn:
        request = call.request
        at_ms = self.kernel.now_ms + self.latency_ms
        return Turn(at_ms, rank, request.client_id, request.request_id)

    def _receive(self, call: Call, cause: int) -> None:
        now_ms = self.kernel.now_ms
        received = self.recorder.record(
            WorldEventKind.REQUEST_RECEIVED, now_ms, cause, **call.facts
        )
        self._open[call.request.request_id] = call
        self._carry_out(self.machine.on_request(call.request, now_ms), received)

    def _answer(self, reply: Reply, cause: int) -> None:
        call = self._open.pop(reply.request_id)
        facts: Facts = {
            **call.facts,
            **_facts_of_reply(reply.response),
            "duration_ms": self.kernel.now_ms - call.sent_ms - self.latency_ms,
        }
        sent = self.recorder.record(WorldEventKind.REPLY_SENT, self.kernel.now_ms, cause, **facts)
        deliver = partial(self._deliver, call, reply.response, sent)
        self.kernel.at(self._arrival(Rank.REPLY, call), deliver)

    def _deliver(self, call: Call, response: Response, cause: int) -> None:
        is_heard = call.caller.is_alive
        kind = WorldEventKind.REPLY_RECEIVED if is_heard else WorldEventKind.REPLY_LOST
        facts: Facts = {
            **call.facts,
            **_facts_of_reply(response),
            "duration_ms": self.kernel.now_ms - call.sent_ms,
        }
        arrived = self.recorder.record(kind, self.kernel.now_ms, cause, **facts)
        if is_heard:
            call.handle(response, arrived)

    def _carry_out(self, outcome: Outcome, cause: int) -> None:
        """Tell, answer, wait; then append, for the log's word is a step of its own."""
        for event in outcome.events:
            self.recorder.record(event.kind, self.kernel.now_ms, cause, **self._facts_of(event))
        for reply in outcome.replies:
            self._answer(reply, cause)
        for change in outcome.timers:
            self._note(change, cause)
        self._timers.apply(outcome.timers)
        for write in outcome.writes:
            self._append(write, cause)
        self._arrange_wake()

    def _facts_of(self, event: Event) -> Facts:
        is_of_the_log = event.partition is not None and event.topic is None
        return {
            "group": event.group_id,
            "broker": self.broker,
            "member": event.member_id,
            "instance": event.group_instance_id,
            "generation": event.generation_id,
            "state": event.state,
            "protocol": event.protocol_name,
            "topic": OFFSETS_TOPIC if is_of_the_log else event.topic,
            "partition": event.partition,
            "offset": event.offset,
            "error": None if event.error is None else event.error.name,
            "count": event.count,
            "detail": event.detail,
        }

    def _append(self, write: Write, cause: int) -> None:
        log = self._logs.setdefault(write.shard, [])
        offset = len(log)
        log.extend(write.records)
        written = self.recorder.record(
            WorldEventKind.WRITE_COMMITTED,
            self.kernel.now_ms,
            cause,
            broker=self.broker,
            topic=OFFSETS_TOPIC,
            partition=write.shard,
            offset=offset,
            end_offset=len(log),
            count=len(write.records),
        )
        self._carry_out(self.machine.on_append(write, None, self.kernel.now_ms), written)

    # --- timers ---

    def _note(self, change: TimerChange, cause: int) -> None:
        if isinstance(change, SetTimer):
            self._settings[change.timer] = Setting(cause, self.kernel.now_ms)
        else:
            self._settings.pop(change.timer, None)

    def _arrange_wake(self) -> None:
        """Take a turn for the next timer, unless there is one that is early enough."""
        next_ms = self._timers.next_at_ms()
        if next_ms is None or (self._wakes_at_ms is not None and self._wakes_at_ms <= next_ms):
            return
        self._wakes += 1
        self._wakes_at_ms = next_ms
        self.kernel.at(Turn(next_ms, Rank.TIMER, str(self.broker), self._wakes), self._wake)

    def _wake(self) -> None:
        if self._wakes_at_ms != self.kernel.now_ms:
            return  # An earlier timer was set after this turn was taken, and that wake did it all.
        while (due := self._timers.pop_due(self.kernel.now_ms)) is not None:
            self._fire(due[1])
        self._wakes_at_ms = None
        self._arrange_wake()

    def _fire(self, timer: Timer) -> None:
        setting = self._settings.pop(timer)
        now_ms = self.kernel.now_ms
        facts: Facts = {
            "broker": self.broker,
            "set_by": setting.set_by,
            "duration_ms": now_ms - setting.at_ms,
            "detail": TIMER_WORDS[type(timer)],
        }
        if isinstance(timer, ExpiryTimer | WriteTimer):
            facts["topic"], facts["partition"] = OFFSETS_TOPIC, timer.shard
        else:
            facts["group"] = timer.group_id
            facts["member"] = timer.member_id if isinstance(timer, SessionTimer) else None
        fired = self.recorder.record(WorldEventKind.TIMER_FIRED, now_ms, setting.set_by, **facts)
        self._carry_out(self.machine.on_timer(timer, now_ms), fired)


def _facts_of_reply(response: Response) -> Facts:
    """What an answer says; a join's may give its caller a member id and a generation."""
    facts: Facts = {"error": response.error_code.name}
    if isinstance(response, JoinGroupResponse):
        if response.member_id != UNKNOWN_MEMBER_ID:
            facts["member"] = response.member_id
        if response.generation_id != UNKNOWN_GENERATION_ID:
            facts["generation"] = response.generation_id
    return facts
