"""What is written down about a consumer: what it owns, reads, processes and commits.

A consumer's machine says little of this by itself; it is seen from its assignment, its fetches and
its answers. What repeats without news is counted, not told.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field, frozen

from client.consumer import Consumer
from client.messages import FetchPartition, FetchRequest
from client.outputs import RecordsReturned
from client.records import RecordRange
from client.settings import ConsumerConfig
from coordinator.protocol import (
    UNKNOWN_MEMBER_ID,
    OffsetCommitRequest,
    OffsetFetchResponse,
    Request,
)
from simulation.cluster import TopicPartition
from simulation.events import Facts, WorldEventKind
from simulation.facts import error_of
from simulation.kernel import Kernel
from simulation.network import Message
from simulation.programs import Program, Running
from simulation.recorder import Fold, Recorder

W = WorldEventKind


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
    #: How many of the next repetitions have been counted before they are played.
    uncounted_beats: int = field(default=0, init=False)
    uncounted_commits: int = field(default=0, init=False)
    last_heard: Message | None = field(default=None, init=False)
    #: The latest look at metadata: what was asked and what was answered.
    last_metadata: tuple[Request, object] | None = field(default=None, init=False)
    _owned: tuple[TopicPartition, ...] = field(default=(), init=False)
    _owned_facts: Facts = field(factory=Facts, init=False)
    _unfetched: set[TopicPartition] = field(factory=set, init=False)
    _expected: dict[TopicPartition, int] = field(factory=dict, init=False)
    _committed: dict[TopicPartition, int] = field(factory=dict, init=False)
    _sessions: dict[str, dict[TopicPartition, FetchPartition]] = field(factory=dict, init=False)
    _in_hand: tuple[RecordRange, ...] = field(default=(), init=False)
    _began_ms: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.role.name

    def facts(self) -> Facts:
        """Who it is, as of now."""
        facts: Facts = {"group": self.role.group, "client": self.name}
        if self.role.config.group_instance_id is not None:
            facts["instance"] = self.role.config.group_instance_id
        group = None if self.machine is None else self.machine.calls.group
        if group is not None:
            generation = group.membership.generation
            if generation.member_id != UNKNOWN_MEMBER_ID:
                facts["member"] = generation.member_id
            if generation.generation_id >= 0:
                facts["generation"] = generation.generation_id
        return facts

    def _forget(self) -> None:
        self.acknowledged.clear()
        self.last_beat = self.last_repeat = self.last_heard = self.last_metadata = None
        self._owned, self._unfetched, self._in_hand = (), set(), ()
        self._expected.clear()
        self._committed.clear()
        self._sessions.clear()

    def _expect_after(self, fact: RecordsReturned) -> None:
        """Know where the next fetch begins: it leaves before these records are handed out."""
        for found in fact.ranges:
            self._expected[found.partition] = found.end

    def _on_returned(self, fact: RecordsReturned) -> None:
        self._put_down()
        for found in fact.ranges:
            self._record_range(W.RECORDS_RETURNED, found)
        assert self.running is not None
        if not self.running.tells_of_processing:
            self._in_hand, self._began_ms = fact.ranges, fact.at_ms

    def _put_down(self) -> None:
        """The application polls again, or ends: it is done with what it had."""
        in_hand, self._in_hand = self._in_hand, ()
        for found in in_hand:
            self._record_range(W.RECORDS_PROCESSED, found, self.kernel.now_ms - self._began_ms)

    # --- what the machine learns ---

    def _is_repeat(self, request: OffsetCommitRequest) -> bool:
        known = self.acknowledged
        return bool(known) and all(
            known.get((topic.name, each.partition_index)) == each.committed_offset
            for topic in request.topics
            for each in topic.partitions
        )

    def _note(self, message: Message, response: object) -> None:
        """Count what repeats, and remember what a later row will speak of."""
        request = message.request
        self.last_heard = message
        if message.kind == "Metadata":
            self.last_metadata = request, response
        elif message.kind == "Heartbeat" or message.is_repeat:
            if error_of(response) == "NONE":
                self._count(message)
        elif isinstance(request, OffsetCommitRequest):
            self._on_commit_answered(request, error_of(response))
        elif isinstance(response, OffsetFetchResponse):
            for group in response.groups:
                for topic in group.topics:
                    for found in topic.partitions:
                        if found.committed_offset >= 0:
                            place = topic.name, found.partition_index
                            self._committed[place] = found.committed_offset

    def _count(self, message: Message) -> None:
        if message.is_repeat:
            self.last_repeat = message
            self.uncounted_commits -= 1
            is_counted = self.uncounted_commits >= 0
        else:
            self.last_beat = message
            self.uncounted_beats -= 1
            is_counted = self.uncounted_beats >= 0
        if is_counted:
            return
        fold = self.recorder.fold(self.name, message.facts.get("set_by"))
        self.begin_fold(fold, message)
        tally = fold.commits if message.is_repeat else fold.beats
        tally.add(message.sent_ms, self.kernel.now_ms)
        if not self.recorder.is_folding:
            self.recorder.close(self.name)

    def begin_fold(self, fold: Fold, message: Message) -> None:
        """Say of whom this counts the repetitions, unless it is said already."""
        if fold.is_empty:
            fold.facts = {**message.facts, "set_by": None, "request": None, "connection": None}

    def _on_commit_answered(self, request: OffsetCommitRequest, error: str) -> None:
        kind = W.COMMIT_ACKNOWLEDGED if error == "NONE" else W.COMMIT_FAILED
        for topic in request.topics:
            for each in topic.partitions:
                if error == "NONE":
                    self.acknowledged[topic.name, each.partition_index] = each.committed_offset
                self._record(
                    kind,
                    self.cause,
                    topic=topic.name,
                    partition=each.partition_index,
                    offset=each.committed_offset,
                    error=None if error == "NONE" else error,
                )

    # --- partitions ---

    def _look_at_ownership(self) -> None:
        machine = self.machine
        if machine is None:
            return
        owned = machine.calls.subscriptions.assigned_partitions
        if owned == self._owned:
            return
        before, after = set(self._owned), set(owned)
        self._owned = owned
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
        """Fetches that go round unplayed know nothing of new partitions; the host ends them."""

    def _give_up(self, kind: WorldEventKind, topic: str, partition: int) -> None:
        place = topic, partition
        self._unfetched.discard(place)
        self._expected.pop(place, None)
        self._committed.pop(place, None)
        self.acknowledged.pop(place, None)
        facts: Facts = {**self._owned_facts, "topic": topic, "partition": partition}
        if kind is W.PARTITION_LOST:
            facts["detail"] = "fenced"
        self.recorder.record(kind, self.kernel.now_ms, self.cause, **facts)

    def _note_fetch(self, request: FetchRequest, message: Message) -> None:
        """Remember what the session is about; tell of first fetches and of positions that moved."""
        session = self._sessions.setdefault(message.connection.name, {})
        if request.session_epoch <= 0:
            session.clear()
        for forgotten in request.forgotten:
            session.pop(forgotten, None)
        for wanted in request.partitions:
            session[wanted.topic, wanted.partition] = wanted
        message.wanted = tuple(session.values())
        if self._unfetched:
            for place in sorted(self._unfetched.intersection(session)):
                self._unfetched.discard(place)
                offset = session[place].fetch_offset
                found = "committed" if self._committed.get(place) == offset else "reset"
                self._record_position(place, offset, found)
                self._record_at(W.FETCH_STARTED, place, offset)
        for wanted in request.partitions:
            place = wanted.topic, wanted.partition
            expected = self._expected.get(place)
            if expected is not None and expected != wanted.fetch_offset:
                self._record_position(place, wanted.fetch_offset, "seek or reset")

    def _record_position(self, place: TopicPartition, offset: int, why: str) -> None:
        self._expected[place] = offset
        self._record(
            W.POSITION_SET,
            self.cause,
            topic=place[0],
            partition=place[1],
            offset=offset,
            detail=why,
        )

    def _record_at(self, kind: WorldEventKind, place: TopicPartition, offset: int) -> None:
        self._record(kind, self.cause, topic=place[0], partition=place[1], offset=offset)

    def _record_range(
        self, kind: WorldEventKind, found: RecordRange, duration_ms: int | None = None
    ) -> None:
        self._record(
            kind,
            self.cause,
            topic=found.partition.topic,
            partition=found.partition.partition,
            offset=found.first,
            end_offset=found.end,
            duration_ms=duration_ms,
        )

    def _record(self, kind: WorldEventKind, cause: int | None, **more: Any) -> int:  # noqa: ANN401
        facts: Facts = {**self.facts(), **more}  # type: ignore[typeddict-item]
        return self.recorder.record(kind, self.kernel.now_ms, cause, **facts)
