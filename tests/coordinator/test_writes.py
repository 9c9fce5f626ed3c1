"""Writes that fail: what is undone, what stays.

No recording has slow or batched writes, so these tests are the proof; the outcomes are those of
Kafka 4.3.1's own runtime. See test_writes_errors.py for the errors that clients hear,
test_writes_waiting.py for who waits, and test_writes_reading.py for what is seen meanwhile.
"""

from __future__ import annotations

from coordinator import ErrorCode
from coordinator.protocol import JoinGroupResponse, LeaveGroupResponse
from coordinator.states import EMPTY, PREPARING_REBALANCE, STABLE
from coordinator.timers import JoinTimer
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    begin_a_write,
    join_together,
    some_protocols,
)
from tests.support.verbs import an_offset

# --- a join that makes a group ---


def test_a_group_whose_first_record_fails_is_gone():
    broker = a_broker()
    broker.next_write_fails()

    call = broker.joins(a_static_client())

    assert call.response == JoinGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert broker.find_group() is None


def test_an_id_that_was_handed_out_before_the_first_record_failed_is_unknown():
    broker = a_broker()
    ada = a_client()
    broker.next_write_fails()

    first = broker.joins(ada)
    second = broker.joins(ada)

    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    assert second.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_generation_that_was_answered_before_the_first_record_failed_belongs_to_nobody():
    broker = a_broker()
    ada = a_static_client()
    broker.log_falls_silent()
    joined = broker.joins(ada)

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert joined.response.generation_id == 1
    assert broker.syncs(ada, {}).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_everyone_who_waits_in_a_group_whose_first_record_fails_is_told_once():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    broker.log_falls_silent()
    calls = [broker.joins(a_static_client(name)) for name in ("ada", "bea")]

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    broker.advances("10s")  # the lost group's timers find nothing
    assert [call.response for call in calls] == [
        JoinGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    ] * 2


def test_timers_of_a_lost_group_find_the_group_that_came_after_it():
    broker = a_broker(group_initial_rebalance_delay_ms=3_000)
    broker.log_falls_silent()
    broker.joins(a_static_client("ada"))
    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)
    broker.advances("1s")
    broker.commits(None)

    broker.advances("2s")

    # Kafka fails inside: the count stays, and nothing else happened.
    assert broker.state() is EMPTY
    assert broker.group().generation_id == 1


# --- a static member that comes back without a rebalance ---


def test_a_static_return_that_cannot_be_written_puts_the_old_member_back():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.next_write_fails()

    broker.joins(bea.restarted())

    assert bea.member_id in broker.members()
    assert broker.beats(bea).error is ErrorCode.NONE


def test_a_static_return_that_cannot_be_written_is_told_the_generation_and_the_leader():
    broker = a_broker()
    ada, _ = a_stable_group(broker, a_static_client("ada"), "bea")
    broker.next_write_fails()

    call = broker.joins(ada.restarted())

    assert call.response == JoinGroupResponse(
        error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE,
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=ada.member_id,
    )
    assert broker.group().leader_id == ada.member_id


def test_a_static_return_that_cannot_be_written_brings_the_old_protocols_and_timeouts_back():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea", session_timeout_ms=10_000))
    broker.next_write_fails()

    broker.joins(
        bea.restarted(),
        session_timeout_ms=20_000,
        rebalance_timeout_ms=7,
        protocols=some_protocols("range", "sticky"),
    )

    old = broker.group().members[bea.member_id]
    assert (old.session_timeout_ms, old.rebalance_timeout_ms) == (10_000, 300_000)
    assert old.protocols == some_protocols("range")


def test_a_static_return_that_cannot_be_written_starts_the_old_members_session_anew():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.advances("5s")
    broker.next_write_fails()

    broker.joins(bea.restarted())

    assert broker.session_ends_ms(bea) == 50_000


