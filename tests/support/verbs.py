"""What a test may let a broker and its clients do, one verb each.

A `Broker` is a host whose log, clock and clients a test moves. A request verb returns a `Call`: its
answer, or the fact that there is none yet. A `Client` remembers what its joins were told, so that
the next verb can speak for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from attrs import define, evolve, field

from coordinator import ErrorCode, GroupState, Outcome
from coordinator.group import Group
from coordinator.protocol import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from coordinator.records import Record
from coordinator.timers import SessionTimer, Timer
from tests.support.host import Host

R_co = TypeVar("R_co", bound=Response, covariant=True)

_UNITS_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def in_ms(span: str | int) -> int:
    """A span of time in milliseconds; "40s", "5min" or a number of them."""
    if isinstance(span, int):
        return span
    number, unit = cast("re.Match[str]", re.fullmatch(r"([\d_]+)(\w+)", span)).groups()
    return int(number) * _UNITS_MS[unit]


@define(eq=False, kw_only=True)
class Client:
    """A client's process: what it joins with, and what it was told last."""

    name: str
    group_id: str = "g"
    member_id: str = ""
    group_instance_id: str | None = None
    generation_id: int = -1
    protocol_type: str = "consumer"
    protocols: tuple[JoinGroupRequestProtocol, ...] = ()
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    client_host: str = "/127.0.0.1"

    def restarted(self) -> Client:
        """A new process in its place: it remembers its instance id, but no member id."""
        return evolve(self, member_id="", generation_id=-1)

    def learns(self, response: Response) -> None:
        """Take note of an id or a generation."""
        if not isinstance(response, JoinGroupResponse):
            return
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = response.member_id
        if response.error_code is ErrorCode.NONE:
            self.generation_id = response.generation_id


@define(eq=False)
class Call(Generic[R_co]):
    """A request under way."""

    broker: Broker
    number: int

    @property
    def is_open(self) -> bool:
        """Has it no answer yet?"""
        return self.number not in self.broker.replies

    @property
    def response(self) -> R_co:
        """Its answer."""
        assert not self.is_open, "there is no answer yet"
        return cast("R_co", self.broker.replies[self.number])

    @property
    def error(self) -> ErrorCode:
        """The error of its answer."""
        return self.response.error_code

    @property
    def errors(self) -> list[ErrorCode]:
        """The errors of all rows of its answer, in order."""
        return list(_row_errors(self.response))


def _row_errors(value: Any) -> Iterable[ErrorCode]:
    for name in ("topics", "partitions", "members", "groups", "results", "coordinators"):
        rows = getattr(value, name, None)
        if rows:
            for row in rows:
                yield from _row_errors(row)
            return
    yield value.error_code


