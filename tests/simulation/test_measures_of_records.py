"""The measures of records, each: a few rows in, the values out."""

from __future__ import annotations

import pytest

from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from simulation.measures import Place, measure
from simulation.world import Simulation
from tests.support.rows import a_recording, an_event, starts_reading, the_end, works

PLACE = Place("checkout", "orders", 0)

# --- duplicates and lost ---


def tallies(found):
    return {tally.cause: tally.records for tally in found}


def test_records_that_a_crash_left_uncommitted_are_duplicates_when_another_processes_them():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        an_event(E.OFFSET_COMMITTED, 1_100, client="ada", offset=10),
        *works("ada", 2_000, 10, 25),
        an_event(W.CONSUMER_CRASHED, 2_500, client="ada"),
        *starts_reading("bea", 9_000, offset=10),
        *works("bea", 9_500, 10, 30),
    )

    measures = measure(rows)

    assert tallies(measures.duplicates) == {"ada crashed before it had committed them": 15}
    assert measures.values("duplicates") == {PLACE: 15}


def test_a_crash_is_to_blame_even_if_others_had_the_partition_and_read_nothing_of_it():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 2_000, 0, 15),
        an_event(W.CONSUMER_CRASHED, 2_500, client="ada"),
        *starts_reading("bea", 9_000, offset=0),
        an_event(W.PARTITION_REVOKED, 9_200, client="bea"),
        *starts_reading("cat", 9_300, offset=0),
        *works("cat", 9_500, 0, 30),
    )

    measures = measure(rows)

    assert tallies(measures.duplicates) == {"ada crashed before it had committed them": 15}


def test_the_latest_crash_is_to_blame_even_if_all_that_was_in_hand_was_processed():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        an_event(E.OFFSET_COMMITTED, 1_100, client="ada", offset=10),
        an_event(W.CONSUMER_CRASHED, 1_200, client="ada"),
        *starts_reading("bea", 2_000, offset=10),
        *works("bea", 3_000, 10, 25),
        an_event(W.CONSUMER_CRASHED, 3_500, client="bea"),
        *starts_reading("cat", 9_000, offset=10),
        *works("cat", 9_500, 10, 30),
    )

    measures = measure(rows)

    assert tallies(measures.duplicates) == {"bea crashed before it had committed them": 15}


def test_records_whose_commit_was_refused_are_duplicates_for_that_reason():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        an_event(W.COMMIT_FAILED, 1_100, client="ada", offset=10, error="ILLEGAL_GENERATION"),
        an_event(W.PARTITION_LOST, 1_200, client="ada"),
        *starts_reading("bea", 2_000, offset=0),
        *works("bea", 2_500, 0, 10),
    )

    assert tallies(measure(rows).duplicates) == {
        "the commit of offset 10 by ada failed: ILLEGAL_GENERATION": 10
    }


@pytest.mark.parametrize("detail", ["seek", "reset"])
def test_records_read_again_on_purpose_are_duplicates_of_that_purpose(detail):
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        an_event(W.POSITION_SET, 2_000, client="ada", offset=4, detail=detail),
        *works("ada", 2_500, 4, 10),
    )

    assert tallies(measure(rows).duplicates) == {f"ada went to 4: {detail}": 6}


def test_where_a_consumer_once_began_is_not_to_blame_for_what_is_read_twice_later():
    rows = a_recording(
        *starts_reading("ada", 0, detail="reset"),
        *works("ada", 1_000, 0, 10),
        an_event(E.OFFSET_COMMITTED, 1_100, client="ada", offset=10),
        *starts_reading("bea", 2_000, offset=10),
        *works("bea", 2_500, 10, 30),
        *works("ada", 3_000, 10, 20),
    )

    assert tallies(measure(rows).duplicates) == {
        "ada went on with them after bea had taken over": 10
    }


def test_records_that_a_consumer_which_stands_still_had_not_committed_come_again_for_that_reason():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        *starts_reading("bea", 50_000, offset=0),
        *works("bea", 50_500, 0, 10),
    )

    assert tallies(measure(rows).duplicates) == {
        "ada had not committed them when bea took over": 10
    }


def test_records_committed_before_a_crash_and_processed_by_nobody_are_lost():
    rows = a_recording(
        *starts_reading("ada", 0),
        an_event(W.RECORDS_RETURNED, 1_000, client="ada", offset=0, end_offset=10),
        an_event(E.OFFSET_COMMITTED, 1_010, client="ada", offset=10),
        an_event(W.RECORDS_PROCESSED, 1_500, client="ada", offset=0, end_offset=4),
        an_event(W.CONSUMER_CRASHED, 1_600, client="ada"),
        *starts_reading("bea", 9_000, offset=10),
        *works("bea", 9_500, 10, 30),
    )

    measures = measure(rows)

    assert tallies(measures.lost) == {"ada crashed with them in hand": 6}
    assert measures.figure("lost") == 6


