"""OffsetCommit, OffsetFetch and OffsetDelete: the positions that a group keeps."""

from __future__ import annotations

from functools import lru_cache

from coordinator.errors import ErrorCode
from coordinator.events import Event, EventKind
from coordinator.group import Group
from coordinator.protocol import (
    ZERO_TOPIC_ID,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
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
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from coordinator.records import OffsetAndMetadata, OffsetRecord, TopicPartition
from coordinator.shard import Shard
from coordinator.states import COMMIT_ANSWERS, COMMIT_KEEPS_SESSION, DEAD, EMPTY, NOBODY_THERE
from coordinator.step import Step

_GROUP_ID_NOT_FOUND_SINCE = 9


def commit_offsets(
    shard: Shard, request: OffsetCommitRequest, step: Step
) -> OffsetCommitResponse | None:
    """Remember positions of a member, or of someone who uses a group without members."""
    assert request.group_id is not None
    group = shard.groups.get(request.group_id)
    if group is None:
        if request.generation_id >= 0:
            is_new = request.api_version >= _GROUP_ID_NOT_FOUND_SINCE
            error = ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION
            step.reply(request, commit_refused(request, error))
            return None
        group = shard.create_group(request.group_id, step.now_ms)
        step.tell(EventKind.GROUP_CREATED, group, detail="for offsets without members")
    refusal = commit_refusal_of(group, request)
    if refusal is not None:
        step.tell(
            EventKind.COMMIT_REFUSED, group, member_id=request.member_id or None, error=refusal
        )
        step.reply(request, commit_refused(request, refusal))
        return None
    if COMMIT_KEEPS_SESSION[group.state]:
        step.keep_session(group.members[request.member_id])
    return _store(request, step)


def commit_refused(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """The same error for every partition."""
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=error
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def commit_refusal_of(group: Group, request: OffsetCommitRequest) -> ErrorCode | None:
    """Why a commit is not accepted; an Empty group takes one without a generation from anybody."""
    if group.state is EMPTY and request.generation_id < 0:
        return None
    if group.state in NOBODY_THERE:
        return COMMIT_ANSWERS[group.state]
    is_anonymous = (
        request.generation_id < 0 and request.member_id == "" and request.group_instance_id is None
    )
    if is_anonymous:
        return ErrorCode.UNKNOWN_MEMBER_ID
    refusal = group.refusal_of(request.member_id, request.group_instance_id)
    if refusal is not None:
        return refusal
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    answer = COMMIT_ANSWERS[group.state]
    return None if answer is ErrorCode.NONE else answer


def _store(request: OffsetCommitRequest, step: Step) -> OffsetCommitResponse:
    expire_ms = None
    if request.retention_time_ms != -1:  # only versions 2 to 4 can carry one
        expire_ms = step.now_ms + request.retention_time_ms
    longest = step.shard.config.offset_metadata_max_bytes
    topics = []
    for topic in request.topics:
        rows = []
        for each in topic.partitions:
            metadata = each.committed_metadata
            if metadata and is_metadata_too_large(metadata, longest):
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                error = ErrorCode.NONE
                _put(request, topic, each, expire_ms, step)
            rows.append(row_of(each.partition_index, error))
        topics.append(
            OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=tuple(rows)
            )
        )
    return OffsetCommitResponse(topics=tuple(topics))


@lru_cache(maxsize=4_096)
def row_of(partition: int, error: ErrorCode = ErrorCode.NONE) -> OffsetCommitResponsePartition:
    """What is said of one partition, nearly always the same."""
    return OffsetCommitResponsePartition(partition_index=partition, error_code=error)


def is_metadata_too_large(metadata: str, longest: int) -> bool:
    """Kafka's setting speaks of bytes, but it counts Java characters (UTF-16 units)."""
    if metadata.isascii():
        return len(metadata) > longest
    return len(metadata.encode("utf-16-be", "surrogatepass")) // 2 > longest


def _put(
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    each: OffsetCommitRequestPartition,
    expire_ms: int | None,
    step: Step,
) -> None:
    """Write a position down, and say so."""
    group_id, name, partition = request.group_id, topic.name, each.partition_index
    assert group_id is not None
    value = OffsetAndMetadata(
        committed_offset=each.committed_offset,
        leader_epoch=each.committed_leader_epoch,
        metadata=each.committed_metadata or "",
        commit_timestamp_ms=step.now_ms,
        expire_timestamp_ms=expire_ms,
        topic_id=topic.topic_id,
    )
    step.records.append(
        OffsetRecord(group_id=group_id, topic=name, partition=partition, value=value)
    )
    step.events.append(
        Event(
            kind=EventKind.OFFSET_COMMITTED,
            group_id=group_id,
            member_id=request.member_id or None,
            generation_id=request.generation_id,
            topic=name,
            partition=partition,
            offset=each.committed_offset,
        )
    )


def fetch(shard: Shard, request: OffsetFetchRequest, *, committed: bool) -> OffsetFetchResponse:
    """The one group of a part of a fetch."""
    (group,) = request.groups
    return OffsetFetchResponse(groups=(fetch_offsets(shard, group, committed=committed),))


def fetch_stable(shard: Shard, request: OffsetFetchRequest, _step: Step) -> OffsetFetchResponse:
    """A fetch that waits for earlier writes sees what they wrote."""
    return fetch(shard, request, committed=False)


def fetch_offsets(
    shard: Shard, group: OffsetFetchRequestGroup, *, committed: bool
) -> OffsetFetchResponseGroup:
    """What is committed; an absent group simply has nothing, and the state does not matter."""
    assert group.group_id is not None
    known = shard.committed_group(group.group_id) if committed else shard.groups.get(group.group_id)
    is_there = known is not None and known.state is not DEAD
    offsets = shard.offsets_of(group.group_id, committed=committed) if is_there else {}
    if group.topics is None:
        topics = _all_topics(offsets)
    else:
        topics = tuple(_named_topic(topic, offsets) for topic in group.topics)
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def _all_topics(
    offsets: dict[TopicPartition, OffsetAndMetadata],
) -> tuple[OffsetFetchResponseTopic, ...]:
    by_topic: dict[str, list[OffsetFetchResponsePartition]] = {}
    for topic, partition in sorted(offsets):
        row = _row(partition, offsets[topic, partition])
        by_topic.setdefault(topic, []).append(row)
    return tuple(
        OffsetFetchResponseTopic(name=name, partitions=tuple(rows))
        for name, rows in by_topic.items()
    )


def _named_topic(
    topic: OffsetFetchRequestTopic, offsets: dict[TopicPartition, OffsetAndMetadata]
) -> OffsetFetchResponseTopic:
    rows = []
    for partition in topic.partition_indexes:
        value = offsets.get((topic.name, partition))
        if value is not None and not _is_same_topic(value.topic_id, topic.topic_id):
            value = None
        rows.append(_row(partition, value))
    return OffsetFetchResponseTopic(
        name=topic.name, topic_id=topic.topic_id, partitions=tuple(rows)
    )


def _is_same_topic(stored: str, wanted: str) -> bool:
    """No id on either side matches anything."""
    return ZERO_TOPIC_ID in (stored, wanted) or stored == wanted


def _row(partition: int, value: OffsetAndMetadata | None) -> OffsetFetchResponsePartition:
    if value is None:
        return OffsetFetchResponsePartition(partition_index=partition)
    return OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=value.committed_offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
    )


