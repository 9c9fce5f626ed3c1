"""Every scenario that comes with groupsim holds, and shows what it is there to show."""

from __future__ import annotations

from collections import Counter

import pytest

from groupsim.commands.shipped import FOLDER, shipped
from simulation.measures import Rebalance
from tests.support.shipped import measured, played, rows_of, story, total

PAGES = FOLDER.parent.parent / "docs" / "scenarios"

RUNS = [(name, variant) for name in shipped() for variant in story(name).variant_names]


@pytest.mark.parametrize(("name", "variant"), RUNS, ids=[f"{n}-{v}" for n, v in RUNS])
def test_everything_holds_in(name, variant):
    result = played(name, variant)

    assert [each for each in result.expectations if not each.holds] == []
    assert result.violations == ()


@pytest.mark.parametrize("name", shipped())
def test_somebody_can_read_about(name):
    index = (PAGES / "README.md").read_text(encoding="utf-8")

    assert (PAGES / f"{name}.md").exists()
    assert f"[{name}]({name}.md)" in index


# --- rolling_deploy ---


def test_a_rolling_deploy_moves_nothing_with_a_long_session_and_much_if_eager():
    eager, cooperative, static = (
        total("rolling_deploy", variant, "moved")
        for variant in ("eager", "cooperative", "static_long_session")
    )

    assert eager > 20 * cooperative > 0
    assert static == 0


def test_a_rolling_deploy_rebalances_twice_for_each_absence_but_never_with_a_long_session():
    eager, static = (
        measured("rolling_deploy", v).rebalances for v in ("eager", "static_long_session")
    )

    assert (len(eager), len(static)) == (1 + 2 * (50 + 1), 1)


def test_a_static_pod_that_is_away_for_longer_than_its_session_costs_two_rebalances():
    _, missed, back = measured("rolling_deploy", "static").rebalances

    assert missed.cause.endswith("expired")
    assert back.cause.endswith("joined")
    assert total("rolling_deploy", "static", "moved") == missed.moved + back.moved > 0
    assert total("rolling_deploy", "static", "unowned_s") > total(
        "rolling_deploy", "static_long_session", "unowned_s"
    )


def test_a_rolling_deploy_leaves_partitions_unowned_longest_where_nobody_takes_over():
    unowned = {
        variant: total("rolling_deploy", variant, "unowned_s")
        for variant in ("surge", "cooperative", "static_long_session", "eager", "killed")
    }

    assert sorted(unowned, key=unowned.__getitem__) == list(unowned)


def test_only_pods_that_are_killed_make_duplicates():
    graceful = [measured("rolling_deploy", v).figure("duplicates") for v in ("eager", "static")]
    killed = measured("rolling_deploy", "killed_static_auto_commit")

    assert graceful == [0, 0]
    assert {tally.cause.split(" ", 1)[1] for tally in killed.duplicates} == {
        "crashed before it had committed them"
    }


# --- ghost_member ---


def last_rebalance(name: str, variant: str) -> Rebalance:
    return measured(name, variant).rebalances[-1]


def test_an_abandoned_member_id_holds_the_rebalance_for_its_whole_session():
    rebalance = last_rebalance("ghost_member", "abandons_the_id")

    assert rebalance.held is not None
    assert (rebalance.held.who, rebalance.held.why) == (
        "pending member ghost",
        "which never came back",
    )
    assert rebalance.duration_ms == pytest.approx(45_000, abs=50)


def test_a_client_that_keeps_its_id_is_in_within_a_heartbeat():
    assert last_rebalance("ghost_member", "keeps_the_id").duration_ms < 3_000


# --- poison_slow_message ---


def test_a_poison_record_goes_from_hand_to_hand_and_each_one_s_work_is_refused():
    measures = measured("poison_slow_message", "poison")
    failed = rows_of("poison_slow_message", "poison", "commit_failed")

    held = [rebalance.held for rebalance in measures.rebalances[2:]]
    assert {(hold.who, hold.why) for hold in held if hold is not None} == {
        ("ada", "which left"),
        ("bea", "which left"),
    }
    assert {row.error for row in failed} == {"CommitFailedException"}
    assert measures.figure("duplicates") > 100


def test_a_poll_interval_above_the_slowest_record_ends_the_poison_loop():
    figures = played("poison_slow_message", "longer_interval").figures()

    assert (figures["duplicates"], figures["rebalances"], figures["dual_s"]) == (0, 1, 0)


def test_a_poll_interval_counts_from_the_last_poll_also_if_polls_before_it_found_nothing():
    changes = {"max_poll_interval_ms": "421s", "run_for": "10m"}  # The record takes 420 s.
    enough = story("poison_slow_message").variant("longer_interval").with_overrides(changes)

    assert enough.play().figures()["rebalances"] == 1


