"""A whole run as a value: who is there, what they want, what goes wrong.

A `World` can be compared, made smaller, written down as a script and played again. `prepare` sets
it up, `play` lets it happen: first traffic, acts, traps and faults, then calm for as long as
liveness may take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from attrs import field, frozen

from client.applications import CommitMode, PollLoop, Stall
from client.calls import AsyncConsumer
from client.settings import ConsumerConfig, consumer_config
from client.workloads import ConstantTime
from coordinator import GroupConfig
from simulation.chance import LAN, Law
from simulation.checkers import Patience
from simulation.events import Row
from simulation.ghosts import GhostPlan, haunt
from simulation.hand_written import APPLICATIONS, UNREST_MS, Wishes
from simulation.recorder import Sink
from simulation.stage import Quiet
from simulation.world import Application, Fault, Simulation

#: Modes in which a hand-written application commits; results are not mixed with commits.
_COMMITS_BY_HAND = (CommitMode.SYNC, CommitMode.ASYNC, CommitMode.BEFORE)
#: What a fault leaves behind, after liveness has been asked for.
_LITTLE_MORE_MS = 40_000


@frozen(kw_only=True)
class TopicPlan:
    """A topic that is there from the start."""

    name: str
    partitions: int
    records_per_s: int = 0
    #: So many records at once in each partition, each so many milliseconds, until the calm.
    burst: tuple[int, int] | None = None
    retention_ms: int | None = None


@frozen(kw_only=True)
class ConsumerPlan:
    """A consumer, its settings in Kafka's names, and what its application does."""

    name: str
    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    settings: Mapping[str, object] = field(factory=dict)
    #: One of `hand_written.APPLICATIONS`; without it, a ready-made poll loop.
    application: str = ""
    commit: CommitMode = CommitMode.AUTO
    us_per_record: int = 0
    assigned_callback_ms: int = 0
    revoked_callback_ms: int = 0
    finishes_batch: bool = True
    stall: Stall | None = None
    is_static: bool = False
    starts_at_ms: int = 0

    def config(self) -> ConsumerConfig:
        """Its settings as a consumer has them."""
        return consumer_config({**self.settings, "group_id": self.group, "client_id": self.name})

    def app(self) -> PollLoop | Application:
        """What it runs."""
        if self.application:
            wishes = Wishes(
                topics=self.topics,
                pattern=self.pattern,
                is_committing=self.commit in _COMMITS_BY_HAND,
                us_per_record=self.us_per_record,
            )
            application = APPLICATIONS[self.application]

            async def run(consumer: AsyncConsumer) -> None:
                await application(consumer, wishes)

            return run
        return PollLoop(
            topics=self.topics,
            pattern=self.pattern,
            commit=self.commit,
            time_per_record=ConstantTime(self.us_per_record),
            assigned_callback_ms=self.assigned_callback_ms,
            revoked_callback_ms=self.revoked_callback_ms,
            finishes_batch=self.finishes_batch,
            stalls=() if self.stall is None else (self.stall,),
        )

    @property
    def unrest_ms(self) -> int:
        """For how long after its start it disturbs its group by itself."""
        stalled_ms = 0 if self.stall is None else self.stall.at_ms + self.stall.for_ms
        return max(stalled_ms, UNREST_MS.get(self.application, 0))


@frozen(kw_only=True)
class Act:
    """A verb of the simulation, called at a time; one that has become pointless is left out."""

    at_ms: int
    verb: str
    args: tuple[str | int, ...]
    options: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True)
class Trap:
    """A fault that waits for its moment: the n-th row of this kind about this request."""

    kind: str
    request: str
    client: str
    nth: int
    verb: str
    lasts_ms: int


@frozen(kw_only=True)
class World:
    """Everything that a run depends on."""

    seed: int
    brokers: int
    topics: tuple[TopicPlan, ...]
    consumers: tuple[ConsumerPlan, ...]
    ghosts: tuple[GhostPlan, ...] = ()
    faults: tuple[Fault, ...] = ()
    traps: tuple[Trap, ...] = ()
    acts: tuple[Act, ...] = ()
    #: How long a message takes, as quantiles.
    latency: tuple[int, ...] = LAN.quantiles
    initial_rebalance_delay_ms: int = 3_000

    def patience(self) -> Patience:
        """How long liveness may take here."""
        loads_ms = [_ms(act.options.get("load")) for act in self.acts] + [1_000]
        return Patience.of(
            [plan.config() for plan in self.consumers],
            topics={plan.name: plan.pattern or "|".join(plan.topics) for plan in self.consumers},
            load_ms=max(loads_ms) + max(plan.unrest_ms for plan in self.consumers),
            script_ends_ms=self.calm_from_ms(),
        )

    def calm_from_ms(self) -> int:
        """When the last thing that is planned has happened."""
        return self._planned_until_ms() + max((trap.lasts_ms for trap in self.traps), default=0)

    def _planned_until_ms(self) -> int:
        ends = [plan.starts_at_ms for plan in self.consumers]
        ends += [_ms(fault.at) + _ms(fault.lasts) for fault in self.faults]
        ends += [act.at_ms for act in self.acts]
        ends += [at_ms for ghost in self.ghosts for at_ms, _ in ghost.steps]
        return max(ends)

    def is_trapping(self, now_ms: int) -> bool:
        """Whether traps still snap: not once the calm is near."""
        return now_ms <= self._planned_until_ms()

    def runs_for_ms(self) -> int:
        """The trouble, the calm after it, and a little more for what a fault leaves behind."""
        return self.calm_from_ms() + self.patience().settle_ms + _LITTLE_MORE_MS


