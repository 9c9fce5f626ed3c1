"""Random worlds: drawn, played under all checkers, made smaller, written down as scripts."""

from __future__ import annotations

import os
import shlex
import signal
from io import StringIO
from typing import Any

import pytest

from client.applications import CommitMode
from simulation import campaign
from simulation.campaign import Campaign, Failure, differ_of, fail_of, main
from simulation.ghosts import GHOST_VERBS
from simulation.hand_written import APPLICATIONS
from simulation.planned_faults import PAIRS
from simulation.quiet import Lulls
from simulation.random_worlds import draw_world
from simulation.recorder import MemorySink
from simulation.shrinking import shrink
from simulation.stage import Stage
from simulation.world_plans import ConsumerPlan, TopicPlan, World, play
from simulation.world_scripts import script_of

#: How many random worlds every run of the tests plays.
WORLDS = 300


def test_nothing_is_found_in_random_worlds():
    results = StringIO()

    Campaign(
        seeds=range(WORLDS), jobs=2, is_shrinking=False, results=results, talk=StringIO()
    ).run()

    assert results.getvalue() == ""


# --- drawing ---


def test_a_seed_always_draws_the_same_world():
    assert draw_world(11) == draw_world(11)


def test_another_seed_draws_another_world():
    assert draw_world(11) != draw_world(12)


WORLDS_DRAWN = [draw_world(seed) for seed in range(400)]


def test_worlds_are_of_all_sizes():
    assert {len(world.consumers) for world in WORLDS_DRAWN} == set(range(2, 13))
    assert {world.brokers for world in WORLDS_DRAWN} == {1, 2, 3}
    assert {len({plan.group for plan in world.consumers}) for world in WORLDS_DRAWN} == {1, 2, 3}


def test_consumers_are_as_different_as_they_should_be():
    plans = [plan for world in WORLDS_DRAWN for plan in world.consumers]

    assert {plan.is_static for plan in plans} == {True, False}
    assert {plan.commit for plan in plans} == set(CommitMode)
    assert {plan.application for plan in plans} == {"", *APPLICATIONS}
    assert {plan.pattern is None for plan in plans} == {True, False}
    assert {plan.stall is None for plan in plans} == {True, False}
    assert len({plan.settings["partition_assignment_strategy"] for plan in plans}) > 4


def test_everything_goes_wrong_in_some_world():
    assert {fault.verb for world in WORLDS_DRAWN for fault in world.faults} == set(PAIRS)
    assert {trap.verb for world in WORLDS_DRAWN for trap in world.traps} == {
        *("crash", "pause", "partition", "stop")
    }
    assert {act.verb for world in WORLDS_DRAWN for act in world.acts} == {
        *("move_coordinator", "reset_connections", "truncate"),
        *("add_partitions", "topic", "delete_topic"),
    }
    assert {
        verb for world in WORLDS_DRAWN for ghost in world.ghosts for _, verb in ghost.steps
    } == set(GHOST_VERBS)


@pytest.mark.parametrize("verb", ["slow", "partition", "hold"])
def test_some_links_are_disturbed_to_one_broker_and_some_to_all(verb):
    faults = [fault for world in WORLDS_DRAWN for fault in world.faults if fault.verb == verb]

    assert {len(fault.brokers) for fault in faults} == {0, 1}


def test_some_topics_are_dry_and_some_forget():
    topics = [topic for world in WORLDS_DRAWN for topic in world.topics]

    assert {topic.records_per_s for topic in topics} == {0, 1, 3}
    assert {topic.burst is None for topic in topics} == {True, False}
    assert {topic.retention_ms is None for topic in topics} == {True, False}


# --- scripts ---


@pytest.mark.parametrize("seed", range(40))
def test_a_script_makes_the_same_world_again(seed):
    script = script_of(draw_world(seed), "A world.").partition("failure = ")[0]

    assert run_script(script)["world"] == draw_world(seed)


@pytest.mark.parametrize("judge", ["fail_of", "differ_of"])
def test_a_script_plays_its_world_and_says_what_was_found(judge, capsys):
    run_script(script_of(a_small_world(), "A world.", judge))

    assert capsys.readouterr().out == "nothing was found\n"


def a_small_world() -> World:
    plan = ConsumerPlan(name="ada", group="checkout", topics=("orders",))
    return World(
        seed=3, brokers=1, topics=(TopicPlan(name="orders", partitions=1),), consumers=(plan,)
    )


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
    assert (small.acts, small.traps, small.ghosts) == ((), (), ())
    assert small.topics == (TopicPlan(name=small.topics[0].name, partitions=1),)
    assert [dict(plan.settings) for plan in small.consumers] == [{}]


