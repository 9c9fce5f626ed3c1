from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.assignors import (
    Assignment,
    AssignmentError,
    Cluster,
    ConsumerGroupMetadata,
    Subscription,
    new_assignor,
)
from client.assignors.sticky import decode_claim, encode_claim
from client.assignors.sticky_claims import Claim
from tests.client.assignors.builders import a_member, assign, members, partitions_in

FOUR_TOPICS = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
ALL_FOUR = "t0 t1 t2 t3"


def test_three_members_share_four_topics_of_two_partitions_three_three_and_two():
    assigned = assign("sticky", FOUR_TOPICS, members("C0 C1 C2", ALL_FOUR))

    assert assigned == {"C0": "t0p0 t1p1 t3p0", "C1": "t0p1 t2p0 t3p1", "C2": "t1p0 t2p1"}


def test_when_c1_departs_the_others_keep_theirs_and_share_its_three_partitions():
    # The article behind this example gives t2p0 to C0, and t0p1 and t3p1 to C2. Kafka 4.3.1 deals
    # free partitions, by topic, around the members below their quota, beginning with the first.
    survivors = [
        a_member("C0", ALL_FOUR, owned="t0p0 t1p1 t3p0", generation=1),
        a_member("C2", ALL_FOUR, owned="t1p0 t2p1", generation=1),
    ]

    assigned = assign("sticky", FOUR_TOPICS, survivors)

    assert assigned == {"C0": "t0p0 t3p0 t1p1 t0p1", "C2": "t1p0 t2p1 t2p0 t3p1"}


def test_topics_of_two_three_and_four_partitions_go_to_nested_subscribers_two_three_and_four():
    # The article behind this example gives t1p1 to C2. In Kafka 4.3.1 it goes to C1, which with one
    # partition is less loaded than C2 with three.
    group = [a_member("C1", "t1"), a_member("C2", "t1 t2"), a_member("C3", "t1 t2 t3")]

    assigned = assign("sticky", {"t1": 2, "t2": 3, "t3": 4}, group)

    assert assigned == {"C1": "t1p0 t1p1", "C2": "t2p0 t2p1 t2p2", "C3": "t3p0 t3p1 t3p2 t3p3"}


def test_a_departed_members_partition_goes_to_the_least_loaded_subscriber():
    group = [
        a_member("C1", "t0 t1", owned="t1p0 t1p1", generation=1),
        a_member("C2", "t0 t1 t2", owned="t2p0 t2p1 t2p2", generation=1),
    ]

    assigned = assign("sticky", {"t0": 1, "t1": 2, "t2": 3}, group)

    assert assigned == {"C1": "t1p0 t1p1 t0p0", "C2": "t2p0 t2p1 t2p2"}


def test_a_group_lives_through_a_start_a_departure_and_an_arrival():
    topics, both = {"t": 4, "u": 3}, "t u"

    started = assign("sticky", topics, members("C1 C2 C3", both))
    departed = assign(
        "sticky",
        topics,
        [a_member(m, both, owned=started[m], generation=1) for m in ("C1", "C3")],
    )
    arrived = assign(
        "sticky",
        topics,
        [
            *(a_member(m, both, owned=departed[m], generation=2) for m in ("C1", "C3")),
            a_member("C4", both),
        ],
    )

    assert started == {"C1": "tp0 tp3 up2", "C2": "tp1 up0", "C3": "tp2 up1"}
    assert departed == {"C1": "tp0 up2 tp3 up0", "C3": "up1 tp2 tp1"}
    assert arrived == {"C1": "tp0 up0", "C3": "tp1 up1 tp2", "C4": "tp3 up2"}


def test_of_two_members_with_too_much_the_one_earlier_in_the_map_keeps_one_more():
    # C3 comes before C1 in a Java HashMap.
    group = [
        a_member("C1", "t", owned="tp0 tp1 tp2", generation=1),
        a_member("C3", "t", owned="tp3 tp4 tp5", generation=1),
        a_member("C4", "t"),
        a_member("C5", "t"),
        a_member("C6", "t"),
    ]

    assigned = assign("sticky", {"t": 6}, group)

    assert assigned == {"C3": "tp3 tp4", "C4": "tp1", "C5": "tp2", "C6": "tp5", "C1": "tp0"}


