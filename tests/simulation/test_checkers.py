"""Each checker of safety: a recording that breaks its sentence, and innocent ones like it."""

from __future__ import annotations

import pytest

from simulation.checkers import check
from simulation.events import NOTHING_COMMITTED
from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from tests.support.rows import (
    a_recording,
    a_stable_group,
    an_event,
    begins,
    commits,
    found_in,
    moves,
    processes,
)

# --- OneProcessorPerGeneration ---


def test_two_processors_in_one_generation_are_found():
    assert found_in(processes("ada", 1_000, 3), processes("bea", 2_000, 3)) == [
        ("OneProcessorPerGeneration", (1, 2))
    ]


def test_processors_of_two_generations_are_innocent():
    assert found_in(processes("ada", 1_000, 3), processes("bea", 2_000, 4)) == []


def test_a_static_member_under_its_new_id_is_the_same_processor():
    events = (
        processes("ada", 1_000, 3),
        an_event(
            E.MEMBER_REPLACED, 2_000, client="ada", member="ada-2", detail="it replaced ada-1"
        ),
        processes("ada", 3_000, 3, member="ada-2"),
    )

    assert found_in(*events) == []


def test_an_assignor_of_the_users_may_give_a_partition_to_two():
    events = (
        *a_stable_group("ada", "bea", protocol="mirror"),
        processes("ada", 1_000, 1),
        processes("bea", 2_000, 1),
    )

    assert found_in(*events) == []


def test_generations_of_another_life_of_the_group_are_others():
    events = (
        processes("ada", 1_000, 3),
        an_event(E.GROUP_REMOVED, 2_000),
        processes("bea", 3_000, 3),
    )

    assert found_in(*events) == []


def a_generation_that_is_given_out_again():
    """Ada joins generation 2, which is not written when the coordinator moves; then bea does."""
    return (
        *a_stable_group("ada", protocol="cooperative-sticky"),
        an_event(E.MEMBER_REJOINED, 500, client="ada"),
        moves(500, "CompletingRebalance", generation=2, protocol="cooperative-sticky"),
        processes("ada", 1_000, 2),
        an_event(E.GROUP_LOADED, 2_000, state="Stable", generation=1, count=1),
        an_event(E.MEMBER_ADDED, 3_000, client="bea"),
        moves(9_000, "CompletingRebalance", generation=2, protocol="cooperative-sticky"),
    )


def test_a_generation_given_out_again_after_a_failover_is_another():
    events = (*a_generation_that_is_given_out_again(), processes("bea", 9_500, 2))

    assert found_in(*events) == []


def test_a_zombie_of_a_generation_that_was_given_out_again_is_in_the_old_one():
    events = (
        *a_generation_that_is_given_out_again(),
        processes("ada", 9_200, 2),
        processes("bea", 9_500, 2),
    )

    assert found_in(*events) == []


def test_two_processors_in_the_generation_that_was_given_out_again_are_found():
    events = (
        *a_generation_that_is_given_out_again()[:-2],
        an_event(E.MEMBER_ADDED, 3_000, client="bea"),
        an_event(E.MEMBER_ADDED, 3_000, client="cat"),
        moves(9_000, "CompletingRebalance", generation=2, protocol="cooperative-sticky"),
        processes("bea", 9_500, 2),
        processes("cat", 9_600, 2),
    )

    assert [name for name, _ in found_in(*events)] == ["OneProcessorPerGeneration"]


def test_two_processors_of_one_partition_are_told_of_once():
    events = (processes(client, 1_000, 3) for client in ("ada", "bea", "bea", "ada", "bea"))

    assert found_in(*events) == [("OneProcessorPerGeneration", (1, 2))]


# --- CommitsOnlyAdvance ---


def test_a_committed_offset_that_goes_back_is_found():
    assert found_in(commits("ada", 1_000, 9), commits("bea", 2_000, 4)) == [
        ("CommitsOnlyAdvance", (1, 2))
    ]


def a_seek(offset):
    return an_event(W.POSITION_SET, 1_500, client="ada", offset=offset, detail="seek")


@pytest.mark.parametrize(
    "reason",
    [
        (a_seek(2),),
        (an_event(E.OFFSET_REMOVED, 1_500, detail="expired"),),
        (an_event(W.TOPIC_DELETED, 1_500, topic="orders"),),
    ],
    ids=["a seek", "a removal", "a new topic of that name"],
)
def test_an_offset_goes_back_innocently_after(reason):
    assert found_in(commits("ada", 1_000, 9), *reason, commits("ada", 2_000, 4)) == []


def test_a_reason_excuses_one_commit_only():
    events = (
        commits("ada", 1_000, 9),
        a_seek(2),
        commits("ada", 2_000, 4),
        commits("ada", 3_000, 8),
        commits("ada", 4_000, 3),
    )

    assert found_in(*events) == [("CommitsOnlyAdvance", (4, 5))]


def test_a_repetition_from_before_a_reset_leaves_it_to_explain_the_next_commit():
    events = (
        begins("ada", 1_000, 0, "reset"),
        commits("ada", 2_000, 9, cause=50),
        commits("ada", 3_000, 0),
    )

    assert found_in(*events) == []


