"""A consumer's dealings with its group, put together: `ConsumerCoordinator` from outside."""

from __future__ import annotations

from attrs import define

from client.commits import Commits
from client.committed import Committed
from client.dispatch import ConsumerNetworkClient
from client.errors import IllegalStateException
from client.leading import Leading
from client.membership import Membership
from client.metadata import ConsumerMetadata
from client.rebalancing import Rebalancing
from client.states import MemberState
from client.subscription import SubscriptionState
from client.timers import NEVER, Timer


@define(eq=False, kw_only=True, repr=False)
class GroupClient:
    """One turn of membership per poll, and the way out."""

    client: ConsumerNetworkClient
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState
    membership: Membership
    rebalancing: Rebalancing
    leading: Leading
    commits: Commits
    committed: Committed

    async def poll(self, timer: Timer) -> bool:
        """Take one turn; False while there is no stable membership."""
        if self.metadata.update_version > self.leading.seen.version:
            self.leading.update_subscription_metadata()
        if self.commits.has_news:
            await self.commits.run_callbacks()
        if self.subscriptions.has_auto_assigned_partitions:
            if not await self._be_a_member(timer):
                return False
        else:
            if self.metadata.update_requested and not self.client.network.states.has_ready:
                await self.client.await_metadata_update(timer)
            await self.client.poll_no_wakeup()
        await self.commits.maybe_auto_commit_async(timer.current_ms)
        return True

    def takes_pending_turn(self, timer: Timer) -> bool:
        """Take a turn that finds only that a join is not answered yet; whether it finds that."""
        membership, rebalancing = self.membership, self.rebalancing
        thread, join = membership.heartbeat_thread, membership.join_future
        if (
            join is None
            or join.is_done
            or membership.needs_join_prepare
            or membership.discovery.coordinator is None
            or self.client.clock.now_ms < self.client.network.states.backs_off_until_ms
            or thread is None
            or thread.failure is not None
            or timer.current_ms >= membership.heartbeat.beat_at_ms
            or self.commits.has_news
            or self.metadata.update_version > self.leading.seen.version
            or self.leading.assigned_for is not None
            or rebalancing.joined_subscription is not self.subscriptions.subscription
            or self.subscriptions.has_pattern_subscription
            or not self.subscriptions.has_auto_assigned_partitions
            or not self.client.makes_idle_round()
        ):
            return False
        membership.heartbeat.polled(timer.current_ms)
        timer.current_ms = self.client.clock.now_ms
        return True

    def takes_idle_turn(self, now_ms: int) -> bool:
        """Whether a turn now, after one that found all in order and heard nothing since, is idle.

        If so, the heartbeat thread hears of the poll, as it would in such a turn.
        """
        membership, commits = self.membership, self.commits
        thread = membership.heartbeat_thread
        if (
            thread is None
            or thread.failure is not None
            or membership.rejoin_needed
            or membership.join_future is not None
            or membership.discovery.coordinator is None
            or commits.has_news
            or commits.is_due(now_ms)
        ):
            return False
        membership.poll_heartbeat(now_ms)
        commits.auto_commit_timer.update(now_ms)
        return True

    def begins_to_await_join(self) -> bool:
        """Whether turns are idle until the JoinGroup in flight is answered.

        If so, the heartbeat thread takes the turn that finds nobody to beat for.
        """
        membership = self.membership
        thread, join = membership.heartbeat_thread, membership.join_future
        if (
            join is None
            or join.is_done
            or membership.has_joined
            or membership.state is not MemberState.PREPARING_REBALANCE
            or membership.needs_join_prepare
            or membership.discovery.coordinator is None
            or self.commits.has_news
            or self.subscriptions.has_pattern_subscription
            or thread is None
            or thread.failure is not None
            or not self.client.threads.has_only(thread.turns)
        ):
            return False
        thread.pause()
        return True

    async def _be_a_member(self, timer: Timer) -> bool:
        if self.rebalancing.protocol is None:
            raise IllegalStateException("partition.assignment.strategy is empty")
        self.membership.poll_heartbeat(timer.current_ms)
        discovery = self.membership.discovery
        if discovery.is_unknown() and not await discovery.ensure_ready(timer):
            return False
        if not self.rebalancing.is_rejoin_needed_or_pending():
            return True
        # A poll never waits for a join: one step of it, and on to the fetches.
        if not self.subscriptions.has_pattern_subscription:
            clock = self.client.clock
            now_ms = clock.now_ms
            is_active = await self.membership.join(Timer(clock, now_ms, now_ms, now_ms, 0))
        else:
            # The leader should not assign topics that we have not seen, so look first.
            if self.metadata.time_to_allow_update_ms(timer.current_ms) == 0:
                self.metadata.request_update(forget_equivalent=True)
            if not await self.client.ensure_fresh_metadata(timer):
                return False
            self.leading.update_subscription_metadata()
            is_active = await self.membership.ensure_active(self.client.clock.timer(0))
        if not is_active:
            timer.current_ms = self.client.clock.now_ms
        return is_active

    def time_to_next_poll_ms(self, now_ms: int) -> int:
        """How long a poll may wait before it has to look at the group again."""
        membership = self.membership
        wait_ms = NEVER
        if membership.has_joined:
            thread = membership.heartbeat_thread
            if thread is not None and thread.failure is not None:
                raise thread.failure
            wait_ms = membership.heartbeat.time_to_next_ms(now_ms)
        if self.client.config.enable_auto_commit:
            timer = self.commits.auto_commit_timer
            left_ms = timer.deadline_ms - timer.current_ms
            if left_ms < wait_ms:
                return max(0, left_ms)
        return wait_ms

    async def close(self, timer: Timer, operation: str) -> None:
        """Commit, then leave; leave also if the commits went wrong."""
        self.client.wakeups_disabled = True
        try:
            await self.commits.close(timer)
        finally:
            await self.membership.close(timer, operation)
