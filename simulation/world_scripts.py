"""A world as a short Python script that plays it and says how it fails."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import fields

from client.applications import CommitMode, Stall
from simulation.chance import LAN
from simulation.ghosts import GhostPlan
from simulation.world import Fault
from simulation.world_plans import Act, ConsumerPlan, TopicPlan, Trap, World

#: Where a script finds the names that it may need.
_HOMES: Mapping[str, tuple[str, ...]] = {
    "client.applications": ("CommitMode", "Stall"),
    "simulation.ghosts": ("GhostPlan",),
    "simulation.world": ("Fault",),
    "simulation.world_plans": ("Act", "ConsumerPlan", "TopicPlan", "Trap", "World"),
}

Written = TopicPlan | ConsumerPlan | GhostPlan | Fault | Trap | Act | Stall


def script_of(world: World, title: str, judge: str = "fail_of") -> str:
    """The script; run by itself, it prints how the world fails, by a judge of the campaign."""
    body = f"world = {_world(world)}\n"
    imports = [f"from simulation.campaign import {judge}"]
    for module, names in _HOMES.items():
        used = [name for name in names if re.search(rf"\b{name}\b", body)]
        if used:
            imports.append(f"from {module} import {', '.join(used)}")
    head = "\n".join(sorted(imports))
    tail = (
        f'failure = {judge}(world, command=f"python {{__file__}}")\n'
        'print("nothing was found" if failure is None else failure.told)\n'
    )
    return f'"""{title}"""\n\n{head}\n\n{body}\n{tail}'


def _world(world: World) -> str:
    lines = [f"seed={world.seed}", f"brokers={world.brokers}"]
    if world.latency != LAN.quantiles:
        lines.append(f"latency={world.latency}")
    if world.initial_rebalance_delay_ms != fields(World).initial_rebalance_delay_ms.default:
        lines.append(f"initial_rebalance_delay_ms={world.initial_rebalance_delay_ms}")
    for name in ("topics", "consumers", "ghosts", "faults", "traps", "acts"):
        found = getattr(world, name)
        if found:
            parts = "".join(f"        {_written(each)},\n" for each in found)
            lines.append(f"{name}=(\n{parts}    )")
    return "World(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _written(value: Written) -> str:
    """A value as the call that makes it; what is as usual is not said."""
    told = []
    for each in fields(type(value)):
        found = getattr(value, each.name)
        if found not in (each.default, {}):
            told.append(f"{each.name}={_literal(found)}")
    return f"{type(value).__name__}({', '.join(told)})"


def _literal(value: object) -> str:
    if isinstance(value, CommitMode):
        return f"CommitMode.{value.name}"
    return _written(value) if isinstance(value, Stall) else repr(value)
