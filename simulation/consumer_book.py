"""What is written down about a consumer: what it owns, reads, processes and commits.

A consumer's machine says little of this by itself; it is seen from its assignment, its fetches and
its answers. What repeats without news is counted, not told.
"""

from __future__ import annotations

from typing import Unpack

from attrs import define, field, frozen

from client.consumer import Consumer
from client.membership import Generation
from client.messages import FetchPartition, FetchRequest
from client.outputs import (
    CommitFailed,
    OffsetsGiven,
    PausesChanged,
    PositionSought,
    RecordsReturned,
)
from client.partitions import TopicPartition as Partition
from client.records import RecordRange
from client.settings import ConsumerConfig
from coordinator import ErrorCode
from coordinator.protocol import (
    UNKNOWN_MEMBER_ID,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
    Request,
)
from simulation.cluster import TopicPartition
from simulation.events import NOTHING_COMMITTED, Facts, WorldEventKind
from simulation.kernel import Kernel
from simulation.network import Message
from simulation.programs import Program, Running
from simulation.recorder import Fold, Recorder

W = WorldEventKind
# To name a member of an enumeration costs as much as a call, and there are rows of these for every
# fetch that brings records.
_RETURNED, _PROCESSED = W.RECORDS_RETURNED, W.RECORDS_PROCESSED
#: Requests after whose answer there may be a position that was not known before.
_FINDING_POSITIONS = frozenset({"OffsetFetch", "ListOffsets", "OffsetForLeaderEpoch"})


@frozen(kw_only=True)
class Role:
    """A consumer as its script describes it."""

    name: str
    group: str
    config: ConsumerConfig
    program: Program
    number: int
    seed: int


