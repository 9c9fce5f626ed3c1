"""What a leader does for its group: watch the topics of all, and assign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from attrs import define, frozen

from client.assignors import (
    Assignment,
    AssignmentError,
    Assignor,
    Cluster,
    RebalanceProtocol,
    Subscription,
)
from client.cluster import ClusterView
from client.consumer_protocol import decode_subscription, encode_assignment
from client.dispatch import ConsumerNetworkClient
from client.errors import IllegalStateException, TimeoutException
from client.java_maps import sized
from client.metadata import ConsumerMetadata
from client.subscription import SubscriptionState
from client.timers import NEVER
from coordinator.protocol import JoinGroupResponse, SyncGroupRequestAssignment

#: These assign only topics that were subscribed, so nothing new can come from them.
_ASSIGN_FROM_SUBSCRIBED = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})


@lru_cache(maxsize=64)
def _anywhere(partitions: int) -> tuple[frozenset[str | None], ...]:
    """The racks of so many partitions where racks do not matter; all who watch them share it."""
    return (frozenset(),) * partitions


@frozen
class TopicsSnapshot:
    """The watched topics: how many partitions each has, and on which racks if racks matter."""

    version: int
    topics: Mapping[str, tuple[frozenset[str | None], ...]]

    def matches(self, other: TopicsSnapshot) -> bool:
        """Whether an assignment made for one still fits the other."""
        return self.version == other.version or self.topics == other.topics


@define(eq=False, kw_only=True)
class Leading:
    """The leader's duties, and what every member watches in case it leads."""

    client: ConsumerNetworkClient
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState
    client_rack: str
    is_leader: bool = False
    #: The topics as they were when it last looked.
    seen: TopicsSnapshot = TopicsSnapshot(0, {})
    #: The topics as they were when it last assigned; None for who does not lead.
    assigned_for: TopicsSnapshot | None = None
    #: The view that was asked last for what assignors need to know, and the answer.
    _known: tuple[ClusterView, Cluster] | None = None

    @property
    def has_metadata_changed(self) -> bool:
        """Whether this leader's topics are not those it assigned any more."""
        return self.assigned_for is not None and not self.assigned_for.matches(self.seen)

    @property
    def watches_what_it_saw(self) -> bool:
        """Whether another look at the same view would find the same topics."""
        return self.seen.topics.keys() == self.subscriptions.metadata_topics

    def look(self) -> None:
        """Take note of the topics as metadata knows them now."""
        self.seen = self._snapshot()

    def update_subscription_metadata(self) -> None:
        """On a newer view, match the pattern again and take note of the topics."""
        if self.metadata.update_version > self.seen.version:
            if self.subscriptions.has_pattern_subscription:
                self.update_pattern_subscription(self.metadata.view)
            self.look()

    def update_pattern_subscription(self, view: ClusterView) -> None:
        """Subscribe to the topics that match now."""
        matching = filter(self.subscriptions.matches_pattern, view.topics)
        if self.subscriptions.subscribe_from_pattern(matching):
            self.metadata.request_update_for_new_topics()

    def resign(self) -> None:
        """Another join begins; who leads then is open."""
        self.is_leader = False

    def follow_unless_leader(self) -> None:
        """The join is complete; only a leader goes on watching what it assigned."""
        if not self.is_leader:
            self.assigned_for = None

    async def assign(
        self, reply: JoinGroupResponse, assignor: Assignor, protocol: RebalanceProtocol | None
    ) -> tuple[SyncGroupRequestAssignment, ...]:
        """Everyone's assignment, once metadata of everyone's topics is there."""
        group = {
            member.member_id: decode_subscription(member.metadata, member.group_instance_id)
            for member in reply.members
        }
        topics = {topic for subscription in group.values() for topic in subscription.topics}
        await self._watch(topics)
        self.is_leader = True
        if reply.skip_assignment:
            self.assigned_for = self.seen
            return ()
        assignments = self._ask(assignor, group)
        if protocol is RebalanceProtocol.COOPERATIVE and assignor.name != "cooperative-sticky":
            _refuse_moves_of_owned(group, assignments)
        await self._widen(assignor, assignments, topics)
        self.assigned_for = self.seen
        return tuple(
            SyncGroupRequestAssignment(member, encode_assignment(assignment))
            for member, assignment in assignments.items()
        )

    async def _watch(self, topics: Iterable[str]) -> None:
        """Have metadata of these topics; waits for it as long as it takes."""
        if self.subscriptions.group_subscribe(topics):
            self.metadata.request_update_for_new_topics()
        if not await self.client.ensure_fresh_metadata(self.client.clock.timer(NEVER)):
            raise TimeoutException("no metadata for the group's topics")
        self.update_subscription_metadata()

    def _ask(
        self, assignor: Assignor, group: Mapping[str, Subscription]
    ) -> Mapping[str, Assignment]:
        try:
            return assignor.assign(self._cluster(), group)
        except AssignmentError as error:
            if error.java_class.endswith(".IllegalStateException"):
                raise IllegalStateException(str(error)) from None
            raise

    async def _widen(
        self, assignor: Assignor, assignments: Mapping[str, Assignment], topics: set[str]
    ) -> None:
        """An assignor of the user's own may have assigned topics that nobody subscribed to."""
        if assignor.name in _ASSIGN_FROM_SUBSCRIBED:
            return
        assigned = {topic for given in assignments.values() for topic, _ in given.partitions}
        if not assigned <= topics:
            await self._watch(topics | assigned)

    def _cluster(self) -> Cluster:
        view = self.metadata.view
        if self._known is not None and self._known[0] is view:
            return self._known[1]
        racks = {
            topic: tuple(
                frozenset(rack for rack in view.racks_of(partition) if rack is not None)
                for partition in view.partitions_of(topic)
            )
            for topic in view.topics
        }
        cluster = Cluster(
            partition_counts={topic: len(view.partitions_of(topic)) for topic in view.topics},
            replica_racks=racks,
        )
        self._known = view, cluster
        return cluster

    def _snapshot(self) -> TopicsSnapshot:
        view, version = self.metadata.view, self.metadata.update_version
        watched = self.subscriptions.metadata_topics
        if not self.client_rack:
            counts = {topic: _anywhere(len(view.partitions_of(topic))) for topic in watched}
            return TopicsSnapshot(version, counts)
        racks: dict[str, list[frozenset[str | None]]] = {topic: [] for topic in watched}
        # Kafka lists partitions in the order of a map made for all of them, so with racks a
        # change in the number of all partitions can look like a change of each topic.
        for partition, known in sized(view.partitions).items():
            if partition.topic in racks:
                racks[partition.topic].append(view.racks_of(known))
        return TopicsSnapshot(version, {topic: tuple(found) for topic, found in racks.items()})


def _refuse_moves_of_owned(
    group: Mapping[str, Subscription], assignments: Mapping[str, Assignment]
) -> None:
    """COOPERATIVE: what one member still owns must not be given to another in the same round."""
    added: set[tuple[str, int]] = set()
    revoked: set[tuple[str, int]] = set()
    for member, assignment in assignments.items():
        owned, given = set(group[member].owned_partitions), set(assignment.partitions)
        added |= given - owned
        revoked |= owned - given
    if added & revoked:
        raise IllegalStateException(
            f"a cooperative assignor moved partitions that are still owned: {added & revoked}"
        )
