"""Puts a consumer together: which part knows which."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from attrs import frozen

from client.assignors import ConsumerGroupMetadata
from client.backoff import Chance, ExponentialBackoff
from client.calls import AsyncConsumer
from client.collecting import Collector
from client.commits import Commits
from client.committed import Committed
from client.connections import ConnectionStates
from client.discovery import Discovery
from client.dispatch import ConsumerNetworkClient
from client.fetching import Fetcher
from client.group import GroupClient
from client.heartbeats import Heartbeat
from client.joining import GroupRequests
from client.leading import Leading
from client.listeners import (
    CommitCallback,
    ConsumerInterceptor,
    Offsets,
    Partitions,
    RebalanceListener,
)
from client.membership import Membership
from client.metadata import ConsumerMetadata
from client.network import NetworkClient
from client.outputs import CommitCallbackCalled, ListenerCalled, ListenerReturned
from client.partitions import bootstrap_nodes
from client.positions import Positions
from client.rebalancing import Rebalancing
from client.settings import ConsumerConfig, common_protocols
from client.subscription import SubscriptionState
from client.threads import Threads
from client.timers import Clock

Tell = Callable[[object], None]


@frozen(kw_only=True)
class Surroundings:
    """What a consumer is given by its host."""

    config: ConsumerConfig
    clock: Clock
    threads: Threads
    chance: Chance
    interceptors: tuple[ConsumerInterceptor, ...]
    tell: Tell

    def backoff(self, initial_ms: int, max_ms: int) -> ExponentialBackoff:
        """A schedule that draws on this consumer's chance."""
        return ExponentialBackoff(initial_ms=initial_ms, max_ms=max_ms, chance=self.chance)

    @property
    def retry_backoff(self) -> ExponentialBackoff:
        """The schedule of `retry.backoff.ms`."""
        return self.backoff(self.config.retry_backoff_ms, self.config.retry_backoff_max_ms)


def assemble(around: Surroundings) -> AsyncConsumer:
    """A consumer that has done nothing yet."""
    config, clock = around.config, around.clock
    subscriptions = SubscriptionState(default_reset_strategy=config.reset_strategy)
    metadata = ConsumerMetadata(
        bootstrap_nodes=bootstrap_nodes(config.bootstrap_servers),
        subscriptions=subscriptions,
        refresh_backoff=around.retry_backoff,
        metadata_max_age_ms=config.metadata_max_age_ms,
        excludes_internal_topics=config.exclude_internal_topics,
    )
    metadata.bootstrap()
    client = _network(around, metadata)
    group = None
    if config.group_id is not None:
        group = _group(around, client, metadata, subscriptions)
    collector = Collector(
        config=config, clock=clock, metadata=metadata, subscriptions=subscriptions
    )
    return AsyncConsumer(
        config=config,
        clock=clock,
        client=client,
        metadata=metadata,
        subscriptions=subscriptions,
        fetcher=Fetcher(
            config=config,
            client=client,
            metadata=metadata,
            subscriptions=subscriptions,
            collector=collector,
        ),
        positions=Positions(
            config=config, client=client, metadata=metadata, subscriptions=subscriptions
        ),
        interceptors=around.interceptors,
        tell=around.tell,
        group=group,
    )


def _network(around: Surroundings, metadata: ConsumerMetadata) -> ConsumerNetworkClient:
    config = around.config
    states = ConnectionStates(
        reconnect_backoff=around.backoff(
            config.reconnect_backoff_ms, config.reconnect_backoff_max_ms
        ),
        setup_timeout=around.backoff(
            config.socket_connection_setup_timeout_ms,
            config.socket_connection_setup_timeout_max_ms,
        ),
    )
    network = NetworkClient(
        config=config,
        clock=around.clock,
        metadata=metadata,
        states=states,
        pick=around.chance.pick,
        threads=around.threads,
        tell=around.tell,
    )
    return ConsumerNetworkClient(
        config=config,
        clock=around.clock,
        network=network,
        metadata=metadata,
        threads=around.threads,
    )


