"""What a group was at the time of a row, as far as the coordinator's own rows tell."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c
from spark_bridge.sessions import member_sessions
from spark_bridge.values import always, or_false, or_zero
from spark_bridge.windows import so_far

_CREATED, _REMOVED = EventKind.GROUP_CREATED.value, EventKind.GROUP_REMOVED.value
_CHANGED, _LOADED = EventKind.STATE_CHANGED.value, EventKind.GROUP_LOADED.value
_FAILED = EventKind.WRITE_FAILED.value
#: The rows that say what a group is from then on.
GROUP_KINDS = (_CREATED, _REMOVED, _CHANGED, _LOADED)
_A_GROUP, _A_MEMBER = (c.RUN, c.GROUP), (c.RUN, c.GROUP, c.MEMBER)


def with_rosters(rows: DataFrame, events: DataFrame) -> DataFrame:
    """The same rows, none of them about a group itself, each with what its group was then.

    `roster` has the last row about the group and its state, generation and protocol, `members` how
    many it had, `is_in` whether the row's own member was one of them, and `is_certain` whether
    rows leave no doubt about that: a load or a failed write does, until the numbers agree again.
    """
    kind = F.col(c.KIND)
    is_told = kind.isin(*GROUP_KINDS)
    # A group that is gone is in no state.
    told = [
        F.when(kind != _REMOVED, F.col(name)).alias(name)
        for name in (c.STATE, c.GENERATION, c.PROTOCOL)
    ]
    is_match = F.col(c.MEMBERS) == F.col(c.COUNT)
    is_rest = (kind == _CHANGED) & F.col(c.STATE).isin("Stable", "Empty")
    word = (
        F.when(kind == _CREATED, always(is_so=True))
        .when(kind == _LOADED, or_false(is_match))
        .when(is_rest & is_match, always(is_so=True))
    )
    sure = F.when(word.isNotNull(), F.struct(c.SEQ, word.alias(c.IS_CERTAIN)))
    return (
        rows.unionByName(events.where(is_told), allowMissingColumns=True)
        .unionByName(events.transform(_comings_and_goings), allowMissingColumns=True)
        .withColumns(
            {
                c.MEMBERS: or_zero(F.sum(c.CHANGE).over(_up_to(*_A_GROUP))),
                c.IS_IN: or_zero(F.sum(c.CHANGE).over(_up_to(*_A_MEMBER))) > 0,
                c.ROSTER: F.last(F.when(is_told, F.struct(c.SEQ, *told)), ignorenulls=True).over(
                    so_far(*_A_GROUP)
                ),
            }
        )
        .withColumn(c.SURE, F.last(sure, ignorenulls=True).over(so_far(*_A_GROUP)))
        .where(kind.isNotNull() & ~is_told)
        .transform(_without_doubts, events)
        .drop(c.CHANGE, c.SURE)
    )


def _comings_and_goings(events: DataFrame) -> DataFrame:
    """One row per beginning of a member's session, and one per end."""
    ends = F.array(
        *(
            F.struct(F.col(seq).alias(c.SEQ), F.lit(change).alias(c.CHANGE))
            for seq, change in ((c.FROM_SEQ, 1), (c.TO_SEQ, -1))
        )
    )
    changes = events.transform(member_sessions).select(*_A_MEMBER, F.inline(ends))
    return changes.where(F.col(c.SEQ).isNotNull())


def _without_doubts(rows: DataFrame, events: DataFrame) -> DataFrame:
    # Failures are few: they fit into one row for each run. What a write undid no row tells.
    failures = (
        events.where(F.col(c.KIND) == _FAILED)
        .groupBy(c.RUN)
        .agg(F.collect_list(c.SEQ).alias(c.FAILURES))
    )
    is_doubted = F.exists(
        c.FAILURES, lambda seq: (seq > F.col(c.SURE)[c.SEQ]) & (seq < F.col(c.SEQ))
    )
    is_certain = or_false(F.col(c.SURE)[c.IS_CERTAIN]) & ~or_false(is_doubted)
    return (
        rows.join(F.broadcast(failures), on=c.RUN, how="left")
        .withColumn(c.IS_CERTAIN, is_certain)
        .drop(c.FAILURES)
    )


def _up_to(*keys: str) -> WindowSpec:
    """The rows with these keys up to the present one and those of its very `seq`."""
    return (
        Window.partitionBy(*keys)
        .orderBy(c.SEQ)
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
