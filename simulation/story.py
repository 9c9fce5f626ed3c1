"""The first story: consumers come, the leader dies, the others take its partitions over.

`play` tells it in a whole world. A story is a value, so it can be written down in a recording and
played again.
"""

from __future__ import annotations

from functools import partial

from attrs import field, frozen
from attrs.validators import ge, min_len

from simulation.errors import SimulationError
from simulation.recorder import Sink
from simulation.world import Simulation


@frozen
class StoryMember:
    """One consumer, and when it starts."""

    client: str
    starts_at_ms: int = field(validator=ge(0))


ADA, BEA, CAT = StoryMember("ada", 0), StoryMember("bea", 500), StoryMember("cat", 1_000)


@frozen(kw_only=True)
class Story:
    """Who reads what in which group, and when the group's leader dies."""

    name: str = "leader_dies"
    title: str = "The leader of a group dies without a word"
    group: str = "checkout"
    topic: str = "orders"
    partitions: int = field(default=6, validator=ge(1))
    members: tuple[StoryMember, ...] = field(default=(ADA, BEA, CAT), validator=min_len(1))
    assignor: str = "range"
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    leader_dies_at_ms: int = 20_000
    run_for_ms: int = field(default=90_000)

    @run_for_ms.validator
    def _after_the_death(self, _attribute: object, value: int) -> None:
        if value <= self.leader_dies_at_ms:
            raise ValueError(
                f"run_for_ms ({value}) must be above leader_dies_at_ms ({self.leader_dies_at_ms})"
            )


def play(story: Story, sink: Sink, *, run: str, seed: int = 0) -> int:
    """Tell the whole story to the sink; say how many events it took."""
    sim = Simulation(seed=seed, run=run, title=story.title, sink=sink)
    sim.topic(story.topic, partitions=story.partitions)
    settings = {
        "session_timeout_ms": story.session_timeout_ms,
        "heartbeat_interval_ms": story.heartbeat_interval_ms,
        "partition_assignment_strategy": [story.assignor],
    }
    for member in story.members:
        sim.consumer(
            member.client, group=story.group, topics=[story.topic], settings=settings, start=False
        )
        sim.at(member.starts_at_ms, partial(sim.start, member.client))
    sim.at(story.leader_dies_at_ms, partial(_crash_the_leader, sim, story.group))
    sim.run_for(story.run_for_ms)
    sim.end()
    return sim.stage.recorder.recorded


def _crash_the_leader(sim: Simulation, group: str) -> None:
    leader = sim.leader(group)
    if leader is None:
        raise SimulationError(f"nobody leads the group yet at {sim.now_ms} ms")
    sim.crash(leader)
