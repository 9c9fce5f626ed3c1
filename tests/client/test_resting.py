"""A consumer at rest beats and commits without a pass, and wakes for whatever is more than that.

That both ways come to the same is held by recorded conversations and, for whole worlds, by
tests/simulation/test_resting.py.
"""

from __future__ import annotations

import pytest

from client.listeners import ConsumerInterceptor
from client.outputs import CommitCallbackCalled, RequestSent
from coordinator import ErrorCode
from coordinator.protocol import HeartbeatResponse
from tests.client.talk import BY_HAND, COOPERATIVE, Talk
from tests.support.short_ways import SHORT_WAYS

AT_ZERO = {"t-0": 0, "t-1": 0}
LONG_MS = 60_000


def a_resting(**more):
    """A member whose poll waits for records, with every fetch left unanswered."""
    talk = Talk(
        settings={"auto.commit.interval.ms": 5_000, **more}, committed=dict(AT_ZERO)
    ).joins()
    talk.held.add("Fetch")
    talk.poll(LONG_MS)
    return talk


def the_wait(talk):
    return talk.consumer.threads.application_wait


def test_a_heartbeat_at_rest_and_its_answer_leave_the_application_in_its_wait():
    talk = a_resting(**BY_HAND)
    wait = the_wait(talk)

    talk.advance(9_500)

    assert [beat["at"] for beat in talk.sent("Heartbeat")] == [3_000, 6_000, 9_000]
    assert the_wait(talk) is wait


def test_an_automatic_commit_at_rest_and_its_answer_leave_the_application_in_its_wait():
    talk = a_resting()
    talk.advance(2_000)
    wait = the_wait(talk)

    talk.advance(9_000)

    assert [commit["at"] for commit in talk.sent("OffsetCommit")] == [5_000, 10_000]
    assert the_wait(talk) is wait


def test_a_commit_of_nothing_is_told_by_the_next_round_of_the_poll():
    talk = Talk(settings=COOPERATIVE, assignment=[]).joins()
    talk.poll(LONG_MS)

    talk.advance(12_000)

    told = [fact.at_ms for fact in talk.facts if isinstance(fact, CommitCallbackCalled)]
    assert told == [0, 5_100, 10_100]


def test_how_a_commit_at_rest_ended_is_told_with_its_answer():
    talk = a_resting()
    talk.held.add("OffsetCommit")
    talk.advance(5_500)
    told = len(talk.facts)

    talk.release("OffsetCommit")

    assert [type(fact).__name__ for fact in talk.facts[told:]] == ["CommitCallbackCalled"]


def test_an_answer_that_tells_of_a_rebalance_ends_the_rest():
    talk = a_resting(**BY_HAND)
    talk.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]

    talk.advance(3_000)

    assert talk.sent("JoinGroup")[-1]["at"] == 3_000


def test_a_commit_that_is_refused_at_rest_makes_the_member_join_anew():
    talk = a_resting()
    talk.answers["OffsetCommit"] = [{"error": "UNKNOWN_MEMBER_ID"}]

    talk.advance(5_000)

    assert talk.sent("JoinGroup")[-1]["at"] == 5_000


def test_a_heartbeat_and_a_commit_that_are_due_at_once_both_leave():
    talk = a_resting(**{"auto.commit.interval.ms": 3_000})

    talk.advance(3_000)

    assert talk.sent("Heartbeat")[-1]["at"] == talk.sent("OffsetCommit")[-1]["at"] == 3_000


def test_a_coordinator_that_falls_silent_is_given_up_at_rest_when_the_session_is_over():
    talk = a_resting(**BY_HAND, **{"request.timeout.ms": 60_000})
    talk.held.add("Heartbeat")

    talk.advance(50_000)

    assert [found["at"] for found in talk.sent("FindCoordinator")][-1] == 45_000


def test_an_answer_that_comes_in_a_stall_is_heard_after_it():
    talk = a_resting(**BY_HAND)
    talk.held.add("Heartbeat")
    talk.advance(3_010)
    talk.consumer.threads.stall_at(3_020, 1_000)
    talk.advance(40)

    talk.release("Heartbeat")

    session = talk.consumer.calls.group.membership.heartbeat
    assert session.session_ends_ms == 45_000  # as if nothing had been said yet
    talk.advance(1_000)
    assert session.session_ends_ms == 4_020 + 45_000


def test_a_wakeup_that_comes_with_an_answer_ends_the_rest():
    talk = a_resting(**BY_HAND)
    talk.held.add("Heartbeat")
    talk.advance(3_010)

    talk.consumer.calls.wakeup()
    talk.release("Heartbeat")

    assert talk.outcome() == "WakeupException"


