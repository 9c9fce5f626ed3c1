from __future__ import annotations

from tests.client.assignors.builders import a_member, assign, members

FIVE = "C0 C1 C2 C3 C4"


def test_seven_partitions_among_five_members_give_two_to_the_first_two():
    assigned = assign("range", {"t": 7}, members(FIVE, "t"))

    assert assigned == {"C0": "tp0 tp1", "C1": "tp2 tp3", "C2": "tp4", "C3": "tp5", "C4": "tp6"}


def test_topics_of_five_and_seven_partitions_are_split_each_among_its_own_subscribers():
    group = [*members("C0 C1 C2", "t1 t2"), *members("C3 C4", "t2")]

    assigned = assign("range", {"t1": 5, "t2": 7}, group)

    assert assigned == {
        "C0": "t1p0 t1p1 t2p0 t2p1",
        "C1": "t1p2 t1p3 t2p2 t2p3",
        "C2": "t1p4 t2p4",
        "C3": "t2p5",
        "C4": "t2p6",
    }


def test_two_members_and_two_topics_of_three_partitions_leave_the_first_with_four_of_six():
    assigned = assign("range", {"t0": 3, "t1": 3}, members("C0 C1", "t0 t1"))

    assert assigned == {"C0": "t0p0 t0p1 t1p0 t1p1", "C1": "t0p2 t1p2"}


def test_members_beyond_the_partitions_of_a_topic_get_nothing():
    assigned = assign("range", {"t": 2}, members("C0 C1 C2", "t"))

    assert assigned == {"C0": "tp0", "C1": "tp1", "C2": ""}


def test_the_same_first_member_gets_the_extra_partition_of_every_topic():
    topics = {f"t{number}": 3 for number in range(5)}

    assigned = assign("range", topics, members("C0 C1", " ".join(topics)))

    assert {member: len(text.split()) for member, text in assigned.items()} == {"C0": 10, "C1": 5}


def test_static_members_come_before_dynamic_ones_and_by_their_instance_ids():
    group = [
        a_member("m-1", "t"),
        a_member("m-2", "t", instance="y"),
        a_member("m-3", "t", instance="x"),
    ]

    assigned = assign("range", {"t": 3}, group)

    assert assigned == {"m-3": "tp0", "m-2": "tp1", "m-1": "tp2"}


def test_a_static_member_keeps_its_range_under_a_new_member_id():
    before = [a_member("z-old", "t", instance="i1"), a_member("m-2", "t", instance="i2")]
    after = [a_member("a-new", "t", instance="i1"), a_member("m-2", "t", instance="i2")]

    first, second = (assign("range", {"t": 3}, group) for group in (before, after))

    assert (first["z-old"], first["m-2"]) == (second["a-new"], second["m-2"])


def test_topics_without_metadata_or_partitions_are_left_out():
    assigned = assign("range", {"t": 1, "empty": 0}, members("C0", "missing empty t"))

    assert assigned == {"C0": "tp0"}


def test_ids_are_sorted_by_their_characters_not_by_their_numbers():
    assigned = assign("range", {"t": 3}, members("c2 c10 C3", "t"))

    assert assigned == {"C3": "tp0", "c10": "tp1", "c2": "tp2"}


def test_ids_beyond_the_basic_plane_are_sorted_by_their_utf_16_units():
    smiling, halfwidth = "\U0001f600", "￮"

    assigned = assign("range", {"t": 2}, members(f"{halfwidth} {smiling}", "t"))

    assert assigned == {smiling: "tp0", halfwidth: "tp1"}


def test_topics_come_in_the_order_of_the_leaders_hash_map():
    assigned = assign("range", {"a": 1, "b": 1, "p": 1}, members("C0", "a b p"))

    assert assigned == {"C0": "pp0 ap0 bp0"}


def test_members_take_first_what_has_a_replica_in_their_rack():
    group = [a_member("C0", "t", rack="b"), a_member("C1", "t", rack="a")]

    assigned = assign("range", {"t": 4}, group, racks={"t": "a a b b"})

    assert assigned == {"C0": "tp2 tp3", "C1": "tp0 tp1"}


def test_racks_give_way_to_the_quotas():
    group = [a_member("C0", "t", rack="a"), a_member("C1", "t", rack="b")]

    assigned = assign("range", {"t": 4}, group, racks={"t": "a a a b"})

    assert assigned == {"C0": "tp0 tp1", "C1": "tp2 tp3"}


def test_racks_make_no_difference_where_every_partition_is_in_all_of_them():
    group = [a_member("C0", "t", rack="b"), a_member("C1", "t", rack="a")]

    assigned = assign("range", {"t": 4}, group, racks={"t": "ab ab ab ab"})

    assert assigned == {"C0": "tp0 tp1", "C1": "tp2 tp3"}


def test_topics_that_are_split_alike_stay_so_when_racks_matter():
    group = [a_member("C0", "t u", rack="b"), a_member("C1", "t u", rack="a")]

    assigned = assign("range", {"t": 2, "u": 2}, group, racks={"t": "a b", "u": "a b"})

    assert assigned == {"C0": "tp1 up1", "C1": "tp0 up0"}


def test_a_number_goes_nowhere_by_rack_unless_all_topics_alike_have_it_there():
    group = [a_member("C0", "t u", rack="b"), a_member("C1", "t u", rack="a")]

    assigned = assign("range", {"t": 2, "u": 2}, group, racks={"t": "a b", "u": "b a"})

    assert assigned == {"C0": "tp0 up0", "C1": "tp1 up1"}
