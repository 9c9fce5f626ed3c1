"""The front door: the public names of the simulator of Kafka's consumer groups.

A name is loaded when it is first asked for, so that `groupsim --help` need not load the simulator.

PYTEST_DONT_REWRITE: what is asserted here is for us to read, and pytest may come after an import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator import ErrorCode, GroupConfig, GroupCoordinator, GroupState, LocalCoordinator
    from simulation.recording import record, replay
    from simulation.scenarios import RunResult, Scenario, ScenarioError, play, validate
    from simulation.world import Simulation

__all__ = [
    "ErrorCode",
    "GroupConfig",
    "GroupCoordinator",
    "GroupState",
    "LocalCoordinator",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "__version__",
    "play",
    "record",
    "replay",
    "validate",
]

__version__: str

#: Where each public name lives; those of scenarios' parts and actions are in simulation.scenarios.
_HOMES = {
    "ErrorCode": "coordinator",
    "GroupConfig": "coordinator",
    "GroupCoordinator": "coordinator",
    "GroupState": "coordinator",
    "LocalCoordinator": "coordinator",
    "RunResult": "simulation.scenarios",
    "Scenario": "simulation.scenarios",
    "ScenarioError": "simulation.scenarios",
    "Simulation": "simulation.world",
    "play": "simulation.scenarios",
    "record": "simulation.recording",
    "replay": "simulation.recording",
    "validate": "simulation.scenarios",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("simulation.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module 'groupsim' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
