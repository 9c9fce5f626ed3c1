"""Random worlds: drawn, played under all checkers, made smaller, written down as scripts."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from simulation.campaign import Campaign, Failure, fail_of, main
from simulation.random_worlds import World, draw_world, play
from simulation.recorder import MemorySink
from simulation.shrinking import shrink
from simulation.world_scripts import script_of

#: As many as fit into some twenty seconds.
WORLDS = range(12)


@pytest.mark.parametrize("seed", WORLDS)
def test_nothing_is_found_in_the_world_of_seed(seed):
    assert fail_of(draw_world(seed)) is None


# --- drawing ---


def test_a_seed_always_draws_the_same_world():
    assert draw_world(11) == draw_world(11)


def test_another_seed_draws_another_world():
    assert draw_world(11) != draw_world(12)


def test_worlds_are_as_different_as_they_should_be():
    worlds = [draw_world(seed) for seed in range(400)]

    plans = [plan for world in worlds for plan in world.consumers]
    assert {len(world.consumers) for world in worlds} == set(range(2, 13))
    assert len({plan.group for plan in plans}) == 3
    assert {plan.is_static for plan in plans} == {True, False}
    assert len({plan.commit for plan in plans}) == 5
    assert len({plan.settings["partition_assignment_strategy"] for plan in plans}) >= 5
    assert {fault.verb for world in worlds for fault in world.faults} == {
        *("crash", "stop", "pause", "partition", "hold", "slow"),
        *("fail_append", "slow_append", "crash_broker"),
    }
    assert {act.verb for world in worlds for act in world.acts} == {
        *("move_coordinator", "reset_connections", "add_partitions", "topic", "delete_topic"),
    }


# --- scripts ---


def test_a_script_makes_the_same_world_and_plays_it():
    world = draw_world(3)

    names = run_script(script_of(world, "A world."))

    assert names["world"] == world
    assert names["watch"].violations == ()


def run_script(script: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__file__": "world.py"}
    exec(compile(script, "world.py", "exec"), names)  # noqa: S102 (a script of our own making)
    return names


def test_a_world_that_is_played_twice_gives_the_same_rows():
    first, second = MemorySink(), MemorySink()

    play(draw_world(3), sink=first)
    play(draw_world(3), sink=second)

    assert first.rows == second.rows


# --- shrinking ---


def has_a_crash_of(world: World, client: str) -> bool:
    return any((fault.verb, fault.target) == ("crash", client) for fault in world.faults)


def a_world_with_a_crash() -> tuple[World, str]:
    for seed in range(100):
        world = draw_world(seed)
        for plan in world.consumers:
            if has_a_crash_of(world, plan.name):
                return world, plan.name
    raise AssertionError("no world of a hundred has a crash")


def test_shrinking_leaves_what_the_failure_needs_and_little_else():
    world, client = a_world_with_a_crash()

    small = shrink(world, lambda world: has_a_crash_of(world, client))

    assert [plan.name for plan in small.consumers] == [client]
    assert [(fault.verb, fault.lasts) for fault in small.faults] == [("crash", 1)]
    assert small.acts == ()
    assert [(topic.partitions, topic.records_per_s) for topic in small.topics] == [(1, 0)]


def test_shrinking_gives_up_after_so_many_tries():
    world, client = a_world_with_a_crash()

    assert shrink(world, lambda world: has_a_crash_of(world, client), tries_max=0) == world


# --- the program ---


def crashes_are_failures(world: World) -> Failure | None:
    """A judge for tests, who plays nothing."""
    if not any(fault.verb == "crash" for fault in world.faults):
        return None
    return Failure(seed=world.seed, kind="Crash", told=f"world {world.seed} has a crash")


def test_a_campaign_prints_saves_and_counts_what_fails(tmp_path):
    seeds = range(40)
    results, talk = StringIO(), StringIO()
    campaign = Campaign(
        seeds=seeds, judge=crashes_are_failures, out=tmp_path, results=results, talk=talk
    )

    status = campaign.run()

    failed = [seed for seed in seeds if crashes_are_failures(draw_world(seed))]
    assert status == 1
    assert talk.getvalue().endswith(f"40 worlds, {len(failed)} failed\n")
    assert all(f"world {seed} has a crash" in results.getvalue() for seed in failed)
    saved = sorted(path.name for path in tmp_path.iterdir())
    assert saved == sorted(f"world_{seed}.py" for seed in failed[:2])
    assert (tmp_path / saved[0]).read_text(encoding="utf-8") in results.getvalue()


def test_a_campaign_in_which_all_worlds_hold_ends_well_with_several_jobs():
    talk = StringIO()

    status = Campaign(seeds=range(12), jobs=2, judge=nothing_fails, talk=talk).run()

    assert (status, talk.getvalue()) == (0, "\r10/12 worlds, 0 failed\r12 worlds, 0 failed\n")


def nothing_fails(_world: World) -> Failure | None:
    return None


def interrupts(_world: World) -> Failure | None:
    raise KeyboardInterrupt


def test_a_campaign_that_is_interrupted_says_so_and_no_more():
    talk = StringIO()

    assert Campaign(seeds=range(5), judge=interrupts, talk=talk).run() == 130
    assert talk.getvalue() == "\ninterrupted\n"


def test_the_program_refuses_less_than_one_world(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--worlds", "0"])

    assert stopped.value.code == 2
    assert "--worlds must be at least 1, not 0" in capsys.readouterr().err


def test_a_world_that_raises_is_a_failure_with_its_seed_and_command():
    world = draw_world(5)
    broken = World(seed=5, brokers=1, topics=world.topics, consumers=world.consumers * 2)

    failure = fail_of(broken)

    assert failure is not None
    assert failure.kind == "ValueError in world.consumer"
    assert failure.told.endswith(
        "seed 5; to repeat it: python -m simulation.campaign --worlds 1 --seed 5"
    )
