"""The ready-made poll loops: what each promises about every record."""

from __future__ import annotations

import pytest

from client.applications import CommitMode, PollLoop, ResultStore, RunningLoop, Stall
from client.outputs import CommitRefused, RecordsProcessed, RecordsSkipped
from client.partitions import TopicPartition
from client.records import RecordRange
from client.workloads import ConstantTime, DrawnTime, SlowRecord
from tests.client.talk import BY_HAND, Talk

T0 = TopicPartition("t", 0)
AT_ZERO = {"t-0": 0}


def a_running(talk, results=None, **loop):
    running = RunningLoop(
        PollLoop(topics=("t",), **loop),
        talk.consumer.calls,
        talk.consumer.tell,
        results or ResultStore(),
    )
    talk._take(talk.consumer.start(running.run(), talk.now_ms))
    return running


def a_talk(count=5, **settings):
    return Talk(
        settings=BY_HAND | settings,
        assignment=["t-0"],
        logs={"t-0": [0, count]},
        committed=dict(AT_ZERO),
    )


def processed(talk):
    return [
        (fact.at_ms, fact.records.first, fact.records.end)
        for fact in talk.facts
        if isinstance(fact, RecordsProcessed)
    ]


def told(talk, kind):
    return [fact for fact in talk.facts if isinstance(fact, kind)]


def test_a_constant_time_costs_one_piece_for_a_million_records():
    records = RecordRange(partition=T0, first=0, end=1_000_000)

    assert list(ConstantTime(1_500).pieces(records)) == [(records, 1_500_000)]


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_a_constant_time_costs_the_same_however_its_records_are_cut(size):
    ranges = [
        RecordRange(partition=T0, first=first, end=min(first + size, 1_000))
        for first in range(0, 1_000, size)
    ]

    pieces = [piece for records in ranges for piece in ConstantTime(900).pieces(records)]

    assert sum(takes_ms for _, takes_ms in pieces) == 900


def test_a_drawn_time_belongs_to_the_record_and_not_to_the_moment():
    records = RecordRange(partition=T0, first=3, end=6)

    pieces = list(DrawnTime(lambda _, offset: offset * 10).pieces(records))

    assert [(piece.first, piece.end, takes_ms) for piece, takes_ms in pieces] == [
        (3, 4, 30),
        (4, 5, 40),
        (5, 6, 50),
    ]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, [(0, 1, 420_000), (1, 5, 4)]),
        (2, [(0, 2, 2), (2, 3, 420_000), (3, 5, 2)]),
        (4, [(0, 4, 4), (4, 5, 420_000)]),
        (9, [(0, 5, 5)]),
    ],
)
def test_one_slow_record_is_cut_out_of_its_range(offset, expected):
    records = RecordRange(partition=T0, first=0, end=5)
    slow = SlowRecord(partition=T0, offset=offset, takes_ms=420_000, others=ConstantTime(1_000))

    pieces = list(slow.pieces(records))

    assert [(piece.first, piece.end, takes_ms) for piece, takes_ms in pieces] == expected


def test_at_least_once_commits_what_it_has_processed():
    talk = a_talk()

    a_running(talk, commit=CommitMode.SYNC, time_per_record=ConstantTime(100_000))
    talk.advance(600)

    assert processed(talk) == [(500, 0, 5)]
    assert talk.committed == {"t-0": 5}


def test_an_asynchronous_commit_does_not_hold_up_the_next_poll():
    talk = a_talk()
    talk.held.add("OffsetCommit")

    a_running(talk, commit=CommitMode.ASYNC)
    talk.advance(10)
    talk.produce("t-0", 2)
    talk.advance(10)

    assert [(first, end) for _, first, end in processed(talk)] == [(0, 5), (5, 7)]


def test_at_most_once_commits_before_it_processes():
    talk = a_talk()

    a_running(talk, commit=CommitMode.BEFORE, time_per_record=ConstantTime(1_000_000))
    talk.advance(1_000)

    assert talk.committed == {"t-0": 5}
    assert processed(talk) == []


