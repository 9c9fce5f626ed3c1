"""The front door: the public names of the simulator of Kafka's consumer groups."""

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
