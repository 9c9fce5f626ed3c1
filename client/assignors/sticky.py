"""The assignor `sticky`: balanced, and each member keeps what it had where balance allows.

Its members are eager: they give everything up before they join, so what they had travels as user
data, the last assignment with its generation.
"""

from __future__ import annotations

from collections.abc import Iterable

from client.assignors.byte_fields import (
    ByteReader,
    SchemaError,
    by_topic,
    int32_field,
    partitions_field,
)
from client.assignors.group import as_group_assignment
from client.assignors.interface import (
    UNKNOWN_GENERATION,
    Assignment,
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    GroupSubscription,
    Subscription,
    TopicPartition,
)
from client.assignors.java_order import compute_order
from client.assignors.sticky_claims import Claim
from client.assignors.sticky_family import StickyFamilyAssignor


class StickyAssignor(StickyFamilyAssignor):
    """Kafka's `StickyAssignor`."""

    name = "sticky"

    def __init__(self) -> None:
        super().__init__()
        # Neither revoking nor leaving clears these; only the next assignment replaces them.
        self._partitions: tuple[TopicPartition, ...] | None = None
        self._generation = UNKNOWN_GENERATION

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002
        """The last assignment with its generation; nothing before the first one."""
        if self._partitions is None:
            return None
        return encode_claim(Claim(partitions=self._partitions, generation=self._generation))

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """Assign all partitions at once; everybody has given up theirs."""
        return as_group_assignment(self.assign_sticky(cluster, group).partitions)

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:
        """Remember what to claim next time."""
        self._partitions = assignment.partitions
        self._generation = metadata.generation_id

    def claim_of(self, subscription: Subscription) -> Claim:
        """What the user data says; the fields of the subscription are not looked at."""
        return decode_claim(subscription.user_data or b"")


def encode_claim(claim: Claim) -> bytes:
    """User data of version 1: topics in the order of Kafka's map, then the generation."""
    numbers = by_topic(claim.partitions)
    # Kafka's map may grow when a topic is looked up again, so each partition counts.
    order = compute_order(topic for topic, _ in claim.partitions)
    topics = ((topic, numbers[topic]) for topic in order)
    return partitions_field(topics) + int32_field(claim.generation)


def decode_claim(user_data: bytes) -> Claim:
    """What user data of version 1 or 0 claims. What cannot be read claims nothing."""
    reader = ByteReader(user_data)
    try:
        partitions = reader.partitions()
    except SchemaError:
        return Claim()
    try:
        return Claim(partitions=partitions, generation=reader.int32())
    except SchemaError:
        return Claim(partitions=partitions)
