"""Worlds drawn by number: who is there, what they want, what goes wrong.

They are values: a world can be played again, made smaller and written down as a script.

`draw_world(seed)` is a function of its seed. `play` lets a world happen: first traffic, acts and
faults, then calm for as long as liveness may take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from attrs import evolve, field, frozen

from client.applications import CommitMode, PollLoop, Stall
from client.settings import ConsumerConfig, consumer_config
from client.workloads import ConstantTime
from simulation.chance import draw, stream_key
from simulation.checkers import Patience
from simulation.recorder import Sink
from simulation.stage import Quiet
from simulation.world import Fault, Simulation

T = TypeVar("T")

_NAMES = ("ada", "bea", "cat", "dan", "eva", "fay", "gus", "hal", "ivy", "jon", "kim", "leo")
_GROUPS = ("checkout", "billing", "audit")
_TOPICS = ("orders", "payments", "refunds")
#: The topic that acts create; patterns match it beside the others.
_LATE_TOPIC = "orders-late"
_EVERY_TOPIC = ".*"
_ASSIGNORS: tuple[tuple[str, ...], ...] = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("range", "cooperative-sticky"),
)
#: Lists that members of one group may mix: each pair has an assignor in common.
_MIXED: tuple[tuple[str, ...], ...] = (
    ("range", "cooperative-sticky"),
    ("cooperative-sticky", "range"),
    ("roundrobin", "range"),
    ("range",),
)
#: Faults begin in this stretch of a run.
_TROUBLE_FROM_MS, _TROUBLE_UNTIL_MS = 5_000, 120_000
_REQUESTS_TO_HOLD = ("", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")


@frozen(kw_only=True)
class TopicPlan:
    """A topic that is there from the start."""

    name: str
    partitions: int
    records_per_s: int = 0


@frozen(kw_only=True)
class ConsumerPlan:
    """A consumer, its settings in Kafka's names, and what its application does."""

    name: str
    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    settings: Mapping[str, object] = field(factory=dict)
    commit: CommitMode = CommitMode.AUTO
    us_per_record: int = 0
    revoked_callback_ms: int = 0
    stall: Stall | None = None
    is_static: bool = False
    starts_at_ms: int = 0

    def config(self) -> ConsumerConfig:
        """Its settings as a consumer has them."""
        return consumer_config({**self.settings, "group_id": self.group, "client_id": self.name})

    def app(self) -> PollLoop:
        """Its poll loop."""
        return PollLoop(
            topics=self.topics,
            pattern=self.pattern,
            commit=self.commit,
            time_per_record=ConstantTime(self.us_per_record),
            revoked_callback_ms=self.revoked_callback_ms,
            stalls=() if self.stall is None else (self.stall,),
        )


@frozen(kw_only=True)
class Act:
    """A verb of the simulation, called at a time; one that has become pointless is left out."""

    at_ms: int
    verb: str
    args: tuple[str | int, ...]
    options: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True)
class World:
    """Everything that a run depends on."""

    seed: int
    brokers: int
    topics: tuple[TopicPlan, ...]
    consumers: tuple[ConsumerPlan, ...]
    faults: tuple[Fault, ...] = ()
    acts: tuple[Act, ...] = ()

    def patience(self) -> Patience:
        """How long liveness may take here."""
        loads_ms = [_ms(act.options.get("load")) for act in self.acts] + [1_000]
        stalls_ms = [
            plan.stall.at_ms + plan.stall.for_ms
            for plan in self.consumers
            if plan.stall is not None
        ]
        return Patience.of(
            [plan.config() for plan in self.consumers],
            topics={plan.name: plan.pattern or "|".join(plan.topics) for plan in self.consumers},
            load_ms=max(loads_ms) + max(stalls_ms, default=0),
        )

    def calm_from_ms(self) -> int:
        """When the last thing that is planned has happened."""
        ends = [plan.starts_at_ms for plan in self.consumers]
        ends += [_ms(fault.at) + _ms(fault.lasts) for fault in self.faults]
        ends += [act.at_ms for act in self.acts]
        return max(ends)

    def runs_for_ms(self) -> int:
        """The trouble, the calm after it, and a little more for what a fault leaves behind."""
        return self.calm_from_ms() + self.patience().settle_ms + 40_000


