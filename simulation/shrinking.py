"""A failing world made small: whatever it fails without is taken out of it.

Parts are removed in halves, then one by one, then values are made plain, again and again until
nothing more can go. What counts is that the world still fails in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from simulation.durations import milliseconds
from simulation.random_worlds import ConsumerPlan, World

#: Whether a world fails as the first one did.
Fails = Callable[[World], bool]

_PARTS = ("faults", "acts", "consumers", "topics")
_LASTS_MS_LEAST = 1


def shrink(world: World, fails: Fails, *, tries_max: int = 400) -> World:
    """The smallest world found by so many tries."""
    tries = 0
    is_smaller = True
    while is_smaller and tries < tries_max:
        is_smaller = False
        for candidate in _smaller(world):
            tries += 1
            if fails(candidate):
                world, is_smaller = candidate, True
                break
            if tries >= tries_max:
                break
    return world


def _smaller(world: World) -> Iterator[World]:
    """Worlds that have less to them, the boldest cuts first."""
    for part in _PARTS:
        things = getattr(world, part)
        size = len(things)
        while size:
            for start in range(0, len(things), size):
                candidate = evolve(world, **{part: things[:start] + things[start + size :]})
                if _is_sound(candidate):
                    yield candidate
            size //= 2
    for place, plan in enumerate(world.consumers):
        for plainer in _plainer(plan):
            consumers = (*world.consumers[:place], plainer, *world.consumers[place + 1 :])
            yield evolve(world, consumers=consumers)
    yield from _plainer_data(world)


def _is_sound(world: World) -> bool:
    """A world needs somebody in it, and topics that are wanted or cut must be there."""
    names = {topic.name for topic in world.topics}
    clients = {plan.name for plan in world.consumers} | {plan.group for plan in world.consumers}
    targets = [fault.target for fault in world.faults if isinstance(fault.target, str)]
    targets += [
        str(act.args[0])
        for act in world.acts
        if act.verb in ("move_coordinator", "reset_connections")
    ]
    return bool(names) and bool(world.consumers) and clients.issuperset(targets)


def _plainer(plan: ConsumerPlan) -> Iterator[ConsumerPlan]:
    for plainer in (
        evolve(plan, stall=None),
        evolve(plan, is_static=False),
        evolve(plan, us_per_record=0),
        evolve(plan, revoked_callback_ms=0),
        evolve(plan, starts_at_ms=0),
    ):
        if plainer != plan:
            yield plainer


def _plainer_data(world: World) -> Iterator[World]:
    for place, topic in enumerate(world.topics):
        for plainer in (evolve(topic, partitions=1), evolve(topic, records_per_s=0)):
            if plainer != topic:
                topics = (*world.topics[:place], plainer, *world.topics[place + 1 :])
                yield evolve(world, topics=topics)
    for place, fault in enumerate(world.faults):
        lasts_ms = milliseconds(fault.lasts or 0)
        if lasts_ms // 2 >= _LASTS_MS_LEAST:
            shorter = evolve(fault, lasts=lasts_ms // 2)
            faults = (*world.faults[:place], shorter, *world.faults[place + 1 :])
            yield evolve(world, faults=faults)
