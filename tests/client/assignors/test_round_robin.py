from __future__ import annotations

from tests.client.assignors.builders import a_member, assign, members


def test_seven_partitions_go_around_three_members():
    assigned = assign("roundrobin", {"t": 7}, members("C0 C1 C2", "t"))

    assert assigned == {"C0": "tp0 tp3 tp6", "C1": "tp1 tp4", "C2": "tp2 tp5"}


def test_seven_partitions_go_around_five_members():
    assigned = assign("roundrobin", {"t": 7}, members("C0 C1 C2 C3 C4", "t"))

    assert assigned == {"C0": "tp0 tp5", "C1": "tp1 tp6", "C2": "tp2", "C3": "tp3", "C4": "tp4"}


def test_the_ring_turns_on_from_a_topic_of_five_partitions_to_one_of_seven():
    # The articles behind this example begin the second topic at C0 again (C0: t2p0 t2p5, C1: t2p1
    # t2p6). Kafka's RoundRobinAssignor does not reset its pointer between topics: it is at C2.
    group = [*members("C0 C1 C2", "t1 t2"), *members("C3 C4", "t2")]

    assigned = assign("roundrobin", {"t1": 5, "t2": 7}, group)

    assert assigned == {
        "C0": "t1p0 t1p3 t2p3",
        "C1": "t1p1 t1p4 t2p4",
        "C2": "t1p2 t2p0 t2p5",
        "C3": "t2p1 t2p6",
        "C4": "t2p2",
    }


def test_two_members_and_two_topics_of_three_partitions_share_evenly():
    assigned = assign("roundrobin", {"t0": 3, "t1": 3}, members("C0 C1", "t0 t1"))

    assert assigned == {"C0": "t0p0 t0p2 t1p1", "C1": "t0p1 t1p0 t1p2"}


def test_nested_subscriptions_leave_the_widest_subscriber_with_four_of_six():
    group = [a_member("C0", "t0"), a_member("C1", "t0 t1"), a_member("C2", "t0 t1 t2")]

    assigned = assign("roundrobin", {"t0": 1, "t1": 2, "t2": 3}, group)

    assert assigned == {"C0": "t0p0", "C1": "t1p0", "C2": "t1p1 t2p0 t2p1 t2p2"}


def test_static_members_come_first_on_the_ring():
    group = [a_member("m-1", "a b"), a_member("m-2", "a b", instance="y"), a_member("m-3", "a")]

    assigned = assign("roundrobin", {"a": 5, "b": 3}, group)

    assert assigned == {"m-2": "ap0 ap3 bp0 bp2", "m-1": "ap1 ap4 bp1", "m-3": "ap2"}


def test_topics_without_metadata_or_partitions_are_left_out():
    assigned = assign("roundrobin", {"t": 1, "empty": 0}, members("C0 C1", "missing empty t"))

    assert assigned == {"C0": "tp0", "C1": ""}
