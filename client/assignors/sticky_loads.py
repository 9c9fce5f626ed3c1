"""Who holds how many partitions, for the general sticky algorithm.

Kafka checks the balance anew before each partition it looks at, over all partitions. We remember
one pair of members that shows the imbalance and search again only when it no longer does, which
decides the same and makes large groups affordable.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain

from attrs import define, field, frozen

from client.assignors.sticky_numbers import Numbers

_INT_BITS = 32


@frozen
class Imbalance:
    """A partition that would be better held by this member than by its holder."""

    partition: int
    member: int


@define(kw_only=True, eq=False)
class Loads:
    """What each member holds, and the members in play in order of how much that is."""

    numbers: Numbers
    held: list[list[int]]
    #: Each partition's holder.
    holder: list[int] = field(init=False)
    counts: list[int] = field(init=False)
    #: Members in play from the least to the most loaded: count times all members, plus member.
    _ladder: list[int] = field(init=False)
    #: The same, apart for members that subscribe the same.
    _ladders: list[list[int]] = field(init=False)
    _lightest: dict[int, int] = field(init=False, factory=dict)
    _imbalance: Imbalance | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        """Count what is held to begin with."""
        self.counts = [len(partitions) for partitions in self.held]
        self._ladder = sorted(map(self._rung_of, range(len(self.held))))
        self._ladders = [[] for _ in set(self.numbers.kind_of)]
        for rung in self._ladder:
            self._ladders[self.numbers.kind_of[rung % len(self.held)]].append(rung)
        self.holder = [-1] * len(self.numbers.partitions)
        for member, partitions in enumerate(self.held):
            for partition in partitions:
                self.holder[partition] = member

    @property
    def most(self) -> int:
        """The count of the most loaded member."""
        return self._ladder[-1] // len(self.held)

    @property
    def spread(self) -> int:
        """How uneven the loads in play are: the differences of all pairs, as Java adds them."""
        counts = [rung // len(self.held) for rung in self._ladder]
        total = sum(count * (2 * place - len(counts) + 1) for place, count in enumerate(counts))
        half = 1 << (_INT_BITS - 1)
        return (total + half) % (2 * half) - half

    def by_load(self) -> Iterator[int]:
        """Members in play, the least loaded first."""
        members = len(self.held)
        return (rung % members for rung in self._ladder)

    def is_in_play(self, member: int) -> bool:
        """Whether what a member holds may still change."""
        rung = self._rung_of(member)
        place = bisect_left(self._ladder, rung)
        return place < len(self._ladder) and self._ladder[place] == rung

    def take_out_of_play(self, member: int) -> None:
        """Leave what a member holds as it is."""
        for ladder in self._ladders_of(member):
            del ladder[bisect_left(ladder, self._rung_of(member))]

    def give(self, partition: int, member: int) -> None:
        """Hand out a free partition."""
        self.held[member].append(partition)
        self.holder[partition] = member
        self._change_count(member, 1)

    def move(self, partition: int, target: int) -> None:
        """Take a partition from its holder and give it to another member."""
        source = self.holder[partition]
        self.held[source].remove(partition)
        self._change_count(source, -1)
        self.give(partition, target)

    def lightest_subscriber(self, topic: int) -> int:
        """The least loaded member in play that subscribes a topic."""
        lightest = self._lightest.get(topic)
        if lightest is None:
            lightest = self._lightest[topic] = self._find_lightest(topic)
        return lightest

    def is_balanced(self) -> bool:
        """Whether no partition would be better held by another subscriber of its topic."""
        if self._ladder[-1] // len(self.held) - self._ladder[0] // len(self.held) <= 1:
            return True
        if self.numbers.has_vanished:
            return self._is_balanced_with_twins()
        if self._imbalance is None or not self._is_better(self._imbalance):
            self._imbalance = self._find_imbalance()
        return self._imbalance is None

    def _rung_of(self, member: int) -> int:
        return self.counts[member] * len(self.held) + member

    def _ladders_of(self, member: int) -> tuple[list[int], list[int]]:
        return self._ladder, self._ladders[self.numbers.kind_of[member]]

    def _change_count(self, member: int, by: int) -> None:
        rung = self._rung_of(member)
        for ladder in self._ladders_of(member):
            del ladder[bisect_left(ladder, rung)]
            insort(ladder, rung + by * len(self.held))
        self.counts[member] += by
        self._lightest.clear()

    def _find_lightest(self, topic: int) -> int:
        """Compare the lightest of each kind; among many kinds, a subscriber is soon met anyway."""
        subscribers, kinds = self.numbers.subscribers[topic], self.numbers.kinds[topic]
        if len(kinds) ** 2 < len(self._ladder):
            return min(self._ladders[kind][0] for kind in kinds) % len(self.held)
        members = len(self.held)
        return next(rung % members for rung in self._ladder if rung % members in subscribers)

    def _is_better(self, imbalance: Imbalance) -> bool:
        counts, member = self.counts, imbalance.member
        # Kafka passes over members whose count is all they could have, whatever they hold.
        has_room = counts[member] != self.numbers.capacities[member]
        return has_room and counts[self.holder[imbalance.partition]] > counts[member] + 1

    def _find_imbalance(self) -> Imbalance | None:
        """Compare, topic by topic, the most loaded holder with the least loaded subscriber."""
        starts, counts = self.numbers.starts, self.counts
        topics = range(len(starts) - 1)
        # Neighbours in time are neighbours in topic, so the search goes on where it last ended.
        last = self.numbers.topic_of[self._imbalance.partition] if self._imbalance else 0
        for topic in chain(topics[last:], topics[:last]):
            member = self._lightest_with_room(topic)
            if member is None:
                continue
            holders = self.holder[starts[topic] : starts[topic + 1]]
            heaviest = max(holders, key=counts.__getitem__)
            if counts[heaviest] > counts[member] + 1:
                return Imbalance(starts[topic] + holders.index(heaviest), member)
        return None

    def _lightest_with_room(self, topic: int) -> int | None:
        capacities, subscribers = self.numbers.capacities, self.numbers.subscribers[topic]
        if len(subscribers) == 1:
            return None
        lightest = self.lightest_subscriber(topic)
        if self.counts[lightest] != capacities[lightest]:
            return lightest
        has_room = (m for m in self.by_load() if self.counts[m] != capacities[m])
        return next((member for member in has_room if member in subscribers), None)

    def _is_balanced_with_twins(self) -> bool:
        """The same where a partition may be held twice: of its holders Kafka sees the last."""
        starts, counts = self.numbers.starts, self.counts
        last_holder = {
            partition: member
            for member in filter(self.is_in_play, self.numbers.members_in_map_order)
            for partition in self.held[member]
        }
        return not any(
            counts[last_holder[partition]] > counts[member] + 1
            for member in self.by_load()
            if counts[member] != self.numbers.capacities[member]
            for topic, subscribers in enumerate(self.numbers.subscribers)
            if member in subscribers
            for partition in range(starts[topic], starts[topic + 1])
            if partition not in self.held[member]
        )
