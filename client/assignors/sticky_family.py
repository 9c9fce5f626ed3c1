"""What `sticky` and `cooperative-sticky` share: claims in, one of two algorithms, lists out."""

from __future__ import annotations

from attrs import frozen

from client.assignors.group import assignable_topics
from client.assignors.interface import (
    UNKNOWN_GENERATION,
    Assignor,
    Cluster,
    GroupSubscription,
    Subscription,
    TopicPartition,
)
from client.assignors.java_order import text_key
from client.assignors.racks import Racks
from client.assignors.sticky_claims import Claim, Claims, are_subscriptions_equal
from client.assignors.sticky_constrained import ConstrainedAssignment
from client.assignors.sticky_general import assign_general


@frozen(kw_only=True)
class StickyResult:
    """Every member's partitions, and who of them takes over what from another member.

    The general algorithm does not keep track of take-overs; there they are unknown (None).
    """

    partitions: dict[str, list[TopicPartition]]
    transferring: dict[TopicPartition, str] | None


class StickyFamilyAssignor(Assignor):
    """Kafka's `AbstractStickyAssignor`: balanced first, then as little moved as possible."""

    def __init__(self) -> None:
        # Kafka's assignor never forgets the newest generation it has heard of.
        self._newest_generation = UNKNOWN_GENERATION

    def claim_of(self, subscription: Subscription) -> Claim:
        """What a member says it owned last."""
        raise NotImplementedError

    def assign_sticky(self, cluster: Cluster, group: GroupSubscription) -> StickyResult:
        """Assign by the fast algorithm if all subscribe alike, else by the general one."""
        topics = sorted(assignable_topics(cluster, group), key=text_key)
        counts = {topic: cluster.partition_counts[topic] for topic in topics}
        racks = Racks.seen_by(cluster, topics, group)
        claims = Claims.settled(group, counts, self.claim_of)
        self._newest_generation = max(self._newest_generation, claims.newest_generation)
        if are_subscriptions_equal(group):
            constrained = ConstrainedAssignment(counts=counts, claims=claims, racks=racks)
            return StickyResult(
                partitions=constrained.build(), transferring=constrained.transferring()
            )
        general = assign_general(counts, group, claims, racks, self._newest_generation)
        return StickyResult(partitions=general, transferring=None)