def test_a_reset_explains_nothing_any_more_once_its_consumer_begins_at_what_is_committed():
    events = (
        begins("ada", 1_000, 0, NOTHING_COMMITTED),
        commits("bea", 2_000, 9),
        begins("ada", 3_000, 9, "committed"),
        commits("ada", 4_000, 4),
    )

    assert found_in(*events) == [("CommitsOnlyAdvance", (2, 4))]


def test_to_begin_at_the_committed_offset_is_no_reason_to_go_back_to_it():
    events = (
        commits("bea", 1_000, 4),
        begins("ada", 2_000, 4, "committed"),
        commits("bea", 3_000, 9),
        commits("ada", 4_000, 5),
    )

    assert found_in(*events) == [("CommitsOnlyAdvance", (3, 4))]


def test_a_commit_by_hand_may_go_back():
    events = (commits("ada", 1_000, 9), commits(None, 2_000, 4, generation=None, member=None))

    assert found_in(*events) == []


def test_a_commit_whose_write_failed_holds_nobody_to_it():
    events = (
        commits("ada", 1_000, 4),
        commits("ada", 2_000, 9, cause=1),
        an_event(E.WRITE_FAILED, 2_000, group=None, cause=1),
        commits("bea", 3_000, 6),
    )

    assert found_in(*events) == []


def request(kind, at_ms, connection, cause=None):
    facts = {"request": "OffsetCommit", "connection": connection, "cause": cause}
    return an_event(kind, at_ms, client="ada", **facts)


@pytest.mark.parametrize(
    ("offset", "found"), [(5, []), (4, [("CommitsOnlyAdvance", (7, 10))])], ids=["newest", "less"]
)
def test_after_a_request_that_was_overtaken_the_newest_commit_is_gone_on_from(offset, found):
    events = (
        an_event(W.CONSUMER_STARTED, 0, client="ada"),
        request(W.REQUEST_SENT, 1_000, "ada/c1", cause=1),
        request(W.REQUEST_SENT, 1_100, "ada/c2", cause=1),
        request(W.REQUEST_RECEIVED, 1_200, "ada/c2", cause=3),
        commits("ada", 1_200, 5, cause=4),
        request(W.REQUEST_RECEIVED, 1_300, "ada/c1", cause=2),
        commits("ada", 1_300, 9, cause=6),
        request(W.REQUEST_SENT, 1_400, "ada/c2", cause=1),
        request(W.REQUEST_RECEIVED, 1_500, "ada/c2", cause=8),
        commits("ada", 1_500, offset, cause=9),
    )

    assert found_in(*events) == found


def test_a_request_that_was_overtaken_on_another_connection_is_innocent():
    events = (
        an_event(W.CONSUMER_STARTED, 0, client="ada"),
        request(W.REQUEST_SENT, 1_000, "ada/c1", cause=1),
        request(W.REQUEST_SENT, 1_100, "ada/c2", cause=1),
        request(W.REQUEST_RECEIVED, 1_200, "ada/c2", cause=3),
        commits("ada", 1_200, 9, cause=4),
        request(W.REQUEST_RECEIVED, 1_300, "ada/c1", cause=2),
        commits("ada", 1_300, 4, cause=6),
    )

    assert found_in(*events) == []


@pytest.mark.parametrize(
    ("asked", "found"), [("FindCoordinator", []), ("Heartbeat", [("CommitsOnlyAdvance", (1, 5))])]
)
def test_a_commit_may_be_late_that_had_waited_for_its_coordinator_to_be_found(asked, found):
    def request(kind, cause):
        return an_event(kind, 2_000, client="ada", request="OffsetCommit", cause=cause)

    events = (
        commits("ada", 1_000, 9),
        an_event(W.REPLY_RECEIVED, 1_900, client="ada", request=asked),
        request(W.REQUEST_SENT, 2),
        request(W.REQUEST_RECEIVED, 3),
        commits("ada", 2_000, 4, cause=4),
    )

    assert found_in(*events) == found


def given_by_hand(client, offset):
    return an_event(W.OFFSET_GIVEN, 1_500, client=client, offset=offset)


def test_an_offset_given_by_hand_may_go_back():
    events = (commits("ada", 1_000, 9), given_by_hand("ada", 4), commits("ada", 2_000, 4))

    assert found_in(*events) == []


@pytest.mark.parametrize(
    "reason",
    [
        given_by_hand("ada", 3),
        given_by_hand("bea", 4),
        an_event(W.POSITION_SET, 1_500, client="bea", offset=2, detail="seek"),
    ],
    ids=["another offset by hand", "somebody else's hand", "somebody else's seek"],
)
def test_no_offset_goes_back_innocently_after(reason):
    events = (commits("ada", 1_000, 9), reason, commits("ada", 2_000, 4))

    assert found_in(*events) == [("CommitsOnlyAdvance", (1, 3))]


