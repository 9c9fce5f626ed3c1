"""What happens at the edges of commits; the numbers are those of the facts.

Oracle: Kafka 4.3.1's ConsumerCoordinator.
"""

from __future__ import annotations

from tests.client.talk import BY_HAND, COOPERATIVE, Talk

AT_ZERO = {"t-0": 0, "t-1": 0}
EACH_SECOND = {"enable.auto.commit": True, "auto.commit.interval.ms": 1_000}


def commits_when_revoked():
    return [{"on": "revoked", "nth": 1, "act": [{"do": "commit_sync"}]}]


def test_a_commit_in_revoked_carries_the_old_generation_eagerly_the_new_one_cooperatively():  # 60
    eager = Talk(settings=BY_HAND, acts=commits_when_revoked(), committed=dict(AT_ZERO)).joins()
    cooperative = Talk(
        settings=BY_HAND | COOPERATIVE, acts=commits_when_revoked(), committed=dict(AT_ZERO)
    ).joins()

    for talk in (eager, cooperative):
        talk.assignment = ["t-0"]
        talk.rebalances()
        for _ in range(6):
            talk.polls()

    assert [request["generation"] for request in eager.sent("OffsetCommit")] == [1]
    assert [request["generation"] for request in cooperative.sent("OffsetCommit")] == [2]
    assert eager.nested == cooperative.nested == [None]


def test_a_commit_between_polls_of_a_rebalance_fails_without_a_request():  # 61
    talk = Talk(settings=BY_HAND | COOPERATIVE, committed=dict(AT_ZERO)).joins()
    talk.rebalances()
    talk.held.add("JoinGroup")
    talk.poll()

    outcome = talk.call("commit_sync")

    assert outcome == "RebalanceInProgressException"
    assert talk.sent("OffsetCommit") == []


def test_a_commit_after_the_poll_timeout_fails_without_a_request():  # 62
    talk = Talk(settings=BY_HAND | {"max.poll.interval.ms": 3_000}, committed=AT_ZERO).joins()
    talk.advance(3_100)

    outcome = talk.call("commit_sync")

    assert outcome == "CommitFailedException"
    assert talk.sent("OffsetCommit") == []


def test_a_consumer_with_assigned_partitions_cannot_commit_to_a_group_with_members():  # 64
    talk = Talk(settings=BY_HAND, answers={"OffsetCommit": [{"error": "UNKNOWN_MEMBER_ID"}]})
    talk.call("assign", partitions=["t-0"])

    talk.call("commit_sync", offsets={"t-0": 1})

    assert talk.outcome() == "CommitFailedException"
    (commit,) = talk.sent("OffsetCommit")
    assert (commit["member_id"], commit["generation"]) == ("", -1)


def test_an_asynchronous_commit_is_waited_for_by_close_but_its_callback_never_runs():  # 65
    talk = Talk(settings=BY_HAND, committed=dict(AT_ZERO), held={"OffsetCommit"}).joins()
    talk.call("commit_async", offsets={"t-0": 7})

    talk.call("close")
    talk.advance(200)
    before = talk.outcome()
    talk.release("OffsetCommit")
    talk.advance(1_000)

    assert before is ...
    assert talk.outcome() is None
    assert talk.committed["t-0"] == 7
    assert talk.callbacks == [("revoked", ["t-0", "t-1"])]


def test_asynchronous_commits_without_a_coordinator_leave_in_order_after_the_lookup():  # 66
    talk = Talk(settings=BY_HAND, held={"FindCoordinator"})
    talk.call("assign", partitions=["t-0"])
    talk.call("commit_async", offsets={"t-0": 1})
    talk.call("commit_async", offsets={"t-0": 2})
    before = talk.sent("OffsetCommit")

    talk.release("FindCoordinator")
    for _ in range(4):
        talk.poll()

    assert before == []
    assert [request["offsets"]["t-0"] for request in talk.sent("OffsetCommit")] == [1, 2]
    assert talk.callbacks == [("commit", None), ("commit", None)]


def test_an_asynchronous_commit_whose_lookup_fails_may_be_tried_again():  # 66
    talk = Talk(settings=BY_HAND, held={"FindCoordinator"})
    talk.call("assign", partitions=["t-0"])
    talk.call("commit_async", offsets={"t-0": 1})

    talk.reply("FindCoordinator", error="COORDINATOR_NOT_AVAILABLE")
    talk.poll()
    talk.poll()

    assert talk.callbacks == [("commit", "RetriableCommitFailedException")]


def test_a_commit_that_fails_locally_overtakes_one_in_flight():  # 67
    talk = Talk(settings=BY_HAND | COOPERATIVE, committed=dict(AT_ZERO)).joins()
    talk.rebalances()
    talk.held |= {"OffsetCommit", "JoinGroup"}
    talk.call("commit_async", offsets={"t-0": 1})
    talk.poll()

    talk.call("commit_async", offsets={"t-0": 2})
    talk.poll()
    talk.release("OffsetCommit")
    talk.poll()
    talk.poll()

    assert talk.callbacks == [("commit", "RebalanceInProgressException"), ("commit", None)]


