"""What a request's version changes in the answer."""

from __future__ import annotations

import pytest

from coordinator import ClusterView, ErrorCode, Topic
from coordinator.protocol import (
    JoinGroupResponse,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from coordinator.states import PREPARING_REBALANCE
from coordinator.timers import JoinTimer
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
)
from tests.support.verbs import an_offset

T1 = Topic("t", 4, "id-of-t")
T2 = Topic("t", 4, "id-of-the-next-t")
KNOWS_T = ClusterView(topics={"t": T1})


def by_id(topic_id, partition=0, offset=5):
    row = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
    return OffsetCommitRequestTopic(topic_id=topic_id, partitions=(row,))


# --- JoinGroup ---


def test_a_join_of_version_0_waits_as_long_as_its_session():
    broker = a_broker()
    a_joined_group(broker, "ada", rebalance_timeout_ms=7)
    broker.joins(a_client("bea", session_timeout_ms=20_000), api_version=0, rebalance_timeout_ms=9)

    assert broker.state() is PREPARING_REBALANCE
    assert broker.due_ms(JoinTimer("g")) == 20_000


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_client_without_an_id_is_let_in_at_once_in_version(version):
    broker = a_broker()

    call = broker.joins(a_client(), api_version=version)

    assert call.response.generation_id == 1


@pytest.mark.parametrize("version", [4, 5, 6, 7, 8, 9])
def test_a_client_without_an_id_is_given_one_first_from_version(version):
    broker = a_broker()

    call = broker.joins(a_client(), api_version=version)

    assert call.error is ErrorCode.MEMBER_ID_REQUIRED
    assert call.response.member_id.startswith("ada-")


@pytest.mark.parametrize("version", [5, 6, 7, 8, 9])
def test_a_static_client_is_let_in_at_once_in_version(version):
    broker = a_broker()

    call = broker.joins(a_static_client(), api_version=version)

    assert call.response.generation_id == 1


@pytest.mark.parametrize(("version", "nothing"), [(4, ""), (5, ""), (6, ""), (7, None), (9, None)])
def test_a_refused_join_says_that_there_is_no_protocol_in_version(version, nothing):
    broker = a_broker()

    call = broker.joins(a_client(member_id="stray"), api_version=version)

    assert call.response == JoinGroupResponse(
        error_code=ErrorCode.UNKNOWN_MEMBER_ID, member_id="stray", protocol_name=nothing
    )


def without_a_group_id(broker, version):
    return broker.joins(a_client(group_id=""), api_version=version)


def with_a_bad_session_timeout(broker, version):
    return broker.joins(a_client(), session_timeout_ms=0, api_version=version)


def without_the_shard(broker, version):
    broker.loses_its_shard()
    return broker.joins(a_client(), api_version=version)


def while_the_shard_loads(broker, version):
    broker.loses_its_shard()
    broker.begins_to_load()
    return broker.joins(a_client(), api_version=version)


def while_the_broker_stops(broker, version):
    broker.machine.stop()
    return broker.joins(a_client(), api_version=version)


@pytest.mark.parametrize(("version", "nothing"), [(6, ""), (7, None)])
@pytest.mark.parametrize(
    "refuse",
    [
        without_a_group_id,
        with_a_bad_session_timeout,
        without_the_shard,
        while_the_shard_loads,
        while_the_broker_stops,
    ],
)
def test_a_join_that_no_group_has_seen_says_that_there_is_no_protocol(refuse, version, nothing):
    broker = a_broker()

    call = refuse(broker, version)

    assert call.error is not ErrorCode.NONE
    assert call.response.protocol_name == nothing


@pytest.mark.parametrize(("version", "skips"), [(5, False), (8, False), (9, True)])
def test_a_static_leader_that_returns_skips_the_assignment_in_version(version, skips):
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada"))

    call = broker.joins(ada.restarted(), api_version=version)

    assert call.response.skip_assignment is skips
    assert len(call.response.members) == int(skips)


# --- SyncGroup ---


