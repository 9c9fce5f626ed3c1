"""A kernel that is run by itself, without a world around it."""

from __future__ import annotations

from simulation.kernel import Kernel


def run_until(kernel: Kernel, end_ms: int) -> None:
    """Run every turn up to this time, those at `end_ms` included."""
    while (at_ms := kernel.next_at_ms()) is not None and at_ms <= end_ms:
        kernel.step()
    kernel.now_ms = end_ms
