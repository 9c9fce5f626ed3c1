"""Requests that concern several shards, or that the router sorts: split up, and put together.

A part is a request of the same kind with the same id; the whole is answered when all parts are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, evolve

from coordinator.cluster import ClusterView
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    Response,
)
from coordinator.refusals import fetch_answer, fetch_refused

_TOPIC_IDS_SINCE = 10


@define(eq=False)
class Gather:
    """A request whose parts are still being answered."""

    request: Request
    missing: int
    parts: list[Any]

    def merged(self) -> Response:
        """The whole answer, in the order of the request."""
        if isinstance(self.request, OffsetCommitRequest):
            return OffsetCommitResponse(topics=sum((part.topics for part in self.parts), ()))
        if isinstance(self.request, OffsetFetchRequest):
            return _merge_fetch(self.request, self.parts)
        assert isinstance(self.request, DeleteGroupsRequest)
        rows = {row.group_id: row for part in self.parts for row in part.results}
        names = dict.fromkeys(self.request.groups_names)
        return DeleteGroupsResponse(results=tuple(rows[name] for name in names))

    def copy(self) -> Gather:
        """One of its own."""
        return Gather(self.request, self.missing, list(self.parts))

    def snapshot(self) -> tuple[object, ...]:
        """As one comparable value."""
        return (self.request, self.missing, tuple(self.parts))


# --- OffsetCommit ---


def split_commit(
    request: OffsetCommitRequest, view: ClusterView
) -> tuple[OffsetCommitRequest, OffsetCommitResponse]:
    """What the coordinator is asked, and what the router refuses because it is not there."""
    if view.topics is None:
        return request, OffsetCommitResponse()
    known: list[OffsetCommitRequestTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for topic in request.topics:
        _sort_topic(topic, request.api_version >= _TOPIC_IDS_SINCE, view, known, refused)
    return evolve(request, topics=tuple(known)), OffsetCommitResponse(topics=tuple(refused))


def _sort_topic(
    topic: OffsetCommitRequestTopic,
    by_id: bool,  # noqa: FBT001 (one of two ways to name a topic)
    view: ClusterView,
    known: list[OffsetCommitRequestTopic],
    refused: list[OffsetCommitResponseTopic],
) -> None:
    found = view.topic_with_id(topic.topic_id) if by_id else view.topic_named(topic.name)
    count = 0 if found is None else found.partitions
    error = (
        ErrorCode.UNKNOWN_TOPIC_ID
        if by_id and found is None
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    there = tuple(each for each in topic.partitions if 0 <= each.partition_index < count)
    absent = tuple(each for each in topic.partitions if not 0 <= each.partition_index < count)
    if absent:
        rows = tuple(
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
            for each in absent
        )
        refused.append(
            OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=rows)
        )
    if there and found is not None:
        known.append(
            OffsetCommitRequestTopic(name=found.name, topic_id=found.topic_id, partitions=there)
        )


# --- OffsetFetch ---


def split_fetch(
    request: OffsetFetchRequest, view: ClusterView
) -> tuple[list[OffsetFetchRequest], list[OffsetFetchResponse]]:
    """One part per group, and the answers that need no coordinator."""
    parts: list[OffsetFetchRequest] = []
    settled: list[OffsetFetchResponse] = []
    for group in request.groups:
        if group.group_id is None:
            refusal = fetch_refused(group, ErrorCode.INVALID_GROUP_ID, request.api_version)
            settled.append(fetch_answer(request, (refusal,)))
            continue
        wanted = group
        if group.topics is not None and _names_ids(request, view):
            topics, unknown = _resolve(group.topics, view)
            wanted = evolve(group, topics=topics)
            answer = OffsetFetchResponseGroup(group_id=group.group_id, topics=unknown)
            settled.append(OffsetFetchResponse(groups=(answer,)))
        parts.append(evolve(request, groups=(wanted,)))
    return parts, settled


def _names_ids(request: OffsetFetchRequest, view: ClusterView) -> bool:
    return request.api_version >= _TOPIC_IDS_SINCE and view.topics is not None


def _resolve(
    topics: tuple[OffsetFetchRequestTopic, ...], view: ClusterView
) -> tuple[tuple[OffsetFetchRequestTopic, ...], tuple[OffsetFetchResponseTopic, ...]]:
    """Topics by id, with their names; and a row of errors for each that nobody knows."""
    known, unknown = [], []
    for topic in topics:
        found = view.topic_with_id(topic.topic_id)
        if found is not None:
            known.append(evolve(topic, name=found.name))
            continue
        rows = tuple(
            OffsetFetchResponsePartition(
                partition_index=each, error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            for each in topic.partition_indexes
        )
        unknown.append(OffsetFetchResponseTopic(name="", topic_id=topic.topic_id, partitions=rows))
    return tuple(known), tuple(unknown)


def with_topic_ids(
    response: OffsetFetchResponse, request: OffsetFetchRequest, view: ClusterView
) -> OffsetFetchResponse:
    """From version 10 topics go by id; those without one that the broker knows are left out."""
    if not _names_ids(request, view):
        return response
    groups = []
    for group in response.groups:
        topics = []
        for topic in group.topics:
            found = view.topic_named(topic.name)
            if topic.topic_id:
                topics.append(topic)
            elif found is not None:
                topics.append(evolve(topic, topic_id=found.topic_id))
        groups.append(evolve(group, topics=tuple(topics)))
    return evolve(response, groups=tuple(groups))


def _merge_fetch(
    request: OffsetFetchRequest, parts: list[OffsetFetchResponse]
) -> OffsetFetchResponse:
    by_group: dict[str | None, OffsetFetchResponseGroup] = {}
    for part in parts:
        for group in part.groups:
            before = by_group.get(group.group_id)
            if before is not None:
                group = evolve(group, topics=before.topics + group.topics)  # noqa: PLW2901
            by_group[group.group_id] = group
    groups = tuple(by_group[group.group_id] for group in request.groups)
    return fetch_answer(request, groups)


# --- DeleteGroups ---


def split_delete(
    request: DeleteGroupsRequest, shard_of: Callable[[str], int]
) -> tuple[list[DeleteGroupsRequest], DeleteGroupsResponse]:
    """One part per shard, each name once; a null name needs no shard to be refused."""
    by_shard: dict[int, list[str]] = {}
    refused: list[DeletableGroupResult] = []
    for name in dict.fromkeys(request.groups_names):
        if name is None:
            refused.append(
                DeletableGroupResult(group_id=None, error_code=ErrorCode.INVALID_GROUP_ID)
            )
        else:
            by_shard.setdefault(shard_of(name), []).append(name)
    parts = [evolve(request, groups_names=tuple(by_shard[index])) for index in sorted(by_shard)]
    return parts, DeleteGroupsResponse(results=tuple(refused))
