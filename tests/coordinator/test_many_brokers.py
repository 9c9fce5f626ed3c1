"""Many shards in a broker, many brokers in a process, and shards that move between them."""

from __future__ import annotations

from coordinator import ErrorCode, GroupCoordinator, SeededIds
from coordinator.protocol import DeleteGroupsRequest, DescribeGroupsRequest
from coordinator.states import EMPTY, STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_config,
    a_stable_group,
    a_static_client,
    begin_a_write,
)
from tests.support.verbs import Broker


def a_cluster(*names, **settings):
    """Brokers that lead nothing yet, over one common log."""
    logs: dict[int, list[object]] = {}
    brokers = []
    for seed, _ in enumerate(names):
        machine = GroupCoordinator(a_config(**settings), ids=SeededIds(seed))
        brokers.append(Broker(machine, logs=logs))  # type: ignore[arg-type]
    return brokers


def move(shard, old, new):
    old.unload(shard)
    new.load(shard)


def test_a_group_lives_in_exactly_one_shard():
    broker = a_broker(offsets_topic_num_partitions=50)

    for number in range(200):
        broker.commits(None, group_id=f"group-{number}")

    held = {index: set(slot.shard.groups) for index, slot in broker.machine.slots.items()}  # type: ignore[union-attr]
    assert sum(len(groups) for groups in held.values()) == 200
    assert all(
        broker.machine.shard_of(group_id) == index
        for index, groups in held.items()
        for group_id in groups
    )


def test_the_list_shows_the_groups_of_all_shards():
    broker = a_broker(offsets_topic_num_partitions=50)
    names = {f"group-{number}" for number in range(60)}
    for name in names:
        broker.commits(None, group_id=name)

    listed = broker.lists()

    assert {group.group_id for group in listed} == names
    assert len(listed) == 60


def test_groups_of_several_shards_are_described_and_deleted_in_one_request():
    broker = a_broker(offsets_topic_num_partitions=10)
    names = tuple(f"group-{number}" for number in range(20))
    for name in names:
        broker.commits(None, group_id=name)

    described = broker.asks(DescribeGroupsRequest(groups=names))
    deleted = broker.asks(DeleteGroupsRequest(groups_names=names))

    assert {group.group_state for group in described.response.groups} == {"Empty"}
    assert deleted.errors == [ErrorCode.NONE] * 20
    assert broker.lists() == ()


def test_a_delete_is_refused_only_in_the_shards_that_are_elsewhere():
    broker = a_broker(offsets_topic_num_partitions=2)
    for name in ("a", "b"):
        broker.commits(None, group_id=name)
    broker.loses_its_shard(broker.machine.shard_of("a"))

    call = broker.deletes("a", "b")

    by_name = {row.group_id: row.error_code for row in call.response.results}
    assert by_name == {"a": ErrorCode.NOT_COORDINATOR, "b": ErrorCode.NONE}


def test_the_loss_of_one_shard_does_not_touch_another():
    broker = a_broker(offsets_topic_num_partitions=2)
    (ada,) = a_stable_group(broker, "ada", group_id="a")
    (bea,) = a_stable_group(broker, "bea", group_id="b")

    broker.loses_its_shard(broker.machine.shard_of("a"))

    assert broker.beats(ada).error is ErrorCode.NOT_COORDINATOR
    assert broker.beats(bea).error is ErrorCode.NONE


def test_a_failed_write_rolls_back_its_own_shard_only():
    broker = a_broker(offsets_topic_num_partitions=2)
    begin_a_write(broker, "a")
    begin_a_write(broker, "b")
    first, second = broker.unspoken

    broker.carry_out(broker.machine.on_append(first, ErrorCode.NOT_ENOUGH_REPLICAS, broker.now_ms))
    broker.carry_out(broker.machine.on_append(second, None, broker.now_ms))

    assert [broker.state(name) for name in ("a", "b")] == [None, EMPTY]


