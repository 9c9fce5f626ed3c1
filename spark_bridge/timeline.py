"""Stays of groups in their states, and how long a death went unnoticed."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c

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
    return events.join(F.broadcast(events.transform(run_ends)), on=c.RUN, how="inner")


def state_intervals(events: DataFrame) -> DataFrame:
    """One row per stay of a group in a state; the last stay of a run is open (`left_ms` null)."""
    in_order = Window.partitionBy(c.RUN, c.GROUP).orderBy(c.SEQ)
    return events.where(F.col(c.KIND).isin(*_MOVES)).select(
        c.RUN,
        c.GROUP,
        c.SEQ,
        c.STATE,
        c.GENERATION,
        F.col(c.AT_MS).alias(c.ENTERED_MS),
        F.lead(c.AT_MS).over(in_order).alias(c.LEFT_MS),
        F.col(c.DETAIL).alias(c.REASON),
    )


def detections(events: DataFrame) -> DataFrame:
    """One row per crash of a member: when, and when the group removed it (null: never)."""
    crashes = events.where(F.col(c.KIND) == WorldEventKind.CONSUMER_CRASHED.value).select(
        c.RUN, c.GROUP, c.CLIENT, c.MEMBER, F.col(c.AT_MS).alias(c.CRASHED_MS)
    )
    removals = events.where(F.col(c.KIND) == EventKind.MEMBER_REMOVED.value).select(
        c.RUN,
        c.GROUP,
        c.MEMBER,
        F.col(c.AT_MS).alias(c.REMOVED_MS),
        F.col(c.DETAIL).alias(c.REASON),
    )
    is_same = [
        F.col(f"crash.{name}") == F.col(f"removal.{name}") for name in (c.RUN, c.GROUP, c.MEMBER)
    ]
    is_later = F.col(f"removal.{c.REMOVED_MS}") >= F.col(f"crash.{c.CRASHED_MS}")
    of_a_crash = [F.col(f"crash.{name}") for name in (c.RUN, c.GROUP, c.CLIENT, c.MEMBER)]
    # A load may bring a dead member back, to be removed once more: the first removal counts.
    first = F.min(F.struct(f"removal.{c.REMOVED_MS}", f"removal.{c.REASON}"))
    return (
        crashes.alias("crash")
        .join(removals.alias("removal"), on=[*is_same, is_later], how="left")
        .groupBy(*of_a_crash, F.col(f"crash.{c.CRASHED_MS}"))
        .agg(first.alias("first"))
        .select(
            *(c.RUN, c.GROUP, c.CLIENT, c.MEMBER, c.CRASHED_MS),
            *(f"first.{c.REMOVED_MS}", f"first.{c.REASON}"),
        )
    )
