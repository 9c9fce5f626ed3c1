"""A broker: its coordinator's machine and its data, bound to time, network and recorder.

The one place where a coordinator's outcomes are carried out. Causes are kept here: whatever a step
asks for is recorded as caused by what triggered the step (a request that came, a timer that fired,
a write that the log took), and a timer that fires names the event that set it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import define, field

from client.messages import FetchRequest
from coordinator import (
    ErrorCode,
    Event,
    EventKind,
    GroupCoordinator,
    GroupState,
    Outcome,
)
from coordinator.outcome import Write
from coordinator.protocol import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    Request,
)
from coordinator.records import Record
from coordinator.timer_queue import Setting
from coordinator.timers import (
    ExpiryTimer,
    JoinTimer,
    SessionTimer,
    SetTimer,
    Timer,
    TimerChange,
    WriteTimer,
)
from simulation.broker_timers import BrokerTimers
from simulation.cluster import OFFSETS_TOPIC, SimulatedCluster
from simulation.data_answers import ABOUT_DATA, DataAnswers
from simulation.events import Facts, WorldEventKind
from simulation.facts import TIMER_WORDS, error_of, facts_of_commit, facts_of_event, with_reply
from simulation.kernel import Kernel, Rank, Turn
from simulation.network import Message, Network
from simulation.offsets_log import LogTrouble, OffsetsLog
from simulation.recorder import Cause, Recorder

#: Requests that change nothing for the other members of a group.
_TOUCHING_NOBODY_ELSE = frozenset(
    {"FindCoordinator", "Heartbeat", "OffsetCommit", "OffsetFetch", "ListOffsets"}
)
#: The events in which a member says how long its session may last without a sign of life.
_JOINS = frozenset({EventKind.MEMBER_ADDED, EventKind.MEMBER_REJOINED, EventKind.MEMBER_REPLACED})
#: The events in which a client gets the id of a member.
_NAMING = frozenset({EventKind.MEMBER_ID_GIVEN, EventKind.MEMBER_ADDED, EventKind.MEMBER_REPLACED})
_EXTENDED, _MOVED = EventKind.JOIN_PHASE_EXTENDED, EventKind.STATE_CHANGED
_COMMITTED, _COMMIT_REFUSED = EventKind.OFFSET_COMMITTED, EventKind.COMMIT_REFUSED
_PREPARING = GroupState.PREPARING_REBALANCE.value
_NONE = ErrorCode.NONE
_WRITES_FAIL_WITH = ErrorCode.NOT_ENOUGH_REPLICAS
_RECEIVED, _REPLIED = WorldEventKind.REQUEST_RECEIVED, WorldEventKind.REPLY_SENT


@define(eq=False, kw_only=True)
class Broker:
    """One broker. `life` counts its starts; what was said to an earlier life is not answered."""

    id: int
    cluster: SimulatedCluster
    kernel: Kernel
    network: Network
    recorder: Recorder
    #: The logs of the offsets topic, which outlive every broker.
    logs: dict[int, OffsetsLog]
    trouble: LogTrouble
    new_machine: Callable[[], GroupCoordinator]
    #: What becomes of a fetch that finds nothing.
    park: Callable[[Message], None]
    #: Called before something touches a whole group.
    before_touching: Callable[[str], None]
    clients: dict[str, str]
    machine: GroupCoordinator = field(init=False)
    data: DataAnswers = field(init=False)
    is_up: bool = field(default=True, init=False)
    life: int = field(default=1, init=False)
    #: The row of each group's latest change of state.
    state_rows: dict[str, int] = field(factory=dict, init=False)
    timers: BrokerTimers = field(init=False)
    _open: dict[int, Message] = field(factory=dict, init=False)
    _writes: int = field(default=0, init=False)
    _log_free_ms: dict[int, int] = field(factory=dict, init=False)
    #: The version of the cluster that the coordinator has been shown.
    _version: int = field(default=-1, init=False)
    #: The writes of each partition that have been asked for and are not in the log yet.
    _queued: dict[int, set[int]] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Come up."""
        self.machine = self.new_machine()
        self.data = DataAnswers(self.id, self.cluster)
        self.timers = BrokerTimers(self.kernel, str(self.id), self._fire)

    def __repr__(self) -> str:
        return f"<Broker {self.id}>"

    # --- coming and going ---

    def crash(self) -> None:
        """Forget everything but the logs."""
        self.is_up = False
        self.life += 1
        self.timers.forget_all()
        self._open = {}
        self._queued, self._log_free_ms = {}, {}

    def restart(self) -> None:
        """Come up again, empty."""
        self.is_up = True
        self.machine = self.new_machine()
        self._version = -1
        self.data = DataAnswers(self.id, self.cluster)

    def start_loading(self, shard: int, cause: Cause) -> None:
        """Begin to read a partition of the offsets topic."""
        self.carry_out(self.machine.start_loading(shard), cause)

    def finish_loading(self, shard: int, cause: Cause) -> None:
        """All of it is read."""
        records = self.log_of(shard).records()
        outcome = self.machine.finish_loading(shard, records, self.kernel.now_ms)
        self.carry_out(outcome, cause)

    def unload(self, shard: int, cause: Cause) -> None:
        """Give a partition of the offsets topic up, and the writes to it that are under way."""
        self._queued.pop(shard, None)
        self._log_free_ms.pop(shard, None)
        self.carry_out(self.machine.unload(shard, self.kernel.now_ms), cause)

    # --- requests ---

    def receive(self, message: Message) -> None:
        """Begin to handle a request."""
        now_ms, kind, request = self.kernel.now_ms, message.kind, message.request
        message.received_ms = now_ms
        if kind == "Heartbeat" and not message.is_by_hand and self._take_beat(message, now_ms):
            return
        if kind == "Fetch":
            assert isinstance(request, FetchRequest)
            self._fetch(request, message)
            return
        if message.row is not None:
            message.received = self.recorder.put(_RECEIVED, now_ms, message.row, message.facts)
        if kind in ABOUT_DATA:
            self._reply(message, self.data.answer(request, now_ms), message.received)
            return
        if message.is_by_hand or kind not in _TOUCHING_NOBODY_ELSE:
            self.before_touching(message.facts.get("group") or "")
        self.show_cluster()
        if kind == "OffsetCommit":
            if self._commit_at_once(message, now_ms):
                return
            if message.is_repeat and not self.is_committed(request):
                message.is_repeat = False  # Another commit overtook it, so now it is news.
        self._ask_coordinator(message, now_ms)

    def show_cluster(self) -> None:
        """Let the coordinator see the cluster as it is now."""
        if self._version != self.cluster.version:
            self._version = self.cluster.version
            self.machine.view = self.cluster.view()

    def _ask_coordinator(self, message: Message, now_ms: int) -> None:
        request, cause = message.request, self._cause_of(message)
        outcome = self.machine.on_request(request, now_ms)
        writes, replies, timers, events = outcome
        if not (writes or events) and len(replies) == 1 and replies[0][0] == request.request_id:
            if timers:
                self.timers.set(timers, cause, now_ms)
            self._reply(message, replies[0][1], cause)
            return
        self._open[request.request_id] = message
        self.carry_out(outcome, cause, message)

    def _cause_of(self, message: Message) -> Cause:
        """A request with a row is its own cause; a heartbeat is one of many in a fold."""
        if message.received is not None:
            return message.received
        return self.recorder.fold(message.connection.link.client, message.set_by)

    def is_committed(self, commit: Request) -> bool:
        """Whether a commit says what is committed already, as its client believes."""
        assert isinstance(commit, OffsetCommitRequest)
        group = commit.group_id or ""
        slot = self.machine.slots.get(self.machine.shard_of(group))
        if slot is None or slot.shard is None:
            return True
        known = slot.shard.offsets_of(group, committed=False)
        for topic in commit.topics:
            name = topic.name
            for each in topic.partitions:
                found = known.get((name, each.partition_index))
                if found is None or found.committed_offset != each.committed_offset:
                    return False
        return True

    def _take_beat(self, message: Message, now_ms: int) -> bool:
        """Answer a heartbeat in one step, if that is all there is to it; whether it was."""
        request = message.request
        assert isinstance(request, HeartbeatRequest)
        self.show_cluster()
        beaten = self.machine.beat_at_once(request, now_ms)
        if beaten is None:
            return False
        response, (timer, at_ms) = beaten
        cause = self.recorder.fold(message.connection.link.client, message.set_by)
        self.timers.set_one(timer, at_ms, cause, now_ms)
        if response.error_code is _NONE:
            self.network.reply(message, response, None)
        else:
            self._reply(message, response, cause)
        return True

    def _commit_at_once(self, message: Message, now_ms: int) -> bool:
        """Take a commit in one step, if that is all there is to it; whether it was taken."""
        request = message.request
        assert isinstance(request, OffsetCommitRequest)
        if not self.writes_at_once(self.machine.shard_of(request.group_id or ""), now_ms):
            return False
        committed = self.machine.commit_at_once(request, now_ms)
        if committed is None:
            return False
        shard, records, is_news, response, (timer, at_ms) = committed
        cause = self._cause_of(message)
        if is_news:
            message.is_repeat = False  # If it was one, another commit overtook it.
        if not message.is_repeat:
            client = self.clients.get(request.member_id)
            for record in records:
                facts = facts_of_commit(request, record, self.id, client)
                self.recorder.put(_COMMITTED, now_ms, cause, facts)
        self.timers.set_one(timer, at_ms, cause, now_ms)
        written = self._log(shard, records, cause, message)
        self._answer(message, response, "NONE", written)
        return True

    def writes_at_once(self, shard: int, now_ms: int) -> bool:
        """Whether what is written to a log now is in it at once."""
        return not (self.trouble.of(shard) or self._is_writing(shard, now_ms))

    def _is_writing(self, shard: int, now_ms: int) -> bool:
        """Whether something is on its way into a log; answers wait for it."""
        free_ms = self._log_free_ms.get(shard)
        return free_ms is not None and (free_ms > now_ms or bool(self._queued.get(shard)))

    def _fetch(self, request: FetchRequest, message: Message) -> None:
        answer = self.data.open_fetch(request)
        if answer is None:
            at_last = request.max_wait_ms == 0
            wanted = message.wanted
            answer = self.data.fetch(
                request, wanted, self.kernel.now_ms, at_last=at_last, unknown_before=len(wanted)
            )
        if answer is None:
            message.unknown = self.data.unknown
            self.park(message)
        else:
            self._reply(message, answer, None)

    def answer_parked(self, message: Message, *, at_last: bool) -> bool:
        """Look again at a fetch that waits; whether it was answered."""
        request = message.request
        assert isinstance(request, FetchRequest)
        answer = self.data.fetch(
            request,
            message.wanted,
            self.kernel.now_ms,
            at_last=at_last,
            unknown_before=message.unknown,
        )
        if answer is None:
            return False
        self.network.reply(message, answer, None)
        return True

    def _reply(self, message: Message, response: object, cause: Cause) -> None:
        self._answer(message, response, error_of(response), cause)

    def _answer(self, message: Message, response: object, error: str, cause: Cause) -> None:
        """Send an answer, the first error of which is known."""
        replied = None
        message.error = error
        if error != "NONE" and message.kind == "OffsetCommit" and not message.is_refused:
            self._tell_refusal(message, error, cause)
        is_news = message.row is not None or error != "NONE"
        if is_news and message.kind not in ("Fetch", "Metadata"):
            if message.row is None:
                cause = self.state_rows.get(message.facts.get("group") or "", None)
            now_ms = self.kernel.now_ms
            message.facts = with_reply(message.facts, response, error)
            more: Facts = {"duration_ms": now_ms - message.received_ms}
            replied = self.recorder.put(_REPLIED, now_ms, cause, message.facts, more)
        self.network.reply(message, response, replied)

    def _tell_refusal(self, message: Message, error: str, cause: Cause) -> None:
        """A commit is refused, and not by its group, which would have said so."""
        more: Facts = {"error": error, "request_id": None, "request": None, "connection": None}
        now_ms = self.kernel.now_ms
        self.recorder.put(_COMMIT_REFUSED, now_ms, cause, message.facts, more)

    # --- outcomes ---

    def carry_out(self, outcome: Outcome, cause: Cause, message: Message | None = None) -> None:
        """Tell, wait, answer; then append, for the log's word is a step of its own.

        An answer lets the next request of its connection in, which may undo what was to wait.
        """
        writes, replies, timers, events = outcome
        if events:
            is_repeat = message is not None and message.is_repeat
            for event in events:
                if not (is_repeat and event.kind is _COMMITTED):
                    self._tell(event, cause, message, timers)
        if timers:
            self.timers.set(timers, cause, self.kernel.now_ms)
        for request_id, response in replies:
            answered = self._open.pop(request_id, None)
            if answered is not None:
                self._reply(answered, response, cause)
        for write in writes:
            self._append(write, cause, message)

    def carry_out_quietly(self, outcome: Outcome) -> None:
        """Take over what the start of a run asks for; it is no news."""
        self.timers.set(outcome.timers, None, self.kernel.now_ms)

    def _tell(
        self,
        event: Event,
        cause: Cause,
        message: Message | None,
        timers: tuple[TimerChange, ...],
    ) -> None:
        kind, member, facts = event.kind, event.member_id, facts_of_event(event)
        facts["broker"] = self.id
        if kind is _EXTENDED or (kind is _MOVED and event.state == _PREPARING):
            facts["duration_ms"] = self._join_wait_ms(event.group_id, timers)
        if member is not None:
            if message is not None and kind in _NAMING:
                self.clients[member] = message.connection.peer.name
            facts["client"] = self.clients.get(member)
        if message is not None:
            if kind is _COMMIT_REFUSED:
                message.is_refused = True
            elif kind in _JOINS and isinstance(message.request, JoinGroupRequest):
                facts["duration_ms"] = message.request.session_timeout_ms
        row = self.recorder.put(kind, self.kernel.now_ms, cause, facts)
        if kind is _MOVED and event.group_id is not None:
            self.state_rows[event.group_id] = row

    def _join_wait_ms(self, group: str | None, timers: tuple[TimerChange, ...]) -> int | None:
        """How long a group waits for joins at most; None if it does not wait at all."""
        changes = [
            change
            for change in timers
            if isinstance(change.timer, JoinTimer) and change.timer.group_id == group
        ]
        if not changes or not isinstance(changes[-1], SetTimer):
            return None
        return changes[-1].at_ms - self.kernel.now_ms

    # --- the log ---

    def _append(self, write: Write, cause: Cause, message: Message | None) -> None:
        shard, now_ms = write.shard, self.kernel.now_ms
        delay_ms = self.trouble.slow_ms.get(shard, 0)
        free_ms = max(self._log_free_ms.get(shard, 0), now_ms + delay_ms)
        if free_ms <= now_ms and not self._queued.get(shard):
            self._written(write, cause, message, self.life)
            return
        self._log_free_ms[shard] = free_ms
        self._queued.setdefault(shard, set()).add(write.write_id)
        self._writes += 1
        turn = Turn(free_ms, Rank.LOG, str(self.id), "", self._writes)
        self.kernel.at(turn, partial(self._written_late, write, cause, message, self.life))

    def _written_late(self, write: Write, cause: Cause, message: Message | None, life: int) -> None:
        if life == self.life:
            self._queued.get(write.shard, set()).discard(write.write_id)
        self._written(write, cause, message, life)

    def _written(self, write: Write, cause: Cause, message: Message | None, life: int) -> None:
        if life != self.life:
            return
        now_ms = self.kernel.now_ms
        if write.write_id in self.machine.void_writes:
            # The shard was given up, or an earlier write failed: the log must not keep it.
            self.machine.on_append(write, None, now_ms)
            return
        if write.shard in self.trouble.failing:
            self.carry_out(self.machine.on_append(write, _WRITES_FAIL_WITH, now_ms), cause)
            return
        written = self._log(write.shard, write.records, cause, message)
        self.carry_out(self.machine.on_append(write, None, now_ms), written, message)

    def _log(
        self, shard: int, records: tuple[Record, ...], cause: Cause, message: Message | None
    ) -> Cause:
        """Put records into the log, and tell so unless they say what is there already."""
        log = self.log_of(shard)
        if message is not None and message.is_repeat:
            log.repeat(records)
            return cause
        offset = log.end_offset
        log.append(records)
        facts: Facts = {"broker": self.id, "topic": OFFSETS_TOPIC, "partition": shard}
        facts["offset"], facts["end_offset"] = offset, log.end_offset
        facts["count"] = len(records)
        return self.recorder.put(WorldEventKind.WRITE_COMMITTED, self.kernel.now_ms, cause, facts)

    def log_of(self, shard: int) -> OffsetsLog:
        """A partition of the offsets topic."""
        log = self.logs.get(shard)
        if log is None:
            log = self.logs[shard] = OffsetsLog()
        return log

    def take_quietly(self, request: Request, at_ms: int, cause: Cause) -> None:
        """Handle the last of many requests that changed nothing, at its own time."""
        if isinstance(request, OffsetCommitRequest):
            committed = self.machine.commit_at_once(request, at_ms)
            if committed is not None:
                self.timers.set((committed.session,), cause, at_ms)
                self.log_of(committed.shard).repeat(committed.records)
                return
        outcome = self.machine.on_request(request, at_ms)
        self.timers.set(outcome.timers, cause, at_ms)
        for write in outcome.writes:
            self.log_of(write.shard).repeat(write.records)
            self.timers.set(self.machine.on_append(write, None, at_ms).timers, cause, at_ms)

    # --- timers ---

    def restore_timer(self, timer: SessionTimer, forgotten: Setting) -> None:
        """Let a timer that was forgotten wake somebody again."""
        slot = self.machine.slots.get(self.machine.shard_of(timer.group_id))
        armed = None if slot is None or slot.shard is None else slot.shard.timers.get(timer)
        if armed is not None:
            self.timers.restore(armed, forgotten)

    def _fire(self, timer: Timer, cause: Cause, set_ms: int) -> None:
        now_ms = self.kernel.now_ms
        if isinstance(timer, ExpiryTimer):
            # It comes round for ever; only what it finds is told.
            self.carry_out(self.machine.on_timer(timer, now_ms), None)
            return
        set_by = self.recorder.seq_of(cause)
        facts: Facts = {
            "broker": self.id,
            "set_by": set_by,
            "duration_ms": now_ms - set_ms,
            "detail": TIMER_WORDS[type(timer)],
        }
        if isinstance(timer, WriteTimer):
            facts["topic"], facts["partition"] = OFFSETS_TOPIC, timer.shard
        else:
            facts["group"] = timer.group_id
            self.before_touching(timer.group_id)
        if isinstance(timer, SessionTimer):
            facts["member"] = timer.member_id
            facts["client"] = self.clients.get(timer.member_id)
        fired = self.recorder.put(WorldEventKind.TIMER_FIRED, now_ms, set_by, facts)
        self.carry_out(self.machine.on_timer(timer, now_ms), fired)