def test_a_static_return_is_not_answered_again_when_its_write_fails_after_a_rebalance():
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada"))
    broker.log_falls_silent()
    back = broker.joins(ada.restarted())
    broker.joins(a_static_client("bea"))

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert back.response.generation_id == 2
    assert ada.member_id in broker.members()


def test_a_static_member_that_was_replaced_twice_is_fenced_before_the_writes_fail():
    broker = a_broker()
    _, bea = a_stable_group(broker, "ada", a_static_client("bea"))
    broker.log_falls_silent()
    first = broker.joins(bea.restarted())
    second = broker.joins(bea.restarted())

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert first.error is ErrorCode.FENCED_INSTANCE_ID
    assert second.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


# --- a leader's sync ---


def test_a_plan_that_cannot_be_written_makes_all_assignments_blank():
    broker = a_broker()
    ada, bea = a_stable_group(broker, "ada", "bea")
    join_together(broker, ada, bea)
    broker.next_write_fails()

    broker.syncs(ada, {bea.member_id: b"new"})

    assert {row.member_assignment for row in broker.describes().members} == {b""}


def test_a_plan_that_cannot_be_written_gives_everyone_the_rebalance_timeout_to_rejoin():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea", rebalance_timeout_ms=20_000)
    broker.next_write_fails()

    broker.syncs(ada, {})

    assert broker.state() is PREPARING_REBALANCE
    assert broker.due_ms(JoinTimer("g")) == 20_000


def test_a_plan_that_fails_after_another_rebalance_has_begun_disturbs_nobody():
    broker = a_broker()
    ada, _ = a_joined_group(broker, "ada", "bea")
    broker.log_falls_silent()
    leader = broker.syncs(ada, {})
    broker.joins(a_static_client("cyd"))

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert leader.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.group().generation_id == 1


def test_a_sync_is_answered_once_when_its_group_and_its_plan_fail_together():
    broker = a_broker()
    ada, bea = a_static_client("ada"), a_static_client("bea")
    broker.log_falls_silent()
    join_together(broker, ada, bea)
    follower = broker.syncs(bea)
    leader = broker.syncs(ada, {})

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert broker.find_group() is None
    assert [call.error for call in (follower, leader)] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2


# --- a group that becomes Empty ---


def test_a_leave_whose_group_cannot_be_written_empty_fails_as_a_whole():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.next_write_fails()

    call = broker.leaves(ada)

    assert call.response == LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_group_that_could_not_be_written_empty_is_empty_all_the_same():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.next_write_fails()

    broker.leaves(ada)

    assert broker.state() is EMPTY
    assert broker.group().generation_id == 2


def test_a_load_finds_the_members_of_a_group_that_could_not_be_written_empty():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.next_write_fails()
    broker.leaves(ada)

    broker.fails_over()

    assert broker.state() is STABLE
    assert broker.members() == [ada.member_id]


def test_a_group_that_a_timer_empties_does_not_try_its_failed_write_again():
    broker = a_broker()
    a_stable_group(broker, "ada")
    broker.next_write_fails()
    broker.advances("45s")
    written = len(broker.written)

    broker.advances("9min")

    assert broker.state() is EMPTY
    assert len(broker.written) == written


def test_the_expiry_of_offsets_is_tried_again_after_one_interval():
    broker = a_broker()
    an_empty_group(broker)
    broker.next_write_fails()
    broker.advances("10min")
    before = broker.state()

    broker.advances("10min")

    assert before is EMPTY
    assert broker.find_group() is None


def test_an_expiry_run_that_waited_too_long_is_repeated_one_interval_after_it_gave_up():
    broker = a_broker(offsets_retention_check_interval_ms=60_000)
    broker.advances(59_999)
    begin_a_write(broker)
    broker.advances("6s")
    broker.log_speaks()
    an_empty_group(broker)
    broker.advance_to(124_999)
    before = broker.state()

    broker.advances(1)

    # It ran at 60 s and wrote nothing, gave up waiting at 65 s, and comes back at 125 s.
    assert before is EMPTY
    assert broker.find_group() is None


