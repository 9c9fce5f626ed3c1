from __future__ import annotations

import pytest

from client.assignors import (
    Assignment,
    Cluster,
    ConsumerGroupMetadata,
    FunctionAssignor,
    Subscription,
    assignor_names,
    new_assignor,
    register_assignor,
    registry,
)
from client.assignors.custom import SeededDraw, broadcast_assignor, random_assignor
from tests.client.assignors.builders import a_member, assign, members

A_CLUSTER = Cluster(partition_counts={"t": 2})
A_GROUP = {"ada": Subscription(topics=("t",)), "bea": Subscription(topics=("t",))}


def test_a_function_and_a_name_make_an_assignor():
    def all_to_the_first(cluster, group):
        return {min(group): [("t", number) for number in range(cluster.partition_counts["t"])]}

    assignor = FunctionAssignor(name="first", function=all_to_the_first)

    assert assign(assignor, {"t": 3}, members("ada bea", "t")) == {"ada": "tp0 tp1 tp2", "bea": ""}


def test_a_function_may_send_user_data_with_an_assignment():
    def greet(_cluster, group):
        return {member: Assignment(user_data=member.encode()) for member in group}

    assigned = FunctionAssignor(name="greeter", function=greet).assign(A_CLUSTER, A_GROUP)

    assert assigned == {"ada": Assignment(user_data=b"ada"), "bea": Assignment(user_data=b"bea")}


def test_a_function_that_assigns_to_a_stranger_is_refused():
    assignor = FunctionAssignor(name="lost", function=lambda _c, _g: {"eve": [("t", 0)]})

    with pytest.raises(ValueError, match="'lost' assigned to unknown members: \\['eve'\\]"):
        assignor.assign(A_CLUSTER, A_GROUP)


def test_an_assignor_may_tell_its_leader_more_than_topics():
    assignor = FunctionAssignor(
        name="weighted",
        function=lambda _c, _g: {},
        user_data=lambda topics: " ".join(topics).encode(),
    )

    assert assignor.subscription_user_data(["t", "u"]) == b"t u"


def test_a_hook_hears_every_assignment():
    heard = []
    assignor = FunctionAssignor(
        name="listening", function=lambda _c, _g: {}, hook=lambda *said: heard.append(said)
    )
    metadata = ConsumerGroupMetadata(group_id="g", generation_id=3, member_id="ada")

    assignor.on_assignment(Assignment(), metadata)

    assert heard == [(Assignment(), metadata)]


def test_an_assignor_without_user_data_and_hook_needs_neither():
    assignor = broadcast_assignor()

    assignor.on_assignment(Assignment(), ConsumerGroupMetadata(group_id="g"))

    assert assignor.subscription_user_data(["t"]) is None


def test_random_gives_each_partition_to_the_subscriber_that_is_drawn():
    draws = iter([2, 0, 0, 1, 0])
    group = [*members("C0 C1", "t u"), a_member("C2", "t")]

    assigned = assign(random_assignor(lambda _bound: next(draws)), {"t": 3, "u": 2}, group)

    assert assigned == {"C0": "tp1 tp2 up1", "C1": "up0", "C2": "tp0"}


def test_random_draws_among_the_subscribers_of_the_topic_alone():
    group = [*members("C0 C1", "t u"), a_member("C2", "t")]

    assigned = assign(random_assignor(lambda bound: bound - 1), {"t": 1, "u": 2}, group)

    assert assigned == {"C0": "", "C1": "up0 up1", "C2": "tp0"}


def test_random_is_the_same_for_the_same_seed():
    group = members("C0 C1 C2", "t")

    first, second, other = (
        assign(random_assignor(SeededDraw(seed)), {"t": 50}, group) for seed in (7, 7, 8)
    )

    assert first == second
    assert first != other


def test_random_deals_differently_in_the_next_rebalance():
    assignor = random_assignor()
    group = members("C0 C1 C2", "t")

    first, second = (assign(assignor, {"t": 50}, group) for _ in range(2))

    assert first != second


def test_broadcast_gives_every_subscriber_every_partition():
    group = [*members("C0 C1", "t0 t1"), a_member("C2", "t1")]

    assigned = assign("broadcast", {"t0": 2, "t1": 1}, group)

    assert assigned == {"C0": "t0p0 t0p1 t1p0", "C1": "t0p0 t0p1 t1p0", "C2": "t1p0"}


def test_every_consumer_gets_an_assignor_of_its_own():
    assert new_assignor("sticky") is not new_assignor("sticky")


def test_a_name_may_also_be_kafkas_class():
    assignor = new_assignor("org.apache.kafka.clients.consumer.CooperativeStickyAssignor")

    assert assignor.name == "cooperative-sticky"


def test_a_registered_assignor_is_found_by_its_name(monkeypatch):
    monkeypatch.setattr(registry, "_FACTORIES", {**registry._FACTORIES})

    register_assignor("mine", lambda: FunctionAssignor(name="mine", function=lambda _c, _g: {}))

    assert new_assignor("mine").name == "mine"
    assert "mine" in assignor_names()


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="'range' is registered already"):
        register_assignor("range", broadcast_assignor)


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r"must be one of range, roundrobin, .* not 'rnage'"):
        new_assignor("rnage")
