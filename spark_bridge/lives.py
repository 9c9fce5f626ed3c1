"""A topic that is deleted and comes again under its name has other records: it lives anew."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import WorldEventKind
from spark_bridge import columns as c

_DELETED = WorldEventKind.TOPIC_DELETED.value


def with_lives(frame: DataFrame, events: DataFrame) -> DataFrame:
    """The same rows, each with how often its topic had been deleted, and when it is next (or null).

    `life_ended` holds the `seq` and the time of the deletion that ends the life.
    """
    # Deletions are few: they fit into one row for each topic.
    deletions = (
        events.where(F.col(c.KIND) == _DELETED)
        .groupBy(c.RUN, c.TOPIC)
        .agg(F.array_sort(F.collect_list(F.struct(c.SEQ, c.AT_MS))).alias(c.DELETIONS))
    )
    later = F.filter(c.DELETIONS, lambda deletion: deletion[c.SEQ] > F.col(c.SEQ))
    sizes = F.coalesce(F.size(F.filter(c.DELETIONS, lambda d: d[c.SEQ] <= F.col(c.SEQ))), F.lit(0))
    return (
        frame.join(F.broadcast(deletions), on=[c.RUN, c.TOPIC], how="left")
        .withColumns({c.LIFE: F.greatest(sizes, F.lit(0)), c.LIFE_ENDED: F.get(later, 0)})
        .drop(c.DELETIONS)
    )
