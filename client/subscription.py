"""Topics wanted, partitions owned, and the position in each: Kafka's `SubscriptionState`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import NamedTuple

from attrs import define, field

from client.errors import (
    IllegalArgumentException,
    IllegalStateException,
    NoOffsetForPartitionException,
)
from client.java_maps import filled
from client.listeners import RebalanceListener
from client.messages import IsolationLevel
from client.partitions import (
    NO_LEADER_OR_EPOCH,
    LeaderAndEpoch,
    OffsetAndMetadata,
    TopicPartition,
    offset_and_metadata,
)
from client.reset import ResetStrategy, ResetType
from client.states import FETCH_MOVES, FetchState
from client.timers import LONG_AGO, NEVER


class SubscriptionType(Enum):
    """How the consumer came to what it reads; only `unsubscribe` leads back to NONE."""

    NONE = "none"
    AUTO_TOPICS = "topics"
    AUTO_PATTERN = "pattern"
    USER_ASSIGNED = "assigned"


# To name a member of an enumeration costs as much as a call, and these are asked in every poll.
_INITIALIZING, _FETCHING = FetchState.INITIALIZING, FetchState.FETCHING
_AWAIT_VALIDATION = FetchState.AWAIT_VALIDATION
#: The states in which a partition has a position.
_WITH_POSITION = tuple(state for state in FetchState if state.requires_position)
_AUTO_TOPICS = SubscriptionType.AUTO_TOPICS


class FetchPosition(NamedTuple):
    """The next offset to hand out, the epoch of the record before it, and whom to ask."""

    offset: int
    offset_epoch: int | None = None
    current_leader: LeaderAndEpoch = NO_LEADER_OR_EPOCH


@define(eq=False)
class PartitionState:
    """All that is known of one assigned partition."""

    fetch_state: FetchState = FetchState.INITIALIZING
    position: FetchPosition | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    last_stable_offset: int | None = None
    is_paused: bool = False
    is_pending_revocation: bool = False
    reset_strategy: ResetStrategy | None = None
    next_retry_ms: int | None = None
    end_offset_requested: bool = False
    _preferred_replica: int | None = None
    _preferred_replica_expires_ms: int | None = None

    @property
    def has_valid_position(self) -> bool:
        """Whether reading can go on from the position."""
        return self.fetch_state is _FETCHING

    @property
    def is_readable(self) -> bool:
        """Whether there is a position to read from, and nothing against doing so."""
        return (
            self.fetch_state is _FETCHING and not self.is_paused and not self.is_pending_revocation
        )

    def is_backing_off(self, now_ms: int) -> bool:
        """Whether the next reset or validation has to wait."""
        return self.next_retry_ms is not None and now_ms < self.next_retry_ms

    def seek_validated(self, position: FetchPosition) -> None:
        """Read on from there."""
        if self._move_to(_FETCHING, position):
            self.reset_strategy = None

    def seek_unvalidated(self, position: FetchPosition) -> None:
        """Read on from there once the leader has confirmed it, if epochs are known."""
        self.seek_validated(position)
        self._validate(position)

    def reset(self, strategy: ResetStrategy) -> None:
        """Forget the position and look for a new one."""
        if self._move_to(FetchState.AWAIT_RESET, None):
            self.reset_strategy = strategy

    def maybe_validate(self, leader: LeaderAndEpoch) -> None:
        """Take a new leader over into the position, which may then have to be confirmed."""
        if self.fetch_state is FetchState.AWAIT_RESET or leader.leader is None:
            return
        if self.position is not None and self.position.current_leader != leader:
            self._validate(FetchPosition(self.position.offset, self.position.offset_epoch, leader))
            self._preferred_replica = None

    def complete_validation(self) -> None:
        """The position was confirmed."""
        if self.position is not None:
            self._move_to(FetchState.FETCHING, self.position)

    def preferred_replica(self, now_ms: int) -> int | None:
        """The replica the leader sent us to, unless that was too long ago."""
        expires_ms = self._preferred_replica_expires_ms
        if expires_ms is not None and now_ms > expires_ms:
            self._preferred_replica = None
        return self._preferred_replica

    def prefer_replica(self, node_id: int, expires_ms: int) -> None:
        """Read from that replica from now on."""
        if node_id != self._preferred_replica:
            self._preferred_replica = node_id
            self._preferred_replica_expires_ms = expires_ms

    def forget_preferred_replica(self) -> int | None:
        """Go back to the leader; say which replica was left."""
        left, self._preferred_replica = self._preferred_replica, None
        if left is not None:
            self._preferred_replica_expires_ms = None
        return left

    def _validate(self, position: FetchPosition) -> None:
        if position.offset_epoch is not None and position.current_leader.epoch is not None:
            self._move_to(_AWAIT_VALIDATION, position)
        else:
            self._move_to(_FETCHING, position)

    def _move_to(self, state: FetchState, position: FetchPosition | None) -> bool:
        if state not in FETCH_MOVES[self.fetch_state]:
            return False
        self.fetch_state = state
        self.position = position if state in _WITH_POSITION else None
        self.next_retry_ms = None
        return True


@define(eq=False, kw_only=True, repr=False)
class SubscriptionState:
    """What one consumer subscribes to and owns."""

    default_reset_strategy: ResetStrategy
    type: SubscriptionType = field(default=SubscriptionType.NONE, init=False)
    #: Whether the group decides what this consumer reads.
    has_auto_assigned_partitions: bool = field(default=False, init=False)
    #: Whether topics are matched by a pattern.
    has_pattern_subscription: bool = field(default=False, init=False)
    subscription: frozenset[str] = frozenset()
    listener: RebalanceListener | None = None
    #: Whether a leader has ever sent us to another replica.
    has_read_from_followers: bool = False
    _group_subscription: frozenset[str] = frozenset()
    _pattern: re.Pattern[str] | None = None
    #: In the order in which partitions are fetched.
    _assignment: dict[TopicPartition, PartitionState] = field(factory=dict)
    #: How often the application, or a pattern, has said what is subscribed.
    subscribed: int = field(default=0, init=False)
    #: How often the assignment was replaced; the order in it may change without that.
    assignments: int = field(default=0, init=False)
    #: The same as a tuple, while it is true.
    _in_order: tuple[TopicPartition, ...] | None = field(default=None, init=False)

    # --- topics -----------------------------------------------------------------------------------

    @property
    def group_topics(self) -> frozenset[str]:
        """The subscribed topics; none for a consumer that assigns to itself."""
        return self.subscription if self.has_auto_assigned_partitions else frozenset()

    @property
    def metadata_topics(self) -> frozenset[str]:
        """The topics to keep metadata of: a leader's are those of its whole group."""
        return self.subscription | self._group_subscription

    @property
    def has_default_reset_policy(self) -> bool:
        """Whether a lost position is found again without the application."""
        return self.default_reset_strategy.type is not ResetType.NONE

    def needs_metadata(self, topic: str) -> bool:
        """Whether metadata of this topic is of use."""
        return topic in self.subscription or topic in self._group_subscription

    def matches_pattern(self, topic: str) -> bool:
        """Whether the pattern in use matches the whole name."""
        return (
            self.has_pattern_subscription
            and self._pattern is not None
            and self._pattern.fullmatch(topic) is not None
        )

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener | None) -> bool:
        """Want exactly these topics; whether that is a change."""
        self.listener = listener
        self._set_type(SubscriptionType.AUTO_TOPICS)
        return self._change_subscription(topics)

    def subscribe_pattern(
        self, pattern: re.Pattern[str], listener: RebalanceListener | None
    ) -> None:
        """Want the topics that match; which they are is seen from metadata."""
        self.listener = listener
        self._set_type(SubscriptionType.AUTO_PATTERN)
        self._pattern = pattern

    def subscribe_from_pattern(self, topics: Iterable[str]) -> bool:
        """These topics match; whether that is a change."""
        return self._change_subscription(topics)

    def group_subscribe(self, topics: Iterable[str]) -> bool:
        """The leader wants metadata of these too; whether some are beyond its own."""
        self._group_subscription = frozenset(topics)
        return not self._group_subscription <= self.subscription

    def reset_group_subscription(self) -> None:
        """No longer care for other members' topics."""
        self._group_subscription = frozenset()

    def unsubscribe(self) -> None:
        """Want and own nothing."""
        self.subscription = self._group_subscription = frozenset()
        self.subscribed += 1
        self._assignment.clear()
        self.assignments += 1
        self._in_order = None
        self._pattern = None
        self._become(SubscriptionType.NONE)

    def matches_assignment(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether an assignment is of topics that are still wanted."""
        topics = {partition.topic for partition in partitions}
        if self._pattern is not None:
            return all(map(self._pattern.fullmatch, topics))
        return topics <= self.subscription

    def _change_subscription(self, topics: Iterable[str]) -> bool:
        wanted = frozenset(topics)
        changed = wanted != self.subscription
        self.subscription = wanted
        self.subscribed += 1
        return changed

    def _set_type(self, wanted: SubscriptionType) -> None:
        if self.type is SubscriptionType.NONE:
            self._become(wanted)
        elif self.type is not wanted:
            raise IllegalStateException(
                "subscription to topics, partitions and pattern are mutually exclusive"
            )

    def _become(self, wanted: SubscriptionType) -> None:
        self.type = wanted
        self.has_pattern_subscription = wanted is SubscriptionType.AUTO_PATTERN
        self.has_auto_assigned_partitions = (
            self.has_pattern_subscription or wanted is SubscriptionType.AUTO_TOPICS
        )

    # --- assignment -------------------------------------------------------------------------------

    @property
    def assigned_partitions(self) -> tuple[TopicPartition, ...]:
        """What is owned, in the order in which it is fetched."""
        if self._in_order is None:
            self._in_order = tuple(self._assignment)
        return self._in_order

    def assign_from_user(self, partitions: Iterable[TopicPartition]) -> bool:
        """Own exactly these; whether their topics are a change."""
        self._set_type(SubscriptionType.USER_ASSIGNED)
        wanted = set(partitions)
        if self._assignment.keys() == wanted:
            return False
        self._assign(filled(dict.fromkeys(sorted(wanted))))
        return self._change_subscription(partition.topic for partition in wanted)

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        """Own exactly these, in this order; what is known of kept ones is kept."""
        if not self.has_auto_assigned_partitions:
            raise IllegalArgumentException("the subscription went while a rebalance was under way")
        self._assign(partitions)

    def _assign(self, partitions: Iterable[TopicPartition]) -> None:
        by_topic: dict[str, list[TopicPartition]] = {}
        for partition in partitions:
            by_topic.setdefault(partition.topic, []).append(partition)
        self.assignments += 1
        self._in_order = None
        self._assignment = {
            partition: self._assignment.get(partition) or PartitionState()
            for same in by_topic.values()
            for partition in same
        }

    def is_assigned(self, partition: TopicPartition) -> bool:
        """Whether it is owned."""
        return partition in self._assignment

    def state(self, partition: TopicPartition) -> PartitionState:
        """What is known of an owned partition."""
        known = self._assignment.get(partition)
        if known is None:
            raise IllegalStateException(f"no current assignment for partition {partition}")
        return known

    def state_or_none(self, partition: TopicPartition) -> PartitionState | None:
        """What is known of a partition, if it is owned."""
        return self._assignment.get(partition)

    def where(self, holds: Callable[[PartitionState], bool]) -> list[TopicPartition]:
        """The owned partitions of which something holds."""
        return [partition for partition, state in self._assignment.items() if holds(state)]

    def initializing(self) -> list[TopicPartition]:
        """The owned partitions whose committed offset is to be looked up."""
        return [
            partition
            for partition, state in self._assignment.items()
            if state.fetch_state is _INITIALIZING and not state.is_pending_revocation
        ]

    def waiting(self, for_what: FetchState, now_ms: int) -> list[TopicPartition]:
        """The owned partitions that wait for this and may be asked about now."""
        return [
            partition
            for partition, state in self._assignment.items()
            if state.fetch_state is for_what and not state.is_backing_off(now_ms)
        ]

    def mark_pending_revocation(self) -> None:
        """Stop reading everything: it is about to be given up."""
        for state in self._assignment.values():
            state.is_pending_revocation = True

    def move_to_end(self, partition: TopicPartition) -> None:
        """Fetch it last from now on."""
        if partition in self._assignment:
            self._assignment[partition] = self._assignment.pop(partition)
            self._in_order = None

    # --- positions --------------------------------------------------------------------------------

    @property
    def has_all_fetch_positions(self) -> bool:
        """Whether every owned partition can be read."""
        for state in self._assignment.values():  # noqa: SIM110 (asked in every poll)
            if state.fetch_state is not _FETCHING:
                return False
        return True

    @property
    def next_retry_ms(self) -> int:
        """When a position that is missing may next be asked for; never, if none is missing."""
        if self.has_all_fetch_positions:
            return NEVER
        return min(
            LONG_AGO if state.next_retry_ms is None else state.next_retry_ms
            for state in self._assignment.values()
            if state.fetch_state is not FetchState.FETCHING
        )

    def is_led_by(self, brokers: Collection[int]) -> bool:
        """Whether each owned partition is known to be led by one of these, by its position."""
        for state in self._assignment.values():
            position = state.position
            leader = None if position is None else position.current_leader.leader
            if leader is None or leader.id not in brokers:
                return False
        return True

    def is_fetchable(self, partition: TopicPartition) -> bool:
        """Whether its records may be handed out; not if its topic was dropped from the list."""
        return self.fetchable_state(partition) is not None

    def fetchable_state(self, partition: TopicPartition) -> PartitionState | None:
        """How a partition stands whose records may be handed out."""
        state = self._assignment.get(partition)
        if state is None or not state.is_readable:
            return None
        if self.type is _AUTO_TOPICS and partition.topic not in self.subscription:
            return None
        return state

    def fetchable(
        self, but: Collection[TopicPartition], led_by: Collection[int] = ()
    ) -> list[tuple[TopicPartition, PartitionState]]:
        """What may be fetched and how it stands, in order, leaving some out, by name or leader."""
        topics = self.subscription if self.type is _AUTO_TOPICS else None
        found = []
        for partition, state in self._assignment.items():
            position = state.position
            leader = None if position is None else position.current_leader.leader
            if (
                not (leader is not None and leader.id in led_by)
                and state.is_readable
                and partition not in but
                and (topics is None or partition.topic in topics)
            ):
                found.append((partition, state))
        return found

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Every position that can be committed."""
        return filled(
            {
                partition: offset_and_metadata(state.position.offset, state.position.offset_epoch)
                for partition, state in self._assignment.items()
                if state.fetch_state is _FETCHING and state.position is not None
            }
        )

    def reset_initializing_positions(self) -> None:
        """Give up on committed offsets and follow the reset policy."""
        without = self.initializing()
        if not without:
            return
        if not self.has_default_reset_policy:
            raise NoOffsetForPartitionException(
                f"no offset and no reset policy for {', '.join(map(str, without))}"
            )
        for partition in without:
            self._assignment[partition].reset(self.default_reset_strategy)

    def maybe_seek_unvalidated(
        self, partition: TopicPartition, position: FetchPosition, requested: ResetStrategy | None
    ) -> None:
        """Take a reset's answer, if the reset is still wanted and by the same policy."""
        state = self._assignment.get(partition)
        if state is None or state.fetch_state is not FetchState.AWAIT_RESET:
            return
        if requested is None or requested == state.reset_strategy:
            state.seek_unvalidated(position)

    def lag(self, partition: TopicPartition, isolation: IsolationLevel) -> int | None:
        """Records between the position and the end that this consumer may read to."""
        state = self.state(partition)
        end = state.high_watermark
        if isolation is IsolationLevel.READ_COMMITTED:
            end = state.last_stable_offset
        if state.position is None or end is None:
            return None
        return end - state.position.offset