class AskedToWakeUp(ConsumerInterceptor):
    """A user's interceptor that ends the poll when something was committed."""

    def __init__(self, talk):
        self.talk = talk

    def on_commit(self, _offsets):
        self.talk.consumer.calls.wakeup()


def test_what_an_interceptor_does_with_a_commit_is_noticed_at_once():
    talk = Talk(committed=dict(AT_ZERO)).joins()
    group = talk.consumer.calls.group
    assert group is not None
    group.commits.interceptors = (AskedToWakeUp(talk),)
    talk.held.add("Fetch")
    talk.poll(LONG_MS)

    talk.advance(5_000)

    assert talk.outcome() == "WakeupException"


def test_a_position_that_was_sought_while_another_was_looked_for_lets_the_poll_rest():
    talk = Talk(settings=BY_HAND, committed=dict(AT_ZERO)).joins()
    talk.held |= {"Fetch", "ListOffsets"}
    talk.call("seek_to_end", partitions=["t-0"])
    talk.call("position", partition="t-0", timeout_ms=50)
    talk.advance(100)
    talk.call("seek", partition="t-0", offset=5)

    talk.poll(LONG_MS)

    assert talk.consumer.next_wakeup_ms == 3_000


def test_a_heartbeat_sent_at_rest_is_in_flight_for_whoever_looks():
    talk = a_resting(**BY_HAND)
    talk.held.add("Heartbeat")

    talk.advance(3_010)

    kinds = [type(sent.request).__name__ for sent in talk.consumer.in_flight]
    assert sorted(kinds) == ["FetchRequest", "HeartbeatRequest"]


def beat_at_rest(talk, at_ms):
    """Let a heartbeat leave at its time, and be answered, with no other look at the consumer."""
    (sent,) = talk.consumer.on_time(at_ms)
    answer = HeartbeatResponse(error_code=ErrorCode.NONE)
    talk.consumer.on_reply(sent.connection, answer, at_ms + 2, to=sent.request)


def test_a_heartbeat_without_an_answer_does_not_keep_the_session_alive():
    talk = a_resting(**BY_HAND)
    beat_at_rest(talk, 3_000)

    talk.consumer.on_time(6_000)

    assert talk.membership.heartbeat.session_ends_ms == 3_002 + 45_000
    assert talk.membership.heartbeat.beat_at_ms == 9_000


def test_the_answer_to_a_heartbeat_is_heard_though_another_was_sent_behind_it():
    talk = a_resting(**BY_HAND)
    talk.held.add("Heartbeat")
    talk.advance(7_000)
    assert len(talk.sent("Heartbeat")) == 2

    talk.release("Heartbeat")

    assert talk.membership.heartbeat.session_ends_ms == 7_000 + 45_000


def test_a_rebalance_that_is_asked_for_during_the_wait_ends_the_rest():
    talk = a_resting(**BY_HAND)
    beat_at_rest(talk, 3_000)

    talk.consumer.calls.enforce_rebalance()
    told = talk.consumer.on_time(6_000)

    kinds = [type(fact.request).__name__ for fact in told if isinstance(fact, RequestSent)]
    assert "JoinGroupRequest" in kinds


SETTINGS = [
    {"max.poll.interval.ms": 1_000},
    {"retry.backoff.ms": 0},
    {"retry.backoff.ms": 4_000, "retry.backoff.max.ms": 4_000},
    {"heartbeat.interval.ms": 7_000},
    {"metadata.max.age.ms": 4_500},
    {"request.timeout.ms": 4_000, "default.api.timeout.ms": 4_000},
]


def what_is_said(**settings):
    """By a member that waits, reads, seeks and pauses."""
    talk = a_resting(**settings)
    talk.advance(12_000)
    talk.release("Fetch")
    talk.produce("t-0", 7)
    talk.polls()
    talk.call("seek", partition="t-0", offset=3)
    talk.polls()
    talk.call("pause", partitions=["t-1"])
    talk.produce("t-1", 2)
    talk.poll(LONG_MS)
    talk.advance(20_000)
    return talk.outputs


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: next(iter(settings)))
@pytest.mark.parametrize("short_way", SHORT_WAYS, ids=lambda way: way[1])
def test_a_consumer_says_the_same_on_the_long_way(settings, short_way, monkeypatch):
    said = what_is_said(**settings)

    part, asked, answer = short_way
    monkeypatch.setattr(part, asked, lambda *_: answer)

    assert what_is_said(**settings) == said
