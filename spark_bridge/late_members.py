"""Whom groups that wait for joins when the run ends are waiting for."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.joins import JOINS
from spark_bridge.names import name_of, with_names
from spark_bridge.sessions import member_sessions
from spark_bridge.values import or_false, or_zero
from spark_bridge.windows import all_of

_CHANGED, _CREATED = EventKind.STATE_CHANGED.value, EventKind.GROUP_CREATED.value
_LOADED, _REMOVED = EventKind.GROUP_LOADED.value, EventKind.GROUP_REMOVED.value
_GONE, _REPLACED = EventKind.MEMBER_REMOVED.value, EventKind.MEMBER_REPLACED.value
_ID_GIVEN, _FIRED = EventKind.MEMBER_ID_GIVEN.value, WorldEventKind.TIMER_FIRED.value
#: Whatever says something of a group or of its members. Most rows are of requests and records.
_TELLING = (_CHANGED, _CREATED, _LOADED, _REMOVED, *JOINS, _REPLACED, _GONE, _ID_GIVEN, _FIRED)
_A_GROUP, _A_MEMBER = (c.RUN, c.GROUP), (c.RUN, c.GROUP, c.MEMBER)


def late_members(events: DataFrame) -> DataFrame:
    """One row per group that waits for joins at the end: who is late, and who is pending.

    `late` are members that have not joined since the last generation began, `pending` those that
    were given a member id and have not come back with it; both by name.
    """
    kind = F.col(c.KIND)
    moves = (_CHANGED, _LOADED, _REMOVED)
    waiting = (
        events.where(kind.isin(*moves))
        .groupBy(*_A_GROUP)
        .agg(F.max_by(F.struct(c.KIND, c.STATE), c.SEQ).alias(c.LAST))
        .where(F.col(c.LAST)[c.KIND] == _CHANGED)
        .where(F.col(c.LAST)[c.STATE] == "PreparingRebalance")
        .select(*_A_GROUP)
    )
    rows = events.where(kind.isin(*_TELLING)).join(
        F.broadcast(waiting), on=list(_A_GROUP), how="left_semi"
    )
    present = rows.transform(member_sessions).where(F.col(c.TO_SEQ).isNull())
    is_late = F.col(c.IS_IN) & (or_zero(F.col(c.CAME)) < or_zero(F.col(c.BEGAN)))
    is_pending = F.col(c.GIVEN) > F.greatest(or_zero(F.col(c.CAME)), or_zero(F.col(c.EXPIRED)))
    return (
        rows.transform(_steps)
        .join(
            present.select(*_A_MEMBER, F.lit(True).alias(c.IS_IN)),  # noqa: FBT003
            on=list(_A_MEMBER),
            how="left",
        )
        .withColumn(c.IS_IN, or_false(F.col(c.IS_IN)))
        .transform(with_names, events)
        .groupBy(*_A_GROUP)
        .agg(_names_where(is_late).alias(c.LATE), _names_where(is_pending).alias(c.PENDING))
    )


def _steps(rows: DataFrame) -> DataFrame:
    """One row per member: when it last came, was given its id or was given up, by `seq`."""
    kind = F.col(c.KIND)
    # A generation begins, or the group does, and everybody is to join anew.
    is_new = ((kind == _CHANGED) & (F.col(c.STATE) == "CompletingRebalance")) | kind.isin(
        _LOADED, _CREATED
    )
    latest = {
        c.CAME: kind.isin(*JOINS),
        c.GIVEN: kind == _ID_GIVEN,
        c.EXPIRED: kind == _FIRED,
    }
    return (
        rows.withColumn(c.BEGAN, F.max(F.when(is_new, F.col(c.SEQ))).over(all_of(*_A_GROUP)))
        .where(F.col(c.MEMBER).isNotNull())
        .groupBy(*_A_MEMBER)
        .agg(
            F.max(c.BEGAN).alias(c.BEGAN),
            *(F.max(F.when(is_it, F.col(c.SEQ))).alias(name) for name, is_it in latest.items()),
        )
    )


def _names_where(condition: Column) -> Column:
    return F.array_sort(F.collect_list(F.when(condition, name_of(F.col(c.MEMBER)))))
