"""Each measure: a few rows in, the values out."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from simulation.measures import (
    MEASURES,
    Measurer,
    Member,
    Place,
    measure,
)
from tests.support.rows import (
    a_death_and_its_rebalance,
    a_recording,
    an_event,
    starts_reading,
    the_end,
)

PLACE = Place("checkout", "orders", 0)
ADA, BEA = Member("checkout", "ada"), Member("checkout", "bea")


# --- unowned_s ---


def test_a_partition_is_unowned_from_its_owners_stop_to_the_next_ones_first_fetch():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.PARTITION_REVOKED, 5_000, client="ada"),
        an_event(W.PARTITION_ASSIGNED, 6_000, client="bea"),
        an_event(W.FETCH_STARTED, 6_500, client="bea", offset=0),
        the_end(10_000),
    )

    assert measure(rows).unowned_s == {PLACE: 1.5}


def test_gaps_of_a_partition_add_up_and_the_last_one_lasts_to_the_end():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.PARTITION_REVOKED, 5_000, client="ada"),
        *starts_reading("ada", 6_000),
        an_event(W.CONSUMER_CRASHED, 8_000, client="ada"),
        an_event(W.PARTITION_LOST, 8_000, client="ada", detail="crashed"),
        the_end(10_000),
    )

    assert measure(rows).unowned_s == {PLACE: 3.0}


def test_a_partition_that_nobody_has_had_yet_is_not_counted_as_unowned():
    rows = a_recording(an_event(W.PARTITION_ASSIGNED, 1_000, client="ada"), the_end(10_000))

    assert measure(rows).unowned_s == {PLACE: 0.0}


def test_a_partition_with_a_second_owner_is_not_unowned_when_the_first_one_stops():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        *starts_reading("bea", 2_000),
        an_event(W.PARTITION_LOST, 4_000, client="ada"),
        the_end(10_000),
    )

    assert measure(rows).figure("unowned_s") == 0


def test_a_consumer_that_stands_still_owns_its_partitions_until_the_group_removes_it():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.CONSUMER_PAUSED, 2_000, client="ada"),
        an_event(E.MEMBER_REMOVED, 10_000, client="ada", detail="its session expired"),
        *starts_reading("bea", 13_000),
        the_end(20_000),
    )

    assert measure(rows).unowned_s == {PLACE: 3.0}


def test_the_removal_of_an_id_that_a_consumer_has_given_up_takes_nothing_from_it():
    rows = a_recording(
        *starts_reading("ada", 1_000, member="ada-2"),
        an_event(E.MEMBER_REMOVED, 2_000, client="ada", member="ada-1"),
        the_end(5_000),
    )

    assert measure(rows).unowned_s == {PLACE: 0.0}


def test_a_deleted_topic_is_not_unowned():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.TOPIC_DELETED, 2_000, topic="orders"),
        an_event(W.PARTITION_REVOKED, 3_000, client="ada"),
        the_end(9_000),
    )

    assert measure(rows).unowned_s == {PLACE: 0.0}


# --- dual_s ---


def test_two_consumers_at_work_on_one_partition_are_counted_while_both_are():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        *starts_reading("bea", 2_000),
        an_event(W.PARTITION_LOST, 4_500, client="ada"),
        the_end(9_000),
    )

    assert measure(rows).dual_s == {PLACE: 2.5}


def test_a_consumer_that_stands_still_does_not_work_beside_another():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.CONSUMER_PAUSED, 1_500, client="ada"),
        *starts_reading("bea", 2_000),
        an_event(W.CONSUMER_RESUMED, 6_000, client="ada"),
        an_event(W.PARTITION_LOST, 6_250, client="ada"),
        the_end(9_000),
    )

    assert measure(rows).dual_s == {PLACE: 0.25}


def test_a_fenced_consumer_works_beside_another_only_on_what_it_has_in_hand():
    rows = a_recording(
        *starts_reading("ada", 1_000),
        an_event(W.RECORDS_RETURNED, 1_000, client="ada", offset=0, end_offset=10),
        an_event(E.MEMBER_REMOVED, 2_000, client="ada"),
        *starts_reading("bea", 3_000),
        an_event(W.RECORDS_PROCESSED, 5_000, client="ada", offset=0, end_offset=10),
        an_event(W.PARTITION_LOST, 9_000, client="ada"),
        the_end(10_000),
    )

    assert measure(rows).dual_s == {PLACE: 2.0}


# --- detection_s and commits_refused ---


def test_a_death_is_detected_when_the_group_removes_the_member():
    measures = measure(a_death_and_its_rebalance())

    assert [(death.client, death.removed_ms) for death in measures.deaths] == [("ada", 63_000)]
    assert measures.figure("detection_s") == 43.0


def test_a_death_that_nobody_notices_counts_to_the_end():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(W.CONSUMER_CRASHED, 1_000, client="ada"),
        the_end(5_000),
    )

    assert measure(rows).figure("detection_s") == 4.0


@pytest.mark.parametrize(
    "end",
    [{"error": "ValueError", "detail": "no"}, {"detail": "without closing"}],
    ids=["by an exception", "without closing its consumer"],
)
def test_an_application_that_ends_is_a_death_if_it_does_so(end):
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(W.CONSUMER_STOPPED, 1_000, client="ada", **end),
        an_event(E.MEMBER_REMOVED, 5_000, client="ada", detail="its session expired"),
    )

    assert measure(rows).figure("detection_s") == 4.0


@pytest.mark.parametrize(
    "events",
    [
        (an_event(W.CONSUMER_STOPPED, 1_000, client="ada"),),
        (
            an_event(E.MEMBER_REMOVED, 900, client="ada", detail="it left"),
            an_event(W.CONSUMER_STOPPED, 1_000, client="ada", error="ValueError"),
        ),
    ],
    ids=["closes and stays, as static members do", "fails after it has left"],
)
def test_nobody_has_died_where_an_application(events):
    rows = a_recording(an_event(E.MEMBER_ADDED, 0, client="ada"), *events, the_end(9_000))

    assert measure(rows).deaths == ()


def test_a_static_member_that_is_back_in_time_was_never_missed():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(W.CONSUMER_CRASHED, 1_000, client="ada"),
        an_event(
            E.MEMBER_REPLACED, 3_000, client="ada", member="ada-2", detail="it replaced ada-1"
        ),
        the_end(90_000),
    )

    assert measure(rows).deaths == ()


def test_refused_commits_are_counted_by_member_and_error():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(E.MEMBER_ADDED, 0, client="bea"),
        an_event(E.COMMIT_REFUSED, 1_000, client="bea", error="ILLEGAL_GENERATION"),
        an_event(E.COMMIT_REFUSED, 2_000, client="bea", error="ILLEGAL_GENERATION"),
        an_event(E.COMMIT_REFUSED, 3_000, client="bea", error="UNKNOWN_MEMBER_ID"),
    )

    measures = measure(rows)

    assert measures.commits_refused == {
        ADA: {},
        BEA: {"ILLEGAL_GENERATION": 2, "UNKNOWN_MEMBER_ID": 1},
    }
    assert measures.values("commits_refused") == {ADA: 0, BEA: 3}


# --- the run's own figures, and asking early ---


def test_every_measure_has_a_figure_and_it_is_0_for_an_empty_run():
    assert measure([]).figures() == dict.fromkeys(MEASURES, 0)


def test_asking_on_the_way_changes_nothing():
    rows = a_death_and_its_rebalance()
    asked, silent = Measurer(), Measurer()

    for row in rows:
        asked.take(row)
        silent.take(row)
        asked.measures()

    assert asked.measures() == silent.measures()


def test_an_unknown_measure_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"must be one of unowned_s, dual_s, .*, not 'speed'"):
        measure([]).figure("speed")


def test_the_page_of_measures_has_a_row_for_each():
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")

    missing = [
        name
        for name, known in MEASURES.items()
        if f"| `{name}` | {known.of} | {known.aggregate} | {known.meaning}" not in page
    ]

    assert missing == []


def a_commit_is_answered(at_ms, error="NONE"):
    return (
        an_event(E.OFFSET_COMMITTED, at_ms, client="ada", offset=at_ms, cause=at_ms),
        an_event(E.OFFSET_COMMITTED, at_ms, client="ada", offset=at_ms, partition=1, cause=at_ms),
        an_event(W.REPLY_SENT, at_ms, client="ada", request="OffsetCommit", error=error),
    )


def test_a_commit_of_several_partitions_is_one_commit():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada", count=1),
        *a_commit_is_answered(5),
        *a_commit_is_answered(9),
        an_event(W.COMMITS_REPEATED, 30, client="ada", count=4),
    )

    assert measure(rows).commits == {ADA: 6}


def test_a_commit_whose_write_failed_is_not_accepted():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada", count=1),
        *a_commit_is_answered(5),
        *a_commit_is_answered(9, error="COORDINATOR_NOT_AVAILABLE"),
    )

    assert measure(rows).commits == {ADA: 1}


def test_commits_count_for_a_member_that_came_in_place_of_another():
    replaced = {"client": "bea", "detail": "it replaced ada-1"}
    answer = {"client": "bea", "request": "OffsetCommit", "error": "NONE"}
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(E.MEMBER_REPLACED, 10, **replaced),
        an_event(W.REPLY_SENT, 20, **answer),
    )

    measures = measure(rows)

    assert measures.commits == {ADA: 0, BEA: 1}
    assert measures.values("commits_refused") == {ADA: 0, BEA: 0}


def test_commits_are_told_for_each_second_of_the_run():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada", count=1),
        *a_commit_is_answered(5),
        an_event(W.COMMITS_REPEATED, 2_000, client="ada", count=4),
    )

    assert measure(rows).values("commits_per_s") == {ADA: 2.5}
