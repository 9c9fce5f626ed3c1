"""A sweep: which settings of a scenario, which seeds, and how its runs are dealt out in chunks.

Its runs are numbered seed by seed, so that what has been played so far is about all settings alike.
A chunk has so many of them in a row. Which chunk a run is in, and which task plays it, says nothing
of its result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Self

from attrs import asdict, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simulation.scenarios import Limits, Scenario
from simulation.scenarios.grids import Axis
from simulation.version import KAFKA_VERSION, VERSION
from spark_bridge import columns as c

#: A chunk is this share of a sweep: what an interrupt costs at most, for each chunk under way.
_CHUNKS = 50
#: And at least and at most so many runs for each core, since a chunk has a price of its own.
_RUNS_PER_CORE_MIN, _RUNS_PER_CORE_MAX = 16, 128


def _versions() -> dict[str, str]:
    return {"groupsim": VERSION, "kafka": KAFKA_VERSION}


@frozen(kw_only=True)
class Sweep:
    """What is played: every setting with every seed."""

    #: In the form of a file, with the variants that are wanted.
    scenario: Mapping[str, Any]
    variants: Sequence[str]
    #: The texts of the values to try, by the paths where.
    axes: Mapping[str, Sequence[str]]
    first_seed: int
    seeds: int
    limits: Mapping[str, int]
    allow_python: bool = False
    keeps_events: bool = False
    #: Another version may play otherwise.
    versions: Mapping[str, str] = field(factory=_versions)
    runs_per_chunk: int = field(default=1, eq=False)
    #: What it was asked for by, to repeat one of its runs: a name or a file, and `--set`.
    source: str = field(default="", eq=False)
    changes: Sequence[str] = field(factory=list, eq=False)

    @classmethod
    def of(  # noqa: PLR0913 - each is named where it is called
        cls,
        scenario: Scenario,
        axes: Sequence[Axis],
        *,
        seeds: int,
        first_seed: int | None = None,
        limits: Limits | None = None,
        allow_python: bool = False,
        keeps_events: bool = False,
    ) -> Self:
        """The sweep of a scenario over some axes."""
        return cls(
            scenario=scenario.to_dict(),
            variants=list(scenario.variant_names),
            axes={axis.path: list(axis.texts) for axis in axes},
            first_seed=scenario.seed if first_seed is None else first_seed,
            seeds=seeds,
            limits=asdict(limits or Limits()),
            allow_python=allow_python,
            keeps_events=keeps_events,
        )

    @property
    def settings(self) -> int:
        """How many settings it has."""
        return len(self.variants) * prod(len(values) for values in self.axes.values())

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return self.settings * self.seeds

    @property
    def chunks(self) -> int:
        """How many chunks its runs are dealt out in."""
        return -(-self.runs // self.runs_per_chunk)

    def runs_of(self, chunk: int) -> range:
        """The numbers of a chunk's runs."""
        first = chunk * self.runs_per_chunk
        return range(first, min(first + self.runs_per_chunk, self.runs))

    def to_json(self) -> str:
        """As the text of its file."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def usual_chunk(runs: int, cores: int) -> int:
    """How many runs to put in a chunk: small enough to lose, large enough to be worth a job."""
    least, most = _RUNS_PER_CORE_MIN * cores, _RUNS_PER_CORE_MAX * cores
    return max(least, min(runs // _CHUNKS, most))


def planned_runs(spark: SparkSession, sweep: Sweep, chunk: int, tasks: int) -> DataFrame:
    """One row per run of a chunk, in so many tasks: its setting's number and its seed."""
    runs = sweep.runs_of(chunk)
    number = F.col(c.NUMBER)
    numbers = spark.range(runs.start, runs.stop, 1, min(tasks, len(runs)))
    return numbers.toDF(c.NUMBER).select(
        (number % sweep.settings).cast("int").alias(c.SETTING),
        (F.floor(number / sweep.settings) + sweep.first_seed).alias(c.SEED),
    )
