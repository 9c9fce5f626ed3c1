"""The consumer as an application sees it: an `async def` that never heard of asyncio."""

from __future__ import annotations

import pytest

from client.errors import (
    IllegalArgumentException,
    IllegalStateException,
    InvalidGroupIdException,
    WakeupException,
)
from client.listeners import ConsumerInterceptor, RebalanceListener
from client.partitions import OffsetAndMetadata, TopicPartition
from tests.client.talk import BY_HAND, Talk

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Heard(RebalanceListener):
    def __init__(self):
        self.calls = []

    def on_partitions_assigned(self, partitions):
        self.calls.append(("assigned", partitions))

    async def on_partitions_revoked(self, partitions):
        self.calls.append(("revoked", partitions))


def run(talk, application):
    talk._take(talk.consumer.start(application, talk.now_ms))


def test_an_application_is_a_coroutine_over_the_consumers_methods():
    talk = Talk(settings=BY_HAND, logs={"t-0": [0, 3]}, committed={"t-0": 0, "t-1": 0})
    consumer, listener = talk.consumer.calls, Heard()
    seen: list[tuple[str, int, int, int]] = []

    async def application():
        consumer.subscribe(["t"], listener)
        while len(seen) < 3:
            for record in await consumer.poll(timeout_ms=500):
                await consumer.sleep(10)
                seen.append((record.topic, record.partition, record.offset, talk.now_ms))
            await consumer.commit_sync()

    run(talk, application())
    talk.advance(1_000)

    assert seen == [("t", 0, 0, 10), ("t", 0, 1, 20), ("t", 0, 2, 30)]
    assert talk.committed == {"t-0": 3, "t-1": 0}
    assert listener.calls == [("assigned", (T0, T1))]


def test_iterating_brings_only_polls_with_records():
    talk = Talk(settings=BY_HAND, assignment=["t-0"], committed={"t-0": 0})
    consumer = talk.consumer.calls
    batches: list[int] = []

    async def application():
        consumer.subscribe(["t"])
        async for records in consumer.batches(timeout_ms=100):
            await consumer.sleep(1)
            batches.append(len(records))

    run(talk, application())
    talk.advance(2_000)
    talk.produce("t-0", 4)
    talk.advance(10)

    assert batches == [4]


def test_a_wakeup_reaches_an_application_that_sleeps_at_its_next_poll():
    talk = Talk(settings=BY_HAND)
    consumer, caught = talk.consumer.calls, []

    async def application():
        consumer.subscribe(["t"])
        await consumer.sleep(1_000)
        try:
            await consumer.poll(timeout_ms=500)
        except WakeupException:
            caught.append(talk.now_ms)

    run(talk, application())
    talk.wakeup()
    talk.advance(1_000)

    assert caught == [1_000]


def test_an_interceptor_that_raises_is_swallowed():
    talk = Talk(
        settings=BY_HAND, assignment=["t-0"], logs={"t-0": [0, 2]}, committed={"t-0": 0}
    ).joins()

    class Broken(ConsumerInterceptor):
        def on_consume(self, records):
            raise ZeroDivisionError(records)

    talk.consumer.calls.interceptors = (Broken(),)
    talk.call("seek", partition="t-0", offset=0)

    talk.poll(1_000)
    talk.advance(1_000)

    assert talk.outcome() == {"t-0": [0, 2]}


def test_positions_committed_offsets_and_edges_can_be_asked_for():
    talk = Talk(settings=BY_HAND, logs={"t-0": [2, 9]}, committed={"t-0": 4, "t-1": 0}).joins()
    consumer = talk.consumer.calls
    answers: dict[str, object] = {}

    async def application():
        answers["committed"] = await consumer.committed([T0, TopicPartition("u", 0)])
        answers["begin"] = await consumer.beginning_offsets([T0])
        answers["end"] = await consumer.end_offsets([T0])
        answers["position"] = await consumer.position(T0)

    run(talk, application())
    talk.advance(2_000)

    assert answers == {
        "committed": {T0: OffsetAndMetadata(offset=4), TopicPartition("u", 0): None},
        "begin": {T0: 2},
        "end": {T0: 9},
        "position": talk.positions["t-0"],
    }


def test_the_lag_is_known_once_a_fetch_has_told_the_end():
    talk = Talk(settings=BY_HAND, assignment=["t-0"], committed={"t-0": 0}).joins()
    before = talk.consumer.calls.current_lag(T0)

    talk.produce("t-0", 4)
    talk.poll()

    assert before is None
    assert talk.consumer.calls.current_lag(T0) == 0


@pytest.mark.parametrize(
    ("what", "args", "error"),
    [
        ("poll", {"timeout_ms": 0}, "IllegalStateException"),
        ("pause", {"partitions": ["t-0"]}, "IllegalStateException"),
        ("position", {"partition": "t-0"}, "IllegalStateException"),
        ("seek", {"partition": "t-0", "offset": 1}, "IllegalStateException"),
        ("seek", {"partition": "t-0", "offset": -1}, "IllegalArgumentException"),
        ("subscribe", {"topics": [" "]}, "IllegalArgumentException"),
        ("subscribe_pattern", {"pattern": ""}, "IllegalArgumentException"),
        ("close", {"timeout_ms": -1}, "IllegalArgumentException"),
    ],
)
def test_wrong_use_of_a_fresh_consumer_raises_what_kafka_raises(what, args, error):
    assert Talk(settings=BY_HAND).call(what, **args) == error


@pytest.mark.parametrize("what", ["poll", "commit_sync", "assignment", "unsubscribe"])
def test_a_closed_consumer_refuses_everything_but_another_close(what):
    talk = Talk(settings=BY_HAND)
    talk.call("close")

    args = {"timeout_ms": 0} if what == "poll" else {}

    assert talk.call(what, **args) == "IllegalStateException"
    assert talk.call("close") is None


def test_without_a_group_there_is_nothing_to_subscribe_or_commit_with():
    calls = Talk(settings=BY_HAND | {"group.id": None}).consumer.calls

    with pytest.raises(InvalidGroupIdException):
        calls.subscribe(["t"])
    with pytest.raises(InvalidGroupIdException):
        calls.group_metadata()
    with pytest.raises(IllegalStateException):
        calls.enforce_rebalance()


def test_without_an_assignor_there_is_nothing_to_subscribe_with():
    calls = Talk(settings={"partition.assignment.strategy": []}).consumer.calls

    with pytest.raises(IllegalStateException):
        calls.subscribe(["t"])


def test_subscribing_to_no_topics_has_to_be_awaited_as_unsubscribing():
    with pytest.raises(IllegalArgumentException, match="await unsubscribe"):
        Talk().consumer.calls.subscribe([])
