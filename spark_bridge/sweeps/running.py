"""Plays what is missing of a plan: chunk by chunk, several at a time, so that no core waits.

A chunk is a Spark job. While the last runs of one are still being played, the tasks of the next
are already at work. Each is kept as soon as it is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress

import pyarrow as pa
from attrs import frozen
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from simulation.scenarios import Limits
from simulation.scenarios.grids import Setting
from spark_bridge import columns as c
from spark_bridge.luggage import travel
from spark_bridge.sweeps.folder import Folder, Workshop
from spark_bridge.sweeps.plan import Plan, planned_runs
from spark_bridge.sweeps.playing import Manner, PlannedSetting, PlayRuns
from spark_bridge.sweeps.sweep import Sweep
from spark_bridge.urls import url_of

#: So many tasks for each core in a chunk: the fewer, the cheaper; the more, the sooner it is whole.
_TASKS_PER_CORE = 2
#: Spark deals out so many numbers over all the cores it has.
_NUMBERS = 1 << 16
#: So often whoever waits hears something, if only that nothing is new.
_WORD_EACH_S = 1.0

#: What `mapInArrow` calls in a task: planned runs in, rows out.
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def cores_of(spark: SparkSession) -> int:
    """How many tasks Spark does at a time; a Connect server tells only by its deeds."""
    numbers = spark.range(_NUMBERS).select(F.spark_partition_id().alias(c.NUMBER))
    (row,) = numbers.agg(F.max(c.NUMBER)).collect()
    return int(row[0]) + 1


def task_of(folder: Folder[Sweep], settings: Sequence[Setting]) -> PlayRuns:
    """What the tasks of a sweep do."""
    sweep = folder.plan
    manner = Manner(
        limits=Limits(**sweep.limits),
        allow_python=sweep.allow_python,
        runs=str(folder.runs.resolve()) if sweep.keeps_events else None,
    )
    return PlayRuns(tuple(map(PlannedSetting.of, settings)), manner)


def play_missing(
    spark: SparkSession, workshop: Workshop[Plan], task: Task, cores: int
) -> Generator[list[int], None, None]:
    """Play every chunk that is not there yet; tell now and then which ones have been kept since.

    To close it is to give up what is still being played.
    """
    missing = workshop.folder.missing()
    if not missing:
        return
    travel(spark)
    job = _Job(spark, workshop, task, _TASKS_PER_CORE * cores)
    # Behind the one that is nearly done, enough of them for every core.
    at_once = 1 + -(-cores // min(job.tasks, workshop.folder.plan.runs_per_chunk))
    with ThreadPoolExecutor(at_once) as threads:
        under_way = {threads.submit(job.play, chunk): chunk for chunk in missing}
        try:
            while under_way:
                done, _ = wait(under_way, timeout=_WORD_EACH_S, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()  # a job that failed raises
                yield sorted(under_way.pop(future) for future in done)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            with suppress(PySparkException):  # it may be what has failed
                spark.interruptAll()
            raise


@frozen(eq=False)
class _Job:
    """How a chunk is played."""

    spark: SparkSession
    workshop: Workshop[Plan]
    task: Task
    tasks: int

    def play(self, chunk: int) -> None:
        plan = self.workshop.folder.plan
        planned = planned_runs(self.spark, plan, plan.chunks()[chunk], self.tasks)
        rows = planned.mapInArrow(self.task, plan.ROWS)
        rows.write.mode("overwrite").parquet(url_of(self.workshop.place_of(chunk)))
        self.workshop.keep(chunk)
