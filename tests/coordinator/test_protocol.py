"""Messages: a wrong type, or a version that Kafka does not have, is refused by name."""

from __future__ import annotations

import pytest

from coordinator.protocol import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)

WRONG_TYPES = [
    (JoinGroupRequest, {"group_id": 7}, "group_id"),
    (JoinGroupRequest, {"group_id": "g", "member_id": None}, "member_id"),
    (JoinGroupRequest, {"group_id": "g", "group_instance_id": 7}, "group_instance_id"),
    (JoinGroupRequest, {"group_id": "g", "session_timeout_ms": "45s"}, "session_timeout_ms"),
    (JoinGroupRequest, {"group_id": "g", "session_timeout_ms": 1.5}, "session_timeout_ms"),
    (JoinGroupRequest, {"group_id": "g", "rebalance_timeout_ms": None}, "rebalance_timeout_ms"),
    (JoinGroupRequest, {"group_id": "g", "protocol_type": None}, "protocol_type"),
    (JoinGroupRequest, {"group_id": "g", "protocols": []}, "protocols"),
    (JoinGroupRequest, {"group_id": "g", "protocols": (("range", b""),)}, "protocols"),
    (JoinGroupRequest, {"group_id": "g", "client_id": None}, "client_id"),
    (JoinGroupRequest, {"group_id": "g", "reason": 7}, "reason"),
    (JoinGroupRequest, {"group_id": "g", "api_version": "9"}, "api_version"),
    (JoinGroupRequestProtocol, {"name": None}, "name"),
    (JoinGroupRequestProtocol, {"name": "range", "metadata": "text"}, "metadata"),
    (SyncGroupRequest, {"group_id": "g", "generation_id": None, "member_id": "m"}, "generation_id"),
    (SyncGroupRequest, {"group_id": "g", "generation_id": 1, "member_id": 7}, "member_id"),
    (
        SyncGroupRequest,
        {"group_id": "g", "generation_id": 1, "member_id": "m", "assignments": {}},
        "assignments",
    ),
    (SyncGroupRequestAssignment, {"member_id": "m", "assignment": "text"}, "assignment"),
    (HeartbeatRequest, {"group_id": "g", "generation_id": "1", "member_id": "m"}, "generation_id"),
    (HeartbeatRequest, {"group_id": b"g", "generation_id": 1, "member_id": "m"}, "group_id"),
    (LeaveGroupRequest, {"group_id": "g", "members": ["m"]}, "members"),
    (MemberIdentity, {"member_id": None}, "member_id"),
    (OffsetCommitRequest, {"group_id": "g", "topics": None}, "topics"),
    (OffsetCommitRequest, {"group_id": "g", "retention_time_ms": 1.0}, "retention_time_ms"),
    (OffsetCommitRequestTopic, {"name": "t", "partitions": (0,)}, "partitions"),
    (
        OffsetCommitRequestPartition,
        {"partition_index": 0, "committed_offset": "5"},
        "committed_offset",
    ),
    (
        OffsetCommitRequestPartition,
        {"partition_index": 0, "committed_offset": 5, "committed_metadata": b"x"},
        "committed_metadata",
    ),
    (OffsetFetchRequest, {"groups": "g"}, "groups"),
    (OffsetFetchRequest, {"groups": (), "require_stable": 1}, "require_stable"),
    (OffsetFetchRequestGroup, {"group_id": "g", "topics": "t"}, "topics"),
    (OffsetFetchRequestTopic, {"name": "t", "partition_indexes": ("0",)}, "partition_indexes"),
    (OffsetDeleteRequest, {"group_id": "g", "topics": ("t",)}, "topics"),
    (OffsetDeleteRequestTopic, {"name": "t", "partitions": [0]}, "partitions"),
    (DescribeGroupsRequest, {"groups": "g"}, "groups"),
    (ListGroupsRequest, {"states_filter": "Stable"}, "states_filter"),
    (DeleteGroupsRequest, {"groups_names": "g"}, "groups_names"),
    (DeleteGroupsRequest, {"groups_names": (7,)}, "groups_names"),
    (FindCoordinatorRequest, {"coordinator_keys": "g"}, "coordinator_keys"),
    (FindCoordinatorRequest, {"coordinator_keys": ("g",), "key_type": "group"}, "key_type"),
]


@pytest.mark.parametrize(
    ("kind", "said", "name"),
    WRONG_TYPES,
    ids=[f"{kind.__name__}-{name}" for kind, _, name in WRONG_TYPES],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(kind, said, name):
    with pytest.raises(TypeError, match=name):
        kind(**said)


@pytest.mark.parametrize(
    ("kind", "version"),
    [(JoinGroupRequest, 10), (JoinGroupRequest, -2), (OffsetCommitRequest, 1)],
)
def test_a_version_that_kafka_does_not_have_is_refused(kind, version):
    with pytest.raises(ValueError, match=f"api_version of {kind.__name__} must be"):
        kind(group_id="g", api_version=version)


@pytest.mark.parametrize(
    ("kind", "said", "newest"),
    [
        (FindCoordinatorRequest, {"coordinator_keys": ()}, 6),
        (JoinGroupRequest, {"group_id": "g"}, 9),
        (SyncGroupRequest, {"group_id": "g", "generation_id": 1, "member_id": "m"}, 5),
        (HeartbeatRequest, {"group_id": "g", "generation_id": 1, "member_id": "m"}, 4),
        (LeaveGroupRequest, {"group_id": "g", "members": ()}, 5),
        (OffsetCommitRequest, {"group_id": "g"}, 10),
        (OffsetFetchRequest, {"groups": ()}, 10),
        (OffsetDeleteRequest, {"group_id": "g"}, 0),
        (DescribeGroupsRequest, {"groups": ()}, 6),
        (ListGroupsRequest, {}, 5),
        (DeleteGroupsRequest, {"groups_names": ()}, 2),
    ],
)
def test_a_request_has_the_newest_version_unless_told(kind, said, newest):
    assert kind(**said).api_version == newest


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (OffsetCommitRequest, 8),
        (OffsetFetchRequest, 9),
        (FindCoordinatorRequest, 10),
        (JoinGroupRequest, 11),
        (HeartbeatRequest, 12),
        (LeaveGroupRequest, 13),
        (SyncGroupRequest, 14),
        (DescribeGroupsRequest, 15),
        (ListGroupsRequest, 16),
        (DeleteGroupsRequest, 42),
        (OffsetDeleteRequest, 47),
    ],
)
def test_a_request_carries_kafkas_key(kind, key):
    assert key == kind.API_KEY


def test_requests_are_values():
    one, other = (JoinGroupRequest(group_id="g", request_id=1) for _ in range(2))

    assert one == other
    assert hash(one) == hash(other)
