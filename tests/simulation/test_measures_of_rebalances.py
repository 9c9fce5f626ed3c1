"""`rebalances`, `rebalance_s` and `moved`: a few rows in, the values out."""

from __future__ import annotations

import pytest

from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from simulation.measures import Hold, Phase, measure
from tests.support.rows import (
    a_death_and_its_rebalance,
    a_recording,
    an_event,
    moves,
    starts_reading,
    the_end,
)


def test_a_rebalance_tells_its_cause_its_phases_who_held_it_and_what_it_moved():
    last = measure(a_death_and_its_rebalance()).rebalances_of("checkout")[-1]

    assert last.cause == "session of ada expired"
    assert (last.started_ms, last.duration_ms, last.ended_in) == (63_000, 1_510, "Stable")
    assert (last.generation, last.members, last.moved) == (2, 1, 1)
    assert last.phases == (
        Phase("PreparingRebalance", 63_000, 64_500),
        Phase("CompletingRebalance", 64_500, 64_510),
    )
    assert last.held == Hold("bea", "which joined last", 63_000, 64_500)
    assert str(last) == (
        "checkout at 63.0 s: session of ada expired; took 1.5 s; "
        "held 1.5 s by bea, which joined last; at most until 363.0 s"
    )


def test_a_rebalance_may_be_held_by_a_static_member_that_comes_back_last():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(E.MEMBER_ADDED, 0, client="bea"),
        moves(10_000, "PreparingRebalance", detail="session of cat-1 expired"),
        an_event(E.MEMBER_REJOINED, 11_000, client="ada"),
        an_event(
            E.MEMBER_REPLACED, 17_000, client="bea", member="bea-2", detail="it replaced bea-1"
        ),
        an_event(E.JOIN_PHASE_ENDED, 17_000, detail="everyone has joined"),
        moves(17_000, "CompletingRebalance"),
        moves(17_010, "Stable"),
        the_end(20_000),
    )

    assert measure(rows).rebalances[0].held == Hold("bea", "which joined last", 10_000, 17_000)


def test_a_rebalance_that_waits_for_nobody_is_held_by_nobody():
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        moves(1_000, "Stable"),
        an_event(E.MEMBER_REMOVED, 10_000, client="ada", detail="it left"),
        moves(10_000, "PreparingRebalance", detail="ada-1 left"),
        an_event(E.JOIN_PHASE_ENDED, 10_000, detail="everyone has joined"),
        moves(10_000, "Empty"),
        the_end(20_000),
    )

    assert measure(rows).rebalances[0].held is None


def test_a_leader_whose_coordinator_dies_is_not_said_to_have_assigned():
    rows = a_recording(
        moves(0, "Stable"),
        moves(10_000, "PreparingRebalance", detail="leader ada-1 rejoined"),
        moves(10_000, "CompletingRebalance"),
        an_event(E.GROUP_LOADED, 12_000, state="Stable", generation=1, count=1),
        the_end(20_000),
    )

    held = measure(rows).rebalances[0].held
    assert held == Hold(
        "the wait for the assignment", "until the coordinator was another", 10_000, 12_000
    )


def test_the_first_rebalance_of_a_group_is_held_by_its_initial_delay_and_moves_nothing():
    first = measure(a_death_and_its_rebalance()).rebalances[0]

    assert (first.cause, first.moved) == ("member ada joined", 0)
    assert str(first.held) == "held 3.0 s by the initial delay, which gathers the first members"


def test_the_measures_of_rebalances_follow_from_them():
    measures = measure(a_death_and_its_rebalance())

    assert measures.values("rebalances") == {"checkout": 2}
    assert measures.values("rebalance_s") == {4: 3.01, 19: 1.51}
    assert measures.figure("moved") == 1


