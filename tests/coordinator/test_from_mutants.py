"""Behaviour that a planted fault (`make mutants`) once changed without any other test noticing."""

from __future__ import annotations

from coordinator import ClusterView, ErrorCode, LocalCoordinator, Topic
from coordinator.states import COMPLETING_REBALANCE
from tests.support.builders import (
    a_broker,
    a_joined_group,
    a_stable_group,
    a_static_client,
    join_together,
)
from tests.support.verbs import Broker, an_offset, commit_of


def a_group_that_moved_on_while_its_plan_is_written(broker: Broker) -> None:
    """A plan of generation 1 is under way; the members have joined generation 2 meanwhile."""
    ada, bea = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    broker.syncs(ada, {ada.member_id: b"old", bea.member_id: b"old"})
    join_together(broker, a_static_client("cyd"), ada, bea)


def test_a_plan_of_a_past_generation_that_is_written_late_is_nobodys_share():
    broker = a_broker()
    a_group_that_moved_on_while_its_plan_is_written(broker)

    broker.log_commits_one()

    group = broker.group()
    assert (group.state, group.generation_id) == (COMPLETING_REBALANCE, 2)
    assert {member.assignment for member in group.members.values()} == {b""}


def test_a_plan_of_a_past_generation_that_fails_late_disturbs_nobody():
    broker = a_broker()
    a_group_that_moved_on_while_its_plan_is_written(broker)

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert (broker.state(), broker.group().generation_id) == (COMPLETING_REBALANCE, 2)


def test_nobody_watches_the_session_of_a_member_that_left():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", "bea")

    broker.leaves(bea)

    assert broker.session_ends_ms(bea) is None


def test_no_timer_outlives_a_shard_that_is_lost_while_a_plan_is_written():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    broker.syncs(ada, {})

    broker.loses_its_shard()

    assert len(broker.timers) == 0


def test_a_plain_fetch_sees_the_last_committed_offset_while_two_newer_ones_are_under_way():
    broker = a_broker()
    broker.commits(None, an_offset(offset=1))
    broker.log_falls_silent()
    broker.commits(None, an_offset(offset=2))

    broker.commits(None, an_offset(offset=3))

    assert broker.offsets() == {("t", 0): 1}


def test_an_offset_with_an_expiry_of_its_own_comes_back_from_the_log_without_its_topic_id():
    # The record that has room for an expiry (OffsetCommitValue version 1) has none for the id.
    broker = a_broker(view=ClusterView(topics={"t": Topic("t", 1, topic_id="first")}))
    broker.asks(commit_of(None, api_version=4, retention_time_ms=3_600_000))
    broker.asks(commit_of(None, an_offset("t"), group_id="h", api_version=5))
    broker.fails_over()

    broker.carry_out(broker.machine.on_topics_deleted([Topic("t", 1, topic_id="second")], 0))

    assert (broker.offsets("g"), broker.offsets("h")) == ({}, {("t", 0): 5})


def test_a_local_broker_counts_a_wait_from_its_cause_however_late_one_looks():
    clock = [0]
    broker = LocalCoordinator(group_initial_rebalance_delay_ms=0, now_ms=lambda: clock[0])
    _, bea = broker.stable_group("g", "ada", "bea", rebalance_timeout_ms=20_000)
    clock[0] = 40_000
    broker.heartbeat(bea)

    clock[0] = 70_000
    broker.advance()

    # The first one's session ended at 45 s, and at 65 s the wait for the other one's join.
    assert broker.describe("g").state == "Empty"
