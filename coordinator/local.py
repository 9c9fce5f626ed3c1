"""LocalCoordinator: a broker in one object, driven by the wall clock, for unit tests.

No world around it: you send single requests and look at the answers. Time is the wall clock's, so
freezegun can move it; `advance()` lets everything happen that has become due. Any other clock
that tells milliseconds will do too.

    with freeze_time() as clock:
        broker = LocalCoordinator(group_initial_rebalance_delay_ms=0)
        ada = broker.join("group")
        clock.tick(46)
        broker.advance()
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from attrs import define, evolve, field, fields, frozen, has

from coordinator.cluster import ClusterView
from coordinator.config import GroupConfig
from coordinator.errors import CoordinatorError, ErrorCode
from coordinator.events import Event
from coordinator.group import Group
from coordinator.ids import IdSource, SeededIds
from coordinator.machine import GroupCoordinator
from coordinator.outcome import Outcome
from coordinator.protocol import (
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    Node,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from coordinator.records import Record, TopicPartition
from coordinator.timer_queue import TimerQueue
from coordinator.timers import Timer

R = TypeVar("R", bound=Response)


class NotAnswered(CoordinatorError):
    """An answer was asked for that the coordinator has not given; it says what it waits for."""


def wall_clock_ms() -> int:
    """Milliseconds of the wall clock; the one place where the coordinator looks at it."""
    return time.time_ns() // 1_000_000


@define(eq=False)
class Answer(Generic[R]):
    """What became of a request: not `done` while it is parked, then its `result`."""

    request: Request
    _broker: LocalCoordinator
    response: R | None = field(default=None, init=False)

    @property
    def done(self) -> bool:
        """Has the coordinator answered?"""
        return self.response is not None

    @property
    def result(self) -> R:
        """The reply; asking too early is an error that says what the request waits for."""
        if self.response is None:
            raise NotAnswered(self._broker.why_parked(self.request))
        return self.response

    @property
    def error(self) -> ErrorCode:
        """The first thing that went wrong: on top, or in a row of the reply; else NONE."""
        return next((each for each in self.errors if each is not ErrorCode.NONE), ErrorCode.NONE)

    @property
    def errors(self) -> list[ErrorCode]:
        """The reply's error codes: the one on top, then those of its rows, in order."""
        return list(_errors_in(self.result))

    def __repr__(self) -> str:
        kind = type(self.request).__name__
        return f"<{kind}: parked>" if self.response is None else f"<{kind}: {self.response}>"


def _errors_in(value: object) -> Iterator[ErrorCode]:
    """Every error code in a reply, from the top down."""
    kind = type(value)
    if not has(kind):
        return
    for each in fields(kind):
        inner = getattr(value, each.name)
        if isinstance(inner, ErrorCode):
            yield inner
        elif isinstance(inner, tuple):
            for row in inner:
                yield from _errors_in(row)


@frozen(kw_only=True)
class LocalMember:
    """A member as the broker knows it: what its later requests must say."""

    group_id: str
    member_id: str
    generation_id: int
    group_instance_id: str | None = None
    is_leader: bool = False
    members: tuple[str, ...] = ()


