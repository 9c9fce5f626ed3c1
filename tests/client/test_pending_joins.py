"""While a JoinGroup is unanswered, polls end and begin without anybody waking up for it.

Whole worlds hold that nothing else changes by it (tests/simulation/test_resting.py).
"""

from __future__ import annotations

import pytest

from client.outputs import ConnectionClosed
from client.polling import PollLoop
from tests.client.talk import BY_HAND, Talk


async def reading(consumer, timeout_ms):
    async for _ in consumer.calls.batches(timeout_ms):
        pass


def a_joining(timeout_ms=500, **settings):
    """A reader that was told of a rebalance at 3,000 ms; its JoinGroup is not answered."""
    talk = Talk(settings={**BY_HAND, **settings}, committed={"t-0": 0, "t-1": 0}).joins()
    talk.held |= {"Fetch", "JoinGroup", "SyncGroup"}
    talk.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]
    talk.consumer.start(reading(talk.consumer, timeout_ms), talk.now_ms)
    talk.advance(3_000)
    assert [join["at"] for join in talk.sent("JoinGroup")] == [3_000]
    return talk


@pytest.fixture(params=["passed over", "played"])
def _either_way(request, monkeypatch):
    if request.param == "played":
        monkeypatch.setattr(PollLoop, "_pending_ms", lambda *_: 0)


def test_nobody_wakes_up_for_the_ends_of_polls_that_wait_for_a_join():
    talk = a_joining()

    assert talk.consumer.next_wakeup_ms == 6_000


@pytest.mark.usefixtures("_either_way")
def test_the_poll_under_way_ends_in_its_rhythm_when_the_join_is_answered():
    talk = a_joining()
    talk.advance(1_700)

    talk.release("JoinGroup")

    assert talk.sent("SyncGroup")[-1]["at"] == 4_700
    assert talk.consumer.next_wakeup_ms == 5_000


@pytest.mark.usefixtures("_either_way")
def test_a_poll_that_was_to_end_while_the_process_stood_still_ends_when_it_goes_on():
    talk = a_joining()
    talk.consumer.on_time(3_500)
    talk.consumer.on_stop(3_700)
    talk.consumer.on_resume(4_130)

    talk.release("JoinGroup")

    assert talk.consumer.next_wakeup_ms == 4_630


@pytest.mark.usefixtures("_either_way")
def test_a_short_halt_between_the_ends_of_two_polls_leaves_them_as_they_were():
    talk = a_joining()
    talk.consumer.on_time(3_500)
    talk.consumer.on_stop(3_700)
    talk.consumer.on_resume(3_930)

    talk.release("JoinGroup")

    assert talk.consumer.next_wakeup_ms == 4_000


@pytest.mark.usefixtures("_either_way")
def test_a_wakeup_ends_a_poll_that_waits_for_a_join():
    talk = a_joining()
    talk.advance(1_234)

    talk.wakeup()

    assert not talk.consumer.is_running


@pytest.mark.usefixtures("_either_way")
def test_a_fetch_that_is_overdue_is_given_up_at_the_end_of_a_poll():
    talk = a_joining(**{"request.timeout.ms": 4_200, "default.api.timeout.ms": 4_200})

    talk.advance(3_000)

    lost = [fact for fact in talk.facts if isinstance(fact, ConnectionClosed)]
    assert [(fact.connection, fact.at_ms) for fact in lost] == [("b1", 4_500)]


@pytest.mark.usefixtures("_either_way")
def test_polls_that_do_not_wait_do_not_wait_for_a_join():
    talk = a_joining(timeout_ms=0)

    assert talk.consumer.next_wakeup_ms == 3_001


def test_without_a_back_off_every_poll_that_waits_for_a_join_is_played():
    talk = a_joining(**{"retry.backoff.ms": 0})

    assert talk.consumer.next_wakeup_ms == 3_500
