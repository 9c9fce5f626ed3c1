"""How long partitions that are added wait for their first reader."""

from __future__ import annotations

from groupsim.report.growth import GrowthFold, Wait, waits_for_readers
from groupsim.report.ownership import OWNED, Stay
from simulation.events import Row, WorldEventKind
from simulation.measures import Place


def a_topic_of(count: int, kind: WorldEventKind, at_ms: int) -> Row:
    return Row(run="", seq=0, at_ms=at_ms, kind=kind.value, topic="orders", count=count)


def a_stay(partition: int, from_ms: int, group: str = "checkout") -> Stay:
    place = Place(group, "orders", partition)
    return Stay(place=place, kind=OWNED, owners=("ada",), from_ms=from_ms, to_ms=90_000)


def added_ms(*rows: Row) -> dict[tuple[str, int], int]:
    """When which partitions came, by these rows."""
    fold = GrowthFold()
    handlers = {kind.value: handler for kind, handler in fold.handlers().items()}
    for row in rows:
        handlers[row.kind](row)
    return fold.added_ms


def test_only_partitions_that_came_later_are_new():
    added = added_ms(
        a_topic_of(2, WorldEventKind.TOPIC_CREATED, 0),
        a_topic_of(3, WorldEventKind.PARTITIONS_ADDED, 10_000),
        a_topic_of(4, WorldEventKind.PARTITIONS_ADDED, 20_000),
    )

    assert added == {("orders", 2): 10_000, ("orders", 3): 20_000}


def test_nobody_waits_for_partitions_of_a_topic_that_is_gone():
    grown = [
        a_topic_of(2, WorldEventKind.TOPIC_CREATED, 0),
        a_topic_of(4, WorldEventKind.PARTITIONS_ADDED, 10_000),
        a_topic_of(0, WorldEventKind.TOPIC_DELETED, 11_000),
    ]
    again = [
        a_topic_of(1, WorldEventKind.TOPIC_CREATED, 20_000),
        a_topic_of(2, WorldEventKind.PARTITIONS_ADDED, 30_000),
    ]

    assert added_ms(*grown) == {}
    assert added_ms(*grown, *again) == {("orders", 1): 30_000}


def test_a_new_partition_waits_until_somebody_of_the_group_reads_it():
    stays = [a_stay(0, 3_000), a_stay(2, 40_000), a_stay(2, 60_000)]

    assert waits_for_readers({("orders", 2): 10_000}, stays, 90_000) == {
        Place("checkout", "orders", 2): Wait(10_000, 40_000, is_over=True)
    }


def test_what_nobody_has_read_waits_to_the_end():
    stays = [a_stay(0, 3_000)]

    assert waits_for_readers({("orders", 2): 10_000, ("bills", 1): 10_000}, stays, 90_000) == {
        Place("checkout", "orders", 2): Wait(10_000, 90_000, is_over=False)
    }


def test_who_read_a_topic_of_the_same_name_before_is_no_reader_of_a_new_partition():
    stays = [a_stay(0, 3_000), a_stay(2, 3_000), a_stay(2, 60_000)]

    assert waits_for_readers({("orders", 2): 50_000}, stays, 90_000) == {
        Place("checkout", "orders", 2): Wait(50_000, 60_000, is_over=True)
    }


def test_a_group_lets_no_partition_wait_before_it_is_there():
    stays = [a_stay(0, 3_000), a_stay(2, 15_000)]
    late = [a_stay(0, 70_000, "billing"), a_stay(2, 72_000, "billing")]

    assert waits_for_readers({("orders", 2): 10_000}, [*stays, *late], 90_000) == {
        Place("checkout", "orders", 2): Wait(10_000, 15_000, is_over=True),
        Place("billing", "orders", 2): Wait(70_000, 72_000, is_over=True),
    }
