"""A member by script: it joins, syncs, beats, and joins again when it is told to, until it crashes.

It speaks the eager protocol and knows no trouble but a rebalance; whatever else it hears is a
fault of the story. Its ownership of partitions is recorded from its own side.
"""

from __future__ import annotations

from functools import partial

from attrs import define, field

from client.assignors import Assignor, Cluster, Subscription, TopicPartition
from client.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from coordinator import ErrorCode
from coordinator.protocol import (
    CONSUMER_PROTOCOL_TYPE,
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    Response,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from simulation.errors import UnexpectedReply
from simulation.events import Facts, WorldEventKind
from simulation.hosts import CoordinatorHost
from simulation.kernel import Kernel, Rank, Turn
from simulation.recorder import Recorder


@define(eq=False, kw_only=True)
class ScriptedMember:
    """One consumer of one group, reduced to its membership."""

    client: str
    group: str
    topics: tuple[str, ...]
    cluster: Cluster
    assignor: Assignor
    session_timeout_ms: int
    heartbeat_interval_ms: int
    #: How late it notices that a beat is due: Kafka's consumer looks every retry.backoff.ms.
    beats_late_ms: int
    host: CoordinatorHost
    kernel: Kernel
    recorder: Recorder
    is_alive: bool = field(default=True, init=False)
    is_leader: bool = field(default=False, init=False)
    _member_id: str = field(default=UNKNOWN_MEMBER_ID, init=False)
    _generation: int = field(default=UNKNOWN_GENERATION_ID, init=False)
    _owned: tuple[TopicPartition, ...] = field(default=(), init=False)
    _is_joining: bool = field(default=False, init=False)
    _beats: int = field(default=0, init=False)

    def start(self) -> None:
        """Begin to work."""
        self._join(self._record(WorldEventKind.CONSUMER_STARTED, None))

    def crash(self) -> None:
        """Die without a word; what it owned is nobody's from here on."""
        crashed = self._record(WorldEventKind.CONSUMER_CRASHED, None)
        self.is_alive = False
        self._end_ownership(WorldEventKind.PARTITION_LOST, crashed)

    # --- joining ---

    def _join(self, cause: int) -> None:
        self._is_joining = True
        subscription = Subscription(
            topics=self.topics, user_data=self.assignor.subscription_user_data(self.topics)
        )
        metadata = encode_subscription(subscription)
        request = JoinGroupRequest(
            group_id=self.group,
            client_id=self.client,
            member_id=self._member_id,
            session_timeout_ms=self.session_timeout_ms,
            protocols=(JoinGroupRequestProtocol(self.assignor.name, metadata),),
        )
        self.host.send(request, self, cause, self._on_join)

    def _on_join(self, response: Response, cause: int) -> None:
        assert isinstance(response, JoinGroupResponse)
        if response.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
            self._join(cause)
            return
        self._expect(ErrorCode.NONE, response)
        self._is_joining = False
        self._generation = response.generation_id
        self.is_leader = response.leader == response.member_id
        self._beat_later(cause)
        request = SyncGroupRequest(
            group_id=self.group,
            client_id=self.client,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=response.protocol_name,
            assignments=self._plan(response) if self.is_leader else (),
        )
        self.host.send(request, self, cause, self._on_sync)

    def _plan(self, response: JoinGroupResponse) -> tuple[SyncGroupRequestAssignment, ...]:
        """The leader's duty: who gets what."""
        group = {
            member.member_id: decode_subscription(member.metadata, member.group_instance_id)
            for member in response.members
        }
        return tuple(
            SyncGroupRequestAssignment(member_id, encode_assignment(assignment))
            for member_id, assignment in self.assignor.assign(self.cluster, group).items()
        )

    def _on_sync(self, response: Response, cause: int) -> None:
        assert isinstance(response, SyncGroupResponse)
        if response.error_code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._join(cause)
            return
        self._expect(ErrorCode.NONE, response)
        self._owned = tuple(sorted(decode_assignment(response.assignment).partitions))
        for topic, partition in self._owned:
            self._record(WorldEventKind.PARTITION_ASSIGNED, cause, topic=topic, partition=partition)

    # --- staying ---

    def _beat_later(self, cause: int) -> None:
        self._beats += 1
        due_ms = self.kernel.now_ms + self.heartbeat_interval_ms + self.beats_late_ms
        turn = Turn(due_ms, Rank.CONSUMER, self.client, self._beats)
        self.kernel.at(turn, partial(self._beat, self._beats, cause))

    def _beat(self, beat: int, cause: int) -> None:
        """Beat, unless a newer beat was arranged, a join stands for it, or nobody is there."""
        if beat != self._beats or self._is_joining or not self.is_alive:
            return
        request = HeartbeatRequest(
            group_id=self.group,
            client_id=self.client,
            generation_id=self._generation,
            member_id=self._member_id,
        )
        self._beat_later(self.host.send(request, self, cause, self._on_beat))

    def _on_beat(self, response: Response, cause: int) -> None:
        if response.error_code is ErrorCode.NONE or self._is_joining:
            return
        self._expect(ErrorCode.REBALANCE_IN_PROGRESS, response)
        self._end_ownership(WorldEventKind.PARTITION_REVOKED, cause)
        self._join(cause)

    def _end_ownership(self, kind: WorldEventKind, cause: int) -> None:
        for topic, partition in self._owned:
            self._record(kind, cause, topic=topic, partition=partition)
        self._owned = ()

    # --- what is said of it, and to it ---

    def facts(self) -> Facts:
        """Who it is, as of now."""
        is_known = self._generation != UNKNOWN_GENERATION_ID
        return {
            "group": self.group,
            "client": self.client,
            "member": self._member_id or None,
            "generation": self._generation if is_known else None,
        }

    def _record(
        self,
        kind: WorldEventKind,
        cause: int | None,
        *,
        topic: str | None = None,
        partition: int | None = None,
    ) -> int:
        facts: Facts = {**self.facts(), "topic": topic, "partition": partition}
        return self.recorder.record(kind, self.kernel.now_ms, cause, **facts)

    def _expect(self, error: ErrorCode, response: Response) -> None:
        if response.error_code is not error:
            raise UnexpectedReply(
                f"{self.client} heard {response.error_code.name} in a {type(response).__name__}"
                f" at {self.kernel.now_ms} ms, where its script knows {error.name} only"
            )