# --- gc_pause_sweep ---


def false_evictions(variant: str) -> int:
    expired = [r for r in measured("gc_pause_sweep", variant).rebalances if "expired" in r.cause]
    return len(expired) - 1  # The last one really died.


def test_a_longer_session_evicts_fewer_of_the_living_and_notices_the_dead_later():
    sessions = ("session_6s", "session_10s", "session_25s", "session_45s")

    evicted = [false_evictions(variant) for variant in sessions]
    noticed = [measured("gc_pause_sweep", variant).figure("detection_s") for variant in sessions]
    assert evicted == [5, 4, 2, 1]
    assert noticed == sorted(noticed)


def test_a_rare_heartbeat_wastes_part_of_the_session():
    assert false_evictions("session_45s_heartbeat_15s") > false_evictions("session_45s")


# --- static_restart_vs_scale_down ---


def test_a_static_member_that_is_back_in_time_costs_no_rebalance():
    measures = measured("static_restart_vs_scale_down", "restart_inside_session")

    assert len(measures.rebalances) == 1
    assert sorted(s for s in measures.unowned_s.values() if s) == pytest.approx([30, 30], abs=0.5)


def test_static_members_that_are_scaled_down_leave_their_partitions_unowned_for_the_session():
    silent, told = (
        measured("static_restart_vs_scale_down", variant).figure("unowned_s")
        for variant in ("scale_down", "scale_down_and_say_so")
    )

    assert silent == pytest.approx(45, abs=0.5)
    assert told < 3


def test_two_members_with_one_id_fence_each_other_in_turns():
    stopped = rows_of("static_restart_vs_scale_down", "one_id_twice", "consumer_stopped")
    fenced = [row.client for row in stopped if row.error == "FencedInstanceIdException"]

    assert len(fenced) > 10
    assert fenced == (["pod-a", "pod-b"] * len(fenced))[: len(fenced)]


# --- two_bounce_migration ---


def votes(variant: str) -> list[str | None]:
    """The assignors that the generations chose, each as long as it was chosen."""
    moves = rows_of("two_bounce_migration", variant, "state_changed")
    chosen = [row.protocol for row in moves if row.state == "Stable"]
    return [now for before, now in zip([None, *chosen], chosen, strict=False) if now != before]


def refused(variant: str) -> list[str | None]:
    stopped = rows_of("two_bounce_migration", variant, "consumer_stopped")
    return [row.client for row in stopped if row.error == "InconsistentGroupProtocolException"]


def test_two_bounces_turn_the_vote_once_and_nobody_is_refused():
    assert votes("two_bounces") == ["range", "cooperative-sticky"]
    assert refused("two_bounces") == []


def test_a_skipped_bounce_lets_every_new_pod_fail_until_no_old_one_is_left():
    assert refused("first_bounce_skipped") == [f"checkout-{n}" for n in range(1, 6)]


def test_an_old_pod_between_the_bounces_flips_the_vote_back_and_after_them_is_refused():
    assert votes("old_pod_between_the_bounces") == ["range", "cooperative-sticky", "range"]
    assert refused("old_pod_after_both") == ["late"]


# --- commit_race ---


#: For each moment, what the application hears of its commit; some are never sent.
RACES = {
    "joined": set(),
    "evicted": {"UNKNOWN_MEMBER_ID", "DisconnectException"},
    "left": {"CommitFailedException"},
    "missed": {"ILLEGAL_GENERATION"},
    "syncing": {"RebalanceInProgressException"},
    "crashed": set(),
    "cut_short": set(),
}


@pytest.mark.parametrize("group", RACES)
def test_a_commit_hears_what_its_moment_deserves_when(group):
    failed = rows_of("commit_race", "sync", "commit_failed")

    assert {row.error for row in failed if row.group == group} == RACES[group]


def records_of(variant: str, measure: str) -> dict[str, int]:
    found: Counter[str] = Counter()
    for place, records in measured("commit_race", variant).values(measure).items():
        found[place.group] += int(records)
    return {group: records for group, records in found.items() if records}


def test_a_commit_that_is_refused_costs_duplicates_and_no_losses():
    cost = {"evicted": 20, "left": 20, "missed": 20, "crashed": 10}

    for variant in ("sync", "async"):
        assert records_of(variant, "duplicates") == cost
        assert records_of(variant, "lost") == {}


def test_auto_commit_loses_nothing_in_a_crash_but_what_a_hasty_stop_leaves_undone():
    assert records_of("auto", "lost") == {"cut_short": 10}


def test_auto_commit_repeats_what_a_cooperative_rebalance_takes_away():
    assert records_of("auto", "duplicates")["syncing"] == 10
