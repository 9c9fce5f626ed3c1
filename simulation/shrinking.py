"""A failing world made small: whatever it fails without is taken out of it.

Parts are removed in halves, then one by one; then settings go back to what they usually are, and
values are made plain, again and again until nothing more can go. What counts is that the world
still fails in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from client.applications import CommitMode
from simulation.chance import LAN
from simulation.durations import milliseconds
from simulation.world_plans import ConsumerPlan, TopicPlan, World

#: Whether a world fails as the first one did.
Fails = Callable[[World], bool]

_PARTS = ("faults", "traps", "acts", "ghosts", "consumers", "topics")
_LASTS_MS_LEAST = 1


def shrink(world: World, fails: Fails, *, tries_max: int = 500) -> World:
    """The smallest world found by so many tries."""
    left = tries_max

    def is_worth_it(candidate: World) -> bool:
        nonlocal left
        left -= 1
        return fails(candidate)

    before: World | None = None
    while world != before and left > 0:
        before = world
        for smaller in _CUTS:
            world = _cut(world, smaller, is_worth_it, lambda: left > 0)
    return world


def _cut(
    world: World,
    smaller: Callable[[World], Iterator[World]],
    fails: Fails,
    has_tries_left: Callable[[], bool],
) -> World:
    """Cut in one way until that leads no further."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in smaller(world):
            if not has_tries_left():
                return world
            if candidate != world and _is_sound(candidate) and fails(candidate):
                world, is_smaller = candidate, True
                break
    return world


def _is_sound(world: World) -> bool:
    """A world needs somebody in it, and whoever is named must be there."""
    clients = {plan.name for plan in world.consumers}
    groups = {plan.group for plan in world.consumers}
    targets = [fault.target for fault in world.faults if isinstance(fault.target, str)]
    targets += [trap.client for trap in world.traps]
    targets += [ghost.group for ghost in world.ghosts]
    targets += [
        str(act.args[0])
        for act in world.acts
        if act.verb in ("move_coordinator", "reset_connections")
    ]
    brokers = [fault.target for fault in world.faults if isinstance(fault.target, int)]
    brokers += [broker for fault in world.faults for broker in fault.brokers]
    brokers += [int(act.args[1]) for act in world.acts if act.verb == "move_coordinator"]
    if not world.topics or not clients or not (clients | groups).issuperset(targets):
        return False
    if max(brokers, default=1) > world.brokers:
        return False
    try:
        world.patience()
    except ValueError:
        return False  # Settings that do not go together.
    return True


# --- ways to cut, the boldest first ---


def _without_parts(world: World) -> Iterator[World]:
    for part in _PARTS:
        things = getattr(world, part)
        size = len(things)
        while size:
            for start in range(0, len(things), size):
                yield evolve(world, **{part: things[:start] + things[start + size :]})
            size //= 2


def _without_steps(world: World) -> Iterator[World]:
    for place, ghost in enumerate(world.ghosts):
        for step in range(len(ghost.steps)):
            steps = ghost.steps[:step] + ghost.steps[step + 1 :]
            yield _with(world, "ghosts", place, evolve(ghost, steps=steps))


def _plainer_world(world: World) -> Iterator[World]:
    for brokers in range(1, world.brokers):
        yield evolve(world, brokers=brokers)
    yield evolve(world, latency=LAN.quantiles)
    yield evolve(world, initial_rebalance_delay_ms=3_000)


def _fewer_settings(world: World) -> Iterator[World]:
    """Each setting as it usually is, first for everybody, then for one consumer."""
    names = sorted({name for plan in world.consumers for name in plan.settings})
    for name in names:
        plans = tuple(_without_setting(plan, name) for plan in world.consumers)
        yield evolve(world, consumers=plans)
    for place, plan in enumerate(world.consumers):
        for name in sorted(plan.settings):
            yield _with(world, "consumers", place, _without_setting(plan, name))


def _without_setting(plan: ConsumerPlan, name: str) -> ConsumerPlan:
    return evolve(plan, settings={key: plan.settings[key] for key in plan.settings if key != name})


def _plainer_consumers(world: World) -> Iterator[World]:
    for change in (
        {"stall": None},
        {"application": ""},
        {"is_static": False},
        {"us_per_record": 0},
        {"assigned_callback_ms": 0},
        {"revoked_callback_ms": 0},
        {"finishes_batch": True},
        {"starts_at_ms": 0},
        {"commit": CommitMode.AUTO},
    ):
        changed: Any = change  # attrs checks the names
        yield evolve(world, consumers=tuple(evolve(plan, **changed) for plan in world.consumers))
        for place, plan in enumerate(world.consumers):
            yield _with(world, "consumers", place, evolve(plan, **changed))


def _plainer_topics(world: World) -> Iterator[World]:
    for place, topic in enumerate(world.topics):
        for plainer in _plainer(topic):
            yield _with(world, "topics", place, plainer)


def _plainer(topic: TopicPlan) -> Iterator[TopicPlan]:
    yield evolve(topic, partitions=1)
    yield evolve(topic, partitions=(topic.partitions + 1) // 2)
    yield evolve(topic, records_per_s=0)
    yield evolve(topic, burst=None)
    yield evolve(topic, retention_ms=None)


def _shorter(world: World) -> Iterator[World]:
    for place, fault in enumerate(world.faults):
        lasts_ms = milliseconds(fault.lasts or 0)
        if lasts_ms // 2 >= _LASTS_MS_LEAST:
            yield _with(world, "faults", place, evolve(fault, lasts=lasts_ms // 2))
    for place, trap in enumerate(world.traps):
        if trap.lasts_ms // 2 >= _LASTS_MS_LEAST:
            yield _with(world, "traps", place, evolve(trap, lasts_ms=trap.lasts_ms // 2))


def _with(world: World, part: str, place: int, thing: object) -> World:
    things = getattr(world, part)
    changed: Any = {part: (*things[:place], thing, *things[place + 1 :])}
    return evolve(world, **changed)


_CUTS = (
    _without_parts,
    _plainer_world,
    _fewer_settings,
    _plainer_consumers,
    _plainer_topics,
    _without_steps,
    _shorter,
)
