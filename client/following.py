"""A consumer that follows its group through a rebalance in which it keeps what it owns.

While its poll waits, four answers take it there: a heartbeat's, that the group rebalances, on
which it commits; the commit's, on which it joins; the JoinGroup's, on which it syncs; and the
SyncGroup's, on which all is in order. Kafka's poll makes a round for each, which looks at
everything again; here is written down what these rounds come to, as `client.resting` does for
heartbeats. Where anything else is due, has come or has changed, or somebody of the user's has a
part in it, the rounds are made; so they are for a leader.
"""

from __future__ import annotations

from attrs import define, field

from client.assignors.cooperative_sticky import CooperativeStickyAssignor
from client.assignors.range import RangeAssignor
from client.assignors.round_robin import RoundRobinAssignor
from client.assignors.sticky import StickyAssignor
from client.commits import is_all_committed
from client.dispatch import ConsumerNetworkClient
from client.group import GroupClient
from client.in_flight import ClientRequest
from client.polling import PollLoop
from client.states import MemberState
from client.threads import HeartbeatTurns, Threads
from client.timers import LONG_AGO, Wait
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    CONSUMER_PROTOCOL_TYPE,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitResponse,
    Request,
    SyncGroupResponse,
)

#: Assignors of which it is known that to be told something is all that happens in them.
_KAFKAS_OWN = (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)

# To name a member of an enumeration costs as much as a call.
_NONE, _REBALANCE_IN_PROGRESS = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS
_STABLE, _PREPARING = MemberState.STABLE, MemberState.PREPARING_REBALANCE
_COMPLETING = MemberState.COMPLETING_REBALANCE


