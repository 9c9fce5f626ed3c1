"""A consumer at rest whose view of the cluster expires: it asks, and goes on as before."""

from __future__ import annotations

from typing import Any

import pytest

from client.messages import MetadataRequest
from client.outputs import ConnectionClosed, RequestSent
from client.resting import Rest
from client.timers import LONG_AGO
from coordinator.protocol import HeartbeatRequest
from tests.client.talk import Talk
from tests.client.test_pulse import a_beating, a_committing, beats_until, commit

AGE = {"metadata.max.age.ms": 20_000}


def expires_ms(talk: Talk) -> int:
    return talk.consumer.calls.metadata.expires_ms


def looks(talk: Talk) -> None:
    """Let the view expire, and hold the answer back."""
    talk.held.add("Metadata")
    talk.advance(expires_ms(talk) - talk.now_ms)


def kinds_sent(talk: Talk, at_ms: int) -> list[type]:
    told = talk.consumer.on_time(at_ms)
    return [type(fact.request) for fact in told if type(fact) is RequestSent]


def a_watching(**settings: object) -> Talk:
    """A member at rest that has beaten up to two seconds before its view expires."""
    talk: Talk = a_beating(**AGE, **settings)
    beats_until(talk, *range(6_000, expires_ms(talk), 3_000))
    return talk


def test_metadata_is_looked_at_when_the_view_has_expired():
    talk = a_watching()

    assert kinds_sent(talk, expires_ms(talk)) == [MetadataRequest]


def test_heartbeats_leave_by_themselves_while_the_cluster_is_looked_at():
    talk = a_watching()
    beat = talk.consumer.pulse.beats.request
    looks(talk)

    pulse = talk.consumer.pulse

    assert pulse.leave(pulse.beats, pulse.beats.at_ms) is not None
    assert pulse.beats.request is beat


def test_heartbeats_leave_by_themselves_after_the_cluster_was_seen_as_it_was():
    talk = a_watching()
    beat = talk.consumer.pulse.beats.request
    looks(talk)

    talk.release("Metadata")
    pulse = talk.consumer.pulse

    assert pulse.leave(pulse.beats, pulse.beats.at_ms) is not None
    assert pulse.beats.request is beat


def test_a_look_that_is_due_with_a_heartbeat_leaves_with_it():
    talk = a_watching()
    metadata, beat_ms = talk.consumer.calls.metadata, talk.membership.heartbeat.beat_at_ms
    talk.consumer.threads.disturb()
    metadata.expires_ms = beat_ms

    assert set(kinds_sent(talk, beat_ms)) == {MetadataRequest, HeartbeatRequest}


def test_a_client_that_would_soon_begin_anew_looks_the_long_way():
    talk = a_watching(**{"metadata.recovery.rebootstrap.trigger.ms": 1_000})

    looks(talk)

    assert talk.consumer.pulse.until_ms == LONG_AGO


def a_watching_that_can_ask_nobody() -> Talk:
    talk = a_watching()
    network = talk.consumer.calls.client.network
    for node in talk.consumer.calls.metadata.nodes:
        if network.can_send(node.connection):
            network.states.disconnected(node.connection, talk.now_ms)
    return talk


def test_a_client_that_can_ask_nobody_at_once_connects_first():
    talk = a_watching_that_can_ask_nobody()

    told = talk.consumer.on_time(expires_ms(talk))

    assert "ConnectionAttempted" in [type(fact).__name__ for fact in told]


def test_a_client_that_can_reach_nobody_waits_before_it_tries_again():
    talk = a_watching_that_can_ask_nobody()
    for node in talk.consumer.calls.metadata.nodes:
        talk.link(node.connection, "refuse")

    talk.consumer.on_time(expires_ms(talk))

    assert talk.consumer.next_wakeup_ms > expires_ms(talk)


def test_a_view_that_somebody_wants_to_be_newer_lets_nothing_leave_by_itself():
    talk = a_watching()

    talk.consumer.calls.metadata.request_update()

    assert talk.consumer.calls.metadata.undecided_from_ms(talk.now_ms) == LONG_AGO


def test_where_back_offs_are_longer_than_the_view_lasts_draws_decide():
    talk = Talk(settings={"metadata.max.age.ms": 1_500}).joins()
    metadata = talk.consumer.calls.metadata

    assert metadata.undecided_from_ms(metadata.last_refresh_ms) == metadata.fresh_until_ms


def test_a_commit_that_was_said_is_said_again_after_a_look():
    talk = a_committing(**{"metadata.max.age.ms": 16_000})
    beats_until(talk, 9_000, 12_000)
    said = commit(talk, 14_000).request
    beats_until(talk, 15_000)
    looks(talk)
    talk.release("Metadata")

    commits = talk.consumer.pulse.commits

    assert (commits.request, commits.at_ms) == (said, 21_000)
    assert commits.request is said


def test_a_commit_is_not_said_again_behind_one_by_hand():
    talk = a_committing()
    first = commit(talk, 14_000).request
    talk.wakeup()
    talk.held.discard("OffsetCommit")
    talk.call("commit_sync", offsets={"t-0": 5})
    talk.held.add("OffsetCommit")

    is_to_be_said = talk.consumer.calls.group.commits.is_to_be_said(first)

    assert not is_to_be_said


def what_is_told(settings: dict[str, Any], held: set[str]) -> list[str]:
    talk = Talk(settings=settings, committed={"t-0": 0, "t-1": 0}).joins()
    talk.held |= held
    talk.poll(60_000)
    talk.advance(50_000)
    closed = [fact for fact in talk.facts if isinstance(fact, ConnectionClosed)]
    ends = [f"{each.at_ms}: closed for {type(each.overdue).__name__}" for each in closed]
    return [str(output) for output in talk.outputs] + ends


@pytest.mark.parametrize("age_ms", [1_500, 2_500, 4_100, 5_000, 6_000, 7_900])
@pytest.mark.parametrize("auto", [False, True])
def test_a_consumer_tells_the_same_of_its_looks_on_the_long_way(age_ms, auto, monkeypatch):
    settings: dict[str, Any] = {"metadata.max.age.ms": age_ms, "enable.auto.commit": auto}
    told = what_is_told(settings, set())

    monkeypatch.setattr(Rest, "_is_calm", lambda *_: False)

    assert what_is_told(settings, set()) == told


@pytest.mark.parametrize("held", ["Metadata", "Heartbeat", "OffsetCommit"])
def test_a_consumer_tells_the_same_of_what_is_overdue_on_the_long_way(held, monkeypatch):
    patience = {"request.timeout.ms": 5_500, "default.api.timeout.ms": 5_500}
    settings = {"metadata.max.age.ms": 7_900, **patience}
    told = what_is_told(settings, {held})

    monkeypatch.setattr(Rest, "_is_calm", lambda *_: False)

    assert f"closed for {held}Request" in told[-1]
    assert what_is_told(settings, {held}) == told
