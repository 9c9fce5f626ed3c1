"""Replies of FORMAT_CLIENT's section 5 as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from client.assignors import Assignment, Subscription
from client.assignors.byte_fields import int32_field, partitions_field
from client.consumer_protocol import encode_assignment, encode_subscription
from client.errors import AnyError
from client.messages import (
    EpochEndOffset,
    FetchPartitionResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    RecordBatch,
)
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.conformance.client_requests import fetched_names
from tests.conformance.client_words import Fields, error_of, partition_of


def reply_to(request: Request, step: Fields) -> object:
    """The broker's answer as a message."""
    return _ANSWERS[type(request)](request, step)


def _metadata_reply(_: MetadataRequest, step: Fields) -> MetadataResponse:
    racks = step.get("racks", {})
    return MetadataResponse(
        brokers=tuple(
            MetadataResponseBroker(
                node_id=node, host="127.0.0.1", port=9092 + node, rack=racks.get(str(node))
            )
            for node in step["brokers"]
        ),
        topics=tuple(_topic_reply(name, leaders, step) for name, leaders in step["topics"].items()),
    )


def _topic_reply(name: str, leaders: list[int] | None, step: Fields) -> MetadataResponseTopic:
    error = step.get("errors", {}).get(name)
    is_internal = name.startswith("__")
    if leaders is None or error is not None:
        return MetadataResponseTopic(
            name=name,
            is_internal=is_internal,
            error_code=error_of(error or "UNKNOWN_TOPIC_OR_PARTITION"),
        )
    epochs = step.get("epochs", {}).get(name)
    replicas = step.get("replicas", {}).get(name)
    return MetadataResponseTopic(
        name=name,
        topic_id=f"id of {name}",
        is_internal=is_internal,
        partitions=tuple(
            MetadataResponsePartition(
                partition_index=number,
                leader_id=leader,
                leader_epoch=-1 if epochs is None else epochs[number],
                replica_nodes=tuple(
                    replicas[number] if replicas is not None else [leader] if leader >= 0 else ()
                ),
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader < 0 else ErrorCode.NONE,
            )
            for number, leader in enumerate(leaders)
        ),
    )


def _find_coordinator_reply(
    request: FindCoordinatorRequest, step: Fields
) -> FindCoordinatorResponse:
    error = error_of(step.get("error"))
    is_found = error is ErrorCode.NONE
    node = step.get("node", -1) if is_found else -1
    return FindCoordinatorResponse(
        coordinators=(
            Coordinator(
                key=request.coordinator_keys[0],
                node_id=node,
                host="127.0.0.1" if is_found else "",
                port=9092 + node if is_found else -1,
                error_code=error,
            ),
        )
    )


def _join_group_reply(_: JoinGroupRequest, step: Fields) -> JoinGroupResponse:
    protocol = step.get("protocol")
    return JoinGroupResponse(
        error_code=error_of(step.get("error")),
        member_id=step.get("member_id", ""),
        generation_id=step.get("generation", -1),
        protocol_name=protocol,
        protocol_type=step.get("protocol_type", None if protocol is None else "consumer"),
        leader=step.get("leader", ""),
        skip_assignment=step.get("skip_assignment", False),
        members=tuple(
            JoinGroupResponseMember(
                member_id=member["member_id"],
                group_instance_id=member.get("group_instance_id"),
                metadata=encode_subscription(
                    Subscription(
                        topics=tuple(member["topics"]),
                        owned_partitions=tuple(map(partition_of, member.get("owned", ()))),
                        user_data=_user_bytes(protocol, member.get("user_data")),
                        generation_id=member.get("generation", -1),
                        rack_id=member.get("rack"),
                    )
                ),
            )
            for member in step.get("members", ())
        ),
    )


def _user_bytes(protocol: str | None, told: Fields | None) -> bytes | None:
    if told is None:
        return None
    generation = int32_field(told["generation"])
    if protocol != "sticky":
        return generation
    by_topic: dict[str, list[int]] = {}
    for topic, number in map(partition_of, told["partitions"]):
        by_topic.setdefault(topic, []).append(number)
    return partitions_field(by_topic.items()) + generation


def _sync_group_reply(request: SyncGroupRequest, step: Fields) -> SyncGroupResponse:
    given = step.get("assignment")
    data = b""
    if given is not None:
        data = encode_assignment(Assignment(partitions=tuple(map(partition_of, given))))
    return SyncGroupResponse(
        error_code=error_of(step.get("error")),
        assignment=data,
        protocol_type=step.get("protocol_type", "consumer"),
        protocol_name=step.get("protocol", request.protocol_name),
    )