@frozen(kw_only=True)
class GroupView:
    """A group as it is inside the broker at this moment; `state` is "Dead" when there is none."""

    group_id: str
    state: str = "Dead"
    generation_id: int = 0
    leader: str | None = None
    protocol_name: str | None = None
    members: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class LocalCoordinator:
    """One broker that coordinates every group, with its log in memory.

    Settings are `GroupConfig`'s, by name. Requests return an `Answer`; what needs a member takes
    a `LocalMember`, which `member_of` makes from a finished join.
    """

    def __init__(
        self,
        config: GroupConfig | None = None,
        *,
        ids: IdSource | None = None,
        now_ms: Callable[[], int] = wall_clock_ms,
        **settings: int,
    ) -> None:
        if config is None:
            config = GroupConfig.from_properties(settings)
        elif settings:
            raise ValueError("give a GroupConfig or single settings, not both")
        node = Node(node_id=1, host="localhost", port=9092)
        shards = range(config.offsets_topic_num_partitions)
        self.machine = GroupCoordinator(
            config,
            ids=SeededIds() if ids is None else ids,
            view=ClusterView(offsets_leaders=dict.fromkeys(shards, node)),
        )
        self.events: list[Event] = []
        self.log: dict[int, list[Record]] = {shard: [] for shard in shards}
        self._clock = now_ms
        self._now_ms = now_ms()
        self._timers = TimerQueue()
        self._answers: dict[int, Answer[Any]] = {}
        self._sent = 0
        self._fail_next: list[ErrorCode] = []
        for shard in shards:
            self._carry_out(self.machine.load(shard, (), self._now_ms))

    # --- time and the log ---

    def advance(self) -> None:
        """Let everything happen that is due by now, each thing at its own time."""
        now_ms = self._clock()
        if now_ms < self._now_ms:
            raise ValueError(f"the clock went back from {self._now_ms} to {now_ms} ms")
        while (due := self._timers.pop_due(now_ms)) is not None:
            at_ms, timer = due
            self._now_ms = max(self._now_ms, at_ms)
            self._fire(timer)
        self._now_ms = now_ms

    def fail_next_write(self, error: ErrorCode = ErrorCode.NOT_ENOUGH_REPLICAS) -> None:
        """The next write to the log fails with this error."""
        self._fail_next.append(error)

    def restart(self) -> None:
        """Unload everything and load it again from the log, as after a failover."""
        self.advance()
        for shard, records in self.log.items():
            self._carry_out(self.machine.unload(shard, self._now_ms))
            self._carry_out(self.machine.load(shard, records, self._now_ms))

    # --- requests ---

    def send(self, request: Request) -> Answer[Any]:
        """Send any request of the coordinator's protocol."""
        self.advance()
        self._sent += 1
        numbered = evolve(request, request_id=self._sent)
        answer: Answer[Any] = Answer(numbered, self)
        self._answers[self._sent] = answer
        self._carry_out(self.machine.on_request(numbered, self._now_ms))
        self.advance()
        return answer

    def join(  # noqa: PLR0913 (a join says many things; all have defaults)
        self,
        group_id: str,
        member: LocalMember | str = UNKNOWN_MEMBER_ID,
        *,
        client_id: str = "client",
        group_instance_id: str | None = None,
        protocols: Mapping[str, bytes] | Iterable[str] = ("range",),
        protocol_type: str = "consumer",
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        api_version: int = 9,
    ) -> Answer[JoinGroupResponse]:
        """JoinGroup. `protocols` are names in order of preference, with metadata if you like."""
        if isinstance(protocols, str):
            raise TypeError(f"protocols must be several names, not the one text {protocols!r}")
        if isinstance(member, LocalMember):
            group_instance_id = group_instance_id or member.group_instance_id
            member = member.member_id
        named = protocols if isinstance(protocols, Mapping) else dict.fromkeys(protocols, b"")
        return self.send(
            JoinGroupRequest(
                api_version=api_version,
                client_id=client_id,
                group_id=group_id,
                member_id=member,
                group_instance_id=group_instance_id,
                protocol_type=protocol_type,
                protocols=tuple(JoinGroupRequestProtocol(*pair) for pair in named.items()),
                session_timeout_ms=session_timeout_ms,
                rebalance_timeout_ms=rebalance_timeout_ms,
            )
        )

    def member_of(self, joined: Answer[JoinGroupResponse]) -> LocalMember:
        """The member that a successful join made."""
        reply, request = joined.result, joined.request
        assert isinstance(request, JoinGroupRequest)
        if reply.error_code is not ErrorCode.NONE:
            raise ValueError(f"the join was refused with {reply.error_code.name}: nobody joined")
        return LocalMember(
            group_id=request.group_id or "",
            member_id=reply.member_id,
            generation_id=reply.generation_id,
            group_instance_id=request.group_instance_id,
            is_leader=reply.leader == reply.member_id,
            members=tuple(each.member_id for each in reply.members),
        )

    def sync(
        self, member: LocalMember, assignments: Mapping[str, bytes] | None = None
    ) -> Answer[SyncGroupResponse]:
        """SyncGroup; the leader gives the plan, by member id."""
        plan = () if assignments is None else assignments.items()
        return self.send(
            SyncGroupRequest(
                api_version=4,
                group_id=member.group_id,
                generation_id=member.generation_id,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                assignments=tuple(SyncGroupRequestAssignment(*pair) for pair in plan),
            )
        )

    def heartbeat(self, member: LocalMember) -> Answer[HeartbeatResponse]:
        """Heartbeat."""
        return self.send(
            HeartbeatRequest(
                group_id=member.group_id,
                generation_id=member.generation_id,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
            )
        )

    def leave(self, *members: LocalMember) -> Answer[LeaveGroupResponse]:
        """LeaveGroup, for members of one group."""
        if not members:
            raise ValueError("leave needs at least one member")
        identities = (
            MemberIdentity(member_id=each.member_id, group_instance_id=each.group_instance_id)
            for each in members
        )
        return self.send(LeaveGroupRequest(group_id=members[0].group_id, members=tuple(identities)))

    def commit(
        self, member: LocalMember | str, offsets: Mapping[TopicPartition, int]
    ) -> Answer[OffsetCommitResponse]:
        """OffsetCommit, by a member, or to a group by name as an administrator does."""
        topics = tuple(
            OffsetCommitRequestTopic(
                name=topic,
                partitions=(
                    OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offset
                    ),
                ),
            )
            for (topic, partition), offset in offsets.items()
        )
        if isinstance(member, str):
            return self.send(OffsetCommitRequest(group_id=member, topics=topics))
        return self.send(
            OffsetCommitRequest(
                group_id=member.group_id,
                generation_id=member.generation_id,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                topics=topics,
            )
        )

    def committed(self, group_id: str) -> dict[TopicPartition, int]:
        """All committed offsets of a group."""
        group = OffsetFetchRequestGroup(group_id=group_id)
        answer: Answer[OffsetFetchResponse] = self.send(OffsetFetchRequest(groups=(group,)))
        return {
            (topic.name, row.partition_index): row.committed_offset
            for topic in answer.result.groups[0].topics
            for row in topic.partitions
        }

    def describe(self, group_id: str) -> GroupView:
        """The group as it is now. For DescribeGroups' own answer, `send` the request."""
        self.advance()
        group = self._group(group_id)
        if group is None:
            return GroupView(group_id=group_id)
        return GroupView(
            group_id=group_id,
            state=group.state.value,
            generation_id=group.generation_id,
            leader=group.leader_id,
            protocol_name=group.protocol_name,
            members=tuple(group.members),
            pending=tuple(group.pending_joins),
        )

    def stable_group(self, group_id: str, *client_ids: str, **join: Any) -> list[LocalMember]:  # noqa: ANN401 (arguments of `join`)
        """One member per client id, all joined and synced: a Stable group to begin a test with.

        Wants `group_initial_rebalance_delay_ms=0`, for nobody moves the clock meanwhile.
        """
        joined: list[Answer[JoinGroupResponse]] = []
        for client_id in client_ids:
            answer = self.join(group_id, client_id=client_id, **join)
            if answer.done and answer.error is ErrorCode.MEMBER_ID_REQUIRED:
                member_id = answer.result.member_id
                answer = self.join(group_id, member_id, client_id=client_id, **join)
            joined = [self.join(group_id, self.member_of(each), **join) for each in joined]
            joined.append(answer)
        members = [self.member_of(answer) for answer in joined]
        for member in sorted(members, key=lambda each: not each.is_leader):
            self.sync(member, dict.fromkeys(member.members, b"") if member.is_leader else None)
        return members

    # --- inside ---

    def why_parked(self, request: Request) -> str:
        """Why a request has no answer yet, in words."""
        kind = type(request).__name__
        group_id = getattr(request, "group_id", None) or ""
        group = self._group(group_id)
        if group is None:
            return f"{kind} was not answered, and there is no group {group_id!r} any more"
        missing = [m for m, each in group.members.items() if each.awaiting_join is None]
        awaited = f"joins are awaited from {missing + list(group.pending_joins)}"
        waits = {
            "PreparingRebalance": "the initial delay runs"
            if group.is_initial_rebalance
            else awaited,
            "CompletingRebalance": f"leader {group.leader_id} has not sent the assignment",
        }.get(group.state.value, "a later request of the same member may have replaced it")
        next_ms = self._timers.next_at_ms()
        when = "" if next_ms is None else f"; the next timer is due in {next_ms - self._now_ms} ms"
        return f"{kind} is parked: group {group_id!r} is {group.state.value}, {waits}{when}"

    def _group(self, group_id: str) -> Group | None:
        slot = self.machine.slots.get(self.machine.shard_of(group_id))
        return None if slot is None or slot.shard is None else slot.shard.groups.get(group_id)

    def _fire(self, timer: Timer) -> None:
        self._carry_out(self.machine.on_timer(timer, self._now_ms))

    def _carry_out(self, outcome: Outcome) -> None:
        self._timers.apply(outcome.timers)
        self.events.extend(outcome.events)
        for reply in outcome.replies:
            answer = self._answers.pop(reply.request_id)
            answer.response = reply.response
        for write in outcome.writes:
            error = self._fail_next.pop(0) if self._fail_next else None
            if error is None:
                self.log[write.shard].extend(write.records)
            self._carry_out(self.machine.on_append(write, error, self._now_ms))
