"""Requests as FORMAT_CLIENT records them, its section 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from client.assignors.byte_fields import ByteReader
from client.consumer_protocol import decode_assignment, decode_subscription
from client.messages import (
    FetchPartition,
    FetchRequest,
    IsolationLevel,
    ListOffsetsRequest,
    LogEdge,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
)
from coordinator.protocol import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
)
from tests.conformance.client_words import Fields, names_of

#: Kafka's text for the id of a topic without one.
_NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def api_of(request: Request) -> str:
    """The name of a request's API."""
    return type(request).__name__.removesuffix("Request")


def fields_of(request: Request) -> Fields:
    """A request as it would have been recorded."""
    fields: Fields = _RECORDED[type(request)](request)
    return fields


def _metadata(request: MetadataRequest) -> Fields:
    return {"topics": None if request.topics is None else sorted(request.topics)}


def _find_coordinator(request: FindCoordinatorRequest) -> Fields:
    return {"group_id": request.coordinator_keys[0]}


def _join_group(request: JoinGroupRequest) -> Fields:
    return {
        "member_id": request.member_id,
        **_instance(request.group_instance_id),
        "session_timeout_ms": request.session_timeout_ms,
        "rebalance_timeout_ms": request.rebalance_timeout_ms,
        "reason": request.reason,
        "protocols": [
            {"name": protocol.name, **_subscription(protocol.name, protocol.metadata)}
            for protocol in request.protocols
        ],
    }


def _subscription(protocol: str, data: bytes) -> Fields:
    told = decode_subscription(data)
    return {
        "topics": list(told.topics),
        "owned": names_of(told.owned_partitions),
        "generation": told.generation_id,
        **({} if told.rack_id is None else {"rack": told.rack_id}),
        "user_data": _user_data(protocol, told.user_data),
    }


def _user_data(protocol: str, data: bytes | None) -> Fields | None:
    if data is None or protocol not in ("sticky", "cooperative-sticky"):
        return None
    reader = ByteReader(data)
    if protocol == "cooperative-sticky":
        return {"generation": reader.int32()}
    return {"partitions": names_of(reader.partitions()), "generation": reader.int32()}


def _sync_group(request: SyncGroupRequest) -> Fields:
    return {
        "member_id": request.member_id,
        "generation": request.generation_id,
        **_instance(request.group_instance_id),
        "protocol": request.protocol_name,
        "assignments": {
            given.member_id: names_of(decode_assignment(given.assignment).partitions)
            for given in request.assignments
        },
    }


def _heartbeat(request: HeartbeatRequest) -> Fields:
    return {
        "member_id": request.member_id,
        "generation": request.generation_id,
        **_instance(request.group_instance_id),
    }


def _leave_group(request: LeaveGroupRequest) -> Fields:
    member = request.members[0]
    return {
        "member_id": member.member_id,
        **_instance(member.group_instance_id),
        "reason": member.reason,
    }


def _offset_commit(request: OffsetCommitRequest) -> Fields:
    offsets: Fields = {}
    for topic in request.topics:
        for told in topic.partitions:
            value: Fields = {"offset": told.committed_offset}
            if told.committed_leader_epoch >= 0:
                value["leader_epoch"] = told.committed_leader_epoch
            if told.committed_metadata:
                value["metadata"] = told.committed_metadata
            name = f"{topic.name}-{told.partition_index}"
            offsets[name] = value if len(value) > 1 else told.committed_offset
    return {
        "member_id": request.member_id,
        "generation": request.generation_id,
        **_instance(request.group_instance_id),
        "offsets": offsets,
    }


def _offset_fetch(request: OffsetFetchRequest) -> Fields:
    topics = request.groups[0].topics or ()
    wanted = [(topic.name, number) for topic in topics for number in topic.partition_indexes]
    return {"partitions": names_of(wanted)}


def _list_offsets(request: ListOffsetsRequest) -> Fields:
    return {
        "partitions": {
            f"{wanted.topic}-{wanted.partition_index}": (
                wanted.timestamp.value
                if isinstance(wanted.timestamp, LogEdge)
                else {"timestamp_at": wanted.timestamp}
            )
            for wanted in request.partitions
        },
        **_isolation(request.isolation_level),
    }


def _offset_for_leader_epoch(request: OffsetForLeaderEpochRequest) -> Fields:
    return {
        "partitions": {
            f"{wanted.topic}-{wanted.partition}": {
                "leader_epoch": wanted.leader_epoch,
                "current_leader_epoch": wanted.current_leader_epoch,
            }
            for wanted in request.partitions
        }
    }


def fetched_names(request: FetchRequest) -> dict[str, FetchPartition]:
    """The partitions of a Fetch by the names they are recorded under.

    The recorder knows topics by their ids alone, and Kafka sends ids for all topics or for none.
    """
    has_ids = all(wanted.topic_id for wanted in request.partitions)
    return {
        f"{wanted.topic if has_ids else _NO_TOPIC_ID}-{wanted.partition}": wanted
        for wanted in request.partitions
    }


def _fetch(request: FetchRequest) -> Fields:
    named = fetched_names(request)
    fields: Fields = {"partitions": {name: told.fetch_offset for name, told in named.items()}}
    epochs = {
        name: told.current_leader_epoch
        for name, told in named.items()
        if told.current_leader_epoch >= 0
    }
    if epochs:
        fields["leader_epochs"] = epochs
    fields |= _isolation(request.isolation_level)
    if request.rack_id:
        fields["rack"] = request.rack_id
    if request.session_id or request.session_epoch:
        fields["session"] = [request.session_id, request.session_epoch]
    return fields


def _isolation(level: IsolationLevel) -> Fields:
    return {"isolation": level.value} if level is IsolationLevel.READ_COMMITTED else {}


def _instance(instance_id: str | None) -> Fields:
    return {} if instance_id is None else {"group_instance_id": instance_id}


_RECORDED: Mapping[type[Request], Any] = {
    MetadataRequest: _metadata,
    FindCoordinatorRequest: _find_coordinator,
    JoinGroupRequest: _join_group,
    SyncGroupRequest: _sync_group,
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave_group,
    OffsetCommitRequest: _offset_commit,
    OffsetFetchRequest: _offset_fetch,
    ListOffsetsRequest: _list_offsets,
    OffsetForLeaderEpochRequest: _offset_for_leader_epoch,
    FetchRequest: _fetch,
}