def test_claims_to_partitions_that_are_gone_can_leave_nobody_to_take_a_free_one():
    # As Kafka 4.3.1 does: what is gone counts towards a member's quota, but is assigned to nobody.
    group = [
        a_member("C0", "t0 t1", owned="t1p1", generation=2),
        a_member("C1", "t0 t1", owned="t0p1 t0p3", generation=2),
        a_member("C2", "t0 t1", owned="t0p4", generation=2),
        a_member("C3", "t0 t1", owned="t0p0 t0p2", generation=2),
    ]

    with pytest.raises(AssignmentError, match="nobody is left to take a free partition"):
        assign("sticky", {"t0": 2, "t1": 2}, group)


def test_instance_ids_do_not_matter_to_sticky_assignors():
    group = [a_member("m-1", "t"), a_member("m-2", "t", instance="a")]

    assigned = assign("sticky", {"t": 3}, group)

    assert assigned == {"m-1": "tp0 tp2", "m-2": "tp1"}


def test_an_older_claim_that_nobody_contests_is_honoured():
    group = [
        a_member("C1", "t", owned="tp3", generation=2),
        a_member("C2", "t", owned="tp0 tp1", generation=7),
    ]

    assigned = assign("sticky", {"t": 4}, group)

    assert assigned == {"C1": "tp3 tp2", "C2": "tp0 tp1"}


def test_an_older_claim_loses_to_a_newer_one():
    group = [
        a_member("C1", "t", owned="tp0 tp1", generation=2),
        a_member("C2", "t", owned="tp1 tp2", generation=7),
    ]

    assigned = assign("sticky", {"t": 4}, group)

    assert assigned == {"C1": "tp0 tp3", "C2": "tp1 tp2"}


def test_an_earlier_claims_generation_is_read_from_its_subscription():
    # Both claim tp0 in generation 5, but the subscription of C1, which was thrown out, has none.
    group = [
        a_member("C1", "t", owned="tp0", generation=5, subscription_generation=-1),
        a_member("C2", "t", owned="tp0", generation=5),
    ]

    assigned = assign("sticky", {"t": 2}, group)

    assert assigned == {"C1": "tp1", "C2": "tp0"}


def test_two_claims_of_the_same_generation_cancel_each_other():
    group = [
        a_member("C1", "t", owned="tp1", generation=5),
        a_member("C2", "t", owned="tp1", generation=5),
    ]

    assigned = assign("sticky", {"t": 2}, group)

    assert assigned == {"C1": "tp0", "C2": "tp1"}


def test_claims_to_a_topic_made_anew_with_fewer_partitions_make_kafka_throw():
    group = [
        a_member("C1", "t", owned="tp2 tp3", generation=1),
        a_member("C2", "t", owned="tp0 tp1", generation=1),
    ]

    with pytest.raises(AssignmentError, match=r"java\.lang\.IllegalStateException"):
        assign("sticky", {"t": 2}, group)


def test_an_older_claim_may_bring_a_member_a_topic_it_no_longer_subscribes():
    group = [
        a_member("C1", "u v", owned="tp0 tp1", generation=1),
        a_member("C2", "t v", owned="tp0 tp1 tp2 tp3", generation=2),
        a_member("C3", "t v"),
    ]

    assigned = assign("sticky", {"t": 4, "u": 1, "v": 1}, group)

    assert assigned == {"C3": "vp0 tp1", "C1": "up0 tp0", "C2": "tp2 tp3"}


def test_an_older_claim_of_a_member_that_is_settled_makes_kafka_throw():
    group = [
        a_member("C1", "u", owned="tp0", generation=1),
        a_member("C2", "t", owned="tp0 tp1 tp2 tp3", generation=2),
        a_member("C3", "t"),
    ]

    with pytest.raises(AssignmentError, match=r"java\.lang\.NullPointerException"):
        assign("sticky", {"t": 4, "u": 1}, group)


