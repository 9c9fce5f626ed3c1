"""Skipping quiet time gives the same rows as playing it, and a mistake in it would be noticed."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from attrs import evolve

from client.applications import CommitMode
from client.calls import AsyncConsumer
from client.consumer import UnknownRequest
from simulation.broker import Broker
from simulation.campaign import Campaign, differ_of, fail_of, rows_of
from simulation.chance import Law
from simulation.events import Row
from simulation.lull import Exchange, Jump, Lull
from simulation.offsets_log import LogTrouble
from simulation.quiet import Lulls
from simulation.random_worlds import draw_world
from simulation.recorder import NoSink
from simulation.stage import Quiet, Stage
from simulation.world import Fault, Simulation
from simulation.world_plans import Act, ConsumerPlan, TopicPlan, Trap, World

#: How many random worlds are played both ways.
WORLDS = 200
#: A mistake has to show within so many, from the first in which it is known to.
WORLDS_PER_MISTAKE = 10


def test_both_ways_give_the_same_rows():
    results = StringIO()

    Campaign(
        seeds=range(WORLDS),
        jobs=2,
        judge=differ_of,
        is_shrinking=False,
        results=results,
        talk=StringIO(),
    ).run()

    assert results.getvalue() == ""


@pytest.mark.parametrize("commit", [CommitMode.AUTO, CommitMode.SYNC])
def test_both_ways_agree_whenever_a_member_dies_after_it_had_records(commit):
    later_ms = range(0, 9_000, 450)

    failures = [differ_of(a_death_after_records(each, commit)) for each in later_ms]

    assert [failure.told for failure in failures if failure is not None] == []


@pytest.mark.parametrize("verb", ["slow_append", "fail_append"])
def test_both_ways_agree_while_the_log_is_in_trouble(verb):
    assert differ_of(a_log_in_trouble(verb)) is None


def a_death_after_records(later_ms: int, commit: CommitMode) -> World:
    return World(
        seed=later_ms,
        brokers=1,
        topics=(TopicPlan(name="orders", partitions=2),),
        consumers=(a_plan("ada", commit), a_plan("bea", commit)),
        acts=(Act(at_ms=20_000, verb="append", args=("orders", 1)),),
        faults=(Fault(verb="crash", target="ada", at=20_000 + later_ms, lasts=30_000),),
    )


def a_log_in_trouble(verb: str) -> World:
    return World(
        seed=1,
        brokers=1,
        topics=(TopicPlan(name="orders", partitions=2),),
        consumers=(a_plan("ada", CommitMode.AUTO), a_plan("bea", CommitMode.AUTO)),
        faults=(Fault(verb=verb, target="checkout", at=20_000, lasts=30_000),),
    )


def a_plan(name: str, commit: CommitMode) -> ConsumerPlan:
    settings = {"session_timeout_ms": 10_000, "enable_auto_commit": commit is CommitMode.AUTO}
    return ConsumerPlan(
        name=name, group="checkout", topics=("orders",), commit=commit, settings=settings
    )


def test_a_member_that_still_looks_for_a_position_is_not_left_alone():
    """A log without records has none that is young enough, so it is asked again and again."""
    world = World(
        seed=13,
        brokers=1,
        topics=(TopicPlan(name="orders", partitions=1),),
        consumers=(
            ConsumerPlan(
                name="ada",
                group="checkout",
                topics=("orders",),
                settings={"auto_offset_reset": "by_duration:PT20S", "enable_auto_commit": False},
            ),
        ),
    )

    assert differ_of(world) is None


def test_a_member_that_waits_to_reach_a_broker_again_is_not_left_alone():
    """Its attempts to connect are further and further apart; the next one is an event."""
    slow = {"heartbeat_interval_ms": 2_000, "fetch_max_wait_ms": 100, "enable_auto_commit": False}
    hasty = slow | {"session_timeout_ms": 6_000, "request_timeout_ms": 5_000}
    common = ConsumerPlan(name="bea", group="checkout", topics=("orders",))
    cut_off = Fault(
        verb="partition", target="cat", at=55_343, lasts=31_284, options={"one_way": "to_broker"}
    )
    world = World(
        seed=610,
        brokers=2,
        latency=(1, 4, 9, 40),
        initial_rebalance_delay_ms=0,
        topics=(TopicPlan(name="orders", partitions=8),),
        consumers=(
            common,
            evolve(
                common, name="cat", settings=hasty, assigned_callback_ms=300, starts_at_ms=23_107
            ),
            evolve(
                common,
                name="eva",
                settings=slow,
                commit=CommitMode.ASYNC,
                assigned_callback_ms=300,
                revoked_callback_ms=500,
            ),
        ),
        faults=(cut_off,),
        acts=(
            Act(
                at_ms=11_400, verb="move_coordinator", args=("checkout", 2), options={"load": 2_370}
            ),
        ),
    )

    assert differ_of(world) is None


def test_a_member_is_not_left_alone_whose_look_at_metadata_is_overdue():
    """All connections but that to the coordinator are gone: it waits for its back-off."""
    gus = ConsumerPlan(
        name="gus", group="audit", topics=("orders",), settings={"metadata_max_age_ms": 61_000}
    )
    world = World(
        seed=30_008_010,
        brokers=3,
        topics=(TopicPlan(name="orders", partitions=1),),
        consumers=(evolve(gus, name="eva", settings={}), gus),
        faults=(Fault(verb="partition", target="gus", brokers=(2,), at=59_147, lasts=1_901),),
    )

    assert fail_of(world) is None
    assert differ_of(world) is None


def test_a_leader_whose_topics_are_gone_is_not_left_alone_before_it_has_looked_again():
    """Its next look finds the same, but it no longer watches the topic that it had assigned."""
    watchful = {"max_poll_interval_ms": 60_000, "metadata_max_age_ms": 20_000}
    world = World(
        seed=90_128,
        brokers=1,
        topics=(TopicPlan(name="payments", partitions=1),),
        consumers=(
            ConsumerPlan(name="bea", group="checkout", pattern=".*"),
            ConsumerPlan(name="cat", group="billing", pattern=".*", settings=watchful),
        ),
        acts=(
            Act(at_ms=19_664, verb="delete_topic", args=("payments",)),
            Act(at_ms=25_561, verb="topic", args=("orders",), options={"partitions": 11}),
        ),
        traps=(
            Trap(
                kind="reply_received",
                request="SyncGroup",
                client="bea",
                nth=4,
                verb="crash",
                lasts_ms=19_622,
            ),
        ),
    )

    assert differ_of(world) is None


def rows_around_a_mistake(quiet: Quiet) -> list[Row]:
    """Members are in their lulls when an action fails; the script catches that and goes on."""
    sim = Simulation(seed=3, quiet=quiet)
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.at("1m", lambda: sim.crash("nobody"))
    with pytest.raises(ValueError, match="there is no consumer 'nobody'"):
        sim.run_for("2m")
    sim.run_for("2m")
    assert sim.events
    sim.crash("bea")
    sim.run_for("1m")
    return list(sim.events)


def test_both_ways_agree_though_an_action_failed_amid_a_lull():
    assert rows_around_a_mistake("skip") == rows_around_a_mistake("play")


def a_quiet_group(members: int, quiet: str = "skip") -> Simulation:
    sim = Simulation(seed=1, quiet=quiet, sink=NoSink())  # type: ignore[arg-type]
    sim.topic("orders", partitions=members)
    sim.consumers("g", *(f"member-{n}" for n in range(members)), topics=["orders"])
    sim.run_until_stable("g")
    return sim


def turns_of_an_hour(members: int) -> int:
    sim = a_quiet_group(members)
    sim.run_for("1m")
    before = sim.stage.kernel.turns
    sim.run_for("1h")
    return sim.stage.kernel.turns - before


def test_a_quiet_hour_costs_next_to_nothing():
    # What is left are the looks of fifty shards for expired offsets, six times an hour.
    assert turns_of_an_hour(20) < 350


def test_after_a_short_lull_the_next_waits_until_the_group_has_been_stable_for_a_while():
    sim = a_quiet_group(2)
    sim.run_for("1m")
    asleep = []
    for _ in range(2):
        sim.stop("member-0")
        sim.run_for("12s")
        sim.restart("member-0")
        sim.run_for("12s")
        asleep.append("member-1" in sim.stage.asleep)

    sim.run_for("5s")

    assert asleep == [True, False]
    assert "member-1" in sim.stage.asleep


def test_played_out_every_beat_is_an_event():
    sim = a_quiet_group(2, quiet="play")
    before = sim.stage.kernel.turns

    sim.run_for("1m")

    assert sim.stage.kernel.turns - before > 2 * 20 * 3


# --- mistakes, planted one at a time ---


def _one_beat_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Lulls._count

    def wrong(self: Lulls, lull: Lull, jump: Jump) -> None:
        count(self, lull, jump)
        self.stage.recorder.fold(lull.host.name, None).beats.count += 1

    monkeypatch.setattr(Lulls, "_count", wrong)


def _the_coordinator_hears_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_self: Lulls, lull: Lull, _jump: Jump) -> None:
        assert lull.session is not None
        lull.broker.restore_timer(lull.timer, lull.session)

    monkeypatch.setattr(Lulls, "_tell_coordinator", wrong)


def _beats_go_out_of_step(monkeypatch: pytest.MonkeyPatch) -> None:
    jump_to = Lulls._jump_to

    def wrong(self: Lulls, *args: object) -> Jump:
        jump = jump_to(self, *args)  # type: ignore[arg-type]
        last = jump.last_beat
        jump.last_beat = Exchange(last.sent_ms + 1, last.handled_ms + 1, last.heard_ms + 1)
        return jump

    monkeypatch.setattr(Lulls, "_jump_to", wrong)


def _metadata_is_never_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_refreshes", lambda *_: [])


def _a_group_is_not_woken_by_a_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "wake_group", lambda *_: None)


def _a_changed_cluster_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_knows_the_cluster", lambda *_: True)


def _new_positions_are_taken_for_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.quiet.is_all", lambda *_: True)


def _the_commit_timer_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    move = Lulls._move_consumer

    def wrong(self: Lulls, lull: Lull, jump: Jump, machine: object) -> None:
        jump.commits = 0
        move(self, lull, jump, machine)  # type: ignore[arg-type]

    monkeypatch.setattr(Lulls, "_move_consumer", wrong)


def _the_last_lap_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    find = Lulls._find_jump

    def wrong(self: Lulls, lull: Lull, machine: object) -> Jump | None:
        jump = find(self, lull, machine)  # type: ignore[arg-type]
        if jump is not None:
            jump.beats -= 1
        return jump

    monkeypatch.setattr(Lulls, "_find_jump", wrong)


def _records_wake_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stage, "before_touching_client", lambda *_: None)


def _metadata_stays_as_old_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_refresh", lambda *_: None)


def _a_wire_in_use_is_taken_for_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_is_wire_empty", lambda *_: True)


def _a_rejoin_that_is_due_is_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lulls, "_is_settled", lambda *_: True)


def _the_last_beat_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    add = Lulls._add_beats

    def wrong(self: Lulls, lull: Lull, beats: int, heard_ms: int) -> None:
        add(self, lull, beats - 1, heard_ms)

    monkeypatch.setattr(Lulls, "_add_beats", wrong)


#: Each mistake, and the first random world in which it is known to show.
MISTAKES: dict[Callable[[pytest.MonkeyPatch], None], int] = {
    _one_beat_too_many: 0,
    _the_last_beat_is_forgotten: 0,
    _the_coordinator_hears_of_nothing: 0,
    _beats_go_out_of_step: 0,
    _metadata_is_never_looked_at: 38,
    _metadata_stays_as_old_as_before: 38,
    _a_group_is_not_woken_by_a_join: 0,
    _records_wake_nobody: 6,
    _a_changed_cluster_is_not_noticed: 6,
    _a_wire_in_use_is_taken_for_empty: 198,
    _a_rejoin_that_is_due_is_overlooked: 0,
    _new_positions_are_taken_for_old: 0,
    _the_commit_timer_is_forgotten: 0,
    _the_last_lap_is_not_played: 0,
}


@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__.strip("_"))
def test_it_would_be_noticed_if(plant, monkeypatch):
    plant(monkeypatch)

    first = MISTAKES[plant]
    assert any(differs(draw_world(seed)) for seed in range(first, first + WORLDS_PER_MISTAKE))


def test_it_would_be_noticed_if_a_short_lull_forgot_the_session_timer(monkeypatch):
    monkeypatch.setattr(Broker, "restore_timer", lambda *_: None)

    worlds = [a_death_after_records(each, CommitMode.SYNC) for each in range(0, 9_000, 450)]
    assert any(map(differs, worlds))


def test_it_would_be_noticed_if_sessions_were_set_a_little_late(monkeypatch):
    take = Broker.take_quietly

    def wrong(self: Broker, request: object, at_ms: int, cause: object) -> None:
        take(self, request, at_ms + 1, cause)  # type: ignore[arg-type]

    monkeypatch.setattr(Broker, "take_quietly", wrong)

    worlds = [a_death_after_records(each, CommitMode.SYNC) for each in range(0, 9_000, 450)]
    assert any(map(differs, worlds))


def rows_with_questions(quiet: Quiet) -> list[Row]:
    """Somebody asks for the rows now and then, often before the last answer must be home."""
    sim = Simulation(seed=1, quiet=quiet, latency=Law((1, 1, 1, 200)))
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_until_stable("checkout")
    for later_ms in range(0, 3_000, 97):
        sim.run_for(20_000 + later_ms)
        assert sim.events
        sim.append("orders", 1, partition=later_ms % 2)
    return list(sim.events)


def test_both_ways_agree_though_somebody_asks_amid_a_lull():
    assert rows_with_questions("skip") == rows_with_questions("play")


def test_it_would_be_noticed_if_beats_before_a_question_were_counted_again(monkeypatch):
    monkeypatch.setattr(Lull, "fold_at", lambda *_: None)

    assert rows_with_questions("skip") != rows_with_questions("play")


def test_it_would_be_noticed_if_a_log_in_trouble_were_overlooked(monkeypatch):
    is_settled = Lulls._is_settled

    def wrong(self: Lulls, *whose: object) -> bool:
        with monkeypatch.context() as looked:  # By quiet time alone: the log is as slow as ever.
            looked.setattr(LogTrouble, "of", lambda *_: False)
            return is_settled(self, *whose)  # type: ignore[arg-type]

    monkeypatch.setattr(Lulls, "_is_settled", wrong)

    assert differs(a_log_in_trouble("slow_append"))


def differs(world: World) -> bool:
    try:
        return rows_of(world, "skip") != rows_of(world, "play")
    except (AssertionError, ValueError, KeyError, UnknownRequest):
        return True  # It broke down, which is a way to be noticed.


async def thinks_again(consumer: AsyncConsumer) -> None:
    """Wants another topic for a while, and polls only when it wants the first alone again."""
    consumer.subscribe(["orders"])
    for _ in range(20):
        await consumer.poll(500)
    consumer.subscribe(["orders", "late"])
    await consumer.sleep(10_000)
    consumer.subscribe(["orders"])
    while True:
        await consumer.poll(500)


@pytest.mark.parametrize("quiet", ["skip", "play"])
def test_nobody_rejoins_for_topics_that_were_wanted_only_between_two_polls(quiet):
    sim = Simulation(seed=1, quiet=quiet)
    sim.topic("orders", partitions=2)
    sim.topic("late")
    sim.consumer("ada", group="g", app=thinks_again, settings={"enable.auto.commit": False})

    sim.run_for("40s")

    assert len(sim.rebalances("g")) == 1
