"""What a change of coordinator and a failed write leave behind, where it surprises.

The number before each test is that of the edge case it restates.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.java_order import partition_for
from coordinator.states import EMPTY, PREPARING_REBALANCE, STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    join_together,
    some_protocols,
    sync_together,
)


# 67
def test_a_group_id_with_the_least_hash_lives_in_partition_zero():
    assert partition_for("polygenelubricants", 50) == 0


# 67
@pytest.mark.parametrize(("group_id", "partition"), [("my-group", 12), ("consumer-group", 38)])
def test_a_negative_hash_counts_by_its_absolute_value(group_id, partition):
    assert partition_for(group_id, 50) == partition


# 68
def test_a_group_that_was_between_join_and_sync_returns_stable_in_its_last_generation():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    join_together(broker, ada, bea)

    broker.fails_over()

    assert broker.state() is STABLE
    assert broker.group().generation_id == 1


# 68
def test_members_that_hold_the_lost_generation_hear_that_it_is_illegal():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    join_together(broker, ada, bea)
    broker.fails_over()

    call = broker.beats(bea, generation_id=2)

    assert call.error is ErrorCode.ILLEGAL_GENERATION


# 68
def test_a_member_that_came_in_with_the_lost_generation_is_unknown():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    new = a_client("new")
    join_together(broker, ada, bea, new)
    broker.fails_over()

    call = broker.beats(new)

    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID


# 68
def test_the_number_of_a_lost_generation_is_used_again():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    join_together(broker, ada, bea)
    broker.fails_over()

    join_together(broker, ada, bea)

    assert broker.group().generation_id == 2


# 69
def test_after_a_failover_an_unchanged_list_of_protocols_starts_a_rebalance():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", "bea", protocols=some_protocols("range", "sticky"))
    broker.fails_over()

    call = broker.joins(bea)

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE


# 69
def test_after_a_failover_only_the_selected_protocol_is_supported():
    broker = a_broker()
    a_stable_group(broker, "ada", protocols=some_protocols("range", "sticky"))
    broker.fails_over()

    call = broker.joins(a_client("new", protocols=some_protocols("sticky")))

    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


# 69, the other way round
def test_after_a_failover_a_single_unchanged_protocol_disturbs_nobody():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", "bea")
    broker.fails_over()

    call = broker.joins(bea)

    assert call.response.generation_id == 1
    assert broker.state() is STABLE


# 70
def test_after_a_load_everyone_has_a_full_session():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.advances("9s")
    broker.beats(ada)

    broker.fails_over()

    assert [broker.session_ends_ms(each) for each in (ada, bea)] == [19_000, 19_000]


# 71
def test_a_plan_that_cannot_be_written_sends_leader_and_followers_back_with_the_error():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    follower = broker.syncs(bea)
    broker.next_write_fails(ErrorCode.NOT_ENOUGH_REPLICAS)

    leader = broker.syncs(ada, {})

    assert leader.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert follower.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


# 71
def test_a_plan_that_cannot_be_written_starts_the_rebalance_over_in_the_same_generation():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.next_write_fails(ErrorCode.NOT_ENOUGH_REPLICAS)

    broker.syncs(ada, {})

    assert broker.state() is PREPARING_REBALANCE
    assert broker.group().generation_id == 1


# 72
def test_a_member_that_left_a_group_of_two_is_back_after_a_failover_until_its_session_ends():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea", session_timeout_ms=10_000)
    broker.leaves(bea)

    broker.fails_over()

    assert broker.members() == sorted([ada.member_id, bea.member_id])
    broker.advances("6s")
    broker.beats(ada)
    broker.advances("4s")
    assert broker.members() == [ada.member_id]


# 72
def test_a_member_that_left_is_forgotten_for_good_once_the_leader_has_synced():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    broker.leaves(bea)
    join_together(broker, ada)
    sync_together(broker, ada)

    broker.fails_over()

    assert broker.members() == [ada.member_id]


def test_handed_out_ids_do_not_survive_a_failover():
    broker = a_broker()
    pending = a_client("ada")
    broker.joins(pending)
    broker.fails_over()

    call = broker.joins(pending)

    assert broker.state() is EMPTY
    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_loaded_group_that_is_too_large_is_called_to_rejoin():
    broker = a_broker()
    clients = a_stable_group(broker, "ada", "bea", "cyd")
    broker.loses_its_shard()
    broker.machine.config = a_broker(group_max_size=2).machine.config
    broker.begins_to_load()

    broker.finishes_loading()

    assert broker.state() is PREPARING_REBALANCE
    assert [broker.commits(each).errors for each in clients] == [[ErrorCode.NONE]] * 3


def test_offsets_without_a_group_record_come_back_as_a_simple_group():
    broker = a_broker()
    broker.commits(None)

    broker.fails_over()

    assert broker.state() is EMPTY
    assert broker.describes().protocol_type == ""
    assert broker.offsets() == {("t", 0): 5}


def test_a_group_whose_end_is_written_does_not_come_back():
    broker = a_broker()
    an_empty_group(broker)
    broker.deletes("g")

    broker.fails_over()

    assert broker.find_group() is None


def test_an_empty_group_comes_back_with_its_generation():
    broker = a_broker()
    an_empty_group(broker)

    broker.fails_over()

    assert broker.state() is EMPTY
    assert broker.group().generation_id == 2


@pytest.mark.parametrize("verb", ["joins", "syncs", "leaves", "commits", "deletes_offsets"])
def test_while_a_shard_loads_everything_else_is_told_to_wait(verb):
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.loses_its_shard()
    broker.begins_to_load()

    call = broker.deletes_offsets() if verb == "deletes_offsets" else getattr(broker, verb)(ada)

    assert call.errors == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


@pytest.mark.parametrize("verb", ["joins", "syncs", "beats", "leaves", "commits"])
def test_a_broker_that_lost_the_shard_says_that_it_is_not_the_coordinator(verb):
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.loses_its_shard()

    call = getattr(broker, verb)(ada)

    assert call.errors == [ErrorCode.NOT_COORDINATOR]


def test_a_parked_join_is_sent_elsewhere_under_its_own_id_when_the_shard_is_lost():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    waiting = broker.joins(ada)

    broker.loses_its_shard()

    assert waiting.error is ErrorCode.NOT_COORDINATOR
    assert waiting.response.member_id == ada.member_id


def test_a_parked_sync_is_sent_elsewhere_when_the_shard_is_lost():
    broker = a_broker()
    _, bea = a_joined_group(broker, "ada", a_static_client("bea"))
    waiting = broker.syncs(bea)

    broker.loses_its_shard()

    assert waiting.error is ErrorCode.NOT_COORDINATOR


def test_the_list_fails_as_a_whole_while_one_shard_loads():
    broker = a_broker(offsets_topic_num_partitions=2)
    broker.loses_its_shard(1)
    broker.begins_to_load(1)

    call = broker.lists_all()

    assert call.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert call.response.groups == ()


def test_a_shard_that_was_given_up_adds_nothing_to_the_list():
    broker = a_broker(offsets_topic_num_partitions=2)
    an_empty_group(broker, "a")
    an_empty_group(broker, "b")

    broker.loses_its_shard(broker.machine.shard_of("a"))

    assert [group.group_id for group in broker.lists()] == ["b"]
