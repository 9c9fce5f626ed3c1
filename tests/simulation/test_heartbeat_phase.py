"""When a lull ends, the heartbeat thread looks around at the times at which it would have."""

from __future__ import annotations

import pytest

from client.applications import CommitMode, PollLoop
from client.workloads import ConstantTime
from simulation.events import Row
from simulation.quiet import Lulls
from simulation.stage import Quiet
from simulation.world import Simulation


def rows(quiet: Quiet, written_ms: int, **settings: str) -> list[Row]:
    """After a calm a record comes that takes ten seconds: beats are the thread's alone then.

    The consumer dies over it, and the end of its session tells when its last beat came.
    """
    sim = Simulation(seed=5, quiet=quiet)
    sim.topic("orders")
    loop = PollLoop(
        topics=("orders",), commit=CommitMode.SYNC, time_per_record=ConstantTime(10_000_000)
    )
    by_hand = {"enable.auto.commit": "false", "heartbeat.interval.ms": "1300"}
    sim.consumers("checkout", "ada", app=loop, settings=by_hand | settings)
    sim.at(written_ms, lambda: sim.append("orders", 1))
    sim.at(written_ms + 7_000, lambda: sim.crash("ada"))
    sim.run_for("90s")
    sim.end()
    return list(sim.events)


#: All of one heartbeat interval, so that some come right after a beat and some just before one.
TIMES_MS = range(30_000, 31_300, 50)


@pytest.mark.parametrize("backoff_ms", ["100", "70"])
def test_beats_during_long_work_after_a_calm_come_when_they_would_have(backoff_ms):
    backoff = {"retry.backoff.ms": backoff_ms}

    differ = [at for at in TIMES_MS if rows("skip", at, **backoff) != rows("play", at, **backoff)]

    assert differ == []


def test_beats_out_of_phase_would_be_noticed(monkeypatch):
    last_pass = Lulls._last_pass

    def late(self: Lulls, *args: object) -> tuple[int, int]:
        last_ms, look_ms = last_pass(self, *args)  # type: ignore[arg-type]
        return last_ms, look_ms + 37

    monkeypatch.setattr(Lulls, "_last_pass", late)

    assert any(rows("skip", at) != rows("play", at) for at in TIMES_MS)