@define(eq=False)
class Broker(Host):
    """A broker as tests speak of it."""

    callers: dict[int, Client] = field(factory=dict)
    written: list[Record] = field(factory=list)

    def carry_out(self, outcome: Outcome) -> None:
        """As any host does; clients hear what they are told."""
        for write in outcome.writes:
            self.written.extend(write.records)
        super().carry_out(outcome)
        for reply in outcome.replies:
            if reply.request_id in self.callers:
                self.callers[reply.request_id].learns(reply.response)

    def calls(self, request: Request, *, by: Client | None = None) -> Call[Any]:
        """Hand any request in; timers of this very instant do not fire yet."""
        if by is not None:
            self.callers[self.sent + 1] = by  # an answer may come before `send` returns
        return Call(self, self.send(request))

    def asks(self, request: Request, *, by: Client | None = None) -> Call[Any]:
        """Hand any request in, and let fire what is due at this instant."""
        call = self.calls(request, by=by)
        self.advances(0)
        return call

    # --- membership ---

    def joins(self, client: Client, **said: Any) -> Call[JoinGroupResponse]:
        """A JoinGroup as the client would send it now, in the newest version unless told."""
        return self.asks(join_of(client, **said), by=client)

    def enters(self, client: Client, **said: Any) -> Call[JoinGroupResponse]:
        """Join, and join again with the id where one is handed out first."""
        call = self.joins(client, **said)
        if not call.is_open and call.error is ErrorCode.MEMBER_ID_REQUIRED:
            return self.joins(client, **said)
        return call

    def syncs(
        self, client: Client, plan: Mapping[str, bytes] | None = None, **said: Any
    ) -> Call[SyncGroupResponse]:
        """A SyncGroup; a leader's plan is by member id."""
        return self.asks(sync_of(client, plan, **said), by=client)

    def beats(self, client: Client, **said: Any) -> Call[HeartbeatResponse]:
        """A Heartbeat."""
        words = {
            "group_id": client.group_id,
            "member_id": client.member_id,
            "group_instance_id": client.group_instance_id,
            "generation_id": client.generation_id,
        }
        return self.asks(HeartbeatRequest(**(words | said)), by=client)

    def leaves(self, *clients: Client, group_id: str = "g") -> Call[LeaveGroupResponse]:
        """One LeaveGroup for all of them."""
        identities = [
            MemberIdentity(member_id=each.member_id, group_instance_id=each.group_instance_id)
            for each in clients
        ]
        return self.removes(*identities, group_id=clients[0].group_id if clients else group_id)

    def removes(
        self, *identities: MemberIdentity, group_id: str | None = "g", api_version: int = -1
    ) -> Call[LeaveGroupResponse]:
        """A LeaveGroup with these entries."""
        return self.asks(
            LeaveGroupRequest(group_id=group_id, members=identities, api_version=api_version)
        )

    # --- offsets ---

    def commits(
        self, client: Client | None = None, *topics: OffsetCommitRequestTopic, **said: Any
    ) -> Call[OffsetCommitResponse]:
        """An OffsetCommit of a member, or of nobody; offset 5 of partition t-0 unless told."""
        return self.asks(commit_of(client, *topics, **said), by=client)

    def fetches(
        self,
        group_id: str | None = "g",
        *places: tuple[str, int],
        require_stable: bool = False,
        api_version: int = 9,
    ) -> Call[OffsetFetchResponse]:
        """An OffsetFetch of these partitions, or of everything."""
        by_topic: dict[str, list[int]] = {}
        for topic, partition in places:
            by_topic.setdefault(topic, []).append(partition)
        topics = tuple(
            OffsetFetchRequestTopic(name=name, partition_indexes=tuple(indexes))
            for name, indexes in by_topic.items()
        )
        group = OffsetFetchRequestGroup(group_id=group_id, topics=topics or None)
        return self.asks(
            OffsetFetchRequest(
                groups=(group,), require_stable=require_stable, api_version=api_version
            )
        )

    def offsets(self, group_id: str = "g") -> dict[tuple[str, int], int]:
        """What a plain fetch of everything sees."""
        (group,) = self.fetches(group_id).response.groups
        return {
            (topic.name, row.partition_index): row.committed_offset
            for topic in group.topics
            for row in topic.partitions
        }

    def offset_of(
        self, topic: str, partition: int = 0, *, group_id: str = "g", require_stable: bool = False
    ) -> int:
        """What a fetch of one partition sees; -1 when nothing is committed."""
        call = self.fetches(group_id, (topic, partition), require_stable=require_stable)
        return call.response.groups[0].topics[0].partitions[0].committed_offset

    def deletes_offsets(
        self, group_id: str | None = "g", *places: tuple[str, int]
    ) -> Call[OffsetDeleteResponse]:
        """An OffsetDelete; partition t-0 unless told."""
        topics = tuple(
            OffsetDeleteRequestTopic(name=topic, partitions=(partition,))
            for topic, partition in places or (("t", 0),)
        )
        return self.asks(OffsetDeleteRequest(group_id=group_id, topics=topics))

    # --- administration ---

    def describes(self, group_id: str | None = "g", api_version: int = -1) -> DescribedGroup:
        """What DescribeGroups says of one group."""
        request = DescribeGroupsRequest(groups=(group_id,), api_version=api_version)
        call: Call[DescribeGroupsResponse] = self.asks(request)
        (group,) = call.response.groups
        return group

    def lists(self, **filters: Any) -> tuple[ListedGroup, ...]:
        """What ListGroups says."""
        return self.lists_all(**filters).response.groups

    def lists_all(self, **filters: Any) -> Call[ListGroupsResponse]:
        """A ListGroups, for its error."""
        return self.asks(ListGroupsRequest(**filters))

    def deletes(self, *group_ids: str | None) -> Call[DeleteGroupsResponse]:
        """A DeleteGroups."""
        return self.asks(DeleteGroupsRequest(groups_names=group_ids))

    # --- time, the log, the shards ---

    def advances(self, span: str | int) -> None:
        """Time passes, and what is due on the way happens."""
        self.advance_to(self.now_ms + in_ms(span))

    def log_falls_silent(self) -> None:
        """From now on writes are under way and stay so."""
        self.is_log_silent = True

    def log_speaks(self, error: ErrorCode | None = None) -> None:
        """All writes under way are committed, or fail with this error; later ones take no time."""
        self.speak(error)
        self.advances(0)

    def log_commits_one(self) -> None:
        """The oldest write under way is committed; the log stays silent about the others."""
        self._append(self.unspoken.popleft(), None)
        self.advances(0)

    def next_write_fails(self, error: ErrorCode = ErrorCode.NOT_ENOUGH_REPLICAS) -> None:
        """The next write fails at once."""
        self.next_errors.append(error)

    def loses_its_shard(self, shard: int = 0) -> None:
        """Another broker becomes the coordinator."""
        self.unload(shard)
        self.advances(0)

    def begins_to_load(self, shard: int = 0) -> None:
        """It becomes the coordinator, but has not read the log yet."""
        self.carry_out(self.machine.start_loading(shard))

    def finishes_loading(self, shard: int = 0) -> None:
        """It has read the log."""
        log = self.logs.get(shard, [])
        self.carry_out(self.machine.finish_loading(shard, log, self.now_ms))
        self.advances(0)

    def fails_over(self, shard: int = 0) -> None:
        """The shard is given up and taken back: only what the log knows survives."""
        self.loses_its_shard(shard)
        self.begins_to_load(shard)
        self.finishes_loading(shard)

    # --- questions ---

    def group(self, group_id: str = "g") -> Group:
        """The group as it is in memory."""
        found = self.find_group(group_id)
        assert found is not None, f"there is no group {group_id!r}"
        return found

    def find_group(self, group_id: str = "g") -> Group | None:
        """The group as it is in memory, if there is one."""
        slot = self.machine.slots.get(self.machine.shard_of(group_id))
        return None if slot is None or slot.shard is None else slot.shard.groups.get(group_id)

    def state(self, group_id: str = "g") -> GroupState | None:
        """The group's state; None when there is no such group."""
        group = self.find_group(group_id)
        return None if group is None else group.state

    def members(self, group_id: str = "g") -> list[str]:
        """Its members' ids, sorted."""
        return sorted(self.group(group_id).members)

    def due_ms(self, timer: Timer) -> int | None:
        """When a timer is due, None if it is not set."""
        for slot in self.machine.slots.values():
            if slot.shard is not None and timer in slot.shard.timers:
                return slot.shard.timers[timer].at_ms
        return None

    def session_ends_ms(self, client: Client) -> int | None:
        """When the client's session is over, None if nobody watches it."""
        return self.due_ms(SessionTimer(client.group_id, client.member_id))


