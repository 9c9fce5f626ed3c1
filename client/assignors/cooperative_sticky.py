"""The assignor `cooperative-sticky`: sticky, but what moves is first taken and later given.

Members keep what they own while they rejoin. A partition that passes from one to another is left
out for one round: its old owner sees that it is gone, revokes it and joins again, and only then
does the new owner get it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from client.assignors.byte_fields import ByteReader, SchemaError, int32_field
from client.assignors.group import as_group_assignment
from client.assignors.interface import (
    UNKNOWN_GENERATION,
    Assignment,
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    GroupSubscription,
    RebalanceProtocol,
    Subscription,
    TopicPartition,
)
from client.assignors.sticky_claims import Claim
from client.assignors.sticky_family import StickyFamilyAssignor


class CooperativeStickyAssignor(StickyFamilyAssignor):
    """Kafka's `CooperativeStickyAssignor`."""

    name = "cooperative-sticky"
    supported_protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def __init__(self) -> None:
        super().__init__()
        self._generation = UNKNOWN_GENERATION

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002
        """The generation of the last assignment, for leaders that read no newer subscriptions."""
        return int32_field(self._generation)

    def assign(self, cluster: Cluster, group: GroupSubscription) -> GroupAssignment:
        """Assign, then withhold what another member still owns."""
        result = self.assign_sticky(cluster, group)
        transferring = result.transferring
        if transferring is None:
            transferring = partitions_transferring(group, result.partitions)
        for partition, member in transferring.items():
            result.partitions[member].remove(partition)
        return as_group_assignment(result.partitions)

    def on_assignment(self, assignment: Assignment, metadata: ConsumerGroupMetadata) -> None:  # noqa: ARG002
        """Remember the generation; the partitions are in the subscription anyway."""
        self._generation = metadata.generation_id

    def claim_of(self, subscription: Subscription) -> Claim:
        """The owned partitions, in the subscription's generation or else the user data's."""
        generation = subscription.generation_id
        if generation < 0:
            generation = _generation_in(subscription.user_data or b"")
        return Claim(partitions=subscription.owned_partitions, generation=generation)


def partitions_transferring(
    group: GroupSubscription, assigned: Mapping[str, Sequence[TopicPartition]]
) -> dict[TopicPartition, str]:
    """Partitions added to a member while another says it loses them, with their new owner."""
    added: dict[TopicPartition, str] = {}
    lost: set[TopicPartition] = set()
    for member, partitions in assigned.items():
        owned = group[member].owned_partitions
        had, has = frozenset(owned), frozenset(partitions)
        added.update((partition, member) for partition in partitions if partition not in had)
        lost.update(had - has)
    return {partition: member for partition, member in added.items() if partition in lost}


def _generation_in(user_data: bytes) -> int:
    try:
        return ByteReader(user_data).int32()
    except SchemaError:
        return UNKNOWN_GENERATION
