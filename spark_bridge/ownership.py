"""Who owned what when, told from the consumers' side; when nobody did, and when two did at once.

`ownership_intervals` and `ownership_gaps` go by assignments alone. `ownership_clocks` counts work:
a consumer is active in a partition from its first fetch until it gives it up, loses it, dies or is
fenced; one that was fenced without its knowledge is active as long as it works on records that it
was handed before, and one that stands still does no work.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.timeline import until_the_end
from spark_bridge.values import or_false, or_zero
from spark_bridge.windows import before, in_order, so_far

_BEGINNING = WorldEventKind.PARTITION_ASSIGNED.value
_ENDS = (WorldEventKind.PARTITION_REVOKED.value, WorldEventKind.PARTITION_LOST.value)
_FETCH = WorldEventKind.FETCH_STARTED.value
_RETURNED = WorldEventKind.RECORDS_RETURNED.value
_PROCESSED = WorldEventKind.RECORDS_PROCESSED.value
_PAUSED, _RESUMED = WorldEventKind.CONSUMER_PAUSED.value, WorldEventKind.CONSUMER_RESUMED.value
#: With any of these a consumer has nothing of what it had before.
_GONE = (
    WorldEventKind.CONSUMER_STARTED.value,
    WorldEventKind.CONSUMER_STOPPED.value,
    WorldEventKind.CONSUMER_CRASHED.value,
)
_DELETED = WorldEventKind.TOPIC_DELETED.value
_REMOVED, _REPLACED = EventKind.MEMBER_REMOVED.value, EventKind.MEMBER_REPLACED.value
_PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
_AT_PLACE = (*_PLACE, c.CLIENT)


def ownership_intervals(events: DataFrame) -> DataFrame:
    """One row per stretch in which a member owned a partition, and what ended it.

    A stretch that the run's end cut off is open: `owned_until_ms` and `ended_by` are null.
    """
    of_an_owner = in_order(*_AT_PLACE)
    changes = events.where(F.col(c.KIND).isin(_BEGINNING, *_ENDS)).withColumns(
        {
            c.OWNED_UNTIL_MS: F.lead(c.AT_MS).over(of_an_owner),
            c.ENDED_BY: F.lead(c.KIND).over(of_an_owner),
        }
    )
    return changes.where(F.col(c.KIND) == _BEGINNING).select(
        c.RUN,
        c.GROUP,
        c.TOPIC,
        c.PARTITION,
        c.SEQ,
        c.CLIENT,
        c.MEMBER,
        c.GENERATION,
        F.col(c.AT_MS).alias(c.OWNED_FROM_MS),
        c.OWNED_UNTIL_MS,
        c.ENDED_BY,
    )


def ownership_gaps(intervals: DataFrame) -> DataFrame:
    """One row per stretch in which nobody owned a partition that had had an owner before.

    A gap that nobody filled until the run's end is open: `unowned_until_ms` and `next_owner` are
    null. Takes what `ownership_intervals` returns.
    """
    owners, owners_so_far = in_order(*_PLACE), so_far(*_PLACE)
    has_an_owner_to_the_end = F.max(F.col(c.OWNED_UNTIL_MS).isNull()).over(owners_so_far)
    # Owners may overlap: the gap begins when the last of them stops, whoever began last.
    last = F.max(F.struct(c.OWNED_UNTIL_MS, c.CLIENT)).over(owners_so_far)
    candidates = intervals.select(
        c.RUN,
        c.GROUP,
        c.TOPIC,
        c.PARTITION,
        F.when(~has_an_owner_to_the_end, last[c.OWNED_UNTIL_MS]).alias(c.UNOWNED_FROM_MS),
        F.lead(c.OWNED_FROM_MS).over(owners).alias(c.UNOWNED_UNTIL_MS),
        last[c.CLIENT].alias(c.LAST_OWNER),
        F.lead(c.CLIENT).over(owners).alias(c.NEXT_OWNER),
    )
    is_filled_late = F.col(c.UNOWNED_UNTIL_MS) > F.col(c.UNOWNED_FROM_MS)
    is_never_filled = F.col(c.UNOWNED_UNTIL_MS).isNull() & F.col(c.UNOWNED_FROM_MS).isNotNull()
    return candidates.where(is_filled_late | is_never_filled)


def ownership_clocks(events: DataFrame) -> DataFrame:
    """One row per partition that a group ever owned: how long it was nobody's, and how long two's.

    `unowned_ms` runs from the last owner's effective stop to the next one's first fetch, `dual_ms`
    while two live consumers both work on it; what is open counts up to the run's last row.
    """
    is_unowned = (F.col(c.ACTIVE) == 0) & F.col(c.WAS_OWNED)
    lasted = F.col(c.NEXT_MS) - F.col(c.AT_MS)
    return (
        until_the_end(events)
        .transform(_stints)
        .transform(_steps)
        .groupBy(*_PLACE)
        .agg(
            F.sum(F.when(is_unowned, lasted).otherwise(0)).alias(c.UNOWNED_MS),
            F.sum(F.when(F.col(c.WORKING) > 1, lasted).otherwise(0)).alias(c.DUAL_MS),
        )
    )


def _stints(events: DataFrame) -> DataFrame:
    """One row per event that concerns a consumer at a partition, with what it is then.

    All of it is told from one order of the rows: those of a consumer at a partition. A stint begins
    with an assignment, in the row `stint` (0 before the first), and what came before that row is
    of another stint; so it is with `batch` and the records it was handed last.
    """
    kind, stint, batch = F.col(c.KIND), F.col(c.STINT), F.col(c.BATCH)
    pause = F.when(kind.isin(_PAUSED, _RESUMED, *_GONE), kind == _PAUSED)
    is_end = kind.isin(*_ENDS, *_GONE, _DELETED)
    is_fence = kind.isin(_REMOVED, _REPLACED) & (F.col(c.MEMBER) == F.col(c.OWNER))
    is_done = (kind == _PROCESSED) & (F.col(c.END_OFFSET) >= F.col(c.IN_HAND_END))
    in_hand = F.col(c.IN_HAND_END).isNotNull() & ~F.col(c.IS_DONE)
    works_on = in_hand & ~F.col(c.IS_PAUSED)
    is_active = F.when(F.col(c.IS_FENCED), works_on).otherwise(F.col(c.IS_FETCHING))
    present, earlier = so_far(*_AT_PLACE), before(*_AT_PLACE)
    owner = F.when(kind == _BEGINNING, F.struct(c.MEMBER))
    handed = F.when(kind == _RETURNED, F.struct(c.END_OFFSET))
    return (
        _concerning(events)
        .withColumns(
            {
                c.STINT: _last(kind == _BEGINNING, present),
                c.BATCH: _last(kind == _RETURNED, present),
                c.IS_PAUSED: or_false(F.last(pause, ignorenulls=True).over(present)),
                c.OWNER: F.last(owner, ignorenulls=True).over(present)[c.MEMBER],
                c.IN_HAND_END: F.last(handed, ignorenulls=True).over(present)[c.END_OFFSET],
            }
        )
        .withColumn(c.IN_HAND_END, F.when(batch > stint, F.col(c.IN_HAND_END)))
        .withColumns(
            {
                c.IS_OVER: _last(is_end, present) > stint,
                c.WAS_OVER: _last(is_end, earlier) > stint,
                c.IS_FETCHING: _last(kind == _FETCH, present) > stint,
                c.IS_FENCED: _last(is_fence, present) > stint,
                c.WAS_FENCED: _last(is_fence, earlier) > stint,
                c.IS_FENCE: or_false(is_fence),
                c.IS_DONE: _last(is_done, present) > batch,
                c.WAS_DONE: _last(is_done, earlier) > batch,
            }
        )
        .withColumn(c.IS_ACTIVE, (stint > 0) & ~F.col(c.IS_OVER) & is_active)
    )


def _last(condition: Column, window: WindowSpec) -> Column:
    """The last row of a window in which this is so; 0 if there is none."""
    return or_zero(F.max(F.when(condition, F.col(c.SEQ))).over(window))


def _concerning(events: DataFrame) -> DataFrame:
    """The rows of consumers at partitions, and those of consumers, members and topics for each."""
    kind, shown = F.col(c.KIND), (c.SEQ, c.AT_MS, c.KIND, c.MEMBER, c.END_OFFSET, c.UNTIL_MS)
    own = events.where(kind.isin(_BEGINNING, _FETCH, _RETURNED, _PROCESSED, *_ENDS)).where(
        F.col(c.GROUP).isNotNull() & F.col(c.TOPIC).isNotNull() & F.col(c.PARTITION).isNotNull()
    )
    assigned = events.where((kind == _BEGINNING) & F.col(c.CLIENT).isNotNull())
    owners = assigned.select(*_AT_PLACE).distinct()
    as_members = assigned.select(*_AT_PLACE, c.MEMBER).distinct()
    replaced = F.regexp_replace(c.DETAIL, "^it replaced ", "")
    of_consumers = events.where(kind.isin(*_GONE, _PAUSED, _RESUMED)).drop(
        c.GROUP, c.TOPIC, c.PARTITION
    )
    removals = events.where(kind == _REMOVED).drop(c.GROUP, c.TOPIC, c.PARTITION)
    replacements = events.where(kind == _REPLACED).withColumn(c.MEMBER, replaced)
    deletions = events.where(kind == _DELETED).drop(c.GROUP, c.PARTITION, c.CLIENT)
    parts = (
        own,
        of_consumers.join(owners, on=[c.RUN, c.CLIENT], how="inner"),
        removals.join(as_members, on=[c.RUN, c.CLIENT, c.MEMBER], how="inner"),
        replacements.drop(c.TOPIC, c.PARTITION, c.CLIENT).join(
            as_members, on=[c.RUN, c.GROUP, c.MEMBER], how="inner"
        ),
        deletions.join(owners, on=[c.RUN, c.TOPIC], how="inner"),
    )
    first, *others = (part.select(*_AT_PLACE, *shown) for part in parts)
    for other in others:
        first = first.unionByName(other)
    return first


def _steps(stints: DataFrame) -> DataFrame:
    """One row per moment at which the owners of a partition are counted, up to the next one.

    They are counted when somebody's part in it begins or ends; records that a fenced consumer is
    handed later do not make it count by themselves.
    """
    kind = F.col(c.KIND)
    is_working = F.col(c.IS_ACTIVE) & ~F.col(c.IS_PAUSED)
    is_finished = (kind == _PROCESSED) & F.col(c.IS_FENCED) & F.col(c.IS_DONE) & ~F.col(c.WAS_DONE)
    is_told = kind.isin(_BEGINNING, _FETCH, *_ENDS, *_GONE, _PAUSED, _RESUMED) | is_finished
    is_fenced_now = F.col(c.IS_FENCE) & ~F.col(c.WAS_FENCED)
    is_counted = (F.col(c.STINT) > 0) & ~F.col(c.WAS_OVER) & (is_told | is_fenced_now)
    # A deleted topic concerns all its owners in one row, so rows of one `seq` count together.
    by_now = in_order(*_PLACE).rangeBetween(Window.unboundedPreceding, Window.currentRow)
    owned_in = F.max(F.when(F.col(c.ACTIVE) > 0, F.col(c.LIFE))).over(before(*_PLACE))
    return (
        stints.withColumns(
            {
                c.ACTIVE: _change_of(F.col(c.IS_ACTIVE)),
                c.WORKING: _change_of(is_working),
            }
        )
        .withColumns(
            {
                c.ACTIVE: F.sum(c.ACTIVE).over(by_now),
                c.WORKING: F.sum(c.WORKING).over(by_now),
                c.LIFE: F.count_if(kind == _DELETED).over(by_now),
            }
        )
        .where(is_counted | (kind == _DELETED))
        .withColumns(
            {
                c.WAS_OWNED: or_false(owned_in == F.col(c.LIFE)),
                c.NEXT_MS: F.coalesce(F.lead(c.AT_MS).over(in_order(*_PLACE)), F.col(c.UNTIL_MS)),
            }
        )
    )


def _change_of(flag: Column) -> Column:
    """By how much a consumer's part in a partition changes with a row: 1, 0 or -1."""
    number = flag.cast("int")
    return number - F.coalesce(F.lag(number).over(in_order(*_AT_PLACE)), F.lit(0))
