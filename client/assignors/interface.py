"""What an assignor is given and what it returns, in Kafka's words.

Everything here is a value or a promise; the algorithms are in the modules named after the
assignors, the bytes that members exchange in `client.consumer_protocol`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from attrs import field, frozen

TopicPartition = tuple[str, int]

#: The generation of a member that knows none.
UNKNOWN_GENERATION = -1


class RebalanceProtocol(IntEnum):
    """How members pass partitions on: all are given up first, or only those that move."""

    EAGER = 0
    COOPERATIVE = 1


@frozen(kw_only=True)
class Subscription:
    """What one member tells the leader when it joins. A negative `generation_id` means none.

    `group_instance_id` is no part of the member's own bytes; the leader takes it from the
    JoinGroup reply.
    """

    topics: tuple[str, ...]
    owned_partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None
    generation_id: int = UNKNOWN_GENERATION
    rack_id: str | None = None
    group_instance_id: str | None = None


@frozen(kw_only=True)
class Assignment:
    """What the leader decided for one member, in the order in which it was decided."""

    partitions: tuple[TopicPartition, ...] = ()
    user_data: bytes | None = None


@frozen(kw_only=True)
class Cluster:
    """What the leader knows of the topics: how many partitions each has, and its replicas' racks.

    A topic that is missing, or has no partitions, has no metadata and is not assigned. Racks are
    listed per partition; a topic without them has replicas on brokers of unknown rack.
    """

    partition_counts: Mapping[str, int]
    replica_racks: Mapping[str, tuple[frozenset[str], ...]] = field(factory=dict)

    def racks_of(self, topic: str) -> tuple[frozenset[str], ...]:
        """The known replica racks of each partition of a topic."""
        count = self.partition_counts[topic]
        racks = self.replica_racks.get(topic, ())
        return racks[:count] + (frozenset[str](),) * (count - len(racks))


@frozen(kw_only=True)
class ConsumerGroupMetadata:
    """Who a consumer is within its group, as its assignor is told with each assignment."""

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None


#: Every member's subscription, in the order of the JoinGroup reply.
GroupSubscription = Mapping[str, Subscription]
#: Every member's assignment, in the order in which the leader sends them.
GroupAssignment = Mapping[str, Assignment]


class AssignmentError(Exception):
    """Kafka's own assignor throws on this group; the leader's poll raises what it threw.

    `java_class` names the exception. No member is at fault alone: their claims contradict each
    other, or the topics, in a way that Kafka does not expect. The next join may bring better ones.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}" if message else java_class)
        self.java_class = java_class


class Assignor:
    """One consumer's partition assignor; it may remember things from one rebalance to the next.

    Every consumer has its own instance. All of them are asked for user data and told their
    assignment; only the leader's is asked to assign.
    """

    name: str
    supported_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002
        """What this member adds to its subscription for the leader to read."""
        return None

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """Every member's assignment, also where it is empty."""
        raise NotImplementedError

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Hear what this member was assigned, before its listener does."""