def test_a_commit_that_a_script_sends_may_go_back():
    def request(kind, cause=None):
        return an_event(kind, 2_000, client="ghost", request="OffsetCommit", cause=cause)

    events = (
        commits("ghost", 1_000, 9),
        request(W.REQUEST_SENT),
        request(W.REQUEST_RECEIVED, cause=2),
        commits("ghost", 2_000, 4, cause=3),
    )

    assert found_in(*events) == []


def test_a_commit_after_a_seek_may_be_tried_again_when_its_write_failed():
    events = (
        commits("ada", 1_000, 9),
        a_seek(2),
        commits("ada", 2_000, 2, cause=1),
        an_event(E.WRITE_FAILED, 2_000, group=None, cause=1),
        commits("ada", 3_000, 2),
    )

    assert found_in(*events) == []


# --- GenerationsRise ---


@pytest.mark.parametrize("generation", [3, 4])
def test_a_new_generation_without_a_higher_number_is_found(generation):
    events = (
        moves(0, "Stable", generation=4),
        moves(1_000, "CompletingRebalance", generation=generation),
    )

    assert found_in(*events) == [("GenerationsRise", (1, 2))]


def test_generations_may_start_afresh_with_a_load():
    events = (
        moves(0, "CompletingRebalance", generation=4),
        an_event(E.GROUP_LOADED, 1_000, state="Stable", generation=3, count=1),
        moves(2_000, "CompletingRebalance", generation=4),
        moves(2_000, "Stable", generation=4),
    )

    assert found_in(*events) == []


# --- CooperativeOwnersAreAlone ---


def test_two_live_owners_in_cooperative_mode_are_found():
    events = (
        *a_stable_group("ada", "bea", protocol="cooperative-sticky"),
        an_event(W.PARTITION_ASSIGNED, 1_000, client="ada"),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
    )

    assert found_in(*events) == [("CooperativeOwnersAreAlone", (6, 7))]


@pytest.mark.parametrize(
    "between",
    [
        an_event(W.PARTITION_REVOKED, 1_500, client="ada"),
        an_event(W.CONSUMER_CRASHED, 1_500, client="ada"),
        an_event(E.MEMBER_REMOVED, 1_500, client="ada"),
        moves(1_500, "Stable", generation=2, protocol="range"),
    ],
    ids=[
        "a revocation",
        "a crash",
        "the end of a session",
        "a vote for an eager assignor",
    ],
)
def test_a_second_owner_in_cooperative_mode_is_innocent_after(between):
    events = (
        *a_stable_group("ada", "bea", protocol="cooperative-sticky"),
        an_event(W.PARTITION_ASSIGNED, 1_000, client="ada"),
        between,
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
    )

    assert found_in(*events) == []


def a_rebalance_is_missed_by_ada(instance):
    return (
        *a_stable_group("ada", "bea", protocol="cooperative-sticky"),
        an_event(W.PARTITION_ASSIGNED, 1_000, client="ada", instance=instance),
        an_event(E.MEMBER_REJOINED, 1_500, client="bea"),
        moves(1_500, "CompletingRebalance", generation=2, protocol="cooperative-sticky"),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
    )


def test_a_static_member_that_missed_a_rebalance_may_still_own_what_another_was_given():
    assert found_in(*a_rebalance_is_missed_by_ada("ada")) == []


def test_no_other_member_may_miss_a_rebalance_and_own_what_another_was_given():
    found = found_in(*a_rebalance_is_missed_by_ada(None))

    assert [name for name, _ in found] == ["CooperativeOwnersAreAlone"]


def a_static_member_comes_back(*, joins):
    """It replaces ada's old id and takes a partition over; the next generation is bea's doing."""
    back = {"client": "ada", "member": "ada-2", "instance": "ada"}
    return (
        *a_stable_group("ada", "bea", protocol="cooperative-sticky"),
        an_event(E.MEMBER_REPLACED, 1_000, **back, detail="it replaced ada-1"),
        *([an_event(E.MEMBER_REJOINED, 1_000, **back)] if joins else []),
        an_event(E.MEMBER_REJOINED, 1_500, client="bea"),
        moves(1_500, "CompletingRebalance", generation=2, protocol="cooperative-sticky"),
        an_event(W.PARTITION_ASSIGNED, 1_900, **back),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
    )


def test_a_static_member_that_joined_with_its_return_is_of_the_next_generation():
    found = found_in(*a_static_member_comes_back(joins=True))

    assert [name for name, _ in found] == ["CooperativeOwnersAreAlone"]


def test_a_static_member_that_was_back_before_a_rebalance_may_miss_it():
    assert found_in(*a_static_member_comes_back(joins=False)) == []


# --- what a violation says ---


def test_a_violation_tells_its_rows_its_seed_and_how_to_repeat_it():
    (violation,) = check(a_recording(commits("ada", 1_000, 9), commits("bea", 2_000, 4)))

    assert violation.report(7, "python story.py") == (
        "CommitsOnlyAdvance at 2000 ms, rows 1, 2: "
        "orders-0 of checkout went back from 9 to 4, by bea; "
        "but committed offsets never go back without a reason that the rows show\n"
        "  seed 7; to repeat it: python story.py"
    )
