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
        self.leading.update_subscription_metadata()
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

    def has_nothing_to_do(self, now_ms: int) -> bool:
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

    async def _be_a_member(self, timer: Timer) -> bool:
        if self.rebalancing.protocol is None:
            raise IllegalStateException("partition.assignment.strategy is empty")
        self.membership.poll_heartbeat(timer.current_ms)
        discovery = self.membership.discovery
        if discovery.is_unknown() and not await discovery.ensure_ready(timer):
            return False
        if not self.rebalancing.is_rejoin_needed_or_pending():
            return True
        if self.subscriptions.has_pattern_subscription:
            # The leader should not assign topics that we have not seen, so look first.
            if self.metadata.time_to_allow_update_ms(timer.current_ms) == 0:
                self.metadata.request_update(forget_equivalent=True)
            if not await self.client.ensure_fresh_metadata(timer):
                return False
            self.leading.update_subscription_metadata()
        # A poll never waits for a join: one step of it, and on to the fetches.
        is_active = await self.membership.ensure_active(self.client.clock.timer(0))
        if not is_active:
            timer.update()
        return is_active

    def time_to_next_poll_ms(self, now_ms: int) -> int:
        """How long a poll may wait before it has to look at the group again."""
        heartbeat_ms = self.membership.time_to_next_heartbeat_ms(now_ms)
        wait_ms = NEVER if heartbeat_ms is None else heartbeat_ms
        if self.client.config.enable_auto_commit:
            timer = self.commits.auto_commit_timer
            left_ms = max(0, timer.deadline_ms - timer.current_ms)
            if left_ms < wait_ms:
                return left_ms
        return wait_ms

    async def close(self, timer: Timer, operation: str) -> None:
        """Commit, then leave; leave also if the commits went wrong."""
        self.client.wakeups_disabled = True
        try:
            await self.commits.close(timer)
        finally:
            await self.membership.close(timer, operation)
