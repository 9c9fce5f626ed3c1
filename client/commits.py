"""Committing offsets: synchronous, asynchronous and automatic, and what a refused commit costs.

The commit half of Kafka's `ConsumerCoordinator`. Reading committed offsets is in
`client.committed`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from attrs import define, field

from client.actions import COMMIT_ACTIONS, Reset
from client.backoff import ExponentialBackoff
from client.dispatch import ConsumerNetworkClient
from client.errors import (
    CommitFailedException,
    CoordinatorNotAvailableException,
    FencedInstanceIdException,
    KafkaException,
    RebalanceInProgressException,
    RetriableCommitFailedException,
    RetriableException,
    TimeoutException,
    TopicAuthorizationException,
    WakeupException,
    exception_of,
)
from client.futures import RequestFuture, Told, failed_future
from client.java_maps import filled_with_texts
from client.listeners import CommitCallback, ConsumerInterceptor, Offsets
from client.membership import NO_GENERATION, Generation, Membership
from client.outputs import CommitCallbackCalled, CommitFailed
from client.partitions import OffsetAndMetadata, TopicPartition
from client.settings import ConsumerConfig
from client.states import MemberState
from client.subscription import SubscriptionState
from client.timers import Timer
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    NO_PARTITION_LEADER_EPOCH,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

#: Newer versions name topics by id, which the classic consumer never does.
OFFSET_COMMIT_VERSION = 9


#: Offsets in the order in which they are to be told.
_InOrder = tuple[tuple[TopicPartition, OffsetAndMetadata], ...]


@define(eq=False)
class _Completion:
    callback: CommitCallback
    offsets: Offsets
    error: Exception | None


@define(eq=False, kw_only=True, repr=False)
class Commits:
    """A consumer's commits, those in flight, and the callbacks that are still to be run."""

    config: ConsumerConfig
    client: ConsumerNetworkClient
    membership: Membership
    subscriptions: SubscriptionState
    retry_backoff: ExponentialBackoff
    interceptors: tuple[ConsumerInterceptor, ...]
    call_back: Callable[[CommitCallback, Offsets, Exception | None], Awaitable[None]]
    tell: Callable[[object], None]
    #: The commit that a rebalance waits for.
    before_rebalance: RequestFuture[None] | None = None
    _in_flight_async: int = 0
    _pending_async: int = 0
    is_fenced: bool = False
    #: How commits ended of which the application is still to be told.
    completed: deque[_Completion] = field(factory=deque)
    #: The offsets that were last put into a request, and how they look there.
    _last: tuple[_InOrder, tuple[OffsetCommitRequestTopic, ...]] = ((), ())
    auto_commit_timer: Timer = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start the first interval."""
        self.auto_commit_timer = self.client.clock.timer(self.config.auto_commit_interval_ms)

    # --- synchronous ------------------------------------------------------------------------------

    async def commit_sync(self, offsets: Offsets, timer: Timer) -> bool:
        """Commit and wait for the answer, again and again while that can help; at least once."""
        await self.run_callbacks()
        if not offsets:
            return await self._await_async_commits(timer)
        attempts = 0
        while True:
            if not await self.membership.discovery.ensure_ready(timer):
                self._tell_failed(offsets, TimeoutException("no coordinator was found in time"))
                return False
            future = self._send(offsets)
            await self.client.poll_until_done(future, timer)
            await self.run_callbacks()
            if future.succeeded:
                self._intercept(offsets)
                return True
            if not future.is_done:
                self._tell_failed(offsets, TimeoutException("no answer came in time"))
            if future.error is not None and not future.is_retriable:
                raise future.error
            await self.client.sleep(timer, self.retry_backoff.backoff_ms(attempts))
            attempts += 1
            if timer.is_expired:
                return False

    async def _await_async_commits(self, timer: Timer) -> bool:
        if self._in_flight_async == 0:
            return True
        attempts = 0
        while True:
            await self.membership.discovery.ensure_ready(timer)
            await self.client.poll(timer)
            await self.run_callbacks()
            if self._in_flight_async == 0:
                return True
            await self.client.sleep(timer, self.retry_backoff.backoff_ms(attempts))
            attempts += 1
            if timer.is_expired:
                return False

    # --- asynchronous -----------------------------------------------------------------------------

    async def commit_async(
        self, offsets: Offsets, callback: CommitCallback
    ) -> RequestFuture[None] | None:
        """Commit and go on; without a coordinator, once the lookup under way has found one."""
        await self.run_callbacks()
        discovery = self.membership.discovery
        future: RequestFuture[None] | None = None
        if not offsets or not discovery.is_unknown() or await discovery.ensure_ready_now():
            future = self._do_commit_async(offsets, callback)
        else:
            self._pending_async += 1
            lookup = await discovery.look_up()

            async def on_found(_: None) -> None:
                self._pending_async -= 1
                self._do_commit_async(offsets, callback)
                await self.client.poll_no_wakeup()

            def on_failure(error: Exception) -> None:
                self._pending_async -= 1
                self._tell_failed(offsets, error)
                failure = RetriableCommitFailedException("no coordinator was found", error)
                self.completed.append(_Completion(callback, offsets, failure))

            told = lookup.listen(on_found, on_failure)
            if told is not None:
                await told
        await self.client.poll_no_wakeup()
        return future

    def _do_commit_async(
        self, offsets: Offsets, callback: CommitCallback, said: OffsetCommitRequest | None = None
    ) -> RequestFuture[None]:
        future = self._send(offsets, said)
        self._in_flight_async += 1

        def on_success(_: None) -> None:
            self._in_flight_async -= 1
            if self.interceptors:
                self._intercept(offsets)
            self.completed.append(_Completion(callback, offsets, None))

        def on_failure(error: Exception) -> None:
            self._in_flight_async -= 1
            if isinstance(error, RetriableException):
                error = RetriableCommitFailedException("the commit may be tried again", error)
            self.completed.append(_Completion(callback, offsets, error))
            if isinstance(error, FencedInstanceIdException):
                self.is_fenced = True

        future.listen(on_success, on_failure)
        return future

    @property
    def has_news(self) -> bool:
        """Whether the application is to be told how a commit ended."""
        return self.is_fenced or bool(self.completed)

    async def run_callbacks(self) -> None:
        """Tell the application of commits that have ended, in the order in which they did."""
        if self.is_fenced:
            raise FencedInstanceIdException("an asynchronous commit was fenced")
        while self.completed:
            done = self.completed.popleft()
            await self.call_back(done.callback, done.offsets, done.error)

    def is_to_be_said(self, request: OffsetCommitRequest) -> bool:
        """Whether an automatic commit would say the same now as this one."""
        return request.topics is self._topics_of(self.subscriptions.all_consumed())

    def tell_committed(self) -> None:
        """Tell of an automatic commit that has ended well, in which nobody else has a part."""
        self._tell_taken(self.completed.popleft().offsets)

    def tell_repeated(self) -> None:
        """Tell the same of one that has said all positions as they are, and is known elsewhere."""
        self._tell_taken(self.subscriptions.all_consumed())

    def _tell_taken(self, offsets: Offsets) -> None:
        self.tell(CommitCallbackCalled(at_ms=self.client.clock.now_ms, offsets=offsets, error=None))

    # --- automatic --------------------------------------------------------------------------------

    @property
    def is_auto_commit(self) -> bool:
        """Whether positions are committed without being asked."""
        return self.config.enable_auto_commit

    def is_due(self, now_ms: int) -> bool:
        """Whether an automatic commit is due."""
        return self.config.enable_auto_commit and now_ms >= self.auto_commit_timer.deadline_ms

    def restart_auto_commit_timer(self) -> None:
        """A new assignment begins a new interval."""
        if self.config.enable_auto_commit:
            self.auto_commit_timer.update_and_reset(self.config.auto_commit_interval_ms)

    async def maybe_auto_commit_async(self, now_ms: int) -> None:
        """Commit all positions if the interval is over."""
        if not self.config.enable_auto_commit:
            return
        self.auto_commit_timer.update(now_ms)
        if self.auto_commit_timer.current_ms >= self.auto_commit_timer.deadline_ms:
            self.auto_commit_timer.reset(self.config.auto_commit_interval_ms)
            await self.auto_commit_async()

    async def auto_commit_async(self) -> RequestFuture[None] | None:
        """Commit all positions; a failure that may pass is soon tried again."""
        return await self.commit_async(self.subscriptions.all_consumed(), self._on_auto_committed)

    def begin_commit_before_rebalance(self) -> None:
        """Queue the commit that a rebalance waits for, for somebody who sees to its sending."""
        offsets = self.subscriptions.all_consumed()
        self.before_rebalance = self._do_commit_async(offsets, self._on_auto_committed)

    def begin_auto_commit(self, now_ms: int, said: OffsetCommitRequest | None) -> None:
        """Queue the automatic commit that is due, for somebody who sees to its sending.

        One that was answered, and has `said` what is to be said now, is sent again.
        """
        self.begin_interval(now_ms)
        self._do_commit_async(self.subscriptions.all_consumed(), self._on_auto_committed, said)

    def begin_interval(self, now_ms: int) -> None:
        """An automatic commit leaves; the next is due an interval later."""
        self.auto_commit_timer.update(now_ms)
        self.auto_commit_timer.reset(self.config.auto_commit_interval_ms)

    def _on_auto_committed(self, _: Offsets, error: Exception | None) -> None:
        if isinstance(error, RetriableCommitFailedException):
            self.auto_commit_timer.update_and_reset(self.config.retry_backoff_ms)

    async def close(self, timer: Timer) -> None:
        """Commit all positions, and wait for commits that wait for a coordinator."""
        if self.is_auto_commit:
            try:
                await self.commit_sync(self.subscriptions.all_consumed(), timer)
            except WakeupException:
                raise
            except Exception:  # noqa: BLE001, S110 (Kafka only logs what a last commit raises)
                pass
        while self._pending_async > 0 and not timer.is_expired:
            await self.membership.discovery.ensure_ready(timer)
            await self.client.poll(timer)
            await self.run_callbacks()

    # --- the request ------------------------------------------------------------------------------

    def _send(
        self, offsets: Offsets, said: OffsetCommitRequest | None = None
    ) -> RequestFuture[None]:
        if not offsets:
            return RequestFuture(is_done=True)
        coordinator = self.membership.discovery.check_and_get()
        if coordinator is None:
            return self._unsent(offsets, CoordinatorNotAvailableException())
        sent, instance_id = NO_GENERATION, None
        if self.subscriptions.has_auto_assigned_partitions:
            stable = self.membership.generation_if_stable
            if stable is None:
                return self._unsent(offsets, self._not_a_member())
            sent, instance_id = stable, self.config.group_instance_id
        request = said or self._request(offsets, sent, instance_id)

        def handle(reply: object, committed: RequestFuture[None]) -> Told:
            assert isinstance(reply, OffsetCommitResponse)
            error = self._error_of(reply, sent)
            return committed.complete(None) if error is None else committed.fail(error)

        return self.membership.requests.ask(
            coordinator, request, handle, lambda error: self._tell_failed(offsets, error)
        )

    def _request(
        self, offsets: Offsets, sent: Generation, instance_id: str | None
    ) -> OffsetCommitRequest:
        return OffsetCommitRequest(
            request_id=self.client.network.next_request_id(),
            client_id=self.config.client_id,
            api_version=OFFSET_COMMIT_VERSION,
            group_id=self.config.group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=instance_id,
            topics=self._topics_of(offsets),
        )

    def _topics_of(self, offsets: Offsets) -> tuple[OffsetCommitRequestTopic, ...]:
        """The offsets as a request tells them; where nothing is read, often those told before."""
        in_order = tuple(offsets.items())
        if in_order != self._last[0]:
            self._last = in_order, _topics_of(offsets)
        return self._last[1]

    def _unsent(self, offsets: Offsets, error: Exception) -> RequestFuture[None]:
        self._tell_failed(offsets, error)
        return failed_future(error)

    def _tell_failed(self, offsets: Offsets, error: Exception) -> None:
        self.tell(CommitFailed(at_ms=self.client.clock.now_ms, offsets=offsets, error=error))

    def _not_a_member(self) -> KafkaException:
        if self.membership.state.is_rebalancing:
            return RebalanceInProgressException("the group is rebalancing; poll first")
        return CommitFailedException("the consumer is not part of an active group")

    def _error_of(self, reply: OffsetCommitResponse, sent: Generation) -> KafkaException | None:
        """The first error of the answer decides; only missing rights to topics are collected."""
        unauthorized = []
        for topic in reply.topics:
            for partition in topic.partitions:
                if partition.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                    unauthorized.append(topic.name)
                elif partition.error_code is not ErrorCode.NONE:
                    return self._act(partition.error_code, sent)
        if unauthorized:
            return TopicAuthorizationException(f"not authorized: {sorted(set(unauthorized))}")
        return None

    def _act(self, error: ErrorCode, sent: Generation) -> KafkaException:
        """Do to the membership what the table says, and name the exception."""
        membership = self.membership
        action = COMMIT_ACTIONS.get(error)
        if action is None:
            return KafkaException(f"unexpected error in a commit: {error.name}")
        if action.loses_coordinator:
            membership.discovery.mark_unknown(is_disconnected=False)
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            membership.request_rejoin("offset commit failed since group is already rebalancing")
        is_stale = membership.generation != sent
        is_preparing = membership.state is MemberState.PREPARING_REBALANCE
        if action.reset is not Reset.NOTHING:
            if is_stale and is_preparing:
                return RebalanceInProgressException("the generation of the commit is over")
            membership.reset_and_rejoin(
                f"encountered {error.name} from OFFSET_COMMIT response", action.reset
            )
            return CommitFailedException("the group does not know this member or generation")
        if error is ErrorCode.FENCED_INSTANCE_ID and is_stale:
            if is_preparing:
                return RebalanceInProgressException("the generation of the commit is over")
            return CommitFailedException("the generation of the commit is over")
        return exception_of(error)

    def _intercept(self, offsets: Offsets) -> None:
        for interceptor in self.interceptors:
            with suppress(Exception):  # Kafka logs and swallows what an interceptor raises.
                interceptor.on_commit(offsets)


def _topics_of(offsets: Offsets) -> tuple[OffsetCommitRequestTopic, ...]:
    """The offsets by topic, in the order of Kafka's hash map: the first error will decide."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition, committed in offsets.items():
        epoch = committed.leader_epoch
        by_topic.setdefault(partition.topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=partition.partition,
                committed_offset=committed.offset,
                committed_leader_epoch=NO_PARTITION_LEADER_EPOCH if epoch is None else epoch,
                committed_metadata=committed.metadata,
            )
        )
    return tuple(
        OffsetCommitRequestTopic(name=topic, partitions=tuple(by_topic[topic]))
        for topic in filled_with_texts(by_topic)
    )


def is_all_committed(reply: OffsetCommitResponse) -> bool:
    """Whether a commit was taken whole."""
    for topic in reply.topics:
        for partition in topic.partitions:
            if partition.error_code is not ErrorCode.NONE:
                return False
    return True
