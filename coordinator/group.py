"""A group: its members, generation, leader and parked requests, and questions one may ask it.

Nothing here answers anyone or touches a timer; the handlers (join.py, sync.py, ...) do, through
`Step`. `move_to` is the one place where a group changes its state.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

from attrs import define, field

from coordinator.errors import ErrorCode, IllegalMove
from coordinator.java_order import JavaHashMap
from coordinator.member import Member
from coordinator.protocol import (
    CONSUMER_PROTOCOL_TYPE,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponseMember,
)
from coordinator.records import GroupMetadata, MemberMetadata
from coordinator.states import DEAD, EMPTY, MOVES, PREPARING_REBALANCE, STABLE, GroupState
from coordinator.subscription import topics_of


@define(kw_only=True, eq=False)
class Group:
    """A classic group. `leader_id` and `protocol_name` are None where Kafka has none."""

    group_id: str
    state: GroupState = EMPTY
    previous_state: GroupState = DEAD
    state_since_ms: int | None = None
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: JavaHashMap[Member] = field(factory=JavaHashMap)
    static_members: dict[str, str] = field(factory=dict)
    #: Ids that were handed out with MEMBER_ID_REQUIRED and have not come back; an ordered set.
    pending_joins: dict[str, None] = field(factory=dict)
    #: Members of this generation that have not asked for their assignment; an ordered set.
    pending_syncs: dict[str, None] = field(factory=dict)
    awaiting_join_count: int = 0
    supported_protocols: dict[str, int] = field(factory=dict)
    subscribed_topics: frozenset[str] | None = None
    new_member_added: bool = False

    # --- questions ---

    @property
    def is_consumer_group(self) -> bool:
        """Does it use the consumer protocol type?"""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def can_rebalance(self) -> bool:
        """May a rebalance start here? Not while one waits for joins already."""
        return PREPARING_REBALANCE in MOVES[self.state]

    @property
    def is_initial_rebalance(self) -> bool:
        """Does it wait for the first members of a group that was Empty?"""
        return self.state is PREPARING_REBALANCE and self.previous_state is EMPTY

    @property
    def has_all_joined(self) -> bool:
        """Has every member rejoined, and is no handed-out id outstanding?"""
        return len(self.members) == self.awaiting_join_count and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members' rebalance timeouts, never below 0."""
        longest_ms = 0
        for member in self.members.values():
            if member.rebalance_timeout_ms > longest_ms:
                longest_ms = member.rebalance_timeout_ms
        return longest_ms

    def is_leader(self, member_id: str) -> bool:
        """Is it this member that leads?"""
        return self.leader_id is not None and self.leader_id == member_id

    def refusal_of(self, member_id: str, group_instance_id: str | None) -> ErrorCode | None:
        """Why this caller is no member, or None; a static member may leave its instance id out."""
        if group_instance_id is not None:
            holder = self.static_members.get(group_instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return None

    def supports(self, protocol_type: str, protocols: Iterable[JoinGroupRequestProtocol]) -> bool:
        """Could a member with these protocols be one of us?"""
        if self.state is EMPTY:
            return protocol_type != "" and any(True for _ in protocols)
        if self.protocol_type != protocol_type:
            return False
        counts, everyone = self.supported_protocols, len(self.members)
        for protocol in protocols:  # noqa: SIM110 (every join asks)
            if counts.get(protocol.name, 0) == everyone:
                return True
        return False

    def is_subscribed_to(self, topic: str) -> bool:
        """Does any member want this topic? While unknown, a consumer group wants everything."""
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.is_consumer_group

    def member_list(self) -> tuple[JoinGroupResponseMember, ...]:
        """The members as the leader gets them, with what they said under the chosen protocol."""
        chosen = self.protocol_name
        return tuple(
            [
                JoinGroupResponseMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    metadata=member.metadata(chosen),
                )
                for member in self.members.values()
            ]
        )

    def votes(self) -> JavaHashMap[list[str]]:
        """Who votes for which protocol: each member for the first of its own that all support."""
        everyone = len(self.members)
        candidates = frozenset(
            name for name, count in self.supported_protocols.items() if count == everyone
        )
        votes: JavaHashMap[list[str]] = JavaHashMap()
        for member in self.members.values():
            choice = member.vote(candidates)
            voters = votes.get(choice)
            if voters is None:
                votes[choice] = voters = []
            voters.append(member.member_id)
        return votes

    def select_protocol(self) -> str:
        """The protocol with the most votes; a tie goes by Java's hash order."""
        return most_voted(self.votes())

    # --- changes ---

    def move_to(self, target: GroupState, now_ms: int) -> None:
        """Change the state; the table of moves decides whether that is allowed."""
        if target not in MOVES[self.state]:
            raise IllegalMove(self.group_id, self.state, target)
        self.previous_state = self.state
        self.state = target
        self.state_since_ms = now_ms

    def add(self, member: Member) -> None:
        """Take in a member; the first one gives the group its protocol type and leads it."""
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member.protocols, 1)
        if member.awaiting_join is not None:
            self.awaiting_join_count += 1
        self.pending_joins.pop(member.member_id, None)

    def remove(self, *member_ids: str) -> None:
        """Let these members, or handed-out ids, go. If the leader goes, the first one left leads.

        Removing many at once elects once: the outcome is the same as one by one, for the last
        election falls on someone who stays, and that is the first one left in the map's order.
        """
        for member_id in member_ids:
            member = self.members.pop(member_id, None)
            if member is not None:
                self._count_protocols(member.protocols, -1)
                if member.awaiting_join is not None:
                    self.awaiting_join_count -= 1
                if member.group_instance_id is not None:
                    self.static_members.pop(member.group_instance_id, None)
            self.pending_joins.pop(member_id, None)
            self.pending_syncs.pop(member_id, None)
        if self.leader_id is not None and self.leader_id in member_ids:
            self.leader_id = next(iter(self.members), None)

    def replace_static_member(self, old_id: str, new_id: str) -> Member:
        """Give a static member another id; it keeps its place, its assignment and its lead.

        Whatever the old id has parked must have been answered before. The set of those that have
        yet to sync is not rewritten, as in Kafka: it may keep a ghost of the old id.
        """
        old = self.members[old_id]
        del self.members[old_id]
        new = Member(
            group_id=self.group_id,
            member_id=new_id,
            group_instance_id=old.group_instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            session_timeout_ms=old.session_timeout_ms,
            protocol_type=old.protocol_type,
            protocols=old.protocols,
            assignment=old.assignment,
        )
        self.members[new_id] = new
        if self.is_leader(old_id):
            self.leader_id = new_id
        assert old.group_instance_id is not None
        self.static_members[old.group_instance_id] = new_id
        return new

    def update(
        self,
        member: Member,
        *,
        protocols: tuple[JoinGroupRequestProtocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        awaiting_join: JoinGroupRequest | None,
    ) -> None:
        """Store what a member says now, and the request it waits on."""
        before, member.protocols = member.protocols, protocols
        if [each.name for each in before] != [each.name for each in protocols]:
            self._count_protocols(before, -1)
            self._count_protocols(protocols, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self.awaiting_join_count += (awaiting_join is not None) - (member.awaiting_join is not None)
        member.awaiting_join = awaiting_join

    def release_join(self, member: Member) -> JoinGroupRequest | None:
        """Take a member's parked join, to be answered; None if it has none."""
        request = member.awaiting_join
        if request is not None:
            member.awaiting_join = None
            self.awaiting_join_count -= 1
        return request

    def recompute_subscribed_topics(self) -> None:
        """Note which topics the members want; it stays so until the next generation or load."""
        self.subscribed_topics = self._wanted_topics()

    def _wanted_topics(self) -> frozenset[str] | None:
        """All topics of all members; unknown if one of them cannot be read."""
        if not self.is_consumer_group:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            wanted = topics_of(member.metadata(self.protocol_name))
            if wanted is None:
                return None
            topics.update(wanted)
        return frozenset(topics)

    def _count_protocols(self, protocols: Iterable[JoinGroupRequestProtocol], by: int) -> None:
        counts = self.supported_protocols
        for protocol in protocols:
            counts[protocol.name] = counts.get(protocol.name, 0) + by

    # --- the log ---

    def to_metadata(self, assignments: dict[str, bytes]) -> GroupMetadata:
        """The group as it is written down, with these assignments."""
        return GroupMetadata(
            protocol_type=self.protocol_type or "",
            generation_id=self.generation_id,
            protocol_name=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp_ms=-1 if self.state_since_ms is None else self.state_since_ms,
            members=tuple(
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    session_timeout_ms=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol_name),
                    assignment=assignments[member.member_id],
                )
                for member in self.members.values()
            ),
        )

    @classmethod
    def from_metadata(cls, group_id: str, value: GroupMetadata) -> Group:
        """The group as a load restores it: nothing parked, one protocol per member."""
        since_ms = value.current_state_timestamp_ms
        group = cls(
            group_id=group_id,
            state=STABLE if value.members else EMPTY,
            state_since_ms=None if since_ms == -1 else since_ms,
            generation_id=value.generation_id,
            protocol_type=value.protocol_type or None,
            protocol_name=value.protocol_name,
            leader_id=value.leader,
        )
        for stored in value.members:
            timeout_ms = stored.rebalance_timeout_ms
            group.add(
                Member(
                    group_id=group_id,
                    member_id=stored.member_id,
                    group_instance_id=stored.group_instance_id,
                    client_id=stored.client_id,
                    client_host=stored.client_host,
                    rebalance_timeout_ms=stored.session_timeout_ms
                    if timeout_ms == -1
                    else timeout_ms,
                    session_timeout_ms=stored.session_timeout_ms,
                    protocol_type=value.protocol_type,
                    protocols=(
                        JoinGroupRequestProtocol(value.protocol_name or "", stored.subscription),
                    ),
                    assignment=stored.assignment,
                )
            )
        group.recompute_subscribed_topics()
        return group

    # --- copies ---

    def copy(self) -> Group:
        """A group of its own in the same state."""
        twin = copy.copy(self)
        twin.members = self.members.copy()
        for member_id in self.members:
            twin.members[member_id] = self.members[member_id].copy()
        twin.static_members = dict(self.static_members)
        twin.pending_joins = dict(self.pending_joins)
        twin.pending_syncs = dict(self.pending_syncs)
        twin.supported_protocols = dict(self.supported_protocols)
        return twin

    def snapshot(self) -> tuple[object, ...]:
        """Everything that can differ between two groups, as one comparable, hashable value."""
        return (
            self.group_id,
            self.state.value,
            self.previous_state.value,
            self.state_since_ms,
            self.generation_id,
            self.protocol_type,
            self.protocol_name,
            self.leader_id,
            self.members.buckets,
            tuple(member.snapshot() for member in self.members.values()),
            tuple(self.pending_joins),
            tuple(self.pending_syncs),
            tuple(sorted((name, n) for name, n in self.supported_protocols.items() if n)),
            self.subscribed_topics,
            self.new_member_added,
        )


def most_voted(votes: JavaHashMap[list[str]]) -> str:
    """The protocol with the most of these votes."""
    # max keeps the first of equals, as Kafka does
    return max(votes, key=lambda name: len(votes[name]))
