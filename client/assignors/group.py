"""What several assignors ask about a group and its topics, in the orders in which Kafka looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from client.assignors.interface import (
    Assignment,
    Cluster,
    GroupAssignment,
    GroupSubscription,
    TopicPartition,
)
from client.assignors.java_order import put_order, text_key


def members_in_map_order(group: GroupSubscription) -> list[str]:
    """Member ids as the leader's HashMap iterates them."""
    return put_order(group)


def assignable_topics(cluster: Cluster, group: GroupSubscription) -> list[str]:
    """Subscribed topics that have partitions, as the leader's HashMap iterates them."""
    listed = (group[member].topics for member in members_in_map_order(group))
    # Adding a topic again changes nothing, and a dictionary notices that faster.
    subscribed = put_order(dict.fromkeys(chain.from_iterable(listed)))
    return put_order(topic for topic in subscribed if cluster.partition_counts.get(topic, 0) > 0)


def by_instance_or_id(group: GroupSubscription) -> Callable[[str], tuple[bool, bytes]]:
    """A sorting key: static members first, by instance id; then the others, by member id."""

    def key(member: str) -> tuple[bool, bytes]:
        instance = group[member].group_instance_id
        return instance is None, text_key(member if instance is None else instance)

    return key


def subscribers(group: GroupSubscription, members: Sequence[str]) -> dict[str, list[str]]:
    """Per topic the members that subscribe it, in the order of `members`, each once."""
    found: dict[str, list[str]] = {}
    for member in members:
        for topic in dict.fromkeys(group[member].topics):
            found.setdefault(topic, []).append(member)
    return found


def as_group_assignment(
    partitions: Mapping[str, Sequence[TopicPartition]],
) -> GroupAssignment:
    """Wrap plain lists of partitions, as Kafka does for assignors that send no user data."""
    return {member: Assignment(partitions=tuple(owned)) for member, owned in partitions.items()}
