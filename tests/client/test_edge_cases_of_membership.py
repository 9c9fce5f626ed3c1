"""What happens at the edges of joining, syncing and beating; the numbers are those of the facts.

Oracle: Kafka 4.3.1's AbstractCoordinator and ConsumerCoordinator.
"""

from __future__ import annotations

from client.assignors import FunctionAssignor
from client.states import MemberState
from tests.client.talk import BY_HAND, COOPERATIVE, Talk

STATIC = {"group.instance.id": "i1"}


def test_the_first_poll_of_a_new_consumer_only_sends_the_first_requests():  # 1
    talk = Talk(settings=BY_HAND, logs={"t-0": [0, 3]}, committed={"t-0": 0})
    talk.call("subscribe", topics=["t"])

    polls = [talk.poll() for _ in range(12)]

    assert polls[0] is None
    assert polls.index({"t-0": [0, 3]}) > 3


def test_a_first_join_calls_nothing_revoked_but_a_later_one_revokes_the_empty_set():  # 2
    talk = Talk(settings=BY_HAND, assignment=[])
    talk.call("subscribe", topics=["t"])
    for _ in range(8):
        talk.poll()
    first = talk.callbacks
    talk.forget()

    talk.rebalances()
    talk.poll()

    assert first == [("assigned", [])]
    assert talk.callbacks == [("revoked", [])]


def test_a_completed_rebalance_that_adds_nothing_still_calls_assigned():  # 3
    talk = Talk(settings=BY_HAND | COOPERATIVE).joins()

    talk.rebalances()
    for _ in range(3):
        talk.poll()

    assert talk.callbacks == [("assigned", [])]


def test_a_busy_application_beats_and_commits_with_the_old_generation_until_it_polls():  # 4
    talk = Talk(settings=BY_HAND).joins()
    talk.rebalances()
    talk.forget()

    talk.call("commit_async", offsets={"t-0": 4})
    talk.advance(3_100)

    sent = talk.sent("OffsetCommit", "Heartbeat")
    assert [(request["api"], request["generation"]) for request in sent] == [
        ("OffsetCommit", 1),
        ("Heartbeat", 1),
    ]
    assert talk.membership.state is MemberState.STABLE


def test_an_application_that_never_polls_in_a_rebalance_joins_nothing_and_leaves():  # 5
    talk = Talk(settings=BY_HAND | {"max.poll.interval.ms": 5_000}).joins()
    talk.rebalances()

    talk.advance(5_000)

    assert talk.sent_apis() == ["LeaveGroup"]


def test_waiting_in_a_long_poll_never_triggers_max_poll_interval_ms():  # 6
    talk = Talk(settings=BY_HAND | {"max.poll.interval.ms": 2_000}).joins()

    talk.poll(20_000)
    talk.advance(20_000)

    assert talk.sent_apis() == []
    assert talk.outcome() is None


def test_a_poll_timeout_of_a_dynamic_member_leaves_loses_all_and_joins_as_a_new_member():  # 7
    talk = Talk(settings=BY_HAND | {"max.poll.interval.ms": 5_000}).joins()
    talk.advance(5_100)

    talk.poll()

    assert talk.order == ["LeaveGroup", "lost", "JoinGroup"]
    assert talk.callbacks == [("lost", ["t-0", "t-1"])]
    assert talk.sent("JoinGroup")[0]["member_id"] == ""


def test_a_poll_timeout_of_a_static_member_sends_no_leave_and_no_more_heartbeats():  # 8
    talk = Talk(settings=BY_HAND | STATIC | {"max.poll.interval.ms": 5_000}).joins()
    talk.advance(5_100)
    talk.forget()

    talk.advance(20_000)

    assert talk.sent("LeaveGroup", "Heartbeat") == []
    assert talk.membership.generation.member_id == ""


def test_a_poll_timeout_is_not_acted_on_while_the_coordinator_is_unknown():  # 9
    talk = Talk(settings=BY_HAND | {"max.poll.interval.ms": 5_000}).joins()
    talk.held.add("FindCoordinator")
    talk.disconnect("c0")
    talk.advance(8_000)
    before = talk.sent("LeaveGroup")

    talk.release("FindCoordinator")
    talk.advance(300)

    assert before == []
    assert len(talk.sent("LeaveGroup")) == 1


