"""The consumer as a machine: its doors, what it shows, and how a host may move it."""

from __future__ import annotations

import pytest
from attrs import evolve

from client.consumer import Consumer, UnknownRequest
from client.messages import FetchResponse
from client.outputs import ApplicationEnded, ListenerCalled, ListenerReturned
from client.settings import ConsumerConfig
from client.timers import NEVER
from tests.client.talk import BY_HAND, Talk

AT_ZERO = {"t-0": 0, "t-1": 0}


def a_reader(**more):
    return Talk(settings=BY_HAND | more, committed=dict(AT_ZERO)).joins()


def test_a_consumer_that_was_never_called_wants_nothing():
    consumer = Consumer(ConsumerConfig(group_id="g"))

    assert consumer.next_wakeup_ms == NEVER
    assert consumer.on_time(1_000_000) == ()
    assert consumer.in_flight == []


def test_a_reader_with_nothing_to_read_is_blocked_in_poll_with_a_fetch_in_flight():
    talk = a_reader()

    talk.poll(10_000)

    assert talk.consumer.is_blocked_in_poll
    assert [type(sent.request).__name__ for sent in talk.consumer.in_flight] == ["FetchRequest"]
    assert talk.consumer.next_wakeup_ms == 3_000  # its next heartbeat


def test_a_sleeping_application_is_not_blocked_in_poll():
    talk = a_reader()

    talk.consumer.start(talk.consumer.calls.sleep(500), 0)

    assert not talk.consumer.is_blocked_in_poll
    assert talk.consumer.is_running


def test_what_was_due_before_a_door_is_used_happens_at_its_own_time():
    talk = a_reader()

    talk._take(talk.consumer.on_time(3_500))

    assert [request["at"] for request in talk.sent("Heartbeat")] == [3_000]


def test_time_does_not_run_backwards():
    consumer = Consumer(ConsumerConfig(), now_ms=10)

    with pytest.raises(ValueError, match="now_ms must not be before 10, not 9"):
        consumer.on_time(9)


def test_a_reply_that_nobody_waits_for_is_refused():
    with pytest.raises(UnknownRequest):
        Consumer(ConsumerConfig()).on_reply("b1", object(), 0)


def test_an_answer_to_another_than_the_oldest_request_is_refused():
    talk = a_reader()
    talk.poll(10_000)
    (fetch,) = talk.consumer.in_flight
    other = evolve(fetch.request)

    with pytest.raises(UnknownRequest, match="before"):
        talk.consumer.on_reply(fetch.node.connection, FetchResponse(), 10, to=other)


def test_only_one_application_runs_at_a_time():
    talk = a_reader()
    talk.poll(1_000)

    second = talk.consumer.calls.sleep(1)
    with pytest.raises(RuntimeError, match="still running"):
        talk.consumer.start(second, 0)
    second.close()


def test_an_application_may_be_one_coroutine_that_tells_its_own_facts_between_ours():
    talk = a_reader()
    consumer = talk.consumer

    async def application():
        consumer.tell("before")
        await consumer.calls.sleep(100)
        consumer.tell("after")
        return 7

    first = consumer.start(application(), 0)
    second = consumer.on_time(100)

    assert first == ("before",)
    assert second == ("after", ApplicationEnded(at_ms=100, value=7))


def test_rebalance_callbacks_are_told_to_the_host():
    talk = Talk(settings=BY_HAND, assignment=["t-0"])

    talk.joins()

    kinds = [fact for fact in talk.facts if isinstance(fact, ListenerCalled | ListenerReturned)]
    assert [(type(fact), fact.name) for fact in kinds] == [
        (ListenerCalled, "on_partitions_assigned"),
        (ListenerReturned, "on_partitions_assigned"),
    ]


def test_a_stopped_process_catches_up_when_it_is_resumed():
    talk = a_reader(**{"max.poll.interval.ms": 5_000})

    talk._take(talk.consumer.on_resume(20_000))

    assert [request["at"] for request in talk.sent("LeaveGroup")] == [20_000]
    assert talk.sent("Heartbeat") == []


def test_a_crashed_consumer_says_nothing_more():
    talk = a_reader()
    talk.poll(10_000)

    talk.consumer.crash()

    assert not talk.consumer.is_running
    assert talk.consumer.next_wakeup_ms == NEVER


def test_a_crash_does_not_wait_for_an_application_that_would_tidy_up():
    talk = a_reader()
    consumer = talk.consumer

    async def tidy():
        try:
            await consumer.calls.sleep(1_000)
        finally:
            await consumer.calls.close()

    consumer.start(tidy(), 0)
    consumer.crash()

    assert not consumer.is_running


def test_a_poll_whose_heartbeat_thread_has_died_burns_its_time_but_ends():
    # Kafka: the heartbeat stays due, nobody sends it, so poll never waits.
    talk = a_reader()
    talk.answers["Metadata"] = [
        {"brokers": [0, 1], "topics": {"t": None}, "errors": {"t": "TOPIC_AUTHORIZATION_FAILED"}}
    ]
    talk.disconnect("b1")
    talk.advance(400)
    first = talk.poll()
    talk.advance(3_000)

    talk.poll(5)
    talk.advance(10)

    assert first == "TopicAuthorizationException"
    assert talk.membership.heartbeat_thread is None
    assert talk.outcome() is None
