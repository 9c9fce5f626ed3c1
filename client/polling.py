"""What one `poll` does, round by round: the group, the positions, the fetches, then the wait.

A round that could find nothing new is not made: where all was in order and nothing has been heard
since but answers to heartbeats, only the wait goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from attrs import define, field

from client.collecting import Collected
from client.dispatch import ConsumerNetworkClient
from client.fetching import Fetcher
from client.group import GroupClient
from client.metadata import ConsumerMetadata
from client.positions import Positions
from client.records import RecordRange
from client.settings import ConsumerConfig
from client.states import MemberState
from client.subscription import SubscriptionState
from client.timers import NEVER, Clock, Timer


class _Look(NamedTuple):
    """When a round began, and what rises with all that may make the next one do something else."""

    at_ms: int
    ended: int
    fetched: int
    update_version: int
    subscribed: int


@define(eq=False, kw_only=True, repr=False)
class PollLoop:
    """The rounds of a consumer's polls."""

    config: ConsumerConfig
    clock: Clock
    client: ConsumerNetworkClient
    metadata: ConsumerMetadata
    subscriptions: SubscriptionState
    fetcher: Fetcher
    positions: Positions
    group: GroupClient | None
    #: Whether a poll is in its network wait, with nothing else left to do.
    is_waiting: bool = False
    #: Whether the poll under way is one whose empty outcome nobody hears of.
    swallows_empty_polls: bool = False
    #: What the application does with records, if it does it at once and calls nobody; the next
    #: poll, like this one, follows on it.
    handles_at_once: Callable[[tuple[RecordRange, ...]], None] | None = None
    _has_all_positions: bool = field(default=False, init=False)
    #: Whether the group, if there is one, wants nothing of the poll under way.
    _is_in_order: bool = field(default=False, init=False)
    #: The last look round of the poll under way, and that poll's time.
    _look: _Look | None = field(default=None, init=False)
    #: The last look, of this poll or one before, that found the group and the positions in order.
    _in_order: _Look | None = field(default=None, init=False)
    _timer: Timer | None = field(default=None, init=False)
    #: Whether the wait under way is that of several polls, one after the other, and whether it is
    #: one in which polls end and begin as they like, since all is in order.
    _passes_over: bool = field(default=False, init=False)
    _is_endless: bool = field(default=False, init=False)

    async def collect(self, timer: Timer) -> Collected | None:
        """What there is to hand out, as soon as there is any; None after the time."""
        self._look, self._timer = None, timer
        while True:
            if self.client.is_woken_up:
                self.client.maybe_trigger_wakeup()
            passes = self.client.passes
            if self._is_idle(timer.current_ms):
                await self._wait(timer, self._wait_ms(timer), passes)
                collected = self._collected()
            else:
                collected = await self._look_round(timer, passes)
            if collected is not None and not collected.is_empty:
                # The next records are on their way while the application handles these.
                if self._send_fetches() > 0 or self.client.has_any_pending:
                    await self.client.transmit_sends()
                return collected
            if timer.current_ms >= timer.deadline_ms:
                return None

    async def update_positions(self, timer: Timer) -> bool:
        """Find a position for every partition; False if committed offsets took too long."""
        await self.positions.validate_if_needed()
        self._has_all_positions = self.subscriptions.has_all_fetch_positions
        if self._has_all_positions:
            return True
        if self.group is not None and not await self.group.committed.initialize_positions(timer):
            return False
        self.subscriptions.reset_initializing_positions()
        await self.positions.reset_if_needed()
        return True

    # --- one round --------------------------------------------------------------------------------

    def _collected(self) -> Collected | None:
        """What there is to hand out, if anything is buffered."""
        buffer = self.fetcher.buffer
        if not buffer.queue and (buffer.in_line is None or buffer.in_line.is_consumed):
            return None
        return self.fetcher.collect()

    async def _look_round(self, timer: Timer, passes: int) -> Collected | None:
        """Do what there is to do, and wait for records; `passes` had been made before."""
        now_ms = timer.current_ms
        if self._in_order is not None and self._is_still_in_order(now_ms):
            self._look = self._new_look(now_ms)
        else:
            look = self._new_look(now_ms)
            self._look = self._in_order = None
            group = self.group
            self._is_in_order = group is None or (
                not group.takes_pending_turn(timer) and await group.poll(timer)
            )
            if self._is_in_order:
                await self.update_positions(timer)
                self._look = look
                if self._has_all_positions:
                    self._in_order = look
        wait_ms = self._wait_ms(timer)
        collected = self._collected()
        if collected is not None and not collected.is_empty:
            return collected
        self._send_fetches()
        await self._wait(timer, wait_ms, passes)
        return self._collected()

    def _send_fetches(self) -> int:
        if self.positions.seen_version != self.metadata.update_version:
            self.positions.look_at_leaders()
        if not self._is_in_order and not self.subscriptions.assigned_partitions:
            return 0
        return self.fetcher.send_fetches()

    @property
    def is_settled(self) -> bool:
        """Whether the last look round found nothing amiss, and nothing it collected is.

        An answer that was buffered may be an error that takes a position away.
        """
        return (
            self._is_in_order
            and self._has_all_positions
            and self.subscriptions.has_all_fetch_positions
        )

    def _new_look(self, now_ms: int) -> _Look:
        client, version = self.client, self.metadata.update_version
        subscribed = self.subscriptions.subscribed
        return _Look(now_ms, client.ended, client.fetched, version, subscribed)

    def note_look(self, now_ms: int) -> None:
        """All is in order now, as a look round would find."""
        self._look = self._in_order = self._new_look(now_ms)

    def _is_still_in_order(self, now_ms: int) -> bool:
        """Whether a turn of the group is idle: since the last one, at most records have come."""
        look = self._in_order
        return (
            look is not None
            and self.group is not None
            and self.client.ended == look.ended
            and self.metadata.update_version == look.update_version
            and self.subscriptions.subscribed == look.subscribed
            and self.client.network.states.backs_off_until_ms <= look.at_ms
            and self.is_settled
            and self.group.takes_idle_turn(now_ms)
        )

    def _is_idle(self, now_ms: int) -> bool:
        """Whether to look round again would find what the last look has found: all in order."""
        group = self.group
        return (
            self._has_heard_nothing
            and now_ms < self.subscriptions.next_retry_ms
            and (group is None or group.takes_idle_turn(now_ms))
        )

    @property
    def _has_heard_nothing(self) -> bool:
        """Whether all was in order at the last look, and nothing has come that may change it.

        By time alone a position may be asked for again, a connection that is down be tried again
        and a replica be left.
        """
        look = self._look
        return (
            look is not None
            and self._is_in_order
            and self.client.ended == look.ended
            and self.client.fetched == look.fetched
            and self.metadata.update_version == look.update_version
            and self.client.network.states.backs_off_until_ms <= look.at_ms
            and not self.subscriptions.has_read_from_followers
        )

    @property
    def is_at_rest(self) -> bool:
        """Whether the poll under way waits, and only time or news can give it something to do."""
        return (
            self.is_waiting
            and self._has_heard_nothing
            and self.is_settled
            and self.fetcher.buffer.is_empty
        )

    @property
    def ends_ms(self) -> int:
        """When the poll under way ends for want of records; never, if nobody would hear of that."""
        assert self._timer is not None
        return NEVER if self.swallows_empty_polls else self._timer.deadline_ms

    def on_resume(self, stopped_ms: int, now_ms: int) -> None:
        """The process stood still; a poll that was to end in that time ends now."""
        timer = self._timer
        if self._passes_over and timer is not None:
            ended = (stopped_ms - timer.start_ms) // timer.timeout_ms
            if timer.start_ms + (ended + 1) * timer.timeout_ms <= now_ms:
                timer.start_ms = now_ms

    # --- the wait ---------------------------------------------------------------------------------

    def _wait_ms(self, timer: Timer) -> int:
        """How long until something else is due than the end of this poll."""
        wait_ms = NEVER
        if self.group is not None:
            wait_ms = self.group.time_to_next_poll_ms(timer.current_ms)
        if not self._has_all_positions:
            wait_ms = min(wait_ms, self.config.retry_backoff_ms)
        return wait_ms

    async def _wait(self, timer: Timer, wait_ms: int, passes: int) -> None:
        """Wait for news, at most so long, and not beyond the end of a poll that is heard of."""
        is_settled = self.is_settled
        wait_ms = self._begin_wait(timer, wait_ms, is_settled=is_settled)
        now_ms = self.clock.now_ms
        poll_timer = Timer(self.clock, now_ms, now_ms, min(NEVER, now_ms + wait_ms), wait_ms)
        # Where nothing has been heard since the poll looked round, looking round again is idle.
        comes_back = is_settled and passes == self.client.passes
        self.is_waiting = True
        try:
            await self.client.poll(
                poll_timer,
                self._should_block,
                comes_back=comes_back,
                is_idle=self._passes_over or None,
            )
        except BaseException:
            self._passes_over = False
            raise
        finally:
            self.is_waiting = False
        self._end_wait(timer, poll_timer.current_ms)

    def _begin_wait(self, timer: Timer, wait_ms: int, *, is_settled: bool) -> int:
        """How long to wait for news where something else is due after so long."""
        self._is_endless = is_settled and self.swallows_empty_polls
        if not self._is_endless:
            left_ms = timer.deadline_ms - timer.current_ms
            if left_ms < wait_ms:
                wait_ms = max(0, left_ms)
            pending_ms = 0 if self._is_in_order else self._pending_ms(timer)
            if pending_ms > wait_ms:
                wait_ms, self._passes_over = pending_ms, True
        return wait_ms

    def _end_wait(self, timer: Timer, now_ms: int) -> None:
        """The wait was over then; so may be polls whose ends nobody hears of.

        What was heard may have taken time since, which Kafka's poll does not notice here.
        """
        passes_over, self._passes_over = self._passes_over, False
        if now_ms > timer.current_ms:
            timer.current_ms = now_ms
        if self._is_endless:
            # As if a poll had ended just now and the next begun.
            if self.group is not None:
                self.group.membership.heartbeat.polled_every(timer.timeout_ms, timer.current_ms)
            timer.reset(timer.timeout_ms)
        elif passes_over:
            timer.go_round()

    def _pending_ms(self, timer: Timer) -> int:
        """How long, up to the end of one, this poll and the next can only wait for a JoinGroup.

        They find nothing else to do, and nobody hears of their ends.
        """
        group, states = self.group, self.client.network.states
        if (
            group is None
            or group.membership.state is not MemberState.PREPARING_REBALANCE
            or not self.swallows_empty_polls
            or not timer.current_ms == self.clock.now_ms < timer.deadline_ms
            or states.backs_off_until_ms > timer.current_ms
            or self.subscriptions.has_read_from_followers
            or self.config.retry_backoff_ms == 0  # Then a poll makes one pass after the other.
            or not self.fetcher.buffer.is_empty
            or not group.begins_to_await_join()
        ):
            return 0
        whole_ms = self.client.idle_until_ms(timer.current_ms) - timer.start_ms
        ends_ms = timer.start_ms + whole_ms // timer.timeout_ms * timer.timeout_ms
        return ends_ms - timer.current_ms

    # --- rounds of which somebody else knows what they come to ------------------------------------

    def can_go_round(self, now_ms: int) -> bool:
        """Whether the poll under way waits, and would go round with nothing but the group to see.

        It finds no records, nobody to ask for some, and no new view of the cluster.
        """
        timer = self._timer
        return (
            self.is_waiting
            and timer is not None
            and timer.timeout_ms > 0
            and self.is_under_way(now_ms)
            and self.positions.seen_version == self.metadata.update_version
            and self.fetcher.buffer.is_empty
            and self.fetcher.has_asked_everyone
        )

    def is_under_way(self, now_ms: int) -> bool:
        """Whether the poll that waits is not over by then, or nobody would hear of its end."""
        timer = self._timer
        return (
            self._is_endless
            or self._passes_over
            or (timer is not None and now_ms < timer.deadline_ms)
        )

    def end_round(self, now_ms: int) -> None:
        """The wait of the poll under way is over by news, and the next round begins."""
        assert self._timer is not None
        self._end_wait(self._timer, now_ms)
        self._look = self._in_order = None

    def begin_to_wait(self, now_ms: int, *, is_in_order: bool) -> None:
        """Wait as after a round in which the group, and then all else, was in order, or was not."""
        assert self._timer is not None
        self._is_in_order = is_in_order
        if is_in_order:
            self._has_all_positions = True
            self.note_look(now_ms)
        wait_ms = self._wait_ms(self._timer)
        wait_ms = self._begin_wait(self._timer, wait_ms, is_settled=is_in_order)
        self.client.wait_anew(wait_ms)

    def _should_block(self) -> bool:
        return not (self.fetcher.buffer.queue and self.fetcher.has_available_fetches)
