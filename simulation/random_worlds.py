"""Worlds drawn by number: `draw_world(seed)` is a function of its seed.

Most are small and most of their trouble is short, for that is where faults show and what they
cost; some are large, and some trouble is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from attrs import evolve

from client.applications import CommitMode, Stall
from simulation.chance import LAN, draw, stream_key
from simulation.events import WorldEventKind
from simulation.ghosts import GHOST_VERBS, GhostPlan
from simulation.hand_written import APPLICATIONS
from simulation.world import Fault
from simulation.world_plans import Act, ConsumerPlan, TopicPlan, Trap, World

T = TypeVar("T")

_NAMES = ("ada", "bea", "cat", "dan", "eva", "fay", "gus", "hal", "ivy", "jon", "kim", "leo")
_SIZES = (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12)
_GROUPS = ("checkout", "billing", "audit")
_TOPICS = ("orders", "payments", "refunds")
#: The topic that acts create; patterns match it beside the others.
_LATE_TOPIC = "orders-late"
_EVERY_TOPIC = ".*"
_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
_PARTITIONS_ADDED_MAX = 3
#: How long messages take.
_LATENCIES = (LAN.quantiles, LAN.quantiles, (2,), (1, 4, 9, 40), (10, 20, 150))
#: Trouble begins so long after the start of a run, and goes on for one of these times.
_TROUBLE_FROM_MS = 4_000
_TROUBLE_MS = (20_000, 40_000, 40_000, 120_000)
_REQUESTS_TO_HOLD = ("", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
_TRAPPED_REQUESTS = ("JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "LeaveGroup")
_TRAPPED_MOMENTS = (
    WorldEventKind.REQUEST_SENT.value,
    WorldEventKind.REQUEST_RECEIVED.value,
    WorldEventKind.REPLY_SENT.value,
    WorldEventKind.REPLY_RECEIVED.value,
)
_TRAPS = ("crash", "pause", "partition", "stop")

Targeted = tuple[str, str | int, dict[str, object]]


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
    brokers = draws.one_of((1, 2, 3, 3, 3))
    topics = tuple(_draw_topic(draws, name) for name in _TOPICS[: draws.one_of((1, 1, 1, 2, 3))])
    consumers = _draw_consumers(draws, topics)
    world = World(
        seed=seed,
        brokers=brokers,
        topics=topics,
        consumers=consumers,
        latency=draws.one_of(_LATENCIES),
        initial_rebalance_delay_ms=draws.one_of((0, 1_000, 3_000)),
    )
    until_ms = _TROUBLE_FROM_MS + draws.one_of(_TROUBLE_MS)
    return evolve(
        world,
        faults=tuple(_draw_fault(draws, world, until_ms) for _ in range(draws.between(0, 5))),
        acts=_draw_acts(draws, world, until_ms),
        traps=tuple(_draw_trap(draws, world) for _ in range(draws.one_of((0, 0, 1, 2)))),
        ghosts=tuple(
            _draw_ghost(draws, world, f"ghost{number}", until_ms)
            for number in range(draws.one_of((0, 0, 0, 1, 2)))
        ),
    )


# --- topics and consumers ---


def _draw_topic(draws: Draws, name: str) -> TopicPlan:
    """Half of all topics are dry at first, so that there is quiet time amid the trouble."""
    has_bursts = draws.is_so(30)
    return TopicPlan(
        name=name,
        partitions=draws.one_of((1, 2, 3, 4, 6, 8)),
        records_per_s=draws.one_of((0, 0, 0, 1, 1, 3)),
        burst=(draws.one_of((1, 5, 30)), draws.between(5_000, 30_000)) if has_bursts else None,
        retention_ms=draws.between(3_000, 30_000) if draws.is_so(15) else None,
    )


def _draw_consumers(draws: Draws, topics: tuple[TopicPlan, ...]) -> tuple[ConsumerPlan, ...]:
    groups = _GROUPS[: draws.one_of((1, 1, 2, 2, 3))]
    patterns = {group: _draw_group(draws, group, topics) for group in groups}
    return tuple(
        _draw_consumer(draws, name, patterns[draws.one_of(groups)])
        for name in _NAMES[: draws.one_of(_SIZES)]
    )


def _draw_group(draws: Draws, group: str, topics: tuple[TopicPlan, ...]) -> ConsumerPlan:
    """What the members of a group have in common."""
    names = tuple(topic.name for topic in topics)
    wanted = names[: draws.between(1, len(names))]
    has_pattern = draws.is_so(25)
    session_ms = draws.one_of((6_000, 10_000, 45_000))
    commit = draws.one_of((*CommitMode, CommitMode.AUTO))
    settings: dict[str, object] = {
        "partition_assignment_strategy": (draws.one_of(_ASSIGNORS),),
        "session_timeout_ms": session_ms,
        "heartbeat_interval_ms": draws.one_of((1_000, 3_100, min(session_ms // 3, 7_000))),
        "max_poll_interval_ms": draws.one_of((15_000, 30_000, 60_000)),
        "request_timeout_ms": draws.one_of((5_000, 10_000, 30_000)),
        "default_api_timeout_ms": draws.one_of((10_000, 30_000)),
        "metadata_max_age_ms": draws.one_of((5_000, 20_000, 61_000)),
        "auto_offset_reset": draws.one_of(("earliest", "latest", "by_duration:PT20S")),
        "max_poll_records": draws.one_of((2, 10, 500)),
        "fetch_max_wait_ms": draws.one_of((100, 500, 500)),
        "enable_auto_commit": commit is CommitMode.AUTO,
    }
    if commit is CommitMode.AUTO:
        settings["auto_commit_interval_ms"] = draws.one_of((1_000, 1_700, 5_000))
    return ConsumerPlan(
        name="",
        group=group,
        topics=() if has_pattern else wanted,
        pattern=_EVERY_TOPIC if has_pattern else None,
        settings=settings,
        commit=commit,
        us_per_record=draws.one_of((0, 0, 1_000, 10_000)),
        assigned_callback_ms=draws.one_of((0, 0, 0, 300)),
        revoked_callback_ms=draws.one_of((0, 0, 500, 4_000)),
        finishes_batch=draws.is_so(70),
        is_static=draws.is_so(30),
    )


def _draw_consumer(draws: Draws, name: str, common: ConsumerPlan) -> ConsumerPlan:
    """One member; now and then it differs from the others."""
    settings = dict(common.settings)
    if draws.is_so(20):
        settings["partition_assignment_strategy"] = _draw_mixture(draws, common)
    stall = None
    if draws.is_so(8):
        stall = Stall(draws.between(1_000, 30_000), draws.between(100, 20_000))
    application = draws.one_of(tuple(APPLICATIONS)) if draws.is_so(10) else ""
    return evolve(
        common,
        name=name,
        settings=settings,
        stall=None if application else stall,
        application=application,
        is_static=common.is_static != draws.is_so(10),
        starts_at_ms=draws.one_of((0, draws.between(0, 5_000), draws.between(0, 30_000))),
    )


def _draw_mixture(draws: Draws, common: ConsumerPlan) -> tuple[str, ...]:
    """The group's own assignor and another one, which of them first is a matter of luck."""
    both = {*str_tuple(common.settings["partition_assignment_strategy"]), draws.one_of(_ASSIGNORS)}
    in_order = sorted(both)
    return tuple(reversed(in_order)) if draws.is_so(50) else tuple(in_order)


