"""Testing an assignor of one's own: is it balanced, and does it move no more than it must?

`StayAtHome` leaves partitions where they are as long as nobody has more than a fair share. Balance
is a question to the function alone; stickiness needs a group that lives: members come, die, and
tell the leader what they had. Kafka's range assignor is held to the same tests.

    pytest -v 05_custom_assignor.py
"""

import json
from collections.abc import Callable, Iterable

import pytest

from client.assignors import (
    Assignment,
    Assignor,
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    GroupSubscription,
    Subscription,
    TopicPartition,
    new_assignor,
)
from groupsim import Simulation


class StayAtHome(Assignor):
    """Everybody keeps what it has, up to a fair share; the rest goes to whoever has least."""

    name = "stay-at-home"

    def __init__(self) -> None:
        self.mine: tuple[TopicPartition, ...] = ()

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Remember it until the next rebalance."""
        del metadata
        self.mine = assignment.partitions

    def subscription_user_data(self, topics: Iterable[str]) -> bytes:
        """Tell the leader what this member had."""
        del topics
        return json.dumps(self.mine).encode()

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """Decide for all members; only the leader is asked."""
        free = dict.fromkeys(partitions_of(cluster))
        share, left_over = divmod(len(free), len(group))
        had = {member: told_by(subscription) for member, subscription in group.items()}
        owned: dict[str, list[TopicPartition]] = {}
        for member in sorted(group, key=lambda each: (-len(had[each]), each)):
            # Whoever had most is first to keep one of those that cannot be shared evenly.
            limit = share + 1 if left_over else share
            owned[member] = [each for each in had[member] if each in free][:limit]
            left_over -= len(owned[member]) > share
            for each in owned[member]:
                del free[each]
        for each in free:
            least = min(sorted(owned), key=lambda member: len(owned[member]))
            owned[least].append(each)
        return {member: Assignment(partitions=tuple(owned[member])) for member in group}


def partitions_of(cluster: Cluster) -> list[TopicPartition]:
    """All there are."""
    counts = cluster.partition_counts
    return [(topic, number) for topic in counts for number in range(counts[topic])]


def told_by(subscription: Subscription) -> list[TopicPartition]:
    """What a member says that it had."""
    return [(topic, number) for topic, number in json.loads(subscription.user_data or b"[]")]


def range_assignor() -> Assignor:
    """Kafka's own, for comparison."""
    return new_assignor("range")


@pytest.mark.parametrize("members", [1, 2, 3, 5, 8, 13])
def test_nobody_has_two_partitions_more_than_anybody_else(members: int) -> None:
    """Whatever the number of members, and whatever they had."""
    cluster = Cluster(partition_counts={"orders": 7, "clicks": 5})
    everything = partitions_of(cluster)
    greedy = json.dumps(everything).encode()  # each says that all of it was its own
    group = {
        f"pod-{n}": Subscription(topics=("orders", "clicks"), user_data=greedy)
        for n in range(members)
    }

    assigned = StayAtHome().assign(cluster, group)

    counts = [len(each.partitions) for each in assigned.values()]
    assert max(counts) - min(counts) <= 1
    assert sorted(p for each in assigned.values() for p in each.partitions) == sorted(everything)


@pytest.mark.parametrize(
    "assignor",
    [
        StayAtHome,
        pytest.param(range_assignor, marks=pytest.mark.xfail(reason="it moves others too")),
    ],
)
def test_when_a_pod_dies_only_its_own_partitions_move(
    simulation: Simulation, assignor: Callable[[], Assignor]
) -> None:
    """Twelve partitions on four pods: three of them have to find a new owner."""
    simulation.topic("orders", partitions=12, records_per_s=10)
    for name in ("ada", "bea", "cat", "dan"):
        strategy = {"partition.assignment.strategy": [assignor()]}
        simulation.consumer(name, group="checkout", topics=["orders"], settings=strategy)
    simulation.run_until_stable("checkout")

    simulation.crash("ada")
    simulation.run_for("1m")

    assert simulation.rebalances("checkout")[-1].moved == 3
