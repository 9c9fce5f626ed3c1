"""A world as a short Python script that plays it and says what the checkers find."""

from __future__ import annotations

from attrs import fields

from simulation.random_worlds import Act, ConsumerPlan, TopicPlan, World
from simulation.world import Fault

_HEAD = '''"""{title}"""

from client.applications import CommitMode, Stall
from simulation.checkers import Watch
from simulation.random_worlds import Act, ConsumerPlan, TopicPlan, World, play
from simulation.world import Fault

world = World(
    seed={seed},
    brokers={brokers},
'''
_TAIL = """)
watch = Watch(patience=world.patience())
play(world, sink=watch)
for violation in watch.violations:
    print(violation.report(world.seed, "python " + __file__))
"""


def script_of(world: World, title: str) -> str:
    """The script; run by itself, it prints the world's violations."""
    parts = (
        ("topics", world.topics),
        ("consumers", world.consumers),
        ("faults", world.faults),
        ("acts", world.acts),
    )
    body = "".join(
        f"    {name}=(\n{''.join(f'        {_written(each)},{chr(10)}' for each in found)}    ),\n"
        for name, found in parts
        if found
    )
    return _HEAD.format(title=title, seed=world.seed, brokers=world.brokers) + body + _TAIL


def _written(value: TopicPlan | ConsumerPlan | Fault | Act) -> str:
    """A value as the call that makes it; what is as usual is not said."""
    told = []
    for each in fields(type(value)):
        found = getattr(value, each.name)
        if found not in (each.default, {}):
            told.append(f"{each.name}={_literal(found)}")
    return f"{type(value).__name__}({', '.join(told)})"


def _literal(value: object) -> str:
    name = getattr(value, "name", None)
    is_enum = name is not None and not isinstance(value, str)
    return f"{type(value).__name__}.{name}" if is_enum else repr(value)
