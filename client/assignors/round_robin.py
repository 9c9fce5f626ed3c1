"""The assignor `roundrobin`: all partitions of all topics dealt out around one ring of members."""

from __future__ import annotations

from bisect import bisect_left
from itertools import repeat

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


class RoundRobinAssignor(Assignor):
    """Kafka's `RoundRobinAssignor`."""

    name = "roundrobin"

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """Deal every topic's partitions to its subscribers; the ring turns on between topics."""
        return as_group_assignment(assign_round_robin(cluster, group))


def assign_round_robin(
    cluster: Cluster, group: GroupSubscription
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions, topics by name, each topic's partitions ascending."""
    assigned: dict[str, list[TopicPartition]] = {m: [] for m in members_in_map_order(group)}
    ring = sorted(assigned, key=by_instance_or_id(group))
    seats = {member: seat for seat, member in enumerate(ring)}
    subscribers_of = subscribers(group, ring)
    pointer = 0
    for topic in sorted(assignable_topics(cluster, group), key=text_key):
        count = cluster.partition_counts[topic]
        takers = subscribers_of[topic]
        first = bisect_left(takers, pointer, key=seats.__getitem__) % len(takers)
        # Within a topic the ring consists of its subscribers, so each takes every n-th partition.
        for turn in range(min(count, len(takers))):
            taker = takers[(first + turn) % len(takers)]
            assigned[taker].extend(zip(repeat(topic), range(turn, count, len(takers))))
        pointer = (seats[takers[(first + count - 1) % len(takers)]] + 1) % len(ring)
    return assigned
