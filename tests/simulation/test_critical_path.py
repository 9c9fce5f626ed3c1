from __future__ import annotations

import re

import pytest

from coordinator.events import EventKind as E
from simulation.critical_path import Witness, explain
from simulation.random_worlds import draw_world
from simulation.recorder import MemorySink
from simulation.world import Simulation
from simulation.world_plans import play
from tests.groupsim.runs import a_death, a_ghost, a_group, rows_of
from tests.support.rows import a_death_and_its_rebalance, a_recording, an_event


def explanations(rows):
    witness = Witness.of(rows)
    return [explain(rows, each, witness) for each in witness.measures().rebalances]


def test_a_rebalance_that_goes_on_is_told_as_far_as_it_went():
    rows = a_death_and_its_rebalance()[:20]

    last = explanations(rows)[-1]

    assert last.rebalance.ended_in is None
    assert last.sentences[0] == (
        "checkout began to rebalance at 63.0 s, and when the run ended, 1.5 s later, still did,"
        " in generation 1."
    )


def test_a_wait_that_has_a_limit_is_told_with_it():
    last = explanations(a_death_and_its_rebalance())[-1]

    assert last.sentences[-1].startswith("The wait for joins would have ended by itself at 363.0 s")


def a_run_that_ends_while_bea_is_awaited() -> Simulation:
    """Bea stands still when cat joins, and the run ends before she goes on."""
    sim = a_group("ada", "bea")
    sim.pause("bea")
    sim.consumer("cat", group="checkout", topics=["orders"])
    sim.run_for("10s")
    return sim


def test_a_wait_that_goes_on_is_told_with_whom_it_is_for_and_until_when_it_may_last():
    last = explanations(rows_of(a_run_that_ends_while_bea_is_awaited))[-1]

    assert last.rebalance.awaited == "bea to join"
    assert re.fullmatch(
        r"Since 30\.\d+ s it waits for bea to join; at most until 330\.\d+ s\.",
        last.sentences[-1],
    )


def test_a_rebalance_that_goes_on_after_its_joins_waits_for_its_leader():
    rows = a_death_and_its_rebalance()
    joined = next(n for n, row in enumerate(rows, 1) if row.state == "CompletingRebalance")

    last = explanations(rows[:joined])[-1]

    assert last.rebalance.awaited is not None
    assert last.rebalance.awaited.endswith(" to assign")


def test_a_rebalance_that_is_over_waits_for_nobody():
    assert [each.rebalance.awaited for each in explanations(rows_of(a_ghost))] == [None, None]


def test_the_first_members_are_gathered():
    first = explanations(rows_of(a_death))[0]

    assert first.sentences[2] == (
        "It was held 6.0 s by the initial delay, which gathers the first members; ended by its"
        " join timer, set at 3.006 s."
    )


def test_a_wait_that_ended_by_itself_is_not_said_to_have_been_able_to():
    first = explanations(rows_of(a_death))[0]

    assert not any("would have ended" in each for each in first.sentences)


def moves(at_ms, state, detail="", generation=1):
    return an_event(E.STATE_CHANGED, at_ms, state=state, detail=detail, generation=generation)


def test_a_rebalance_that_a_new_coordinator_knows_nothing_of_is_told_as_given_up():
    rows = a_recording(
        moves(0, "Stable"),
        moves(10_000, "PreparingRebalance", "member zoe-1 joined"),
        an_event(E.GROUP_LOADED, 26_000, state="Stable", generation=1, count=6),
    )

    (told,) = explanations(rows)

    assert told.sentences[0] == (
        "checkout began to rebalance at 10.0 s and was given up 16.0 s later: the next coordinator"
        " loaded the group as the log had it, Stable in generation 1 with 6 members; no partition"
        " changed hands."
    )


def test_a_rebalance_whose_coordinator_moves_away_is_told_as_given_up():
    rows = a_recording(
        moves(0, "Stable"),
        moves(10_000, "PreparingRebalance", "leader ada-1 rejoined"),
        moves(10_000, "CompletingRebalance", generation=2),
        moves(20_000, "Dead", "the coordinator gave its shard up", generation=2),
    )

    (told,) = explanations(rows)

    assert "was given up 10.0 s later, when its coordinator moved away" in told.sentences[0]
    assert told.sentences[2] == (
        "It was held 10.0 s by the wait for the assignment, until the coordinator was another."
    )


def test_a_rebalance_that_begins_anew_is_told_with_how_often_and_why():
    rows = a_recording(
        moves(0, "Stable"),
        moves(10_000, "PreparingRebalance", "member bea-1 joined"),
        moves(11_000, "CompletingRebalance", generation=2),
        moves(26_000, "PreparingRebalance", "session of ada-1 expired", generation=2),
        moves(27_000, "CompletingRebalance", generation=3),
        moves(42_000, "PreparingRebalance", "the time to sync ran out for bea-1", generation=3),
    )

    (told,) = explanations(rows)

    assert told.sentences[2] == (
        "It began anew 2 times: first at 26.0 s because the session of"
        " ada-1 expired, last at 42.0 s because the time to sync ran out for bea-1."
    )


def test_a_member_that_left_and_so_ended_the_wait_is_told_with_its_reason():
    timeout = "it left; client reason: consumer poll timeout has expired."
    rows = a_recording(
        an_event(E.MEMBER_ADDED, 0, client="ada"),
        an_event(E.MEMBER_ADDED, 0, client="bea"),
        moves(10_000, "PreparingRebalance", "leader ada-1 rejoined"),
        an_event(E.MEMBER_REMOVED, 90_000, client="bea", detail=timeout),
        an_event(E.JOIN_PHASE_ENDED, 90_000, detail="everyone has joined"),
        moves(90_000, "CompletingRebalance", generation=2),
        moves(90_000, "Stable", generation=2),
    )

    (told,) = explanations(rows)

    assert told.sentences[2] == (
        "It was held 80.0 s by bea, which left (consumer poll timeout has expired)."
    )


def test_a_ghost_is_told_as_one():
    held = explanations(rows_of(a_ghost))[1].rebalance.held

    assert held is not None
    assert (held.who, held.why) == ("pending member ghost", "which never came back")


def a_cut() -> Simulation:
    """Bea is cut off until her session is over."""
    sim = a_group("ada", "bea")
    sim.partition("bea")
    sim.run_for("60s")
    return sim


def test_a_member_that_was_cut_off_is_told_with_the_fault():
    told = explanations(rows_of(a_cut))[1].sentences[1]

    assert "bea had been in trouble since 30.0 s (partition bea from broker" in told


@pytest.mark.parametrize("seed", range(2))
def test_in_random_worlds_too_the_steps_of_a_path_add_up_to_its_rebalance(seed):
    sink = MemorySink()
    play(draw_world(seed), sink=sink)

    found = [each for each in explanations(sink.rows) if each.rebalance.ended_in is not None]

    assert found
    assert [sum(step.waited_ms for step in each.path) for each in found] == [
        each.rebalance.duration_ms for each in found
    ]