def test_shrinking_gives_up_after_so_many_tries():
    world, client = a_world_with_a_crash()

    assert shrink(world, lambda world: has_a_crash_of(world, client), tries_max=0) == world


# --- the program ---


def crashes_are_failures(world: World, command: str | None = None) -> Failure | None:
    """A judge for tests, who plays nothing."""
    del command
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
    assert saved == sorted(f"world_{seed}.py" for seed in failed)
    first = (tmp_path / f"world_{failed[0]}.py").read_text(encoding="utf-8")
    assert first in results.getvalue()


def test_a_campaign_says_where_it_saves_what_fails(tmp_path):
    world, _ = a_world_with_a_crash()
    results = StringIO()

    Campaign(
        seeds=[world.seed],
        judge=crashes_are_failures,
        out=tmp_path,
        results=results,
        talk=StringIO(),
    ).run()

    assert f"  saved as {tmp_path / f'world_{world.seed}.py'}\n" in results.getvalue()


def test_the_program_s_help_says_where_scripts_are_saved_unless_told_otherwise(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])

    assert "where scripts are saved (failures)" in capsys.readouterr().out


def test_a_campaign_in_which_all_worlds_hold_ends_well_with_several_jobs():
    talk = StringIO()

    status = Campaign(seeds=range(12), jobs=2, judge=nothing_fails, talk=talk).run()

    assert (status, talk.getvalue()) == (0, "\r10/12 worlds, 0 failed\r12 worlds, 0 failed\n")


def nothing_fails(_world: World) -> Failure | None:
    return None


def interrupts(_world: World) -> Failure | None:
    raise KeyboardInterrupt


def is_asked_to_end(_world: World) -> Failure | None:
    os.kill(os.getpid(), signal.SIGTERM)
    return None


def test_a_campaign_that_is_asked_to_end_ends_as_if_interrupted(monkeypatch, tmp_path, capsys):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(campaign, "fail_of", is_asked_to_end)

    status = main(["--worlds", "5", "--out", str(tmp_path)])

    assert (status, signal.getsignal(signal.SIGTERM)) == (130, before)
    assert "interrupted: 0 worlds" in capsys.readouterr().err


def test_a_campaign_that_is_interrupted_says_so_and_no_more():
    talk = StringIO()

    assert Campaign(seeds=range(5), judge=interrupts, talk=talk).run() == 130
    assert talk.getvalue() == "\ninterrupted: 0 worlds, 0 failed\n"


def test_the_program_refuses_less_than_one_world(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--worlds", "0"])

    assert stopped.value.code == 2
    assert "--worlds must be at least 1, not 0" in capsys.readouterr().err


def test_the_seed_of_a_campaign_is_not_negative(capsys):
    with pytest.raises(SystemExit):
        main(["--seed", "-1"])

    assert "--seed must be at least 0, not -1" in capsys.readouterr().err


def test_a_world_that_raises_is_a_failure_with_its_seed_and_command():
    world = draw_world(5)
    broken = World(seed=5, brokers=1, topics=world.topics, consumers=world.consumers * 2)

    failure = fail_of(broken)

    assert failure is not None
    assert failure.kind == "ValueError in world._require_new"
    assert failure.told.endswith(
        "seed 5; to repeat it: python -m simulation.campaign --worlds 1 --seed 5"
    )


# --- both ways ---


def no_beat_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_add_beats", lambda *_: None)


def quiet_time_cannot_be_played(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = Stage.settle

    def raises(self: Stage) -> None:
        if self.lulls is None:
            raise RuntimeError("planted")
        settle(self)

    monkeypatch.setattr(Stage, "settle", raises)


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (no_beat_is_told, "skipping and playing quiet time differ"),
        (quiet_time_cannot_be_played, "RuntimeError in test_campaign.raises"),
    ],
    ids=["rows that differ", "an exception"],
)
def test_what_differs_both_ways_is_told_with_the_command_that_gives_it_again(
    plant, words, monkeypatch, tmp_path, capsys
):
    plant(monkeypatch)
    failure = differ_of(draw_world(0))
    assert failure is not None
    command = failure.told.rpartition("to repeat it: python -m simulation.campaign ")[2]

    status = main([*shlex.split(command), "--no-shrink", "--out", str(tmp_path)])

    assert (status, failure.kind) == (1, words)
    assert failure.told in capsys.readouterr().out
