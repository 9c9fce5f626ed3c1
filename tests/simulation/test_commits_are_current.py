"""Only members of the present generation commit: recordings that break it, and innocent ones."""

from __future__ import annotations

from simulation.events import EventKind as E
from tests.support.rows import a_stable_group, an_event, commits, found_in, moves


def test_a_commit_of_an_old_generation_is_found():
    events = (*a_stable_group("ada", generation=2), commits("ada", 1_000, 5, generation=1))

    assert found_in(*events) == [("CommitsAreCurrent", (5,))]


def test_a_commit_of_one_who_was_removed_is_found():
    events = (
        *a_stable_group("ada", "bea"),
        an_event(E.MEMBER_REMOVED, 500, client="ada"),
        commits("ada", 1_000, 5),
    )

    assert found_in(*events) == [("CommitsAreCurrent", (7,))]


def test_a_commit_without_a_generation_among_members_is_found():
    events = (*a_stable_group("ada"), commits(None, 1_000, 5, generation=-1, member=None))

    assert found_in(*events) == [("CommitsAreCurrent", (5,))]


def test_commits_of_members_and_by_hand_in_an_empty_group_are_innocent():
    events = (
        an_event(E.GROUP_CREATED, 0, state="Empty", generation=0),
        commits(None, 100, 1, generation=-1, member=None),
        *a_stable_group("ada"),
        commits("ada", 1_000, 5),
        moves(2_000, "PreparingRebalance", generation=1),
        commits("ada", 2_000, 6),
    )

    assert found_in(*events) == []


def returns(at_ms, new, old, **facts):
    return an_event(
        E.MEMBER_REPLACED, at_ms, client="ada", member=new, detail=f"it replaced {old}", **facts
    )


def a_return_and_a_failover(state, *more):
    """Ada returns under a second id, the coordinator moves, and ada returns under a third."""
    return (
        *a_stable_group("ada", "bea"),
        returns(500, "ada-2", "ada-1", state=state, cause=1),
        *more,
        an_event(E.GROUP_LOADED, 1_000, state="Stable", generation=1, count=2),
    )


def test_a_return_in_the_middle_of_a_rebalance_is_not_in_the_log():
    events = (
        *a_return_and_a_failover("PreparingRebalance"),
        returns(1_500, "ada-3", "ada-1", state="Stable"),
        commits("ada", 2_000, 5, member="ada-3"),
    )

    assert found_in(*events) == []


def test_a_return_that_changes_the_vote_is_not_in_the_log():
    moved = moves(500, "PreparingRebalance", generation=1, cause=1)
    events = (*a_return_and_a_failover("Stable", moved), commits("ada", 2_000, 5, member="ada-1"))

    assert found_in(*events) == []


def test_after_a_return_that_was_written_the_old_id_is_no_member():
    events = (*a_return_and_a_failover("Stable"), commits("ada", 2_000, 5, member="ada-1"))

    assert found_in(*events) == [("CommitsAreCurrent", (8,))]
