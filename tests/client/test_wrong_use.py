"""Mistakes of an application: refused by name, as early as they can be seen."""

from __future__ import annotations

import pytest

from client.errors import TimeoutException
from client.messages import ListOffsetsPartitionResponse, ListOffsetsResponse
from client.partitions import TopicPartition
from client.positions import FoundOffset
from client.settings import consumer_config
from tests.client.talk import BY_HAND, Talk

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def ended(talk, coroutine):
    """What a coroutine of an application raised, or None."""
    caught: list[Exception] = []

    async def application():
        try:
            await coroutine
        except Exception as error:  # noqa: BLE001 (a test looks at what it is)
            caught.append(error)

    talk._take(talk.consumer.start(application(), talk.now_ms))
    return caught[0] if caught else None


@pytest.mark.parametrize("what", ["poll", "commit_sync", "position"])
def test_a_negative_time_limit_is_refused(what):
    talk = Talk(settings=BY_HAND).joins()
    args = {"partition": "t-0"} if what == "position" else {}

    assert talk.call(what, timeout_ms=-1, **args) == "IllegalArgumentException"


def test_one_text_is_no_list_of_topics():
    with pytest.raises(TypeError, match="not the one text 'orders'"):
        Talk(settings=BY_HAND).consumer.calls.subscribe("orders")


def test_a_pattern_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"pattern '\(' cannot be read"):
        Talk(settings=BY_HAND).consumer.calls.subscribe_pattern("(")


def test_offsets_to_commit_are_values_and_not_bare_numbers():
    talk = Talk(settings=BY_HAND).joins()

    error = ended(talk, talk.consumer.calls.commit_sync({T0: 2}))  # type: ignore[dict-item]

    assert isinstance(error, TypeError)
    assert str(error) == "offsets must be OffsetAndMetadata values, not 2"


def test_an_unknown_way_to_close_is_refused():
    talk = Talk(settings=BY_HAND)

    error = ended(talk, talk.consumer.calls.close(operation="banana"))

    assert str(error) == (
        "operation must be one of DEFAULT, LEAVE_GROUP, REMAIN_IN_GROUP, not 'banana'"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("auto.offset.reset", None),
        ("group.id", 5),
        ("client.id", None),
        ("partition.assignment.strategy", None),
        ("session.timeout.ms", 3_000_000_000),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused_by_its_name(name, value):
    with pytest.raises(ValueError, match=name.replace(".", "_")):
        consumer_config({"group.id": "g", name: value})


def test_a_setting_that_is_a_long_in_kafka_may_be_longer_than_an_int():
    config = consumer_config({"group.id": "g", "metadata.max.age.ms": 3_000_000_000})

    assert config.metadata_max_age_ms == 3_000_000_000


# --- offsets by time ---


def asked_for_times(talk):
    """Ask from which offset on records are of these times; the answers, once there are any."""
    answers: list[object] = []

    async def application():
        try:
            asked = {T0: 1_000, T1: 2_000}
            answers.append(await talk.consumer.calls.offsets_for_times(asked, timeout_ms=5_000))
        except TimeoutException as error:
            answers.append(type(error).__name__)

    talk._take(talk.consumer.start(application(), talk.now_ms))
    return answers


def test_offsets_for_times_are_found_or_not_partition_by_partition():
    talk = Talk(settings=BY_HAND).joins()
    talk.held.add("ListOffsets")
    answers = asked_for_times(talk)
    talk.advance(500)  # the fetch before it on that connection is answered

    talk.reply_with(
        "ListOffsets",
        ListOffsetsResponse(
            partitions=(
                ListOffsetsPartitionResponse(
                    topic="t", partition_index=0, offset=7, timestamp=1_004
                ),
                ListOffsetsPartitionResponse(topic="t", partition_index=1),
            )
        ),
    )
    talk.advance(10)

    assert answers == [{T0: FoundOffset(7, 1_004, None), T1: None}]


def test_offsets_for_times_that_nobody_tells_time_out():
    talk = Talk(settings=BY_HAND).joins()
    talk.held.add("ListOffsets")
    answers = asked_for_times(talk)

    talk.advance(5_000)

    assert answers == ["TimeoutException"]