def test_an_expired_session_timer_only_makes_the_coordinator_unknown():  # 10
    talk = Talk(settings=BY_HAND | {"session.timeout.ms": 4_000}).joins()
    talk.held |= {"Heartbeat", "FindCoordinator"}

    talk.advance(6_000)

    assert {request["api"] for request in talk.sent()} == {"FindCoordinator"}
    assert talk.assigned == ["t-0", "t-1"]
    assert talk.membership.generation.generation_id == 1


def test_a_join_answered_after_the_client_left_is_ignored_and_made_again():  # 11
    talk = Talk(settings=BY_HAND, held={"JoinGroup"})
    talk.call("subscribe", topics=["t"])
    for _ in range(4):
        talk.poll()
    talk.reply("JoinGroup", error="MEMBER_ID_REQUIRED", member_id="m1")
    talk.poll()
    talk.call("unsubscribe")
    talk.call("subscribe", topics=["t"])
    talk.forget()

    talk.poll(1_000)
    talk.reply(
        "JoinGroup", error="NONE", member_id="m1", generation=1, protocol="range", leader="x"
    )
    talk.advance(200)

    assert [request["member_id"] for request in talk.sent("JoinGroup")] == [""]


def test_a_generation_reset_between_sync_and_callbacks_joins_again_without_assigned():  # 12
    talk = Talk(settings=BY_HAND, held={"SyncGroup"})
    talk.call("subscribe", topics=["t"])
    for _ in range(5):
        talk.poll()
    talk.release("SyncGroup")
    talk.advance(100)
    talk.answers["Heartbeat"] = [{"error": "UNKNOWN_MEMBER_ID"}]
    talk.advance(3_200)
    talk.forget()

    talk.poll()

    assert talk.order == ["JoinGroup"]
    assert talk.sent("JoinGroup")[0]["member_id"] == ""


def test_an_illegal_generation_loses_the_partitions_but_keeps_the_member_id():  # 13
    talk = Talk(settings=BY_HAND).joins()
    talk.answers["Heartbeat"] = [{"error": "ILLEGAL_GENERATION"}]
    talk.advance(3_100)

    talk.poll()

    assert talk.callbacks == [("lost", ["t-0", "t-1"])]
    (join,) = talk.sent("JoinGroup")
    assert join["member_id"] == "m1"
    assert join["protocols"][0]["generation"] == -1


def test_a_sync_told_to_rebalance_joins_at_once_and_claims_under_the_new_generation():  # 14
    talk = Talk(settings=BY_HAND | COOPERATIVE).joins()
    talk.rebalances()
    talk.answers["SyncGroup"] = [{"error": "REBALANCE_IN_PROGRESS"}]

    for _ in range(5):
        talk.poll()

    assert talk.order[:4] == ["JoinGroup", "SyncGroup", "JoinGroup", "SyncGroup"]
    claim = talk.sent("JoinGroup")[1]["protocols"][0]
    assert (claim["owned"], claim["generation"]) == (["t-0", "t-1"], 2)


def test_a_sync_to_a_loading_coordinator_is_a_kafka_exception():  # 15
    talk = Talk(settings=BY_HAND).joins()
    talk.rebalances()
    talk.answers["SyncGroup"] = [{"error": "COORDINATOR_LOAD_IN_PROGRESS"}]

    polls = [talk.poll() for _ in range(3)]

    assert "KafkaException" in polls


def test_a_leader_slower_than_the_request_timeout_makes_followers_join_again():  # 16
    talk = Talk(settings=BY_HAND | {"request.timeout.ms": 2_000}).joins()
    talk.rebalances()
    talk.held.add("SyncGroup")

    talk.poll(10_000)
    talk.advance(4_000)

    assert talk.sent_apis()[:2] == ["JoinGroup", "SyncGroup"]
    assert talk.sent_apis()[2] == "FindCoordinator"
    assert "JoinGroup" in talk.sent_apis()[3:]


