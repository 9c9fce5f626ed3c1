"""When racks matter to an assignor, and which member is near to which partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, field

from client.assignors.interface import Cluster, GroupSubscription, TopicPartition


def racks_matter(member_racks: Iterable[str], partition_racks: Collection[frozenset[str]]) -> bool:
    """Whether a member shares a rack with a replica, and not all partitions are everywhere."""
    replica_racks = frozenset[str]().union(*partition_racks)
    if replica_racks.isdisjoint(member_racks):
        return False
    return any(racks != replica_racks for racks in partition_racks)


@define(kw_only=True, eq=False)
class Racks:
    """Where members and replicas are; empty when that makes no difference to a sticky assignor."""

    of_members: Mapping[str, str] = field(factory=dict)
    of_partitions: Mapping[TopicPartition, frozenset[str]] = field(factory=dict)
    population: Counter[str] = field(init=False)

    @population.default
    def _members_per_rack(self) -> Counter[str]:
        return Counter(self.of_members.values())

    @classmethod
    def seen_by(cls, cluster: Cluster, topics: Iterable[str], group: GroupSubscription) -> Racks:
        """The racks of a group and of its topics' replicas, if they matter."""
        of_members = {
            m: rack for m, subscription in group.items() if (rack := subscription.rack_id)
        }
        if not of_members:
            return cls()
        of_partitions = {
            (topic, number): racks
            for topic in topics
            for number, racks in enumerate(cluster.racks_of(topic))
        }
        if not racks_matter(of_members.values(), of_partitions.values()):
            return cls()
        return cls(of_members=of_members, of_partitions=of_partitions)

    def __bool__(self) -> bool:
        return bool(self.of_members)

    def are_far(self, member: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack and the partition no replica there."""
        rack = self.of_members.get(member)
        return rack is not None and rack not in self.of_partitions.get(partition, ())

    def nearest_from(self, start: int, members: Sequence[str], partition: TopicPartition) -> int:
        """The place of the first member in a rack of the partition, going round from `start`."""
        racks = self.of_partitions[partition]
        for step in range(len(members)):
            place = (start + step) % len(members)
            if self.of_members.get(members[place]) in racks:
                return place
        return -1

    def members_near(self, partition: TopicPartition) -> int:
        """How many members are in the partition's racks."""
        return sum(self.population[rack] for rack in self.of_partitions[partition])
