from __future__ import annotations

import pytest

from client.assignors import (
    Assignment,
    Cluster,
    ConsumerGroupMetadata,
    RebalanceProtocol,
    Subscription,
    new_assignor,
)
from tests.client.assignors.builders import a_member, assign, members, partitions_in


def test_a_partition_that_moves_is_withheld_for_one_round_and_given_in_the_next():
    owners = [("C1", "tp0 tp1"), ("C2", "tp2 tp3")]
    group = [a_member(m, "t", owned=owned, generation=4) for m, owned in owners]

    first = assign("cooperative-sticky", {"t": 4}, [*group, a_member("C3", "t")])
    second = assign(
        "cooperative-sticky",
        {"t": 4},
        [a_member(m, "t", owned=first[m], generation=5) for m in ("C1", "C2", "C3")],
    )

    assert first == {"C3": "", "C1": "tp0 tp1", "C2": "tp2"}
    assert second == {"C3": "tp3", "C1": "tp0 tp1", "C2": "tp2"}


def test_what_a_departed_member_had_is_given_in_one_round():
    group = [
        a_member("C1", "t", owned="tp0 tp1", generation=4),
        a_member("C3", "t", owned="tp4 tp5", generation=4),
    ]

    assigned = assign("cooperative-sticky", {"t": 6}, group)

    assert assigned == {"C3": "tp4 tp5 tp3", "C1": "tp0 tp1 tp2"}


def test_a_claim_of_two_members_of_one_generation_is_withheld_from_both():
    group = [
        a_member("C1", "t", owned="tp0 tp1", generation=4),
        a_member("C2", "t", owned="tp1 tp2", generation=5),
        a_member("C3", "t", owned="tp2 tp3", generation=5),
    ]

    assigned = assign("cooperative-sticky", {"t": 6}, group)

    assert assigned == {"C3": "tp3 tp5", "C1": "tp0", "C2": "tp1 tp4"}


def test_with_unequal_subscriptions_too_what_moves_is_withheld():
    group = [
        a_member("A", "x y", owned="xp0 xp1 xp2 xp3 yp0 yp1", generation=3),
        a_member("B", "x"),
    ]

    first = assign("cooperative-sticky", {"x": 4, "y": 2}, group)
    second = assign(
        "cooperative-sticky",
        {"x": 4, "y": 2},
        [a_member("A", "x y", owned=first["A"], generation=4), a_member("B", "x", generation=4)],
    )

    assert first == {"A": "xp3 yp0 yp1", "B": ""}
    assert second == {"A": "xp3 yp0 yp1", "B": "xp0 xp1 xp2"}


def test_members_that_gave_up_everything_are_assigned_afresh_by_member_id():
    # So it goes when the client runs the eager protocol, as with Kafka's default list.
    group = [a_member(m, "t", owned="", generation=4) for m in ("C2", "C1")]

    assigned = assign("cooperative-sticky", {"t": 4}, group)

    assert assigned == {"C1": "tp0 tp2", "C2": "tp1 tp3"}


def test_a_new_member_reports_the_generation_minus_one():
    assert new_assignor("cooperative-sticky").subscription_user_data(["t"]) == b"\xff\xff\xff\xff"


def test_user_data_is_the_generation_of_the_last_assignment():
    assignor = new_assignor("cooperative-sticky")

    assignor.on_assignment(Assignment(), ConsumerGroupMetadata(group_id="g", generation_id=258))

    assert assignor.subscription_user_data(["t"]) == b"\0\0\x01\x02"


@pytest.mark.parametrize(
    ("user_data", "keeper"),
    [(b"\0\0\0\x06", "C1"), (b"\0\0\0\x04", "C3"), (b"\0\0", "C3"), (None, "C3")],
    ids=["newer", "older", "unreadable", "none"],
)
def test_a_subscription_without_a_generation_takes_it_from_user_data(user_data, keeper):
    # C3 comes first in the map, so C1's claim is the one that is weighed.
    group = {
        "C3": Subscription(topics=("t",), owned_partitions=partitions_in("tp0"), generation_id=5),
        "C1": Subscription(
            topics=("t",), owned_partitions=partitions_in("tp0"), user_data=user_data
        ),
    }

    assigned = new_assignor("cooperative-sticky").assign(Cluster(partition_counts={"t": 2}), group)

    assert assigned[keeper].partitions == partitions_in("tp0")


def test_it_speaks_both_protocols_and_prefers_the_cooperative_one():
    assert new_assignor("cooperative-sticky").supported_protocols == (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )


def test_a_fresh_group_is_complete_at_once():
    assigned = assign("cooperative-sticky", {"t": 3}, members("C1 C2", "t"))

    assert assigned == {"C1": "tp0 tp2", "C2": "tp1"}
