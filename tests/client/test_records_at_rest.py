"""Records that an application handles at once are handed out without a pass.

Whatever is unusual about them goes the long way; either way the consumer tells the same.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from client.applications import CommitMode, PollLoop, RunningLoop
from client.listeners import ConsumerInterceptor
from client.messages import FetchPartitionResponse, FetchResponse, RecordBatch
from client.partitions import TopicPartition
from client.resting import Rest
from client.workloads import ConstantTime
from coordinator.protocol import Request
from tests.client.talk import Talk
from tests.conformance.client_replies import reply_to

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SESSION = 7


class Reader:
    """A poll loop that reads t-0 and t-2 from one broker and t-1 from another, in sessions."""

    def __init__(
        self,
        settings: dict[str, Any] | None = None,
        interceptors: tuple[ConsumerInterceptor, ...] = (),
        **loop: Any,
    ) -> None:
        self.talk = Talk(
            settings={"auto.commit.interval.ms": 5_000, **(settings or {})},
            topics={"t": [0, 1, 0], "u": [0]},
            assignment=["t-0", "t-1", "t-2"],
            committed={"t-0": 0, "t-1": 0, "t-2": 0},
            held={"Fetch"},
        )
        calls, tell = self.talk.consumer.calls, self.talk.consumer.tell
        calls.interceptors = interceptors
        self.running = RunningLoop(PollLoop(topics=("t", "u"), **loop), calls, tell)
        self.talk._take(self.talk.consumer.start(self.running.run(), 0))
        self.talk.advance(300)
        for broker in ("b0", "b1"):
            self.answer(broker)  # The first answer in a session names all partitions.
        assert all(request["session"][1] == 1 for request in self.asked()[-2:])

    def asked(self) -> list[Any]:
        return self.talk.sent("Fetch")

    def answer(self, broker: str = "b0", *, session_id: int = SESSION, **partitions: Any) -> None:
        """Answer what a broker was asked, by what is said of t_0 and t_1."""
        told = {name.replace("_", "-"): fields for name, fields in partitions.items()}
        request = self.open_at(broker)
        self.talk._answer(broker, request, {"session_id": session_id, "partitions": told})

    def answer_with(self, *batches: RecordBatch) -> None:
        partition = FetchPartitionResponse(topic="t", partition_index=0, batches=batches)
        reply = FetchResponse(session_id=SESSION, partitions=(partition,))
        asked = self.open_at("b0")
        self.talk._open = [each for each in self.talk._open if each[1] is not asked]
        self.talk._take(self.talk.consumer.on_reply("b0", reply, self.talk.now_ms, to=asked))

    def open_at(self, broker: str) -> Request:
        return next(asked for at, asked, _ in self.talk._open if at == broker)

    @property
    def wait(self) -> object:
        return self.talk.consumer.threads.application_wait

    @property
    def told(self) -> list[str]:
        return [repr(fact) for fact in self.talk.facts]


def records(first: int, end: int, **more: Any) -> dict[str, Any]:
    return {"records": [first, end], "high_watermark": end, **more}


def test_records_that_are_handled_at_once_leave_the_application_in_its_wait():
    reader = Reader()
    wait = reader.wait

    reader.answer(t_0=records(0, 5))

    assert reader.talk.positions == {"t-0": 5, "t-1": 0, "t-2": 0}
    assert reader.wait is wait


def test_the_next_fetch_is_on_its_way_before_the_records_are_handled():
    reader = Reader()
    told = len(reader.talk.facts)

    reader.answer(t_0=records(0, 5))

    assert [type(fact).__name__ for fact in reader.talk.facts[told:]] == [
        "RequestSent",
        "RecordsReturned",
        "ProcessingBegan",
        "RecordsProcessed",
    ]
    assert reader.asked()[-1]["partitions"] == {"t-0": 5}


def test_an_answer_without_records_leaves_any_application_in_its_wait():
    reader = Reader(time_per_record=ConstantTime(2_000))
    wait = reader.wait

    reader.answer(t_0={"high_watermark": 0})

    assert reader.asked()[-1]["session"] == [SESSION, 2]
    assert reader.wait is wait


def test_records_begin_the_time_between_polls_anew():
    reader = Reader({"max.poll.interval.ms": 10_000})
    reader.talk.advance(120)

    reader.answer(t_0=records(0, 5))

    assert reader.talk.membership.heartbeat.poll_ends_ms == 420 + 10_000


def test_records_tell_how_far_behind_the_reader_is():
    reader = Reader()

    reader.answer(t_0={"records": [0, 5], "high_watermark": 9})

    assert reader.talk.consumer.calls.current_lag(T0) == 4


def test_what_is_handled_at_rest_is_committed_at_the_next_interval():
    reader = Reader()

    reader.answer(t_0=records(0, 5))
    reader.talk.advance(6_000)

    assert reader.talk.committed == {"t-0": 5, "t-1": 0, "t-2": 0}


def undisturbed_for(reader: Reader, for_ms: int) -> None:
    """Let time pass in which the consumer wakes when it wants to, and at no other time."""
    talk = reader.talk
    until_ms = talk.now_ms + for_ms
    while (at_ms := talk.consumer.next_wakeup_ms) <= until_ms:
        talk._take(talk.consumer.on_time(at_ms))


def test_what_is_handled_between_two_commits_is_in_the_second():
    reader = Reader()
    undisturbed_for(reader, 6_000)

    reader.answer(t_0=records(0, 5))
    undisturbed_for(reader, 6_000)

    assert reader.talk.committed == {"t-0": 5, "t-1": 0, "t-2": 0}


@pytest.mark.parametrize(
    "loop",
    [{"time_per_record": ConstantTime(2_000)}, {"commit": CommitMode.SYNC}],
    ids=["that take time", "that are committed one by one"],
)
def test_records_of_another_kind_of_loop_wake_it(loop):
    reader = Reader(**loop)
    wait = reader.wait

    reader.answer(t_0=records(0, 5))

    assert reader.wait is not wait


class Curious(ConsumerInterceptor):
    """A user's interceptor that wants to see what is read."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_consume(self, records):
        self.seen.append(len(records))
        return records