def delete_offsets(
    shard: Shard, request: OffsetDeleteRequest, step: Step
) -> OffsetDeleteResponse | None:
    """Forget positions of topics that nobody in the group is subscribed to."""
    assert request.group_id is not None
    group = shard.groups.get(request.group_id)
    if group is None or group.state is DEAD:
        step.reply(request, OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND))
        return None
    if group.state is not EMPTY and not group.is_consumer_group:
        step.reply(request, OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP))
        return None
    topics = tuple(_delete_topic(group, topic, step) for topic in request.topics)
    return OffsetDeleteResponse(topics=topics)


def _delete_topic(
    group: Group, topic: OffsetDeleteRequestTopic, step: Step
) -> OffsetDeleteResponseTopic:
    error = ErrorCode.NONE
    if group.is_subscribed_to(topic.name):
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    else:
        known = step.shard.offsets_of(group.group_id, committed=False)
        for partition in topic.partitions:
            if (topic.name, partition) in known:
                forget(group.group_id, (topic.name, partition), "it was deleted", step)
    rows = tuple(
        OffsetDeleteResponsePartition(partition_index=partition, error_code=error)
        for partition in topic.partitions
    )
    return OffsetDeleteResponseTopic(name=topic.name, partitions=rows)


def forget(group_id: str, place: TopicPartition, why: str, step: Step) -> None:
    """Write the tombstone of a position."""
    topic, partition = place
    step.records.append(
        OffsetRecord(group_id=group_id, topic=topic, partition=partition, value=None)
    )
    step.events.append(
        Event(
            kind=EventKind.OFFSET_REMOVED,
            group_id=group_id,
            topic=topic,
            partition=partition,
            detail=why,
        )
    )