def test_a_pending_member_that_never_comes_back_is_named_as_the_holder():
    rows = a_recording(
        moves(0, "Stable", count=1, generation=1),
        an_event(E.MEMBER_ID_GIVEN, 12_000, client="c7"),
        an_event(E.MEMBER_ADDED, 12_100, client="bea", count=2),
        moves(12_100, "PreparingRebalance", count=2, detail="member bea-1 joined"),
        an_event(E.MEMBER_REJOINED, 12_100, client="ada"),
        an_event(E.MEMBER_REMOVED, 57_000, client="c7", detail="it never came back"),
        an_event(E.JOIN_PHASE_ENDED, 57_000, detail="pending member c7-1 never came back"),
        moves(57_000, "CompletingRebalance", count=2),
        moves(57_010, "Stable", count=2),
    )

    (rebalance,) = measure(rows).rebalances

    assert str(rebalance.held) == "held 44.9 s by pending member c7, which never came back"


@pytest.mark.parametrize(
    ("detail", "held"),
    [
        ("session of ada-1 expired", "held 9.0 s by ada, whose session expired"),
        (
            "the rebalance timeout was reached; still awaited: ada-1, bea-1",
            "held 9.0 s by ada, bea, awaited in vain",
        ),
    ],
)
def test_whoever_was_awaited_in_the_end_held_the_join_phase(detail, held):
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(E.MEMBER_ADDED, 0, client="bea"),
        moves(0, "Stable", count=2),
        moves(1_000, "PreparingRebalance", detail="member cat-1 joined"),
        an_event(E.MEMBER_ADDED, 1_000, client="cat"),
        an_event(E.JOIN_PHASE_ENDED, 10_000, detail=detail),
        moves(10_000, "CompletingRebalance", count=1),
        moves(10_000, "Stable", count=1),
    )

    (rebalance,) = measure(rows).rebalances

    assert str(rebalance.held) == held


def test_a_leader_that_takes_its_time_holds_the_rebalance():
    rows = a_recording(
        an_event(E.LEADER_ELECTED, 0, client="ada"),
        moves(0, "PreparingRebalance", detail="leader ada-1 rejoined; client reason: new topics"),
        an_event(E.JOIN_PHASE_ENDED, 0, detail="everyone has joined"),
        moves(0, "CompletingRebalance"),
        moves(8_000, "Stable"),
    )

    (rebalance,) = measure(rows).rebalances

    assert str(rebalance.held) == "held 8.0 s by leader ada-1, which assigned"
    assert rebalance.client_reason == "new topics"


def test_a_leader_that_is_removed_has_held_the_rebalance_and_not_its_successor():
    rows = a_recording(
        an_event(E.LEADER_ELECTED, 0, client="ada"),
        moves(0, "PreparingRebalance", detail="member cat-1 joined"),
        moves(0, "CompletingRebalance"),
        an_event(E.LEADER_ELECTED, 15_000, client="bea"),
        moves(15_000, "PreparingRebalance", detail="session of ada-1 expired"),
    )

    (rebalance,) = measure(rows).rebalances

    assert str(rebalance.held) == "held 15.0 s by leader ada-1, until session of ada-1 expired"


def test_a_rebalance_that_its_coordinator_gives_up_ends_there():
    rows = a_recording(
        moves(1_000, "PreparingRebalance", detail="member ada-1 joined"),
        moves(4_000, "Dead"),
        an_event(E.GROUP_LOADED, 5_000, state="Empty", count=0),
        the_end(9_000),
    )

    (rebalance,) = measure(rows).rebalances

    assert (rebalance.ended_in, rebalance.duration_ms) == ("Dead", 3_000)


def test_a_rebalance_that_goes_on_is_told_so_far():
    rows = a_recording(
        moves(1_000, "PreparingRebalance", detail="member ada-1 joined"), the_end(9_000)
    )

    (rebalance,) = measure(rows).rebalances

    assert (rebalance.ended_in, rebalance.duration_ms) == (None, 8_000)
    assert rebalance.phases == (Phase("PreparingRebalance", 1_000, 9_000),)


def test_partitions_that_come_back_to_their_owner_have_not_moved():
    rows = a_recording(
        *starts_reading("ada", 0),
        moves(1_000, "PreparingRebalance", detail="member bea-1 joined"),
        an_event(W.PARTITION_REVOKED, 1_500, client="ada"),
        moves(2_000, "Stable"),
        *starts_reading("ada", 2_010),
    )

    assert measure(rows).figure("moved") == 0
