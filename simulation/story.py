"""The first story: consumers come, the leader dies, the others take its partitions over.

`play` tells it against a real coordinator. A story is a value, so it can be written down in a
recording and played again.
"""

from __future__ import annotations

from functools import partial

from attrs import define, field, frozen
from attrs.validators import ge, min_len

from client.assignors import Cluster, new_assignor
from coordinator import ClusterView, CoordinatorError, GroupCoordinator, SeededIds, Topic
from simulation.errors import SimulationError
from simulation.events import WorldEventKind
from simulation.hosts import CoordinatorHost
from simulation.kernel import Kernel, Rank, Turn
from simulation.recorder import Recorder
from simulation.scripted_member import ScriptedMember


@frozen
class StoryMember:
    """One consumer: when it starts, and how late each of its heartbeats goes out."""

    client: str
    starts_at_ms: int = field(validator=ge(0))
    beats_late_ms: int = field(validator=ge(0))


#: Beats of one group are in step after a rebalance and drift apart, each at its own pace.
ADA, BEA, CAT = (
    StoryMember("ada", 0, 20),
    StoryMember("bea", 500, 45),
    StoryMember("cat", 1_000, 70),
)


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


def play(story: Story, recorder: Recorder, *, seed: int = 0) -> None:
    """Tell the whole story to the recorder; the seed decides the member ids, and no more."""
    stage = Stage.set_up(story, recorder, seed)
    for role, member in zip(story.members, stage.members, strict=True):
        turn = Turn(role.starts_at_ms, Rank.SCRIPT, role.client, 0)
        stage.kernel.at(turn, member.start)
    stage.kernel.at(
        Turn(story.leader_dies_at_ms, Rank.SCRIPT, "", 0), partial(_crash_the_leader, stage)
    )
    try:
        stage.kernel.run_until(story.run_for_ms)
    except (CoordinatorError, SimulationError) as error:
        error.add_note(f"story {story.name}, seed {seed}, at {stage.kernel.now_ms} ms")
        raise
    recorder.record(WorldEventKind.RUN_ENDED, story.run_for_ms, stage.started)


@define(eq=False, kw_only=True)
class Stage:
    """Everything a story needs around it while it plays."""

    kernel: Kernel
    started: int
    members: tuple[ScriptedMember, ...]

    @classmethod
    def set_up(cls, story: Story, recorder: Recorder, seed: int) -> Stage:
        """One broker that coordinates the group, and its members, none of them started yet."""
        kernel = Kernel()
        started = recorder.record(WorldEventKind.RUN_STARTED, 0, None, detail=story.title)
        view = ClusterView(topics={story.topic: Topic(story.topic, story.partitions)})
        machine = GroupCoordinator(ids=SeededIds(seed), view=view)
        host = CoordinatorHost(machine=machine, kernel=kernel, recorder=recorder)
        host.load(machine.shard_of(story.group), started)
        members = tuple(
            ScriptedMember(
                client=role.client,
                group=story.group,
                topics=(story.topic,),
                cluster=Cluster(partition_counts={story.topic: story.partitions}),
                assignor=new_assignor(story.assignor),
                session_timeout_ms=story.session_timeout_ms,
                heartbeat_interval_ms=story.heartbeat_interval_ms,
                beats_late_ms=role.beats_late_ms,
                host=host,
                kernel=kernel,
                recorder=recorder,
            )
            for role in story.members
        )
        return cls(kernel=kernel, started=started, members=members)


def _crash_the_leader(stage: Stage) -> None:
    leaders = [member for member in stage.members if member.is_leader]
    if not leaders:
        raise SimulationError(f"nobody leads the group yet at {stage.kernel.now_ms} ms")
    leaders[0].crash()
