"""Copies and snapshots: a copy goes its own way, and two copies with the same inputs stay equal."""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.protocol import DeleteGroupsRequest, OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.states import STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    begin_a_write,
)
from tests.support.host import Host
from tests.support.verbs import an_offset, commit_of, join_of, sync_of


def a_fresh_broker():
    return a_broker()


def a_broker_with_a_stable_group():
    broker = a_broker()
    a_stable_group(broker, "ada", a_static_client("bea"))
    broker.commits(None, group_id="other")
    return broker


def a_broker_with_parked_joins():
    broker = a_broker()
    a_preparing_group(broker, "ada", "bea", "cyd")
    broker.joins(a_client("new"))
    return broker


def a_broker_with_parked_syncs():
    broker = a_broker()
    _, bea = a_joined_group(broker, "ada", "bea")
    broker.syncs(bea)
    return broker


def a_broker_with_a_plan_under_way():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    broker.syncs(bea)
    broker.syncs(ada, {bea.member_id: b"all"})
    return broker


def a_broker_with_a_static_return_under_way():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.log_falls_silent()
    broker.joins(bea.restarted())
    return broker


def a_broker_with_a_first_join_under_way():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    broker.log_falls_silent()
    broker.joins(a_static_client("ada"))
    return broker


def a_broker_with_answers_under_way():
    broker = a_broker(offsets_topic_num_partitions=2)
    (ada,) = a_stable_group(broker, "ada", group_id="a")
    an_empty_group(broker, "b")
    broker.log_falls_silent()
    for group_id in ("a", "b"):
        broker.calls(commit_of(None, group_id=group_id))
    broker.beats(ada)
    broker.calls(DeleteGroupsRequest(groups_names=("a", "b")))
    groups = tuple(OffsetFetchRequestGroup(group_id=name) for name in ("a", "b"))
    broker.calls(OffsetFetchRequest(groups=groups, require_stable=True, api_version=9))
    return broker


def a_broker_whose_joins_were_answered_early():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    broker.joins(ada)
    broker.advances("5s")
    return broker


def a_broker_that_loads():
    broker = a_broker(offsets_topic_num_partitions=3)
    broker.loses_its_shard(0)
    broker.loses_its_shard(1)
    broker.begins_to_load(1)
    return broker


SCENES = [
    a_fresh_broker,
    a_broker_with_a_stable_group,
    a_broker_with_parked_joins,
    a_broker_with_parked_syncs,
    a_broker_with_a_plan_under_way,
    a_broker_with_a_static_return_under_way,
    a_broker_with_a_first_join_under_way,
    a_broker_with_answers_under_way,
    a_broker_whose_joins_were_answered_early,
    a_broker_that_loads,
]
EVERY_SCENE = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)


def go_on(host: Host) -> None:
    """What happens next is the same for everyone."""
    host.send(join_of(a_client("late")))
    host.send(join_of(a_static_client("latest")))
    host.send(commit_of(None, an_offset("u"), group_id="yet another"))
    host.advance_to(host.now_ms + 2_000)
    host.speak(ErrorCode.NOT_ENOUGH_REPLICAS)
    host.send(sync_of(a_client(member_id="stray", generation_id=2), None))
    host.advance_to(host.now_ms + 60_000)
    host.send(join_of(a_static_client("latest")))
    host.advance_to(host.now_ms + 600_000)


@EVERY_SCENE
def test_a_copy_is_equal_to_its_original(scene):
    broker = scene()

    twin = broker.machine.copy()

    assert twin.snapshot() == broker.machine.snapshot()


@EVERY_SCENE
def test_two_copies_with_the_same_inputs_stay_equal(scene):
    first = Host.copy(scene())
    second = first.copy()

    go_on(first)
    go_on(second)

    assert first.machine.snapshot() == second.machine.snapshot()
    assert first.replies == second.replies
    assert first.events == second.events
    assert first.logs == second.logs


@EVERY_SCENE
def test_a_copy_is_not_touched_by_what_happens_to_its_original(scene):
    host = Host.copy(scene())
    twin = host.copy()
    before = twin.machine.snapshot()

    go_on(host)

    assert twin.machine.snapshot() == before
    assert host.machine.snapshot() != before


@EVERY_SCENE
def test_a_snapshot_is_a_value(scene):
    snapshot = scene().machine.snapshot()

    assert hash(snapshot) == hash(scene().machine.snapshot())


def test_snapshots_differ_when_members_do():
    one, other = a_broker(), a_broker()
    a_stable_group(one, "ada")
    a_stable_group(other, "ada", session_timeout_ms=10_000)

    assert one.machine.snapshot() != other.machine.snapshot()


def test_snapshots_differ_when_a_timer_does():
    one, other = a_broker_with_a_stable_group(), a_broker_with_a_stable_group()
    (ada, _) = one.group().members.values()
    other.advances("1s")

    other.beats(a_client(member_id=ada.member_id, generation_id=1))

    assert one.machine.snapshot() != other.machine.snapshot()


def test_snapshots_differ_when_an_offset_does():
    one, other = a_broker(), a_broker()
    one.commits(None, an_offset(offset=1))
    other.commits(None, an_offset(offset=2))

    assert one.machine.snapshot() != other.machine.snapshot()


def test_snapshots_differ_when_an_offset_that_would_be_restored_does():
    one, other = a_broker(), a_broker()
    for offset, broker in enumerate((one, other)):
        broker.commits(None, an_offset(offset=offset))
        broker.log_falls_silent()
        broker.commits(None, an_offset(offset=99))

    # Both show 99 now, but a failed write would leave them with different offsets.
    assert one.machine.snapshot() != other.machine.snapshot()


def test_snapshots_differ_when_the_next_ids_do():
    one, other = a_broker(), a_broker()
    other.machine.ids.next_id("somebody")

    # "Equal exactly when two machines would go on alike": these would hand out different ids.
    assert one.machine.snapshot() != other.machine.snapshot()


def test_a_copied_source_of_ids_goes_on_from_the_same_place():
    host = Host.copy(a_fresh_broker())
    twin = host.copy()

    calls = [each.ask(join_of(a_client())) for each in (host, twin)]

    assert calls[0] == calls[1]


def test_copies_share_no_members():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    twin = broker.machine.copy()

    broker.leaves(ada)

    shard = twin.slots[0].shard
    assert shard is not None
    assert shard.groups["g"].state is STABLE
    assert list(shard.groups["g"].members) == [ada.member_id]
