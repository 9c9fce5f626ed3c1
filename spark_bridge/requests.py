"""How long requests took, as their senders saw it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import WorldEventKind
from spark_bridge import columns as c

_ANSWERED = WorldEventKind.REPLY_RECEIVED.value
_LOST = (WorldEventKind.REQUEST_LOST.value, WorldEventKind.REPLY_LOST.value)


def request_latency(events: DataFrame) -> DataFrame:
    """One row per group, kind of request and error: how many there were, and how long they took.

    The time runs from sending to hearing the answer, so a parked JoinGroup takes as long as it was
    parked. Requests that were lost on the way have `LOST` for an error and no times. Heartbeats
    that found nothing new are counted elsewhere (`heartbeats`), unless the run was recorded in
    full.
    """
    is_lost = F.col(c.KIND).isin(*_LOST)
    took = F.when(~is_lost, F.col(c.DURATION_MS))
    return (
        events.where((F.col(c.KIND) == _ANSWERED) | is_lost)
        .groupBy(
            *(c.RUN, c.GROUP, c.REQUEST),
            F.when(is_lost, "LOST").otherwise(F.col(c.ERROR)).alias(c.ERROR),
        )
        .agg(
            F.count("*").alias(c.REQUESTS),
            F.percentile(took, 0.5).alias(c.P50_MS),
            F.percentile(took, 0.99).alias(c.P99_MS),
            F.max(took).alias(c.MAX_MS),
        )
    )
