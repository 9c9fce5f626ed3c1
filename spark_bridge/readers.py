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
from spark_bridge.values import or_false, or_zero
from spark_bridge.windows import before, greatest_since, in_order, so_far

ASSIGNED = WorldEventKind.PARTITION_ASSIGNED.value
POSITION = WorldEventKind.POSITION_SET.value
RETURNED = WorldEventKind.RECORDS_RETURNED.value
PROCESSED = WorldEventKind.RECORDS_PROCESSED.value
STOPS = (WorldEventKind.PARTITION_REVOKED.value, WorldEventKind.PARTITION_LOST.value)
GONE = (WorldEventKind.CONSUMER_CRASHED.value, WorldEventKind.CONSUMER_STOPPED.value)
COMMIT_FAILED = WorldEventKind.COMMIT_FAILED.value
SAID = COMMITTED, FORGOTTEN = EventKind.OFFSET_COMMITTED.value, EventKind.OFFSET_REMOVED.value

PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
#: A partition until its topic is deleted, and a consumer there until it is gone.
A_LIFE = (*PLACE, c.LIFE)
A_TENURE = (*A_LIFE, c.CLIENT, c.TENURE)
_AT_PLACE = (*A_LIFE, c.CLIENT)
_SHOWN = (
    *(*PLACE, c.CLIENT),
    *(c.SEQ, c.AT_MS, c.KIND, c.OFFSET, c.END_OFFSET, c.ERROR, c.DETAIL),
)


def reader_rows(events: DataFrame) -> DataFrame:
    """One row per event about a partition's records or readers, with what the reader is then.

    All of it is told from one order of the rows: those of a consumer at a partition. From
    `in_hand_from` up to `in_hand_end` is what it has been handed and has not processed yet, and
    `is_last` says that no other row of it follows. What the coordinator says of offsets is no
    reader's, and tells nothing of one.
    """
    return (
        _concerning(events)
        .transform(with_lives, events)
        .transform(_with_stays)
        .transform(_with_batches)
        .unionByName(_said(events).transform(with_lives, events), allowMissingColumns=True)
    )


def _concerning(events: DataFrame) -> DataFrame:
    """The rows about partitions that groups read, and the ends of consumers for each of theirs."""
    kind = F.col(c.KIND)
    kinds = (ASSIGNED, POSITION, RETURNED, PROCESSED, *STOPS, COMMIT_FAILED)
    own = events.where(kind.isin(*kinds) & _is_placed())
    places = own.where(kind == ASSIGNED).select(*PLACE, c.CLIENT).distinct()
    gone = events.where(kind.isin(*GONE)).drop(c.GROUP, c.TOPIC, c.PARTITION)
    theirs = gone.join(places, on=[c.RUN, c.CLIENT], how="inner")
    return own.select(*_SHOWN).unionByName(theirs.select(*_SHOWN))


def _said(events: DataFrame) -> DataFrame:
    """The rows in which a coordinator takes an offset or forgets it."""
    return events.where(F.col(c.KIND).isin(*SAID) & _is_placed()).select(*_SHOWN).drop(c.AT_MS)


def _is_placed() -> Column:
    return F.col(c.GROUP).isNotNull() & F.col(c.TOPIC).isNotNull() & F.col(c.PARTITION).isNotNull()


def _with_stays(rows: DataFrame) -> DataFrame:
    """The rows with who reads, and since when.

    `since` is the last row with which the consumer was gone, `stay_since` the last one that gave it
    the partition. What is counted from them needs no windows of its own.
    """
    kind, seq = F.col(c.KIND), F.col(c.SEQ)
    is_handed = (kind == RETURNED) & F.col(c.OFFSET).isNotNull() & F.col(c.END_OFFSET).isNotNull()
    came, began = F.col(c.CAME), F.greatest(c.CAME, c.SINCE)
    return (
        rows.withColumns(
            {
                c.TENURE: or_zero(F.count_if(kind.isin(*GONE)).over(before(*_AT_PLACE))),
                c.SINCE: or_zero(F.max(F.when(kind.isin(*GONE), seq)).over(before(*_AT_PLACE))),
                c.CAME: or_zero(F.max(F.when(kind == ASSIGNED, seq)).over(so_far(*_AT_PLACE))),
                c.HANDED: or_zero(F.max(F.when(is_handed, seq)).over(so_far(*_AT_PLACE))),
                c.ENDING: or_zero(F.max(F.when(kind.isin(*STOPS), seq)).over(so_far(*_AT_PLACE))),
                c.IS_LAST: F.lead(seq).over(in_order(*_AT_PLACE)).isNull(),
            }
        )
        .withColumns(
            {
                c.IS_READER: came > F.col(c.SINCE),
                c.HAS_READ: F.col(c.HANDED) > began,
                c.IS_READING: F.col(c.ENDING) <= began,
                c.IS_NEW: is_handed & (came > F.col(c.SINCE)),
            }
        )
        .drop(c.CAME, c.ENDING)
    )


def _with_batches(rows: DataFrame) -> DataFrame:
    """Two ranges of one poll are one batch; a later poll means that the last batch is done with."""
    at_place, earlier, since = so_far(*_AT_PLACE), before(*_AT_PLACE), F.col(c.SINCE)
    done = F.when(F.col(c.KIND) == PROCESSED, F.col(c.END_OFFSET))
    poll = F.when(F.col(c.IS_NEW), F.struct(c.SEQ, c.AT_MS, c.END_OFFSET))
    # Of the poll before, in a row that begins the next one.
    last, last_done = F.col(c.LAST), F.col(c.DONE)
    is_finished = (last_done[c.HANDED] == last[c.SEQ]) & (
        last_done[c.END_OFFSET] >= last[c.END_OFFSET]
    )
    is_other = (last[c.SEQ] > since) & (last[c.AT_MS] == F.col(c.AT_MS)) & ~or_false(is_finished)
    first_offset = -greatest_since(c.BATCH, F.when(F.col(c.IS_NEW), -F.col(c.OFFSET)), at_place)
    in_hand_from = F.greatest(first_offset, greatest_since(c.BATCH, done, at_place))
    is_left = F.col(c.IS_READER) & (F.col(c.BATCH) > since)
    return (
        rows.withColumns(
            {
                c.LATEST: F.last(poll, ignorenulls=True).over(at_place),
                c.LAST: F.last(poll, ignorenulls=True).over(earlier),
                c.DONE: F.max(
                    F.when(done.isNotNull(), F.struct(c.HANDED, done.alias(c.END_OFFSET)))
                ).over(earlier),
            }
        )
        .withColumn(c.IS_NEW_BATCH, F.col(c.IS_NEW) & ~or_false(is_other))
        .withColumn(
            c.BATCH, or_zero(F.max(F.when(F.col(c.IS_NEW_BATCH), F.col(c.SEQ))).over(at_place))
        )
        .withColumn(c.IN_HAND_FROM, in_hand_from)
        .withColumn(c.IN_HAND_END, F.col(c.LATEST)[c.END_OFFSET])
        .withColumn(c.HAS_IN_HAND, is_left & or_false(F.col(c.IN_HAND_FROM) < F.col(c.IN_HAND_END)))
        .drop(c.SINCE, c.HANDED, c.IS_NEW, c.IS_NEW_BATCH, c.LATEST, c.LAST, c.DONE, c.BATCH)
        .drop(c.AT_MS)
    )
