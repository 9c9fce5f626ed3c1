"""Why a rebalance took as long as it did: its critical path, walked back by causes.

What ended the rebalance was caused by something, which was caused by something, and so on back to
its beginning. A cause always comes before what it led to, so one look at the rows from the last to
the first is enough to follow the chain.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_bridge import columns as c
from spark_bridge.rebalances import rebalance_ends
from spark_bridge.values import or_zero
from spark_bridge.windows import in_order

_A_REBALANCE = (c.RUN, c.GROUP, c.START_SEQ)


def critical_paths(events: DataFrame) -> DataFrame:
    """One row per step of a rebalance's critical path: what it waited for, and how long.

    `start_seq` is the rebalance, as in its own table. Steps are counted from 1, the row in which
    the group left its rest, to the row that ended the rebalance; `waited_ms` adds up to its
    duration.
    """
    row = F.struct(c.SEQ, c.CAUSE, c.AT_MS, c.KIND, c.CLIENT)
    is_within = F.col(c.SEQ).between(F.col(c.START_SEQ), F.col(c.END_SEQ))
    steps = in_order(*_A_REBALANCE)
    # Rebalances are short: each is held against the stretches of rows that it lies in, not against
    # all of its run.
    stretches = F.sequence(_stretch_of(c.START_SEQ), _stretch_of(c.END_SEQ))
    near = events.transform(rebalance_ends).withColumn(c.STRETCH, F.explode(stretches))
    return (
        events.drop(c.GROUP)
        .withColumn(c.STRETCH, _stretch_of(c.SEQ))
        .join(F.broadcast(near), on=[c.RUN, c.STRETCH], how="inner")
        .where(is_within)
        .groupBy(*_A_REBALANCE, c.END_SEQ)
        .agg(F.sort_array(F.collect_list(row), asc=False).alias(c.PATH))
        .select(*_A_REBALANCE, F.inline(_walk(F.col(c.PATH))))
        .select(
            *_A_REBALANCE,
            F.row_number().over(steps).alias(c.STEP),
            *(c.SEQ, c.AT_MS, c.KIND, c.CLIENT),
            or_zero(F.col(c.AT_MS) - F.lag(c.AT_MS).over(steps)).alias(c.WAITED_MS),
        )
    )


def _stretch_of(seq: str) -> Column:
    """Which 256 rows of its run a row is among."""
    return F.shiftright(F.col(seq), 8)


def _walk(rows: Column) -> Column:
    """Of these rows, the last first, those that lead to the last, and the first of all."""
    start = F.struct(F.col(c.END_SEQ).alias(c.NEXT), F.slice(rows, 1, 0).alias(c.PATH))

    def follow(walked: Column, row: Column) -> Column:
        is_next = (row[c.SEQ] == walked[c.NEXT]) | (row[c.SEQ] == F.col(c.START_SEQ))
        further = F.struct(
            row[c.CAUSE].alias(c.NEXT), F.concat(walked[c.PATH], F.array(row)).alias(c.PATH)
        )
        return F.when(is_next, further).otherwise(walked)

    return F.aggregate(rows, start, follow)[c.PATH]
