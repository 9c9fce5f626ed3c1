"""A plain heartbeat or commit that is taken in one go comes to what the handlers come to."""

from __future__ import annotations

import pytest

from coordinator import GroupCoordinator
from coordinator.cluster import ClusterView, Topic
from coordinator.protocol import HeartbeatRequest
from coordinator.standing import Standing
from tests.support.builders import a_broker, a_stable_group, begin_a_write
from tests.support.verbs import an_offset, commit_of

VIEW = ClusterView(topics={"t": Topic("t", 2, "id of t"), "u": Topic("u", 1, "id of u")})


def a_broker_with_a_commit():
    broker = a_broker(view=VIEW)
    ada, bea = a_stable_group(broker, "ada", "bea")
    broker.commits(ada)
    return broker, ada, bea


COMMITS = {
    "of a new position": lambda ada: commit_of(ada, an_offset(offset=7)),
    "of the same position": lambda ada: commit_of(ada, an_offset()),
    "of two topics": lambda ada: commit_of(ada, an_offset(partition=1), an_offset("u")),
    "in the oldest version": lambda ada: commit_of(ada, an_offset(), api_version=2),
}


@pytest.mark.parametrize("kind", COMMITS)
def test_a_plain_commit_is_the_same_by_both_ways(kind):
    broker, ada, _ = a_broker_with_a_commit()
    twin, request = broker.copy(), COMMITS[kind](ada)

    by_handlers = broker.commits(ada, *request.topics, api_version=request.api_version).response
    at_once = twin.machine.commit_at_once(request, twin.now_ms)

    assert at_once.response == by_handlers
    assert at_once.records == tuple(broker.logs[0][-len(at_once.records) :])
    assert at_once.session.at_ms == broker.session_ends_ms(ada)
    assert twin.machine.snapshot() == broker.machine.snapshot()


@pytest.mark.parametrize("kind", COMMITS)
def test_a_commit_is_news_if_any_position_in_it_is(kind):
    broker, ada, _ = a_broker_with_a_commit()
    request = COMMITS[kind](ada)

    first = broker.machine.commit_at_once(request, broker.now_ms)
    second = broker.machine.commit_at_once(request, broker.now_ms)

    assert first.is_news == (kind in ("of a new position", "of two topics"))
    assert not second.is_news


def standing_of(broker, request):
    """A commit that has been taken once."""
    committed = broker.machine.commit_at_once(request, broker.now_ms)
    return Standing(request, committed.records, committed.response, broker.now_ms)


@pytest.mark.parametrize("kind", COMMITS)
def test_a_commit_that_is_sent_again_comes_to_what_it_came_to_before(kind):
    broker, ada, _ = a_broker_with_a_commit()
    request = COMMITS[kind](ada)
    standing = standing_of(broker, request)
    twin = broker.copy()

    again = [broker.machine.commit_again(standing, broker.now_ms + more) for more in (5, 9)]
    twins = [twin.machine.commit_at_once(request, broker.now_ms + more) for more in (5, 9)]

    assert again == [committed.session for committed in twins]
    assert standing.renewed() == twins[-1].records
    assert broker.machine.snapshot() == twin.machine.snapshot()


CHANGES = {
    "another has committed": lambda broker, ada, _: broker.commits(ada, an_offset(offset=9)),
    "all have joined": lambda broker, *members: [broker.joins(member) for member in members],
    "a write is under way": lambda broker, *_: begin_a_write(broker),
    "it has left": lambda broker, ada, _: broker.leaves(ada),
    "the topic is gone": lambda broker, *_: see(broker, {}),
    "the topic is another": lambda broker, *_: see(broker, {"t": Topic("t", 2, "another id")}),
}


def see(broker, topics):
    broker.machine.view = ClusterView(topics=topics)


def after_a_change(change, times):
    """A broker that took a commit so often again, and then something has happened."""
    broker, ada, bea = a_broker_with_a_commit()
    standing = standing_of(broker, commit_of(ada, an_offset()))
    for _ in range(times):
        broker.machine.commit_again(standing, broker.now_ms)
    CHANGES[change](broker, ada, bea)
    return broker, standing


@pytest.mark.parametrize("times", range(3))
@pytest.mark.parametrize("change", CHANGES)
def test_a_commit_that_is_sent_again_is_left_to_the_handlers_once(change, times):
    broker, standing = after_a_change(change, times)
    untouched, _ = after_a_change(change, times)

    assert broker.machine.commit_again(standing, broker.now_ms) is None
    assert broker.machine.snapshot() == untouched.machine.snapshot()


