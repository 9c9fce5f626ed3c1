"""Who was a member of which group, from when to when, and why no longer; told by the coordinator.

A coordinator that takes a group over knows what its log says: whoever joined after the group's last
rest is out without a word, and whoever was removed since is back.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c
from spark_bridge.values import always, or_false
from spark_bridge.windows import before, in_order

_ADDED, _REMOVED = EventKind.MEMBER_ADDED.value, EventKind.MEMBER_REMOVED.value
_REPLACED, _LOADED = EventKind.MEMBER_REPLACED.value, EventKind.GROUP_LOADED.value
_FORGOTTEN = "the coordinator moved before it was written down"
_CHANGED = EventKind.STATE_CHANGED.value
_A_GROUP, _A_MEMBER = (c.RUN, c.GROUP), (c.RUN, c.GROUP, c.MEMBER)


def member_sessions(events: DataFrame) -> DataFrame:
    """One row per stretch in which a group counted on a member, and why it ended.

    `ended_by` is the kind of event that ended it: `member_removed`, `member_replaced` (a static
    member came back under another id) or `group_loaded`. A session that the run's end cut off is
    open: `left_ms`, `ended_by` and `reason` are null.
    """
    was_in = F.lag(c.IS_IN).over(in_order(*_A_MEMBER))
    ending = F.lead(F.struct(c.SEQ, c.AT_MS, c.KIND, c.DETAIL)).over(in_order(*_A_MEMBER))
    return (
        events.transform(_changes)
        .withColumn(c.IS_NEW, F.col(c.IS_IN) != or_false(was_in))
        .where(c.IS_NEW)
        .withColumn(c.ENDING, ending)
        .where(c.IS_IN)
        .select(
            *(c.RUN, c.GROUP, c.MEMBER, c.CLIENT, c.INSTANCE),
            F.col(c.SEQ).alias(c.FROM_SEQ),
            F.col(c.ENDING)[c.SEQ].alias(c.TO_SEQ),
            F.col(c.AT_MS).alias(c.JOINED_MS),
            F.col(c.ENDING)[c.AT_MS].alias(c.LEFT_MS),
            F.col(c.ENDING)[c.KIND].alias(c.ENDED_BY),
            F.col(c.ENDING)[c.DETAIL].alias(c.REASON),
        )
    )


def _changes(events: DataFrame) -> DataFrame:
    """One row per coming or going of a member, those by a change of coordinators among them."""
    change, load = F.struct(c.SEQ, c.AT_MS, c.KIND, c.DETAIL, c.IS_IN), F.col(c.VOIDED_BY)
    undoing = F.struct(
        load[c.LOAD_SEQ].alias(c.SEQ),
        load[c.AT_MS].alias(c.AT_MS),
        F.lit(_LOADED).alias(c.KIND),
        F.lit(_FORGOTTEN).alias(c.DETAIL),
        (~F.col(c.IS_IN)).alias(c.IS_IN),
    )
    changes = F.array_compact(F.array(change, F.when(F.col(c.IS_NEW), undoing)))
    return (
        events.transform(_own_changes)
        .transform(_with_loads, events)
        .select(*_A_MEMBER, c.CLIENT, c.INSTANCE, F.inline(changes))
    )


def _own_changes(events: DataFrame) -> DataFrame:
    """One row per coming or going that the coordinator told of, and whether the log has it at once.

    It has the return of a static member if the group is at rest and stays so; everything else with
    the end of the rebalance. A return is two changes: the old id goes, and the new one comes.
    """
    kind = F.col(c.KIND)
    is_start = (kind == _CHANGED) & (F.col(c.STATE) == "PreparingRebalance")
    starts = (
        events.where(is_start & F.col(c.CAUSE).isNotNull())
        .select(*_A_GROUP, c.CAUSE, always(is_so=True).alias(c.STARTS))
        .distinct()
    )
    is_written = (kind == _REPLACED) & (F.col(c.STATE) == "Stable") & F.col(c.STARTS).isNull()
    old_id = F.regexp_replace(c.DETAIL, "^it replaced ", "")
    came = F.struct(c.MEMBER, (kind != _REMOVED).alias(c.IS_IN))
    went = F.struct(old_id.alias(c.MEMBER), always(is_so=False).alias(c.IS_IN))
    members = F.array_compact(F.array(came, F.when(kind == _REPLACED, went)))
    return (
        events.where(kind.isin(_ADDED, _REMOVED, _REPLACED))
        .join(starts, on=[*_A_GROUP, c.CAUSE], how="left")
        .select(
            *(*_A_GROUP, c.CLIENT, c.INSTANCE, c.SEQ, c.AT_MS, c.KIND, c.DETAIL),
            or_false(is_written).alias(c.IS_WRITTEN),
            F.inline(members),
        )
    )


def _with_loads(own: DataFrame, events: DataFrame) -> DataFrame:
    """The changes with the load that undoes them, if any, and whether it does.

    A load undoes of each member the first change since the last rest that was written.
    """
    kind = F.col(c.KIND)
    is_rest = (kind == _CHANGED) & F.col(c.STATE).isin("Stable", "Empty")
    rest = F.last(F.when(is_rest, F.col(c.SEQ)), ignorenulls=True).over(before(*_A_GROUP))
    load = F.struct(
        F.col(c.SEQ).alias(c.LOAD_SEQ), F.coalesce(rest, F.lit(0)).alias(c.REST_SEQ), c.AT_MS
    )
    # Loads are few: they fit into one row for each group.
    loads = (
        events.where(is_rest | (kind == _LOADED))
        .withColumn(c.LOADS, load)
        .where(kind == _LOADED)
        .groupBy(*_A_GROUP)
        .agg(F.array_sort(F.collect_list(c.LOADS)).alias(c.LOADS))
    )
    undoing = F.filter(
        c.LOADS, lambda each: (each[c.REST_SEQ] < F.col(c.SEQ)) & (F.col(c.SEQ) < each[c.LOAD_SEQ])
    )
    is_first = F.row_number().over(in_order(*_A_MEMBER, c.VOIDED_BY)) == 1
    return (
        own.join(F.broadcast(loads), on=list(_A_GROUP), how="left")
        .withColumn(c.VOIDED_BY, F.when(~F.col(c.IS_WRITTEN), F.get(undoing, 0)))
        .withColumn(c.IS_NEW, F.col(c.VOIDED_BY).isNotNull() & is_first)
        .drop(c.LOADS, c.IS_WRITTEN)
    )