def test_at_most_once_skips_what_it_could_not_commit():
    talk = a_talk()
    talk.answers["OffsetCommit"] = [{"error": "ILLEGAL_GENERATION"}]

    a_running(talk, commit=CommitMode.BEFORE)
    talk.advance(10)

    (skipped,) = told(talk, RecordsSkipped)
    assert (skipped.records.first, skipped.records.end) == (0, 5)
    assert type(skipped.error).__name__ == "CommitFailedException"


@pytest.mark.parametrize("is_woken", [False, True])
def test_at_most_once_processes_what_it_was_committing_when_it_was_stopped(is_woken):
    talk = a_talk()
    talk.held.add("OffsetCommit")
    running = a_running(talk, commit=CommitMode.BEFORE)
    talk.advance(10)

    running.stop()
    if is_woken:
        talk.wakeup()
    talk.advance(10)
    talk.release("OffsetCommit")
    talk.advance(1_000)

    assert talk.committed == {"t-0": 5}
    assert [(first, end) for _, first, end in processed(talk)] == [(0, 5)]
    assert not talk.consumer.is_running


def test_at_most_once_tells_what_it_skipped_when_wakeups_kept_it_from_committing():
    talk = a_talk()
    talk.held.add("OffsetCommit")
    a_running(talk, commit=CommitMode.BEFORE)
    talk.advance(10)

    talk.wakeup()
    talk.wakeup()
    talk.release("OffsetCommit")
    talk.advance(10)

    (skipped,) = told(talk, RecordsSkipped)
    assert (skipped.records.first, skipped.records.end) == (0, 5)
    assert type(skipped.error).__name__ == "WakeupException"
    assert processed(talk) == []


@pytest.mark.parametrize("is_woken", [False, True])
def test_a_stop_during_processing_does_not_keep_the_last_commit_from_its_answer(is_woken):
    talk = a_talk()
    running = a_running(
        talk,
        commit=CommitMode.SYNC,
        commits_when_revoked=False,
        time_per_record=ConstantTime(100_000),
    )
    talk.advance(200)
    talk.answers["OffsetCommit"] = [{"error": "REBALANCE_IN_PROGRESS"}] * (2 if is_woken else 1)

    running.stop()
    if is_woken:
        talk.wakeup()
    talk.advance(2_000)

    assert [type(fact.error).__name__ for fact in told(talk, CommitRefused)] == [
        "RebalanceInProgressException"
    ]
    assert not talk.consumer.is_running


def test_a_stop_that_meets_the_commit_of_a_callback_still_ends_the_poll():
    talk = a_talk()
    running = a_running(talk, commit=CommitMode.SYNC)
    talk.advance(100)
    talk.held |= {"OffsetCommit", "JoinGroup"}
    talk.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]
    talk.advance(4_000)

    running.stop()
    talk.advance(10)
    talk.release("OffsetCommit")
    talk.advance(1_000)

    # The join, held, is before it on the wire.
    assert talk.sent_apis()[-1] == "LeaveGroup"


def test_a_refused_commit_is_told_and_the_loop_goes_on():
    talk = a_talk()
    talk.answers["OffsetCommit"] = [{"error": "REBALANCE_IN_PROGRESS"}]

    running = a_running(talk, commit=CommitMode.SYNC)
    talk.advance(100)

    assert [type(fact.error).__name__ for fact in told(talk, CommitRefused)] == [
        "RebalanceInProgressException"
    ]
    assert not running.is_stopping
    assert talk.consumer.is_running


def test_exactly_once_seeks_to_where_its_results_reach():
    results = ResultStore({T0: 3})
    talk = a_talk()

    a_running(talk, results, commit=CommitMode.WITH_RESULTS)
    talk.advance(10)

    assert [(first, end) for _, first, end in processed(talk)] == [(3, 5)]
    assert results.next_offsets == {T0: 5}
    assert talk.sent("OffsetCommit") == []


