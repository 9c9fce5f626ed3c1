"""Stays of groups in their states, and where runs end."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c
from spark_bridge.windows import in_order

#: The events that say which state a group is in from then on.
_MOVES = tuple(
    kind.value
    for kind in (EventKind.GROUP_CREATED, EventKind.GROUP_LOADED, EventKind.STATE_CHANGED)
)


def run_ends(events: DataFrame) -> DataFrame:
    """One row per run: the time of its last row, up to which everything open is counted."""
    return events.groupBy(c.RUN).agg(F.max(c.AT_MS).alias(c.UNTIL_MS))


def until_the_end(events: DataFrame) -> DataFrame:
    """The same rows, each with the time of the last row of its run."""
    if c.UNTIL_MS in events.columns:  # as layout.py leaves them
        return events
    return events.join(F.broadcast(events.transform(run_ends)), on=c.RUN, how="inner")


def state_intervals(events: DataFrame) -> DataFrame:
    """One row per stay of a group in a state; the last stay of a run is open (`left_ms` null)."""
    return events.where(F.col(c.KIND).isin(*_MOVES)).select(
        c.RUN,
        c.GROUP,
        c.SEQ,
        c.STATE,
        c.GENERATION,
        F.col(c.AT_MS).alias(c.ENTERED_MS),
        F.lead(c.AT_MS).over(in_order(c.RUN, c.GROUP)).alias(c.LEFT_MS),
        F.col(c.DETAIL).alias(c.REASON),
    )
