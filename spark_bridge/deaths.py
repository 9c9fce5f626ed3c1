"""How long the deaths of members go unnoticed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import WITHOUT_CLOSING, EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.sessions import member_sessions
from spark_bridge.values import AFTER_ALL

_CRASHED = WorldEventKind.CONSUMER_CRASHED.value
_STOPPED = WorldEventKind.CONSUMER_STOPPED.value
_REPLACED = EventKind.MEMBER_REPLACED.value


def detections(events: DataFrame) -> DataFrame:
    """One row per death of a member: when, and when its group was without it (null: never).

    An application that fails or forgets to close is as dead as one that crashed. A static member
    that came back was never missed, and its death is not told.
    """
    is_silent = F.col(c.ERROR).isNotNull() | (F.col(c.DETAIL) == WITHOUT_CLOSING)
    is_death = (F.col(c.KIND) == _CRASHED) | ((F.col(c.KIND) == _STOPPED) & is_silent)
    deaths = events.where(is_death).select(
        c.RUN, c.CLIENT, c.SEQ, F.col(c.AT_MS).alias(c.CRASHED_MS)
    )
    is_within = (F.col(c.SEQ) > F.col(c.FROM_SEQ)) & (
        F.col(c.SEQ) < F.coalesce(F.col(c.TO_SEQ), F.lit(AFTER_ALL))
    )
    is_missed = F.col(c.ENDED_BY).isNull() | (F.col(c.ENDED_BY) != _REPLACED)
    return (
        events.transform(member_sessions)
        .join(deaths, on=[c.RUN, c.CLIENT], how="inner")
        .where(is_within & is_missed)
        .groupBy(c.RUN, c.GROUP, c.CLIENT, c.MEMBER, c.FROM_SEQ)
        .agg(
            F.min(c.CRASHED_MS).alias(c.CRASHED_MS),
            F.max(c.LEFT_MS).alias(c.REMOVED_MS),
            F.max(c.REASON).alias(c.REASON),
        )
        .drop(c.FROM_SEQ)
    )
