"""Consumers at partitions, row by row: who reads, why it began where it did, what it has in hand.

A consumer is a reader of a partition from its first assignment until it is gone; it keeps what it
has in hand when the partition is taken from it, and loses it when it dies.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.lives import with_lives
from spark_bridge.values import or_false
from spark_bridge.windows import all_of, before, in_order, so_far

ASSIGNED = WorldEventKind.PARTITION_ASSIGNED.value
POSITION = WorldEventKind.POSITION_SET.value
RETURNED = WorldEventKind.RECORDS_RETURNED.value
PROCESSED = WorldEventKind.RECORDS_PROCESSED.value
STOPS = (WorldEventKind.PARTITION_REVOKED.value, WorldEventKind.PARTITION_LOST.value)
GONE = (WorldEventKind.CONSUMER_CRASHED.value, WorldEventKind.CONSUMER_STOPPED.value)
COMMIT_FAILED = WorldEventKind.COMMIT_FAILED.value
COMMITTED, FORGOTTEN = EventKind.OFFSET_COMMITTED.value, EventKind.OFFSET_REMOVED.value

PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
#: A partition until its topic is deleted, and a consumer there until it is gone.
A_LIFE = (*PLACE, c.LIFE)
A_TENURE = (*A_LIFE, c.CLIENT, c.TENURE)
_A_STAY, _A_POLL, _A_BATCH = (*A_TENURE, c.STAY), (*A_TENURE, c.HANDED), (*A_TENURE, c.BATCH)


def reader_rows(events: DataFrame) -> DataFrame:
    """One row per event about a partition's records or readers, with what the reader is then.

    `in_hand_from` up to `in_hand_end` is what it has been handed and has not processed yet.
    """
    return (
        _concerning(events)
        .transform(with_lives, events)
        .transform(_with_stays)
        .transform(_with_batches)
    )


def _concerning(events: DataFrame) -> DataFrame:
    """The rows about partitions that groups read, and the ends of consumers for each of theirs."""
    kind = F.col(c.KIND)
    is_placed = (
        F.col(c.GROUP).isNotNull() & F.col(c.TOPIC).isNotNull() & F.col(c.PARTITION).isNotNull()
    )
    kinds = (ASSIGNED, POSITION, RETURNED, PROCESSED, *STOPS, COMMIT_FAILED, COMMITTED, FORGOTTEN)
    shown = (c.SEQ, c.AT_MS, c.KIND, c.OFFSET, c.END_OFFSET, c.ERROR, c.DETAIL)
    own = events.where(kind.isin(*kinds) & is_placed)
    places = own.where(kind == ASSIGNED).select(*PLACE, c.CLIENT).distinct()
    gone = events.where(kind.isin(*GONE)).drop(c.GROUP, c.TOPIC, c.PARTITION)
    theirs = gone.join(places, on=[c.RUN, c.CLIENT], how="inner")
    return own.select(*PLACE, c.CLIENT, *shown).unionByName(theirs.select(*PLACE, c.CLIENT, *shown))


def _with_stays(rows: DataFrame) -> DataFrame:
    kind, at_a_time = F.col(c.KIND), (*A_LIFE, c.CLIENT)
    is_handed = (kind == RETURNED) & F.col(c.OFFSET).isNotNull() & F.col(c.END_OFFSET).isNotNull()
    tenure = F.count_if(kind.isin(*GONE)).over(before(*at_a_time))
    return (
        rows.withColumn(c.TENURE, F.coalesce(tenure, F.lit(0)))
        .withColumn(c.STAY, F.count_if(kind == ASSIGNED).over(so_far(*A_TENURE)))
        .withColumns(
            {
                c.IS_READER: F.col(c.STAY) > 0,
                c.HAS_READ: F.bool_or(is_handed).over(so_far(*_A_STAY)),
                c.IS_READING: ~F.bool_or(kind.isin(*STOPS)).over(so_far(*_A_STAY)),
                c.HANDED: F.count_if(is_handed).over(so_far(*A_TENURE)),
            }
        )
    )


def _with_batches(rows: DataFrame) -> DataFrame:
    """Two ranges of one poll are one batch; a later poll means that the last batch is done with."""
    kind = F.col(c.KIND)
    handed_end = F.first(F.when(kind == RETURNED, F.col(c.END_OFFSET)))
    done_to = F.max(F.when(kind == PROCESSED, F.col(c.END_OFFSET)))
    is_finished = done_to.over(all_of(*_A_POLL)) >= F.col(c.IN_HAND_END)
    is_handed = F.col(c.IS_READER) & _is_first_of(_A_POLL) & (kind == RETURNED)
    last = F.lag(F.struct(c.AT_MS, c.FINISHED)).over(in_order(*A_TENURE, c.IS_NEW))
    is_new = last.isNull() | (last[c.AT_MS] != F.col(c.AT_MS)) | last[c.FINISHED]
    first_offset = F.min(F.when(F.col(c.IS_NEW), F.col(c.OFFSET)))
    in_hand_from = F.greatest(first_offset.over(so_far(*_A_BATCH)), done_to.over(so_far(*_A_BATCH)))
    is_left = F.col(c.IS_READER) & (F.col(c.BATCH) > 0)
    return (
        rows.withColumn(c.IN_HAND_END, handed_end.over(so_far(*_A_POLL)))
        .withColumns({c.FINISHED: or_false(is_finished), c.IS_NEW: is_handed})
        .withColumn(c.BATCH, F.col(c.IS_NEW) & is_new)
        .withColumn(c.BATCH, F.count_if(c.BATCH).over(so_far(*A_TENURE)))
        .withColumn(c.IN_HAND_FROM, in_hand_from)
        .withColumn(c.HAS_IN_HAND, is_left & or_false(F.col(c.IN_HAND_FROM) < F.col(c.IN_HAND_END)))
        .drop(c.FINISHED, c.IS_NEW)
    )


def _is_first_of(keys: tuple[str, ...]) -> Column:
    return F.row_number().over(in_order(*keys)) == 1