def test_an_assignor_that_raises_on_the_leader_raises_from_poll_while_heartbeats_go_on():  # 17
    def broken(*_):
        raise ZeroDivisionError

    assignor = FunctionAssignor(name="broken", function=broken)
    talk = Talk(settings=BY_HAND | {"partition.assignment.strategy": [assignor]}, is_leader=True)
    talk.call("subscribe", topics=["t"])

    while talk.poll() != "ZeroDivisionError":
        pass
    joins = len(talk.sent("JoinGroup"))
    talk.advance(3_100)
    state = talk.membership.state
    talk.poll()

    assert state is MemberState.COMPLETING_REBALANCE
    assert len(talk.sent("Heartbeat")) == 1
    assert len(talk.sent("JoinGroup")) == joins + 1


def test_a_full_group_is_asked_again_by_the_next_poll():  # 18
    talk = Talk(settings=BY_HAND, answers={"JoinGroup": [{"error": "GROUP_MAX_SIZE_REACHED"}]})
    talk.call("subscribe", topics=["t"])

    polls = [talk.poll() for _ in range(8)]

    assert polls.count("GroupMaxSizeReachedException") == 1
    assert talk.assigned == ["t-0", "t-1"]


def test_a_fenced_static_member_that_polls_on_joins_with_the_same_instance_id():  # 19
    talk = Talk(settings=BY_HAND | STATIC).joins()
    talk.answers["Heartbeat"] = [{"error": "FENCED_INSTANCE_ID"}]
    talk.advance(3_100)

    first = talk.poll()
    talk.poll()

    assert first == "FencedInstanceIdException"
    (join,) = talk.sent("JoinGroup")
    assert (join["member_id"], join["group_instance_id"]) == ("", "i1")


def test_a_fenced_asynchronous_commit_makes_every_later_call_raise_and_runs_no_callback():  # 20
    talk = Talk(settings=BY_HAND | STATIC).joins()
    talk.answers["OffsetCommit"] = [{"error": "FENCED_INSTANCE_ID"}]
    talk.call("commit_async", offsets={"t-0": 1})
    talk.advance(100)

    outcomes = [talk.poll(), talk.call("commit_sync"), talk.call("commit_async"), talk.poll()]

    assert outcomes == ["FencedInstanceIdException"] * 4
    assert talk.callbacks == []
    talk.call("close")
    talk.advance(500)
    assert talk.outcome() is None


def test_a_rebalance_enforced_while_a_join_is_in_flight_is_forgotten():  # 21
    talk = Talk(settings=BY_HAND).joins()
    talk.rebalances()
    talk.held.add("JoinGroup")
    talk.poll()

    talk.call("enforce_rebalance")
    talk.release("JoinGroup")
    for _ in range(5):
        talk.poll()

    assert len(talk.sent("JoinGroup")) == 1


def test_subscribing_to_the_same_topics_replaces_only_the_listener():  # 22
    talk = Talk(settings=BY_HAND).joins()

    talk.call("subscribe", topics=["t"], listener_name="second")
    talk.poll()

    assert talk.sent_apis() == []


def test_a_subscription_of_another_type_is_refused_after_its_listener_was_taken():  # 22
    talk = Talk(settings=BY_HAND).joins()

    refused = talk.call("subscribe_pattern", pattern="t.*")
    talk.rebalances()
    talk.poll()

    assert refused == "IllegalStateException"
    assert talk.callbacks == [("revoked", ["t-0", "t-1"])]


def test_other_topics_leave_the_old_partitions_assigned_until_the_next_poll():  # 23
    topics = {"t": [1, 1], "u": [1]}
    eager = Talk(settings=BY_HAND, topics=topics).joins("t")
    cooperative = Talk(
        settings=BY_HAND | COOPERATIVE, topics=topics, assignment=["t-0", "u-0"]
    ).joins("t", "u")

    for talk in (eager, cooperative):
        talk.call("subscribe", topics=["u"])
    before = eager.assigned
    eager.poll()
    cooperative.poll()

    assert before == ["t-0", "t-1"]
    assert eager.callbacks == [("revoked", ["t-0", "t-1"])]
    assert cooperative.callbacks == [("revoked", ["t-0"])]


def test_partitions_of_a_dropped_topic_deliver_nothing_from_the_subscribe_call_on():  # 23
    topics = {"t": [1], "u": [1]}
    talk = Talk(
        settings={"enable.auto.commit": True},
        topics=topics,
        assignment=["t-0"],
        committed={"t-0": 0},
    ).joins("t", "u")
    talk.produce("t-0", 5)
    talk.held.add("OffsetCommit")

    talk.call("subscribe", topics=["u"])

    assert talk.poll(100) is ...
    talk.advance(100)
    assert talk.outcome() is None
    assert talk.positions == {"t-0": 0}


