"""How long the assignors take as groups grow, in CPU time, and how that grows.

For each size of group: afresh, and after one member left, when all members subscribe the same
topics and when they do not. Run it with `make bench`, or alone: `python -m benchmarks.assignors`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from math import log
from statistics import linear_regression

from attrs import frozen

from client.assignors import (
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    Subscription,
    new_assignor,
)
from coordinator import SeededIds

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
TOPICS = tuple(f"topic-{number:02}" for number in range(20))

#: Members and partitions.
SIZES = (
    (10, 100),
    (100, 1_000),
    (50, 5_000),
    (100, 10_000),
    (500, 10_000),
    (200, 20_000),
    (500, 50_000),
    (1_000, 100_000),
    (2_000, 200_000),
)
#: Growth is told by sizes that differ in nothing else: so many partitions for each member.
PARTITIONS_PER_MEMBER = 100

ROUNDS = 5
SECONDS_FOR_ROUNDS = 1.0

#: What Kafka's own assignors take, warm, on two cores, with equal subscriptions: afresh and after
#: one member left, in milliseconds, at 1,000 members and 100,000 partitions; and what we aim at.
JAVA_MS = {
    "range": (280, 280),
    "roundrobin": (300, 300),
    "sticky": (30, 250),
    "cooperative-sticky": (30, 140),
}
#: The general algorithm, afresh. Kafka's figures were taken on other groups than these, so they
#: give the scale and no race.
_GENERAL = "  Kafka, afresh, other groups: 30 to 55 ms at 100 x 1,000, 2.3 to 3.2 s at 500 x 10,000"
JAVA_GENERAL = {"sticky": _GENERAL, "cooperative-sticky": _GENERAL}
TIMES_OF_JAVA = {"range": 1, "roundrobin": 1, "sticky": 3, "cooperative-sticky": 3}
COMPARED = (1_000, 100_000)


@frozen
class Measured:
    """One size: milliseconds afresh and after one member left."""

    members: int
    partitions: int
    fresh_ms: float
    left_ms: float

    def __str__(self) -> str:
        size = f"{self.members:9,} {self.partitions:11,}"
        return f"{size} {self.fresh_ms:11.1f} {self.left_ms:12.1f}"


def main() -> None:
    """Print a table for each assignor and kind of group, then how times grow."""
    for kind, subscribe in (("equal", all_topics), ("unequal", half_the_topics)):
        for name in ASSIGNORS:
            print(f"\n{name}, {kind} subscriptions")
            print(f"{'members':>9} {'partitions':>11} {'afresh ms':>11} {'one left ms':>12}")
            rows = []
            for members, partitions in SIZES:
                row = measure(name, subscribe, members, partitions)
                print(row)
                rows.append(row)
            print(growth(rows))
            if kind == "equal":
                print(against_java(name, rows))
            elif name in JAVA_GENERAL:
                print(JAVA_GENERAL[name])


def measure(
    name: str, subscribe: Callable[[int], tuple[str, ...]], members: int, partitions: int
) -> Measured:
    """Time one group's first assignment, and the one after a member in its middle left."""
    ids = SeededIds()
    topics = {ids.next_id("consumer"): subscribe(number) for number in range(members)}
    cluster = Cluster(partition_counts=dict.fromkeys(TOPICS, partitions // len(TOPICS)))
    fresh = {member: Subscription(topics=subscribed) for member, subscribed in topics.items()}
    fresh_ms, assigned = fastest(name, cluster, fresh)

    leaver = sorted(topics)[members // 2]
    left = {m: having(name, topics[m], assigned, m) for m in topics if m != leaver}
    left_ms, _ = fastest(name, cluster, left)
    return Measured(members, partitions, fresh_ms, left_ms)


def fastest(
    name: str, cluster: Cluster, group: Mapping[str, Subscription]
) -> tuple[float, GroupAssignment]:
    """The least CPU time of several assignments, in milliseconds, and the assignment."""
    times: list[float] = []
    while True:
        started = time.process_time()
        assigned = new_assignor(name).assign(cluster, group)
        times.append(time.process_time() - started)
        if len(times) == ROUNDS or sum(times) > SECONDS_FOR_ROUNDS:
            return 1_000 * min(times), assigned


def having(
    name: str, topics: tuple[str, ...], assigned: GroupAssignment, member: str
) -> Subscription:
    """What a member sends that was assigned something in generation 1."""
    own = new_assignor(name)
    own.on_assignment(assigned[member], ConsumerGroupMetadata(group_id="g", generation_id=1))
    return Subscription(
        topics=topics,
        user_data=own.subscription_user_data(topics),
        owned_partitions=assigned[member].partitions if name == "cooperative-sticky" else (),
        generation_id=1,
    )


def all_topics(_number: int) -> tuple[str, ...]:
    """Everybody subscribes everything."""
    return TOPICS


def half_the_topics(number: int) -> tuple[str, ...]:
    """Each member subscribes ten topics, beginning at another one than its neighbours."""
    start = number % len(TOPICS)
    return (TOPICS + TOPICS)[start : start + len(TOPICS) // 2]


def growth(rows: Iterable[Measured]) -> str:
    """The slope of time against size, both as logarithms, with as many partitions per member."""
    alike = [row for row in rows if row.partitions == PARTITIONS_PER_MEMBER * row.members]
    sizes = [log(row.partitions) for row in alike]
    fresh = linear_regression(sizes, [log(row.fresh_ms) for row in alike]).slope
    left = linear_regression(sizes, [log(row.left_ms) for row in alike]).slope
    return (
        f"with {PARTITIONS_PER_MEMBER} partitions per member, time grows as partitions to the"
        f" power of {fresh:.2f} afresh, {left:.2f} after one left"
    )


def against_java(name: str, rows: Iterable[Measured]) -> str:
    """How a large group's times compare with Kafka's own, and with what we aim at."""
    row = next(row for row in rows if (row.members, row.partitions) == COMPARED)
    fresh, left = JAVA_MS[name]
    times = TIMES_OF_JAVA[name]
    reached = row.fresh_ms <= times * fresh and row.left_ms <= times * left
    return (
        f"at {row.members:,} x {row.partitions:,}: {row.fresh_ms / fresh:.2f} and"
        f" {row.left_ms / left:.2f} times what Java takes; the aim, at most {times}, is"
        f" {'reached' if reached else 'missed'}"
    )


if __name__ == "__main__":
    main()
