"""What happens at the edges of fetching and positions; the numbers are those of the facts.

Oracle: Kafka 4.3.1's Fetcher, FetchCollector, OffsetFetcher and SubscriptionState.
"""

from __future__ import annotations

from client.messages import FetchPartitionResponse, FetchResponse, RecordBatch
from client.partitions import TopicPartition
from tests.client.talk import BY_HAND, COOPERATIVE, Talk

TWO_BROKERS = {"t": [0, 1]}
AT_ZERO = {"t-0": 0, "t-1": 0}


def two_at_a_time(**more):
    return BY_HAND | {"max.poll.records": 2} | more


def fetched(talk):
    return [request["partitions"] for request in talk.sent("Fetch")]


def test_a_chunk_of_exactly_two_full_polls_is_followed_by_a_poll_that_must_wait():  # 42
    talk = Talk(settings=two_at_a_time(), assignment=["t-0"], committed=AT_ZERO).joins()
    talk.produce("t-0", 4)

    polls = [talk.poll(), talk.poll()]
    prefetched = fetched(talk)
    talk.poll()

    assert polls == [{"t-0": [0, 2]}, {"t-0": [2, 4]}]
    assert prefetched == []
    assert fetched(talk) == [{"t-0": 4}]


def test_leftovers_are_served_first_and_only_other_brokers_are_fetched_from():  # 43
    talk = Talk(settings=two_at_a_time(), topics=TWO_BROKERS, committed=AT_ZERO).joins()
    talk.produce("t-0", 5)
    first = talk.poll()
    talk.disconnect("b1")  # so that nothing of it is in flight
    talk.advance(200)
    talk.forget()

    second = talk.poll()

    assert (first, second) == ({"t-0": [0, 2]}, {"t-0": [2, 4]})
    assert fetched(talk) == [{"t-1": 0}]


def test_a_paused_partition_keeps_its_buffered_data_and_does_not_hold_up_its_broker():  # 45
    talk = Talk(settings=two_at_a_time(), committed=AT_ZERO).joins()
    talk.produce("t-0", 4)
    talk.poll()
    talk.call("pause", partitions=["t-0"])
    talk.forget()

    talk.poll()
    paused = fetched(talk)
    talk.call("resume", partitions=["t-0"])

    assert paused == [{"t-1": 0}]
    assert talk.poll() == {"t-0": [2, 4]}


def test_an_answer_to_a_fetch_from_before_a_seek_is_discarded():  # 46
    talk = Talk(settings=BY_HAND, assignment=["t-0"], committed=AT_ZERO).joins()
    talk.call("seek", partition="t-0", offset=3)

    talk.produce("t-0", 5)

    polls = [talk.poll() for _ in range(3)]

    assert [polled for polled in polls if polled] == [{"t-0": [3, 5]}]


def test_an_eager_member_that_awaits_its_commit_returns_nothing_and_loses_nothing():  # 48
    talk = Talk(
        settings={"auto.commit.interval.ms": 60_000}, assignment=["t-0"], committed=AT_ZERO
    ).joins()
    talk.rebalances()
    talk.held.add("OffsetCommit")
    talk.produce("t-0", 5)

    polled = talk.poll()
    position = talk.positions
    talk.release("OffsetCommit")
    for _ in range(8):
        polled = talk.poll() or polled

    assert position == {"t-0": 0}
    assert polled == {"t-0": [0, 5]}


def test_a_cooperative_member_goes_on_reading_what_it_owns_in_a_rebalance():  # 49
    talk = Talk(settings=BY_HAND | COOPERATIVE, committed=AT_ZERO).joins()
    talk.rebalances()
    talk.held.add("JoinGroup")
    talk.poll()

    talk.produce("t-0", 5)

    assert talk.poll() == {"t-0": [0, 5]}


def test_an_eager_member_without_auto_commit_revokes_and_joins_in_one_step():  # 50
    talk = Talk(settings=BY_HAND, committed=AT_ZERO).joins()
    talk.rebalances()
    talk.forget()

    talk.poll()

    assert talk.order == ["revoked", "JoinGroup"]


def test_a_poll_returns_nothing_at_once_when_only_the_position_advanced():  # 51
    talk = Talk(settings=BY_HAND, assignment=["t-0"], committed=AT_ZERO, held={"Fetch"}).joins()
    talk.poll(1_000)
    marker = RecordBatch(first=0, end=0, next_offset=2)

    answer = FetchPartitionResponse(topic="t", partition_index=0, batches=(marker,))
    talk.reply_with("Fetch", FetchResponse(partitions=(answer,)))

    assert talk.outcome() is None
    assert talk.now_ms == 0
    assert talk.positions == {"t-0": 2}


def test_an_offset_out_of_range_without_a_policy_raises_at_each_fetch_and_stays():  # 52
    talk = Talk(
        settings=BY_HAND | {"auto.offset.reset": "none"},
        assignment=["t-0"],
        logs={"t-0": [5, 9]},
        committed={"t-0": 2},
    ).joins()

    polls = [talk.poll() for _ in range(6)]

    assert polls.count("OffsetOutOfRangeException") >= 2
    assert talk.positions == {"t-0": 2}


