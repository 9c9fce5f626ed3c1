"""Slow writes: which answers wait for the log, and which do not.

No recording has slow writes, so these tests are the proof; the outcomes are those of Kafka 4.3.1's
own runtime. What happens when the log never speaks is in test_writes_stuck.py.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode, Write
from coordinator.errors import OutOfTurn
from coordinator.protocol import (
    DeleteGroupsRequest,
    FindCoordinatorRequest,
    MemberIdentity,
)
from coordinator.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    begin_a_write,
    some_protocols,
)
from tests.support.verbs import an_offset

# --- who waits for earlier writes of the shard, even without a write of its own ---

WAITING = {
    "a beat": lambda broker, ada: broker.beats(ada),
    "a leave": lambda broker, ada: broker.leaves(ada),
    "a leave of a stranger": lambda broker, _: broker.removes(MemberIdentity(member_id="stranger")),
    "an empty leave": lambda broker, _: broker.removes(),
    "a commit": lambda broker, ada: broker.commits(ada),
    "a commit that is refused for its metadata": lambda broker, ada: broker.commits(
        ada, an_offset(metadata="x" * 5_000)
    ),
    "an offset delete": lambda broker, _: broker.deletes_offsets("g", ("u", 0)),
    "a group delete": lambda broker, _: broker.deletes("g"),
    "a delete of an absent group": lambda broker, _: broker.deletes("absent"),
    "a stable fetch": lambda broker, _: broker.fetches("g", require_stable=True),
    "a stable fetch of an absent group": lambda broker, _: broker.fetches(
        "absent", require_stable=True
    ),
}


@pytest.mark.parametrize("kind", WAITING)
def test_earlier_writes_of_the_shard_hold_back(kind):
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)

    call = WAITING[kind](broker, ada)

    assert call.is_open
    broker.log_speaks()
    assert not call.is_open


# --- who does not ---

AT_ONCE = {
    "a follower's unchanged join": lambda broker, bea: broker.joins(bea),
    "a newcomer's first join": lambda broker, _: broker.joins(a_client("new")),
    "a join of a stranger": lambda broker, _: broker.joins(a_client(member_id="stranger")),
    "a join with other protocols": lambda broker, _: broker.joins(
        a_client("new", protocols=some_protocols("sticky"))
    ),
    "a sync in a stable group": lambda broker, bea: broker.syncs(bea),
    "a sync of another generation": lambda broker, bea: broker.syncs(bea, generation_id=9),
    "a sync of an absent group": lambda broker, _: broker.syncs(a_client(group_id="absent")),
    "a beat of a stranger": lambda broker, _: broker.beats(a_client(member_id="stranger")),
    "a beat of another generation": lambda broker, bea: broker.beats(bea, generation_id=9),
    "a beat of an absent group": lambda broker, _: broker.beats(a_client(group_id="absent")),
    "a leave of an absent group": lambda broker, _: broker.removes(
        MemberIdentity(member_id="x"), group_id="absent"
    ),
    "a commit of a stranger": lambda broker, _: broker.commits(a_client(member_id="stranger")),
    "a commit of another generation": lambda broker, bea: broker.commits(bea, generation_id=9),
    "a commit with a generation to an absent group": lambda broker, _: broker.commits(
        a_client(group_id="absent", generation_id=1)
    ),
    "an offset delete of an absent group": lambda broker, _: broker.deletes_offsets("absent"),
    "a plain fetch": lambda broker, _: broker.fetches("g"),
    "a list": lambda broker, _: broker.lists_all(),
    "a search for a coordinator": lambda broker, _: broker.asks(
        FindCoordinatorRequest(coordinator_keys=("g",))
    ),
}


@pytest.mark.parametrize("kind", AT_ONCE)
def test_earlier_writes_of_the_shard_do_not_hold_back(kind):
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)

    call = AT_ONCE[kind](broker, bea)

    assert not call.is_open


def test_a_sync_between_generations_is_refused_at_once():
    broker = a_broker()
    _, bea = a_preparing_group(broker, "ada", "bea")
    begin_a_write(broker)

    call = broker.syncs(bea)

    assert call.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_between_join_and_sync_is_refused_at_once():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    begin_a_write(broker)

    call = broker.commits(ada)

    assert call.errors == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_an_offset_delete_of_an_active_group_of_another_type_is_refused_at_once():
    broker = a_broker()
    a_stable_group(broker, "ada", protocol_type="connect")
    begin_a_write(broker)

    call = broker.deletes_offsets()

    assert call.error is ErrorCode.NON_EMPTY_GROUP


def test_joins_are_answered_by_their_group_though_writes_are_under_way():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)

    calls = [broker.joins(ada), broker.joins(bea)]

    assert [call.response.generation_id for call in calls] == [2, 2]


def test_a_first_join_is_answered_before_its_group_is_written():
    broker = a_broker()
    broker.log_falls_silent()

    call = broker.joins(a_static_client())

    assert call.response.generation_id == 1


def test_a_static_return_waits_for_its_own_write():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.log_falls_silent()

    call = broker.joins(bea.restarted())

    assert call.is_open
    assert broker.group().awaiting_join_count == 1
    broker.log_speaks()
    assert call.error is ErrorCode.NONE


def test_followers_are_answered_when_the_leaders_plan_is_committed():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    calls = [broker.syncs(bea), broker.syncs(ada, {bea.member_id: b"all"})]
    before = [call.is_open for call in calls]

    broker.log_speaks()

    assert before == [True, True]
    assert [call.response.assignment for call in calls] == [b"all", b""]
    assert broker.state() is STABLE


def test_a_follower_that_comes_after_the_plan_waits_for_it_too():
    broker = a_broker()
    ada, bea = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    broker.syncs(ada, {bea.member_id: b"all"})

    late = broker.syncs(bea)

    assert late.is_open
    broker.log_speaks()
    assert late.response.assignment == b"all"


def test_a_plan_that_is_committed_after_the_group_moved_on_changes_nothing():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    leader = broker.syncs(ada, {})
    broker.joins(a_static_client("cyd"))

    broker.log_speaks()

    assert leader.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.state() is PREPARING_REBALANCE


def test_a_plan_that_is_committed_after_the_group_moved_on_stays_in_the_log():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    broker.syncs(ada, {ada.member_id: b"all"})
    broker.joins(a_static_client("cyd"))
    broker.log_speaks()

    broker.fails_over()

    assert broker.state() is STABLE
    assert broker.syncs(ada).response.assignment == b"all"


def test_a_static_leaders_return_that_is_committed_during_a_rebalance_waits_for_its_end():
    broker = a_broker()
    ada, bea = a_stable_group(broker, a_static_client("ada"), "bea")
    broker.log_falls_silent()
    back = broker.joins(ada.restarted(), api_version=9)
    broker.joins(a_static_client("cyd"))

    broker.log_speaks()

    # Kafka cannot list the members in PreparingRebalance, fails inside and leaves the join parked.
    assert back.is_open
    broker.joins(bea)
    assert back.response.generation_id == 2


def test_a_static_followers_return_that_is_committed_during_a_rebalance_is_of_the_old_generation():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.log_falls_silent()
    back = broker.joins(bea.restarted(), api_version=9)
    broker.joins(a_static_client("cyd"))

    broker.log_speaks()

    assert back.response.generation_id == 1
    assert broker.state() is PREPARING_REBALANCE


# --- a group is deleted in two steps: the first one only waits, the second one looks and writes ---


def test_a_delete_begins_when_all_earlier_writes_are_committed():
    broker = a_broker()
    an_empty_group(broker)
    begin_a_write(broker)

    call = broker.deletes("g")

    assert broker.state() is EMPTY
    broker.log_speaks()
    assert call.errors == [ErrorCode.NONE]
    assert broker.find_group() is None


def test_a_delete_finds_the_members_that_joined_while_it_waited():
    broker = a_broker()
    an_empty_group(broker)
    begin_a_write(broker)
    call = broker.deletes("g")
    broker.joins(a_static_client())

    broker.log_speaks()

    assert call.errors == [ErrorCode.NON_EMPTY_GROUP]
    assert broker.state() is COMPLETING_REBALANCE


def test_a_delete_that_waited_too_long_deletes_nothing():
    broker = a_broker()
    an_empty_group(broker)
    begin_a_write(broker)
    call = broker.deletes("g")

    broker.advances("5s")

    assert call.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    broker.log_speaks()
    assert broker.state() is EMPTY


# --- order, and other shards ---


def test_answers_leave_with_the_write_they_wait_for():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    first = begin_a_write(broker, "a")
    between = broker.beats(ada)
    second = broker.commits(None, group_id="b")

    broker.log_commits_one()

    assert [call.is_open for call in (first, between, second)] == [False, False, True]


def test_writes_of_one_shard_hold_back_nobody_in_another():
    broker = a_broker(offsets_topic_num_partitions=2)
    (ada,) = a_stable_group(broker, "ada", group_id="a")
    begin_a_write(broker, "b")

    call = broker.beats(ada)

    assert broker.machine.shard_of("a") != broker.machine.shard_of("b")
    assert call.error is ErrorCode.NONE


def test_a_delete_in_two_shards_is_answered_when_both_have_written():
    broker = a_broker(offsets_topic_num_partitions=2)
    for group_id in ("a", "b"):
        an_empty_group(broker, group_id)
    broker.log_falls_silent()
    call = broker.asks(DeleteGroupsRequest(groups_names=("a", "b")))
    broker.log_commits_one()
    before = call.is_open

    broker.log_commits_one()

    assert before
    assert call.errors == [ErrorCode.NONE, ErrorCode.NONE]


def test_a_word_about_a_write_that_nobody_asked_for_is_refused():
    broker = a_broker()

    with pytest.raises(OutOfTurn, match="shard 0 waits for no write"):
        broker.machine.on_append(Write(99, 0, ()), None, 0)


def test_a_word_about_a_later_write_is_refused_while_an_earlier_one_is_under_way():
    broker = a_broker()
    begin_a_write(broker, "a")
    begin_a_write(broker, "b")

    with pytest.raises(OutOfTurn, match="waits for write"):
        broker.machine.on_append(broker.unspoken[1], None, 0)


def test_what_an_operation_wrote_is_seen_by_the_next_one_at_once():
    broker = a_broker(offset_metadata_max_bytes=10)
    begin_a_write(broker, "g")

    call = broker.fetches("g", ("t", 0), require_stable=True)

    broker.log_speaks()
    assert call.response.groups[0].topics[0].partitions[0].committed_offset == 5
