"""What is true of the cluster at the moment: brokers, topics, who leads what.

Every broker answers from here, so all of them know the same at the same time; who leads a
partition changes only by `lead`.
"""

from __future__ import annotations

from hashlib import blake2b

from attrs import define, field

from client.messages import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from coordinator import ClusterView, ErrorCode, Topic
from coordinator.protocol import Node
from simulation.logs import PartitionLog

OFFSETS_TOPIC = "__consumer_offsets"
REPLICAS_MAX = 3
PORT = 9092

TopicPartition = tuple[str, int]


def host_of(broker: int) -> str:
    """A broker's host name."""
    return f"broker{broker}"


def replicas_of(brokers: tuple[int, ...], partition: int) -> tuple[int, ...]:
    """The brokers that have a partition of a topic; the first that is up leads it."""
    first = partition % len(brokers)
    return (brokers[first:] + brokers[:first])[:REPLICAS_MAX]


@define(eq=False)
class SimulatedTopic:
    """A topic: its logs, and who leads them."""

    name: str
    topic_id: str
    logs: list[PartitionLog]
    leaders: list[int | None]
    replicas: list[tuple[int, ...]]
    retention_ms: int | None = None


@define(eq=False)
class SimulatedCluster:
    """Brokers by id, which of them are up, topics by name, leaders of the offsets topic."""

    brokers: tuple[int, ...]
    offsets_partitions: int
    seed: int = 0
    up: set[int] = field(init=False)
    topics: dict[str, SimulatedTopic] = field(factory=dict, init=False)
    offsets_leaders: dict[int, int | None] = field(init=False)
    #: Counts every change that metadata would show.
    version: int = field(default=0, init=False)
    _made: int = field(default=0, init=False)
    _view: tuple[int, ClusterView] | None = field(default=None, init=False)
    _answers: dict[tuple[int, tuple[str, ...] | None], MetadataResponse] = field(
        factory=dict, init=False
    )

    @up.default
    def _all_up(self) -> set[int]:
        return set(self.brokers)

    @offsets_leaders.default
    def _spread(self) -> dict[int, int | None]:
        return {
            shard: self.brokers[shard % len(self.brokers)]
            for shard in range(self.offsets_partitions)
        }

    # --- changing ---

    def create_topic(self, name: str, partitions: int, retention_ms: int | None) -> SimulatedTopic:
        """A topic, its partitions spread over the brokers."""
        if name in self.topics:
            raise ValueError(f"the topic {name} exists already")
        self._made += 1
        digest = blake2b(f"{self.seed}/topic/{self._made}".encode(), digest_size=16).hexdigest()
        topic = SimulatedTopic(name, digest, [], [], [], retention_ms)
        self.topics[name] = topic
        self.add_partitions(name, partitions)
        return topic

    def add_partitions(self, name: str, total: int) -> None:
        """Let a topic have so many partitions."""
        topic = self.topics[name]
        if total < len(topic.logs):
            raise ValueError(
                f"{name} has {len(topic.logs)} partitions and can only gain, not {total}"
            )
        for partition in range(len(topic.logs), total):
            replicas = replicas_of(self.brokers, partition)
            topic.logs.append(PartitionLog(topic.retention_ms))
            topic.replicas.append(replicas)
            topic.leaders.append(next((each for each in replicas if each in self.up), None))
        self.version += 1

    def delete_topic(self, name: str) -> SimulatedTopic:
        """Let a topic be gone."""
        self.version += 1
        return self.topics.pop(name)

    def broker_down(self, broker: int, now_ms: int) -> list[int]:
        """A broker is gone: others lead its partitions; the shards it led have no leader yet."""
        self.up.discard(broker)
        self._elect(now_ms)
        orphans = [shard for shard, leader in self.offsets_leaders.items() if leader == broker]
        for shard in orphans:
            self.offsets_leaders[shard] = None
        self.version += 1
        return orphans

    def broker_up(self, broker: int, now_ms: int) -> None:
        """A broker is back; it leads what has no leader."""
        self.up.add(broker)
        self._elect(now_ms)
        self.version += 1

    def lead_shard(self, shard: int, broker: int | None) -> None:
        """Let a broker lead a partition of the offsets topic."""
        self.offsets_leaders[shard] = broker
        self.version += 1

    def heir_of(self, shard: int) -> int | None:
        """Who would lead a partition of the offsets topic if its leader died."""
        first = shard % len(self.brokers)
        in_order = self.brokers[first:] + self.brokers[:first]
        return next((each for each in in_order if each in self.up), None)

    def _elect(self, now_ms: int) -> None:
        for topic in self.topics.values():
            for partition, leader in enumerate(topic.leaders):
                if leader in self.up:
                    continue
                heir = next((each for each in topic.replicas[partition] if each in self.up), None)
                topic.leaders[partition] = heir
                if heir is not None:
                    log = topic.logs[partition]
                    log.lead_from(log.epoch + 1, now_ms)

    # --- asking ---

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """A partition's log, if there is such a partition."""
        topic = self.topics.get(partition[0])
        if topic is None or not 0 <= partition[1] < len(topic.logs):
            return None
        return topic.logs[partition[1]]

    def view(self) -> ClusterView:
        """The cluster as a coordinator looks at it."""
        if self._view is None or self._view[0] != self.version:
            leaders = {
                shard: Node(node_id=leader, host=host_of(leader), port=PORT)
                for shard, leader in self.offsets_leaders.items()
                if leader is not None
            }
            topics = {
                name: Topic(name, len(topic.logs), topic.topic_id)
                for name, topic in sorted(self.topics.items())
            }
            self._view = self.version, ClusterView(offsets_leaders=leaders, topics=topics)
        return self._view[1]

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        """The cluster as a client sees it."""
        key = (self.version, request.topics)
        found = self._answers.get(key)
        if found is None:
            if next(iter(self._answers), key)[0] != self.version:
                self._answers.clear()
            found = self._answers[key] = self._metadata(request.topics)
        return found

    def _metadata(self, names: tuple[str, ...] | None) -> MetadataResponse:
        wanted = tuple(sorted(self.topics)) if names is None else names
        return MetadataResponse(
            brokers=tuple(
                MetadataResponseBroker(node_id=broker, host=host_of(broker), port=PORT)
                for broker in sorted(self.up)
            ),
            topics=tuple(map(self._topic_metadata, wanted)),
        )

    def _topic_metadata(self, name: str) -> MetadataResponseTopic:
        topic = self.topics.get(name)
        if topic is None:
            return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponseTopic(
            name=name,
            topic_id=topic.topic_id,
            partitions=tuple(
                self._partition_metadata(topic, partition) for partition in range(len(topic.logs))
            ),
        )

    def _partition_metadata(
        self, topic: SimulatedTopic, partition: int
    ) -> MetadataResponsePartition:
        leader, replicas = topic.leaders[partition], topic.replicas[partition]
        return MetadataResponsePartition(
            partition_index=partition,
            leader_id=-1 if leader is None else leader,
            leader_epoch=topic.logs[partition].epoch,
            replica_nodes=replicas,
            offline_replicas=tuple(each for each in replicas if each not in self.up),
            error_code=ErrorCode.NONE if leader is not None else ErrorCode.LEADER_NOT_AVAILABLE,
        )
