"""Where the rows lie: one layout by run, made once and shared by all analyses.

All of a run is in one partition, so a window or a join within runs never moves rows between
partitions (docs/decisions.md). Within a partition the rows lie kind by kind: an analysis looks at a
few kinds, and whole batches of others are passed over unread.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_bridge import columns as c
from spark_bridge.timeline import run_ends

#: About so many events are in a partition, if there are runs enough: 200 MB while it is sorted.
EVENTS_PER_PARTITION = 500_000


def laid_out(events: DataFrame, partitions: int) -> DataFrame:
    """The same events, run by run and kind by kind, each with when its run ends; kept."""
    ends = events.transform(run_ends)
    return (
        events.join(F.broadcast(ends), on=c.RUN, how="inner")
        .repartition(partitions, c.RUN)
        # One number is put in order by radix, without comparing; any order of kinds will do.
        .sortWithinPartitions(F.xxhash64(c.KIND))
        .cache()
    )


def partitions_for(*, events: int, runs: int, usual: int) -> int:
    """How many partitions to lay so many events out in, where `usual` ones keep everybody busy."""
    return max(1, min(runs, max(usual, events // EVENTS_PER_PARTITION)))
