"""Who owned what when, told from the consumers' side; and when nobody did."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from simulation.events import WorldEventKind
from spark_bridge import columns as c

_BEGINNING = WorldEventKind.PARTITION_ASSIGNED.value
_ENDS = (WorldEventKind.PARTITION_REVOKED.value, WorldEventKind.PARTITION_LOST.value)


def ownership_intervals(events: DataFrame) -> DataFrame:
    """One row per stretch in which a member owned a partition, and what ended it.

    A stretch that the run's end cut off is open: `owned_until_ms` and `ended_by` are null.
    """
    in_order = Window.partitionBy(c.RUN, c.GROUP, c.TOPIC, c.PARTITION, c.CLIENT).orderBy(c.SEQ)
    changes = events.where(F.col(c.KIND).isin(_BEGINNING, *_ENDS)).withColumns(
        {
            c.OWNED_UNTIL_MS: F.lead(c.AT_MS).over(in_order),
            c.ENDED_BY: F.lead(c.KIND).over(in_order),
        }
    )
    return changes.where(F.col(c.KIND) == _BEGINNING).select(
        c.RUN,
        c.GROUP,
        c.TOPIC,
        c.PARTITION,
        c.SEQ,
        c.CLIENT,
        c.MEMBER,
        c.GENERATION,
        F.col(c.AT_MS).alias(c.OWNED_FROM_MS),
        c.OWNED_UNTIL_MS,
        c.ENDED_BY,
    )


def ownership_gaps(intervals: DataFrame) -> DataFrame:
    """One row per stretch in which nobody owned a partition that had had an owner before.

    A gap that nobody filled until the run's end is open: `unowned_until_ms` and `next_owner` are
    null. Takes what `ownership_intervals` returns.
    """
    in_order = Window.partitionBy(c.RUN, c.GROUP, c.TOPIC, c.PARTITION).orderBy(c.SEQ)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    has_an_owner_to_the_end = F.max(F.col(c.OWNED_UNTIL_MS).isNull()).over(so_far)
    # Owners may overlap: the gap begins when the last of them stops, whoever began last.
    last = F.max(F.struct(c.OWNED_UNTIL_MS, c.CLIENT)).over(so_far)
    candidates = intervals.select(
        c.RUN,
        c.GROUP,
        c.TOPIC,
        c.PARTITION,
        F.when(~has_an_owner_to_the_end, last[c.OWNED_UNTIL_MS]).alias(c.UNOWNED_FROM_MS),
        F.lead(c.OWNED_FROM_MS).over(in_order).alias(c.UNOWNED_UNTIL_MS),
        last[c.CLIENT].alias(c.LAST_OWNER),
        F.lead(c.CLIENT).over(in_order).alias(c.NEXT_OWNER),
    )
    is_filled_late = F.col(c.UNOWNED_UNTIL_MS) > F.col(c.UNOWNED_FROM_MS)
    is_never_filled = F.col(c.UNOWNED_UNTIL_MS).isNull() & F.col(c.UNOWNED_FROM_MS).isNotNull()
    return candidates.where(is_filled_late | is_never_filled)
