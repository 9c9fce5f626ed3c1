"""Crash a consumer at every step of poll-process-commit and count what it costs.

`docs/delivery.md` has the table in words; its cells are computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from client.applications import CommitMode, PollLoop
from client.workloads import DrawnTime
from simulation.checkers import check
from simulation.events import Row
from simulation.measures import measure
from simulation.world import Simulation

PAGE = Path(__file__).parents[2] / "docs" / "delivery.md"
#: The second batch is the one that trouble comes with.
FIRST, HALF, END = 10, 15, 20

#: Each step, by the row right after which the consumer dies.
STEPS: Mapping[str, Callable[[Row], bool]] = {
    "records fetched, none processed": lambda row: (
        (row.kind, row.end_offset) == ("records_returned", END)
    ),
    "half of them processed": lambda row: (row.kind, row.end_offset) == ("records_processed", HALF),
    "all of them processed": lambda row: (row.kind, row.end_offset) == ("records_processed", END),
    "their commit sent, never to arrive": lambda row: (
        (row.kind, row.request) == ("request_sent", "OffsetCommit")
    ),
    "their commit accepted, not yet heard of": lambda row: (
        (row.kind, row.offset) == ("offset_committed", END)
    ),
    "their commit acknowledged": lambda row: (row.kind, row.offset) == ("commit_acknowledged", END),
}
MODES: Mapping[str, CommitMode] = {
    "at most once": CommitMode.BEFORE,
    "auto": CommitMode.AUTO,
    "sync": CommitMode.SYNC,
    "async": CommitMode.ASYNC,
    "exactly once": CommitMode.WITH_RESULTS,
}


@cache
def outcome(mode: CommitMode, step: str) -> tuple[int, int] | None:
    """Duplicates and losses when ada dies at this step; None if she never comes to it."""
    sim = Simulation(seed=3)
    sim.topic("orders", partitions=1)
    ada, _ = sim.consumers(
        "checkout",
        *("ada", "bea"),
        start=False,
        settings={
            "auto_offset_reset": "earliest",
            "session_timeout_ms": 6_000,
            "enable_auto_commit": mode is CommitMode.AUTO,
            "auto_commit_interval_ms": 1_000,
        },
        app=PollLoop(topics=("orders",), commit=mode, time_per_record=DrawnTime(ten_ms)),
    )
    sim.start("ada")
    sim.run_until_stable("checkout")
    sim.append("orders", FIRST)
    sim.run_for("5s")
    if "never to arrive" in step:
        sim.hold("ada", request="OffsetCommit")
    sim.when(STEPS[step], lambda: sim.crash("ada"))
    sim.append("orders", END - FIRST)
    sim.run_for("5s")
    if ada.is_alive:
        return None
    sim.start("bea")
    sim.run_for("30s")
    sim.append("orders", FIRST)
    sim.run_for("10s")
    sim.end()
    assert check(sim.events) == ()
    measures = measure(sim.events)
    return int(measures.figure("duplicates")), int(measures.figure("lost"))


def ten_ms(_partition: object, _offset: int) -> int:
    return 10


def cell(mode: CommitMode, step: str) -> str:
    found = outcome(mode, step)
    if found is None:
        return "does not occur"
    duplicates, lost = found
    return (f"{duplicates} twice" if duplicates else "") + (f"{lost} lost" if lost else "") or "-"


def the_table() -> str:
    """The outcomes as the page has them."""
    lines = [
        "| the consumer dies with | " + " | ".join(MODES) + " |",
        "|---|" + "---|" * len(MODES),
    ]
    for step in STEPS:
        cells = [cell(mode, step) for mode in MODES.values()]
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_page_has_the_outcomes_that_are_played():
    assert the_table() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("step", STEPS)
def test_who_commits_before_processing_never_processes_twice(step):
    duplicates, _ = outcome(CommitMode.BEFORE, step) or (0, 0)

    assert duplicates == 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("mode", [CommitMode.AUTO, CommitMode.SYNC, CommitMode.ASYNC])
def test_who_commits_after_processing_never_loses(mode, step):
    _, lost = outcome(mode, step) or (0, 0)

    assert lost == 0


@pytest.mark.parametrize("step", STEPS)
def test_who_keeps_offsets_with_results_counts_each_record_once(step):
    assert (outcome(CommitMode.WITH_RESULTS, step) or (0, 0)) == (0, 0)
