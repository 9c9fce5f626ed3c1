"""The sticky algorithm for groups whose members subscribe different topics.

Members keep what they own and still subscribe. Free partitions go to the least loaded
subscribers; then single partitions are moved, as long as that evens out the counts, and the result
is kept only if it is better balanced. Members, topics and partitions are small numbers here
(`sticky_numbers`); `sticky_loads` keeps the counts, `sticky_movements` avoids needless swaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define

from client.assignors.interface import AssignmentError, GroupSubscription, TopicPartition
from client.assignors.java_order import partition_hash
from client.assignors.racks import Racks
from client.assignors.sticky_claims import Claims
from client.assignors.sticky_loads import Loads
from client.assignors.sticky_movements import Movements
from client.assignors.sticky_numbers import Numbers


def assign_general(
    counts: Mapping[str, int],
    group: GroupSubscription,
    claims: Claims,
    racks: Racks,
    newest_generation: int,
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions: what it keeps, then what it is given. `counts` is by name."""
    numbers = Numbers.of(group, counts)
    kept = _kept(numbers, group, claims, racks)
    must_revoke = sum(map(len, kept)) < sum(map(len, claims.owned.values()))
    loads = Loads(numbers=numbers, held=kept)
    is_fresh = loads.most == 0
    free = _free(loads)
    _give_out(free, loads, racks)
    _take_settled_out_of_play(loads)

    held = [list(partitions) for partitions in loads.held]
    spread = loads.spread
    balancing = Balancing(
        loads=loads,
        earlier_holders=_earlier_holders(numbers, claims, newest_generation),
        movements=Movements(
            hash_of=lambda partition: partition_hash(numbers.partitions[partition]),
            topic_of=numbers.topic_of.__getitem__,
        ),
    )
    shared = numbers.shared_partitions
    if not must_revoke:
        balancing.reassign([partition for partition in free if partition in shared])
    # Kafka asks whether the second call changed anything; changes of the first stay unnoticed.
    has_changed = balancing.reassign(shared)
    if is_fresh or not has_changed or loads.spread < spread:
        held = loads.held

    by_member = dict(zip(numbers.members, held, strict=True))
    return {
        member: [numbers.partitions[number] for number in by_member[member]]
        for member in claims.owned
    }


@define(kw_only=True, eq=False)
class Balancing:
    """Moves partitions one by one until no move helps."""

    loads: Loads
    #: Who had a partition in an older generation, and gets it back if that helps.
    earlier_holders: Mapping[int, int]
    movements: Movements

    def reassign(self, partitions: Sequence[int]) -> bool:
        """Go through the partitions until nothing changes any more; return whether anything did."""
        has_ever_changed = False
        has_changed = True
        while has_changed:
            has_changed = False
            for partition in partitions:
                if self.loads.is_balanced():
                    break
                target = self._better_holder(partition)
                if target is not None:
                    self._move(partition, target)
                    has_changed = has_ever_changed = True
        return has_ever_changed

    def _better_holder(self, partition: int) -> int | None:
        loads = self.loads
        most_that_helps = loads.counts[loads.holder[partition]] - 2
        earlier = self.earlier_holders.get(partition)
        if earlier is not None:
            if not loads.is_in_play(earlier):
                topic, number = loads.numbers.partitions[partition]
                raise AssignmentError(
                    "java.lang.NullPointerException",
                    f"an older claim to {topic}-{number} is that of a settled member",
                )
            # Kafka does not ask whether that member still subscribes the topic.
            if loads.counts[earlier] <= most_that_helps:
                return earlier
        lightest = loads.lightest_subscriber(loads.numbers.topic_of[partition])
        return lightest if loads.counts[lightest] <= most_that_helps else None

    def _move(self, partition: int, target: int) -> None:
        holder = self.loads.holder
        actual = self.movements.instead_of(partition, holder[partition], target)
        self.movements.record(actual, holder[actual], target)
        self.loads.move(actual, target)


def _kept(
    numbers: Numbers, group: GroupSubscription, claims: Claims, racks: Racks
) -> list[list[int]]:
    """What each member owned, still subscribes, and has near by if racks matter."""
    return [
        [
            numbers.number_of(partition)
            for partition in claims.owned[member]
            if partition[0] in group[member].topics and not racks.are_far(member, partition)
        ]
        for member in numbers.members
    ]


def _free(loads: Loads) -> list[int]:
    """Partitions that nobody keeps.

    A kept partition that exists no more hides from Kafka that those after it are kept too (its
    comparison of two sorted lists gets stuck there), so they are given once more.
    """
    numbers = loads.numbers
    existing = numbers.starts[-1]
    stuck = min(
        (numbers.starts[topic + 1] for topic in numbers.topic_of[existing:]), default=existing
    )
    nobodys = [number for number in range(stuck) if loads.holder[number] < 0]
    return nobodys + list(range(stuck, existing))


def _give_out(free: Sequence[int], loads: Loads, racks: Racks) -> None:
    """Each free partition to the least loaded subscriber, to near ones first if racks matter."""
    far = _give_near(free, loads, racks) if racks else free
    for partition in far:
        loads.give(partition, loads.lightest_subscriber(loads.numbers.topic_of[partition]))


def _give_near(free: Sequence[int], loads: Loads, racks: Racks) -> list[int]:
    """Give what has a subscriber near by; return the rest."""
    numbers = loads.numbers
    left = []
    for partition in free:
        subscribers = numbers.subscribers[numbers.topic_of[partition]]
        for member in loads.by_load():
            if member in subscribers and not racks.are_far(
                numbers.members[member], numbers.partitions[partition]
            ):
                loads.give(partition, member)
                break
        else:
            left.append(partition)
    return left


def _take_settled_out_of_play(loads: Loads) -> None:
    """Leave out members that have all they could have, none of it shared with others."""
    numbers = loads.numbers
    for member, held in enumerate(loads.held):
        if loads.counts[member] >= numbers.capacities[member] and not any(
            len(numbers.subscribers[numbers.topic_of[number]]) > 1 for number in held
        ):
            loads.take_out_of_play(member)


def _earlier_holders(numbers: Numbers, claims: Claims, newest_generation: int) -> dict[int, int]:
    """Who claims a partition from an older generation; the newest such claim counts."""
    member_numbers = {member: number for number, member in enumerate(numbers.members)}
    found: dict[int, tuple[int, int]] = {}
    for member, claim in claims.of_members.items():
        if claim.generation >= newest_generation:
            continue
        for topic, index in claim.partitions:
            if index >= numbers.count_of(topic):
                continue
            number = numbers.number_of((topic, index))
            if number not in found or claim.generation > found[number][0]:
                found[number] = (claim.generation, member_numbers[member])
    return {number: member for number, (_, member) in found.items()}