@define(eq=False, repr=False)
class Following:
    """The steps of a member from one generation into the next, while its poll waits."""

    threads: Threads
    polling: PollLoop
    group: GroupClient
    client: ConsumerNetworkClient = field(init=False)
    #: What the last step sent, the wait in which it left the poll, and the passes over the network
    #: until then.
    _sent: ClientRequest | None = field(default=None, init=False)
    _wait: Wait | None = field(default=None, init=False)
    _passes: int = field(default=0, init=False)
    #: Whether settings and assignors are such that a step is what it looks like.
    _can_follow: bool = field(init=False)

    @client.default
    def _client(self) -> ConsumerNetworkClient:
        return self.polling.client

    @_can_follow.default
    def _is_plain_consumer(self) -> bool:
        config, rebalancing = self.client.config, self.group.rebalancing
        return (
            config.enable_auto_commit
            and config.auto_commit_interval_ms > 0
            and config.heartbeat_interval_ms > 0
            and config.retry_backoff_ms > 0
            and rebalancing.protocol is not None
            and all(type(assignor) in _KAFKAS_OWN for assignor in rebalancing.assignors)
            and not self.group.commits.interceptors
        )

    def hear(self, connection: str, reply: object, to: Request | None, now_ms: int) -> bool:
        """Take an answer, if it is one of the four, and a plain one; whether it was.

        What was done at rest is written down, and the clock is not later than this.
        """
        wait = self.threads.application_wait
        coordinator = self.group.membership.discovery.coordinator
        if (
            not self._can_follow
            or wait is None
            or wait.channels is None
            or now_ms >= wait.deadline_ms
            or coordinator is None
            or coordinator.connection != connection
            or (answered := self.client.only_to_end(connection, now_ms)) is None
            or not (to is None or answered.request is to)
        ):
            return False
        if type(reply) is HeartbeatResponse:
            return reply.error_code is _REBALANCE_IN_PROGRESS and self._commits(
                answered, reply, now_ms
            )
        if type(reply) is OffsetCommitResponse:
            return self._joins(answered, reply, now_ms)
        if type(reply) is JoinGroupResponse:
            return reply.error_code is _NONE and self._syncs(answered, reply, now_ms)
        if type(reply) is SyncGroupResponse:
            return reply.error_code is _NONE and self._completes(answered, reply, now_ms)
        return False

    # --- the steps --------------------------------------------------------------------------------

    def _commits(self, answered: ClientRequest, reply: HeartbeatResponse, now_ms: int) -> bool:
        """The group rebalances: commit, before the join."""
        membership, subscriptions = self.group.membership, self.polling.subscriptions
        if (
            membership.state is not _STABLE
            or membership.is_rejoin_needed_or_pending
            or not membership.needs_join_prepare
            or self.group.commits.before_rebalance is not None
            or not subscriptions.assigned_partitions
            or not self.polling.is_settled
            or not self._can_begin(now_ms)
        ):
            return False
        self._end(answered, reply, now_ms)
        self.polling.end_round(now_ms)
        membership.heartbeat.polled(now_ms)
        self.group.rebalancing.begin_to_prepare()
        self._send(now_ms)
        self._wait_anew(now_ms, is_in_order=False)
        return True

    def _joins(self, answered: ClientRequest, reply: OffsetCommitResponse, now_ms: int) -> bool:
        """The commit is answered: join."""
        membership, rebalancing = self.group.membership, self.group.rebalancing
        if (
            membership.state is not _STABLE
            or not self._goes_on(answered, now_ms)
            or not is_all_committed(reply)
            or not rebalancing.keeps_all
        ):
            return False
        self._end(answered, reply, now_ms)
        self.polling.end_round(now_ms)
        self.group.commits.tell_committed()
        membership.heartbeat.polled(now_ms)
        rebalancing.end_prepare_keeping_all()
        membership.begin_join()
        self._send(now_ms)
        self._wait_anew(now_ms, is_in_order=False)
        return True

    def _syncs(self, answered: ClientRequest, reply: JoinGroupResponse, now_ms: int) -> bool:
        """The group is complete, and somebody else leads it: ask for the assignment."""
        membership = self.group.membership
        if (
            membership.state is not _PREPARING
            or reply.leader == reply.member_id
            or reply.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE)
            or not (
                self._goes_on(answered, now_ms) or (self._awaits_join and self._can_begin(now_ms))
            )
        ):
            return False
        turns = self._turns
        assert turns is not None
        self._end(answered, reply, now_ms)
        # It enables the heartbeat thread, whose turn comes before the application's next round.
        self.threads.running_beat = turns
        self._send(now_ms)
        self.threads.running_beat = None
        self.threads.take_turn(turns, now_ms + self.client.config.retry_backoff_ms)
        self.polling.end_round(now_ms)
        membership.heartbeat.polled(now_ms)
        self._wait_anew(now_ms, is_in_order=False)
        return True

    def _completes(self, answered: ClientRequest, reply: SyncGroupResponse, now_ms: int) -> bool:
        """The assignment is there, and is of what is owned: all is in order."""
        membership, rebalancing = self.group.membership, self.group.rebalancing
        listener = self.polling.subscriptions.listener
        if (
            membership.state is not _COMPLETING
            or not self._goes_on(answered, now_ms)
            or membership.generation.is_reset
            or reply.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE)
            or reply.protocol_name not in (None, membership.generation.protocol_name)
            or not (listener is None or getattr(listener, "ignores_none_assigned", False))
            or not self.polling.positions.is_all_there
            or (assignment := rebalancing.of_what_it_owns(reply.assignment)) is None
        ):
            return False
        self._end(answered, reply, now_ms)
        self.polling.end_round(now_ms)
        membership.heartbeat.polled(now_ms)
        rebalancing.complete_join_keeping_all(assignment)
        self._wait_anew(now_ms, is_in_order=True)
        return True

    # --- what they are made of --------------------------------------------------------------------

    def _end(self, answered: ClientRequest, reply: object, now_ms: int) -> None:
        """End a request with its answer, as the pass that waits would."""
        self.threads.calm_until_ms, self.threads.clock.now_ms = LONG_AGO, now_ms
        self.client.network.end_answered(answered.node.connection)
        if type(answered.request) is not HeartbeatRequest:
            self.client.ended += 1
        told = answered.on_reply(reply)
        assert told is None, "who hears of a plain answer waits for nobody"

    def _send(self, now_ms: int) -> None:
        """Put the one request that is queued on the wire, as the next pass would."""
        self._sent, network = self.client.next_at_rest(), self.client.network
        network.send(self._sent, now_ms)
        network.channels.is_woken = False  # as a pass that finds nothing

    def _wait_anew(self, now_ms: int, *, is_in_order: bool) -> None:
        """Let the poll wait for the next answer, or as it does where all is in order."""
        self.polling.begin_to_wait(now_ms, is_in_order=is_in_order)
        self._wait, self._passes = self.threads.application_wait, self.client.passes

    # --- whether a round would do nothing else ----------------------------------------------------

    @property
    def _turns(self) -> HeartbeatTurns | None:
        thread = self.group.membership.heartbeat_thread
        return None if thread is None else thread.turns

    def _goes_on(self, answered: ClientRequest, now_ms: int) -> bool:
        """Whether this was sent by the last step, nothing was done since, and nothing else is due.

        Then all is as that step found it, and left it.
        """
        return (
            answered is self._sent
            and self.threads.application_wait is self._wait
            and self.client.passes == self._passes
            and self._is_before_anything_due(now_ms)
            and self.polling.is_under_way(now_ms)
        )

    def _is_before_anything_due(self, now_ms: int) -> bool:
        """Whether neither the heartbeat thread nor an automatic commit is due yet."""
        membership, turns = self.group.membership, self._turns
        return (
            turns is not None
            and self.threads.will_have_turn(turns, now_ms)
            and not (now_ms >= membership.heartbeat.beat_at_ms and membership.has_joined)
            and not self.group.commits.is_due(now_ms)
        )

    @property
    def _awaits_join(self) -> bool:
        """Whether a JoinGroup is in flight of whose answer a poll has still to hear."""
        membership = self.group.membership
        join = membership.join_future
        return join is not None and not join.is_done and not membership.needs_join_prepare

    def _can_begin(self, now_ms: int) -> bool:
        """Whether neither the heartbeat thread nor the poll has anything to do besides a step."""
        group = self.group
        thread, commits = group.membership.heartbeat_thread, group.commits
        subscriptions, leading = self.polling.subscriptions, group.leading
        return (
            self._is_before_anything_due(now_ms)
            and thread is not None
            and not thread.is_closed
            and thread.failure is None
            and not commits.has_news
            and leading.assigned_for is None
            and leading.seen.version >= group.metadata.update_version
            and subscriptions.has_auto_assigned_partitions
            and not subscriptions.has_pattern_subscription
            and group.rebalancing.joined_subscription is subscriptions.subscription
            and self.polling.can_go_round(now_ms)
        )
