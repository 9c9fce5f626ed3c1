"""What happens at the edges of rebalance callbacks; the numbers are those of the facts.

Oracle: Kafka 4.3.1's ConsumerCoordinator and ConsumerRebalanceListenerInvoker.
"""

from __future__ import annotations

import pytest

from client.listeners import RebalanceListener
from client.partitions import TopicPartition
from tests.client.talk import BY_HAND, COOPERATIVE, Talk

AUTO = {"enable.auto.commit": True, "auto.commit.interval.ms": 60_000}


def on(name, *actions, nth=1):
    return [{"on": name, "nth": nth, "act": list(actions)}]


def raises(error):
    return {"do": "raise", "error": error}


def test_a_revoked_callback_that_raises_in_prepare_is_not_repeated():  # 31
    talk = Talk(settings=BY_HAND, acts=on("revoked", raises("IllegalArgumentException"))).joins()
    talk.rebalances()

    first = talk.poll()
    assigned = talk.assigned
    talk.poll()

    assert first == "KafkaException"
    assert assigned == []
    assert talk.order == ["revoked", "revoked", "JoinGroup"]  # begin and end of one callback


@pytest.mark.parametrize("error", ["IllegalArgumentException", "WakeupException"])  # 32, 33
def test_an_assigned_callback_that_raises_runs_again_with_the_empty_set(error):
    talk = Talk(settings=BY_HAND, acts=on("assigned", raises(error)))
    talk.call("subscribe", topics=["t"])

    polls = [talk.poll() for _ in range(10)]

    raised = "WakeupException" if error == "WakeupException" else "KafkaException"
    assert polls.count(raised) == 1
    assert talk.callbacks == [("assigned", ["t-0", "t-1"]), ("assigned", [])]
    assert talk.assigned == ["t-0", "t-1"]


def test_a_wakeup_raised_in_revoked_sends_the_join_with_partitions_still_owned():  # 34
    talk = Talk(settings=BY_HAND, acts=on("revoked", raises("WakeupException"))).joins()
    talk.rebalances()

    first = talk.poll()
    talk.poll()

    assert first == "WakeupException"
    assert talk.sent("JoinGroup")[0]["protocols"][0]["owned"] == ["t-0", "t-1"]


def test_a_wakeup_in_the_pass_that_awaits_the_commit_keeps_partitions_but_reads_nothing():  # 35
    talk = Talk(settings=AUTO, committed={"t-0": 0, "t-1": 0}).joins()
    talk.call("commit_async", offsets={"t-0": 0}, callback_wakeup=True)
    talk.rebalances()
    talk.held.add("OffsetCommit")
    talk.forget()

    first = talk.poll()
    talk.produce("t-0", 5)
    second = talk.poll()

    assert first == "WakeupException"
    assert second is None
    assert talk.order == ["commit", "OffsetCommit", "JoinGroup"]
    assert talk.assigned == ["t-0", "t-1"]
    assert not talk.consumer.calls.subscriptions.is_fetchable(TopicPartition("t", 0))


@pytest.mark.parametrize(("between_ms", "callback"), [(0, "revoked"), (100, "lost")])  # 36
def test_a_commit_before_the_rebalance_that_finds_us_unknown_revokes_or_loses(between_ms, callback):
    talk = Talk(settings=AUTO, committed={"t-0": 0, "t-1": 0}).joins()
    talk.rebalances()
    talk.held.add("OffsetCommit")
    talk.poll()

    talk.reply("OffsetCommit", error="UNKNOWN_MEMBER_ID")
    talk.advance(between_ms)
    talk.poll()

    assert talk.callbacks == [(callback, ["t-0", "t-1"])]


def test_closing_in_the_middle_of_a_rebalance_loses_the_partitions():  # 37
    talk = Talk(settings=BY_HAND | COOPERATIVE).joins()
    talk.rebalances()
    talk.held.add("JoinGroup")
    talk.poll()

    talk.call("close", timeout_ms=1_000)

    assert talk.callbacks == [("lost", ["t-0", "t-1"])]


def test_a_callback_that_raises_in_close_keeps_the_leave_from_being_sent():  # 38
    talk = Talk(settings=BY_HAND, acts=on("revoked", raises("KafkaException"))).joins()

    talk.call("close")
    talk.advance(500)

    assert talk.outcome() == "KafkaException"
    assert talk.sent_apis() == []


def test_a_callback_that_raises_in_unsubscribe_keeps_the_subscription():  # 38
    talk = Talk(settings=BY_HAND, acts=on("revoked", raises("KafkaException"))).joins()

    outcome = talk.call("unsubscribe")

    assert outcome == "KafkaException"
    assert talk.call("subscription") == ["t"]
    assert talk.assigned == []


def test_lost_partitions_are_revoked_ones_to_a_listener_that_does_not_tell_them_apart():  # 39
    heard = []

    class Listener(RebalanceListener):
        def on_partitions_revoked(self, partitions):
            heard.append(partitions)

    Listener().on_partitions_lost((TopicPartition("t", 0),))

    assert heard == [(TopicPartition("t", 0),)]


def test_a_commit_in_the_lost_callback_fails_without_a_request():  # 39
    talk = Talk(settings=BY_HAND, acts=on("lost", {"do": "commit_sync"})).joins()
    talk.answers["Heartbeat"] = [{"error": "UNKNOWN_MEMBER_ID"}]
    talk.advance(3_100)

    talk.poll()

    assert talk.nested == ["CommitFailedException"]
    assert talk.sent("OffsetCommit") == []


def test_an_assigned_callback_beyond_the_poll_interval_loses_all_in_the_same_poll():  # 40
    talk = Talk(
        settings=BY_HAND | {"max.poll.interval.ms": 2_000},
        acts=on("assigned", {"do": "sleep", "ms": 3_000}),
    )
    talk.call("subscribe", topics=["t"])

    talk.poll(5_000)
    talk.advance(3_000)

    left = talk.order.index("LeaveGroup")
    assert talk.order[left : left + 4] == ["LeaveGroup", "assigned", "lost", "JoinGroup"]
    assert talk.sent("JoinGroup")[2]["member_id"] == ""


def test_without_a_listener_every_step_is_the_same_but_for_the_callbacks():  # 41
    with_listener, without = (Talk(settings=BY_HAND) for _ in range(2))
    with_listener.call("subscribe", topics=["t"])
    without.call("subscribe", topics=["t"], listener=False)

    for talk in (with_listener, without):
        for _ in range(8):
            talk.poll()
        talk.rebalances()
        talk.poll()

    assert without.callbacks == []
    assert without.sent_apis() == with_listener.sent_apis()