def test_an_interceptor_sees_the_records():
    curious = Curious()
    reader = Reader(interceptors=(curious,))

    reader.answer(t_0=records(0, 5))

    assert curious.seen == [5]


def an_error(reader: Reader) -> None:
    reader.answer(t_0={"error": "OFFSET_OUT_OF_RANGE"})


def a_session_that_is_unknown(reader: Reader) -> None:
    reader.talk.reply("Fetch", error="FETCH_SESSION_ID_NOT_FOUND")


def another_replica(reader: Reader) -> None:
    reader.answer(t_0=records(0, 5, preferred_replica=1))


def more_than_a_poll_hands_out(reader: Reader) -> None:
    reader.answer(t_0=records(0, 501))


def all_that_a_poll_hands_out(reader: Reader) -> None:
    reader.answer(t_0=records(0, 500))


def two_batches(reader: Reader) -> None:
    reader.answer_with(RecordBatch(first=0, end=3), RecordBatch(first=4, end=6))


def a_batch_without_records(reader: Reader) -> None:
    reader.answer_with(RecordBatch(first=0, end=0, next_offset=1))


def a_batch_that_was_compacted(reader: Reader) -> None:
    reader.answer_with(RecordBatch(first=2, end=4, next_offset=9, leader_epoch=3))


def a_batch_that_begins_before_the_position(reader: Reader) -> None:
    reader.answer(t_0=records(0, 5))
    reader.answer("b1", t_1=records(0, 1))
    reader.answer(t_0=records(3, 8))


def no_records(reader: Reader) -> None:
    reader.answer()


def partitions_without_records(reader: Reader) -> None:
    reader.answer(t_0={"high_watermark": 0}, t_2=records(0, 3))
    reader.answer(t_0={"high_watermark": 0})


def the_beginning_of_a_session(reader: Reader) -> None:
    reader.talk.reply("Fetch", error="FETCH_SESSION_ID_NOT_FOUND")
    reader.answer(session_id=8)


def a_beginning_without_a_session(reader: Reader) -> None:
    reader.talk.reply("Fetch", error="FETCH_SESSION_ID_NOT_FOUND")
    reader.answer(session_id=0)


def the_end_of_the_session(reader: Reader) -> None:
    reader.answer(session_id=0, t_0=records(0, 5))


def a_partition_that_is_paused(reader: Reader) -> None:
    reader.talk.consumer.calls.pause([T0])
    reader.answer(t_0=records(0, 5))