def str_tuple(value: object) -> tuple[str, ...]:
    """A setting that is a list of names."""
    assert isinstance(value, tuple)
    return tuple(map(str, value))


# --- what goes wrong ---


def _draw_fault(draws: Draws, world: World, until_ms: int) -> Fault:
    at_ms = draws.between(_TROUBLE_FROM_MS, until_ms)
    lasts_ms = draws.one_of((draws.between(10, 2_000), draws.between(1_000, 40_000)))
    verb, target, options = draws.one_of(_draw_targets(draws, world))
    brokers: tuple[int, ...] = ()
    if verb in ("slow", "partition", "hold") and world.brokers > 1 and draws.is_so(50):
        brokers = (draws.between(1, world.brokers),)
    return Fault(
        verb=verb, target=target, brokers=brokers, at=at_ms, lasts=lasts_ms, options=options
    )


def _draw_targets(draws: Draws, world: World) -> list[Targeted]:
    """Every kind of fault, each with a target and its options."""
    client = draws.one_of(world.consumers)
    name, group = client.name, client.group
    faults: list[Targeted] = [
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


def _draw_trap(draws: Draws, world: World) -> Trap:
    return Trap(
        kind=draws.one_of(_TRAPPED_MOMENTS),
        request=draws.one_of(_TRAPPED_REQUESTS),
        client=draws.one_of(world.consumers).name,
        nth=draws.between(1, 4),
        verb=draws.one_of(_TRAPS),
        lasts_ms=draws.between(10, 20_000),
    )


def _draw_acts(draws: Draws, world: World, until_ms: int) -> tuple[Act, ...]:
    acts: list[Act] = []
    for _ in range(draws.between(0, 4)):
        act = _draw_act(draws, world, until_ms)
        acts.append(act)
        if act.verb == "delete_topic" and draws.is_so(75):
            acts.append(_draw_return(draws, world, act))
    return tuple(acts)


def _draw_return(draws: Draws, world: World, deletion: Act) -> Act:
    """A topic of that name comes again: consumers that want what is not there cost much to play.

    It has no fewer partitions than before, for Kafka's sticky assignors throw on older claims.
    """
    before = next(topic for topic in world.topics if topic.name == deletion.args[0])
    return Act(
        at_ms=deletion.at_ms + draws.between(10, 20_000),
        verb="topic",
        args=(before.name,),
        options={"partitions": before.partitions + _PARTITIONS_ADDED_MAX},
    )


def _draw_act(draws: Draws, world: World, until_ms: int) -> Act:
    client, topic = draws.one_of(world.consumers), draws.one_of(world.topics)
    at_ms = draws.between(_TROUBLE_FROM_MS, until_ms)
    load = {"load": draws.one_of((0, draws.between(1, 5_000)))}
    broker, added = draws.between(1, world.brokers), draws.between(1, _PARTITIONS_ADDED_MAX)
    acts: list[tuple[str, tuple[str | int, ...], dict[str, object]]] = [
        ("move_coordinator", (client.group, broker), dict(load)),
        ("move_coordinator", (client.group, broker), dict(load)),
        ("reset_connections", (client.name,), {"acted": draws.is_so(50)}),
        ("add_partitions", (topic.name, topic.partitions + added), {}),
        ("topic", (_LATE_TOPIC,), {"partitions": draws.between(1, 3)}),
        ("delete_topic", (topic.name,), {}),
        ("truncate", (topic.name, 0, draws.between(1, 50)), {}),
    ]
    verb, args, options = draws.one_of(acts)
    return Act(at_ms=at_ms, verb=verb, args=args, options=options)


def _draw_ghost(draws: Draws, world: World, name: str, until_ms: int) -> GhostPlan:
    """A ghost that mostly joins properly first: most abuse needs a member."""
    client = draws.one_of(world.consumers)
    at_ms = draws.between(_TROUBLE_FROM_MS, until_ms)
    steps: list[tuple[int, str]] = []
    if draws.is_so(80):
        steps = [(at_ms, "join"), (at_ms + 200, "join")]
        at_ms += 200
    for _ in range(draws.between(1, 6)):
        at_ms += draws.one_of((draws.between(1, 500), draws.between(500, 8_000)))
        steps.append((at_ms, draws.one_of(tuple(GHOST_VERBS))))
    return GhostPlan(
        name=name,
        group=client.group,
        topic=draws.one_of(world.topics).name,
        steps=tuple(steps),
        protocols=str_tuple(client.settings["partition_assignment_strategy"]),
        session_timeout_ms=draws.one_of((6_000, 10_000)),
    )
