"""A member that keeps what it owns hears four answers on its way through a rebalance.

Whatever comes between them, it says the same as by the rounds of its poll.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.following import Following
from client.listeners import RebalanceListener
from client.threads import Threads
from tests.client.talk import COOPERATIVE, RANGE, Talk

ON_THE_WAY = ("Heartbeat", "OffsetCommit", "JoinGroup", "SyncGroup")
LONG_MS = 600_000


class WhoeverMinds(RebalanceListener):
    """A listener that wants to hear of rebalances that bring nothing, too."""


class WhoeverDoesNot(RebalanceListener):
    """A listener that has nothing to do then."""

    ignores_none_assigned = True


class LooksLikeOne:
    """What has a listener's methods, and is none by its class."""

    def on_partitions_assigned(self, partitions):
        """Do nothing."""

    on_partitions_revoked = on_partitions_lost = on_partitions_assigned


def a_follower(settings=COOPERATIVE, listener=None):
    """A member whose poll waits, with a position of each partition."""
    talk = Talk(settings=settings, committed={"t-0": 0, "t-1": 0}).joins()
    talk.consumer.calls.subscriptions.listener = listener
    talk.held |= {"Fetch", *ON_THE_WAY}
    talk.poll(LONG_MS)
    return talk


def rebalance(talk, between=lambda _api: None):
    """Let the member hear of a rebalance, and go through it, with this before each answer."""
    talk.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]
    talk.held |= set(ON_THE_WAY)
    for api in ON_THE_WAY:
        between(api)
        talk.release(api)
    talk.advance(4_000)


@pytest.fixture
def rounds(monkeypatch):
    """When the poll was resumed."""
    resumed_ms = []
    resume = Threads._run_application

    def note(threads):
        resumed_ms.append(threads.clock.now_ms)
        resume(threads)

    monkeypatch.setattr(Threads, "_run_application", note)
    return resumed_ms


def test_a_member_goes_through_a_rebalance_without_a_round_of_its_poll(rounds):
    talk = a_follower()
    talk.advance(3_000)
    rounds.clear()

    rebalance(talk)

    assert talk.membership.generation.generation_id == 2
    assert rounds == []


@pytest.mark.parametrize("listener", [WhoeverMinds, LooksLikeOne])
def test_a_listener_that_minds_is_called_by_the_rounds(listener, rounds):
    talk = a_follower(listener=listener())
    talk.advance(3_000)
    rounds.clear()

    rebalance(talk)

    assert rounds != []


# --- the same as by the rounds --------------------------------------------------------------------


def _pass(talk, by_ms):
    talk.advance(by_ms)


def _stall(talk, for_ms):
    talk.consumer.threads.stall_at(talk.now_ms + 10, for_ms)


def _stall_now(talk, for_ms):
    talk.consumer.threads.stall_at(talk.now_ms, for_ms)


def _produce(talk, count):
    talk.produce("t-0", count)
    talk.release("Fetch")
    talk.held.add("Fetch")


def _move_leader(talk, _):
    talk.topics["t"] = [0, 1]
    talk.consumer.calls.metadata.request_update()
    talk.advance(1)


def _add_partition(talk, _):
    talk.topics["t"] = [1, 1, 1]
    talk.consumer.calls.metadata.request_update()
    talk.advance(1)


def _lose(talk, _):
    talk.disconnect("c0")


def _lose_a_leader(talk, _):
    talk.disconnect("b1")


def _rejoin(talk, _):
    talk.consumer.calls.group.membership.request_rejoin("asked for")


REFUSED_WITH = {
    1: "REBALANCE_IN_PROGRESS",
    90: "UNKNOWN_MEMBER_ID",
    400: "ILLEGAL_GENERATION",
    1_100: "NOT_COORDINATOR",
    3_000: "COORDINATOR_LOAD_IN_PROGRESS",
}


def _refuse(talk, which):
    for api in ON_THE_WAY[1:]:
        talk.answers[api] = [{"error": REFUSED_WITH[which]}]


INCIDENTS = (
    *(_pass, _stall, _stall_now, _produce, _move_leader),
    *(_add_partition, _lose, _lose_a_leader, _rejoin, _refuse),
)

incidents = st.tuples(st.sampled_from(INCIDENTS), st.sampled_from((1, 90, 400, 1_100, 3_000)))
settings_of_members = st.fixed_dictionaries(
    {
        "auto.commit.interval.ms": st.sampled_from((150, 1_000, 5_000)),
        "heartbeat.interval.ms": st.sampled_from((500, 3_000)),
        "retry.backoff.ms": st.sampled_from((50, 100, 700)),
        "metadata.max.age.ms": st.sampled_from((1_300, 300_000)),
        "partition.assignment.strategy": st.sampled_from(
            (*COOPERATIVE.values(), *RANGE.values(), ["cooperative-sticky", "range"])
        ),
    }
)


def what_is_said(settings, listener, *plans):
    """By a member that goes through rebalances with these incidents before their answers."""
    talk = a_follower(settings, listener())
    for plan in plans:
        before = dict(zip(ON_THE_WAY, plan, strict=True))

        def between(api, before=before):
            if before[api] is not None:
                what, how_much = before[api]
                what(talk, how_much)
            talk.advance(5)

        talk.advance(3_000)
        rebalance(talk, between)
    talk.advance(7_000)
    told = [repr(fact) for fact in talk.facts]  # Two errors of the same kind are not equal.
    return told, talk.consumer.next_wakeup_ms, talk.positions, talk.assigned


@given(
    settings=settings_of_members,
    listener=st.sampled_from((lambda: None, WhoeverMinds, WhoeverDoesNot)),
    plans=st.lists(st.tuples(*[st.none() | incidents] * len(ON_THE_WAY)), min_size=1, max_size=3),
)
def test_a_member_says_the_same_by_the_rounds_of_its_poll(settings, listener, plans):
    said = what_is_said(settings, listener, *plans)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Following, "hear", lambda *_: False)

        assert what_is_said(settings, listener, *plans) == said