def test_a_sync_of_version_5_names_its_protocol():
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")

    call = broker.syncs(ada, {}, api_version=5, protocol_type="consumer", protocol_name="range")

    assert call.error is ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 3, 4])
def test_a_sync_need_not_name_its_protocol_in_version(version):
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")

    call = broker.syncs(ada, {}, api_version=version)

    assert (call.response.protocol_type, call.response.protocol_name) == ("consumer", "range")


# --- LeaveGroup ---


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_single_leave_is_answered_on_top_in_version(version):
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")

    call = broker.removes(MemberIdentity(member_id=ada.member_id), api_version=version)

    assert call.response == LeaveGroupResponse()
    assert ada.member_id not in broker.members()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_single_leave_of_a_stranger_is_refused_on_top_in_version(version):
    broker = a_broker()
    a_stable_group(broker, "ada")

    call = broker.removes(MemberIdentity(member_id="stranger"), api_version=version)

    assert call.response == LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_batch_is_answered_in_rows_from_version(version):
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")

    call = broker.removes(
        MemberIdentity(member_id=ada.member_id),
        MemberIdentity(member_id="stranger"),
        api_version=version,
    )

    assert call.response == LeaveGroupResponse(
        members=(
            MemberResponse(member_id=ada.member_id, group_instance_id=None),
            MemberResponse(
                member_id="stranger",
                group_instance_id=None,
                error_code=ErrorCode.UNKNOWN_MEMBER_ID,
            ),
        )
    )


# --- OffsetCommit ---


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (2, ErrorCode.ILLEGAL_GENERATION),
        (8, ErrorCode.ILLEGAL_GENERATION),
        (9, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_commit_with_a_generation_finds_no_group_in_version(version, error):
    broker = a_broker()

    call = broker.commits(a_client(member_id="me", generation_id=1), api_version=version)

    assert call.errors == [error]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_commit_may_bring_its_own_retention_in_version(version):
    broker = a_broker(offsets_retention_check_interval_ms=1_000)
    broker.commits(None, api_version=version, retention_time_ms=5_000)
    broker.advances(4_999)
    before = broker.offsets()

    broker.advances("1s")

    assert before == {("t", 0): 5}
    assert broker.offsets() == {}


def test_a_commit_by_topic_id_is_answered_by_topic_id():
    broker = a_broker(view=KNOWS_T)

    call = broker.commits(None, by_id("id-of-t"), api_version=10)

    row = OffsetCommitResponsePartition(partition_index=0)
    topic = OffsetCommitResponseTopic(name="t", topic_id="id-of-t", partitions=(row,))
    assert call.response.topics == (topic,)
    assert broker.offsets() == {("t", 0): 5}


def test_a_commit_by_an_unknown_topic_id_is_refused_by_the_router():
    broker = a_broker(view=KNOWS_T)

    call = broker.commits(None, by_id("id-of-nothing"), api_version=10)

    assert call.errors == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert broker.find_group() is None


def test_a_commit_by_name_is_kept_under_the_topics_id():
    broker = a_broker(view=KNOWS_T)

    broker.commits(None, an_offset("t"), api_version=9)

    (stored,) = broker.machine.slots[0].shard.offsets["g"].values()  # type: ignore[union-attr]
    assert stored.topic_id == "id-of-t"


# --- OffsetFetch ---


def fetched(broker, version, topics=None, group_id="g"):
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    return broker.asks(OffsetFetchRequest(groups=(group,), api_version=version)).response


def test_an_error_of_a_fetch_is_copied_into_each_partition_in_version_1():
    broker = a_broker()
    broker.loses_its_shard()
    topics = (OffsetFetchRequestTopic(name="t", partition_indexes=(0, 1)),)

    response = fetched(broker, 1, topics)

    assert response.error_code is ErrorCode.NONE
    assert [row.error_code for row in response.groups[0].topics[0].partitions] == [
        ErrorCode.NOT_COORDINATOR
    ] * 2


@pytest.mark.parametrize("version", [2, 7])
def test_an_error_of_a_fetch_stands_on_top_in_version(version):
    broker = a_broker()
    broker.loses_its_shard()

    response = fetched(broker, version)

    assert response.error_code is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("version", [8, 9])
def test_an_error_of_a_fetch_stands_with_its_group_from_version(version):
    broker = a_broker()
    broker.loses_its_shard()

    response = fetched(broker, version)

    assert response.error_code is ErrorCode.NONE
    assert response.groups == (
        OffsetFetchResponseGroup(group_id="g", error_code=ErrorCode.NOT_COORDINATOR),
    )


def test_a_fetch_may_ask_for_many_groups_from_version_8():
    broker = a_broker(offsets_topic_num_partitions=2)
    broker.commits(None, group_id="a")
    groups = tuple(OffsetFetchRequestGroup(group_id=name) for name in ("absent", "a", None))

    call = broker.asks(OffsetFetchRequest(groups=groups, api_version=8))

    assert [group.group_id for group in call.response.groups] == ["absent", "a", None]
    assert [group.error_code for group in call.response.groups] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.INVALID_GROUP_ID,
    ]
    assert len(call.response.groups[1].topics) == 1


