"""The windows that the analyses look through, always in the order of `seq`, never of time alone.

They are functions because a window cannot be made before there is a session.
"""

from __future__ import annotations

from pyspark.sql import Column, Window, WindowSpec
from pyspark.sql import functions as F

from spark_bridge import columns as c


def in_order(*keys: str) -> WindowSpec:
    """The rows with these keys, one after the other."""
    return Window.partitionBy(*keys).orderBy(c.SEQ)


def so_far(*keys: str) -> WindowSpec:
    """The rows with these keys up to the present one."""
    return in_order(*keys).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def before(*keys: str) -> WindowSpec:
    """The rows with these keys before the present one."""
    return in_order(*keys).rowsBetween(Window.unboundedPreceding, -1)


def to_come(*keys: str) -> WindowSpec:
    """The rows with these keys after the present one, the last of all first.

    In the other order Spark would look at all of them anew from every row.
    """
    backwards = Window.partitionBy(*keys).orderBy(F.desc(c.SEQ))
    return backwards.rowsBetween(Window.unboundedPreceding, -1)


def all_of(*keys: str) -> WindowSpec:
    """All rows with these keys, also those to come."""
    return Window.partitionBy(*keys)


def greatest_since(number: str, value: Column, window: WindowSpec) -> Column:
    """The greatest of the values, in this window, that have the present row's number.

    Numbers only rise, so it is as if they were among the window's keys; but rows are put in order
    once for each set of keys, and this needs no other order than the window has.
    """
    numbered = F.struct(F.col(number), value.alias(c.VALUE))
    greatest = F.max(F.when(value.isNotNull(), numbered)).over(window)
    return F.when(greatest[number] == F.col(number), greatest[c.VALUE])
