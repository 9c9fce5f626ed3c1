"""When metadata is refreshed, for which topics, and what is kept of the answers.

Kafka's `Metadata` and `ConsumerMetadata`. Which broker is asked is decided in `client.network`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs
from attrs import define, field, frozen

from client.backoff import ExponentialBackoff
from client.cluster import ClusterView, PartitionMetadata
from client.errors import (
    InvalidTopicException,
    KafkaException,
    TopicAuthorizationException,
    is_stale_metadata,
)
from client.messages import MetadataResponse, MetadataResponseTopic
from client.partitions import BrokerNode, LeaderAndEpoch, TopicPartition
from client.subscription import SubscriptionState
from client.timers import LONG_AGO, NEVER
from coordinator.errors import ErrorCode
from coordinator.protocol import ZERO_TOPIC_ID


@frozen
class MetadataWanted:
    """What the next Metadata request asks for; `topics` None means all."""

    topics: tuple[str, ...] | None
    request_version: int


@define(eq=False, kw_only=True, repr=False)
class ConsumerMetadata:
    """The present view of the cluster and the wish for a newer one."""

    bootstrap_nodes: tuple[BrokerNode, ...]
    subscriptions: SubscriptionState
    refresh_backoff: ExponentialBackoff
    metadata_max_age_ms: int
    excludes_internal_topics: bool
    view: ClusterView = field(factory=ClusterView)
    #: Counts every new view, also the empty one after a fresh start.
    update_version: int = 0
    last_refresh_ms: int = LONG_AGO
    last_successful_refresh_ms: int = LONG_AGO
    #: A time before which no refresh is due, and how long it is to the next one needs no thought.
    fresh_until_ms: int = LONG_AGO
    #: When the present view is too old.
    expires_ms: int = LONG_AGO
    #: Whether the last answer spoke of topics that must not be used.
    has_error: bool = False
    _request_version: int = 0
    _attempts: int = 0
    _equivalent_responses: int = 0
    _needs_update: bool = False
    _needs_new_topics: bool = False
    #: Often those of an answer, which others share: to be replaced, not changed.
    _last_seen_epochs: Mapping[TopicPartition, int] = field(factory=dict)
    _transient_topics: set[str] = field(factory=set)
    _unauthorized_topics: frozenset[str] = frozenset()
    _invalid_topics: frozenset[str] = frozenset()

    # --- asking -----------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[BrokerNode, ...]:
        """The brokers that can be asked, by id; at the start, the bootstrap addresses."""
        return self.view.nodes

    @property
    def update_requested(self) -> bool:
        """Whether somebody wants a newer view."""
        return self._needs_update or self._needs_new_topics

    def time_to_allow_update_ms(self, now_ms: int) -> int:
        """How long the back-off since the last answer still lasts."""
        if self.expires_ms <= now_ms:
            self._equivalent_responses = 0
        if now_ms - self.last_refresh_ms > self.refresh_backoff.longest_ms:
            return 0  # No draw can matter here, so none is made.
        failed_ms = self.refresh_backoff.backoff_ms(max(self._attempts - 1, 0))
        same_ms = 0
        if self._equivalent_responses > 0:
            same_ms = self.refresh_backoff.backoff_ms(self._equivalent_responses - 1)
        return max(self.last_refresh_ms + max(failed_ms, same_ms) - now_ms, 0)

    def time_to_next_update_ms(self, now_ms: int) -> int:
        """How long until the next refresh is due."""
        if now_ms < self.fresh_until_ms:
            return self.expires_ms - now_ms
        expires_ms = 0
        if not (self._needs_update or self._needs_new_topics):
            expires_ms = self.expires_ms - now_ms
        return max(expires_ms, self.time_to_allow_update_ms(now_ms))

    def undecided_from_ms(self, now_ms: int) -> int:
        """From when on somebody's wish, or a draw, decides when the view is refreshed."""
        if self._needs_update or self._needs_new_topics:
            return LONG_AGO
        longest_ms = self.refresh_backoff.longest_ms
        if max(now_ms, self.fresh_until_ms) - self.last_refresh_ms > longest_ms:
            return NEVER  # It will expire, and no back-off can still hold that up.
        return self.fresh_until_ms

    def current_leader(self, partition: TopicPartition) -> LeaderAndEpoch:
        """The leader, unless a newer epoch has been seen than the view knows of."""
        seen = self._last_seen_epochs.get(partition)
        leader = self.view.leader_of(partition)
        if leader is None or (seen is not None and leader.epoch != seen):
            return LeaderAndEpoch(None, seen)
        return leader

    def maybe_throw_any(self) -> None:
        """Raise, once, what the last answer said of topics that must not be used."""
        if not self.has_error:
            return
        unauthorized, invalid = self._unauthorized_topics, self._invalid_topics
        self._unauthorized_topics = self._invalid_topics = frozenset()
        self.has_error = False
        error: KafkaException
        if unauthorized:
            error = TopicAuthorizationException(f"not authorized: {sorted(unauthorized)}")
        else:
            error = InvalidTopicException(f"invalid topics: {sorted(invalid)}")
        raise error

    # --- wishes -----------------------------------------------------------------------------------

    def request_update(self, *, forget_equivalent: bool = False) -> int:
        """Want a full refresh; the version returned is the one to be surpassed."""
        self._needs_update = True
        self.fresh_until_ms = LONG_AGO
        if forget_equivalent:
            self._equivalent_responses = 0
        return self.update_version

    def request_update_for_new_topics(self) -> None:
        """Want the topics of the new subscription, at once."""
        self.last_refresh_ms = self.fresh_until_ms = LONG_AGO
        self._needs_new_topics = True
        self._equivalent_responses = 0
        self._request_version += 1

    def update_last_seen_epoch_if_newer(self, partition: TopicPartition, epoch: int) -> None:
        """Remember that a newer leader epoch exists; then the view is out of date."""
        known = self._last_seen_epochs.get(partition)
        if known is not None and epoch > known:
            self._last_seen_epochs = {**self._last_seen_epochs, partition: epoch}
            self.request_update()

    def add_transient_topics(self, topics: Iterable[str]) -> None:
        """Also want these topics for a while."""
        wanted = set(topics)
        self._transient_topics |= wanted
        if not wanted <= set(self.view.topics):
            self.request_update_for_new_topics()

    def clear_transient_topics(self) -> None:
        """No longer want them."""
        self._transient_topics.clear()

    def next_request(self) -> MetadataWanted:
        """What to ask for now: always everything, a consumer never asks for new topics alone."""
        topics: tuple[str, ...] | None = None
        if not self.subscriptions.has_pattern_subscription:
            wanted = self.subscriptions.metadata_topics | self._transient_topics
            topics = tuple(sorted(wanted))
        return MetadataWanted(topics, self._request_version)

    # --- answers ----------------------------------------------------------------------------------

    def bootstrap(self) -> None:
        """Begin with the bootstrap addresses; whatever was known is forgotten."""
        self.request_update()
        self.update_version += 1
        self.view = ClusterView(nodes=self.bootstrap_nodes)

    def failed_update(self, now_ms: int) -> None:
        """A request for metadata ended badly."""
        self.last_refresh_ms = now_ms
        self._attempts += 1
        self._equivalent_responses = 0

    def update(self, reply: MetadataResponse, request_version: int, now_ms: int) -> None:
        """Take over an answer to the request of that version."""
        self._needs_new_topics = request_version < self._request_version
        self._needs_update = False
        self.last_refresh_ms = self.last_successful_refresh_ms = now_ms
        self.expires_ms = now_ms + self.metadata_max_age_ms
        self.fresh_until_ms = LONG_AGO
        if not self._needs_new_topics:
            self.fresh_until_ms = self.expires_ms - self.refresh_backoff.longest_ms
        self._attempts = 0
        self.update_version += 1
        self._equivalent_responses += 1
        self.view = self._view_of(reply)
        self._unauthorized_topics = self.view.unauthorized_topics
        self._invalid_topics = self.view.invalid_topics
        self.has_error = bool(self._unauthorized_topics or self._invalid_topics)

    def update_partition_leadership(
        self, leaders: dict[TopicPartition, tuple[int, int]], new_nodes: Iterable[BrokerNode]
    ) -> list[TopicPartition]:
        """Take over newer leaders that a Fetch answer told of; say for which partitions."""
        nodes = {node.id: node for node in self.view.nodes}
        nodes.update((node.id, node) for node in new_nodes)
        updated: dict[TopicPartition, PartitionMetadata] = {}
        for partition, (leader_id, epoch) in leaders.items():
            current = self.current_leader(partition)
            known = self.view.partitions.get(partition)
            if current.epoch is not None and epoch <= current.epoch:
                continue
            if leader_id not in nodes or known is None:
                continue
            updated[partition] = attrs.evolve(known, leader_id=leader_id, leader_epoch=epoch)
            self._last_seen_epochs = {**self._last_seen_epochs, partition: epoch}
        if updated:
            in_order = tuple(nodes[node_id] for node_id in sorted(nodes))
            self.view = attrs.evolve(
                self.view, nodes=in_order, partitions={**self.view.partitions, **updated}
            )
        return list(updated)

    def _view_of(self, reply: MetadataResponse) -> ClusterView:
        retained = [topic for topic in reply.topics if self._retains(topic.name, topic.is_internal)]
        plain = reply.plain
        if plain is not None and len(retained) == len(reply.topics):
            if not self._last_seen_epochs:
                if plain.epochs:
                    self._equivalent_responses = 0
                self._last_seen_epochs = plain.epochs
                return plain.view
            if self.view is plain.view and self._last_seen_epochs is plain.epochs:
                return plain.view
        return self._merged(reply, retained)

    def _merged(
        self, reply: MetadataResponse, retained: list[MetadataResponseTopic]
    ) -> ClusterView:
        """What an answer tells of these topics, where it is not older than what is known."""
        partitions: dict[TopicPartition, PartitionMetadata] = {}
        epochs = dict(self._last_seen_epochs)
        for topic in retained:
            if topic.error_code is ErrorCode.NONE:
                for told in topic.told:
                    latest = self._latest(topic, told, epochs)
                    if latest is not None:
                        partitions[latest.partition] = latest
                    if told.error is not ErrorCode.NONE and is_stale_metadata(told.error):
                        self.request_update()
            elif is_stale_metadata(topic.error_code):
                self.request_update()

        self._last_seen_epochs = {
            partition: epoch
            for partition, epoch in epochs.items()
            if self._retains(partition.topic)
        }

        def named(error: ErrorCode) -> frozenset[str]:
            return frozenset(topic.name for topic in retained if topic.error_code is error)

        return ClusterView(
            nodes=reply.nodes,
            partitions=partitions,
            topic_ids=reply.topic_ids,
            unauthorized_topics=named(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            invalid_topics=named(ErrorCode.INVALID_TOPIC_EXCEPTION),
            internal_topics=frozenset(topic.name for topic in retained if topic.is_internal),
        )

    def _latest(
        self,
        topic: MetadataResponseTopic,
        told: PartitionMetadata,
        epochs: dict[TopicPartition, int],
    ) -> PartitionMetadata | None:
        """The newer of what the answer says and what is known, by leader epoch, which is noted."""
        partition, epoch = told.partition, told.leader_epoch
        if epoch is None:
            epochs.pop(partition, None)
            self._equivalent_responses = 0
            return told
        seen = epochs.get(partition)
        is_same_topic = topic.topic_id in (ZERO_TOPIC_ID, self.view.topic_ids.get(topic.name))
        if seen is not None and is_same_topic and epoch < seen:
            return self.view.partitions.get(partition)
        if seen is None or not is_same_topic or epoch > seen:
            self._equivalent_responses = 0
        epochs[partition] = epoch
        return told

    def _retains(self, topic: str, is_internal: bool = False) -> bool:  # noqa: FBT001, FBT002
        if topic in self._transient_topics or self.subscriptions.needs_metadata(topic):
            return True
        if is_internal and self.excludes_internal_topics:
            return False
        return self.subscriptions.matches_pattern(topic)
