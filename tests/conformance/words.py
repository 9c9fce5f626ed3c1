"""From a script's words to requests, and from replies back to words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from coordinator.protocol import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from coordinator.subscription import subscription_to

Words = dict[str, Any]


@define
class Metadata:
    """Protocol metadata of one case: text stands for one byte each, topics for a subscription."""

    encoded: dict[str, bytes] = field(factory=dict)
    decoded: dict[bytes, Any] = field(factory=lambda: {b"": ""})

    def encode(self, value: Any) -> bytes:
        """The bytes that stand for a value; the same value has the same bytes."""
        if value == "":
            return b""
        key = json.dumps(value)
        if key not in self.encoded:
            if isinstance(value, str):
                texts = sum(len(each) == 1 for each in self.encoded.values())
                self.encoded[key] = bytes([texts + 1])
            else:
                self.encoded[key] = subscription_to(*value["topics"])
            self.decoded[self.encoded[key]] = value
        return self.encoded[key]

    def decode(self, value: bytes) -> Any:
        """What the bytes stood for."""
        return self.decoded[value]


# --- requests ---


def _join(args: Words, metadata: Metadata) -> Request:
    is_nameless = args["member_id"] == "" and args["group_instance_id"] is None
    api_version = 9 if args.get("supports_skip_assignment", True) else 8
    if is_nameless and not args.get("require_known_member_id", True):
        api_version = 3
    return JoinGroupRequest(
        api_version=api_version,
        client_id=args["client_id"],
        group_id=args["group_id"],
        member_id=args["member_id"],
        group_instance_id=args["group_instance_id"],
        session_timeout_ms=args["session_timeout_ms"],
        rebalance_timeout_ms=args["rebalance_timeout_ms"],
        protocol_type=args["protocol_type"],
        protocols=tuple(
            JoinGroupRequestProtocol(name, metadata.encode(value))
            for name, value in args["protocols"]
        ),
    )


def _sync(args: Words, _: Metadata) -> Request:
    names_protocol = args["protocol_type"] is not None and args["protocol_name"] is not None
    return SyncGroupRequest(
        api_version=5 if names_protocol else 4,
        group_id=args["group_id"],
        member_id=args["member_id"],
        group_instance_id=args["group_instance_id"],
        generation_id=args["generation_id"],
        protocol_type=args["protocol_type"],
        protocol_name=args["protocol_name"],
        assignments=tuple(
            SyncGroupRequestAssignment(member_id, value.encode())
            for member_id, value in args["assignments"]
        ),
    )


def _heartbeat(args: Words, _: Metadata) -> Request:
    return HeartbeatRequest(
        group_id=args["group_id"],
        member_id=args["member_id"],
        group_instance_id=args["group_instance_id"],
        generation_id=args["generation_id"],
    )


def _leave(args: Words, _: Metadata) -> Request:
    members = tuple(
        MemberIdentity(member_id=each["member_id"], group_instance_id=each["group_instance_id"])
        for each in args["members"]
    )
    return LeaveGroupRequest(group_id=args["group_id"], members=members)


def _commit(args: Words, _: Metadata) -> Request:
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for each in args["offsets"]:
        by_topic.setdefault(each["topic"], []).append(
            OffsetCommitRequestPartition(
                partition_index=each["partition"],
                committed_offset=each["offset"],
                committed_metadata=each.get("metadata"),
                committed_leader_epoch=each.get("leader_epoch", -1),
            )
        )
    return OffsetCommitRequest(
        api_version=args.get("api_version", -1),
        group_id=args["group_id"],
        member_id=args["member_id"],
        group_instance_id=args["group_instance_id"],
        generation_id=args["generation_id"],
        retention_time_ms=args.get("retention_time_ms", -1),
        topics=tuple(
            OffsetCommitRequestTopic(name=name, partitions=tuple(rows))
            for name, rows in by_topic.items()
        ),
    )


def _by_topic(rows: list[Words]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for each in rows:
        by_topic.setdefault(each["topic"], []).append(each["partition"])
    return by_topic


def _fetch(args: Words, _: Metadata) -> Request:
    topics = None
    if args["partitions"] is not None:
        topics = tuple(
            OffsetFetchRequestTopic(name=name, partition_indexes=tuple(partitions))
            for name, partitions in _by_topic(args["partitions"]).items()
        )
    group = OffsetFetchRequestGroup(group_id=args["group_id"], topics=topics)
    return OffsetFetchRequest(groups=(group,))


def _delete_offsets(args: Words, _: Metadata) -> Request:
    return OffsetDeleteRequest(
        group_id=args["group_id"],
        topics=tuple(
            OffsetDeleteRequestTopic(name=name, partitions=tuple(partitions))
            for name, partitions in _by_topic(args["partitions"]).items()
        ),
    )


def _describe(args: Words, _: Metadata) -> Request:
    return DescribeGroupsRequest(
        groups=(args["group_id"],), api_version=args.get("api_version", -1)
    )


def _list(args: Words, _: Metadata) -> Request:
    return ListGroupsRequest(states_filter=tuple(args["states"]), types_filter=tuple(args["types"]))


def _delete_group(args: Words, _: Metadata) -> Request:
    return DeleteGroupsRequest(groups_names=(args["group_id"],))


#: What each operation of a script asks the coordinator.
REQUESTS: Mapping[str, Callable[[Words, Metadata], Request]] = {
    "join": _join,
    "sync": _sync,
    "heartbeat": _heartbeat,
    "leave": _leave,
    "commit": _commit,
    "fetch_offsets": _fetch,
    "describe": _describe,
    "list": _list,
    "delete_group": _delete_group,
    "delete_offsets": _delete_offsets,
}


# --- replies ---


def words_of(response: Response, metadata: Metadata) -> Words:
    """A reply in the words of a script."""
    return _WORDS[type(response)](response, metadata)


def _joined(response: JoinGroupResponse, metadata: Metadata) -> Words:
    ids = [member.member_id for member in response.members]
    return {
        "error": response.error_code.name,
        "member_id": response.member_id,
        "generation_id": response.generation_id,
        "leader": response.leader,
        "is_leader": response.leader == response.member_id,
        "protocol_name": response.protocol_name,
        "protocol_type": response.protocol_type,
        "skip_assignment": response.skip_assignment,
        "members": ids,
        "members_ordered": ids,
        "member_instance_ids": [
            each.group_instance_id
            for each in response.members
            if each.group_instance_id is not None
        ],
        "member_metadata": [
            [each.member_id, metadata.decode(each.metadata)] for each in response.members
        ],
    }


def _synced(response: SyncGroupResponse, _: Metadata) -> Words:
    return {
        "error": response.error_code.name,
        "assignment": response.assignment.decode(),
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
    }


def _beaten(response: HeartbeatResponse, _: Metadata) -> Words:
    return {"error": response.error_code.name}


def _left(response: LeaveGroupResponse, _: Metadata) -> Words:
    rows = [
        {
            "member_id": row.member_id,
            "group_instance_id": row.group_instance_id,
            "error": row.error_code.name,
        }
        for row in response.members
    ]
    return {"error": response.error_code.name, "members": rows}


def _committed(response: OffsetCommitResponse, _: Metadata) -> Words:
    return {
        "partitions": [
            {"topic": topic.name, "partition": row.partition_index, "error": row.error_code.name}
            for topic in response.topics
            for row in topic.partitions
        ]
    }


def _fetched(response: OffsetFetchResponse, _: Metadata) -> Words:
    (group,) = response.groups
    rows = [
        {
            "topic": topic.name,
            "partition": row.partition_index,
            "offset": row.committed_offset,
            "metadata": row.metadata,
            "leader_epoch": row.committed_leader_epoch,
            "error": row.error_code.name,
        }
        for topic in group.topics
        for row in topic.partitions
    ]
    return {"error": group.error_code.name, "partitions": rows}


def _described(response: DescribeGroupsResponse, metadata: Metadata) -> Words:
    (group,) = response.groups
    ids = [member.member_id for member in group.members]
    return {
        "error": group.error_code.name,
        "state": group.group_state,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_data,
        "members": ids,
        "members_ordered": ids,
        "member_instance_ids": [
            each.group_instance_id for each in group.members if each.group_instance_id is not None
        ],
        "member_metadata": [
            [each.member_id, metadata.decode(each.member_metadata)] for each in group.members
        ],
        "member_assignments": [
            [each.member_id, each.member_assignment.decode()] for each in group.members
        ],
    }


def _listed(response: ListGroupsResponse, _: Metadata) -> Words:
    rows = [
        {
            "group_id": group.group_id,
            "state": group.group_state,
            "protocol_type": group.protocol_type,
            "group_type": group.group_type,
        }
        for group in response.groups
    ]
    return {"error": response.error_code.name, "groups": rows}


def _deleted_group(response: DeleteGroupsResponse, _: Metadata) -> Words:
    return {"error": response.results[0].error_code.name}


def _deleted_offsets(response: OffsetDeleteResponse, _: Metadata) -> Words:
    rows = [
        {"topic": topic.name, "partition": row.partition_index, "error": row.error_code.name}
        for topic in response.topics
        for row in topic.partitions
    ]
    return {"error": response.error_code.name, "partitions": rows}


_WORDS: Mapping[type[Response], Callable[[Any, Metadata], Words]] = {
    JoinGroupResponse: _joined,
    SyncGroupResponse: _synced,
    HeartbeatResponse: _beaten,
    LeaveGroupResponse: _left,
    OffsetCommitResponse: _committed,
    OffsetFetchResponse: _fetched,
    DescribeGroupsResponse: _described,
    ListGroupsResponse: _listed,
    DeleteGroupsResponse: _deleted_group,
    OffsetDeleteResponse: _deleted_offsets,
}