def _group(
    around: Surroundings,
    client: ConsumerNetworkClient,
    metadata: ConsumerMetadata,
    subscriptions: SubscriptionState,
) -> GroupClient:
    config = around.config
    membership = _membership(config, client, around.retry_backoff)
    leading = Leading(
        client=client,
        metadata=metadata,
        subscriptions=subscriptions,
        client_rack=config.client_rack,
    )
    leading.look()
    metadata.request_update(forget_equivalent=True)
    commits = Commits(
        config=config,
        client=client,
        membership=membership,
        subscriptions=subscriptions,
        retry_backoff=around.retry_backoff,
        interceptors=around.interceptors,
        call_back=_commit_caller(around.clock, around.tell),
        tell=around.tell,
    )
    membership.rebalancing = _rebalancing(around, membership, commits, leading)
    return GroupClient(
        client=client,
        metadata=metadata,
        subscriptions=subscriptions,
        membership=membership,
        rebalancing=membership.rebalancing,
        leading=leading,
        commits=commits,
        committed=Committed(
            config=config,
            client=client,
            membership=membership,
            subscriptions=subscriptions,
            metadata=metadata,
            retry_backoff=around.retry_backoff,
        ),
    )


def _rebalancing(
    around: Surroundings, membership: Membership, commits: Commits, leading: Leading
) -> Rebalancing:
    config = around.config
    assert config.group_id is not None
    assignors = config.new_assignors()
    protocols = common_protocols(assignors)
    return Rebalancing(
        membership=membership,
        commits=commits,
        subscriptions=leading.subscriptions,
        metadata=leading.metadata,
        assignors=assignors,
        protocol=max(protocols) if protocols else None,
        leading=leading,
        group_metadata=ConsumerGroupMetadata(
            group_id=config.group_id, group_instance_id=config.group_instance_id
        ),
        call_listener=_listener_caller(around.clock, around.tell),
        tell=around.tell,
    )


def _membership(
    config: ConsumerConfig, client: ConsumerNetworkClient, retry_backoff: ExponentialBackoff
) -> Membership:
    heartbeat = Heartbeat(config=config, clock=client.clock, retry_backoff=retry_backoff)
    discovery = Discovery(
        config=config,
        client=client,
        threads=client.threads,
        heartbeat=heartbeat,
        retry_backoff=retry_backoff,
    )
    membership = Membership(
        config=config,
        clock=client.clock,
        client=client,
        threads=client.threads,
        discovery=discovery,
        heartbeat=heartbeat,
    )
    membership.requests = GroupRequests(membership)
    return membership


def _listener_caller(
    clock: Clock, tell: Tell
) -> Callable[[str, RebalanceListener, Partitions], Awaitable[None]]:
    """Calls a listener's method and tells the host around it."""

    async def call(name: str, listener: RebalanceListener, partitions: Partitions) -> None:
        tell(ListenerCalled(at_ms=clock.now_ms, name=name, partitions=partitions))
        try:
            waits = getattr(listener, name)(partitions)
            if waits is not None:
                await waits
        except Exception as error:
            tell(ListenerReturned(at_ms=clock.now_ms, name=name, error=error))
            raise
        tell(ListenerReturned(at_ms=clock.now_ms, name=name))

    return call


def _commit_caller(
    clock: Clock, tell: Tell
) -> Callable[[CommitCallback, Offsets, Exception | None], Awaitable[None]]:
    """Calls a commit's callback and tells the host before it."""

    async def call(callback: CommitCallback, offsets: Offsets, error: Exception | None) -> None:
        tell(CommitCallbackCalled(at_ms=clock.now_ms, offsets=offsets, error=error))
        waits = callback(offsets, error)
        if waits is not None:
            await waits

    return call
