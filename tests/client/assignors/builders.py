"""Groups in few words: `a_member("C0", "t0 t1", owned="t0p0 t1p2", generation=4)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen

from client.assignors import (
    Assignment,
    Assignor,
    Cluster,
    ConsumerGroupMetadata,
    Subscription,
    TopicPartition,
    new_assignor,
)


@frozen
class Member:
    """One member of a group as a test describes it."""

    id: str
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] | None
    generation: int | None
    subscription_generation: int | None
    instance: str | None
    rack: str | None


def a_member(  # noqa: PLR0913 (each default is what most tests leave unsaid)
    member_id: str,
    topics: str,
    *,
    owned: str | None = None,
    generation: int | None = None,
    subscription_generation: int | None = None,
    instance: str | None = None,
    rack: str | None = None,
) -> Member:
    """A member that subscribes these topics and last owned these partitions."""
    return Member(
        id=member_id,
        topics=tuple(topics.split()),
        owned=None if owned is None else partitions_in(owned),
        generation=generation,
        subscription_generation=subscription_generation,
        instance=instance,
        rack=rack,
    )


def members(ids: str, topics: str) -> list[Member]:
    """Members that all subscribe the same."""
    return [a_member(member_id, topics) for member_id in ids.split()]


def assign(
    name: str | Assignor,
    topics: Mapping[str, int],
    group: Iterable[Member],
    racks: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What each member gets, in the order in which it gets it, as text."""
    assignor = new_assignor(name) if isinstance(name, str) else name
    cluster = Cluster(
        partition_counts=topics,
        replica_racks={
            topic: tuple(map(frozenset, listed.split())) for topic, listed in (racks or {}).items()
        },
    )
    subscriptions = {member.id: subscription_of(member, assignor.name) for member in group}
    assignments = assignor.assign(cluster, subscriptions)
    return {member: text_of(assignment.partitions) for member, assignment in assignments.items()}


def subscription_of(member: Member, name: str) -> Subscription:
    """What the member would send, its user data written by an assignor of its own."""
    generation = -1 if member.generation is None else member.generation
    owned = member.owned or ()
    if name not in ("sticky", "cooperative-sticky"):
        owned, generation, user_data = (), -1, None
    else:
        own = new_assignor(name)
        if member.owned is not None:
            metadata = ConsumerGroupMetadata(group_id="g", generation_id=generation)
            own.on_assignment(Assignment(partitions=owned), metadata)
        user_data = own.subscription_user_data(member.topics)
    if member.subscription_generation is not None:
        generation = member.subscription_generation
    return Subscription(
        topics=member.topics,
        # Eager members have given up everything before they join.
        owned_partitions=owned if name == "cooperative-sticky" else (),
        user_data=user_data,
        generation_id=generation,
        rack_id=member.rack,
        group_instance_id=member.instance,
    )


def partitions_in(text: str) -> tuple[TopicPartition, ...]:
    """Partitions from text: `t0p3` is partition 3 of topic t0."""
    split = (word.rpartition("p") for word in text.split())
    return tuple((topic, int(number)) for topic, _, number in split)


def text_of(partitions: Iterable[TopicPartition]) -> str:
    """Partitions as text, in their order."""
    return " ".join(f"{topic}p{number}" for topic, number in partitions)