def six_records_are_lost():
    return (
        *starts_reading("ada", 0),
        an_event(W.RECORDS_RETURNED, 1_000, client="ada", offset=0, end_offset=10),
        an_event(E.OFFSET_COMMITTED, 1_010, client="ada", offset=10),
        an_event(W.RECORDS_PROCESSED, 1_500, client="ada", offset=0, end_offset=4),
        an_event(W.CONSUMER_CRASHED, 1_600, client="ada"),
    )


@pytest.mark.parametrize(
    "happens",
    [
        [an_event(W.TOPIC_DELETED, 2_000, group=None, topic="orders")],
        [an_event(E.OFFSET_REMOVED, 2_000, detail="expired")],
        [
            an_event(E.OFFSET_REMOVED, 2_000, detail="expired"),
            an_event(W.TOPIC_DELETED, 3_000, group=None, topic="orders"),
        ],
    ],
    ids=["their topic is deleted", "the offset is removed", "one and then the other"],
)
def test_lost_records_stay_lost_when(happens):
    rows = a_recording(*six_records_are_lost(), *happens)

    assert tallies(measure(rows).lost) == {"ada crashed with them in hand": 6}


def test_losses_of_two_topics_of_one_name_add_up():
    rows = a_recording(
        *six_records_are_lost(),
        an_event(W.TOPIC_DELETED, 2_000, group=None, topic="orders"),
        an_event(W.TOPIC_CREATED, 3_000, group=None, topic="orders", count=1),
        *six_records_are_lost(),
    )

    assert tallies(measure(rows).lost) == {"ada crashed with them in hand": 12}


def test_records_that_are_processed_after_their_offset_was_removed_are_not_lost():
    rows = a_recording(
        *six_records_are_lost(),
        an_event(E.OFFSET_REMOVED, 2_000, detail="expired"),
        *starts_reading("bea", 3_000, detail="reset"),
        *works("bea", 3_500, 0, 10),
    )

    assert measure(rows).lost == ()


def test_records_in_a_living_consumers_hand_are_not_lost():
    rows = a_recording(
        *starts_reading("ada", 0),
        an_event(W.RECORDS_RETURNED, 1_000, client="ada", offset=0, end_offset=10),
        an_event(E.OFFSET_COMMITTED, 1_010, client="ada", offset=10),
    )

    assert measure(rows).lost == ()


def test_records_that_a_reset_skipped_are_lost_when_committed_past():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 10),
        an_event(W.POSITION_SET, 2_000, client="ada", offset=25, detail="reset"),
        *works("ada", 2_500, 25, 30),
        an_event(E.OFFSET_COMMITTED, 2_600, client="ada", offset=30),
    )

    assert tallies(measure(rows).lost) == {"ada went from 10 to 25: reset": 15}


def test_what_was_written_before_a_new_group_began_at_the_end_is_not_lost():
    rows = a_recording(
        an_event(W.TOPIC_CREATED, 0, topic="orders", count=1),
        *starts_reading("ada", 1_000, offset=100, detail="reset"),
        *works("ada", 1_500, 100, 110),
        an_event(E.OFFSET_COMMITTED, 1_600, client="ada", offset=110),
    )

    assert measure(rows).lost == ()


def test_records_of_a_partition_added_later_are_lost_if_reading_begins_at_its_end():
    rows = a_recording(
        an_event(W.TOPIC_CREATED, 0, topic="orders", count=1),
        *starts_reading("ada", 1_000),
        an_event(W.PARTITIONS_ADDED, 2_000, topic="orders", count=2),
        *starts_reading("ada", 9_000, offset=7, detail="reset", partition=1),
        an_event(E.OFFSET_COMMITTED, 9_500, client="ada", offset=7, partition=1),
    )

    assert tallies(measure(rows).lost) == {"ada went from 0 to 7: reset": 7}


# --- lag and lag_s ---


def test_lag_is_greatest_just_before_the_position_moves():
    rows = a_recording(
        an_event(W.LOG_RATE_CHANGED, 0, group=None, offset=0, count=10, duration_ms=1_000),
        *starts_reading("ada", 1_000, offset=10),
        *works("ada", 6_000, 10, 60),
        the_end(7_000),
    )

    measures = measure(rows)

    assert (measures.lag, measures.lag_s) == ({PLACE: 50}, {PLACE: 4.9})


