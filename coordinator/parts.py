"""Requests that concern several shards, or that the router sorts: split up, and put together.

A part is a request of the same kind under a number of its own; the whole is answered when all
its parts are. What needs no coordinator (an unknown topic, a missing group id) is settled at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve, frozen

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
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    Response,
)
from coordinator.refusals import fetch_answer, fetch_refused

TOPIC_IDS_SINCE = 10


@frozen
class Part:
    """A part of a request, and a group of the shard that is to answer it."""

    group_id: str
    request: Request


@frozen
class Split:
    """A request in parts: for each slot of the whole, its part or the answer it has already."""

    slots: tuple[Part | Response, ...]


@define(eq=False)
class Gather:
    """A request whose parts are being answered, slot by slot."""

    request: Request
    slots: list[Response | None]

    @property
    def is_whole(self) -> bool:
        """Has every part its answer?"""
        return None not in self.slots

    def merged(self, view: ClusterView) -> Response:
        """The whole answer, in the order of the request."""
        answers: list[Any] = list(self.slots)
        if isinstance(self.request, OffsetCommitRequest):
            return OffsetCommitResponse(topics=_merge_topics(answers))
        if isinstance(self.request, OffsetDeleteRequest):
            refusal = next(
                (each for each in answers if each.error_code is not ErrorCode.NONE), None
            )
            return refusal or OffsetDeleteResponse(topics=_merge_topics(answers))
        if isinstance(self.request, OffsetFetchRequest):
            groups = tuple(each.groups[0] for each in answers)
            return fetch_answer(self.request, _with_topic_ids(groups, self.request, view))
        assert isinstance(self.request, DeleteGroupsRequest)
        rows = {row.group_id: row for each in answers for row in each.results}
        names = dict.fromkeys(self.request.groups_names)
        return DeleteGroupsResponse(results=tuple(rows[name] for name in names))

    def copy(self) -> Gather:
        """One of its own."""
        return Gather(self.request, list(self.slots))

    def snapshot(self) -> tuple[object, ...]:
        """As one comparable value."""
        return (self.request, tuple(self.slots))


def _merge_topics(answers: Iterable[Any]) -> tuple[Any, ...]:
    """One entry per topic; what the router refused stands before what the coordinator said."""
    merged: dict[tuple[str, str], Any] = {}
    for answer in answers:
        for topic in answer.topics:
            key = (topic.name, getattr(topic, "topic_id", ""))
            before = merged.get(key)
            if before is None:
                merged[key] = topic
            else:
                merged[key] = evolve(topic, partitions=before.partitions + topic.partitions)
    return tuple(merged.values())


# --- OffsetCommit ---


def commit_in_one(request: OffsetCommitRequest, view: ClusterView) -> OffsetCommitRequest | None:
    """The commit as the coordinator is asked, where the router has nothing to refuse or to merge.

    That is the usual case, and a frequent one; None where the request must be split.
    """
    topics = request.topics
    if view.topics is None or not topics:
        return request if topics else None
    is_as_known = True
    by_id = request.api_version >= TOPIC_IDS_SINCE
    known: dict[str, OffsetCommitRequestTopic] = {}
    for topic in topics:
        found = view.topic_with_id(topic.topic_id) if by_id else view.topic_named(topic.name)
        if found is None or not topic.partitions or found.name in known:
            return None
        count = found.partitions
        for each in topic.partitions:
            if not 0 <= each.partition_index < count:
                return None
        if topic.topic_id != found.topic_id or topic.name != found.name:
            is_as_known = False
            topic = OffsetCommitRequestTopic(  # noqa: PLW2901 (as the coordinator knows it)
                name=found.name, topic_id=found.topic_id, partitions=topic.partitions
            )
        known[found.name] = topic
    return request if is_as_known else request.with_topics(tuple(known.values()))


def split_commit(request: OffsetCommitRequest, view: ClusterView) -> Split:
    """What the router refuses because it is not there, and what the coordinator is asked.

    Where nothing is left to ask, there is no part: the coordinator does not hear of it.
    """
    known = request.topics
    refused: tuple[OffsetCommitResponseTopic, ...] = ()
    if view.topics is not None:
        by_id = request.api_version >= TOPIC_IDS_SINCE
        sorted_out = [_sort_topic(topic, view, by_id=by_id) for topic in request.topics]
        known = tuple(each for each, _ in sorted_out if each.partitions)
        refused = tuple(each for _, each in sorted_out if each.partitions)
    settled = OffsetCommitResponse(topics=refused)
    if not known:
        return Split((settled,))
    return Split((settled, Part(request.group_id or "", evolve(request, topics=known))))


def _sort_topic(
    topic: OffsetCommitRequestTopic, view: ClusterView, *, by_id: bool
) -> tuple[OffsetCommitRequestTopic, OffsetCommitResponseTopic]:
    """The partitions of a topic that are there, and a row of error for each that is not."""
    found = view.topic_with_id(topic.topic_id) if by_id else view.topic_named(topic.name)
    is_unknown_id = by_id and found is None
    error = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    count = 0 if found is None else found.partitions
    name, topic_id = (topic.name, topic.topic_id) if found is None else (found.name, found.topic_id)
    there = tuple(each for each in topic.partitions if 0 <= each.partition_index < count)
    rows = tuple(
        OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
        for each in topic.partitions
        if not 0 <= each.partition_index < count
    )
    return (
        OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=there),
        OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=rows),
    )


# --- OffsetDelete ---


def split_offset_delete(request: OffsetDeleteRequest, view: ClusterView) -> Split:
    """As for a commit, but the coordinator is asked even if nothing is left."""
    known: list[OffsetDeleteRequestTopic] = []
    refused: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        found = view.topic_named(topic.name)
        count = 0 if found is None else found.partitions
        there = tuple(each for each in topic.partitions if 0 <= each < count)
        rows = tuple(
            OffsetDeleteResponsePartition(
                partition_index=each, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            for each in topic.partitions
            if not 0 <= each < count
        )
        if there or not topic.partitions:
            known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=there))
        if rows:
            refused.append(OffsetDeleteResponseTopic(name=topic.name, partitions=rows))
    settled = OffsetDeleteResponse(topics=tuple(refused))
    return Split((settled, Part(request.group_id or "", evolve(request, topics=tuple(known)))))


# --- OffsetFetch ---


def fetch_in_one(request: OffsetFetchRequest, view: ClusterView) -> str | None:
    """The one group that is asked for, where the request can go to its shard as it is."""
    if len(request.groups) != 1 or _goes_by_id(request, view):
        return None
    return request.groups[0].group_id


def split_fetch(request: OffsetFetchRequest, view: ClusterView) -> Split:
    """One slot per group; a group without an id is refused at once."""
    slots: list[Part | Response] = []
    for group in request.groups:
        if group.group_id is None:
            refusal = fetch_refused(group, ErrorCode.INVALID_GROUP_ID, request.api_version)
            slots.append(fetch_answer(request, (refusal,)))
            continue
        wanted = group
        if group.topics is not None and _goes_by_id(request, view):
            wanted = evolve(group, topics=_resolve(group.topics, view))
        slots.append(Part(group.group_id, evolve(request, groups=(wanted,))))
    return Split(tuple(slots))


def _goes_by_id(request: OffsetFetchRequest, view: ClusterView) -> bool:
    return request.api_version >= TOPIC_IDS_SINCE and view.topics is not None


def _resolve(
    topics: tuple[OffsetFetchRequestTopic, ...], view: ClusterView
) -> tuple[OffsetFetchRequestTopic, ...]:
    """Topics by id, with their names; without those that nobody knows."""
    found = ((topic, view.topic_with_id(topic.topic_id)) for topic in topics)
    return tuple(evolve(topic, name=known.name) for topic, known in found if known is not None)


def _with_topic_ids(
    groups: tuple[OffsetFetchResponseGroup, ...], request: OffsetFetchRequest, view: ClusterView
) -> tuple[OffsetFetchResponseGroup, ...]:
    """From version 10 topics go by id: unknown ones last, and all-fetches without them."""
    if not _goes_by_id(request, view):
        return groups
    finished = []
    for wanted, group in zip(request.groups, groups, strict=True):
        if group.error_code is not ErrorCode.NONE:
            finished.append(group)
        elif wanted.topics is None:
            known = ((topic, view.topic_named(topic.name)) for topic in group.topics)
            topics = tuple(evolve(t, topic_id=it.topic_id) for t, it in known if it is not None)
            finished.append(evolve(group, topics=topics))
        else:
            unknown = (t for t in wanted.topics if view.topic_with_id(t.topic_id) is None)
            rows = tuple(map(_unknown_topic, unknown))
            finished.append(evolve(group, topics=group.topics + rows))
    return tuple(finished)


def _unknown_topic(topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic:
    rows = tuple(
        OffsetFetchResponsePartition(partition_index=each, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        for each in topic.partition_indexes
    )
    return OffsetFetchResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=rows)


# --- DeleteGroups ---


def split_delete(request: DeleteGroupsRequest, shard_of: Callable[[str], int]) -> Split:
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
    parts = (
        Part(names[0], evolve(request, groups_names=tuple(names)))
        for _, names in sorted(by_shard.items())
    )
    return Split((DeleteGroupsResponse(results=tuple(refused)), *parts))