def test_an_assignment_of_a_topic_dropped_meanwhile_is_ignored_and_joined_for_again():  # 24
    talk = Talk(settings=BY_HAND, topics={"t": [1], "u": [1]}, assignment=["u-0"])
    talk.held.add("SyncGroup")
    talk.call("subscribe", topics=["t", "u"])
    for _ in range(5):
        talk.poll()
    talk.call("subscribe", topics=["t"])
    talk.forget()

    talk.release("SyncGroup")
    talk.poll()

    assert talk.callbacks == [("revoked", [])]
    assert talk.sent_apis() == ["JoinGroup"]
    assert talk.assigned == []


def test_a_pattern_subscriber_rejoins_when_a_matching_topic_appears_though_it_only_follows():  # 25
    talk = Talk(settings=BY_HAND | {"metadata.max.age.ms": 1_000})
    talk.call("subscribe_pattern", pattern="t.*")
    for _ in range(8):
        talk.poll()
    talk.forget()

    talk.topics["t2"] = [1]
    talk.advance(1_200)
    talk.poll(500)
    talk.advance(500)

    assert talk.sent("JoinGroup")[0]["protocols"][0]["topics"] == ["t", "t2"]


def test_more_partitions_make_a_leader_rejoin_but_not_a_follower():  # 26
    follower = Talk(settings=BY_HAND | {"metadata.max.age.ms": 1_000}).joins()
    leader = Talk(settings=BY_HAND | {"metadata.max.age.ms": 1_000}, is_leader=True).joins()

    for talk in (follower, leader):
        talk.topics["t"] = [1, 1, 1]
        talk.advance(1_200)
        talk.poll(500)
        talk.advance(500)

    assert follower.sent("JoinGroup") == []
    assert leader.sent("JoinGroup")[0]["reason"] == "cached metadata has changed"


def test_a_leader_that_becomes_a_follower_stops_watching_once_its_join_is_complete():  # 27
    talk = Talk(settings=BY_HAND | {"metadata.max.age.ms": 1_000}, is_leader=True).joins()
    talk.is_leader = False
    talk.rebalances()
    for _ in range(6):
        talk.poll()
    talk.forget()

    talk.topics["t"] = [1, 1, 1]
    talk.advance(1_200)
    talk.poll(500)
    talk.advance(500)

    assert talk.sent("JoinGroup") == []


def test_a_returning_static_leader_told_to_skip_assigns_nothing_and_goes_on_watching():  # 28
    talk = Talk(settings=BY_HAND | STATIC | {"metadata.max.age.ms": 1_000})
    me = {"member_id": "m1", "topics": ["t"], "owned": [], "generation": -1}
    talk.answers["JoinGroup"] = [
        {
            "error": "NONE",
            "member_id": "m1",
            "generation": 1,
            "protocol": "range",
            "leader": "m1",
            "members": [me],
            "skip_assignment": True,
        }
    ]
    talk.joins()

    talk.topics["t"] = [1, 1, 1]
    talk.advance(1_200)
    talk.poll(500)
    talk.advance(500)

    assert talk.sent("JoinGroup")[0]["reason"] == "cached metadata has changed"


def test_an_unknown_topic_is_asked_for_about_every_second_until_the_leader_sees_it():  # 29
    talk = Talk(settings=BY_HAND, epochs={"t": [1, 1]}, is_leader=True)
    talk.joins("t", "soon")
    talk.poll(20_000)
    talk.advance(10_000)
    talk.forget()

    talk.advance(5_000)
    asked = len(talk.sent("Metadata"))
    talk.topics["soon"] = [1]
    talk.advance(1_500)

    assert 4 <= asked <= 6
    assert talk.sent("JoinGroup")[0]["reason"] == "cached metadata has changed"


def test_without_a_retry_backoff_heartbeats_leave_only_when_a_poll_notifies():  # 30
    talk = Talk(settings=BY_HAND | {"retry.backoff.ms": 0}).joins()

    talk.advance(20_000)
    idle = talk.sent("Heartbeat")
    talk.poll()

    assert idle == []
    assert len(talk.sent("Heartbeat")) == 1
