"""What members of a sticky group say they own, and whose word counts where they disagree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from attrs import define, field, frozen

from client.assignors.group import members_in_map_order
from client.assignors.interface import (
    UNKNOWN_GENERATION,
    GroupSubscription,
    Subscription,
    TopicPartition,
)


@frozen(kw_only=True)
class Claim:
    """The partitions that a member was last assigned, and in which generation."""

    partitions: tuple[TopicPartition, ...] = ()
    generation: int = UNKNOWN_GENERATION


@define(kw_only=True, eq=False)
class Claims:
    """All claims of a group, settled: what each member counts as owning, in the map's order.

    `contested` partitions were claimed by two members of the same generation, so neither's word
    counts.
    """

    of_members: Mapping[str, Claim]
    owned: dict[str, list[TopicPartition]] = field(factory=dict)
    contested: set[TopicPartition] = field(factory=set)

    @classmethod
    def settled(
        cls,
        group: GroupSubscription,
        topics: Collection[str],
        claim_of: Callable[[Subscription], Claim],
    ) -> Claims:
        """Hear every member in turn. Of a vanished topic nobody can own anything."""
        members = members_in_map_order(group)
        claims = cls(of_members={member: claim_of(group[member]) for member in members})
        owners: dict[str, dict[int, str]] = {topic: {} for topic in topics}
        for member, claim in claims.of_members.items():
            owned = claims.owned[member] = []
            for partition in claim.partitions:
                topic, number = partition
                owner = owners.get(topic)
                if owner is None:
                    continue
                other = owner.get(number)
                if other is None:
                    owner[number] = member
                    owned.append(partition)
                    continue
                # Kafka holds a claim against the other's subscription, not against its claim,
                # which for `sticky` comes from user data and may be of another generation.
                others_generation = max(group[other].generation_id, UNKNOWN_GENERATION)
                if claim.generation < others_generation:
                    continue
                if claim.generation == others_generation:
                    claims.contested.add(partition)
                else:
                    owned.append(partition)
                owner[number] = member
                if partition in claims.owned[other]:
                    claims.owned[other].remove(partition)
        return claims

    @property
    def newest_generation(self) -> int:
        """The highest generation that anybody claims to know."""
        return max(claim.generation for claim in self.of_members.values())


def are_subscriptions_equal(group: GroupSubscription) -> bool:
    """Whether all members subscribe the same topics; an empty list in front is overlooked."""
    reference: frozenset[str] = frozenset()
    for member in members_in_map_order(group):
        topics = group[member].topics
        if not reference:
            reference = frozenset(topics)
        elif len(topics) != len(reference) or not reference.issuperset(topics):
            return False
    return True
