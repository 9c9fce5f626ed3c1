"""A kernel that is run by itself, without a world around it."""

from __future__ import annotations

from simulation.kernel import Kernel


def run_until(kernel: Kernel, end_ms: int) -> None:
    """Run every turn up to this time, those at `end_ms` included."""
    kernel.run(end_ms)
    kernel.now_ms = end_ms