def test_a_commit_callback_that_raises_comes_out_of_poll_and_leaves_the_others_queued():  # 68
    talk = Talk(settings=BY_HAND, committed=dict(AT_ZERO)).joins()
    talk.held.add("OffsetCommit")
    talk.call("commit_async", offsets={"t-0": 1}, callback_raises=True)
    talk.call("commit_async", offsets={"t-0": 2})
    talk.release("OffsetCommit")
    talk.advance(200)

    first, heard = talk.poll(), len(talk.callbacks)
    talk.poll()

    assert first == "IllegalArgumentException"
    assert heard == 1
    assert len(talk.callbacks) == 2


def test_an_auto_commit_that_fails_for_good_is_tried_again_after_a_full_interval():  # 69
    talk = Talk(settings=EACH_SECOND, committed=dict(AT_ZERO)).joins()
    talk.answers["OffsetCommit"] = [{"error": "GROUP_AUTHORIZATION_FAILED"}]

    talk.poll(3_500)
    talk.advance(3_500)

    assert [request["at"] for request in talk.sent("OffsetCommit")] == [1_000, 2_000, 3_000]


def test_an_auto_commit_that_may_pass_is_tried_again_after_the_backoff():  # 69
    talk = Talk(settings=EACH_SECOND, committed=dict(AT_ZERO)).joins()
    talk.answers["OffsetCommit"] = [{"error": "COORDINATOR_LOAD_IN_PROGRESS"}]

    talk.poll(1_500)
    talk.advance(1_500)

    assert [request["at"] for request in talk.sent("OffsetCommit")] == [1_000, 1_100]


def test_no_auto_commit_is_made_during_a_rebalance_and_its_timer_starts_anew_after_it():  # 70
    talk = Talk(settings=EACH_SECOND, committed=dict(AT_ZERO)).joins()
    talk.rebalances()
    talk.held.add("JoinGroup")
    talk.poll(8_000)
    talk.advance(4_000)
    during = [request["at"] for request in talk.sent("OffsetCommit")]
    joined_at = talk.now_ms

    talk.release("JoinGroup")
    talk.advance(1_500)

    after = [request["at"] for request in talk.sent("OffsetCommit")][len(during) :]
    assert len(during) == 1  # the one before the rebalance
    assert after == [joined_at + 1_000]


def test_assigning_anew_commits_the_old_positions_only_if_the_interval_is_over():  # 71
    early, late = (Talk(settings=EACH_SECOND, committed={"t-0": 3}) for _ in range(2))
    for talk, wait_ms in ((early, 500), (late, 1_500)):
        talk.call("assign", partitions=["t-0"])
        for _ in range(6):
            talk.polls()
        talk.advance(wait_ms)
        talk.forget()

        talk.call("assign", partitions=["t-1"])

    assert early.sent("OffsetCommit") == []
    assert late.sent("OffsetCommit")[0]["offsets"] == {"t-0": 3}


def test_unsubscribing_commits_nothing():  # 72
    talk = Talk(settings=EACH_SECOND, committed=dict(AT_ZERO)).joins()
    talk.produce("t-0", 5)
    talk.poll()

    talk.call("unsubscribe")

    assert talk.sent("OffsetCommit") == []
    assert talk.committed == AT_ZERO


def test_an_auto_commit_includes_partitions_of_which_nothing_was_read():  # 73
    talk = Talk(settings=EACH_SECOND, logs={"t-0": [0, 9], "t-1": [0, 4]}).joins()

    talk.poll(1_100)
    talk.advance(1_100)

    assert talk.sent("OffsetCommit")[0]["offsets"] == {"t-0": 9, "t-1": 4}


def test_a_commit_without_time_makes_one_attempt_that_may_succeed_unseen():  # 74
    talk = Talk(settings=BY_HAND, committed=dict(AT_ZERO)).joins()

    outcome = talk.call("commit_sync", offsets={"t-0": 5}, timeout_ms=0)

    assert outcome == "TimeoutException"
    assert talk.committed["t-0"] == 5


def test_committed_waits_behind_a_parked_join_on_the_same_connection():  # 75
    talk = Talk(settings=BY_HAND | COOPERATIVE, committed=dict(AT_ZERO)).joins()
    talk.rebalances()
    talk.held.add("JoinGroup")
    talk.poll()

    waiting = talk.call("committed", partitions=["t-0"])
    talk.advance(1_000)
    still = talk.outcome()
    talk.release("JoinGroup")

    assert waiting is ...
    assert still is ...
    assert talk.outcome() == {"t-0": 0}
