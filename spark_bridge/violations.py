"""What no run may show, checked once more from the events alone.

The simulator's own checkers watch a run row by row (simulation/safety.py); these look at the
finished rows and share nothing with them but the names.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.sessions import member_sessions
from spark_bridge.values import AFTER_ALL, or_false, said
from spark_bridge.windows import before, in_order, so_far

_CREATED, _REMOVED = EventKind.GROUP_CREATED.value, EventKind.GROUP_REMOVED.value
_CHANGED, _LOADED = EventKind.STATE_CHANGED.value, EventKind.GROUP_LOADED.value
_COMMITTED, _PROCESSED = EventKind.OFFSET_COMMITTED.value, WorldEventKind.RECORDS_PROCESSED.value
#: The assignors that give each partition to one member.
_EXCLUSIVE = ("range", "roundrobin", "sticky", "cooperative-sticky")
_A_GROUP = (c.RUN, c.GROUP)


def violations(events: DataFrame) -> DataFrame:
    """One row per row of a run that shows what must never be, beside the row it contradicts."""
    return (
        events.transform(generations_that_fall)
        .unionByName(events.transform(two_processors_of_a_generation))
        .unionByName(events.transform(commits_of_others))
    )


def generations_that_fall(events: DataFrame) -> DataFrame:
    """One row per new state of a group with a lower generation than the one before."""
    kind = F.col(c.KIND)
    last = F.lag(F.struct(c.KIND, c.SEQ, c.GENERATION)).over(in_order(*_A_GROUP))
    is_new = (F.col(c.STATE) == "CompletingRebalance").cast("int")
    known = F.when(F.col(c.LAST)[c.KIND] != _REMOVED, F.col(c.LAST)[c.GENERATION])
    return (
        events.where(kind.isin(_CREATED, _REMOVED, _CHANGED, _LOADED))
        .withColumn(c.LAST, last)
        .where((kind == _CHANGED) & (F.col(c.GENERATION) < known + is_new))
        .select(
            *_A_GROUP,
            F.lit("GenerationsRise").alias(c.CHECKER),
            c.AT_MS,
            F.col(c.LAST)[c.SEQ].alias(c.OTHER_SEQ),
            c.SEQ,
            said(
                *(F.col(c.GROUP), " went from generation ", known),
                *(" to ", F.col(c.GENERATION)),
            ).alias(c.SEEN),
        )
    )


def two_processors_of_a_generation(events: DataFrame) -> DataFrame:
    """One row per range that a second member of one generation processed of a partition.

    A static member that is back is who it was. Assignors of somebody's own may share partitions.
    """
    kind, protocol = F.col(c.KIND), F.when(F.col(c.KIND) != _PROCESSED, F.col(c.PROTOCOL))
    a_generation = (*_A_GROUP, c.LIFE, c.TOPIC, c.PARTITION, c.GENERATION)
    first = F.first(F.struct(c.WHO, c.CLIENT, c.SEQ)).over(so_far(*a_generation))
    is_exclusive = F.col(c.PROTOCOL).isNull() | F.col(c.PROTOCOL).isin(*_EXCLUSIVE)
    return (
        events.where(kind.isin(_PROCESSED, _CREATED, _REMOVED, _CHANGED))
        .withColumns(
            {
                c.LIFE: F.count_if(kind.isin(_CREATED, _REMOVED)).over(so_far(*_A_GROUP)),
                c.PROTOCOL: F.last(protocol, ignorenulls=True).over(so_far(*_A_GROUP)),
                c.WHO: F.coalesce(F.col(c.INSTANCE), F.col(c.MEMBER)),
            }
        )
        .where((kind == _PROCESSED) & F.col(c.GENERATION).isNotNull() & F.col(c.MEMBER).isNotNull())
        .where(is_exclusive)
        .withColumn(c.FIRST, first)
        .where(F.col(c.FIRST)[c.WHO] != F.col(c.WHO))
        .select(
            *_A_GROUP,
            F.lit("OneProcessorPerGeneration").alias(c.CHECKER),
            c.AT_MS,
            F.col(c.FIRST)[c.SEQ].alias(c.OTHER_SEQ),
            c.SEQ,
            said(
                *(F.col(c.FIRST)[c.CLIENT], " and ", F.col(c.CLIENT), " both processed "),
                *(F.col(c.TOPIC), "-", F.col(c.PARTITION)),
                *(" in generation ", F.col(c.GENERATION)),
            ).alias(c.SEEN),
        )
    )


def commits_of_others(events: DataFrame) -> DataFrame:
    """One row per commit that was accepted from another generation, or from nobody's member."""
    kind = F.col(c.KIND)
    last = F.last(F.when(kind != _COMMITTED, F.struct(c.SEQ, c.GENERATION)), ignorenulls=True).over(
        before(*_A_GROUP)
    )
    sessions = events.transform(member_sessions).select(
        *(*_A_GROUP, c.MEMBER, c.FROM_SEQ),
        F.coalesce(F.col(c.TO_SEQ), F.lit(AFTER_ALL)).alias(c.TO_SEQ),
    )
    is_covered = (F.col(c.SEQ) > F.col(c.FROM_SEQ)) & (F.col(c.SEQ) < F.col(c.TO_SEQ))
    is_stale = F.col(c.GENERATION) != F.col(c.LAST)[c.GENERATION]
    commits = (
        events.where(kind.isin(_COMMITTED, _CREATED, _CHANGED, _LOADED))
        .withColumn(c.LAST, last)
        .where((kind == _COMMITTED) & (F.col(c.GENERATION) >= 0))
        .select(*_A_GROUP, c.MEMBER, c.CLIENT, c.SEQ, c.AT_MS, c.GENERATION, c.LAST)
    )
    return (
        commits.join(sessions, on=[*_A_GROUP, c.MEMBER], how="left")
        .groupBy(*commits.columns)
        .agg(F.bool_or(or_false(is_covered)).alias(c.IS_IN))
        .where(or_false(is_stale) | ~F.col(c.IS_IN))
        .select(
            *_A_GROUP,
            F.lit("CommitsAreCurrent").alias(c.CHECKER),
            c.AT_MS,
            F.col(c.LAST)[c.SEQ].alias(c.OTHER_SEQ),
            c.SEQ,
            F.when(
                is_stale,
                said(
                    *("a commit of generation ", F.col(c.GENERATION)),
                    *(" in generation ", F.col(c.LAST)[c.GENERATION]),
                ),
            )
            .otherwise(said("a commit of ", F.col(c.CLIENT), ", who is no member"))
            .alias(c.SEEN),
        )
    )
