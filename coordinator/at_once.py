"""The short ways: what a group in order makes of a heartbeat or a commit, in one go.

Nothing is under way in the shard, the caller is a member, and nothing is wrong with what it says:
then what the handlers do, step by step, comes to this. Whatever is out of the ordinary is None
here, and left to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from coordinator.cluster import Topic
from coordinator.errors import ErrorCode
from coordinator.heartbeat import ANSWERS
from coordinator.member import Member
from coordinator.offsets import row_of
from coordinator.parts import TOPIC_IDS_SINCE
from coordinator.protocol import (
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from coordinator.records import (
    OffsetAndMetadata,
    OffsetRecord,
    TopicPartition,
    position,
    record_of_position,
)
from coordinator.shard import Shard
from coordinator.standing import Standing
from coordinator.states import COMMIT_ANSWERS, COMMIT_KEEPS_SESSION, NOBODY_THERE
from coordinator.timers import SetTimer

#: What a member of the current generation hears, where there can be one.
_ANSWERS_TO_MEMBERS = {
    state: answer for state, answer in ANSWERS.items() if state not in NOBODY_THERE
}
#: Where a commit of a member of the current generation is taken, and keeps its session.
_TAKING_COMMITS = frozenset(
    state
    for state, answer in COMMIT_ANSWERS.items()
    if answer is ErrorCode.NONE and COMMIT_KEEPS_SESSION[state]
)


class Committed(NamedTuple):
    """A commit that is taken: what the log keeps, the answer, and the member's session anew."""

    shard: int
    records: tuple[OffsetRecord, ...]
    #: Whether any position is another than the one that was committed before.
    is_news: bool
    response: OffsetCommitResponse
    session: SetTimer


class Beaten(NamedTuple):
    """A heartbeat that is answered, and the member's session anew."""

    response: HeartbeatResponse
    session: SetTimer


def beat_at_once(shard: Shard, request: HeartbeatRequest, now_ms: int) -> Beaten | None:
    """Answer a member's heartbeat; None if it is not a plain one."""
    group = shard.groups.get(request.group_id) if request.group_id else None
    if group is None or shard.waiting.writes:
        return None
    member_id, instance_id = request.member_id, request.group_instance_id
    member = group.members.get(member_id)
    answer = _ANSWERS_TO_MEMBERS.get(group.state)
    if (
        member is None
        or answer is None
        or request.generation_id != group.generation_id
        or (instance_id is not None and group.static_members.get(instance_id) != member_id)
    ):
        return None
    return tuple.__new__(Beaten, (answer, _kept_session(shard, member, now_ms)))


def commit_at_once(
    shard: Shard,
    request: OffsetCommitRequest,
    topics: Mapping[str, Topic],
    now_ms: int,
) -> Committed | None:
    """Take a member's commit of positions in these topics; None if it is not a plain one.

    The caller's log must take what is committed at once: nothing here can be taken back.
    """
    group_id = request.group_id or ""
    known, member = shard.offsets.get(group_id), _member_that_commits(shard, request)
    if (
        known is None
        or member is None
        or request.retention_time_ms != -1
        or request.api_version >= TOPIC_IDS_SINCE
    ):
        return None
    records: list[OffsetRecord] = []
    values: dict[TopicPartition, OffsetAndMetadata] = {}
    answers: list[tuple[str, str, tuple[int, ...]]] = []
    is_news = False
    for topic in request.topics:
        name, partitions = topic.name, topic.partitions
        found = topics.get(name)
        if found is None or not partitions:
            return None
        count, topic_id = found.partitions, found.topic_id
        said = []
        for each in partitions:
            partition, offset = each.partition_index, each.committed_offset
            if each.committed_metadata or not 0 <= partition < count:
                return None
            place = (name, partition)
            stored = known.get(place)
            if stored is None or stored.committed_offset != offset:
                is_news = True
            value = position(offset, each.committed_leader_epoch, now_ms, topic_id)
            values[place] = value
            records.append(record_of_position(group_id, name, partition, value))
            said.append(partition)
        answers.append((name, topic_id, tuple(said)))
    is_twice = len(answers) > 1 and len({name for name, _, _ in answers}) != len(answers)
    if is_twice or not records:
        return None
    known.update(values)
    session, response = _kept_session(shard, member, now_ms), _answer_to(tuple(answers))
    return tuple.__new__(Committed, (shard.index, tuple(records), is_news, response, session))


def commit_again(
    shard: Shard, standing: Standing, topics: Mapping[str, Topic], now_ms: int
) -> SetTimer | None:
    """Take once more a commit that stands; the member's session anew.

    None if anybody else has committed, or anything was forgotten or deleted since.
    """
    member = _member_that_commits(shard, standing.request)
    if member is None or not shard.take_again(standing, topics, now_ms):
        return None
    return _kept_session(shard, member, now_ms)


def _member_that_commits(shard: Shard, request: OffsetCommitRequest) -> Member | None:
    """The member whose commit can be taken now, and keeps its session."""
    group = shard.groups.get(request.group_id or "")
    if group is None or shard.waiting.writes or shard.journal.changes:
        return None
    member_id, instance_id = request.member_id, request.group_instance_id
    if (
        group.state not in _TAKING_COMMITS
        or request.generation_id != group.generation_id
        or (instance_id is not None and group.static_members.get(instance_id) != member_id)
    ):
        return None
    return group.members.get(member_id)


def _kept_session(shard: Shard, member: Member, now_ms: int) -> SetTimer:
    """A member's session, begun anew."""
    timer = member.session_timer
    # A tuple with names, without the call of its class.
    session = tuple.__new__(SetTimer, (timer, now_ms + member.session_timeout_ms))
    shard.timers[timer] = session
    return session


@lru_cache(maxsize=1_024)
def _answer_to(topics: tuple[tuple[str, str, tuple[int, ...]], ...]) -> OffsetCommitResponse:
    """What is said of these topics and partitions of theirs; mostly the same as the last time."""
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=name, topic_id=topic_id, partitions=tuple(map(row_of, partitions))
            )
            for name, topic_id, partitions in topics
        )
    )
