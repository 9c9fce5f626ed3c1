"""The periodic cleanup of a shard (KIP-211), and what the end of a topic takes with it."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.cluster import Topic
from coordinator.events import EventKind
from coordinator.group import Group
from coordinator.offsets import forget
from coordinator.protocol import ZERO_TOPIC_ID
from coordinator.records import GroupRecord, OffsetAndMetadata
from coordinator.shard import Shard
from coordinator.states import EMPTY, STABLE
from coordinator.step import Step
from coordinator.timers import ExpiryTimer
from coordinator.writes import ExpiryRun


def on_expiry_timer(shard: Shard, step: Step) -> None:
    """Remove what has expired, and groups that have nothing left; come back in an interval."""
    for group_id in sorted(shard.groups):
        group = shard.groups[group_id]
        if _expire_offsets(group, shard, step) and group.state is EMPTY:
            remove_group(group, "it was empty and had no offsets left", step)
    step.then = ExpiryRun()
    set_expiry_timer(shard, step)


def set_expiry_timer(shard: Shard, step: Step) -> None:
    """Look again after one interval."""
    step.set_timer(ExpiryTimer(shard.index), shard.config.offsets_retention_check_interval_ms)


def _expire_offsets(group: Group, shard: Shard, step: Step) -> bool:
    """Forget the group's expired offsets; True if none is left."""
    offsets = shard.offsets_of(group.group_id, committed=False)
    if not offsets:
        return True
    if not may_expire(group):
        return False
    # A calm group has many offsets of few topics, all of which it reads.
    topics = {topic for topic, _ in offsets}
    unread = {topic for topic in topics if not group.is_subscribed_to(topic)}
    if not unread:
        return False
    expired = [
        place
        for place in sorted(offsets)
        if place[0] in unread and is_expired(group, offsets[place], shard, step)
    ]
    for place in expired:
        forget(group.group_id, place, "it expired", step)
    return len(expired) == len(offsets)


def may_expire(group: Group) -> bool:
    """Does anything of this group expire: without a type always, else only in calm states."""
    if group.protocol_type is None or group.state is EMPTY:
        return True
    return group.is_consumer_group and group.state is STABLE and group.subscribed_topics is not None


def is_expired(group: Group, value: OffsetAndMetadata, shard: Shard, step: Step) -> bool:
    """By its own expiry if it was committed with one, else by the retention from its base time."""
    if value.expire_timestamp_ms is not None:
        return step.now_ms >= value.expire_timestamp_ms
    base_ms = value.commit_timestamp_ms
    is_abandoned = group.protocol_type is not None and group.state is EMPTY
    if is_abandoned and group.state_since_ms is not None:
        base_ms = group.state_since_ms
    return step.now_ms - base_ms >= shard.config.offsets_retention_ms


def remove_group(group: Group, why: str, step: Step) -> None:
    """Write the tombstone of a group; its offsets' tombstones stand before it."""
    step.records.append(GroupRecord(group_id=group.group_id, value=None))
    step.tell(EventKind.GROUP_REMOVED, group, detail=why)


def on_topics_deleted(shard: Shard, topics: Iterable[Topic], step: Step) -> None:
    """Forget the offsets of topics that are gone, in all groups; another id is another topic."""
    gone = {topic.name: topic.topic_id for topic in topics}
    for group_id in sorted(shard.offsets):
        offsets = shard.offsets[group_id]
        for place in sorted(offsets):
            topic_id = gone.get(place[0])
            if topic_id is not None and offsets[place].topic_id in (ZERO_TOPIC_ID, topic_id):
                forget(group_id, place, "its topic was deleted", step)
