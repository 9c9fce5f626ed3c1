"""A scenario is played: its world, what it is held against, and what is said of it."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from client.calls import AsyncConsumer
from simulation.recorder import MemorySink
from simulation.scenarios import (
    App,
    Cluster,
    Crash,
    Group,
    Limits,
    Members,
    Scenario,
    ScenarioError,
    SlowRecord,
    TooManyEvents,
    Topic,
    at,
)
from tests.support.stories import rows_of, the_leader_dies


def a_scenario(**changes: object) -> Scenario:
    return Scenario(
        cluster=Cluster(topics={"orders": Topic(partitions=2, records=2)}),
        groups={"checkout": Group(members=["ada", "bea"])},
        run_for="1m",
    ).with_overrides(changes)


async def reads_everything(consumer: AsyncConsumer) -> None:
    """An application of a user's own."""
    consumer.subscribe(["orders"])
    while True:
        await consumer.poll(500)


def all_to_the_first(_cluster, group):
    """An assignor of a user's own."""
    first = min(group)
    return {first: [("orders", n) for n in range(2)]}


def test_the_same_scenario_and_seed_give_the_same_rows_however_it_is_watched():
    told: list[int] = []
    watched = MemorySink()

    the_leader_dies().play(sink=watched, progress=lambda now_ms, _: told.append(now_ms))

    assert watched.rows == rows_of(the_leader_dies())
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, 90_000)


def test_progress_is_told_while_much_happens_at_one_moment():
    told: list[int] = []
    crowd = a_scenario(**{"groups.checkout.members": 200, "run_for": "1s"})

    crowd.play(progress=lambda now_ms, _: told.append(now_ms))

    assert max(told.count(now_ms) for now_ms in set(told)) > 1
    assert told == sorted(told)


def test_quiet_time_may_be_played_or_skipped():
    assert rows_of(the_leader_dies(), quiet="play") == rows_of(the_leader_dies())


def test_the_scenario_s_own_seed_is_used_unless_another_is_given():
    seeded = evolve(the_leader_dies(), seed=5)

    assert rows_of(the_leader_dies(), seed=5) == _rows(seeded)
    assert seeded.play(seed=7).run == "leader_dies-seed-7"


def _rows(scenario: Scenario) -> object:
    sink = MemorySink()
    scenario.play(sink=sink)
    return sink.rows


def test_expectations_are_judged_with_their_figures():
    scenario = evolve(
        the_leader_dies(),
        expect=["detection_s < 1", "lost == 0", "checkout has 2 members", "checkout is Empty"],
    )

    result = scenario.play()

    assert [(each.text, each.figure, each.holds) for each in result.expectations] == [
        ("detection_s < 1", 43.009, False),
        ("lost == 0", 0, True),
        ("checkout has 2 members", 2, True),
        ("checkout is Empty", "Stable", False),
    ]
    assert not result.held


def test_a_run_that_ends_at_rest_has_kept_liveness_however_short_it_is():
    liveness = a_scenario().play().liveness

    assert re.fullmatch(r"kept: settled \d+\.\d s after the last disturbance", liveness)


def test_a_run_that_ends_before_a_death_is_noticed_leaves_liveness_open_and_holds():
    result = a_scenario(script=[{"at": "50s", "crash": "ada"}]).play()

    assert result.liveness == (
        "open: not settled 10.0 s after the last disturbance; it may take up to 993.6 s:"
        " nobody of checkout owns orders-0"
    )
    assert result.held


def test_a_cluster_that_is_wholly_dead_is_not_at_rest():
    crashes = [{"at": "30s", "crash_broker": broker} for broker in (1, 2, 3)]

    result = a_scenario(script=crashes).play()

    assert result.liveness.startswith("open: not settled 30.0 s after the last disturbance")
    assert "no broker that is up leads orders-0, orders-1" in result.liveness
    assert not a_scenario(script=crashes, run_for="20m").play().held


def test_rest_is_asked_for_when_the_run_goes_on_long_enough():
    quick = {
        "groups.checkout.settings": {
            "session.timeout.ms": "6s",
            "heartbeat.interval.ms": "1s",
            "max.poll.interval.ms": "6s",
            "metadata.max.age.ms": "5s",
            "request.timeout.ms": "5s",
        }
    }

    crashes = [{"at": "10s", "crash_broker": broker} for broker in (1, 2, 3)]

    short, long = (a_scenario(**quick, script=crashes, run_for=each) for each in ("1m", "5m"))

    assert short.play().liveness.startswith("open: ")
    assert long.play().liveness.startswith("violated: no broker that is up leads")


