"""The pulse of a consumer at rest: heartbeats that leave by themselves until something happens."""

from __future__ import annotations

import pytest

from client.timers import LONG_AGO, NEVER
from coordinator import ErrorCode
from coordinator.protocol import HeartbeatResponse
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
    return pulse.beats.request if pulse.leave(pulse.beats, at_ms) else None


def beat(talk, at_ms):
    """Let a heartbeat leave at its time and be answered."""
    (sent,) = talk.consumer.on_time(at_ms)
    talk.consumer.on_reply(sent.connection, GOOD, at_ms + 2, to=sent.request)


def test_from_a_good_answer_on_heartbeats_leave_by_themselves():
    pulse = a_beating().consumer.pulse

    first = leaves(pulse, 6_000)
    is_heard = pulse.hear(first, 6_002)

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
    beat = leaves(pulse, 6_000)
    pulse.hear(beat, 6_002)

    assert not pulse.hear(beat, 6_003)


def test_an_answer_that_comes_shortly_before_the_next_heartbeat_is_left_to_the_long_way():
    pulse = a_beating().consumer.pulse
    beat = leaves(pulse, 6_000)

    assert not pulse.hear(beat, 8_901)  # The heartbeat thread looks round each 100 ms.


def test_what_a_pulse_did_is_known_to_whoever_looks():
    talk = a_beating()
    pulse = talk.consumer.pulse
    pulse.hear(leaves(pulse, 6_000), 6_002)

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
    (sent,) = talk.consumer.on_time(6_000)

    talk.release("Fetch")

    assert talk.consumer.pulse.until_ms == LONG_AGO
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
    assert a_beating().consumer.pulse.until_ms > LONG_AGO

    assert a_beating(**settings).consumer.pulse.until_ms == LONG_AGO
