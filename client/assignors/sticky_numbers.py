"""A group in small numbers, for the general sticky algorithm.

Members are numbered by id, topics by how many members subscribe them and then by name, partitions
in the order of their topics. So ascending numbers are the orders in which Kafka looks at them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate, repeat

from attrs import define

from client.assignors.group import members_in_map_order, subscribers
from client.assignors.interface import GroupSubscription, TopicPartition
from client.assignors.java_order import text_key


@define(kw_only=True, eq=False)
class Numbers:
    """What each number stands for. Topic t has the partitions from `starts[t]` to its next."""

    members: list[str]
    members_in_map_order: list[int]
    topics: dict[str, int]
    starts: list[int]
    #: Partitions by number. Past the last that exists come those that only claims still know.
    partitions: list[TopicPartition]
    #: The topic of each partition.
    topic_of: list[int]
    #: The members that subscribe each topic.
    subscribers: list[frozenset[int]]
    #: Which members subscribe the same: each one's kind, and the kinds that subscribe each topic.
    kind_of: list[int]
    kinds: list[list[int]]
    #: How many partitions each member could have at most.
    capacities: list[int]

    @classmethod
    def of(cls, group: GroupSubscription, counts: Mapping[str, int]) -> Numbers:
        """Number a group and its topics; `counts` lists the topics by name."""
        members = sorted(group, key=text_key)
        member_numbers = {member: number for number, member in enumerate(members)}
        subscribed_by = subscribers(group, members)
        topics = sorted(counts, key=lambda topic: len(subscribed_by[topic]))
        takers = [
            frozenset(member_numbers[member] for member in subscribed_by[topic]) for topic in topics
        ]
        kinds: dict[frozenset[str], int] = {}
        kind_of = [kinds.setdefault(frozenset(group[m].topics), len(kinds)) for m in members]
        return cls(
            members=members,
            members_in_map_order=[member_numbers[member] for member in members_in_map_order(group)],
            topics={topic: number for number, topic in enumerate(topics)},
            starts=[0, *accumulate(counts[topic] for topic in topics)],
            partitions=[p for t in topics for p in zip(repeat(t), range(counts[t]))],
            topic_of=[number for number, topic in enumerate(topics) for _ in range(counts[topic])],
            subscribers=takers,
            kind_of=kind_of,
            kinds=[sorted({kind_of[member] for member in numbers}) for numbers in takers],
            capacities=[
                sum(counts.get(topic, 0) for topic in group[member].topics) for member in members
            ],
        )

    @property
    def shared_partitions(self) -> range:
        """The partitions whose topics have two subscribers or more; only they can move."""
        first_shared_topic = bisect_left(self.subscribers, 2, key=len)
        return range(self.starts[first_shared_topic], self.starts[-1])

    @property
    def has_vanished(self) -> bool:
        """Whether somebody claims a partition that exists no more."""
        return len(self.partitions) > self.starts[-1]

    def count_of(self, topic: str) -> int:
        """How many partitions a topic has; none if it has no metadata."""
        number = self.topics.get(topic)
        return 0 if number is None else self.starts[number + 1] - self.starts[number]

    def number_of(self, partition: TopicPartition) -> int:
        """A claimed partition's number; one that exists no more is given the next one."""
        topic, index = self.topics[partition[0]], partition[1]
        number = self.starts[topic] + index
        if number < self.starts[topic + 1]:
            return number
        self.partitions.append(partition)
        self.topic_of.append(topic)
        return len(self.partitions) - 1