def test_an_offset_out_of_range_with_a_policy_is_left_out_of_commits_until_it_is_reset():  # 52
    talk = Talk(
        settings=BY_HAND | {"auto.offset.reset": "earliest"},
        logs={"t-0": [5, 9], "t-1": [0, 0]},
        committed={"t-0": 2, "t-1": 0},
        held={"ListOffsets"},
    ).joins()

    talk.call("commit_sync")

    assert talk.sent("OffsetCommit")[0]["offsets"] == {"t-1": 0}
    talk.release("ListOffsets")
    talk.advance(100)
    assert talk.positions["t-0"] == 5


def test_a_position_at_the_very_end_of_its_epoch_was_not_cut_off():
    end_of_the_epoch = 1_000  # as brokers answer here
    talk = Talk(
        settings=BY_HAND | {"auto.offset.reset": "none"},
        assignment=["t-0"],
        epochs={"t": [5, 5]},
        committed={"t-0": {"offset": end_of_the_epoch, "leader_epoch": 4}},
    ).joins()

    talk.poll()

    assert fetched(talk) == [{"t-0": end_of_the_epoch}]


def test_a_committed_offset_with_an_epoch_is_validated_before_it_is_read_or_committed():  # 53
    talk = Talk(
        settings=BY_HAND,
        assignment=["t-0"],
        epochs={"t": [5, 5]},
        committed={"t-0": {"offset": 3, "leader_epoch": 4}},
        held={"OffsetForLeaderEpoch"},
    ).joins()
    talk.call("commit_sync")
    before = (talk.positions, fetched(talk), talk.sent("OffsetCommit"))

    talk.release("OffsetForLeaderEpoch")
    talk.advance(100)
    talk.poll()

    assert before == ({"t-0": None}, [], [])
    assert fetched(talk) == [{"t-0": 3}]


def test_without_a_committed_offset_and_a_policy_each_poll_raises_until_a_seek():  # 54
    talk = Talk(settings=BY_HAND | {"auto.offset.reset": "none"}, assignment=["t-0"])
    talk.call("subscribe", topics=["t"])
    polls = [talk.polls() for _ in range(12)]

    talk.call("seek", partition="t-0", offset=0)
    cured = [talk.polls() for _ in range(3)]

    assert polls.count("NoOffsetForPartitionException") >= 2
    assert cured == [None] * 3


def test_the_position_of_a_fresh_partition_is_waited_for_and_times_out():  # 55
    talk = Talk(settings=BY_HAND | {"default.api.timeout.ms": 3_000}, held={"ListOffsets"})
    talk.call("assign", partitions=["t-0"])

    waiting = talk.call("position", partition="t-0")
    talk.advance(3_000)

    assert waiting is ...
    assert talk.outcome() == "TimeoutException"
    assert talk.sent_apis() == ["FindCoordinator", "OffsetFetch", "ListOffsets"]


def test_a_partition_sent_to_its_end_is_not_committed_before_the_end_is_known():  # 56
    talk = Talk(settings=BY_HAND, committed=AT_ZERO).joins()
    talk.call("seek_to_end", partitions=["t-0"])

    talk.call("commit_sync")

    assert talk.sent("OffsetCommit")[0]["offsets"] == {"t-1": 0}


def test_pauses_survive_a_cooperative_rebalance_and_no_eager_one():  # 57
    cooperative = Talk(settings=BY_HAND | COOPERATIVE, committed=AT_ZERO).joins()
    eager = Talk(settings=BY_HAND, committed=AT_ZERO).joins()

    for talk in (cooperative, eager):
        talk.call("pause", partitions=["t-0"])
        talk.rebalances()
        for _ in range(6):
            talk.poll()

    assert cooperative.call("paused") == ["t-0"]
    assert eager.call("paused") == []


def test_partitions_of_a_broker_in_reconnect_backoff_are_skipped_without_an_error():  # 58
    talk = Talk(settings=BY_HAND, topics=TWO_BROKERS, committed=AT_ZERO).joins()
    talk.link("b1", "refuse")
    talk.disconnect("b1")
    talk.forget()

    polls = [talk.poll(), talk.poll()]

    assert polls == [None, None]
    assert [request for request in talk.sent("Fetch") if request["to"] == "b1"] == []


def test_an_unexpected_fetch_error_escapes_although_other_positions_advanced():  # 59
    talk = Talk(settings=BY_HAND, committed=AT_ZERO, held={"Fetch"}).joins()
    talk.poll(1_000)

    talk.reply(
        "Fetch",
        partitions={
            "t-0": {"records": [0, 3], "high_watermark": 3},
            "t-1": {"error": "INVALID_REQUEST"},
        },
    )

    assert talk.outcome() == "IllegalStateException"
    assert talk.positions == {"t-0": 3, "t-1": 0}


def test_the_replica_of_what_is_buffered_is_not_looked_for_while_nothing_else_can_be_fetched():
    talk = Talk(
        settings=BY_HAND | {"max.poll.records": 1},
        topics={"t": [1]},
        assignment=["t-0"],
        committed={"t-0": 0},
    ).joins()
    talk.produce("t-0", 40)
    talk.poll(1_000)
    # As a Fetch answer does; the replica is not among those that are online.
    talk.consumer.calls.subscriptions.state(TopicPartition("t", 0)).prefer_replica(0, 1_000_000)
    talk.forget()

    for _ in range(30):
        talk.advance(10)
        talk.poll()

    assert talk.sent("Metadata") == []
