"""The windows that the analyses look through, always in the order of `seq`, never of time alone.

They are functions because a window cannot be made before there is a session.
"""

from __future__ import annotations

from pyspark.sql import Window, WindowSpec

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


def all_of(*keys: str) -> WindowSpec:
    """All rows with these keys, also those to come."""
    return Window.partitionBy(*keys)