def test_a_leader_that_once_heard_of_a_newer_generation_takes_all_claims_for_older_ones():
    # The group's generation began anew at 1; C2 claims up0 and no longer subscribes u.
    topics = {"t": 1, "u": 1, "v": 1}
    group = [
        a_member("C1", "t u v", owned="vp0", generation=1),
        a_member("C2", "t v", owned="up0", generation=1),
        a_member("C3", "t u v", owned="tp0", generation=1),
    ]
    leader = new_assignor("sticky")
    assign(leader, {"t": 1}, [a_member("C9", "t", owned="tp0", generation=9)])

    assert assign("sticky", topics, group) == {"C3": "tp0", "C1": "up0", "C2": "vp0"}
    assert assign(leader, topics, group) == {"C3": "tp0", "C1": "vp0", "C2": "up0"}


def test_an_empty_subscription_in_front_of_the_map_does_not_make_subscriptions_unequal():
    group = [a_member("C3", ""), *members("C1 C2", "t")]

    assigned = assign("sticky", {"t": 3}, group)

    assert assigned == {"C3": "tp2", "C1": "tp0", "C2": "tp1"}


def test_members_give_up_what_is_far_where_racks_matter():
    group = [
        a_member("C1", "t", owned="tp0 tp1", generation=1, rack="b"),
        a_member("C2", "t", owned="tp2 tp3", generation=1, rack="a"),
    ]

    assigned = assign("sticky", {"t": 4}, group, racks={"t": "a a b b"})

    assert assigned == {"C1": "tp2 tp3", "C2": "tp0 tp1"}


def test_a_new_member_has_no_user_data():
    assert new_assignor("sticky").subscription_user_data(["t"]) is None


def test_user_data_is_the_last_assignment_and_its_generation():
    assignor = new_assignor("sticky")

    assignor.on_assignment(
        Assignment(partitions=partitions_in("tp0 tp3")),
        ConsumerGroupMetadata(group_id="g", generation_id=5),
    )

    assert assignor.subscription_user_data(["t"]) == bytes.fromhex(
        "00000001 0001 74 00000002 00000000 00000003 00000005"
    )


def test_user_data_of_version_0_claims_without_a_generation():
    user_data = bytes.fromhex("00000001 0001 74 00000001 00000002")

    assert decode_claim(user_data) == Claim(partitions=(("t", 2),), generation=-1)


@pytest.mark.parametrize("user_data", [b"", b"\0", b"\xff" * 4, b"\0\0\0\x01\0\x05t"])
def test_user_data_that_cannot_be_read_claims_nothing(user_data):
    assert decode_claim(user_data) == Claim()


def test_topics_of_user_data_are_in_the_order_of_a_map_that_grows_one_key_late():
    # `a` and `q` share a bucket, where a later key comes first; thirteen keys still fit in 16
    # buckets until one of them is looked up again.
    topics = [*"aqbcdefghijkl"]
    once = tuple((topic, 0) for topic in topics)

    small = decode_claim(encode_claim(Claim(partitions=once)))
    grown = decode_claim(encode_claim(Claim(partitions=(*once, ("a", 1)))))

    assert [topic for topic, _ in small.partitions] == [*"qabcdefghijkl"]
    assert [topic for topic, _ in grown.partitions] == [*"aabcdefghijklq"]


def test_a_claim_is_read_by_the_leader_from_user_data_alone():
    subscription = Subscription(
        topics=("t",), owned_partitions=partitions_in("tp1"), generation_id=9
    )
    group = {"C1": subscription, "C2": Subscription(topics=("t",))}

    assigned = new_assignor("sticky").assign(Cluster(partition_counts={"t": 2}), group)

    assert assigned["C1"].partitions == partitions_in("tp0")


@given(
    st.lists(st.tuples(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), st.integers(0, 99))),
    st.integers(-1, 1000),
)
def test_a_claim_survives_its_journey_as_user_data(partitions, generation):
    claim = Claim(partitions=tuple(partitions), generation=generation)

    read = decode_claim(encode_claim(claim))

    assert sorted(read.partitions) == sorted(claim.partitions)
    assert read.generation == generation
