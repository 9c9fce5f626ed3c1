"""What ghosts do to a group, and what the group does about it."""

from __future__ import annotations

import pytest

from simulation.events import Row
from simulation.ghosts import GhostPlan, haunt
from simulation.world import Simulation


def a_haunted_group(*steps: tuple[int, str], consumers: tuple[str, ...] = ("ada", "bea")):
    """A group at rest long before 10 s, and a ghost that takes these steps."""
    sim = Simulation(seed=2)
    sim.topic("orders", partitions=2)
    settings = {"session_timeout_ms": 10_000, "max_poll_interval_ms": 20_000}
    sim.consumers("checkout", *consumers, topics=["orders"], settings=settings)
    haunt(sim, GhostPlan(name="ghost", group="checkout", topic="orders", steps=steps))
    sim.run_for("2m")
    return sim


def of_kind(sim: Simulation, kind: str) -> list[Row]:
    return [row for row in sim.events if row.kind == kind]


def test_a_ghost_that_joins_and_says_no_more_is_put_out():
    sim = a_haunted_group((10_000, "join"), (10_200, "join"))

    removed = [row.client for row in of_kind(sim, "member_removed")]
    assert removed == ["ghost"]
    assert sim.is_stable("checkout")


def test_a_ghost_that_leads_gives_nothing_to_anybody_until_it_is_gone():
    sim = a_haunted_group((0, "join"), (4, "join"), (6_500, "sync"), consumers=("ada",))

    stable, *_ = [row for row in sim.events if row.state == "Stable"]
    (gone,) = of_kind(sim, "member_removed")
    first, *_ = of_kind(sim, "partition_assigned")
    assert (gone.client, first.client) == ("ghost", "ada")
    assert stable.seq < gone.seq < first.seq


def test_a_ghost_can_put_the_leader_out_which_then_comes_back():
    sim = a_haunted_group((10_000, "kick"))

    removed = of_kind(sim, "member_removed")
    assert [row.detail for row in removed] == ["it left; client reason: kicked"]
    assert sim.is_stable("checkout")


@pytest.mark.parametrize(
    ("verb", "error"),
    [("commit as nobody", "UNKNOWN_MEMBER_ID"), ("commit of long ago", "ILLEGAL_GENERATION")],
)
def test_the_commit_of_a_ghost_is_refused(verb, error):
    sim = a_haunted_group((10_000, "join"), (10_200, "join"), (14_000, verb))

    assert [row.error for row in of_kind(sim, "commit_refused")] == [error]


def test_a_group_without_members_takes_a_commit_from_nobody():
    sim = a_haunted_group((10_000, "commit as nobody"), consumers=())

    assert [row.offset for row in of_kind(sim, "offset_committed")] == [0]


def test_beats_and_a_leave_of_a_ghost_are_answered():
    sim = a_haunted_group(
        *((10_000, "join"), (10_200, "join"), (14_000, "heartbeat"), (15_000, "leave"))
    )

    replies = [row for row in of_kind(sim, "reply_received") if row.client == "ghost"]
    assert [row.request for row in replies] == ["JoinGroup", "JoinGroup", "Heartbeat", "LeaveGroup"]
    assert sim.is_stable("checkout")
