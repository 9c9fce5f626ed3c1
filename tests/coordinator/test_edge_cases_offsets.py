"""Offsets and administration where they surprise.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ClusterView, ErrorCode, Topic
from coordinator.protocol import (
    DescribedGroup,
    OffsetCommitRequestTopic,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from coordinator.states import EMPTY, STABLE
from coordinator.subscription import subscription_to
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    an_empty_group,
    some_protocols,
)
from tests.support.verbs import an_offset


# 56
def test_a_commit_of_nobody_is_unknown_to_a_group_with_members():
    broker = a_broker()
    a_stable_group(broker, "ada")

    call = broker.commits(None)

    assert call.errors == [ErrorCode.UNKNOWN_MEMBER_ID]


# 56
def test_a_commit_of_a_member_without_a_generation_is_illegal():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")

    call = broker.commits(ada, generation_id=-1)

    assert call.errors == [ErrorCode.ILLEGAL_GENERATION]


# 57
def test_a_commit_with_a_generation_is_unknown_to_an_empty_group_though_the_number_fits():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.commits(None, member_id="last", generation_id=2)

    assert broker.group().generation_id == 2
    assert call.errors == [ErrorCode.UNKNOWN_MEMBER_ID]


# 57, the other way round
def test_an_empty_group_takes_a_commit_without_a_generation_from_anybody():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.commits(None, member_id="whoever", group_instance_id="whatever")

    assert call.errors == [ErrorCode.NONE]


# 58
def test_a_commit_of_the_current_generation_is_taken_while_joins_are_gathered():
    broker = a_broker()
    _, bea = a_preparing_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.advances("6s")

    call = broker.commits(bea)

    assert call.errors == [ErrorCode.NONE]
    assert broker.session_ends_ms(bea) == 16_000


# 58
@pytest.mark.parametrize(
    ("generation_id", "error"),
    [(2, ErrorCode.REBALANCE_IN_PROGRESS), (1, ErrorCode.ILLEGAL_GENERATION)],
    ids=["new", "old"],
)
def test_no_commit_is_taken_between_join_and_sync(generation_id, error):
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    for each in (ada, bea):
        broker.joins(each)

    call = broker.commits(bea, generation_id=generation_id)

    assert call.errors == [error]


# 59
def test_a_commit_that_names_only_unknown_topics_does_not_reach_the_coordinator():
    broker = a_broker(view=ClusterView(topics={"t": Topic("t", 1)}))

    call = broker.commits(a_client(member_id="nobody", generation_id=9), an_offset("unknown"))

    assert call.errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert broker.find_group() is None


# 59
def test_a_commit_that_names_only_unknown_topics_does_not_prolong_a_session():
    broker = a_broker(view=ClusterView(topics={"t": Topic("t", 1)}))
    (ada,) = a_stable_group(broker, "ada")
    broker.advances("5s")

    broker.commits(ada, an_offset("unknown"))

    assert broker.session_ends_ms(ada) == 45_000


# 59
def test_a_commit_without_topics_does_not_reach_the_coordinator():
    broker = a_broker()

    call = broker.commits(None, topics=())

    assert call.response.topics == ()
    assert broker.find_group() is None


# 59
def test_what_is_known_of_a_commit_is_taken_and_the_rest_refused():
    broker = a_broker(view=ClusterView(topics={"t": Topic("t", 1)}))

    call = broker.commits(None, an_offset("t", 0), an_offset("t", 1), an_offset("u"))

    by_place = {
        (topic.name, row.partition_index): row.error_code
        for topic in call.response.topics
        for row in topic.partitions
    }
    assert by_place == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("u", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


# 60
@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("x" * 10, ErrorCode.NONE),
        ("x" * 11, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("é" * 10, ErrorCode.NONE),  # twenty bytes in UTF-8, but ten characters of Java
        ("😀" * 5, ErrorCode.NONE),  # ten characters of Java, but five of Python
        ("😀" * 5 + "x", ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
    ids=["ten", "eleven", "ten of two bytes", "five pairs", "five pairs and one"],
)
def test_the_limit_of_an_offsets_metadata_counts_javas_characters(metadata, error):
    broker = a_broker(offset_metadata_max_bytes=10)

    call = broker.commits(None, an_offset(metadata=metadata))

    assert call.errors == [error]


# 60
def test_one_partition_with_too_much_metadata_does_not_spoil_the_others():
    broker = a_broker(offset_metadata_max_bytes=10)

    call = broker.commits(None, an_offset("t", 0, 7, "x" * 11), an_offset("t", 1, 8))

    assert call.errors == [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE]
    assert broker.offsets() == {("t", 1): 8}


# 61
def test_an_empty_group_id_works_for_offsets_and_administration():
    broker = a_broker()

    committed = broker.commits(None, group_id="")

    assert committed.errors == [ErrorCode.NONE]
    assert broker.offsets("") == {("t", 0): 5}
    assert broker.describes("").group_state == "Empty"
    assert broker.deletes("").errors == [ErrorCode.NONE]


# 61
@pytest.mark.parametrize("verb", ["joins", "syncs", "beats", "leaves"])
@pytest.mark.parametrize("group_id", ["", None])
def test_a_membership_request_needs_a_group_id(verb, group_id):
    broker = a_broker()

    call = getattr(broker, verb)(a_client(group_id=group_id, member_id="ada"))

    assert call.error is ErrorCode.INVALID_GROUP_ID


# 61
@pytest.mark.parametrize("group_id", ["", None])
def test_offsets_are_not_deleted_without_a_group_id(group_id):
    broker = a_broker()

    call = broker.deletes_offsets(group_id)

    assert call.error is ErrorCode.INVALID_GROUP_ID


# 62
def test_a_fetch_from_an_absent_group_finds_nothing_and_no_fault():
    broker = a_broker()

    call = broker.fetches("absent", ("t", 3))

    nothing = OffsetFetchResponsePartition(
        partition_index=3, committed_offset=-1, committed_leader_epoch=-1, metadata=""
    )
    topic = OffsetFetchResponseTopic(name="t", partitions=(nothing,))
    assert call.response.groups == (OffsetFetchResponseGroup(group_id="absent", topics=(topic,)),)


# 62
def test_a_fetch_of_everything_from_an_absent_group_is_an_empty_list():
    broker = a_broker()

    call = broker.fetches("absent")

    assert call.response.groups == (OffsetFetchResponseGroup(group_id="absent"),)


# 62
@pytest.mark.parametrize(
    ("version", "error"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_an_absent_group_is_described_as_dead_in_version(version, error):
    broker = a_broker()

    described = broker.describes("absent", version)

    message = "Group absent not found." if version == 6 else None
    assert described == DescribedGroup(
        group_id="absent", group_state="Dead", error_code=error, error_message=message
    )


# 63
def test_an_empty_group_without_offsets_is_gone_at_the_next_check_however_young():
    broker = a_broker()
    broker.advances(599_000)
    an_empty_group(broker)

    broker.advances("1s")

    assert broker.find_group() is None


# 63
def test_a_group_that_vanished_begins_again_at_generation_zero():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.leaves(ada)
    broker.advances("10min")

    beat = broker.beats(ada)
    joined = broker.enters(ada.restarted())

    assert beat.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert joined.response.generation_id == 1


# 64
def test_offsets_of_a_topic_nobody_subscribes_to_expire_in_an_active_consumer_group():
    broker = a_broker(offsets_retention_minutes=10)
    (ada,) = a_stable_group(broker, "ada", session_timeout_ms=1_800_000)
    broker.commits(ada, an_offset("t"), an_offset("left over"))

    broker.advances("20min")

    assert broker.offsets() == {("t", 0): 5}


# 64
def test_offsets_of_another_protocol_type_never_expire_while_there_are_members():
    broker = a_broker(offsets_retention_minutes=10)
    (ada,) = a_stable_group(broker, "ada", session_timeout_ms=1_800_000, protocol_type="connect")
    broker.commits(ada, an_offset("anything"))

    broker.advances("20min")

    assert broker.offsets() == {("anything", 0): 5}


# 65
def test_no_offset_of_an_active_group_of_another_type_may_be_deleted():
    broker = a_broker()
    a_stable_group(broker, "ada", protocol_type="connect")

    call = broker.deletes_offsets("g", ("t", 0))

    assert call.error is ErrorCode.NON_EMPTY_GROUP
    assert call.response.topics == ()


# 65
def test_an_active_consumer_groups_offset_may_be_deleted_if_nobody_subscribes_to_its_topic():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.commits(ada, an_offset("t"), an_offset("left over"))

    call = broker.deletes_offsets("g", ("left over", 0), ("t", 0))

    assert call.errors == [ErrorCode.NONE, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    assert broker.offsets() == {("t", 0): 5}


# 66
def test_an_empty_group_is_deleted_in_spite_of_handed_out_ids():
    broker = a_broker()
    pending = a_client("ada")
    broker.joins(pending)

    deleted = broker.deletes("g")

    assert deleted.errors == [ErrorCode.NONE]
    assert broker.joins(pending).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_with_members_is_not_deleted():
    broker = a_broker()
    a_joined_group(broker, "ada")

    call = broker.deletes("g", "absent")

    assert call.errors == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_fresh_commit_to_a_group_that_was_empty_for_long_expires_at_the_next_check():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.commits(ada)
    broker.leaves(ada)
    broker.advances(7 * 86_400_000 - 1)
    broker.commits(None, an_offset("t", 0, 99))

    broker.advances("10min")

    assert broker.find_group() is None


def test_in_its_first_rebalance_a_consumer_group_counts_as_subscribed_to_everything():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    broker.enters(a_client("ada"))

    call = broker.deletes_offsets("g", ("anything", 0))

    assert call.errors == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]


def test_deleting_an_offset_that_is_not_there_is_fine():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.deletes_offsets("g", ("t", 0))

    assert call.errors == [ErrorCode.NONE]
    assert broker.state() is EMPTY


def test_an_offset_may_be_negative():
    broker = a_broker()

    call = broker.commits(None, an_offset(offset=-42))

    assert call.errors == [ErrorCode.NONE]
    assert broker.offsets() == {("t", 0): -42}


def test_a_commit_of_too_much_metadata_makes_a_group_in_memory_only():
    broker = a_broker(offset_metadata_max_bytes=0)

    call = broker.commits(None, an_offset(metadata="x"))

    assert call.errors == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert broker.written == []
    assert broker.state() is EMPTY


def test_a_member_subscribed_to_two_topics_keeps_both():
    broker = a_broker()
    both = some_protocols("range", metadata=subscription_to("t", "u"))
    (ada,) = a_stable_group(broker, "ada", protocols=both)
    broker.commits(ada, an_offset("t"), an_offset("u"))

    call = broker.deletes_offsets("g", ("t", 0), ("u", 0))

    assert call.errors == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC] * 2
    assert broker.state() is STABLE


def test_a_commit_may_name_a_topic_without_partitions():
    broker = a_broker()

    call = broker.commits(None, OffsetCommitRequestTopic(name="t"))

    assert [topic.partitions for topic in call.response.topics] == [()]
