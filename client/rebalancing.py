"""What a rebalance means to a consumer: commits before it, callbacks around it, the assignment.

The membership half of Kafka's `ConsumerCoordinator`. Its commits are in `client.commits`, what a
leader does for its group in `client.leading`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache

from attrs import define

from client.assignors import (
    Assignment,
    Assignor,
    ConsumerGroupMetadata,
    RebalanceProtocol,
    Subscription,
)
from client.commits import Commits
from client.consumer_protocol import SchemaError, decode_assignment, encode_subscription
from client.errors import IllegalStateException, KafkaException, WakeupException
from client.java_maps import copied_set
from client.leading import Leading
from client.listeners import Partitions, RebalanceListener
from client.membership import Generation, Membership
from client.metadata import ConsumerMetadata
from client.outputs import ListenerCalled, ListenerReturned
from client.partitions import TopicPartition
from client.subscription import SubscriptionState
from client.timers import Timer
from coordinator.protocol import (
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequestAssignment,
)

#: An assignment of fewer bytes has not even a version.
_ASSIGNMENT_LENGTH_MIN = 2


@define(eq=False, kw_only=True, repr=False)
class Rebalancing:
    """The consumer's side of joining and leaving its group."""

    membership: Membership
    commits: Commits
    subscriptions: SubscriptionState
    metadata: ConsumerMetadata
    assignors: tuple[Assignor, ...]
    protocol: RebalanceProtocol | None
    leading: Leading
    group_metadata: ConsumerGroupMetadata
    call_listener: Callable[[str, RebalanceListener, Partitions], Awaitable[None]]
    tell: Callable[[object], None]
    #: The topics told in the last join.
    joined_subscription: frozenset[str] | None = None
    _prepare_timer: Timer | None = None

    # --- whether to join --------------------------------------------------------------------------

    def is_rejoin_needed_or_pending(self) -> bool:
        """Whether topics, subscription or the group ask for another join."""
        subscriptions, membership, leading = self.subscriptions, self.membership, self.leading
        if not subscriptions.has_auto_assigned_partitions:
            return False
        if leading.assigned_for is not None and leading.has_metadata_changed:
            self._request_rejoin_if_necessary("cached metadata has changed")
            return True
        joined = self.joined_subscription
        # Whoever does not assign to itself subscribes for the group.
        if joined is not None and joined != subscriptions.subscription:
            self._request_rejoin_if_necessary("subscription has changed")
            return True
        return membership.rejoin_needed or membership.join_future is not None

    def _request_rejoin_if_necessary(self, reason: str) -> None:
        if not self.membership.rejoin_needed:
            self.membership.request_rejoin(reason)

    # --- before the join --------------------------------------------------------------------------

    async def on_join_prepare(self, timer: Timer, generation: Generation) -> bool:
        """Commit, give up what must be given up; False if the commit needs more time."""
        if self._prepare_timer is None:
            self._prepare_timer = self._new_prepare_timer()
        else:
            self._prepare_timer.current_ms = self.membership.clock.now_ms
        if not await self._commit_before_revocation(timer, self._prepare_timer):
            return False

        error = await self._give_up(generation)
        self._end_prepare()
        timer.current_ms = self.membership.clock.now_ms
        if error is not None:
            raise KafkaException("a rebalance callback of the user raised", error)
        return True

    def _new_prepare_timer(self) -> Timer:
        return self.membership.clock.timer(self.membership.config.max_poll_interval_ms)

    def _end_prepare(self) -> None:
        self.leading.resign()
        self.subscriptions.reset_group_subscription()
        self._prepare_timer = None
        self.commits.before_rebalance = None

    def begin_to_prepare(self) -> None:
        """Queue the automatic commit before a join, as `on_join_prepare` would."""
        self._prepare_timer = self._new_prepare_timer()
        if self.protocol is RebalanceProtocol.EAGER:
            self.subscriptions.mark_pending_revocation()
        self.commits.begin_commit_before_rebalance()

    @property
    def keeps_all(self) -> bool:
        """Whether a member of a generation is to give up nothing before it joins the next."""
        subscriptions = self.subscriptions
        return self.protocol is RebalanceProtocol.COOPERATIVE and subscriptions.matches_assignment(
            subscriptions.assigned_partitions
        )

    def end_prepare_keeping_all(self) -> None:
        """Be ready to join: the commit is answered, and nothing is to be given up."""
        self._end_prepare()
        self.membership.needs_join_prepare = False

    async def _commit_before_revocation(self, timer: Timer, prepare_timer: Timer) -> bool:
        """Whether the rebalance may go on: the commit is answered, hopeless or out of time."""
        commits = self.commits
        if commits.is_auto_commit and commits.before_rebalance is None:
            if self.protocol is RebalanceProtocol.EAGER:
                self.subscriptions.mark_pending_revocation()
            commits.before_rebalance = await commits.auto_commit_async()
        commit = commits.before_rebalance
        if commit is None:
            return True
        client = self.membership.client
        shorter = timer if timer.remaining_ms < prepare_timer.remaining_ms else prepare_timer
        is_done = await client.poll_until_done(commit, shorter)
        prepare_timer.current_ms = client.clock.now_ms
        is_over = prepare_timer.current_ms >= prepare_timer.deadline_ms or (
            is_done and not (commit.error is not None and commit.is_retriable)
        )
        if is_done:
            commits.before_rebalance = None
        if not is_over:
            await client.sleep(shorter, self.membership.config.retry_backoff_ms)
            timer.current_ms = client.clock.now_ms
        return is_over

    async def _give_up(self, generation: Generation) -> Exception | None:
        """Call the listener and empty the assignment as far as the protocol wants it."""
        owned = self.subscriptions.assigned_partitions
        if generation.is_nobody:
            if not owned:
                return None
            error = await self._call("on_partitions_lost", owned)
            self.subscriptions.assign_from_subscribed(())
            return error
        if self.protocol is RebalanceProtocol.EAGER:
            error = await self._call("on_partitions_revoked", owned)
            self.subscriptions.assign_from_subscribed(())
            return error
        topics = self.subscriptions.group_topics
        dropped = [tp for tp in owned if tp.topic not in topics]
        if not dropped:
            return None
        error = await self._call("on_partitions_revoked", dropped)
        # Here Kafka leaves the order of fetching to a hash set; elsewhere it sorts.
        kept = [tp for tp in copied_set(owned) if tp not in dropped]
        self.subscriptions.assign_from_subscribed(kept)
        return error

    def join_protocols(self) -> tuple[JoinGroupRequestProtocol, ...]:
        """What to tell the leader, once per assignor."""
        topics = self.joined_subscription = self.subscriptions.group_topics
        in_order, owned = tuple(sorted(topics)), self.subscriptions.assigned_partitions
        protocols = []
        for assignor in self.assignors:
            subscription = Subscription(
                topics=in_order,
                owned_partitions=owned,
                user_data=assignor.subscription_user_data(topics),
                generation_id=self.membership.generation.generation_id,
                rack_id=self.membership.config.client_rack or None,
            )
            told = encode_subscription(subscription)
            protocols.append(JoinGroupRequestProtocol(str(assignor.name), told))
        return tuple(protocols)

    async def on_leader_elected(
        self, reply: JoinGroupResponse
    ) -> tuple[SyncGroupRequestAssignment, ...]:
        """Decide for the whole group."""
        assignor = self._assignor(reply.protocol_name)
        return await self.leading.assign(reply, assignor, self.protocol)

    # --- after the join ---------------------------------------------------------------------------

    async def on_join_complete(self, generation: Generation, data: bytes) -> None:
        """Take over the assignment and tell the listener; its first error is raised at the end."""
        assignor = self._begin_to_complete(generation)
        if len(data) < _ASSIGNMENT_LENGTH_MIN:
            raise IllegalStateException("the SyncGroup reply has no assignment for this member")
        owned = self.subscriptions.assigned_partitions
        assignment = decode_assignment(data)
        assigned = set(_as_partitions(assignment.partitions))
        if not self.subscriptions.matches_assignment(assigned):
            self.membership.request_rejoin(
                "received assignment does not match the current subscription"
            )
            return
        errors: list[Exception | None] = []
        if self.protocol is RebalanceProtocol.COOPERATIVE and not assigned.issuperset(owned):
            errors.append(await self._revoke(set(owned) - assigned))
        self._widen_pattern_subscription(assigned)
        errors.append(self._tell_assignor(assignor, assignment))
        self.commits.restart_auto_commit_timer()
        self.subscriptions.assign_from_subscribed(sorted(assigned))
        errors.append(await self._call("on_partitions_assigned", assigned - set(owned)))
        self._raise_first(errors)

    def _begin_to_complete(self, generation: Generation) -> Assignor:
        self.leading.follow_unless_leader()
        assignor = self._assignor(generation.protocol_name)
        self.group_metadata = ConsumerGroupMetadata(
            group_id=self.group_metadata.group_id,
            generation_id=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self.group_metadata.group_instance_id,
        )
        return assignor

    def of_what_it_owns(self, data: bytes) -> Assignment | None:
        """An assignment of what is owned already, if it is one and can be read."""
        if len(data) < _ASSIGNMENT_LENGTH_MIN:
            return None
        try:
            assignment = decode_assignment(data)
        except SchemaError:
            return None
        owned = self.subscriptions.assigned_partitions
        assigned = _as_partitions(assignment.partitions)
        is_owned = len(assigned) == len(owned) and set(assigned) == set(owned)
        return assignment if is_owned else None

    def complete_join_keeping_all(self, assignment: Assignment) -> None:
        """What completing a join comes to where the assignment is of what is owned already.

        Neither the listener nor the assignor may mind; the listener is spoken of as if called.
        """
        membership, now_ms = self.membership, self.membership.clock.now_ms
        assignor = self._begin_to_complete(membership.generation)
        assignor.on_assignment(assignment, self.group_metadata)
        self.commits.restart_auto_commit_timer()
        self.subscriptions.assign_from_subscribed(sorted(self.subscriptions.assigned_partitions))
        if self.subscriptions.listener is not None:
            name = "on_partitions_assigned"
            self.tell(ListenerCalled(at_ms=now_ms, name=name, partitions=()))
            self.tell(ListenerReturned(at_ms=now_ms, name=name))
        membership.end_join()

    async def _revoke(self, revoked: set[TopicPartition]) -> Exception | None:
        """COOPERATIVE: what went to others is given up only now, and then joined for again."""
        error = await self._call("on_partitions_revoked", revoked)
        self.membership.request_rejoin("need to revoke partitions and re-join")
        return error

    def _widen_pattern_subscription(self, assigned: Iterable[TopicPartition]) -> None:
        """A leader that saw a matching topic first makes us subscribe to it."""
        if not self.subscriptions.has_pattern_subscription:
            return
        joined = self.joined_subscription or frozenset()
        added = {partition.topic for partition in assigned} - joined
        if added:
            topics = self.subscriptions.group_topics | added
            if self.subscriptions.subscribe_from_pattern(topics):
                self.metadata.request_update_for_new_topics()
            self.joined_subscription = joined | added

    def _tell_assignor(self, assignor: Assignor, assignment: Assignment) -> Exception | None:
        try:
            assignor.on_assignment(assignment, self.group_metadata)
        except Exception as error:  # noqa: BLE001 (a user's assignor; raised at the end)
            return error
        return None

    # --- leaving ----------------------------------------------------------------------------------

    async def on_leave_prepare(self) -> None:
        """Give up everything before leaving the group."""
        owned = self.subscriptions.assigned_partitions
        if not self.subscriptions.has_auto_assigned_partitions or not owned:
            return
        membership = self.membership
        is_lost = membership.generation.is_nobody or membership.state.is_rebalancing
        error = await self._call(
            "on_partitions_lost" if is_lost else "on_partitions_revoked", owned
        )
        self.subscriptions.assign_from_subscribed(())
        if error is not None:
            raise KafkaException("a rebalance callback of the user raised", error)

    # --- common -----------------------------------------------------------------------------------

    async def _call(self, name: str, partitions: Iterable[TopicPartition]) -> Exception | None:
        """Call the listener, if there is one; wakeups pass through, other errors are returned."""
        listener = self.subscriptions.listener
        if listener is None:
            return None
        try:
            await self.call_listener(name, listener, tuple(sorted(partitions)))
        except WakeupException:
            raise
        except Exception as error:  # noqa: BLE001 (a user's callback; raised when all is done)
            return error
        return None

    def _assignor(self, name: str | None) -> Assignor:
        for assignor in self.assignors:
            if assignor.name == name:
                return assignor
        raise IllegalStateException(f"the coordinator selected an unknown assignor: {name}")

    @staticmethod
    def _raise_first(errors: Iterable[Exception | None]) -> None:
        for error in errors:
            if isinstance(error, KafkaException):
                raise error
            if error is not None:
                raise KafkaException("a rebalance callback of the user raised", error)


@lru_cache(maxsize=256)
def _as_partitions(pairs: tuple[tuple[str, int], ...]) -> tuple[TopicPartition, ...]:
    """What an assignor speaks of; mostly the same as the last time."""
    return tuple([TopicPartition(*pair) for pair in pairs])
