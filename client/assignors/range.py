"""The assignor `range`: each topic's partitions in consecutive ranges, topic by topic.

Topics with the same subscribers and as many partitions are split alike, so partition 3 of one goes
where partition 3 of the other goes. Where racks are known and matter, members first take what has
a replica in their rack, within the same quotas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, repeat

from attrs import define, field

from client.assignors.group import (
    as_group_assignment,
    assignable_topics,
    by_instance_or_id,
    members_in_map_order,
    subscribers,
)
from client.assignors.interface import (
    Assignor,
    Cluster,
    GroupAssignment,
    GroupSubscription,
    TopicPartition,
)
from client.assignors.java_order import text_key
from client.assignors.racks import racks_matter

Assigned = dict[str, list[TopicPartition]]


class RangeAssignor(Assignor):
    """Kafka's `RangeAssignor`."""

    name = "range"

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """Split every topic among its subscribers, those in front taking one more each."""
        return as_group_assignment(assign_ranges(cluster, group))


def assign_ranges(cluster: Cluster, group: GroupSubscription) -> Assigned:
    """Every member's partitions, topics in the order of the leader's map."""
    assigned: Assigned = {member: [] for member in members_in_map_order(group)}
    subscribers_of = subscribers(group, sorted(assigned, key=by_instance_or_id(group)))
    topics = assignable_topics(cluster, group)
    if any(subscription.rack_id for subscription in group.values()):
        shares = [TopicShares.of(topic, subscribers_of[topic], cluster, group) for topic in topics]
        if any(topic_shares.needs_racks for topic_shares in shares):
            return _assign_with_racks(shares, assigned)

    for topic in topics:
        start = 0
        members = subscribers_of[topic]
        floor, extras = divmod(cluster.partition_counts[topic], len(members))
        for place, member in enumerate(members):
            end = start + floor + (place < extras)
            assigned[member].extend(zip(repeat(topic), range(start, end)))
            start = end
    return assigned


@define(kw_only=True, eq=False)
class TopicShares:
    """How far the splitting of one topic has come."""

    topic: str
    members: Sequence[str]
    racks: dict[str, str]
    partition_racks: tuple[frozenset[str], ...]
    free: dict[int, None]
    floor: int
    extras: int
    given: dict[str, int] = field(factory=dict)

    @classmethod
    def of(
        cls, topic: str, members: Sequence[str], cluster: Cluster, group: GroupSubscription
    ) -> TopicShares:
        """A topic of which nobody has anything yet."""
        count = cluster.partition_counts[topic]
        racks = {m: rack for m in members if (rack := group[m].rack_id)}
        floor, extras = divmod(count, len(members))
        return cls(
            topic=topic,
            members=members,
            racks=racks,
            # Kafka looks at replicas only where some subscriber has a rack.
            partition_racks=cluster.racks_of(topic) if racks else (),
            free=dict.fromkeys(range(count)),
            floor=floor,
            extras=extras,
        )

    @property
    def needs_racks(self) -> bool:
        """Whether matching racks can make a difference for this topic."""
        return racks_matter(self.racks.values(), self.partition_racks)

    @property
    def likeness(self) -> tuple[frozenset[tuple[str, str | None]], int]:
        """Equal for topics that must be split alike."""
        return frozenset((m, self.racks.get(m)) for m in self.members), len(self.partition_racks)

    def is_near(self, member: str, partition: int) -> bool:
        """Whether a replica is in the member's rack, or the member has none."""
        rack = self.racks.get(member)
        return rack is None or rack in self.partition_racks[partition]

    def room_for(self, member: str) -> int:
        """How many more partitions a member may take now."""
        return max(0, self.floor + (self.extras > 0) - self.given.get(member, 0))

    def give(self, member: str, partitions: Iterable[int], assigned: Assigned) -> None:
        """Hand partitions to a member, who may thereby use up one of the extras."""
        for partition in partitions:
            assigned[member].append((self.topic, partition))
            self.given[member] = self.given.get(member, 0) + 1
            del self.free[partition]
        if self.given[member] > self.floor:
            self.extras -= 1


def _assign_with_racks(shares: Sequence[TopicShares], assigned: Assigned) -> Assigned:
    alike: dict[object, list[TopicShares]] = {}
    for topic in shares:
        alike.setdefault(topic.likeness, []).append(topic)
    for topics in alike.values():
        if len(topics) > 1:
            _give_alike_near(topics, assigned)
        elif topics[0].needs_racks:
            _give_ranges(topics[0], topics[0].is_near, assigned)
    for topic in shares:
        _give_ranges(topic, _anywhere, assigned)
    return {
        member: sorted(partitions, key=lambda partition: (text_key(partition[0]), partition[1]))
        for member, partitions in assigned.items()
    }


def _anywhere(_member: str, _partition: int) -> bool:
    return True


def _give_ranges(
    topic: TopicShares, may_have: Callable[[str, int], bool], assigned: Assigned
) -> None:
    for member in topic.members:
        allowed = (partition for partition in topic.free if may_have(member, partition))
        if taken := list(islice(allowed, topic.room_for(member))):
            topic.give(member, taken, assigned)


def _give_alike_near(topics: Sequence[TopicShares], assigned: Assigned) -> None:
    """Give a partition number of all these topics to one member that is near to all of them."""
    remaining = list(topics[0].members)
    for partition in range(len(topics[0].partition_racks)):
        for member in remaining:
            if all(t.room_for(member) and t.is_near(member, partition) for t in topics):
                break
        else:
            continue
        for topic in topics:
            topic.give(member, (partition,), assigned)
        if not any(topic.room_for(member) for topic in topics):
            remaining.remove(member)
