from __future__ import annotations

import pytest

from simulation.events import KINDS, EventKind, Row, WorldEventKind
from simulation.sentences import CLAUSES, Names, clause_of, in_column, in_time, lasting, listed
from simulation.timeline import Window, story
from tests.support.rows import a_death_and_its_rebalance, a_recording, an_event


def test_every_kind_has_a_clause():
    assert set(CLAUSES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_a_row_that_says_next_to_nothing_can_be_told(kind):
    row = Row(seq=1, at_ms=0, kind=kind.value, run="a-run")

    assert clause_of(Names(), row)


def test_consumers_are_called_by_name():
    row = Row(
        seq=2,
        at_ms=0,
        kind=EventKind.STATE_CHANGED.value,
        run="a-run",
        state="PreparingRebalance",
        generation=3,
        count=1,
        detail="member ada-1 joined; client reason: not provided",
    )
    names = Names.of(a_recording(an_event(EventKind.MEMBER_ADDED, 0, client="ada")))

    assert clause_of(names, row) == (
        "the group is PreparingRebalance in generation 3, with 1 member: member ada joined"
    )


def test_what_a_client_said_of_itself_is_told():
    row = Row(
        seq=1,
        at_ms=0,
        kind=EventKind.STATE_CHANGED.value,
        run="a-run",
        state="PreparingRebalance",
        generation=3,
        count=2,
        detail="ada left; client reason: the consumer is being closed",
    )

    assert clause_of(Names(), row).endswith(": ada left (the consumer is being closed)")


def test_a_kind_of_a_later_version_is_told_by_its_own_word():
    assert clause_of(Names(), Row(seq=1, at_ms=0, kind="moon_risen", run="a-run")) == "moon risen"


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "0.0 s"),
        (12_100, "12.1 s"),
        (102_009, "102.009 s"),
        (60_000, "60.0 s"),
        (3_599_999, "3,599.999 s"),
        (259_200_009, "72 h 0 m 0.009 s"),
        (133_925_500, "37 h 12 m 5.5 s"),
    ],
)
def test_points_in_time_are_told_exactly(ms, told):
    assert in_time(ms) == told


def test_points_in_time_below_one_another_have_the_same_digits():
    assert [in_column(ms) for ms in (9_210, 3_208, 1_746_845)] == [
        "9.210 s",
        "3.208 s",
        "1,746.845 s",
    ]


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (14, "14 ms"),
        (999, "999 ms"),
        (44_940, "44.9 s"),
        (1_953_332, "1,953.3 s"),
        (223_206_023, "62.0 h"),
    ],
)
def test_lengths_of_time_are_told_shortly(ms, told):
    assert lasting(ms) == told


@pytest.mark.parametrize(
    ("retention_ms", "told"), [(None, ""), (600_000, ", its records kept for 600.0 s")]
)
def test_a_topic_is_created_with_its_retention_if_it_has_one(retention_ms, told):
    row = an_event(
        WorldEventKind.TOPIC_CREATED, 0, topic="orders", count=4, duration_ms=retention_ms
    )

    (line,) = story(a_recording(row))
    assert line.text == f"topic orders is created with 4 partitions{told}"


def test_a_latency_that_changes_is_told_with_its_link():
    row = Row(
        seq=1,
        at_ms=0,
        kind="link_changed",
        run="a-run",
        client="ada",
        broker=2,
        detail="20ms to 40ms",
    )

    assert clause_of(Names(), row) == (
        "messages between ada and broker 2 take 20ms to 40ms from now on"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [([], ""), (["ada"], "ada"), (["ada", "bea"], "ada and bea"), (list("abc"), "a, b and c")],
)
def test_words_are_listed_as_people_do(words, told):
    assert listed(words) == told


def test_rows_that_differ_in_their_partition_are_one_line():
    rows = a_recording(
        *(
            an_event(WorldEventKind.PARTITION_ASSIGNED, 5, client="ada", partition=partition)
            for partition in range(3)
        )
    )

    assert [(line.text, line.rows) for line in story(rows)] == [
        ("ada takes orders-0, orders-1 and orders-2 over", 3)
    ]


@pytest.mark.parametrize(("last", "told"), [(8, "1 record"), (9, "2 records")])
def test_records_of_several_partitions_are_counted(last, told):
    rows = [
        Row(
            seq=seq,
            at_ms=0,
            kind="records_returned",
            run="a-run",
            client="ada",
            topic="orders",
            partition=seq,
            offset=7 if seq == 1 else 0,
            end_offset=last if seq == 1 else 0,
        )
        for seq in (1, 2)
    ]

    assert clause_of(Names(), *rows) == f"ada is handed {told} of orders-1 and orders-2"


def test_many_partitions_are_counted():
    rows = a_recording(
        *(
            an_event(WorldEventKind.PARTITION_ASSIGNED, 5, client="ada", partition=partition)
            for partition in range(50)
        )
    )

    assert [line.text for line in story(rows)] == ["ada takes 50 partitions over"]


def test_a_line_names_the_last_told_line_that_led_to_it():
    rows = a_recording(
        an_event(WorldEventKind.CONSUMER_STARTED, 0, client="ada"),
        an_event(WorldEventKind.REQUEST_SENT, 0, client="ada", cause=1),
        an_event(WorldEventKind.REQUEST_RECEIVED, 1, client="ada", cause=2),
        an_event(EventKind.MEMBER_ADDED, 1, client="ada", cause=3),
    )

    assert [(line.seq, line.cause) for line in story(rows)] == [(1, None), (4, 1)]


def test_a_window_leaves_out_other_groups_but_not_what_belongs_to_none():
    rows = a_recording(
        an_event(WorldEventKind.CONSUMER_STARTED, 0, client="ada"),
        an_event(WorldEventKind.CONSUMER_STARTED, 0, client="zoe", group="other"),
        an_event(WorldEventKind.BROKER_CRASHED, 0, broker=1, group=None),
    )

    assert [line.seq for line in story(rows, Window(group="checkout"))] == [1, 3]


def test_a_story_tells_a_death_from_its_beginning_to_its_end():
    told = [line.text for line in story(a_death_and_its_rebalance())]

    assert told[told.index("ada crashes") :][:3] == [
        "ada crashes",
        "ada loses orders-0: crashed",
        "ada is out of the group: its session expired",
    ]