def test_exactly_once_refuses_the_result_of_a_member_that_has_lost_its_partition():
    results = ResultStore({T0: 1})
    slow, quick = a_talk(**{"max.poll.interval.ms": 5_000}), a_talk()
    a_running(
        slow,
        results,
        commit=CommitMode.WITH_RESULTS,
        time_per_record=SlowRecord(
            partition=T0, offset=1, takes_ms=10_000, others=ConstantTime(1_000)
        ),
    )
    slow.advance(6_000)
    assert slow.sent_apis()[-1] == "LeaveGroup"

    a_running(quick, results, commit=CommitMode.WITH_RESULTS)
    quick.advance(10)
    slow.advance(6_000)

    assert [(first, end) for _, first, end in processed(quick)] == [(1, 5)]
    assert processed(slow) == []
    assert [(fact.records.first, fact.records.end) for fact in told(slow, RecordsSkipped)] == [
        (1, 2),
        (2, 5),
    ]
    assert results.next_offsets == {T0: 5}


def test_exactly_once_goes_on_behind_results_that_were_written_while_it_was_at_work():
    results = ResultStore({T0: 1})
    talk = a_talk()
    a_running(talk, results, commit=CommitMode.WITH_RESULTS, time_per_record=ConstantTime(100_000))
    talk.advance(200)

    assert results.keep(T0, 2, after=1)
    talk.advance(1_000)

    assert [(fact.records.first, fact.records.end) for fact in told(talk, RecordsSkipped)] == [
        (1, 5)
    ]
    assert [(first, end) for _, first, end in processed(talk)] == [(2, 5)]
    assert results.next_offsets == {T0: 5}


def test_a_graceful_stop_finishes_the_batch_commits_and_leaves():
    talk = a_talk()
    running = a_running(talk, commit=CommitMode.SYNC, time_per_record=ConstantTime(100_000))
    talk.advance(200)

    running.stop()
    talk.advance(2_000)

    assert processed(talk) == [(500, 0, 5)]
    assert talk.committed == {"t-0": 5}
    assert talk.sent_apis()[-1] == "LeaveGroup"
    assert not talk.consumer.is_running


def test_a_stop_that_does_not_finish_its_batch_loses_the_rest_to_the_commit_on_close():
    talk = a_talk(**{"enable.auto.commit": True})
    one_by_one = DrawnTime(lambda *_: 100)
    running = a_running(talk, time_per_record=one_by_one, finishes_batch=False)
    talk.advance(150)

    running.stop()
    talk.advance(2_000)

    assert [(first, end) for _, first, end in processed(talk)] == [(0, 1), (1, 2)]
    assert talk.committed == {"t-0": 5}


@pytest.mark.parametrize("mode", [CommitMode.SYNC, CommitMode.ASYNC])
def test_a_stop_that_does_not_finish_its_batch_commits_only_what_was_processed(mode):
    talk = a_talk()
    one_by_one = DrawnTime(lambda *_: 100)
    running = a_running(talk, commit=mode, time_per_record=one_by_one, finishes_batch=False)
    talk.advance(150)

    running.stop()
    talk.advance(2_000)

    assert [(first, end) for _, first, end in processed(talk)] == [(0, 1), (1, 2)]
    assert talk.committed == {"t-0": 2}
    assert not talk.consumer.is_running


def test_an_abrupt_stop_commits_nothing_and_says_no_farewell():
    talk = a_talk()
    a_running(talk, commit=CommitMode.SYNC, time_per_record=ConstantTime(100_000))
    talk.advance(200)

    talk.consumer.crash()

    assert talk.committed == AT_ZERO
    assert "LeaveGroup" not in talk.sent_apis()


