"""How members keep their sessions alive."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import WorldEventKind
from spark_bridge import columns as c
from spark_bridge.values import or_zero

_FOLDED = WorldEventKind.HEARTBEATS_ANSWERED.value
_ANSWERED = WorldEventKind.REPLY_RECEIVED.value
_FIRED = WorldEventKind.TIMER_FIRED.value


def heartbeats(events: DataFrame) -> DataFrame:
    """One row per member: its heartbeats that were answered, how many badly, its expiries.

    `beats` counts all answers, `refused` those with an error, such as REBALANCE_IN_PROGRESS;
    `expired` is how often its session ran out.
    """
    kind = F.col(c.KIND)
    is_played = (kind == _ANSWERED) & (F.col(c.REQUEST) == "Heartbeat")
    is_expiry = (kind == _FIRED) & (F.col(c.DETAIL) == "session")
    beats = F.when(kind == _FOLDED, F.col(c.COUNT)).when(is_played, F.lit(1))
    return (
        events.where((kind == _FOLDED) | is_played | is_expiry)
        .where(F.col(c.CLIENT).isNotNull())
        .groupBy(c.RUN, c.GROUP, c.CLIENT)
        .agg(
            or_zero(F.sum(beats)).alias(c.BEATS),
            F.count_if(is_played & (F.col(c.ERROR) != "NONE")).alias(c.REFUSED),
            F.count_if(is_expiry).alias(c.EXPIRED),
        )
    )
