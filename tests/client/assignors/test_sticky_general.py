"""Unequal subscriptions: the finer points of Kafka's general sticky algorithm."""

from __future__ import annotations

from tests.client.assignors.builders import a_member, assign


def test_a_partition_that_went_the_other_way_comes_back_instead_of_another_being_swapped_for_it():
    # up2 first goes to C2, when C1 has the most. Later C2 has too much, and up0 would go to C1.
    group = [
        a_member("C1", "t u", owned="up2 up3 tp1 tp0", generation=1),
        a_member("C2", "t u"),
        a_member("C3", "t", owned="", generation=1),
        a_member("C4", "t"),
    ]

    assigned = assign("sticky", {"t": 2, "u": 4}, group)

    assert assigned == {"C3": "tp0", "C4": "tp1", "C1": "up3 up2", "C2": "up0 up1"}


def test_free_partitions_are_balanced_first_unless_something_must_be_revoked_anyway():
    # C2 no longer subscribes t and must give up tp1, so C1 loses tp0 although it was its own.
    topics = {"t": 3, "u": 1, "v": 2}
    others = [a_member("C1", "t u v", owned="tp0", generation=1), a_member("C3", "t")]
    keeping = a_member("C2", "u v", owned="vp1 vp0", generation=1)
    revoking = a_member("C2", "u v", owned="vp1 vp0 tp1", generation=1)

    kept, revoked = (assign("sticky", topics, [*others, c2]) for c2 in (keeping, revoking))

    assert kept == {"C3": "tp1 tp2", "C1": "tp0 up0", "C2": "vp1 vp0"}
    assert revoked == {"C3": "tp1 tp0", "C1": "tp2 up0", "C2": "vp1 vp0"}


def test_a_partition_with_one_possible_owner_stays_with_it_however_loaded_it_is():
    group = [
        a_member("C1", "t u", owned="up0 up1 up2 up3 tp0", generation=1),
        a_member("C2", "t", owned="tp1", generation=1),
    ]

    assigned = assign("sticky", {"t": 2, "u": 4}, group)

    assert assigned == {"C1": "up0 up1 up2 up3", "C2": "tp1 tp0"}


def test_a_claim_to_a_vanished_partition_lets_two_members_have_the_same_one():
    # Both topics were made anew with one partition. Kafka stops comparing what is kept with what
    # there is at up2, so tp0 is given once more; of its two holders the balance counts the last.
    group = [
        a_member("C1", "t u", owned="tp0 tp2 up0", generation=1),
        a_member("C2", "u", owned="up2", generation=1),
        a_member("C3", "t", owned="", generation=1),
        a_member("C4", "t", owned="", generation=1),
    ]

    assigned = assign("sticky", {"t": 1, "u": 1}, group)

    assert assigned == {"C3": "tp0", "C4": "", "C1": "tp0 tp2", "C2": "up2 up0"}


def test_free_partitions_go_to_near_subscribers_first_where_racks_matter():
    group = [
        a_member("C1", "t u", rack="a"),
        a_member("C2", "t", rack="b"),
        a_member("C3", "u", rack="b"),
    ]

    assigned = assign("sticky", {"t": 2, "u": 2}, group, racks={"t": "a b", "u": "b a"})

    assert assigned == {"C3": "up0", "C1": "tp0 up1", "C2": "tp1"}


def test_what_is_far_is_given_up_where_racks_matter():
    group = [
        a_member("C1", "t u", owned="tp1 up0", generation=1, rack="a"),
        a_member("C2", "t", owned="tp0", generation=1, rack="b"),
    ]

    assigned = assign("sticky", {"t": 2, "u": 1}, group, racks={"t": "a b", "u": "a"})

    assert assigned == {"C1": "up0 tp0", "C2": "tp1"}
