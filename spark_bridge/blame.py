"""How a violation is told, and small columns that several checks are made of."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_bridge import columns as c
from spark_bridge.values import said


def as_violation(checker: str, other_seq: Column, *seen: Column | str) -> list[Column]:
    """The row at hand as a violation: whose sentence it breaks, beside which row, what was seen."""
    return [
        *map(F.col, (c.RUN, c.GROUP)),
        F.lit(checker).alias(c.CHECKER),
        F.col(c.AT_MS),
        other_seq.alias(c.OTHER_SEQ),
        F.col(c.SEQ),
        said(*seen).alias(c.SEEN),
    ]


def place() -> Column:
    """A partition as one group reads it: "orders-0 of checkout"."""
    return said(F.col(c.TOPIC), "-", F.col(c.PARTITION), " of ", F.col(c.GROUP))


def is_placed() -> Column:
    """Is the row about a partition that a group reads?"""
    names = (c.GROUP, c.TOPIC, c.PARTITION)
    return F.col(names[0]).isNotNull() & F.col(names[1]).isNotNull() & F.col(names[2]).isNotNull()
