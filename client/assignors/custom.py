"""Assignors of one's own: a name and a function, with user data and a hook if they are wanted.

`random` and `broadcast` are worked examples: the first shows an assignor that needs chance, the
second one that gives a partition to several members, so that each of them reads every record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

from attrs import define

from client.assignors.group import assignable_topics, subscribers
from client.assignors.interface import (
    Assignment,
    Assignor,
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    GroupSubscription,
    RebalanceProtocol,
    TopicPartition,
)
from client.assignors.java_order import text_key

#: Decides for a whole group. A member may be left out, which means that it gets nothing.
AssignFunction = Callable[
    [Cluster, GroupSubscription], Mapping[str, Iterable[TopicPartition] | Assignment]
]
#: What a member adds to its subscription, given the topics it subscribes.
UserDataFunction = Callable[[Iterable[str]], bytes | None]
#: Hears what this member was assigned.
AssignmentHook = Callable[[Assignment, ConsumerGroupMetadata], None]
#: A number from 0 up to, not including, the bound.
Draw = Callable[[int], int]


@define(kw_only=True, eq=False)
class FunctionAssignor(Assignor):
    """An assignor made of a name and a function."""

    name: str
    function: AssignFunction
    user_data: UserDataFunction | None = None
    hook: AssignmentHook | None = None
    supported_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Whatever `user_data` returns, if there is one."""
        return None if self.user_data is None else self.user_data(topics)

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """What the function decides, an empty assignment for every member it does not name."""
        decided = self.function(cluster, group)
        if unknown := sorted(decided.keys() - group.keys()):
            raise ValueError(f"assignor {self.name!r} assigned to unknown members: {unknown}")
        return {member: _as_assignment(decided.get(member, ())) for member in group}

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Call the hook, if there is one."""
        if self.hook is not None:
            self.hook(assignment, metadata)


def random_assignor(draw: Draw | None = None) -> FunctionAssignor:
    """Each partition to a subscriber drawn by lot, however unfair that turns out."""
    draw = draw or SeededDraw()

    def assign_by_lot(
        cluster: Cluster, group: GroupSubscription
    ) -> dict[str, list[TopicPartition]]:
        assigned: dict[str, list[TopicPartition]] = {member: [] for member in group}
        subscribers_of = subscribers(group, sorted(group, key=text_key))
        for topic in sorted(assignable_topics(cluster, group), key=text_key):
            for partition in range(cluster.partition_counts[topic]):
                member = subscribers_of[topic][draw(len(subscribers_of[topic]))]
                assigned[member].append((topic, partition))
        return assigned

    return FunctionAssignor(name="random", function=assign_by_lot)


def broadcast_assignor() -> FunctionAssignor:
    """Every partition to every subscriber of its topic."""
    return FunctionAssignor(name="broadcast", function=_assign_to_all)


def _assign_to_all(cluster: Cluster, group: GroupSubscription) -> dict[str, list[TopicPartition]]:
    topics = sorted(assignable_topics(cluster, group), key=text_key)
    return {
        member: [
            (topic, partition)
            for topic in topics
            if topic in subscription.topics
            for partition in range(cluster.partition_counts[topic])
        ]
        for member, subscription in group.items()
    }


@define
class SeededDraw:
    """Draws that follow from a seed: the k-th one is a function of the seed and k alone."""

    seed: int = 0
    taken: int = 0

    def __call__(self, bound: int) -> int:
        """The next number below the bound."""
        digest = blake2b(f"{self.seed}/{self.taken}".encode(), digest_size=8).digest()
        self.taken += 1
        return int.from_bytes(digest, "big") % bound


def _as_assignment(decided: Iterable[TopicPartition] | Assignment) -> Assignment:
    return decided if isinstance(decided, Assignment) else Assignment(partitions=tuple(decided))
