"""What a broker knows of its cluster: who leads what, which topics exist."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from coordinator.protocol import ZERO_TOPIC_ID, Node


@frozen
class Topic:
    """A topic: how many partitions, and the id that tells it from an earlier one of its name."""

    name: str
    partitions: int
    topic_id: str = ZERO_TOPIC_ID


@frozen(kw_only=True)
class ClusterView:
    """The broker's metadata, as far as group coordination looks at it.

    `topics` None means that any topic and partition may be named; a partition of the offsets topic
    that is missing in `offsets_leaders` has no leader.
    """

    offsets_leaders: Mapping[int, Node] = field(factory=dict)
    topics: Mapping[str, Topic] | None = None

    def topic_named(self, name: str) -> Topic | None:
        """The topic of this name."""
        if self.topics is None:
            return Topic(name, 1 << 31)
        return self.topics.get(name)

    def topic_with_id(self, topic_id: str) -> Topic | None:
        """The topic with this id."""
        for topic in (self.topics or {}).values():
            if topic.topic_id == topic_id:
                return topic
        return None
