"""The sticky algorithm for groups whose members all subscribe the same topics.

Then every member ends up with one of two counts, the lower or the upper quota. Members keep what
they owned up to their quota; what is free goes round among those below it. The order in which the
leader's map lists the members decides who may keep the upper quota.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import chain, repeat

from attrs import define, field

from client.assignors.interface import AssignmentError, TopicPartition
from client.assignors.java_order import text_key
from client.assignors.racks import Racks
from client.assignors.sticky_claims import Claims

_ILLEGAL_STATE = "java.lang.IllegalStateException"
#: What Kafka gives up with when members claim partitions that their topic does not have any more.
NOBODY_LEFT = "nobody is left to take a free partition"


@define(kw_only=True, eq=False)
class ConstrainedAssignment:
    """One run of the algorithm; `counts` lists the topics by name."""

    counts: Mapping[str, int]
    claims: Claims
    racks: Racks

    lower_quota: int = field(init=False)
    upper_quota: int = field(init=False)
    #: How many members are to have more than the lower quota, and how many have it already.
    uppers_wanted: int = field(init=False)
    uppers_found: int = field(init=False, default=0)

    assigned: dict[str, list[TopicPartition]] = field(init=False)
    kept: dict[str, int] = field(init=False, factory=dict)
    #: Taken from a member for the sake of balance or nearness, with that member.
    trimmed: dict[TopicPartition, str] = field(init=False, factory=dict)
    below_lower: list[str] = field(init=False, factory=list)
    at_lower: deque[str] = field(init=False, factory=deque)

    def __attrs_post_init__(self) -> None:
        """Reckon the quotas."""
        members, total = len(self.claims.owned), sum(self.counts.values())
        self.lower_quota, self.uppers_wanted = divmod(total, members)
        self.upper_quota = self.lower_quota + (self.uppers_wanted > 0)
        self.assigned = {member: [] for member in self.claims.owned}

    def build(self) -> dict[str, list[TopicPartition]]:
        """Every member's partitions: first what it keeps, then what it is given."""
        self._keep_owned()
        free = self._free_partitions()
        self.below_lower.sort(key=text_key)
        self.at_lower = deque(sorted(self.at_lower, key=text_key))
        if self.racks:
            free = self._give_near(free)
        self._give_in_turn(free)
        self._check_that_all_are_full()
        return self.assigned

    def transferring(self) -> dict[TopicPartition, str]:
        """What was given to a member while another owned or claims it."""
        if not self.trimmed and not self.claims.contested:
            return {}
        return {
            partition: member
            for member, partitions in self.assigned.items()
            for partition in partitions[self.kept[member] :]
            if self.trimmed.get(partition, member) != member or partition in self.claims.contested
        }

    def _keep_owned(self) -> None:
        rank = {topic: place for place, topic in enumerate(self.counts)}
        stride = len(rank)
        for member, claimed in self.claims.owned.items():
            owned = self._near_of(member, claimed) if self.racks else claimed
            owned = sorted(owned, key=lambda p: p[1] * stride + rank[p[0]])
            if self.claims.contested:
                owned = [p for p in owned if p not in self.claims.contested]
            quota = self._quota_to_keep(member, len(owned))
            self.assigned[member] += owned[:quota]
            self.kept[member] = len(self.assigned[member])
            self.trimmed.update(zip(owned[quota:], repeat(member)))

    def _near_of(self, member: str, owned: list[TopicPartition]) -> list[TopicPartition]:
        near = []
        for partition in owned:
            if self.racks.are_far(member, partition):
                self.trimmed[partition] = member
            else:
                near.append(partition)
        return near

    def _quota_to_keep(self, member: str, owned: int) -> int:
        """How much a member may keep, noting what it may still be given."""
        if owned < self.lower_quota:
            self.below_lower.append(member)
        elif owned >= self.upper_quota and self.uppers_found < self.uppers_wanted:
            self._count_an_upper()
            return self.upper_quota
        elif self.uppers_found < self.uppers_wanted:
            self.at_lower.append(member)
        return self.lower_quota

    def _count_an_upper(self) -> None:
        self.uppers_found += 1
        if self.uppers_found == self.uppers_wanted:
            self.at_lower.clear()

    def _free_partitions(self) -> list[TopicPartition]:
        """Partitions that nobody keeps, by topic and number.

        A kept partition that exists no more hides from Kafka that those after it are kept too
        (its comparison of two sorted lists gets stuck there), so they are given once more.
        """
        is_kept = {topic: bytearray(count) for topic, count in self.counts.items()}
        shrunken = set()
        for topic, number in chain.from_iterable(self.assigned.values()):
            if number < self.counts[topic]:
                is_kept[topic][number] = True
            else:
                shrunken.add(topic)
        free = []
        is_stuck = False
        for topic, kept in is_kept.items():
            free += [(topic, n) for n, is_taken in enumerate(kept) if is_stuck or not is_taken]
            is_stuck = is_stuck or topic in shrunken
        return free

    def _give_near(self, free: list[TopicPartition]) -> list[TopicPartition]:
        """Give what can be given within racks, the hardest to place first; return the rest."""
        left = []
        turn = 0
        for partition in sorted(free, key=self.racks.members_near):
            place = self.racks.nearest_from(turn, self.below_lower, partition)
            if place >= 0:
                member = self.below_lower[place]
                self.assigned[member].append(partition)
                turn = self._turn_after(place, member)
                continue
            place = self.racks.nearest_from(0, self.at_lower, partition)
            if place < 0:
                left.append(partition)
                continue
            member = self.at_lower[place]
            self.assigned[member].append(partition)
            if len(self.assigned[member]) == self.upper_quota:
                del self.at_lower[place]
                self._count_an_upper()
        return left

    def _turn_after(self, place: int, member: str) -> int:
        """Whose turn it is among those below the lower quota, after one of them was given to."""
        count = len(self.assigned[member])
        if count < self.lower_quota:
            place += 1
        else:
            del self.below_lower[place]
            if count < self.upper_quota and self.uppers_found < self.uppers_wanted:
                self.at_lower.append(member)
        return place % len(self.below_lower) if self.below_lower else 0

    def _give_in_turn(self, free: list[TopicPartition]) -> None:
        """Round after round to those below the lower quota, then one each to those at it."""
        assigned, below_lower, at_lower = self.assigned, self.below_lower, self.at_lower
        turn = 0
        for partition in free[self._give_whole_rounds(free) :]:
            if below_lower:
                turn = turn if turn < len(below_lower) else 0
                member = below_lower[turn]
                turn += 1
            elif at_lower:
                member = at_lower.popleft()
            else:
                raise AssignmentError(_ILLEGAL_STATE, NOBODY_LEFT)
            partitions = assigned[member]
            partitions.append(partition)
            if len(partitions) == self.lower_quota:
                turn -= 1
                del below_lower[turn]
                at_lower.append(member)
            elif len(partitions) == self.upper_quota:
                self.uppers_found += 1

    def _give_whole_rounds(self, free: list[TopicPartition]) -> int:
        """Give rounds in which nobody reaches the lower quota, and return how many partitions."""
        takers = len(self.below_lower)
        fullest = max((len(self.assigned[member]) for member in self.below_lower), default=0)
        rounds = min(self.lower_quota - fullest - 1, len(free) // takers) if takers else 0
        for turn, member in enumerate(self.below_lower):
            self.assigned[member] += free[turn : rounds * takers : takers]
        return rounds * takers

    def _check_that_all_are_full(self) -> None:
        if not self.below_lower:
            return
        if self.uppers_found != self.uppers_wanted:
            raise AssignmentError(_ILLEGAL_STATE, "too few members reach the upper quota")
        raise AssignmentError(_ILLEGAL_STATE, f"{self.below_lower[0]} misses the lower quota")
