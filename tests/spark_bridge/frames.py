"""Frames from rows that are written in a test, and back."""

from __future__ import annotations

from typing import Any

from attrs import astuple, evolve
from pyspark.sql import DataFrame, SparkSession

from simulation.events import Kind, Row
from spark_bridge import columns as c
from spark_bridge import schemas


def an_event(kind: Kind, at_ms: int, **facts: Any) -> Row:
    """One row; its `seq` follows from its place in `events`, unless it is given."""
    usual: dict[str, Any] = {"seq": 0, "run": "a-run", "group": "g"}
    return Row(**usual | facts, at_ms=at_ms, kind=kind.value)


def events(spark: SparkSession, *rows: Row) -> DataFrame:
    """These events, in this order."""
    numbered = [row if row.seq else evolve(row, seq=place) for place, row in enumerate(rows, 1)]
    return spark.createDataFrame([astuple(row) for row in numbered], schemas.EVENTS).coalesce(1)


def rows_of(frame: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """The rows of a small frame, reduced to these columns and put in their order."""
    return [tuple(row) for row in frame.select(*names).orderBy(*names).collect()]


#: What tells one partition of one group from another.
PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