# --- requests as a client sends them ---


def join_of(client: Client, **said: Any) -> JoinGroupRequest:
    """The client's next JoinGroup."""
    words = {
        "group_id": client.group_id,
        "member_id": client.member_id,
        "group_instance_id": client.group_instance_id,
        "client_id": client.name,
        "client_host": client.client_host,
        "session_timeout_ms": client.session_timeout_ms,
        "rebalance_timeout_ms": client.rebalance_timeout_ms,
        "protocol_type": client.protocol_type,
        "protocols": client.protocols,
    }
    return JoinGroupRequest(**(words | said))


def sync_of(client: Client, plan: Mapping[str, bytes] | None, **said: Any) -> SyncGroupRequest:
    """The client's next SyncGroup; version 4 needs no protocol in it."""
    words: dict[str, Any] = {
        "api_version": 4,
        "group_id": client.group_id,
        "member_id": client.member_id,
        "group_instance_id": client.group_instance_id,
        "generation_id": client.generation_id,
        "assignments": tuple(
            SyncGroupRequestAssignment(member_id, share)
            for member_id, share in (plan or {}).items()
        ),
    }
    return SyncGroupRequest(**(words | said))


def commit_of(
    client: Client | None, *topics: OffsetCommitRequestTopic, **said: Any
) -> OffsetCommitRequest:
    """An OffsetCommit of a member, or of nobody."""
    words: dict[str, Any] = {"group_id": "g", "api_version": 9}
    if client is not None:
        words |= {
            "group_id": client.group_id,
            "member_id": client.member_id,
            "group_instance_id": client.group_instance_id,
            "generation_id": client.generation_id,
        }
    words["topics"] = topics or (an_offset(),)
    return OffsetCommitRequest(**(words | said))


def an_offset(
    topic: str = "t", partition: int = 0, offset: int = 5, metadata: str | None = None
) -> OffsetCommitRequestTopic:
    """A position to commit."""
    row = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )
    return OffsetCommitRequestTopic(name=topic, partitions=(row,))