def _offset_commit_reply(request: OffsetCommitRequest, step: Fields) -> OffsetCommitResponse:
    errors, default = step.get("errors", {}), step.get("error")
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=told.partition_index,
                        error_code=error_of(
                            errors.get(f"{topic.name}-{told.partition_index}", default)
                        ),
                    )
                    for told in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _offset_fetch_reply(request: OffsetFetchRequest, step: Fields) -> OffsetFetchResponse:
    group = request.groups[0]
    error = error_of(step.get("error"))
    offsets, errors = step.get("offsets", {}), step.get("errors", {})
    topics: tuple[OffsetFetchResponseTopic, ...] = ()
    if error is ErrorCode.NONE:
        topics = tuple(
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    _committed(number, offsets.get(name), errors.get(name))
                    for number in topic.partition_indexes
                    for name in [f"{topic.name}-{number}"]
                ),
            )
            for topic in group.topics or ()
        )
    return OffsetFetchResponse(
        groups=(OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=error),)
    )


def _committed(
    number: int, offset: int | Fields | None, error: str | None
) -> OffsetFetchResponsePartition:
    told: Fields = offset if isinstance(offset, dict) else {"offset": offset}
    return OffsetFetchResponsePartition(
        partition_index=number,
        committed_offset=-1 if told["offset"] is None else told["offset"],
        committed_leader_epoch=told.get("leader_epoch", -1),
        metadata=told.get("metadata", ""),
        error_code=error_of(error),
    )


def _list_offsets_reply(request: ListOffsetsRequest, step: Fields) -> ListOffsetsResponse:
    offsets, errors, epochs = (step.get(key, {}) for key in ("offsets", "errors", "epochs"))
    answers = []
    for wanted in request.partitions:
        name = f"{wanted.topic}-{wanted.partition_index}"
        offset = offsets.get(name)
        answers.append(
            ListOffsetsPartitionResponse(
                topic=wanted.topic,
                partition_index=wanted.partition_index,
                offset=-1 if offset is None else offset,
                leader_epoch=epochs.get(name, -1),
                error_code=error_of(errors.get(name)),
            )
        )
    return ListOffsetsResponse(partitions=tuple(answers))


def _offset_for_leader_epoch_reply(
    request: OffsetForLeaderEpochRequest, step: Fields
) -> OffsetForLeaderEpochResponse:
    ends = step.get("ends", {})
    answers = []
    for wanted in request.partitions:
        end = ends.get(f"{wanted.topic}-{wanted.partition}", {})
        answers.append(
            EpochEndOffset(
                topic=wanted.topic,
                partition=wanted.partition,
                leader_epoch=end.get("leader_epoch", -1),
                end_offset=end.get("end_offset", -1),
                error_code=error_of(end.get("error")),
            )
        )
    return OffsetForLeaderEpochResponse(partitions=tuple(answers))


def _fetch_reply(request: FetchRequest, step: Fields) -> FetchResponse:
    error = error_of(step.get("error"))
    answers: dict[str, Fields] = dict(step.get("partitions", {}))
    if error is ErrorCode.NONE and request.session_epoch <= 0:
        for name, wanted in fetched_names(request).items():
            answers.setdefault(name, {"high_watermark": wanted.fetch_offset})
    by_topic: dict[str, list[FetchPartitionResponse]] = {}
    for name, told in sorted(answers.items()):
        by_topic.setdefault(partition_of(name).topic, []).append(_fetched(name, told))
    return FetchResponse(
        error_code=error,
        session_id=step.get("session_id", 0),
        partitions=tuple(answer for same in by_topic.values() for answer in same),
    )


def _fetched(name: str, told: Fields) -> FetchPartitionResponse:
    topic, number = partition_of(name)
    high_watermark = told.get("high_watermark", -1)
    batches: tuple[RecordBatch, ...] = ()
    if "records" in told and told["records"][1] > told["records"][0]:
        first, end = told["records"]
        epoch = told.get("leader_epoch", -1)
        batches = (RecordBatch(first=first, end=end, leader_epoch=epoch),)
    code: AnyError = error_of(told.get("error"))
    return FetchPartitionResponse(
        topic=topic,
        partition_index=number,
        batches=batches,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=told.get("log_start", 0),
        preferred_read_replica=told.get("preferred_replica", -1),
        error_code=code,
    )


_ANSWERS: Mapping[type[Request], Any] = {
    MetadataRequest: _metadata_reply,
    FindCoordinatorRequest: _find_coordinator_reply,
    JoinGroupRequest: _join_group_reply,
    SyncGroupRequest: _sync_group_reply,
    HeartbeatRequest: lambda _, step: HeartbeatResponse(error_code=error_of(step.get("error"))),
    LeaveGroupRequest: lambda _, step: LeaveGroupResponse(error_code=error_of(step.get("error"))),
    OffsetCommitRequest: _offset_commit_reply,
    OffsetFetchRequest: _offset_fetch_reply,
    ListOffsetsRequest: _list_offsets_reply,
    OffsetForLeaderEpochRequest: _offset_for_leader_epoch_reply,
    FetchRequest: _fetch_reply,
}
