"""The bytes were written by Kafka 4.3.1's own `ConsumerProtocol`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.assignors import Assignment, Subscription
from client.consumer_protocol import (
    SchemaError,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

A_SUBSCRIPTION = Subscription(
    topics=("u", "t"),
    owned_partitions=(("u", 1), ("t", 2), ("t", 0)),
    user_data=b"\x07",
    generation_id=5,
    rack_id="r1",
)

names = st.text(max_size=20)
partitions = st.lists(st.tuples(names, st.integers(0, 2**31 - 1)), unique=True).map(tuple)
user_data = st.none() | st.binary(max_size=20)
subscriptions = st.builds(
    Subscription,
    topics=st.lists(names, unique=True).map(tuple),
    owned_partitions=partitions,
    user_data=user_data,
    generation_id=st.integers(-1, 2**31 - 1),
    rack_id=st.none() | st.text(min_size=1, max_size=9),
)
assignments = st.builds(Assignment, partitions=partitions, user_data=user_data)


TOPICS_AND_USER_DATA = "00000002 000174 000175 00000001 07"
OWNED = "00000002 000174 00000002 00000000 00000002 000175 00000001 00000001"


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (0, [TOPICS_AND_USER_DATA]),
        (1, [TOPICS_AND_USER_DATA, OWNED]),
        (2, [TOPICS_AND_USER_DATA, OWNED, "00000005"]),
        (3, [TOPICS_AND_USER_DATA, OWNED, "00000005", "0002 7231"]),
    ],
)
def test_a_subscription_is_written_as_kafka_writes_version(version, fields):
    expected = bytes.fromhex(f"{version:04x}" + "".join(fields))

    assert encode_subscription(A_SUBSCRIPTION, version) == expected


def test_a_subscription_without_anything_optional_is_written_in_version_3():
    assert encode_subscription(Subscription(topics=("t",))) == bytes.fromhex(
        "0003 00000001 000174 ffffffff 00000000 ffffffff ffff"
    )


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_is_written_alike_in_version(version):
    assignment = Assignment(partitions=(("u", 1), ("t", 2), ("u", 0)), user_data=b"\x07")

    assert encode_assignment(assignment, version) == bytes.fromhex(
        f"{version:04x} 00000002 000175 00000002 00000001 00000000 000174 00000001 00000002"
        "00000001 07"
    )


def test_an_old_subscription_owns_nothing_and_has_no_generation_or_rack():
    read = decode_subscription(encode_subscription(A_SUBSCRIPTION, 0))

    assert read == Subscription(topics=("t", "u"), user_data=b"\x07")


def test_a_newer_version_is_read_as_the_newest_that_is_known():
    data = encode_subscription(A_SUBSCRIPTION)

    assert decode_subscription(b"\0\x09" + data[2:] + b"more") == decode_subscription(data)


def test_an_empty_rack_means_none():
    data = encode_subscription(Subscription(topics=("t",), rack_id=""))

    assert decode_subscription(data).rack_id is None


def test_the_leader_adds_the_instance_id_that_the_reply_told():
    data = encode_subscription(Subscription(topics=("t",)))

    assert decode_subscription(data, "i1") == Subscription(topics=("t",), group_instance_id="i1")


@pytest.mark.parametrize("read", [decode_subscription, decode_assignment])
@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\xff\xff", b"\0\x03\0\0", b"\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\x01\0\x09t"],
    ids=["empty", "half a version", "version -1", "half a count", "null array", "short name"],
)
def test_bytes_that_are_no_message_are_refused(read, data):
    with pytest.raises(SchemaError):
        read(data)


@given(subscriptions)
def test_a_subscription_survives_its_journey_with_topics_and_partitions_sorted(subscription):
    read = decode_subscription(encode_subscription(subscription))

    assert sorted(read.topics) == sorted(subscription.topics)
    assert sorted(read.owned_partitions) == sorted(subscription.owned_partitions)
    assert (read.user_data, read.generation_id, read.rack_id) == (
        subscription.user_data,
        subscription.generation_id,
        subscription.rack_id,
    )
    assert encode_subscription(read) == encode_subscription(subscription)


@given(assignments)
def test_an_assignment_survives_its_journey_with_each_topics_partitions_together(assignment):
    read = decode_assignment(encode_assignment(assignment))

    assert sorted(read.partitions) == sorted(assignment.partitions)
    assert read.user_data == assignment.user_data
    assert encode_assignment(read) == encode_assignment(assignment)