def test_two_brokers_share_nothing():
    one, two = a_broker(), a_broker()

    (ada,) = a_stable_group(one, "ada")

    assert two.find_group() is None
    assert two.beats(ada).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_shard_that_moves_takes_its_groups_along():
    one, two = a_cluster("one", "two")
    one.load(0)
    (ada,) = a_stable_group(one, "ada")

    move(0, one, two)

    assert one.beats(ada).error is ErrorCode.NOT_COORDINATOR
    assert two.beats(ada).error is ErrorCode.NONE
    assert two.syncs(ada).response.assignment == b"share of ada"


def test_a_shard_that_moves_there_and_back_has_what_both_brokers_wrote():
    one, two = a_cluster("one", "two")
    one.load(0)
    one.commits(None, group_id="from one")
    move(0, one, two)
    two.commits(None, group_id="from two")

    move(0, two, one)

    assert [group.group_id for group in one.lists()] == ["from one", "from two"]


def test_a_generation_goes_on_counting_at_the_new_coordinator():
    one, two = a_cluster("one", "two")
    one.load(0)
    (ada,) = a_stable_group(one, "ada")
    move(0, one, two)

    call = two.joins(ada)

    assert call.response.generation_id == 2


def test_a_static_member_returns_at_the_new_coordinator_without_a_rebalance():
    one, two = a_cluster("one", "two")
    one.load(0)
    ada, _ = a_stable_group(one, a_static_client("ada"), a_static_client("bea"))
    move(0, one, two)

    call = two.joins(ada.restarted())

    assert call.response.generation_id == 1
    assert two.state() is STABLE


def test_a_broker_that_was_never_told_of_a_shard_is_not_its_coordinator():
    one, _ = a_cluster("one", "two")

    call = one.joins(a_client())

    assert call.error is ErrorCode.NOT_COORDINATOR


def test_a_load_of_an_older_epoch_is_ignored():
    (one,) = a_cluster("one")
    one.machine.start_loading(0, epoch=5)
    one.machine.finish_loading(0, [], 0)
    one.commits(None)

    one.machine.start_loading(0, epoch=5)

    assert one.state() is EMPTY


def test_an_unload_of_an_older_epoch_is_ignored():
    (one,) = a_cluster("one")
    one.machine.start_loading(0, epoch=5)
    one.machine.finish_loading(0, [], 0)

    one.machine.unload(0, 0, epoch=5)

    assert one.commits(None).errors == [ErrorCode.NONE]


def test_an_unload_without_an_epoch_always_counts():
    (one,) = a_cluster("one")
    one.machine.start_loading(0, epoch=5)
    one.machine.finish_loading(0, [], 0)

    one.machine.unload(0, 0)

    assert one.commits(None).errors == [ErrorCode.NOT_COORDINATOR]


def test_an_unload_with_a_newer_epoch_counts():
    (one,) = a_cluster("one")
    one.machine.start_loading(0, epoch=5)
    one.machine.finish_loading(0, [], 0)

    one.machine.unload(0, 0, epoch=6)

    assert one.commits(None).errors == [ErrorCode.NOT_COORDINATOR]


def test_a_shard_that_is_loaded_already_is_not_loaded_again():
    one, _ = a_cluster("one", "two")
    one.load(0)
    (ada,) = a_stable_group(one, "ada")

    one.carry_out(one.machine.start_loading(0, epoch=7))

    assert one.beats(ada).error is ErrorCode.NONE


def test_a_broker_that_shuts_down_is_not_available():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")

    broker.machine.stop()

    join = broker.joins(ada)
    calls = [
        join,
        broker.syncs(ada),
        broker.beats(ada),
        broker.leaves(ada),
        broker.commits(ada),
        broker.fetches("g"),
        broker.deletes("g"),
        broker.deletes_offsets("g"),
        broker.lists_all(),
    ]
    assert [call.errors for call in calls] == [[ErrorCode.COORDINATOR_NOT_AVAILABLE]] * 9
    assert join.response.member_id == ada.member_id


def test_brokers_with_the_same_seed_and_inputs_do_the_same():
    one, other = a_broker(), a_broker()

    for broker in (one, other):
        a_stable_group(broker, "ada", "bea", "cyd")
        broker.advances("1h")

    assert one.machine.snapshot() == other.machine.snapshot()
    assert one.events == other.events