def test_of_two_commits_of_the_same_position_the_later_counts():
    broker, ada, bea = a_broker_with_a_commit()
    first, second = (standing_of(broker, commit_of(each, an_offset())) for each in (ada, bea))

    taken = [broker.machine.commit_again(each, broker.now_ms + 5) for each in (second, first)]

    assert [session is None for session in taken] == [False, True]
    assert broker.machine.commit_again(second, broker.now_ms + 9) is not None
    (value,) = broker.machine.slots[0].shard.offsets["g"].values()
    assert value.commit_timestamp_ms == broker.now_ms + 9


def test_a_commit_that_stands_is_kept_anew_by_a_shard_that_was_loaded_since():
    broker, ada, _ = a_broker_with_a_commit()
    standing = standing_of(broker, commit_of(ada, an_offset()))
    broker.machine.commit_again(standing, broker.now_ms)
    broker.logs[0] += standing.renewed()
    broker.unload(0)
    broker.load(0)

    broker.machine.commit_again(standing, broker.now_ms + 5)

    (value,) = broker.machine.slots[0].shard.offsets["g"].values()
    assert value.commit_timestamp_ms == broker.now_ms + 5


OTHERS = {
    "with metadata": lambda ada: commit_of(ada, an_offset(metadata="m")),
    "with a time to live": lambda ada: commit_of(ada, retention_time_ms=5, api_version=2),
    "of an unknown topic": lambda ada: commit_of(ada, an_offset("absent")),
    "of an unknown partition": lambda ada: commit_of(ada, an_offset("t", 2)),
    "of a topic named twice": lambda ada: commit_of(ada, an_offset("t", 0), an_offset("t", 1)),
    "of nothing": lambda ada: commit_of(ada, topics=()),
    "by topic id": lambda ada: commit_of(ada, api_version=10),
    "of a past generation": lambda ada: commit_of(ada, generation_id=0),
    "of a stranger": lambda ada: commit_of(ada, member_id="stranger"),
    "of somebody else's instance": lambda ada: commit_of(ada, group_instance_id="i"),
    "of nobody": lambda _: commit_of(None),
    "of another group": lambda ada: commit_of(ada, group_id="absent"),
    "without a group": lambda ada: commit_of(ada, group_id=None),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_commit_is_left_to_the_handlers_that_is(kind):
    broker, ada, _ = a_broker_with_a_commit()
    before = broker.machine.snapshot()

    assert broker.machine.commit_at_once(OTHERS[kind](ada), broker.now_ms) is None
    assert broker.machine.snapshot() == before


def test_a_commit_waits_with_everybody_else_while_a_write_is_under_way():
    broker, ada, _ = a_broker_with_a_commit()
    begin_a_write(broker)

    assert broker.machine.commit_at_once(commit_of(ada), broker.now_ms) is None


def test_a_commit_between_join_and_sync_is_left_to_the_handlers():
    broker, ada, bea = a_broker_with_a_commit()
    broker.joins(ada)
    broker.joins(bea)

    assert broker.machine.commit_at_once(commit_of(ada), broker.now_ms) is None


def test_a_machine_that_does_not_know_its_cluster_leaves_every_commit_to_the_handlers():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.commits(ada)

    assert broker.machine.commit_at_once(commit_of(ada), broker.now_ms) is None


def test_a_stored_position_has_the_id_of_its_topic():
    broker, ada, _ = a_broker_with_a_commit()

    (record,) = broker.machine.commit_at_once(commit_of(ada), broker.now_ms).records

    assert record.value.topic_id == "id of t"


@pytest.mark.parametrize("is_rebalancing", [False, True])
def test_a_plain_heartbeat_is_the_same_by_both_ways(is_rebalancing, monkeypatch):
    broker, ada, bea = a_broker_with_a_commit()
    if is_rebalancing:
        broker.joins(bea)
    twin = broker.copy()
    beat = HeartbeatRequest(group_id="g", member_id=ada.member_id, generation_id=ada.generation_id)

    at_once = broker.machine.beat_at_once(beat, broker.now_ms + 5)
    monkeypatch.setattr(GroupCoordinator, "beat_at_once", lambda *_: None)
    by_handlers = twin.machine.on_request(beat, twin.now_ms + 5)

    assert [reply.response for reply in by_handlers.replies] == [at_once.response]
    assert by_handlers.timers == (at_once.session,)
    assert broker.machine.snapshot() == twin.machine.snapshot()


def test_a_heartbeat_waits_with_everybody_else_while_a_write_is_under_way():
    broker, ada, _ = a_broker_with_a_commit()
    begin_a_write(broker)

    assert broker.beats(ada).is_open
