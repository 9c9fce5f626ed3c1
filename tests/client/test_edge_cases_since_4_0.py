"""Edge cases that came with Kafka 4; the numbers are those of the facts."""

from __future__ import annotations

import pytest

from client.settings import consumer_config
from tests.client.talk import BY_HAND, Talk

STATIC = {"group.instance.id": "i1"}


def test_closing_without_leaving_commits_and_revokes_as_usual_but_sends_no_leave():  # 87
    talk = Talk(settings={"auto.commit.interval.ms": 60_000}, committed={"t-0": 0}).joins()

    talk.call("close", timeout_ms=1_000, operation="REMAIN_IN_GROUP")
    talk.advance(1_000)

    assert talk.order == ["OffsetCommit", "revoked"]
    assert talk.outcome() is None


def test_a_static_member_told_to_leave_names_its_member_id_alone():  # 88
    talk = Talk(settings=BY_HAND | STATIC).joins()

    talk.call("close", timeout_ms=1_000, operation="LEAVE_GROUP")

    (leave,) = talk.sent("LeaveGroup")
    assert leave["member_id"] == "m1"
    assert "group_instance_id" not in leave


def test_unsubscribing_and_the_poll_timeout_never_make_a_static_member_leave():  # 89
    unsubscribed = Talk(settings=BY_HAND | STATIC).joins()
    silent = Talk(settings=BY_HAND | STATIC | {"max.poll.interval.ms": 2_000}).joins()

    unsubscribed.call("unsubscribe")
    silent.advance(3_000)

    assert unsubscribed.sent("LeaveGroup") == []
    assert silent.sent("LeaveGroup") == []


def test_one_slow_partition_makes_the_others_of_its_broker_wait():  # 90
    talk = Talk(settings=BY_HAND | {"max.poll.records": 1}, committed={"t-0": 0, "t-1": 0}).joins()
    talk.produce("t-0", 3)
    talk.poll()
    talk.produce("t-1", 1)
    talk.forget()

    polls = [talk.poll(), talk.poll()]

    assert polls == [{"t-0": [1, 2]}, {"t-0": [2, 3]}]
    assert talk.sent("Fetch") == []


def test_by_duration_without_a_young_record_asks_again_after_each_request_timeout():  # 91
    talk = Talk(
        settings=BY_HAND | {"auto.offset.reset": "by_duration:PT1H", "request.timeout.ms": 2_000},
        assignment=["t-0"],
        answers={"ListOffsets": [{"offsets": {}}] * 4},
    ).joins()

    talk.poll(4_500)
    talk.advance(4_500)

    assert [request["at"] for request in talk.sent("ListOffsets")] == [2_000, 4_000]
    assert talk.positions == {"t-0": None}


@pytest.mark.parametrize("is_leader", [True, False])  # 92
def test_without_any_broker_the_client_bootstraps_anew_and_only_a_leader_rejoins(is_leader):
    talk = Talk(
        settings=BY_HAND | {"reconnect.backoff.ms": 5_000},
        is_leader=is_leader,
        committed={"t-0": 0, "t-1": 0},
    ).joins()
    for connection in ("b0", "b1"):
        talk.link(connection, "refuse")
        talk.disconnect(connection)
    talk.held.add("Metadata")

    talk.poll(8_000)
    talk.advance(4_000)
    generation = talk.membership.generation
    talk.release("Metadata")
    talk.advance(4_000)

    assert {request["to"] for request in talk.sent("Metadata")} == {"bootstrap"}
    assert generation.member_id == "m1"
    assert bool(talk.sent("JoinGroup")) is is_leader


def test_a_session_timeout_given_with_the_new_protocol_is_refused():  # 93
    with pytest.raises(ValueError, match="session_timeout_ms cannot be set with it"):
        consumer_config({"group.protocol": "consumer", "session.timeout.ms": "10000"})
