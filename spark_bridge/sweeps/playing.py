"""What a task of a sweep does: it plays whole simulations, one row of measures for each.

This runs on the workers. It takes the simulator and pyarrow from them or from our luggage, and
nothing of Spark.
"""

from __future__ import annotations

import json
import shutil
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from attrs import frozen

from simulation.errors import SimulationError
from simulation.measures import MEASURES
from simulation.recording import record
from simulation.scenarios import Limits, RunResult, Scenario, play
from simulation.scenarios.grids import Setting
from simulation.scenarios.playing import PlayOptions
from spark_bridge import columns as c

_VALUES = pa.struct([pa.field(name, pa.list_(pa.float64())) for name in MEASURES])
_FIELDS: list[pa.Field[Any]] = [
    pa.field(c.SETTING, pa.int32()),
    pa.field(c.VARIANT, pa.string()),
    pa.field(c.CHOSEN, pa.map_(pa.string(), pa.string())),
    pa.field(c.SEED, pa.int64()),
    pa.field(c.RUN, pa.string()),
    pa.field(c.ERROR, pa.string()),
    pa.field(c.HELD, pa.bool_()),
    pa.field(c.MESSAGES, pa.list_(pa.string())),
    pa.field(c.ENDED_MS, pa.int64()),
    pa.field(c.EVENT_COUNT, pa.int64()),
    *(pa.field(name, pa.float64()) for name in MEASURES),
    pa.field(c.VALUES, _VALUES),
]
#: A run, as its task answers for it.
RESULT = pa.schema(_FIELDS)


@frozen(kw_only=True)
class PlannedSetting:
    """A setting as it travels to the workers."""

    variant: str
    chosen: tuple[tuple[str, str], ...]
    name: str
    #: As JSON: text travels well, and is read once in each process.
    scenario: str

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """The same setting, packed."""
        return cls(
            variant=setting.variant,
            chosen=tuple(setting.chosen.items()),
            name=setting.scenario.name,
            scenario=json.dumps(setting.scenario.to_dict(), ensure_ascii=False),
        )


@frozen(kw_only=True)
class Manner:
    """How the runs of a sweep are played."""

    limits: Limits
    allow_python: bool = False
    #: Where run directories are kept; None if only the measures are.
    runs: str | None = None


@frozen
class PlayRuns:
    """What `mapInArrow` calls in a task: planned runs in, what came of them out, one by one."""

    settings: tuple[PlannedSetting, ...]
    manner: Manner

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Play one run after the other; one that fails is a row that says how."""
        for batch in batches:
            for planned in batch.to_pylist():
                row = self._row(planned[c.SETTING], planned[c.SEED])
                yield pa.RecordBatch.from_pylist([row], schema=RESULT)

    def _row(self, number: int, seed: int) -> dict[str, Any]:
        setting = self.settings[number]
        run = f"{setting.name}-setting-{number}-seed-{seed}"
        known = {
            c.SETTING: number,
            c.VARIANT: setting.variant,
            c.CHOSEN: setting.chosen,
            c.SEED: seed,
            c.RUN: run,
        }
        try:
            return known | _told(self._played(setting, seed, run))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this run's answer
            return known | {c.ERROR: told_error(error)}

    def _played(self, setting: PlannedSetting, seed: int, run: str) -> RunResult:
        manner = self.manner
        scenario = _scenario(setting.scenario, manner)
        options = PlayOptions(
            seed=seed, run=run, limits=manner.limits, allow_python=manner.allow_python
        )
        if manner.runs is None:
            return play(scenario, **options)
        path = Path(manner.runs, run)
        # It was kept by a chunk that did not come to its end; the same run takes its place.
        shutil.rmtree(path, ignore_errors=True)
        return record(scenario, path, **options)


@cache
def _scenario(text: str, manner: Manner) -> Scenario:
    """A setting's scenario, read once for all its runs in this process."""
    return Scenario.from_dict(
        json.loads(text), allow_python=manner.allow_python, limits=manner.limits
    )


def _told(result: RunResult) -> dict[str, Any]:
    measures = result.measures
    return {
        c.HELD: result.held,
        c.MESSAGES: [str(each) for each in result.violations],
        c.ENDED_MS: result.ended_ms,
        c.EVENT_COUNT: result.events,
        **{name: float(figure) for name, figure in measures.figures().items()},
        c.VALUES: {name: list(map(float, measures.values(name).values())) for name in MEASURES},
    }


def told_error(error: Exception) -> str:
    """What ended a run, in a line; a mistake that is not the scenario's says where it was made."""
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    said = f"{type(error).__name__}: {error}{notes}"
    if isinstance(error, SimulationError):
        return said
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{said}; in {Path(frame.filename).name}, line {frame.lineno}"