def test_a_stall_stops_heartbeats_too_while_slow_processing_does_not():
    busy, stalled = a_talk(), a_talk()
    a_running(busy, time_per_record=ConstantTime(2_000_000))
    a_running(stalled, stalls=(Stall(0, 10_000),))

    for talk in (busy, stalled):
        talk.advance(9_900)

    assert len(busy.sent("Heartbeat")) == 3
    assert stalled.sent("Heartbeat") == []
    stalled.advance(100)
    assert processed(stalled) == [(10_000, 0, 5)]


def test_a_stall_stops_a_consumer_that_is_idle_in_poll():
    talk = a_talk(count=0)
    a_running(talk, stalls=(Stall(5_000, 20_000),))
    talk.advance(6_000)
    talk.produce("t-0", 3)

    talk.advance(18_999)
    before = [beat["at"] for beat in talk.sent("Heartbeat")]
    fetched = [fetch["at"] for fetch in talk.sent("Fetch")]
    assert processed(talk) == []
    talk.advance(1)

    assert before == [3_000]
    assert max(fetched) < 5_000
    assert processed(talk) == [(25_000, 0, 3)]
    talk.advance(10)
    assert talk.sent("Heartbeat")[-1]["at"] >= 25_000


def test_a_stall_stops_a_consumer_in_the_middle_of_a_constant_range():
    talk = a_talk()
    a_running(talk, time_per_record=ConstantTime(2_000_000), stalls=(Stall(5_000, 20_000),))

    talk.advance(30_000)

    assert processed(talk) == [(25_000, 0, 5)]
    assert not [beat for beat in talk.sent("Heartbeat") if 5_000 <= beat["at"] < 25_000]


def test_processing_that_ends_behind_a_stall_ends_when_it_would_have():
    talk = a_talk()
    a_running(talk, time_per_record=ConstantTime(2_000_000), stalls=(Stall(5_000, 2_000),))

    talk.advance(11_000)

    assert processed(talk) == [(10_000, 0, 5)]


def test_stalls_that_overlap_are_one():
    talk = a_talk()
    stalls = (Stall(4_000, 3_000), Stall(1_000, 4_000))
    a_running(talk, time_per_record=ConstantTime(500_000), stalls=stalls)

    talk.advance(10_000)

    assert processed(talk) == [(7_000, 0, 5)]


def test_a_consumer_that_is_to_stall_cannot_be_left_alone_until_it_has():
    talk = a_talk(count=0)
    a_running(talk, stalls=(Stall(5_000, 1_000),))
    talk.advance(1_750)

    assert not talk.consumer.is_blocked_in_poll
    talk.advance(5_000)
    assert talk.consumer.is_blocked_in_poll


def test_slow_callbacks_hold_up_the_rebalance():
    talk = a_talk()
    a_running(talk, revoked_callback_ms=2_000, assigned_callback_ms=500)
    talk.advance(600)
    talk.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]
    talk.forget()

    talk.advance(6_000)

    (beat, *_), (join, *_) = talk.sent("Heartbeat"), talk.sent("JoinGroup")
    assert join["at"] - beat["at"] == 2_000


def test_a_callback_that_is_given_no_partitions_takes_no_time():
    talk = a_talk()
    talk.assignment = []
    a_running(talk, assigned_callback_ms=60_000)
    talk.advance(600)
    talk.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]
    talk.forget()

    talk.advance(6_000)

    (beat, *_), (join, *_) = talk.sent("Heartbeat"), talk.sent("JoinGroup")
    assert join["at"] == beat["at"]


def test_a_loop_may_subscribe_by_pattern():
    talk = a_talk()
    running = RunningLoop(PollLoop(pattern="t.*"), talk.consumer.calls, talk.consumer.tell)

    talk._take(talk.consumer.start(running.run(), 0))
    talk.advance(200)

    assert [(first, end) for _, first, end in processed(talk)] == [(0, 5)]


def test_a_loop_that_waits_for_records_swallows_empty_polls():
    talk = a_talk(count=0)

    a_running(talk)
    talk.advance(1_750)

    assert talk.consumer.swallows_empty_polls
    assert talk.consumer.is_blocked_in_poll