def test_a_scenario_may_say_why_its_groups_never_come_to_rest():
    result = a_scenario(never_settles="a record is never done").play()

    assert result.liveness == "not asked for: a record is never done"


def test_a_scenario_with_variants_must_be_told_which():
    scenario = evolve(a_scenario(), variants={"a": {}, "b": {"run_for": "30s"}})

    assert scenario.play(variant="b").ended_ms == 30_000
    with pytest.raises(ValueError, match="has variants: choose one of a, b"):
        scenario.play()


def test_a_run_that_tells_too_much_is_ended():
    with pytest.raises(TooManyEvents, match=r"more than 100 events .* --max-events N raises"):
        a_scenario().play(limits=Limits(events=100))


def test_what_is_wrong_with_a_scenario_in_python_is_told_before_it_is_played():
    scenario = Scenario(groups={"checkout": Group()}, script=[at("1s", Crash("ada"))])

    with pytest.raises(ScenarioError, match=r"script.0.crash.members: unknown consumer 'ada'"):
        scenario.play()


def test_members_are_named_and_started_as_their_group_says():
    scenario = Scenario(
        cluster=Cluster(topics={"orders": Topic()}),
        groups={
            "checkout": Group(
                members={
                    "web": Members(count=2),
                    "late": Members(start="10s"),
                    "ghost": Members(start="by script"),
                },
                start="1s",
                stagger="500ms",
            )
        },
        run_for="20s",
    )

    starts = [
        (row.client, row.at_ms) for row in rows_of(scenario) if row.kind == "consumer_started"
    ]

    assert starts == [("web-1", 1_000), ("web-2", 1_500), ("late", 10_000)]


def test_who_commits_by_hand_has_automatic_commits_off():
    app = App(commit="sync before processing")
    scenario = evolve(a_scenario(), groups={"checkout": Group(app=app)})

    host = scenario.simulation().stage.hosts["checkout-1"]

    assert host.role.config.enable_auto_commit is False


def test_a_backlog_is_there_from_the_start():
    rows = rows_of(
        a_scenario(
            **{
                "cluster.topics.orders": {"partitions": 1, "backlog": 700},
                "groups.checkout.settings.auto.offset.reset": "earliest",
            }
        )
    )

    processed = [row for row in rows if row.kind == "records_processed"]
    assert sum((row.end_offset or 0) - (row.offset or 0) for row in processed) == 700


def test_a_slow_record_takes_its_own_time():
    slow = SlowRecord(topic="orders", partition=1, offset=5, takes="9s")
    scenario = evolve(a_scenario(), groups={"checkout": Group(app=App(slow_records=[slow]))})

    times = {
        (row.partition, row.offset): row.duration_ms
        for row in rows_of(scenario)
        if row.kind == "records_processed"
    }

    assert times[1, 5] == 9_000
    assert max(ms or 0 for place, ms in times.items() if place != (1, 5)) == 0


def test_code_of_a_user_runs_where_it_is_allowed():
    name = f"{__name__}:reads_everything"
    scenario = evolve(a_scenario(), groups={"checkout": Group(app=App(python=name))})

    assert scenario.play(allow_python=True).figures()["lag"] < 5
    with pytest.raises(ScenarioError, match="code of yours runs only where it is allowed"):
        scenario.play()


def test_an_assignor_of_a_user_decides_where_it_is_allowed():
    settings = {"partition_assignment_strategy": f"{__name__}:all_to_the_first"}
    scenario = a_scenario(**{"groups.checkout.members": 3})
    group = evolve(scenario.groups["checkout"], settings=settings)

    rows = rows_of(evolve(scenario, groups={"checkout": group}), allow_python=True)

    owners = {row.client for row in rows if row.kind == "partition_assigned"}
    assert len(owners) == 1


def test_a_scenario_can_be_taken_as_a_world_and_run_step_by_step():
    sim = the_leader_dies().simulation(seed=3)

    sim.run_for("90s")
    sim.end()

    assert list(sim.events) == rows_of(the_leader_dies(), seed=3)
