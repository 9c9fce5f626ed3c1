"""What a consumer knows of the cluster at one moment: Kafka's `MetadataSnapshot` and `Cluster`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from client.errors import AnyError
from client.partitions import BrokerNode, LeaderAndEpoch, TopicPartition
from coordinator.errors import ErrorCode


@frozen(kw_only=True)
class PartitionMetadata:
    """One partition as metadata tells of it."""

    partition: TopicPartition
    leader_id: int | None = None
    leader_epoch: int | None = None
    replica_ids: tuple[int, ...] = ()
    offline_replica_ids: tuple[int, ...] = ()
    error: AnyError = ErrorCode.NONE


@frozen(kw_only=True)
class ClusterView:
    """Brokers and partitions, as of one Metadata reply or merged from several."""

    nodes: tuple[BrokerNode, ...] = ()
    partitions: Mapping[TopicPartition, PartitionMetadata] = field(factory=dict)
    topic_ids: Mapping[str, str] = field(factory=dict)
    unauthorized_topics: frozenset[str] = frozenset()
    invalid_topics: frozenset[str] = frozenset()
    internal_topics: frozenset[str] = frozenset()
    _by_topic: Mapping[str, tuple[PartitionMetadata, ...]] = field(init=False, eq=False)
    _by_id: Mapping[int, BrokerNode] = field(init=False, eq=False)
    #: Those that were asked for, so far.
    _leaders: dict[TopicPartition, LeaderAndEpoch] = field(init=False, eq=False, factory=dict)

    @_by_topic.default
    def _partitions_by_topic(self) -> Mapping[str, tuple[PartitionMetadata, ...]]:
        by_topic: dict[str, list[PartitionMetadata]] = {}
        for partition in sorted(self.partitions):
            by_topic.setdefault(partition.topic, []).append(self.partitions[partition])
        return {topic: tuple(found) for topic, found in by_topic.items()}

    @_by_id.default
    def _nodes_by_id(self) -> Mapping[int, BrokerNode]:
        return {node.id: node for node in self.nodes}

    @property
    def topics(self) -> Iterable[str]:
        """The topics that have partitions, by name."""
        return self._by_topic.keys()

    def node(self, node_id: int | None) -> BrokerNode | None:
        """The broker of that id, if it is known."""
        return None if node_id is None else self._by_id.get(node_id)

    def leader_of(self, partition: TopicPartition) -> LeaderAndEpoch | None:
        """The leader of a partition and since which epoch; None if the partition is not known."""
        leader = self._leaders.get(partition)
        if leader is None and (known := self.partitions.get(partition)) is not None:
            leader = LeaderAndEpoch(self.node(known.leader_id), known.leader_epoch)
            self._leaders[partition] = leader
        return leader

    def partitions_of(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """A topic's partitions in ascending order; none for a topic that is not known."""
        return self._by_topic.get(topic, ())

    def online_replica(self, partition: TopicPartition, node_id: int) -> BrokerNode | None:
        """That broker, if it holds a replica of the partition that is not offline."""
        node, found = self.node(node_id), self.partitions.get(partition)
        if node is None or found is None or node_id in found.offline_replica_ids:
            return None
        return node if node_id in found.replica_ids else None

    def racks_of(self, partition: PartitionMetadata) -> frozenset[str | None]:
        """The racks of a partition's replicas; None among them where one is not known."""
        nodes = (self.node(replica) for replica in partition.replica_ids)
        return frozenset(None if node is None else node.rack for node in nodes)


@frozen
class PlainMetadata:
    """A view in which nothing is amiss, and the leader epochs in it. Who shares it changes none."""

    view: ClusterView
    epochs: Mapping[TopicPartition, int]
