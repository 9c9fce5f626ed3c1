"""Random worlds for properties: what is there and what goes wrong follows from a number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from attrs import define

from client.applications import CommitMode, PollLoop
from client.workloads import ConstantTime
from simulation.chance import Law, draw, stream_key
from simulation.world import Fault, Simulation

T = TypeVar("T")

LAWS = (Law((2,)), Law((1, 1, 2, 3, 5)), Law((1, 4, 9, 40)), Law((10, 20, 150)))
ASSIGNORS = (["range"], ["roundrobin"], ["sticky"], ["cooperative-sticky"])
TRAFFIC = (0, 0, 0, 0, 0, 1)
VERBS = ("crash", "stop", "pause", "partition", "slow", "hold", "slow_append", "fail_append")
END_S = 240


@define
class Choices:
    """Choices by number, one after the other."""

    stream: int
    taken: int = 0

    def below(self, bound: int) -> int:
        self.taken += 1
        return draw(self.stream, self.taken) * bound >> 64

    def one_of(self, among: Sequence[T]) -> T:
        return among[self.below(len(among))]


def a_random_world(number: int, *, quiet: str) -> Simulation:
    """World `number`, ready to run for `END_S` seconds."""
    choose = Choices(stream_key(number, "worlds"))
    sim = Simulation(
        seed=number,
        brokers=choose.one_of((1, 2, 3)),
        latency=choose.one_of(LAWS),
        quiet=quiet,  # type: ignore[arg-type]
    )
    partitions = 1 + choose.below(6)
    sim.topic("orders", partitions=partitions, records_per_s=choose.one_of(TRAFFIC))
    names: list[str] = []
    for group in range(1 + choose.below(2)):
        names += _a_group(sim, choose, f"group{group}")
    for _ in range(choose.below(4)):
        _something_happens(sim, choose, names, partitions)
    return sim


def _a_group(sim: Simulation, choose: Choices, group: str) -> list[str]:
    settings: dict[str, object] = {
        "partition.assignment.strategy": choose.one_of(ASSIGNORS),
        "session.timeout.ms": choose.one_of((10_000, 45_000)),
        "heartbeat.interval.ms": choose.one_of((1_000, 3_000, 3_100)),
        "auto.commit.interval.ms": choose.one_of((1_700, 5_000)),
        "metadata.max.age.ms": choose.one_of((20_000, 61_000, 300_000)),
        "auto.offset.reset": choose.one_of(("earliest", "latest")),
    }
    commit = choose.one_of((CommitMode.AUTO, CommitMode.AUTO, CommitMode.SYNC, CommitMode.ASYNC))
    settings["enable.auto.commit"] = commit is CommitMode.AUTO
    us_per_record = choose.one_of((0, 2_000, 300_000))
    loop = PollLoop(time_per_record=ConstantTime(us_per_record), commit=commit)
    names = [f"{group}-{number}" for number in range(1 + choose.below(4))]
    is_static = choose.below(3) == 0
    for name in names:
        sim.consumer(
            name,
            group=group,
            topics=["orders"],
            settings=settings,
            app=loop,
            static=is_static,
            start=False,
        )
        sim.at(choose.below(8_000), partial(sim.start, name))
    return names


def _something_happens(sim: Simulation, choose: Choices, names: list[str], partitions: int) -> None:
    at_ms = 15_000 + choose.below((END_S - 60) * 1_000)
    kind = choose.below(12)
    name = choose.one_of(names)
    if kind == 0:
        sim.at(at_ms, partial(sim.append, "orders", 1 + choose.below(50)))
    elif kind == 1:
        sim.at(at_ms, partial(sim.add_partitions, "orders", partitions + 2))
    elif kind == 2:
        group = name.partition("-")[0]
        to = 1 + choose.below(sim.brokers)
        load_ms = choose.below(3_000)
        sim.at(at_ms, partial(_move_if_possible, sim, group, to, load_ms))
    elif kind == 3 and sim.brokers > 1:
        broker = 1 + choose.below(sim.brokers)
        lasts = 1_000 * (1 + choose.below(60))
        sim.fault(Fault(verb="crash_broker", target=broker, at=at_ms, lasts=lasts))
    elif kind == 4:
        acted = choose.below(2) == 0
        sim.at(at_ms, partial(sim.reset_connections, name, acted=acted))
    elif kind == 5:
        ghost = sim.raw_member(f"ghost{at_ms}", name.partition("-")[0])
        sim.at(at_ms, partial(_join_if_possible, ghost))
    else:
        verb = choose.one_of(VERBS)
        target = name.partition("-")[0] if verb.endswith("append") else name
        lasts = 200 + choose.below(70_000)
        sim.fault(Fault(verb=verb, target=target, at=at_ms, lasts=lasts))


def _move_if_possible(sim: Simulation, group: str, to: int, load_ms: int) -> None:
    if sim.stage.brokers[to].is_up:
        sim.move_coordinator(group, to, load=load_ms)


def _join_if_possible(ghost: object) -> None:
    try:
        ghost.join("orders", session_timeout_ms=10_000)  # type: ignore[attr-defined]
    except ValueError:
        return
