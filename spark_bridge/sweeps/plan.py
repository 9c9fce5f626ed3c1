"""A plan of many runs: which seeds, and how the runs are dealt out in chunks.

Its runs are numbered seed by seed, so that what has been played so far is about all settings alike,
and so that seeds can be added. A chunk has so many runs in a row. Which chunk a run is in, and
which task plays it, says nothing of its result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import asdict, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from simulation.version import KAFKA_VERSION, VERSION
from spark_bridge import columns as c

#: A chunk is this share of a plan: what an interrupt costs at most, for each chunk under way.
_CHUNKS = 50
#: And at least and at most so many runs for each core, since a chunk has a price of its own.
_RUNS_PER_CORE_MIN, _RUNS_PER_CORE_MAX = 16, 128


def _versions() -> dict[str, str]:
    return {"groupsim": VERSION, "kafka": KAFKA_VERSION}


@frozen(kw_only=True)
class Plan:
    """What is played: every setting with every seed."""

    #: What it is called, the file that it is kept in, and the rows that come of it.
    WORD: ClassVar[str]
    FILE: ClassVar[str]
    ROWS: ClassVar[StructType]
    #: What a difference between two plans is called on the command line.
    CALLED: ClassVar[Mapping[str, str]]
    #: What seeds are called there.
    SEEDS: ClassVar[str]
    #: How the names of files begin that may be in its folder before it is begun.
    AT_HOME: ClassVar[tuple[str, ...]] = (".", "results")

    first_seed: int
    seeds: int
    #: Another version may play otherwise.
    versions: Mapping[str, str] = field(factory=_versions)
    runs_per_chunk: int = field(default=1, eq=False)
    #: For each time that seeds were added: how many runs there were before, in chunks of how many.
    before: Sequence[Sequence[int]] = field(factory=list, eq=False)

    @property
    def settings(self) -> int:
        """How many settings it has."""
        return 1

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return self.settings * self.seeds

    def chunks(self) -> list[range]:
        """The numbers of each chunk's runs; those that were dealt out before stay as they were."""
        found: list[range] = []
        first = 0
        for last, size in (*self.before, (self.runs, self.runs_per_chunk)):
            found += [range(n, min(n + size, last)) for n in range(first, last, size)]
            first = last
        return found

    def to_json(self) -> str:
        """As the text of its file."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def usual_chunk(runs: int, cores: int) -> int:
    """How many runs to put in a chunk: small enough to lose, large enough to be worth a job."""
    least, most = _RUNS_PER_CORE_MIN * cores, _RUNS_PER_CORE_MAX * cores
    return max(least, min(runs // _CHUNKS, most))


def planned_runs(spark: SparkSession, plan: Plan, runs: range, tasks: int) -> DataFrame:
    """One row per run of a chunk, in so many tasks: its setting's number and its seed."""
    number = F.col(c.NUMBER)
    numbers = spark.range(runs.start, runs.stop, 1, min(tasks, len(runs)))
    return numbers.toDF(c.NUMBER).select(
        (number % plan.settings).cast("int").alias(c.SETTING),
        (F.floor(number / plan.settings) + plan.first_seed).alias(c.SEED),
    )