def play(world: World, *, sink: Sink, quiet: Quiet = "skip") -> Simulation:
    """Let a world happen, from its beginning to its end."""
    sim = Simulation(seed=world.seed, brokers=world.brokers, sink=sink, quiet=quiet)
    calm_ms = world.calm_from_ms()
    for topic in world.topics:
        sim.topic(topic.name, partitions=topic.partitions, records_per_s=topic.records_per_s)
        sim.at(calm_ms, partial(_dry_up, sim, topic.name))
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
    for fault in world.faults:
        sim.fault(fault)
    for act in world.acts:
        sim.at(act.at_ms, partial(_act, sim, act))
    sim.run_for(world.runs_for_ms())
    sim.end()
    return sim


def _start(sim: Simulation, name: str) -> None:
    """Start a consumer, unless the end of a fault has started it already."""
    if not sim.stage.host(name).is_alive:
        sim.start(name)


def _dry_up(sim: Simulation, topic: str) -> None:
    """Let nothing more be written to a topic, if it is still there."""
    if topic in sim.stage.cluster.topics:
        sim.produce(topic, 0)


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


#: When an act means nothing any more.
_POINTLESS: Mapping[str, Callable[[Simulation, Act], bool]] = {
    "topic": _has_such_a_topic,
    "add_partitions": _has_enough_partitions,
    "delete_topic": _has_no_such_topic,
    "move_coordinator": _has_no_such_broker,
}


def _ms(duration: object) -> int:
    return duration if isinstance(duration, int) else 0


# --- drawing ---


class Draws:
    """Numbers from one stream, one after the other."""

    def __init__(self, seed: int) -> None:
        self._stream = stream_key(seed, "campaign")
        self._k = 0

    def below(self, bound: int) -> int:
        """A number from 0 up to, but not including, the bound."""
        self._k += 1
        return draw(self._stream, self._k) * bound >> 64

    def between(self, least: int, most: int) -> int:
        """A number from one to the other, both included."""
        return least + self.below(most - least + 1)

    def one_of(self, among: Sequence[T]) -> T:
        """One of these."""
        return among[self.below(len(among))]

    def is_so(self, percent: int) -> bool:
        """True so often in a hundred."""
        return self.below(100) < percent


def draw_world(seed: int) -> World:
    """The world of this seed."""
    draws = Draws(seed)
    brokers = draws.one_of((1, 3, 3, 3))
    topics = tuple(
        TopicPlan(
            name=name,
            partitions=draws.between(1, 8),
            records_per_s=draws.one_of((0, 1, 2, 5)),
        )
        for name in _TOPICS[: draws.between(1, 3)]
    )
    consumers = _draw_consumers(draws, topics)
    world = World(seed=seed, brokers=brokers, topics=topics, consumers=consumers)
    return evolve(world, faults=_draw_faults(draws, world), acts=_draw_acts(draws, world))


def _draw_consumers(draws: Draws, topics: tuple[TopicPlan, ...]) -> tuple[ConsumerPlan, ...]:
    groups = _GROUPS[: draws.between(1, 3)]
    patterns = {group: _draw_group(draws, group, topics) for group in groups}
    return tuple(
        _draw_consumer(draws, name, patterns[draws.one_of(groups)])
        for name in _NAMES[: draws.between(2, 12)]
    )


