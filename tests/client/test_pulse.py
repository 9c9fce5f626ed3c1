"""The pulse of a consumer at rest: what leaves by itself until something happens."""

from __future__ import annotations

import pytest

from client.outputs import RequestSent
from client.timers import LONG_AGO, NEVER
from coordinator import ErrorCode
from coordinator.protocol import (
    HeartbeatResponse,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.client.talk import BY_HAND, Talk

LONG_MS = 60_000
GOOD = HeartbeatResponse(error_code=ErrorCode.NONE)


def a_beating(**settings):
    """A member at rest whose heartbeat of 3,000 ms was answered 2 ms later.

    Its fetches wait for ever.
    """
    talk = Talk(settings={**BY_HAND, **settings}, committed={"t-0": 0, "t-1": 0}).joins()
    talk.held |= {"Fetch", "Heartbeat"}
    talk.poll(LONG_MS)
    network = talk.consumer.calls.client.network
    for fetch in talk.consumer.in_flight:
        network.set_sent(fetch.node.connection, fetch.request, NEVER)
    beat(talk, 3_000)
    return talk


def leaves(pulse, at_ms):
    """The heartbeat that leaves then by itself, if one does."""
    return pulse.beats.request if pulse.leave(pulse.beats, at_ms) is not None else None


def beat(talk, at_ms):
    """Let a heartbeat leave at its time and be answered."""
    (sent,) = talk.consumer.on_time(at_ms)
    talk.consumer.on_reply(sent.connection, GOOD, at_ms + 2, to=sent.request)


def test_from_a_good_answer_on_heartbeats_leave_by_themselves():
    pulse = a_beating().consumer.pulse

    first = leaves(pulse, 6_000)
    is_heard = pulse.hear(pulse.beats, 6_002)

    assert is_heard
    assert leaves(pulse, 9_000) is first


def test_no_heartbeat_leaves_before_its_time():
    pulse = a_beating().consumer.pulse

    assert leaves(pulse, 5_999) is None


def test_no_heartbeat_leaves_by_itself_while_another_is_not_answered():
    pulse = a_beating().consumer.pulse
    leaves(pulse, 6_000)

    assert leaves(pulse, 9_000) is None


def test_an_answer_is_taken_once():
    pulse = a_beating().consumer.pulse
    leaves(pulse, 6_000)
    pulse.hear(pulse.beats, 6_002)

    assert not pulse.hear(pulse.beats, 6_003)


def test_a_heartbeat_leaves_though_its_thread_would_look_round_a_little_later():
    pulse = a_beating().consumer.pulse
    leaves(pulse, 6_000)
    pulse.hear(pulse.beats, 8_999)  # The heartbeat thread looks round 100 ms later.

    assert leaves(pulse, 9_000) is not None
    assert pulse.turn_at_ms == 9_000 + 100


def test_no_answer_is_heard_when_a_heartbeat_is_due():
    pulse = a_beating().consumer.pulse
    leaves(pulse, 6_000)

    assert not pulse.hear(pulse.beats, 9_000)


def test_what_a_pulse_did_is_known_to_whoever_looks():
    talk = a_beating()
    pulse = talk.consumer.pulse
    leaves(pulse, 6_000)
    pulse.hear(pulse.beats, 6_002)

    heartbeat = talk.membership.heartbeat

    assert (heartbeat.beat_at_ms, heartbeat.session_ends_ms) == (9_000, 6_002 + 45_000)
    assert talk.consumer.clock.now_ms == 6_002


def test_a_heartbeat_of_a_pulse_is_in_flight_until_it_is_answered():
    talk = a_beating()

    beat = leaves(talk.consumer.pulse, 6_000)

    assert beat in [sent.request for sent in talk.consumer.in_flight]
    assert talk.membership.heartbeat.session_ends_ms == 3_002 + 45_000


def test_a_heartbeat_of_a_pulse_that_is_not_answered_is_overdue_in_time():
    commits = {"enable.auto.commit": True, "auto.commit.interval.ms": 7_000}
    patience = {"request.timeout.ms": 10_000, "default.api.timeout.ms": 10_000}
    talk = a_beating(**commits, **patience)
    talk.consumer.threads.calm_until_ms = LONG_MS  # as if it had looked anew by now
    talk.consumer.on_time(6_000)

    talk.consumer.on_time(7_000)  # A commit leaves, and that alone does not end its rest.

    assert talk.consumer.threads.calm_until_ms == 6_000 + 10_000 + 1


def test_a_consumer_wants_to_act_when_its_next_heartbeat_is_due():
    talk = a_beating()

    leaves(talk.consumer.pulse, 6_000)

    assert talk.consumer.next_wakeup_ms == 9_000


def test_a_consumer_wants_to_act_when_a_commit_is_due_before_the_next_heartbeat():
    talk = a_beating(**{"enable.auto.commit": True, "auto.commit.interval.ms": 7_000})

    leaves(talk.consumer.pulse, 6_000)

    assert talk.consumer.next_wakeup_ms == 7_000


def test_a_heartbeat_that_is_due_with_a_commit_does_not_leave_by_itself():
    talk = a_beating(**{"enable.auto.commit": True, "auto.commit.interval.ms": 6_000})

    assert leaves(talk.consumer.pulse, 6_000) is None


@pytest.mark.parametrize("disturb", [Talk.wakeup, lambda talk: talk.disconnect("c0")])
def test_a_pulse_ends_when_something_happens(disturb):
    talk = a_beating()

    disturb(talk)

    assert talk.consumer.pulse.until_ms == LONG_AGO


def test_a_pulse_ends_with_the_answer_to_a_fetch():
    talk = a_beating()
    talk.consumer.on_time(6_000)

    talk.release("Fetch")

    assert talk.consumer.pulse.until_ms == LONG_AGO


def test_a_heartbeat_that_left_before_its_pulse_ended_keeps_the_session():
    talk = a_beating()
    (sent,) = talk.consumer.on_time(6_000)
    talk.release("Fetch")

    talk.consumer.on_reply(sent.connection, GOOD, 6_002, to=sent.request)

    assert talk.membership.heartbeat.session_ends_ms == 6_002 + 45_000


@pytest.mark.parametrize(
    "settings",
    [
        {"retry.backoff.ms": 4_000, "retry.backoff.max.ms": 4_000},
        {"request.timeout.ms": 2_500, "default.api.timeout.ms": 2_500},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_there_is_no_pulse_where_something_else_is_due_between_two_heartbeats(settings):
    usual = a_beating().consumer.pulse

    pulse = a_beating(**settings).consumer.pulse

    assert pulse.until_ms == LONG_AGO < usual.until_ms


# --- commits ---

EACH_7_S = {"enable.auto.commit": True, "auto.commit.interval.ms": 7_000}


def taken(error=ErrorCode.NONE):
    """The answer to a commit of both partitions."""
    rows = tuple(
        OffsetCommitResponsePartition(partition_index=partition, error_code=error)
        for partition in range(2)
    )
    return OffsetCommitResponse(topics=(OffsetCommitResponseTopic(name="t", partitions=rows),))


def a_committing(**settings):
    """The same, with automatic commits, of which the one of 7,000 ms was answered 2 ms later."""
    talk = a_beating(**EACH_7_S, **settings)
    talk.held.add("OffsetCommit")
    beat(talk, 6_000)
    commit(talk, 7_000)
    return talk


def commit(talk, at_ms):
    told = talk.consumer.on_time(at_ms)
    (sent,) = [fact for fact in told if type(fact) is RequestSent]
    talk.consumer.on_reply(sent.connection, taken(), at_ms + 2, to=sent.request)
    return sent


def beats_until(talk, *times_ms):
    for at_ms in times_ms:
        beat(talk, at_ms)


def offsets_of(sent):
    (topic,) = sent.request.topics
    return {each.partition_index: each.committed_offset for each in topic.partitions}


def to_the_coordinator(talk):
    return [sent.request for sent in talk.consumer.in_flight if sent.node.connection == "c0"]


def commits_alone(talk, at_ms):
    """Whether a commit leaves by itself then."""
    pulse = talk.consumer.pulse
    return pulse.leave(pulse.commits, at_ms) is not None


def test_once_the_positions_are_committed_commits_leave_by_themselves():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    pulse = talk.consumer.pulse

    assert commits_alone(talk, 14_000)
    assert pulse.hear(pulse.commits, 14_002)
    assert pulse.leave(pulse.beats, 15_000)


def test_a_commit_that_is_due_with_a_heartbeat_does_not_leave_by_itself():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    commit(talk, 14_000)
    beats_until(talk, 15_000, 18_000)

    assert not commits_alone(talk, 21_000)
    assert not talk.consumer.pulse.leave(talk.consumer.pulse.beats, 21_000)


def test_the_first_commit_does_not_leave_by_itself():
    talk = a_beating(**EACH_7_S)
    beat(talk, 6_000)

    assert not commits_alone(talk, 7_000)


def test_a_commit_says_the_same_as_the_last_as_long_as_nothing_moves():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    first = talk.consumer.pulse.commits.request

    assert commit(talk, 14_000).request is first


def test_a_commit_after_a_seek_says_where_to():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)

    partition = talk.consumer.calls.subscriptions.assigned_partitions[0]
    talk.consumer.calls.seek(partition, 42)
    sent = commit(talk, 14_000)

    assert offsets_of(sent) == {0: 42, 1: 0}


def test_a_commit_after_records_says_where_they_end():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)

    talk.held.discard("Fetch")
    talk.produce("t-0", 5)
    talk.held.add("Fetch")
    talk.poll(LONG_MS)
    talk.consumer.write_down()
    told = talk.consumer.on_time(14_000)

    (sent,) = [fact for fact in told if type(fact) is RequestSent and fact.connection == "c0"]
    assert offsets_of(sent) == {0: 5, 1: 0}


def test_a_commit_leaves_by_itself_while_a_heartbeat_is_not_answered():
    talk = a_committing()
    beats_until(talk, 9_000)
    pulse = talk.consumer.pulse
    pulse.commits.at_ms = 12_001
    pulse.leave(pulse.beats, 12_000)

    assert commits_alone(talk, 12_001)
    assert to_the_coordinator(talk) == [pulse.beats.request, pulse.commits.request]


def test_the_answer_to_a_heartbeat_comes_before_that_to_a_commit_behind_it():
    talk = a_committing()
    beats_until(talk, 9_000)
    pulse = talk.consumer.pulse
    pulse.commits.at_ms = 12_001
    pulse.leave(pulse.beats, 12_000)
    commits_alone(talk, 12_001)

    assert not pulse.hear(pulse.commits, 12_002)
    assert pulse.hear(pulse.beats, 12_002)
    assert pulse.hear(pulse.commits, 12_003)


def test_no_heartbeat_leaves_by_itself_while_a_commit_is_not_answered():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    commits_alone(talk, 14_000)

    assert not talk.consumer.pulse.leave(talk.consumer.pulse.beats, 15_000)


def test_no_answer_is_heard_when_a_commit_is_due():
    talk = a_committing()
    beats_until(talk, 9_000)
    pulse = talk.consumer.pulse
    pulse.commits.at_ms = 12_002
    pulse.leave(pulse.beats, 12_000)

    assert not pulse.hear(pulse.beats, 12_002)


def test_what_a_pulse_has_committed_is_known_to_whoever_looks():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    talk.consumer.on_time(14_000)

    talk.consumer.write_down()

    timer = talk.consumer.calls.group.commits.auto_commit_timer
    assert (timer.start_ms, timer.deadline_ms) == (14_000, 21_000)
    assert to_the_coordinator(talk) == [talk.consumer.pulse.commits.request]


def test_how_a_commit_of_a_pulse_ended_is_told():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    (sent,) = talk.consumer.on_time(14_000)

    (told,) = talk.consumer.on_reply(sent.connection, taken(), 14_003, to=sent.request)

    assert (type(told).__name__, told.at_ms, told.error) == ("CommitCallbackCalled", 14_003, None)
    assert [each.offset for each in told.offsets.values()] == [0, 0]


def test_a_commit_of_a_pulse_that_is_refused_makes_the_member_join_anew():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    (sent,) = talk.consumer.on_time(14_000)

    refusal = taken(ErrorCode.UNKNOWN_MEMBER_ID)
    told = talk.consumer.on_reply(sent.connection, refusal, 14_002, to=sent.request)

    assert "JoinGroupRequest" in [
        type(fact.request).__name__ for fact in told if type(fact) is RequestSent
    ]


def test_a_commit_of_a_pulse_that_is_not_answered_is_overdue_in_time():
    patience = {"request.timeout.ms": 10_000, "default.api.timeout.ms": 10_000}
    talk = a_committing(**patience)
    beats_until(talk, 9_000, 12_000)
    talk.consumer.threads.calm_until_ms = LONG_MS  # as if it had looked anew by now
    talk.consumer.on_time(14_000)

    talk.consumer.on_time(15_000)

    assert talk.consumer.threads.calm_until_ms == 14_000 + 10_000 + 1


def test_a_wakeup_is_not_lost_when_it_ends_a_pulse_with_a_commit_on_its_way():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    talk.consumer.on_time(14_000)

    talk.consumer.calls.wakeup()
    talk.advance(1)

    assert talk.outcome() == "WakeupException"


def test_a_commit_of_a_pulse_that_was_answered_begins_an_interval():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    commit(talk, 14_000)

    talk.consumer.write_down()

    timer = talk.consumer.calls.group.commits.auto_commit_timer
    assert (timer.start_ms, timer.deadline_ms) == (14_000, 21_000)


def test_the_heartbeat_thread_looks_round_with_what_leaves_by_itself():
    talk = a_committing()
    beats_until(talk, 9_000, 12_000)
    talk.consumer.on_time(14_000)

    talk.consumer.write_down()

    assert talk.membership.heartbeat_thread.turns.deadline_ms == 14_000 + 100


def test_a_heartbeat_speaks_of_the_generation_that_its_member_is_in_now():
    talk = a_beating()
    before = talk.membership.generation.generation_id
    talk.wakeup()
    talk.call("enforce_rebalance")
    talk.poll(LONG_MS)
    talk.advance(1_000)

    (sent,) = talk.consumer.on_time(talk.membership.heartbeat.beat_at_ms)

    assert sent.request.generation_id == talk.membership.generation.generation_id > before