def test_a_fetch_by_topic_id_finds_what_was_committed_by_name():
    broker = a_broker(view=KNOWS_T)
    broker.commits(None, an_offset("t", 0, 9))
    topics = (OffsetFetchRequestTopic(topic_id="id-of-t", partition_indexes=(0,)),)

    response = fetched(broker, 10, topics)

    row = OffsetFetchResponsePartition(partition_index=0, committed_offset=9)
    assert response.groups[0].topics == (
        OffsetFetchResponseTopic(name="t", topic_id="id-of-t", partitions=(row,)),
    )


def test_a_fetch_by_an_unknown_topic_id_says_so_in_each_partition():
    broker = a_broker(view=KNOWS_T)
    topics = (OffsetFetchRequestTopic(topic_id="id-of-nothing", partition_indexes=(0, 1)),)

    response = fetched(broker, 10, topics)

    assert [row.error_code for row in response.groups[0].topics[0].partitions] == [
        ErrorCode.UNKNOWN_TOPIC_ID
    ] * 2


def test_an_offset_of_a_topic_that_was_made_anew_counts_as_missing():
    broker = a_broker(view=KNOWS_T)
    broker.commits(None, an_offset("t"))
    broker.machine.view = ClusterView(topics={"t": T2})
    topics = (OffsetFetchRequestTopic(topic_id="id-of-the-next-t", partition_indexes=(0,)),)

    response = fetched(broker, 10, topics)

    assert response.groups[0].topics[0].partitions == (
        OffsetFetchResponsePartition(partition_index=0),
    )


def test_an_offset_without_a_topic_id_belongs_to_any_topic_of_its_name():
    broker = a_broker()
    broker.commits(None, an_offset("t"))
    broker.machine.view = KNOWS_T
    topics = (OffsetFetchRequestTopic(topic_id="id-of-t", partition_indexes=(0,)),)

    response = fetched(broker, 10, topics)

    assert response.groups[0].topics[0].partitions[0].committed_offset == 5


def test_a_fetch_of_everything_by_topic_id_leaves_out_topics_that_are_gone():
    broker = a_broker()
    broker.commits(None, an_offset("t"), an_offset("gone"))
    broker.machine.view = KNOWS_T

    response = fetched(broker, 10)

    assert [topic.topic_id for topic in response.groups[0].topics] == ["id-of-t"]


# --- DescribeGroups ---


@pytest.mark.parametrize("version", [0, 5])
def test_an_absent_group_is_no_error_in_version(version):
    broker = a_broker()

    described = broker.describes("absent", version)

    assert (described.group_state, described.error_code) == ("Dead", ErrorCode.NONE)
    assert described.error_message is None


def test_an_absent_group_is_an_error_with_a_message_from_version_6():
    broker = a_broker()

    described = broker.describes("absent", 6)

    assert (described.group_state, described.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert described.error_message == "Group absent not found."


def test_a_group_that_is_there_is_described_alike_in_all_versions():
    broker = a_broker()
    an_empty_group(broker)

    assert len({broker.describes("g", version) for version in range(7)}) == 1
