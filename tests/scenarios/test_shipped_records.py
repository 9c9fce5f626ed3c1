"""What the shipped scenarios about records, partitions and lag are there to show."""

from __future__ import annotations

import pytest

from tests.support.shipped import measured, rows_of, story, total

SCALING = "autoscaler_feedback"
ADDED = "partition_added"
DELIVERY = "delivery_guarantees"
AT_LEAST_ONCE = ("at_least_once_sync", "at_least_once_async", "at_least_once_auto")


# --- autoscaler_feedback ---


def sizes(variant: str) -> list[int]:
    """How many members ran after each change of their number, and at the start."""
    changes: dict[int, int] = {}
    for kind, change in (("consumer_started", 1), ("consumer_stopped", -1)):
        for row in rows_of(SCALING, variant, kind):
            changes[row.at_ms] = changes.get(row.at_ms, 0) + change
    found = [0]
    for at_ms in sorted(changes):
        found.append(found[-1] + changes[at_ms])
    return found[1:]


def last_change_s(variant: str) -> float:
    """When a rebalance last began."""
    return measured(SCALING, variant).rebalances[-1].started_ms / 1_000


def returns(variant: str) -> int:
    """How often the group was back at the six members that are enough."""
    return sizes(variant)[1:].count(6)


def test_each_step_of_an_eager_group_makes_the_lag_that_triggers_the_next():
    assert returns("eager") >= 3
    assert last_change_s("eager") > 540
    # The traffic is as usual from 2m on, yet afterwards it still wants all it may have.
    after_ms = 180_000
    started = [row for row in rows_of(SCALING, "eager", "consumer_started") if row.at_ms > after_ms]
    assert len(started) > 12


def test_a_cooperative_group_comes_to_rest_and_leaves_less_unread():
    assert last_change_s("cooperative") < 480
    assert total(SCALING, "cooperative", "unowned_s") < total(SCALING, "eager", "unowned_s") / 3
    assert measured(SCALING, "cooperative").figure("moved") < 40


def test_a_long_cooldown_makes_the_oscillation_slower_and_does_not_end_it():
    assert returns("eager_long_cooldown") == 1
    assert sizes("eager_long_cooldown")[-1] > 6


def test_a_threshold_above_the_lag_of_a_stall_ends_the_oscillation():
    assert sizes("eager_high_threshold")[-1] == 6
    assert last_change_s("eager_high_threshold") < 240


# --- partition_added ---


def test_new_partitions_are_read_when_metadata_is_next_refreshed():
    _, found = measured(ADDED, "latest").rebalances
    _, found_soon = measured(ADDED, "latest_fresh_metadata").rebalances

    assert found.started_ms == pytest.approx(300_000, abs=1_000)
    assert found_soon.started_ms < 72_000


def test_what_is_written_before_a_new_partition_is_found_is_lost_unless_it_is_read_from_earliest():
    late, soon, earliest = (
        measured(ADDED, each) for each in ("latest", "latest_fresh_metadata", "earliest")
    )

    assert {tally.place.partition for tally in late.lost} == {6, 7, 8, 9, 10, 11}
    assert all(tally.cause.endswith(": reset (no committed offset)") for tally in late.lost)
    assert late.figure("lost") > 100 * soon.figure("lost") > 0
    assert earliest.figure("lost") == 0
    assert earliest.figure("lag_s") == pytest.approx(240, abs=5)


# --- delivery_guarantees ---


def test_at_most_once_loses_what_a_crashed_member_had_in_hand_and_repeats_nothing():
    found = measured(DELIVERY, "at_most_once")

    assert found.figure("lost") > 0
    assert found.figure("duplicates") == 0
    assert all(tally.cause.endswith("crashed with them in hand") for tally in found.lost)


@pytest.mark.parametrize("variant", AT_LEAST_ONCE)
def test_at_least_once_repeats_what_a_crashed_member_had_not_committed_and_loses_nothing(variant):
    found = measured(DELIVERY, variant)

    assert found.figure("duplicates") > 0
    assert found.figure("lost") == 0
    assert all("crashed before it had committed" in tally.cause for tally in found.duplicates)


def test_auto_commit_repeats_all_that_was_processed_since_it_last_committed():
    rarely = story(DELIVERY).with_overrides({"auto.commit.interval.ms": "60s"})

    usual = measured(DELIVERY, "at_least_once_auto").figure("duplicates")
    assert rarely.play(variant="at_least_once_auto").figures()["duplicates"] > 3 * usual


def test_offsets_that_are_kept_with_the_results_neither_lose_nor_repeat():
    found = measured(DELIVERY, "exactly_once")

    assert len(found.deaths) == 7
    assert (found.figure("lost"), found.figure("duplicates")) == (0, 0)
