"""Plays what is missing of a sweep: chunk by chunk, several at a time, so that no core waits.

A chunk is a Spark job. While the last runs of one are still being played, the tasks of the next
are already at work. Each is kept as soon as it is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress

from attrs import frozen
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from simulation.scenarios import Limits
from simulation.scenarios.grids import Setting
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.luggage import travel
from spark_bridge.sweeps.folder import Workshop
from spark_bridge.sweeps.playing import Manner, PlannedSetting, PlayRuns
from spark_bridge.sweeps.sweep import planned_runs
from spark_bridge.urls import url_of

#: So many tasks for each core in a chunk: the fewer, the cheaper; the more, the sooner it is whole.
_TASKS_PER_CORE = 2
#: Spark deals out so many numbers over all the cores it has.
_NUMBERS = 1 << 16

#: Hears how many more runs are kept.
Heard = Callable[[int], object]


def cores_of(spark: SparkSession) -> int:
    """How many tasks Spark does at a time; a Connect server tells only by its deeds."""
    numbers = spark.range(_NUMBERS).select(F.spark_partition_id().alias(c.NUMBER))
    (row,) = numbers.agg(F.max(c.NUMBER)).collect()
    return int(row[0]) + 1


def play_missing(
    spark: SparkSession, workshop: Workshop, settings: Sequence[Setting], cores: int, heard: Heard
) -> None:
    """Play every chunk that is not there yet, and keep each as soon as it is whole."""
    missing = workshop.folder.missing()
    if not missing:
        return
    travel(spark)
    job = _Job(spark, workshop, tuple(map(PlannedSetting.of, settings)), _TASKS_PER_CORE * cores)
    sweep = workshop.folder.sweep
    # Behind the one that is nearly done, enough of them for every core.
    at_once = 1 + -(-cores // min(job.tasks, sweep.runs_per_chunk))
    waiting = iter(missing)
    with ThreadPoolExecutor(at_once) as threads:
        under_way = {threads.submit(job.play, chunk): chunk for chunk in _next(waiting, at_once)}
        try:
            while under_way:
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for chunk in _ended(under_way, done):
                    workshop.keep(chunk)
                    heard(len(sweep.runs_of(chunk)))
                    for other in _next(waiting, 1):
                        under_way[threads.submit(job.play, other)] = other
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            with suppress(PySparkException):  # it may be what has failed
                spark.interruptAll()
            raise


def _next(waiting: Iterator[int], count: int) -> list[int]:
    return [chunk for _, chunk in zip(range(count), waiting, strict=False)]


def _ended(under_way: dict[Future[None], int], done: set[Future[None]]) -> list[int]:
    """The chunks that are whole, in their order; a job that failed raises."""
    chunks = sorted(((under_way.pop(each), each) for each in done), key=lambda each: each[0])
    for _, future in chunks:
        future.result()
    return [chunk for chunk, _ in chunks]


@frozen(eq=False)
class _Job:
    """How a chunk is played."""

    spark: SparkSession
    workshop: Workshop
    settings: tuple[PlannedSetting, ...]
    tasks: int

    def play(self, chunk: int) -> None:
        folder = self.workshop.folder
        sweep = folder.sweep
        manner = Manner(
            limits=Limits(**sweep.limits),
            allow_python=sweep.allow_python,
            runs=str(folder.runs.resolve()) if sweep.keeps_events else None,
        )
        place = url_of(self.workshop.place_of(chunk))
        planned = planned_runs(self.spark, sweep, chunk, self.tasks)
        results = planned.mapInArrow(PlayRuns(self.settings, manner), schemas.SWEEP_RESULTS)
        results.write.mode("overwrite").parquet(place)