def prepare(world: World, *, sink: Sink, quiet: Quiet = "skip") -> Simulation:
    """A simulation in which this world will happen."""
    sim = Simulation(
        seed=world.seed,
        brokers=world.brokers,
        latency=Law(world.latency),
        group_config=GroupConfig(group_initial_rebalance_delay_ms=world.initial_rebalance_delay_ms),
        sink=sink,
        quiet=quiet,
        app_errors="record",
    )
    for topic in world.topics:
        _prepare_topic(sim, topic, world.calm_from_ms())
    for plan in world.consumers:
        sim.consumer(
            plan.name,
            group=plan.group,
            settings=plan.settings,
            app=plan.app(),
            static=plan.is_static,
            start=False,
        )
        sim.at(plan.starts_at_ms, partial(_start, sim, plan.name))
    for ghost in world.ghosts:
        haunt(sim, ghost)
    for fault in world.faults:
        sim.fault(fault)
    for trap in world.traps:
        _set_trap(sim, world, trap)
    for act in world.acts:
        sim.at(act.at_ms, partial(_act, sim, act))
    return sim


def play(world: World, *, sink: Sink, quiet: Quiet = "skip") -> Simulation:
    """Let a world happen, from its beginning to its end."""
    sim = prepare(world, sink=sink, quiet=quiet)
    sim.run_for(world.runs_for_ms())
    sim.end()
    return sim


def _prepare_topic(sim: Simulation, plan: TopicPlan, calm_ms: int) -> None:
    sim.topic(
        plan.name,
        partitions=plan.partitions,
        records_per_s=plan.records_per_s,
        retention=plan.retention_ms,
    )
    sim.at(calm_ms, partial(_dry_up, sim, plan.name))
    if plan.burst is not None:
        count, every_ms = plan.burst
        for at_ms in range(0, calm_ms, every_ms):
            sim.at(at_ms, partial(_burst, sim, plan.name, count))


def _start(sim: Simulation, name: str) -> None:
    """Start a consumer, unless the end of a fault has started it already."""
    if not sim.stage.host(name).is_alive:
        sim.start(name)


def _dry_up(sim: Simulation, topic: str) -> None:
    """Let nothing more be written to a topic, if it is still there."""
    if topic in sim.stage.cluster.topics:
        sim.produce(topic, 0)


def _burst(sim: Simulation, topic: str, count: int) -> None:
    found = sim.stage.cluster.topics.get(topic)
    for partition in range(0 if found is None else len(found.logs)):
        sim.append(topic, count, partition=partition)


def _set_trap(sim: Simulation, world: World, trap: Trap) -> None:
    left = trap.nth

    def is_sprung(row: Row) -> bool:
        nonlocal left
        if row.kind == trap.kind and row.request == trap.request and row.client == trap.client:
            left -= 1
        return left == 0

    def snap() -> None:
        if world.is_trapping(sim.now_ms):
            fault = Fault(verb=trap.verb, target=trap.client, at=sim.now_ms, lasts=trap.lasts_ms)
            sim.fault(fault)

    sim.when(is_sprung, snap)


def _act(sim: Simulation, act: Act) -> None:
    verb: Callable[..., object] = getattr(sim, act.verb)
    if _POINTLESS.get(act.verb, _never)(sim, act):
        return
    verb(*act.args, **act.options)


def _never(_sim: Simulation, _act: Act) -> bool:
    return False


def _has_no_such_topic(sim: Simulation, act: Act) -> bool:
    return act.args[0] not in sim.stage.cluster.topics


def _has_enough_partitions(sim: Simulation, act: Act) -> bool:
    topic = sim.stage.cluster.topics.get(str(act.args[0]))
    return topic is None or len(topic.logs) >= int(act.args[1])


def _has_such_a_topic(sim: Simulation, act: Act) -> bool:
    return not _has_no_such_topic(sim, act)


def _has_no_such_broker(sim: Simulation, act: Act) -> bool:
    return not sim.stage.brokers[int(act.args[1])].is_up


def _has_no_such_record(sim: Simulation, act: Act) -> bool:
    name, partition, before = act.args
    log = sim.stage.cluster.log((str(name), int(partition)))
    return log is None or log.end_at(sim.now_ms) < int(before)


#: When an act means nothing any more.
_POINTLESS: Mapping[str, Callable[[Simulation, Act], bool]] = {
    "topic": _has_such_a_topic,
    "add_partitions": _has_enough_partitions,
    "delete_topic": _has_no_such_topic,
    "move_coordinator": _has_no_such_broker,
    "truncate": _has_no_such_record,
}


def _ms(duration: object) -> int:
    return duration if isinstance(duration, int) else 0
