"""Brokers, clients and groups in the state that a test begins with; everything has a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coordinator import ClusterView, ErrorCode, GroupConfig, GroupCoordinator, ListedIds, SeededIds
from coordinator.protocol import (
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    OffsetCommitResponse,
)
from coordinator.subscription import subscription_to
from tests.support.verbs import Broker, Call, Client, join_of, sync_of

#: Kafka's own defaults but for these: no initial wait, and one shard, so that all groups share it.
TEST_SETTINGS = {"group_initial_rebalance_delay_ms": 0, "offsets_topic_num_partitions": 1}


def a_config(**settings: int) -> GroupConfig:
    """Settings of a broker under test."""
    return GroupConfig.from_properties(TEST_SETTINGS | settings)


def a_broker(
    *, ids: tuple[str, ...] | None = None, view: ClusterView | None = None, **settings: int
) -> Broker:
    """A broker that coordinates every shard; its member ids come from a list or from a seed."""
    source = SeededIds() if ids is None else ListedIds(ids)
    config = a_config(**settings)
    broker = Broker(GroupCoordinator(config, ids=source, view=view))
    for shard in range(config.offsets_topic_num_partitions):
        broker.load(shard)
    return broker


def some_protocols(*names: str, metadata: bytes | None = None) -> tuple[Any, ...]:
    """Protocols in order of preference, all with the same subscription (to topic t)."""
    said = subscription_to("t") if metadata is None else metadata
    return tuple(JoinGroupRequestProtocol(name, said) for name in names)


def a_client(name: str = "ada", **traits: Any) -> Client:
    """A dynamic client that knows one protocol and has not joined."""
    return Client(name=name, **({"protocols": some_protocols("range")} | traits))


def a_static_client(name: str = "ada", **traits: Any) -> Client:
    """A client with an instance id."""
    return a_client(name, **({"group_instance_id": f"{name}-instance"} | traits))


def join_together(broker: Broker, *clients: Client) -> list[Call[JoinGroupResponse]]:
    """All join at the same instant, into one generation; the first one of a new group leads."""
    calls = []
    for client in clients:
        call: Call[JoinGroupResponse] = broker.calls(join_of(client), by=client)
        if not call.is_open and call.error is ErrorCode.MEMBER_ID_REQUIRED:
            call = broker.calls(join_of(client), by=client)
        calls.append(call)
    broker.advances(0)
    while any(call.is_open for call in calls):
        at_ms = broker.timers.next_at_ms()
        assert at_ms is not None, "somebody waits for ever"
        broker.advance_to(at_ms)
    return calls


def sync_together(
    broker: Broker, *clients: Client, plan: Mapping[str, bytes] | None = None
) -> None:
    """All sync; whoever leads gives each the share named after it, unless there is a plan."""
    shares = {each.member_id: f"share of {each.name}".encode() for each in clients}
    calls = [broker.calls(sync_of(each, shares if plan is None else plan)) for each in clients]
    broker.advances(0)
    assert [call.error for call in calls] == [ErrorCode.NONE] * len(calls)


def clients_named(*names: str | Client, **traits: Any) -> tuple[Client, ...]:
    """Clients by name; one that is a client already stays as it is."""
    return tuple(each if isinstance(each, Client) else a_client(each, **traits) for each in names)


def a_joined_group(broker: Broker, *names: str | Client, **traits: Any) -> tuple[Client, ...]:
    """A group in CompletingRebalance, led by the first of these."""
    clients = clients_named(*names, **traits)
    join_together(broker, *clients)
    return clients


def a_stable_group(broker: Broker, *names: str | Client, **traits: Any) -> tuple[Client, ...]:
    """A Stable group, led by the first of these; each holds the share named after it."""
    clients = a_joined_group(broker, *names, **traits)
    sync_together(broker, *clients)
    return clients


def a_preparing_group(broker: Broker, *names: str | Client, **traits: Any) -> tuple[Client, ...]:
    """A group of which the first, its leader, has rejoined while the others are awaited."""
    clients = a_stable_group(broker, *names, **traits)
    broker.joins(clients[0])
    return clients


def an_empty_group(broker: Broker, group_id: str = "g") -> None:
    """A group of generation 2 that its only member has left."""
    (last,) = a_stable_group(broker, "last", group_id=group_id)
    broker.leaves(last)


def begin_a_write(broker: Broker, group_id: str = "other") -> Call[OffsetCommitResponse]:
    """A write of this group is under way, and the log says nothing of it."""
    broker.log_falls_silent()
    return broker.commits(None, group_id=group_id)