def all_partitions_of_a_broker_paused(reader: Reader) -> None:
    reader.talk.consumer.calls.pause([T1])
    reader.answer("b1")


def a_partition_that_was_paused(reader: Reader) -> None:
    reader.talk.consumer.calls.pause([T1])
    reader.answer("b1")
    reader.talk.consumer.calls.resume([T1])
    reader.answer(t_0=records(5, 6))


def a_position_that_was_sought(reader: Reader) -> None:
    reader.talk.consumer.calls.seek(T0, 3)
    reader.answer(t_0=records(0, 5))


def a_subscription_that_has_changed(reader: Reader) -> None:
    reader.talk.consumer.calls.subscribe(["t"])
    reader.answer(t_0=records(0, 5))


def a_commit_that_has_been_answered(reader: Reader) -> None:
    reader.talk.held.add("OffsetCommit")
    reader.talk.advance(5_000)
    reader.answer(t_0=records(0, 5))
    reader.talk.release("OffsetCommit")
    reader.answer("b1", t_1=records(0, 2))


def a_rebalance(reader: Reader) -> None:
    reader.talk.rebalances()
    reader.answer(t_0=records(0, 5))


def a_wakeup(reader: Reader) -> None:
    reader.running.stop()
    reader.answer(t_0=records(0, 5))


def an_old_heartbeat_thread(reader: Reader) -> None:
    reader.talk.held.add("Heartbeat")
    reader.talk.advance(50_000)
    reader.answer(t_0=records(0, 5))


def records_of_several_partitions(reader: Reader) -> None:
    reader.answer(t_0=records(0, 5))
    reader.answer(t_0=records(5, 8), t_2=records(0, 4))


def a_full_fetch_after_records(reader: Reader) -> None:
    reader.answer(t_0=records(0, 5))
    reader.answer(session_id=0)


def records_that_come_with_the_time_for_a_heartbeat(reader: Reader) -> None:
    reader.talk.advance(reader.talk.consumer.next_wakeup_ms - reader.talk.now_ms - 1)
    asked = reader.open_at("b0")
    told = {"session_id": SESSION, "partitions": {"t-0": records(0, 5)}}
    now_ms = reader.talk.consumer.next_wakeup_ms
    reader.talk._take(reader.talk.consumer.on_reply("b0", reply_to(asked, told), now_ms))
    reader.talk._open = [each for each in reader.talk._open if each[1] is not asked]


def many_answers_in_a_row(reader: Reader) -> None:
    for number in range(0, 40, 2):
        reader.answer(t_0=records(number, number + 2))
        reader.talk.advance(333)
        reader.answer("b1", t_1=records(number, number + 2))


CASES = [
    an_error,
    a_session_that_is_unknown,
    another_replica,
    more_than_a_poll_hands_out,
    all_that_a_poll_hands_out,
    two_batches,
    a_batch_without_records,
    a_batch_that_was_compacted,
    a_batch_that_begins_before_the_position,
    no_records,
    partitions_without_records,
    the_beginning_of_a_session,
    a_beginning_without_a_session,
    the_end_of_the_session,
    a_partition_that_is_paused,
    all_partitions_of_a_broker_paused,
    a_partition_that_was_paused,
    a_position_that_was_sought,
    a_subscription_that_has_changed,
    a_commit_that_has_been_answered,
    a_rebalance,
    a_wakeup,
    an_old_heartbeat_thread,
    records_of_several_partitions,
    a_full_fetch_after_records,
    records_that_come_with_the_time_for_a_heartbeat,
    many_answers_in_a_row,
]


def what_is_told(case) -> list[str]:
    reader = Reader()
    reader.talk.advance(40)
    case(reader)
    reader.talk.advance(700)
    reader.talk.held.discard("Fetch")
    reader.talk.produce("t-0", 10)
    reader.talk.advance(4_000)
    # A number that is free may be used once more.
    return [re.sub(r"request_id=\d+", "", told) for told in reader.told]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.replace("_", " "))
def test_a_consumer_tells_the_same_of_records_on_the_long_way(case, monkeypatch):
    told = what_is_told(case)

    monkeypatch.setattr(Rest, "_is_calm", lambda *_: False)

    assert what_is_told(case) == told
