"""What can go wrong around the machines; one root, one sentence each."""

from __future__ import annotations

__all__ = ["RunDirectoryError", "SimulationError"]


class SimulationError(Exception):
    """The world or its use is wrong; the message says which, and what to do."""


class RunDirectoryError(SimulationError):
    """A run directory cannot be written there, or is none; the caller chooses another path."""
