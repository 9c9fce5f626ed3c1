"""The front door: the public names of the simulator of Kafka's consumer groups.

A name is loaded when it is first asked for, so that `groupsim --help` need not load the simulator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator import ErrorCode, GroupConfig, GroupCoordinator, GroupState, LocalCoordinator
    from simulation.world import Simulation

__all__ = [
    "ErrorCode",
    "GroupConfig",
    "GroupCoordinator",
    "GroupState",
    "LocalCoordinator",
    "Simulation",
]

#: Where each public name lives.
_HOMES = {
    "ErrorCode": "coordinator",
    "GroupConfig": "coordinator",
    "GroupCoordinator": "coordinator",
    "GroupState": "coordinator",
    "LocalCoordinator": "coordinator",
    "Simulation": "simulation.world",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'groupsim' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
