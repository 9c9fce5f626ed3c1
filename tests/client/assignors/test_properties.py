"""What assignors promise for every group: complete, balanced, sticky, whatever the order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve, frozen
from hypothesis import assume, given
from hypothesis import strategies as st

from client.assignors import (
    Assignment,
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    Subscription,
    TopicPartition,
    new_assignor,
)

ALL_FOUR = ("range", "roundrobin", "sticky", "cooperative-sticky")
STICKY = ("sticky", "cooperative-sticky")

#: In a Java HashMap no two of these share a bucket, so its order does not depend on theirs.
MEMBERS = ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9")
TOPICS = ("t0", "t1", "t2", "t3")

Subscriptions = Mapping[str, tuple[str, ...]]
Owned = Mapping[str, tuple[TopicPartition, ...]]


@frozen
class World:
    """Topics with their partition counts, and who subscribes what."""

    counts: Mapping[str, int]
    subscriptions: Subscriptions

    @property
    def partitions(self) -> list[TopicPartition]:
        """Everything that somebody must get."""
        wanted = {topic for topics in self.subscriptions.values() for topic in topics}
        return [(t, n) for t in sorted(wanted) for n in range(self.counts[t])]


counts = st.fixed_dictionaries({topic: st.integers(0, 12) for topic in TOPICS})
some_members = st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=9, unique=True)
some_topics = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True).map(tuple)


@st.composite
def worlds_of_equals(draw: st.DrawFn) -> World:
    """Groups whose members all subscribe the same."""
    topics = draw(some_topics)
    return World(draw(counts), dict.fromkeys(draw(some_members), topics))


@st.composite
def any_worlds(draw: st.DrawFn) -> World:
    """Groups whose members subscribe what they like."""
    return World(draw(counts), {member: draw(some_topics) for member in draw(some_members)})


@st.composite
def worlds_with_owners(draw: st.DrawFn, worlds: st.SearchStrategy[World]) -> tuple[World, Owned]:
    """Groups in which most partitions belong to any subscriber, however unevenly."""
    world = draw(worlds)
    owned: dict[str, list[TopicPartition]] = {member: [] for member in world.subscriptions}
    lots = draw(st.binary(min_size=len(world.partitions), max_size=len(world.partitions)))
    for (topic, number), lot in zip(world.partitions, lots, strict=True):
        takers = [m for m in sorted(world.subscriptions) if topic in world.subscriptions[m]]
        owner = [None, *takers][lot % (len(takers) + 1)]
        if owner is not None:
            owned[owner].append((topic, number))
    return world, {member: tuple(partitions) for member, partitions in owned.items()}


def assign(name: str, world: World, owned: Owned | None = None, generation: int = 1) -> Owned:
    """One rebalance; members claim what they own, in one generation."""
    group = {}
    for member, topics in world.subscriptions.items():
        own = new_assignor(name)
        claimed = (owned or {}).get(member)
        if claimed is not None:
            metadata = ConsumerGroupMetadata(group_id="g", generation_id=generation)
            own.on_assignment(Assignment(partitions=claimed), metadata)
        group[member] = Subscription(
            topics=topics,
            user_data=own.subscription_user_data(topics),
            owned_partitions=(claimed or ()) if name == "cooperative-sticky" else (),
            generation_id=-1 if claimed is None else generation,
        )
    assigned: GroupAssignment = new_assignor(name).assign(
        Cluster(partition_counts=world.counts), group
    )
    return {member: assignment.partitions for member, assignment in assigned.items()}


def settle(name: str, world: World, owned: Owned | None = None, generation: int = 1) -> Owned:
    """Rebalance as long as members must give something up, as cooperative ones do."""
    assigned = assign(name, world, owned, generation)
    if name == "cooperative-sticky":
        return assign(name, world, assigned, generation + 1)
    return assigned


def flat(owned: Owned) -> list[TopicPartition]:
    return sorted(partition for partitions in owned.values() for partition in partitions)


def as_sets(owned: Owned) -> dict[str, set[TopicPartition]]:
    return {member: set(partitions) for member, partitions in owned.items()}


def without(world: World, member: str) -> World:
    others = {m: topics for m, topics in world.subscriptions.items() if m != member}
    return evolve(world, subscriptions=others)


@pytest.mark.parametrize("name", ALL_FOUR)
@given(world=any_worlds())
def test_every_partition_of_a_fresh_group_has_exactly_one_owner_under(name, world):
    assert flat(assign(name, world)) == world.partitions


@pytest.mark.parametrize("name", ALL_FOUR)
@given(world=any_worlds())
def test_nobody_gets_a_topic_without_subscribing_it_under(name, world):
    for member, partitions in assign(name, world).items():
        assert {topic for topic, _ in partitions} <= set(world.subscriptions[member])


@given(any_worlds())
def test_range_gives_each_topic_out_in_consecutive_ranges_that_differ_by_one_at_most(world):
    assigned = assign("range", world)

    for topic in TOPICS:
        subscribers = [m for m, topics in world.subscriptions.items() if topic in topics]
        numbers = [[n for t, n in assigned[member] if t == topic] for member in subscribers]
        lengths = [len(of_member) for of_member in numbers]
        assert all(of == [*range(of[0], of[0] + len(of))] for of in numbers if of)
        assert max(lengths, default=0) - min(lengths, default=0) <= 1


@given(any_worlds())
def test_range_splits_topics_with_the_same_subscribers_and_counts_alike(world):
    alike = evolve(world, counts=dict.fromkeys(TOPICS, 5))

    assigned = assign("range", alike)

    shared = set.intersection(*map(set, alike.subscriptions.values()))
    everyone = [t for t in TOPICS if t in shared]
    for partitions in assigned.values():
        splits = [[n for t, n in partitions if t == topic] for topic in everyone]
        assert all(split == splits[0] for split in splits)


@pytest.mark.parametrize("name", ["roundrobin", *STICKY])
@given(world=worlds_of_equals())
def test_members_that_subscribe_alike_differ_by_one_partition_at_most_under(name, world):
    lengths = [len(partitions) for partitions in assign(name, world).values()]

    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("name", STICKY)
@given(world=any_worlds())
def test_no_partition_would_be_better_with_another_subscriber_under(name, world):
    assigned = assign(name, world)

    loads = {member: len(partitions) for member, partitions in assigned.items()}
    for member, partitions in assigned.items():
        for topic in {topic for topic, _ in partitions}:
            takers = [m for m, topics in world.subscriptions.items() if topic in topics]
            assert min(loads[taker] for taker in takers) + 1 >= loads[member]


@pytest.mark.parametrize("name", STICKY)
@given(world=any_worlds())
def test_nothing_moves_when_nothing_has_changed_under(name, world):
    before = assign(name, world)

    assert as_sets(assign(name, world, before)) == as_sets(before)


@pytest.mark.parametrize("name", STICKY)
@given(world=worlds_of_equals(), data=st.data())
def test_those_who_stay_keep_everything_when_one_leaves_under(name, world, data):
    assume(len(world.subscriptions) > 1)
    before = assign(name, world)
    leaver = data.draw(st.sampled_from(sorted(world.subscriptions)))

    after = assign(name, without(world, leaver), before)

    assert all(set(before[member]) <= set(partitions) for member, partitions in after.items())
    assert flat(after) == world.partitions


@pytest.mark.parametrize("name", STICKY)
@given(world=worlds_of_equals(), data=st.data())
def test_only_what_the_newcomer_gets_moves_when_one_joins_under(name, world, data):
    assume(len(world.subscriptions) > 1)
    newcomer = data.draw(st.sampled_from(sorted(world.subscriptions)))
    before = settle(name, without(world, newcomer))

    after = settle(name, world, before)

    assert all(set(after[member]) <= set(partitions) for member, partitions in before.items())
    assert flat(after) == world.partitions


@given(worlds_with_owners(any_worlds()))
def test_a_cooperative_member_is_never_given_what_another_still_owns(settled):
    world, owned = settled

    after = assign("cooperative-sticky", world, owned)

    for member, partitions in after.items():
        others = {p for other, theirs in owned.items() if other != member for p in theirs}
        assert others.isdisjoint(partitions)


@given(worlds_with_owners(worlds_of_equals()))
def test_a_second_cooperative_round_completes_the_first_if_all_subscribe_alike(settled):
    world, owned = settled

    first = assign("cooperative-sticky", world, owned)
    second = assign("cooperative-sticky", world, first, generation=2)

    assert flat(second) == world.partitions


@given(worlds_with_owners(any_worlds()))
def test_cooperative_rounds_come_to_an_end(settled):
    world, owned = settled

    rounds = 0
    while rounds == 0 or flat(owned) != world.partitions:
        rounds += 1
        owned = assign("cooperative-sticky", world, owned, generation=rounds)

        assert rounds <= 5


@pytest.mark.parametrize("name", ALL_FOUR)
@given(settled=worlds_with_owners(any_worlds()), data=st.data())
def test_the_order_of_members_and_topics_makes_no_difference_under(name, settled, data):
    world, owned = settled
    members = data.draw(st.permutations(sorted(world.subscriptions)))
    shuffled = World(
        counts=world.counts,
        subscriptions={
            member: tuple(data.draw(st.permutations(world.subscriptions[member])))
            for member in members
        },
    )

    assert as_sets(assign(name, shuffled, owned)) == as_sets(assign(name, world, owned))
