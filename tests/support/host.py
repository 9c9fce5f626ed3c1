"""A host for one machine: its timers, its logs, a clock that a script moves."""

from __future__ import annotations

from collections import deque
from copy import copy

from attrs import define, evolve, field

from coordinator import ErrorCode, GroupCoordinator, Outcome, TimerQueue, Write
from coordinator.events import Event
from coordinator.protocol import Request, Response
from coordinator.records import Record


@define(eq=False)
class Host:
    """Carries outcomes out at once: writes take no time unless they are told to wait or to fail."""

    machine: GroupCoordinator
    now_ms: int = 0
    timers: TimerQueue = field(factory=TimerQueue)
    logs: dict[int, list[Record]] = field(factory=dict)
    replies: dict[int, Response] = field(factory=dict)
    events: list[Event] = field(factory=list)
    next_errors: deque[ErrorCode] = field(factory=deque)
    #: While set, the log keeps silent about new writes; `speak` ends it.
    is_log_silent: bool = False
    unspoken: deque[Write] = field(factory=deque)
    sent: int = 0

    def send(self, request: Request) -> int:
        """Hand a request in; the answer, once there is one, is in `replies` under this number."""
        self.sent += 1
        numbered = evolve(request, request_id=self.sent)
        self.carry_out(self.machine.on_request(numbered, self.now_ms))
        return self.sent

    def ask(self, request: Request) -> Response | None:
        """Hand a request in and take its answer, None if it is parked."""
        number = self.send(request)
        self.advance_to(self.now_ms)
        return self.replies.get(number)

    def advance_to(self, to_ms: int) -> None:
        """Fire what is due on the way, each timer with the clock standing at its deadline."""
        while (due := self.timers.pop_due(to_ms)) is not None:
            at_ms, timer = due
            self.now_ms = max(self.now_ms, at_ms)
            self.carry_out(self.machine.on_timer(timer, self.now_ms))
        self.now_ms = to_ms

    def load(self, shard: int) -> None:
        """Give the machine a shard, rebuilt from its log."""
        self.carry_out(self.machine.load(shard, self.logs.get(shard, []), self.now_ms))

    def unload(self, shard: int) -> None:
        """Take a shard away."""
        self.carry_out(self.machine.unload(shard, self.now_ms))

    def speak(self, error: ErrorCode | None = None) -> None:
        """Let the log speak about everything it kept silent about."""
        kept_silent = len(self.unspoken)
        while self.unspoken:
            # What these words set off is written behind the rest, and without their error.
            self._append(self.unspoken.popleft(), error if kept_silent > 0 else None)
            kept_silent -= 1
        self.is_log_silent = False

    def carry_out(self, outcome: Outcome) -> None:
        """Append, answer, wait, tell."""
        self.timers.apply(outcome.timers)
        self.events.extend(outcome.events)
        for reply in outcome.replies:
            assert reply.request_id not in self.replies, f"answered twice: {reply}"
            self.replies[reply.request_id] = reply.response
        for write in outcome.writes:
            if self.is_log_silent:
                self.unspoken.append(write)
            else:
                self._append(write, self.next_errors.popleft() if self.next_errors else None)

    def _append(self, write: Write, error: ErrorCode | None) -> None:
        is_void = write.write_id in self.machine.void_writes
        if error is None and not is_void:
            self.logs.setdefault(write.shard, []).extend(write.records)
        self.carry_out(self.machine.on_append(write, error, self.now_ms))

    def copy(self) -> Host:
        """A host of its own with a copy of the machine."""
        return Host(
            machine=self.machine.copy(),
            now_ms=self.now_ms,
            timers=copy(self.timers),
            logs={shard: list(log) for shard, log in self.logs.items()},
            replies=dict(self.replies),
            events=list(self.events),
            next_errors=deque(self.next_errors),
            is_log_silent=self.is_log_silent,
            unspoken=deque(self.unspoken),
            sent=self.sent,
        )
