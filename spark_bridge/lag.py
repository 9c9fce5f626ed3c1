"""How far groups are behind: in records, and in time since the first unread one was written.

A log's end is a function of time between two rows, and a position stands still between two rows. So
a lag is greatest just before or just after a position moves, or at the end: those are the looks
that are taken, and between two looks it changes steadily. Only the consumer that began to fetch
last counts.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from simulation.events import WorldEventKind
from spark_bridge import columns as c
from spark_bridge.lives import with_lives
from spark_bridge.timeline import until_the_end
from spark_bridge.values import AFTER_ALL
from spark_bridge.windows import in_order, so_far

_FETCH = WorldEventKind.FETCH_STARTED.value
_RETURNED = WorldEventKind.RECORDS_RETURNED.value
_MOVES = (_FETCH, _RETURNED, WorldEventKind.POSITION_SET.value)
_RATE = WorldEventKind.LOG_RATE_CHANGED.value
_PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
_A_LIFE = (*_PLACE, c.LIFE)
_LOG = (c.RUN, c.TOPIC, c.PARTITION, c.LIFE)


def lag_over_time(events: DataFrame) -> DataFrame:
    """One row per look at a partition: where its reader stood, and how far behind that was.

    A look is taken just before and just after a position moves, and at the end of the run. A reader
    that is not behind has a `lag` and a `lag_ms` of 0.
    """
    behind = F.col(c.LOG_END) - F.col(c.POSITION)
    is_behind = behind > 0
    return (
        until_the_end(events)
        .transform(_looks, events)
        .transform(_with_the_log, events)
        .select(
            *(*_PLACE, c.AT_MS, c.POSITION, c.LOG_END),
            F.when(is_behind, behind).otherwise(0).alias(c.LAG),
            F.when(is_behind, F.col(c.AT_MS) - _written_ms()).otherwise(0).alias(c.LAG_MS),
        )
    )


def greatest_lags(lags: DataFrame) -> DataFrame:
    """One row per partition that a group ever read: how far behind it was at worst.

    Takes what `lag_over_time` returns.
    """
    return lags.groupBy(*_PLACE).agg(F.max(c.LAG).alias(c.LAG), F.max(c.LAG_MS).alias(c.LAG_MS))


def _looks(events: DataFrame, all_events: DataFrame) -> DataFrame:
    """One row per look: who stood where, at what time, after which row."""
    kind = F.col(c.KIND)
    position = F.when(kind == _RETURNED, F.col(c.END_OFFSET)).otherwise(F.col(c.OFFSET))
    is_first = F.row_number().over(in_order(*_A_LIFE)) == 1
    begins = F.when(is_first | (kind == _FETCH), F.col(c.CLIENT))
    following = F.lead(F.struct(c.SEQ, c.AT_MS)).over(in_order(*_A_LIFE))
    end = F.struct(F.lit(AFTER_ALL).alias(c.SEQ), F.col(c.UNTIL_MS).alias(c.AT_MS))
    looks = F.array(F.struct(c.SEQ, c.AT_MS), F.coalesce(following, F.col(c.LIFE_ENDED), end))
    return (
        events.where(kind.isin(*_MOVES) & F.col(c.GROUP).isNotNull())
        .transform(with_lives, all_events)
        .withColumn(c.POSITION, position)
        .where(F.col(c.POSITION).isNotNull())
        .withColumn(c.BEGAN, begins)
        .withColumn(c.READER, F.last(c.BEGAN, ignorenulls=True).over(so_far(*_A_LIFE)))
        .where(F.col(c.READER) == F.col(c.CLIENT))
        .withColumn(c.LOOKS, looks)
        .select(*_A_LIFE, c.POSITION, F.inline(c.LOOKS))
    )


def _with_the_log(looks: DataFrame, events: DataFrame) -> DataFrame:
    """The looks with the log's end at that time, and the growth that wrote the record to be read.

    Both are found by putting looks and growths in one order: by `seq` for what is known at the
    time, by offset for who wrote what.
    """
    next_ms = F.lead(c.AT_MS).over(in_order(*_LOG))
    growth = F.struct(c.AT_MS, c.OFFSET, c.COUNT, c.DURATION_MS, next_ms.alias(c.NEXT_MS))
    growths = (
        events.where(F.col(c.KIND) == _RATE)
        .transform(with_lives, events)
        .select(*_LOG, c.SEQ, c.AT_MS, F.col(c.OFFSET).alias(c.POSITION), growth.alias(c.GROWTH))
    )
    before = Window.unboundedPreceding, Window.currentRow
    by_time = Window.partitionBy(*_LOG).orderBy(c.SEQ, c.IS_LOOK).rowsBetween(*before)
    by_offset = Window.partitionBy(*_LOG).orderBy(c.POSITION, c.IS_LOOK, c.SEQ).rowsBetween(*before)
    known = F.last(c.GROWTH, ignorenulls=True)
    return (
        looks.withColumn(c.IS_LOOK, F.lit(1))
        .unionByName(growths.withColumn(c.IS_LOOK, F.lit(0)), allowMissingColumns=True)
        .withColumns(
            {
                c.LATEST: known.over(by_time),
                c.WRITER: known.over(by_offset),
                c.OLDEST: F.first(c.GROWTH, ignorenulls=True).over(by_time),
            }
        )
        .where(F.col(c.IS_LOOK) == 1)
        .withColumn(c.LOG_END, _end_of(F.col(c.LATEST), F.col(c.AT_MS)))
    )


def _end_of(growth: Column, at_ms: Column) -> Column:
    """Where the log ends at a time."""
    grown = (at_ms - growth[c.AT_MS]) * growth[c.COUNT]
    return growth[c.OFFSET] + F.call_function("div", grown, growth[c.DURATION_MS])


def _written_ms() -> Column:
    """When the record at the position was written, as far back as is known."""
    writer = F.col(c.WRITER)
    to_write = (F.col(c.POSITION) + 1 - writer[c.OFFSET]) * writer[c.DURATION_MS]
    # It is written in the millisecond in which the log is that long: rounded up. A log that stands
    # still gets it in a burst, when its next growth begins.
    took_ms = F.call_function("div", to_write + writer[c.COUNT] - 1, writer[c.COUNT])
    reached_ms = F.when(writer[c.COUNT] > 0, writer[c.AT_MS] + took_ms)
    return F.coalesce(F.least(reached_ms, writer[c.NEXT_MS]), F.col(c.OLDEST)[c.AT_MS])
