"""When groups changed their coordinators, and how long they had none."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.windows import in_order

_MOVED = WorldEventKind.COORDINATOR_MOVED.value
_LOADED = EventKind.SHARD_LOADED.value


def coordinator_moves(events: DataFrame) -> DataFrame:
    """One row per move of a partition of the offsets topic: to which broker, loaded when.

    `groups` is how many groups it coordinates; a move that was not loaded before the next one, or
    before the run's end, is open: `loaded_ms` and `groups` are null.
    """
    kind, place = F.col(c.KIND), (c.RUN, c.PARTITION)
    following = F.lead(F.struct(c.KIND, c.AT_MS, c.COUNT)).over(in_order(*place))
    loaded = F.when(F.col(c.NEXT)[c.KIND] == _LOADED, F.col(c.NEXT))
    return (
        events.where(kind.isin(_MOVED, _LOADED))
        .withColumn(c.NEXT, following)
        .where(kind == _MOVED)
        .select(
            *(c.RUN, c.PARTITION, c.SEQ, c.BROKER),
            F.col(c.AT_MS).alias(c.MOVED_MS),
            loaded[c.AT_MS].alias(c.LOADED_MS),
            loaded[c.COUNT].alias(c.GROUPS),
        )
    )
