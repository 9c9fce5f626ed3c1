"""The first story, as a scenario: consumers come, the leader dies, the others take over."""

from __future__ import annotations

from collections.abc import Sequence

from simulation.events import Row
from simulation.recorder import MemorySink
from simulation.scenarios import Cluster, Crash, Group, Scenario, Topic, at


def the_leader_dies(
    *,
    members: Sequence[str] = ("ada", "bea", "cat"),
    stagger: str = "500ms",
    partitions: int = 6,
    assignor: str = "range",
) -> Scenario:
    """Consumers of one group, of which the leader crashes after 20 s."""
    return Scenario(
        name="leader_dies",
        title="The leader of a group dies without a word",
        cluster=Cluster(topics={"orders": Topic(partitions=partitions)}),
        groups={
            "checkout": Group(
                members=list(members),
                stagger=stagger,
                subscribe="orders",
                settings={"partition_assignment_strategy": assignor},
            )
        },
        script=[at("20s", Crash("leader of checkout"))],
        run_for="90s",
    )


def rows_of(scenario: Scenario, *, seed: int = 0, **options: object) -> list[Row]:
    """Everything that happens in it."""
    sink = MemorySink()
    scenario.play(seed=seed, sink=sink, **options)  # type: ignore[arg-type]
    return sink.rows
