"""What the broker's router and service decide before, and put together after, a shard is asked."""

from __future__ import annotations

import pytest

from coordinator import ClusterView, ErrorCode, Topic
from coordinator.protocol import (
    DeleteGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    SyncGroupRequest,
)
from tests.support.builders import a_broker, a_stable_group, an_empty_group

VIEW = ClusterView(topics={"orders": Topic("orders", 2, "id-orders")})


def a_commit(*partitions, topic="orders", group_id="g"):
    rows = tuple(
        OffsetCommitRequestPartition(partition_index=each, committed_offset=7)
        for each in partitions
    )
    topics = (OffsetCommitRequestTopic(name=topic, partitions=rows),)
    return OffsetCommitRequest(group_id=group_id, api_version=9, topics=topics)


def errors_by_partition(response):
    return [
        [(row.partition_index, row.error_code) for row in topic.partitions]
        for topic in response.topics
    ]


def test_a_topics_known_and_unknown_partitions_are_answered_in_one_entry():
    broker = a_broker()
    broker.machine.view = VIEW

    response = broker.asks(a_commit(0, 5, 1)).response

    assert errors_by_partition(response) == [
        [
            (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (0, ErrorCode.NONE),
            (1, ErrorCode.NONE),
        ]
    ]


def test_without_a_group_id_only_what_the_router_let_through_is_refused_for_it():
    broker = a_broker()
    broker.machine.view = VIEW

    response = broker.asks(a_commit(0, 5, group_id=None)).response

    assert errors_by_partition(response) == [
        [(5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (0, ErrorCode.INVALID_GROUP_ID)]
    ]


def an_offset_delete(*partitions, topic="orders", group_id="g"):
    topics = (OffsetDeleteRequestTopic(name=topic, partitions=partitions),)
    return OffsetDeleteRequest(group_id=group_id, topics=topics)


def test_deleting_offsets_of_partitions_that_are_not_there_is_refused_by_the_router():
    broker = a_broker()
    an_empty_group(broker)
    broker.machine.view = VIEW

    response = broker.asks(an_offset_delete(1, 9)).response

    assert errors_by_partition(response) == [
        [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (1, ErrorCode.NONE)]
    ]


def test_a_refused_offset_delete_says_nothing_of_single_partitions():
    broker = a_broker()
    broker.machine.view = VIEW

    response = broker.asks(an_offset_delete(9, group_id="nobody")).response

    assert response.error_code is ErrorCode.GROUP_ID_NOT_FOUND
    assert response.topics == ()


def a_fetch_of(*partitions, group_id="g"):
    topics = (OffsetFetchRequestTopic(name="orders", partition_indexes=partitions),)
    return OffsetFetchRequestGroup(group_id=group_id, topics=topics)


@pytest.mark.parametrize("require_stable", [False, True])
def test_a_group_that_is_named_twice_in_a_fetch_is_answered_twice(require_stable):
    broker = a_broker()
    groups = (a_fetch_of(0), a_fetch_of(1))

    response = broker.asks(
        OffsetFetchRequest(api_version=8, groups=groups, require_stable=require_stable)
    ).response

    partitions = [
        [row.partition_index for topic in group.topics for row in topic.partitions]
        for group in response.groups
    ]
    assert partitions == [[0], [1]]


def test_unknown_topic_ids_stand_behind_what_is_known():
    broker = a_broker()
    broker.machine.view = VIEW
    topics = (
        OffsetFetchRequestTopic(topic_id="id-other", partition_indexes=(0,)),
        OffsetFetchRequestTopic(topic_id="id-orders", partition_indexes=(1,)),
    )
    groups = (OffsetFetchRequestGroup(group_id="g", topics=topics),)

    response = broker.asks(OffsetFetchRequest(groups=groups)).response

    rows = [(t.topic_id, t.partitions[0].error_code) for t in response.groups[0].topics]
    assert rows == [("id-orders", ErrorCode.NONE), ("id-other", ErrorCode.UNKNOWN_TOPIC_ID)]


def test_a_stopped_broker_refuses_by_itself_what_reaches_the_coordinator():
    broker = a_broker()
    broker.machine.stop()

    heartbeat = broker.asks(
        HeartbeatRequest(group_id="g", generation_id=1, member_id="ada")
    ).response
    join = broker.asks(JoinGroupRequest(group_id="g", member_id="ada")).response

    assert heartbeat.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (join.error_code, join.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "ada")


def test_the_router_of_a_stopped_broker_still_looks_first():
    broker = a_broker()
    broker.machine.view = VIEW
    broker.machine.stop()

    sync = broker.asks(SyncGroupRequest(group_id="g", generation_id=1, member_id="ada")).response
    commit = broker.asks(a_commit(5)).response
    find = broker.asks(FindCoordinatorRequest(key_type=9, coordinator_keys=("g",))).response
    delete = broker.asks(DeleteGroupsRequest(groups_names=("g", "g"))).response

    assert sync.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert errors_by_partition(commit) == [[(5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]]
    assert find.error_code is ErrorCode.INVALID_REQUEST
    assert [row.error_code for row in delete.results] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_parts_of_a_delete_that_waits_are_answered_together():
    broker = a_broker(offsets_topic_num_partitions=2)
    a_stable_group(broker, "ada")
    names = ("g", "h")
    assert len({broker.machine.shard_of(name) for name in names}) == 2

    response = broker.asks(DeleteGroupsRequest(groups_names=names)).response

    assert [(row.group_id, row.error_code) for row in response.results] == [
        ("g", ErrorCode.NON_EMPTY_GROUP),
        ("h", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