def _draw_group(draws: Draws, group: str, topics: tuple[TopicPlan, ...]) -> ConsumerPlan:
    """What the members of a group have in common."""
    names = tuple(topic.name for topic in topics)
    wanted = names[: draws.between(1, len(names))]
    has_pattern = draws.is_so(20)
    session_ms = draws.one_of((6_000, 10_000, 45_000))
    commit = draws.one_of(tuple(CommitMode))
    settings: dict[str, object] = {
        "partition_assignment_strategy": draws.one_of(_ASSIGNORS),
        "session_timeout_ms": session_ms,
        "heartbeat_interval_ms": draws.one_of((1_000, session_ms // 3)),
        "max_poll_interval_ms": draws.one_of((15_000, 30_000, 60_000)),
        "request_timeout_ms": draws.one_of((5_000, 10_000, 30_000)),
        "metadata_max_age_ms": draws.one_of((5_000, 30_000)),
        "auto_offset_reset": draws.one_of(("earliest", "latest")),
        "max_poll_records": draws.one_of((1, 10, 500)),
        "enable_auto_commit": commit is CommitMode.AUTO,
    }
    if commit is CommitMode.AUTO:
        settings["auto_commit_interval_ms"] = draws.one_of((1_000, 5_000))
    return ConsumerPlan(
        name="",
        group=group,
        topics=() if has_pattern else wanted,
        pattern=_EVERY_TOPIC if has_pattern else None,
        settings=settings,
        commit=commit,
        us_per_record=draws.one_of((0, 1_000, 10_000)),
        revoked_callback_ms=draws.one_of((0, 0, 500)),
        is_static=draws.is_so(30),
    )


def _draw_consumer(draws: Draws, name: str, common: ConsumerPlan) -> ConsumerPlan:
    """One member; now and then it differs from the others."""
    settings = dict(common.settings)
    if draws.is_so(15):
        settings["partition_assignment_strategy"] = draws.one_of(_MIXED)
    stall = None
    if draws.is_so(10):
        stall = Stall(draws.between(1_000, 60_000), draws.between(100, 30_000))
    return evolve(
        common,
        name=name,
        settings=settings,
        stall=stall,
        is_static=common.is_static != draws.is_so(10),
        starts_at_ms=draws.one_of((0, draws.between(0, 5_000), draws.between(0, 60_000))),
    )


def _draw_faults(draws: Draws, world: World) -> tuple[Fault, ...]:
    return tuple(_draw_fault(draws, world) for _ in range(draws.between(0, 8)))


def _draw_fault(draws: Draws, world: World) -> Fault:
    client = draws.one_of(world.consumers)
    at_ms = draws.between(_TROUBLE_FROM_MS, _TROUBLE_UNTIL_MS)
    lasts_ms = draws.one_of((draws.between(10, 2_000), draws.between(1_000, 60_000)))
    verb, target, options = draws.one_of(_draw_targets(draws, world, client))
    return Fault(verb=verb, target=target, at=at_ms, lasts=lasts_ms, options=options)


def _draw_targets(
    draws: Draws, world: World, client: ConsumerPlan
) -> list[tuple[str, str | int, dict[str, object]]]:
    """Every kind of fault, each with a target and its options."""
    name, group = client.name, client.group
    faults: list[tuple[str, str | int, dict[str, object]]] = [
        ("crash", name, {}),
        ("stop", name, {}),
        ("pause", name, {}),
        ("partition", name, {}),
        ("partition", name, {"one_way": draws.one_of(("to_broker", "to_client"))}),
        ("hold", name, {"request": draws.one_of(_REQUESTS_TO_HOLD)}),
        ("slow", name, {"by": draws.between(10, 3_000)}),
        ("fail_append", group, {}),
        ("slow_append", group, {"by": draws.between(10, 3_000)}),
    ]
    if world.brokers > 1:
        faults.append(("crash_broker", draws.between(1, world.brokers), {}))
    return faults


def _draw_acts(draws: Draws, world: World) -> tuple[Act, ...]:
    return tuple(_draw_act(draws, world) for _ in range(draws.between(0, 4)))


def _draw_act(draws: Draws, world: World) -> Act:
    client, topic = draws.one_of(world.consumers), draws.one_of(world.topics)
    at_ms = draws.between(_TROUBLE_FROM_MS, _TROUBLE_UNTIL_MS)
    load = {"load": draws.one_of((0, draws.between(1, 5_000)))}
    broker = draws.between(1, world.brokers)
    if draws.is_so(5):
        # Rare, for it is slow: consumers try to commit what is gone until their time is over.
        return Act(at_ms=at_ms, verb="delete_topic", args=(topic.name,))
    acts: tuple[tuple[str, tuple[str | int, ...], dict[str, object]], ...] = (
        ("move_coordinator", (client.group, broker), dict(load)),
        ("move_coordinator", (client.group, broker), dict(load)),
        ("reset_connections", (client.name,), {"acted": draws.is_so(50)}),
        ("add_partitions", (topic.name, topic.partitions + draws.between(1, 3)), {}),
        ("topic", (_LATE_TOPIC,), {"partitions": draws.between(1, 3)}),
    )
    verb, args, options = draws.one_of(acts)
    return Act(at_ms=at_ms, verb=verb, args=args, options=options)
