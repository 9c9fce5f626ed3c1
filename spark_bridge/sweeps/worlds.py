"""A campaign on Spark: random worlds, each played in a task under all checkers, a row for each.

What is found is told, made smaller and saved by simulation/campaign.py, on the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, ClassVar

import pyarrow as pa
from attrs import asdict, frozen
from pyarrow import parquet
from pyspark.sql import SparkSession

from simulation.campaign import Failure, Judge, fail_of, judged
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.sweeps.folder import Folder, Workshop
from spark_bridge.sweeps.plan import Plan
from spark_bridge.sweeps.running import play_missing

_FIELDS: list[pa.Field[Any]] = [
    pa.field(c.SEED, pa.int64()),
    pa.field(c.KIND, pa.string()),
    pa.field(c.TOLD, pa.string()),
]
#: A world, as its task answers for it.
FOUND = pa.schema(_FIELDS)


@frozen(kw_only=True)
class Worlds(Plan):
    """What is played: the world of every seed."""

    WORD: ClassVar = "campaign"
    FILE: ClassVar = "campaign.json"
    ROWS: ClassVar = schemas.WORLDS
    SEEDS: ClassVar = "--worlds"
    AT_HOME: ClassVar = (*Plan.AT_HOME, "world_")
    CALLED: ClassVar = {"first_seed": "--seed", "versions": "the version of groupsim"}


@frozen
class PlayWorlds:
    """What `mapInArrow` calls in a task: seeds in, what came of their worlds out, one by one."""

    judge: Judge

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Play one world after the other; one that fails is a row that says how."""
        for batch in batches:
            for planned in batch.to_pylist():
                failure = judged(self.judge, planned[c.SEED])
                row = {c.SEED: planned[c.SEED]} if failure is None else asdict(failure)
                yield pa.RecordBatch.from_pylist([row], schema=FOUND)


def found_on_spark(
    spark: SparkSession,
    workshop: Workshop[Worlds],
    cores: int,
    heard: Callable[[int, int], object],
    judge: Judge = fail_of,
) -> Generator[Failure | None, None, None]:
    """How each world fails, if it does: first those that are there already, then as they are kept.

    A world is told when its chunk is whole. Now and then it is heard how many of those that were
    missing have been played.
    """
    folder = workshop.folder
    before = folder.runs_kept()
    for chunk in folder.chunks():
        yield from _found(folder, chunk)
    with closing(play_missing(spark, workshop, PlayWorlds(judge), cores)) as playing:
        for chunks in playing:
            heard(folder.runs_kept() - before, folder.plan.runs - before)
            for chunk in chunks:
                yield from _found(folder, chunk)


def _found(folder: Folder[Worlds], chunk: int) -> Iterator[Failure | None]:
    """What is kept of a chunk, in the order of seeds."""
    rows = parquet.read_table(folder.place_of(chunk), schema=FOUND).to_pylist()
    for row in sorted(rows, key=lambda row: row[c.SEED]):
        yield Failure(**row) if row[c.KIND] is not None else None