@define(eq=False, kw_only=True)
class ConsumerBook:
    """The record of one consumer."""

    role: Role
    kernel: Kernel
    recorder: Recorder
    machine: Consumer | None = field(default=None, init=False)
    running: Running | None = field(default=None, init=False)
    is_stopping: bool = field(default=False, init=False)
    #: The row that led to what the consumer does now.
    cause: int | None = field(default=None, init=False)
    #: Positions as last acknowledged in this generation; repeating them is no news.
    acknowledged: dict[TopicPartition, int] = field(factory=dict, init=False)
    last_beat: Message | None = field(default=None, init=False)
    last_repeat: Message | None = field(default=None, init=False)
    #: Whether somebody looks for repetitions, to pass over those that follow.
    seeks_quiet: bool = field(default=False, init=False)
    last_heard: Message | None = field(default=None, init=False)
    #: When it last came to want other fetches than those that are under way.
    wants_other_since_ms: int = field(default=-1, init=False)
    #: The latest look at metadata: what was asked and what was answered.
    last_metadata: tuple[Request, object] | None = field(default=None, init=False)
    _owned: tuple[TopicPartition, ...] = field(default=(), init=False)
    #: How often what it owns had been replaced when that was last looked at.
    _assignments: int = field(default=0, init=False)
    _owned_facts: Facts = field(factory=Facts, init=False)
    _unfetched: set[TopicPartition] = field(factory=set, init=False)
    _expected: dict[TopicPartition, int] = field(factory=dict, init=False)
    _committed: dict[TopicPartition, int] = field(factory=dict, init=False)
    #: Where the application has gone to an end of the log, and not been seen to read yet.
    _sought: set[TopicPartition] = field(factory=set, init=False)
    #: What the step tells that is being written down.
    _told: tuple[object, ...] = field(default=(), init=False)
    _sessions: dict[str, dict[TopicPartition, FetchPartition]] = field(factory=dict, init=False)
    _in_hand: tuple[RecordRange, ...] = field(default=(), init=False)
    _began_ms: int = field(default=0, init=False)
    #: Who it is since the machine last acted, and the generation of which that is true.
    _facts: Facts = field(factory=Facts, init=False)
    _generation: Generation | None = field(default=None, init=False)
    #: How long it waits for an answer in this life.
    request_timeout_ms: int = field(default=0, init=False)
    #: What it is called.
    name: str = field(init=False)

    @name.default
    def _name_of_its_role(self) -> str:
        return self.role.name

    def facts(self) -> Facts:
        """Who it is, as of now."""
        group = None if self.machine is None else self.machine.calls.group
        generation = None if group is None else group.membership.generation
        if generation is not self._generation or not self._facts:
            self._generation, self._facts = generation, self._facts_in(generation)
        return self._facts

    def _facts_in(self, generation: Generation | None) -> Facts:
        facts: Facts = {"group": self.role.group, "client": self.name}
        if self.role.config.group_instance_id is not None:
            facts["instance"] = self.role.config.group_instance_id
        if generation is not None:
            if generation.member_id != UNKNOWN_MEMBER_ID:
                facts["member"] = generation.member_id
            if generation.generation_id >= 0:
                facts["generation"] = generation.generation_id
        return facts

    @property
    def _is_closed(self) -> bool:
        return self.machine is not None and self.machine.calls.is_closed

    def _forget(self) -> None:
        self.acknowledged.clear()
        self.last_beat = self.last_repeat = self.last_heard = self.last_metadata = None
        self._owned, self._unfetched, self._in_hand = (), set(), ()
        self._assignments = 0
        self._expected.clear()
        self._committed.clear()
        self._sought.clear()
        self._sessions.clear()

    def _expect_after(self, fact: RecordsReturned) -> None:
        """Know where the next fetch begins: it leaves before these records are handed out."""
        for found in fact.ranges:
            self._expected[found.partition] = found.end
            if self._sought:
                self._sought.discard(found.partition)

    def _on_returned(self, fact: RecordsReturned) -> None:
        if self._in_hand:
            self._put_down()
        for found in fact.ranges:
            self._record_range(_RETURNED, found)
        assert self.running is not None
        if not self.running.tells_of_processing:
            self._in_hand, self._began_ms = fact.ranges, fact.at_ms

    def _put_down(self) -> None:
        """The application polls again, or ends: it is done with what it had."""
        in_hand, self._in_hand = self._in_hand, ()
        for found in in_hand:
            self._record_range(_PROCESSED, found, self.kernel.now_ms - self._began_ms)

    # --- what the machine learns ---

    def _is_repeat(self, request: OffsetCommitRequest) -> bool:
        known = self.acknowledged
        for topic in request.topics:
            name = topic.name
            for each in topic.partitions:
                if known.get((name, each.partition_index)) != each.committed_offset:
                    return False
        return bool(known)

    def _note(self, message: Message, response: object) -> None:
        """Count what repeats, and remember what a later row will speak of."""
        kind = message.kind
        if self.seeks_quiet:
            self.last_heard = message
        if kind == "Heartbeat":
            if message.error == "NONE":
                self._note_beat(message)
        elif kind == "Fetch":
            if response.node_endpoints:  # type: ignore[attr-defined]
                self._end_idle_rounds()
        elif kind == "OffsetCommit":
            self._on_commit_answered(message, response)
        elif kind == "Metadata":
            self._note_metadata(message.request, response)
        elif kind in _FINDING_POSITIONS:
            self._end_idle_rounds()
            if isinstance(response, OffsetFetchResponse):
                self._note_committed(response)

    def _note_beat(self, message: Message) -> None:
        if self.seeks_quiet:
            self.last_beat = message
        self._count(message)

    def _note_metadata(self, request: Request, response: object) -> None:
        known = None if self.last_metadata is None else self.last_metadata[1]
        if known is not response and known != response:
            self._end_idle_rounds()
        self.last_metadata = request, response

    def _note_committed(self, response: OffsetFetchResponse) -> None:
        for group in response.groups:
            for topic in group.topics:
                for found in topic.partitions:
                    if found.committed_offset >= 0:
                        place = topic.name, found.partition_index
                        self._committed[place] = found.committed_offset

    def _count(self, message: Message) -> None:
        recorder = self.recorder
        fold = recorder.fold(self.name, message.set_by)
        tally = fold.commits if message.is_repeat else fold.beats
        if tally.count:
            tally.count += 1
            tally.last_heard_ms = self.kernel.now_ms
        else:
            self.begin_fold(fold, message)
            tally.add(message.sent_ms, self.kernel.now_ms)
        if not recorder.is_folding:
            recorder.close(self.name)

    def begin_fold(self, fold: Fold, message: Message) -> None:
        """Say of whom this counts the repetitions, unless it is said already."""
        if fold.is_empty:
            fold.facts = {**message.facts, "request": None, "connection": None}

    def _on_commit_answered(self, message: Message, response: object) -> None:
        if message.is_repeat and message.error == "NONE":
            self.last_repeat = message
            self._count(message)
            return
        request = message.request
        assert isinstance(request, OffsetCommitRequest)
        assert isinstance(response, OffsetCommitResponse)
        errors = {
            (topic.name, each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }
        for topic in request.topics:
            for each in topic.partitions:
                place, offset = (topic.name, each.partition_index), each.committed_offset
                error = errors[place]
                if error is ErrorCode.NONE:
                    self.acknowledged[place] = offset
                    self._record_at(W.COMMIT_ACKNOWLEDGED, place, offset)
                else:
                    self._record_failed(place, offset, error.name)

    # --- what the application was told and did, as far as later rows speak of it ---

    def _on_given(self, fact: OffsetsGiven) -> None:
        for place in sorted(fact.offsets):
            self._record_at(W.OFFSET_GIVEN, place, fact.offsets[place].offset)

    def _on_pauses_changed(self, _fact: PausesChanged) -> None:
        self._end_idle_rounds()

    def _on_sought(self, fact: PositionSought) -> None:
        """An offset is a position at once, and may be committed; an end of the log is found later.

        A listener seeks in partitions that it has just been given, which no row has told yet.
        """
        place = fact.partition
        if place not in self._owned:
            self._look_at_ownership()
        self._sought.discard(place)
        if fact.offset is None:
            self._sought.add(place)
        elif place in self._owned:
            self._record_position(place, fact.offset, "seek")
            if not self._will_return(place, fact):
                self._expected[place] = fact.offset
        self._end_idle_rounds()

    def _will_return(self, place: TopicPartition, sought: PositionSought) -> bool:
        """Whether the same step hands out records of a partition after it was gone to."""
        later = False
        for fact in self._told:
            if fact is sought:
                later = True
            elif later and type(fact) is RecordsReturned:
                for found in fact.ranges:
                    if found.partition == place:
                        return True
        return False

    def _on_commit_failed(self, fact: CommitFailed) -> None:
        """A commit came to nothing, and no answer says why."""
        for place in sorted(fact.offsets):
            self._record_failed(place, fact.offsets[place].offset, type(fact.error).__name__)

    def _record_failed(self, place: TopicPartition, offset: int, error: str) -> None:
        topic, partition = place
        self._record(
            W.COMMIT_FAILED,
            self.cause,
            topic=topic,
            partition=partition,
            offset=offset,
            error=error,
        )

    # --- partitions ---

    def _look_at_ownership(self) -> None:
        machine = self.machine
        if machine is None:
            return
        owned, known = machine.calls.subscriptions.assigned_partitions, self._owned
        self._owned, self._assignments = owned, machine.calls.subscriptions.assignments
        if owned == known:
            return
        before, after = set(known), set(owned)
        if before == after:
            return
        facts = self.facts()
        is_nobody = "generation" not in facts and not self.is_stopping
        kind = W.PARTITION_LOST if is_nobody else W.PARTITION_REVOKED
        for topic, partition in sorted(before - after):
            self._give_up(kind, topic, partition)
        self._owned_facts = facts
        for topic, partition in sorted(after - before):
            self._unfetched.add((topic, partition))
            self._record(W.PARTITION_ASSIGNED, self.cause, topic=topic, partition=partition)
        if after - before:
            self._end_idle_rounds()

    def _end_idle_rounds(self) -> None:
        """Fetches that go round unplayed know nothing of what is wanted now; the host ends them."""
        self.wants_other_since_ms = self.kernel.now_ms

    def _give_up(self, kind: WorldEventKind, topic: str, partition: int) -> None:
        place = topic, partition
        self._unfetched.discard(place)
        self._expected.pop(place, None)
        self._committed.pop(place, None)
        self._sought.discard(place)
        self.acknowledged.pop(place, None)
        more: Facts = {"topic": topic, "partition": partition}
        if kind is W.PARTITION_LOST:
            more["detail"] = "fenced"
        self.recorder.put(kind, self.kernel.now_ms, self.cause, self._owned_facts, more)

    def _note_fetch(self, request: FetchRequest, message: Message) -> None:
        """Remember what the session is about; tell of first fetches and of positions that moved."""
        session = self._sessions.setdefault(message.connection.name, {})
        if request.session_epoch <= 0:
            session.clear()
        for forgotten in request.forgotten:
            session.pop(forgotten, None)
        expected = self._expected
        moved: list[TopicPartition] = []
        for wanted in request.partitions:
            place, offset = (wanted.topic, wanted.partition), wanted.fetch_offset
            session[place] = wanted
            if expected.get(place, offset) != offset:
                moved.append(place)
        message.wanted = tuple(session.values())
        if self._unfetched:
            for place in sorted(self._unfetched.intersection(session)):
                self._unfetched.discard(place)
                offset = session[place].fetch_offset
                if expected.get(place) != offset:
                    self._go_to(place, offset, self._way_to(place, offset))
                self._record_at(W.FETCH_STARTED, place, offset)
        for place in moved:
            if expected[place] != (offset := session[place].fetch_offset):
                self._go_to(place, offset, self._way_to(place))

    def _note_commit(self, request: OffsetCommitRequest) -> None:
        """Tell of a position that is committed before anything is fetched from it."""
        assert self.machine is not None
        expected = self._expected
        for topic in request.topics:
            name = topic.name
            for each in topic.partitions:
                offset = each.committed_offset
                if expected.get((name, each.partition_index)) == offset:
                    continue
                place = Partition(name, each.partition_index)
                state = self.machine.calls.subscriptions.state_or_none(place)
                position = None if state is None else state.position
                if position is not None and position.offset == offset:
                    first = offset if place in self._unfetched else None
                    self._go_to(place, offset, self._way_to(place, first))

    def _way_to(self, place: TopicPartition, first: int | None = None) -> str:
        """How a position came to be; the `first` one may be what was committed."""
        if place in self._sought:
            # Where an end of the log lies is not the application's word, but going there is.
            self._sought.discard(place)
            return "seek"
        if first is None:
            return "reset"
        if place not in self._committed:
            return NOTHING_COMMITTED
        return "committed" if self._committed[place] == first else "reset"

    def _go_to(self, place: TopicPartition, offset: int, why: str) -> None:
        self._expected[place] = offset
        self._record_position(place, offset, why)

    def _record_position(self, place: TopicPartition, offset: int, why: str) -> None:
        topic, partition = place
        more: Facts = {"topic": topic, "partition": partition, "offset": offset, "detail": why}
        self.recorder.put(W.POSITION_SET, self.kernel.now_ms, self.cause, self._facts, more)

    def _record_at(self, kind: WorldEventKind, place: TopicPartition, offset: int) -> None:
        more: Facts = {"topic": place[0], "partition": place[1], "offset": offset}
        self.recorder.put(kind, self.kernel.now_ms, self.cause, self._facts, more)

    def _record_range(
        self, kind: WorldEventKind, found: RecordRange, duration_ms: int | None = None
    ) -> None:
        topic, partition = found.partition
        more: Facts = {
            "topic": topic,
            "partition": partition,
            "offset": found.first,
            "end_offset": found.end,
            "duration_ms": duration_ms,
        }
        self.recorder.put(kind, self.kernel.now_ms, self.cause, self._facts, more)

    def _record(self, kind: WorldEventKind, cause: int | None, **more: Unpack[Facts]) -> int:
        return self.recorder.put(kind, self.kernel.now_ms, cause, self.facts(), more)
