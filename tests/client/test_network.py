"""Connections, time-outs and metadata: the layer that Kafka calls NetworkClient."""

from __future__ import annotations

from itertools import pairwise

from client.outputs import ConnectionAttempted, ConnectionClosed
from tests.client.talk import BY_HAND, Talk

AT_ZERO = {"t-0": 0, "t-1": 0}


class Dice:
    """Chance that always falls on one side."""

    def __init__(self, jitter=1.0, pick=0):
        self._jitter, self._pick = jitter, pick

    def jitter(self):
        return self._jitter

    def pick(self, bound):
        return self._pick % bound


def attempts(talk, connection):
    return [
        fact.at_ms
        for fact in talk.facts
        if isinstance(fact, ConnectionAttempted) and fact.connection == connection
    ]


def test_a_refused_connection_is_tried_again_after_an_exponential_backoff():
    talk = Talk(settings=BY_HAND)
    talk.link("bootstrap", "refuse")
    talk.call("subscribe", topics=["t"])

    talk.poll(2_000)
    talk.advance(2_000)

    tried = attempts(talk, "bootstrap")
    gaps = [later - earlier for earlier, later in pairwise(tried)]
    assert gaps == sorted(gaps)
    assert gaps[0] >= 50


def test_a_hanging_connection_is_given_up_after_its_setup_timeout():
    talk = Talk(
        settings=BY_HAND
        | {
            "socket.connection.setup.timeout.ms": 1_000,
            "socket.connection.setup.timeout.max.ms": 1_000,
        }
    )
    talk.link("bootstrap", "hang")
    talk.call("subscribe", topics=["t"])

    talk.poll(3_000)
    talk.advance(3_000)

    closed = [fact.at_ms for fact in talk.facts if isinstance(fact, ConnectionClosed)]
    assert closed
    assert closed[0] > 1_000
    assert len(attempts(talk, "bootstrap")) > 1


def test_a_request_times_out_only_when_more_than_its_time_has_passed():
    talk = Talk(settings=BY_HAND | {"request.timeout.ms": 1_000}, committed=dict(AT_ZERO)).joins()
    talk.held.add("OffsetCommit")

    talk.call("commit_sync", offsets={"t-0": 1}, timeout_ms=5_000)
    talk.advance(1_000)
    at_the_limit = len(talk.sent("OffsetCommit"))
    talk.advance(2_000)

    assert at_the_limit == 1
    assert len(talk.sent("OffsetCommit")) > 1


def test_jitter_and_the_choice_among_equal_brokers_are_the_hosts():
    early = Talk(settings=BY_HAND, chance=Dice(jitter=0.8, pick=0))
    late = Talk(settings=BY_HAND, chance=Dice(jitter=1.2, pick=1))
    for talk in (early, late):
        talk.answers["FindCoordinator"] = [{"error": "COORDINATOR_NOT_AVAILABLE"}] * 2
        talk.call("subscribe", topics=["t"])
        talk.poll(2_000)
        talk.advance(2_000)

    times = [[request["at"] for request in talk.sent("FindCoordinator")] for talk in (early, late)]
    asked = [talk.sent("FindCoordinator")[1]["to"] for talk in (early, late)]
    assert times == [[0, 80, 240], [0, 120, 360]]
    assert asked == ["b0", "b1"]


def test_metadata_is_refreshed_when_it_has_grown_old():
    talk = Talk(settings=BY_HAND | {"metadata.max.age.ms": 5_000}, committed=dict(AT_ZERO)).joins()

    talk.poll(12_000)
    talk.advance(12_000)

    refreshed = [request["at"] for request in talk.sent("Metadata")]
    assert len(refreshed) == 2
    assert refreshed[0] >= 5_000


def test_a_failed_heartbeat_gives_the_heartbeat_thread_a_turn_at_once():
    # Kafka: failHeartbeat notifies the thread. The recorded conversations do not show it.
    talk = Talk(settings=BY_HAND, committed=dict(AT_ZERO)).joins()
    talk.answers["Heartbeat"] = [{"error": "NOT_COORDINATOR"}]
    talk.held.add("FindCoordinator")
    talk.poll(3_040)
    talk.advance(3_040)

    talk.advance(100)

    assert talk.sent("FindCoordinator")[0]["at"] == 3_000
