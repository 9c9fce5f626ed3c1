"""What must hold after every step, one named function each."""

from __future__ import annotations

from coordinator.machine import GroupCoordinator


def check_all(machine: GroupCoordinator) -> None:
    """All of them."""
