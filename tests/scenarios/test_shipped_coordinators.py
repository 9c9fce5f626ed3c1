"""What the shipped scenarios about coordinators and leaders are there to show."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.shipped import measured, rows_of

FAILOVER = "coordinator_failover"
COLD_START = "cold_start_storm"
ZOMBIE = "zombie_leader_slow_assignor"
WEEKEND = "offset_retention_weekend"


def failed_over_ms(variant: str) -> int:
    kind = "coordinator_moved" if variant == "moved" else "broker_crashed"
    return rows_of(FAILOVER, variant, kind)[0].at_ms


def errors_of(variant: str) -> Counter[tuple[str | None, str | None]]:
    """What members hear from the failover on, by request and error."""
    since_ms = failed_over_ms(variant)
    rows = rows_of(FAILOVER, variant, "reply_received")
    return Counter((row.request, row.error) for row in rows if row.at_ms >= since_ms)


def recovery_s(variant: str) -> float:
    """How long until every member has had a commit accepted again."""
    since_ms = failed_over_ms(variant)
    first: dict[str | None, int] = {}
    for row in rows_of(FAILOVER, variant, "commit_acknowledged"):
        if row.at_ms > since_ms:
            first.setdefault(row.client, row.at_ms)
    assert len(first) == 6
    return (max(first.values()) - since_ms) / 1_000


# --- coordinator_failover ---


def test_a_stable_group_feels_a_failover_only_in_its_commits():
    assert set(errors_of("stable")) == {
        ("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("Heartbeat", "REBALANCE_IN_PROGRESS"),  # That is for fay, whose session expires later.
    }
    assert [each.cause for each in measured(FAILOVER, "stable").rebalances[1:]] == [
        "session of fay expired"
    ]


def test_a_broker_that_hands_a_group_over_says_so():
    assert errors_of("moved")["OffsetCommit", "NOT_COORDINATOR"] > 0
    assert errors_of("moved")["Heartbeat", "NOT_COORDINATOR"] > 0


def test_recovery_takes_as_long_as_the_log_takes_to_load():
    assert 1 < recovery_s("stable") < 2
    assert 30 < recovery_s("stable_slow_load") < 31


@pytest.mark.parametrize(("variant", "load_s"), [("stable", 1), ("stable_slow_load", 30)])
def test_a_failover_gives_a_dead_member_another_session(variant, load_s):
    (death,) = measured(FAILOVER, variant).deaths

    assert death.removed_ms == failed_over_ms(variant) + load_s * 1_000 + 45_000


def test_parked_joins_are_repeated_until_the_log_is_loaded_and_then_wait_once_more():
    errors = errors_of("parked_joins")

    assert errors["JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"] > 50
    assert errors["JoinGroup", "UNKNOWN_MEMBER_ID"] == 1  # Zoe, of whom the log knows nothing.
    _, given_up, again = measured(FAILOVER, "parked_joins").rebalances
    assert given_up.ended_in == "Stable"  # As the log has it: nothing of the rebalance was stored.
    assert "held 45.0 s by fay, whose session expired" in str(again)


def test_an_assignment_that_was_not_stored_never_was_and_the_removed_member_is_back():
    removed = [
        row.client
        for row in rows_of(FAILOVER, "assignment_in_flight", "member_removed")
        if row.client == "fay"
    ]
    completing = [
        row.generation
        for row in rows_of(FAILOVER, "assignment_in_flight", "state_changed")
        if row.state == "CompletingRebalance"
    ]

    assert removed == ["fay", "fay"]
    assert completing == [1, 2, 2]


def test_every_acknowledged_commit_survives_and_only_those():
    assert measured(FAILOVER, "stable").duplicates == ()
    (tally,) = measured(FAILOVER, "commits_in_flight").duplicates
    assert tally.cause == "fay crashed before it had committed them"
    assert "DisconnectException" in {
        row.error for row in rows_of(FAILOVER, "commits_in_flight", "commit_failed")
    }


# --- cold_start_storm ---


def first_record_s(variant: str) -> float:
    return rows_of(COLD_START, variant, "records_processed")[0].at_ms / 1_000


def generations(variant: str) -> int | None:
    return rows_of(COLD_START, variant, "state_changed")[-1].generation


def test_without_a_delay_members_who_come_one_by_one_cost_a_generation_per_heartbeat():
    assert generations("no_delay") == 8
    assert first_record_s("no_delay") < 0.1
    assert measured(COLD_START, "no_delay").figure("moved") > 500


# The last member comes at 19.8 s: within the step from 18 to 21 s, or from 10 to 20 s.
@pytest.mark.parametrize(("variant", "ends_s"), [("usual_delay", 21 + 3), ("long_delay", 20 + 10)])
def test_a_delay_goes_on_in_steps_until_one_in_which_nobody_comes(variant, ends_s):
    (only,) = measured(COLD_START, variant).rebalances

    assert generations(variant) == 1
    assert only.duration_ms // 1_000 == ends_s
    assert first_record_s(variant) == pytest.approx(only.duration_ms / 1_000, abs=0.1)


def test_a_delay_ends_with_the_rebalance_timeout_whoever_may_still_come():
    first, *later = measured(COLD_START, "capped_delay").rebalances

    assert first.duration_ms // 1_000 == 15
    assert first.members < 100
    assert later[-1].members == 100


# --- zombie_leader_slow_assignor ---


def test_a_slow_assignor_holds_the_whole_group_but_for_a_cooperative_one_s_unmoved_partitions():
    eager, cooperative = (measured(ZOMBIE, each) for each in ("session_45s", "cooperative"))

    assert "held 20.0 s by leader" in str(eager.rebalances[-1])
    assert min(eager.unowned_s.values()) > 20
    assert sum(seconds > 20 for seconds in cooperative.unowned_s.values()) == 8
    assert min(cooperative.unowned_s.values()) == 0


@pytest.mark.parametrize(
    ("variant", "why"),
    [("session_15s", "its session expired"), ("rebalance_timeout_15s", "never synced")],
)
def test_leaders_that_are_silent_for_too_long_are_removed_one_after_the_other(variant, why):
    states = [row.state for row in rows_of(ZOMBIE, variant, "state_changed")]
    removed = rows_of(ZOMBIE, variant, "member_removed")
    leaders = {row.client for row in removed if why in (row.detail or "")}
    zombies = [
        row
        for row in rows_of(ZOMBIE, variant, "reply_received")
        if row.error == "UNKNOWN_MEMBER_ID" and row.request == "SyncGroup"
    ]

    assert states.count("Stable") == 1
    assert len(leaders) > 3
    assert len(zombies) > 3


# --- offset_retention_weekend ---


def test_a_weekend_is_shorter_than_seven_days_and_longer_than_one():
    assert rows_of(WEEKEND, "seven_days", "offset_removed") == []
    assert len(rows_of(WEEKEND, "one_day", "offset_removed")) == 6


def test_a_forgotten_offset_skips_the_weekend_or_reads_everything_again():
    latest, earliest = (measured(WEEKEND, f"one_day{each}") for each in ("", "_from_earliest"))

    assert latest.figure("lost") == pytest.approx(62 * 24, abs=6)
    assert all(
        tally.cause.endswith(": reset (no committed offset)")
        for tally in (*latest.lost, *earliest.duplicates)
    )
    assert (earliest.figure("lost"), earliest.figure("duplicates")) == (0, 234)


def test_offsets_of_a_group_that_is_never_empty_do_not_expire():
    assert rows_of(WEEKEND, "one_day_one_stays", "offset_removed") == []


def test_ten_days_away_are_too_many_even_for_the_default():
    assert measured(WEEKEND, "seven_days_of_ten").figure("lost") > 5_000
