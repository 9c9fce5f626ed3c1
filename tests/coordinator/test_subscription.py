"""What the coordinator reads in a member's metadata, and what it cannot read.

The rows were put to Kafka 4.3.1's own coordinator: a subscription that ends where a number should
stand leaves the topics unknown, any other damage escapes its handling.
"""

from __future__ import annotations

import pytest

from coordinator.errors import InternalFault
from coordinator.subscription import subscription_to, topics_of

WHOLE = subscription_to("t", "uv")
#: Where two topics cut short end in the middle of a name, or where more topics than bytes are left.
FAULTY_CUTS = {6, 7, 8, 11, 12}


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        (WHOLE, ("t", "uv")),
        (WHOLE + b"\x01\x02", ("t", "uv")),
        (b"\x00\x03" + WHOLE[2:] + b"\x00\x00\x00\x00\xff\xff\xff\xff", ("t", "uv")),
        (b"\xff\xff" + WHOLE[2:], ("t", "uv")),
        (subscription_to(), ()),
        (b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", ()),
        (b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xfe", ()),
        (subscription_to(""), ("",)),
        (subscription_to("é"), ("é",)),
        (b"\x00\x00\x00\x00\x00\x01\x00\x02\xc3\x28\xff\xff\xff\xff", ("\ufffd(",)),
    ],
    ids=[
        "a whole one",
        "more bytes than needed",
        "a later version",
        "a version that is not there",
        "no topics",
        "empty user data",
        "user data of negative length",
        "a topic without a name",
        "a name of two bytes",
        "a name that is no text",
    ],
)
def test_topics_are_read_from(metadata, topics):
    assert topics_of(metadata) == topics


@pytest.mark.parametrize("length", sorted(set(range(len(WHOLE))) - FAULTY_CUTS))
def test_topics_are_unknown_when_a_number_is_cut_short_at(length):
    assert topics_of(WHOLE[:length]) is None


@pytest.mark.parametrize("length", sorted(FAULTY_CUTS))
def test_kafka_fails_inside_when_a_name_is_cut_short_at(length):
    with pytest.raises(InternalFault):
        topics_of(WHOLE[:length])


@pytest.mark.parametrize(
    "metadata",
    [
        b"\x00\x00\xff\xff\xff\xff\x00\x00",
        b"\x00\x00\x7f\xff\xff\xff\x00\x00",
        b"\x00\x00\x00\x00\x00\x01\x7f\xff\x00\x00",
        b"\x00\x00\x00\x00\x00\x01\xff\xff\x00\x00\x00\x00",
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05abc",
    ],
    ids=[
        "a negative count of topics",
        "more topics than bytes",
        "a name longer than the rest",
        "a name of negative length",
        "user data longer than the rest",
    ],
)
def test_kafka_fails_inside_at(metadata):
    with pytest.raises(InternalFault):
        topics_of(metadata)
