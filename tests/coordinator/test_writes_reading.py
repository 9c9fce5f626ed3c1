"""What is seen of writes that are under way: readers see what is committed, operations see it all.

No recording has slow writes, so these tests are the proof; the outcomes are those of Kafka 4.3.1's
own runtime.
"""

from __future__ import annotations

from coordinator import ErrorCode
from coordinator.states import EMPTY
from tests.support.builders import (
    a_broker,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    begin_a_write,
)
from tests.support.verbs import an_offset


def committed_offset(call):
    return call.response.groups[0].topics[0].partitions[0].committed_offset


def test_a_group_whose_first_record_is_not_committed_is_not_listed():
    broker = a_broker()
    broker.log_falls_silent()
    broker.joins(a_static_client())
    before = broker.lists()

    broker.log_speaks()

    assert before == ()
    assert [group.group_state for group in broker.lists()] == ["CompletingRebalance"]


def test_a_group_whose_first_record_is_not_committed_is_described_as_dead():
    broker = a_broker()
    broker.log_falls_silent()
    broker.joins(a_static_client())

    described = broker.describes()

    assert (described.group_state, described.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)


def test_the_inside_of_a_committed_group_is_shown_as_it_is_now():
    broker = a_broker()
    ada, _ = a_stable_group(broker, "ada", "bea")
    broker.log_falls_silent()

    broker.leaves(ada)

    described = broker.describes()
    assert described.group_state == "PreparingRebalance"
    assert len(described.members) == 1


def test_an_assignment_is_not_shown_before_it_is_committed():
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")
    broker.log_falls_silent()
    broker.syncs(ada, {ada.member_id: b"all"})
    before = broker.describes()

    broker.log_speaks()

    assert (before.group_state, before.members[0].member_assignment) == ("CompletingRebalance", b"")
    assert broker.describes().members[0].member_assignment == b"all"


def test_a_plain_fetch_does_not_see_a_commit_that_is_under_way():
    broker = a_broker()
    broker.commits(None, an_offset(offset=1))
    broker.log_falls_silent()
    broker.commits(None, an_offset(offset=2))
    before = broker.offsets()

    broker.log_speaks()

    assert before == {("t", 0): 1}
    assert broker.offsets() == {("t", 0): 2}


def test_a_plain_fetch_sees_nothing_of_a_group_that_is_not_committed():
    broker = a_broker()
    begin_a_write(broker, "g")

    call = broker.fetches("g", ("t", 0))

    assert committed_offset(call) == -1


def test_a_stable_fetch_sees_a_commit_that_is_under_way_and_waits_for_it():
    broker = a_broker()
    broker.commits(None, an_offset(offset=1))
    broker.log_falls_silent()
    broker.commits(None, an_offset(offset=2))

    call = broker.fetches("g", ("t", 0), require_stable=True)

    assert call.is_open
    broker.log_speaks()
    assert committed_offset(call) == 2


def test_a_stable_fetch_does_not_see_what_was_committed_after_it_asked():
    broker = a_broker()
    broker.log_falls_silent()
    broker.commits(None, an_offset(offset=1))
    call = broker.fetches("g", ("t", 0), require_stable=True)
    broker.commits(None, an_offset(offset=2))

    broker.log_speaks()

    assert committed_offset(call) == 1


def test_a_stable_fetch_is_answered_at_once_when_nothing_is_under_way():
    broker = a_broker()
    broker.commits(None, an_offset(offset=1))

    call = broker.fetches("g", ("t", 0), require_stable=True)

    assert committed_offset(call) == 1


def test_an_offset_whose_deletion_is_under_way_is_still_fetched():
    broker = a_broker()
    broker.commits(None)
    broker.log_falls_silent()
    broker.deletes_offsets("g", ("t", 0))
    before = broker.offsets()

    broker.log_speaks()

    assert before == {("t", 0): 5}
    assert broker.offsets() == {}


def test_a_group_whose_deletion_is_under_way_is_still_described():
    broker = a_broker()
    an_empty_group(broker)
    broker.log_falls_silent()
    broker.deletes("g")
    before = broker.describes().group_state

    broker.log_speaks()

    assert before == "Empty"
    assert broker.describes().group_state == "Dead"


def test_a_group_whose_deletion_is_under_way_is_gone_for_the_next_operation():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.leaves(ada)
    broker.log_falls_silent()
    broker.deletes("g")

    call = broker.joins(ada)

    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_may_be_made_anew_while_the_end_of_the_old_one_is_under_way():
    broker = a_broker()
    an_empty_group(broker)
    broker.log_falls_silent()
    broker.deletes("g")

    call = broker.joins(a_static_client())

    assert call.response.generation_id == 1
    assert broker.describes().group_state == "Empty"


def test_a_failed_deletion_brings_the_old_group_back_in_place_of_the_new_one():
    broker = a_broker()
    an_empty_group(broker)
    broker.log_falls_silent()
    broker.deletes("g")
    broker.joins(a_static_client())

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert broker.state() is EMPTY
    assert broker.group().generation_id == 2


def test_a_group_that_no_write_stands_behind_is_invisible():
    broker = a_broker(offset_metadata_max_bytes=0)

    broker.commits(None, an_offset(metadata="x"))

    assert broker.state() is EMPTY
    assert broker.lists() == ()
    assert broker.describes().group_state == "Dead"


def test_a_group_that_no_write_stands_behind_is_seen_once_any_write_of_the_shard_is_committed():
    broker = a_broker(offset_metadata_max_bytes=0)
    broker.commits(None, an_offset(metadata="x"))

    broker.commits(None, group_id="other")

    assert [group.group_id for group in broker.lists()] == ["g", "other"]


def test_a_load_does_not_find_a_group_that_no_write_stands_behind():
    broker = a_broker(offset_metadata_max_bytes=0)
    broker.commits(None, an_offset(metadata="x"))
    broker.commits(None, group_id="other")

    broker.fails_over()

    assert [group.group_id for group in broker.lists()] == ["other"]


def test_a_fetch_of_several_groups_waits_only_where_it_must_be_stable():
    broker = a_broker()
    broker.commits(None, group_id="a")
    begin_a_write(broker, "b")

    plain = broker.fetches("a")
    stable = broker.fetches("a", require_stable=True)

    assert (plain.is_open, stable.is_open) == (False, True)