def test_lag_grows_to_the_end_when_nobody_reads():
    rows = a_recording(
        an_event(W.LOG_RATE_CHANGED, 0, group=None, offset=0, count=10, duration_ms=1_000),
        *starts_reading("ada", 0),
        an_event(W.CONSUMER_CRASHED, 500, client="ada"),
        the_end(10_000),
    )

    assert measure(rows).figure("lag") == 100


def test_the_age_of_a_lag_counts_from_the_growth_that_wrote_the_record():
    rows = a_recording(
        an_event(W.LOG_RATE_CHANGED, 0, group=None, offset=0, count=0, duration_ms=1_000),
        *starts_reading("ada", 0),
        an_event(W.LOG_RATE_CHANGED, 4_000, group=None, offset=5, count=0, duration_ms=1_000),
        an_event(W.LOG_RATE_CHANGED, 6_000, group=None, offset=9, count=0, duration_ms=1_000),
        the_end(10_000),
    )

    measures = measure(rows)

    assert (measures.lag, measures.lag_s) == ({PLACE: 9}, {PLACE: 6.0})


def a_log_grows_by(count, at_ms, offset):
    return an_event(
        W.LOG_RATE_CHANGED, at_ms, group=None, offset=offset, count=count, duration_ms=1_000
    )


def test_the_age_of_a_record_written_before_the_log_changed_its_pace_is_its_own():
    rows = a_recording(
        a_log_grows_by(10, 0, 0),
        a_log_grows_by(0, 2_000, 20),
        a_log_grows_by(1, 9_000, 20),
        *starts_reading("ada", 10_000, offset=14),
    )

    assert measure(rows).figure("lag_s") == 8.5


def bea_of_another_group(events):
    return [
        (kind, at_ms, facts | {"group": "billing", "member": "bea-1"})
        for kind, at_ms, facts in events
    ]


def test_the_lag_of_a_group_at_the_start_of_the_log_is_its_own_whoever_reads_beside_it():
    rows = a_recording(
        a_log_grows_by(0, 0, 0),
        *starts_reading("ada", 0),
        *bea_of_another_group(starts_reading("bea", 0)),
        a_log_grows_by(0, 1_000, 5),
        *bea_of_another_group(works("bea", 1_000, 0, 5)),
        a_log_grows_by(0, 2_000, 9),
        *bea_of_another_group(works("bea", 2_000, 5, 9)),
        a_log_grows_by(0, 3_000, 12),
        the_end(4_000),
    )

    assert measure(rows).lag_s[PLACE] == 3.0


def test_the_lag_of_a_group_that_begins_late_is_as_old_as_the_first_record():
    rows = a_recording(
        a_log_grows_by(0, 0, 0),
        *bea_of_another_group(starts_reading("bea", 0)),
        a_log_grows_by(0, 1_000, 5),
        *bea_of_another_group(works("bea", 1_000, 0, 5)),
        a_log_grows_by(0, 2_000, 9),
        *bea_of_another_group(works("bea", 2_000, 5, 9)),
        a_log_grows_by(0, 3_000, 12),
        *starts_reading("ada", 4_000, detail="reset"),
    )

    assert measure(rows).lag_s[PLACE] == 3.0


def test_lag_counts_unread_records_that_retention_has_deleted():
    sim = Simulation(seed=1)
    sim.topic("orders", retention="10s")
    sim.consumer("ada", group="checkout", topics=["orders"])
    sim.run_for("10s")
    sim.pause("ada")
    sim.append("orders", 5)

    sim.run_for("35s")
    sim.append("orders", 1)

    assert sim.stage.cluster.topics["orders"].logs[0].start_at(sim.now_ms) == 5
    measures = measure(sim.events)
    assert (measures.lag, measures.lag_s) == ({PLACE: 6}, {PLACE: 35.0})


def test_a_commit_whose_write_failed_loses_nothing():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 4),
        an_event(E.OFFSET_COMMITTED, 1_010, client="ada", offset=10, cause=4),
        an_event(E.WRITE_FAILED, 1_010, group=None, cause=4, error="NOT_ENOUGH_REPLICAS"),
    )

    assert measure(rows).lost == ()


def test_a_commit_that_was_under_way_when_the_coordinator_moved_loses_nothing():
    rows = a_recording(
        *starts_reading("ada", 0),
        *works("ada", 1_000, 0, 4),
        an_event(E.OFFSET_COMMITTED, 1_010, client="ada", offset=10, cause=4),
        an_event(E.GROUP_LOADED, 2_000, state="Stable", count=1),
    )

    assert measure(rows).lost == ()
