"""How long partitions that are added wait for their first reader."""

from __future__ import annotations

from groupsim.report.growth import GrowthFold, waits_ms
from groupsim.report.ownership import OWNED, Stay
from simulation.events import Row, WorldEventKind
from simulation.measures import Place


def a_topic_of(count: int, kind: WorldEventKind, at_ms: int) -> Row:
    return Row(run="", seq=0, at_ms=at_ms, kind=kind.value, topic="orders", count=count)


def a_stay(partition: int, from_ms: int, group: str = "checkout") -> Stay:
    place = Place(group, "orders", partition)
    return Stay(place=place, kind=OWNED, owners=("ada",), from_ms=from_ms, to_ms=90_000)


def test_only_partitions_that_came_later_are_new():
    fold = GrowthFold()
    handlers = {kind.value: handler for kind, handler in fold.handlers().items()}
    rows = [
        a_topic_of(2, WorldEventKind.TOPIC_CREATED, 0),
        a_topic_of(3, WorldEventKind.PARTITIONS_ADDED, 10_000),
        a_topic_of(4, WorldEventKind.PARTITIONS_ADDED, 20_000),
    ]

    for row in rows:
        handlers[row.kind](row)

    assert fold.added_ms == {("orders", 2): 10_000, ("orders", 3): 20_000}


def test_a_new_partition_waits_until_somebody_of_the_group_reads_it():
    stays = [a_stay(0, 3_000), a_stay(2, 40_000), a_stay(2, 60_000)]

    assert waits_ms({("orders", 2): 10_000}, stays, 90_000) == {
        Place("checkout", "orders", 2): 30_000
    }


def test_what_nobody_has_read_waits_to_the_end():
    stays = [a_stay(0, 3_000)]

    assert waits_ms({("orders", 2): 10_000, ("bills", 1): 10_000}, stays, 90_000) == {
        Place("checkout", "orders", 2): 80_000
    }