# --- offsets and administration ---


def test_a_commit_that_cannot_be_written_is_rolled_back():
    broker = a_broker()
    broker.commits(None, an_offset(offset=1))
    broker.next_write_fails()

    broker.commits(None, an_offset(offset=2))

    assert broker.offset_of("t", require_stable=True) == 1


def test_a_commit_that_cannot_be_written_takes_its_simple_group_with_it():
    broker = a_broker()
    broker.next_write_fails()

    broker.commits(None)

    assert broker.find_group() is None


def test_a_failed_write_overrides_the_refusal_of_a_partition():
    broker = a_broker(offset_metadata_max_bytes=0)
    broker.next_write_fails()

    call = broker.commits(None, an_offset("t", 0, metadata="x"), an_offset("t", 1))

    assert call.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2


def test_offsets_whose_deletion_cannot_be_written_are_still_there():
    broker = a_broker()
    broker.commits(None)
    broker.next_write_fails()

    call = broker.deletes_offsets("g", ("t", 0))

    assert call.response.topics == ()
    assert broker.offset_of("t") == 5


def test_a_group_whose_deletion_cannot_be_written_is_still_there_with_its_offsets():
    broker = a_broker()
    broker.commits(None)
    broker.next_write_fails()

    broker.deletes("g")

    assert broker.state() is EMPTY
    assert broker.offset_of("t") == 5


def test_all_groups_of_one_deletion_in_a_shard_fail_together():
    broker = a_broker()
    broker.commits(None, group_id="a")
    broker.next_write_fails()

    call = broker.deletes("a", "absent")

    assert call.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2


# --- writes that fail together ---


def test_a_write_that_fails_takes_those_behind_it_along():
    broker = a_broker()
    broker.log_falls_silent()
    calls = [broker.commits(None, group_id=name) for name in ("a", "b", "c")]

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert [call.errors for call in calls] == [[ErrorCode.COORDINATOR_NOT_AVAILABLE]] * 3
    assert broker.lists() == ()


def test_what_was_committed_before_stays_when_later_writes_fail():
    broker = a_broker()
    broker.log_falls_silent()
    first = broker.commits(None, group_id="a")
    second = broker.commits(None, group_id="b")
    broker.log_commits_one()

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert (first.errors, second.errors) == (
        [ErrorCode.NONE],
        [ErrorCode.COORDINATOR_NOT_AVAILABLE],
    )
    assert [group.group_id for group in broker.lists()] == ["a"]


def test_a_shard_goes_on_after_a_failed_write():
    broker = a_broker()
    broker.next_write_fails()
    broker.commits(None)

    call = broker.commits(None, an_offset(offset=9))

    assert call.errors == [ErrorCode.NONE]
    assert broker.offsets() == {("t", 0): 9}


def test_members_are_not_taken_back_when_another_groups_write_fails():
    broker = a_broker()
    ada, bea = a_preparing_group(broker, "ada", "bea")
    broker.next_write_fails()

    broker.commits(None, group_id="other")

    assert broker.state() is PREPARING_REBALANCE
    assert broker.members() == sorted([ada.member_id, bea.member_id])


def test_a_group_that_no_write_stands_behind_is_dropped_by_the_next_failure():
    broker = a_broker(offset_metadata_max_bytes=0)
    broker.commits(None, an_offset(metadata="x"))
    (ada,) = a_joined_group(broker, "ada")
    broker.next_write_fails()

    broker.commits(None, group_id="other")

    assert broker.find_group() is None
    assert broker.beats(ada).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_no_write_stood_behind_stays_once_any_write_of_the_shard_succeeded():
    broker = a_broker(offset_metadata_max_bytes=0)
    broker.commits(None, an_offset(metadata="x"))
    broker.commits(None, group_id="other")
    broker.next_write_fails()

    broker.commits(None, group_id="other")

    assert broker.state() is EMPTY
