"""What no run may show, checked once more from the events alone.

The simulator's own checkers watch a run row by row (simulation/safety.py); these look at the
finished rows and share nothing with them but the names and the definitions. Checks of commits are
in `violations_of_commits`.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.blame import as_violation, is_placed, place
from spark_bridge.joins import JOINS
from spark_bridge.rosters import GROUP_KINDS, with_rosters
from spark_bridge.sessions import member_sessions
from spark_bridge.values import AFTER_ALL, or_false
from spark_bridge.violations_of_commits import (
    commits_of_others,
    commits_that_go_back,
    commits_that_were_lost,
)
from spark_bridge.windows import before, in_order, so_far

_REMOVED = EventKind.GROUP_REMOVED.value
_CHANGED, _LOADED = EventKind.STATE_CHANGED.value, EventKind.GROUP_LOADED.value
_PROCESSED = WorldEventKind.RECORDS_PROCESSED.value
_ASSIGNED = WorldEventKind.PARTITION_ASSIGNED.value
#: What ends an owner's time with a partition, and with all of them.
_ENDS = (WorldEventKind.PARTITION_REVOKED.value, WorldEventKind.PARTITION_LOST.value)
_EXITS = (WorldEventKind.CONSUMER_CRASHED.value, WorldEventKind.CONSUMER_STOPPED.value)
#: The assignors that give each partition to one member.
_EXCLUSIVE = ("range", "roundrobin", "sticky", "cooperative-sticky")
_COOPERATIVE = "cooperative-sticky"
_COMPLETING = "CompletingRebalance"
_A_GROUP, _PLACE = (c.RUN, c.GROUP), (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)


def violations(events: DataFrame) -> DataFrame:
    """One row per row of a run that shows what must never be, beside the row it contradicts."""
    checks = (
        generations_that_fall,
        two_processors_of_a_generation,
        two_cooperative_owners,
        commits_of_others,
        commits_that_go_back,
        commits_that_were_lost,
    )
    return reduce(DataFrame.unionByName, (events.transform(check) for check in checks))


def generations_that_fall(events: DataFrame) -> DataFrame:
    """One row per new state of a group with a lower generation than the one before."""
    kind = F.col(c.KIND)
    last = F.lag(F.struct(c.KIND, c.SEQ, c.GENERATION)).over(in_order(*_A_GROUP))
    is_new = (F.col(c.STATE) == _COMPLETING).cast("int")
    known = F.when(F.col(c.LAST)[c.KIND] != _REMOVED, F.col(c.LAST)[c.GENERATION])
    return (
        events.where(kind.isin(*GROUP_KINDS))
        .withColumn(c.LAST, last)
        .where((kind == _CHANGED) & (F.col(c.GENERATION) < known + is_new))
        .select(
            *as_violation(
                *("GenerationsRise", F.col(c.LAST)[c.SEQ], F.col(c.GROUP)),
                *(" went from generation ", known, " to ", F.col(c.GENERATION)),
            )
        )
    )


# --- one processor for each partition ---


def two_processors_of_a_generation(events: DataFrame) -> DataFrame:
    """One row per second member of one generation that processed a partition.

    Generations are told apart by the row that began them, for a coordinator that lost one gives its
    number out again; a member is in the one that it joined. A static member that is back is who it
    was. Assignors of somebody's own may share partitions.
    """
    kind = F.col(c.KIND)
    a_stint = (*_PLACE, c.GENERATION, c.BEGAN)
    first = F.first(F.struct(c.WHO, c.CLIENT, c.SEQ)).over(so_far(*a_stint))
    is_told = F.when(
        kind != _PROCESSED,
        F.struct(F.when(kind.isin(_CHANGED, _LOADED), F.col(c.PROTOCOL)).alias(c.PROTOCOL)),
    )
    protocol = F.last(is_told, ignorenulls=True).over(so_far(*_A_GROUP))[c.PROTOCOL]
    is_exclusive = F.col(c.PROTOCOL).isNull() | F.col(c.PROTOCOL).isin("", *_EXCLUSIVE)
    return (
        events.transform(_processed_by_several)
        .unionByName(events.where(kind.isin(*GROUP_KINDS)), allowMissingColumns=True)
        .withColumn(c.PROTOCOL, protocol)
        .where((kind == _PROCESSED) & is_exclusive)
        .transform(_with_beginnings, events)
        .withColumns({c.FIRST: first, c.STEP: F.row_number().over(in_order(*a_stint, c.WHO))})
        .where((F.col(c.FIRST)[c.WHO] != F.col(c.WHO)) & (F.col(c.STEP) == 1))
        .select(
            *as_violation(
                *("OneProcessorPerGeneration", F.col(c.FIRST)[c.SEQ], F.col(c.FIRST)[c.CLIENT]),
                *(" and ", F.col(c.CLIENT), " both processed ", place()),
                *(" in generation ", F.col(c.GENERATION)),
            )
        )
    )


def _processed_by_several(events: DataFrame) -> DataFrame:
    """What was processed in generations whose number several members of a partition have."""
    a_generation = (*_PLACE, c.GENERATION)
    is_known = F.col(c.GENERATION).isNotNull() & F.col(c.MEMBER).isNotNull()
    processed = events.where((F.col(c.KIND) == _PROCESSED) & is_known & is_placed()).withColumn(
        c.WHO, F.coalesce(F.col(c.INSTANCE), F.col(c.MEMBER))
    )
    shared = (
        processed.groupBy(*a_generation)
        .agg(F.min(c.WHO).alias(c.FIRST), F.max(c.WHO).alias(c.LAST))
        .where(F.col(c.FIRST) != F.col(c.LAST))
        .select(*a_generation)
    )
    return processed.join(shared, on=list(a_generation), how="left_semi")


def _with_beginnings(processed: DataFrame, events: DataFrame) -> DataFrame:
    """The rows with the row that began their member's generation; 0 where no row tells of it."""
    kind = F.col(c.KIND)
    is_join = kind.isin(*JOINS)
    is_end = ((kind == _CHANGED) & (F.col(c.STATE) == _COMPLETING)) | (kind == _LOADED)
    ahead = in_order(*_A_GROUP).rowsBetween(Window.currentRow, Window.unboundedFollowing)
    end = F.first(F.when(is_end, F.struct(c.SEQ, c.KIND, c.GENERATION)), ignorenulls=True)
    joins = (
        events.where(is_join | is_end)
        .withColumn(c.NEXT, end.over(ahead))
        .where(is_join & (F.col(c.NEXT)[c.KIND] == _CHANGED))
        .select(
            *_A_GROUP,
            F.col(c.NEXT)[c.GENERATION].alias(c.GENERATION),
            F.struct(
                F.coalesce(F.col(c.INSTANCE), F.col(c.MEMBER)).alias(c.WHO),
                F.col(c.NEXT)[c.SEQ].alias(c.BEGAN),
            ).alias(c.JOINS),
        )
        .groupBy(*_A_GROUP, c.GENERATION)
        .agg(F.collect_list(c.JOINS).alias(c.JOINS))
    )
    earlier = F.filter(c.JOINS, lambda join: join[c.BEGAN] < F.col(c.SEQ))
    own = F.filter(earlier, lambda join: join[c.WHO] == F.col(c.WHO))
    began = [F.array_max(F.transform(some, lambda join: join[c.BEGAN])) for some in (own, earlier)]
    return processed.join(joins, on=[*_A_GROUP, c.GENERATION], how="left").withColumn(
        c.BEGAN, F.coalesce(*began, F.lit(0).cast("bigint"))
    )


# --- cooperative owners ---


def two_cooperative_owners(events: DataFrame) -> DataFrame:
    """One row per partition that a member took over under the cooperative protocol, and one had.

    Both must be members then; static ones count only if they joined the present generation, for a
    static member that misses a rebalance keeps its session (KIP-345).
    """
    tenures = events.transform(_tenures)
    owners = tenures.select(
        *_PLACE,
        F.struct(c.SEQ, c.CLIENT, c.MEMBER, c.INSTANCE, c.TO_SEQ).alias(c.OTHER),
    )
    other = F.col(c.OTHER)
    is_meanwhile = (other[c.SEQ] < F.col(c.SEQ)) & (other[c.TO_SEQ] > F.col(c.SEQ))
    overlap = F.max(c.TO_SEQ).over(before(*_PLACE)) > F.col(c.SEQ)
    is_cooperative = (F.col(c.ROSTER)[c.PROTOCOL] == _COOPERATIVE) & F.col(c.IS_CERTAIN)
    return (
        tenures.withColumn(c.IS_OVER, overlap)
        .where(c.IS_OVER)
        .drop(c.IS_OVER)
        .transform(with_rosters, events)
        .where(is_cooperative & F.col(c.IS_IN))
        .join(owners, on=list(_PLACE), how="inner")
        .where(is_meanwhile & (other[c.CLIENT] != F.col(c.CLIENT)))
        .transform(_of_members, events)
        .transform(_of_the_present, events)
        .select(
            *as_violation(
                *("CooperativeOwnersAreAlone", other[c.SEQ], other[c.CLIENT]),
                *(" and ", F.col(c.CLIENT), " both own ", place()),
            )
        )
    )


def _tenures(events: DataFrame) -> DataFrame:
    """One row per taking over of a partition, with the row that ended it."""
    kind = F.col(c.KIND)
    exits = (
        events.where(kind.isin(*_EXITS))
        .groupBy(c.RUN, c.CLIENT)
        .agg(F.collect_list(c.SEQ).alias(c.LOADS))
    )
    later = F.filter(c.LOADS, lambda seq: seq > F.col(c.SEQ))
    following = F.lead(c.SEQ).over(in_order(*_PLACE, c.CLIENT))
    return (
        events.where(kind.isin(_ASSIGNED, *_ENDS) & is_placed() & F.col(c.CLIENT).isNotNull())
        .withColumn(c.NEXT_SEQ, following)
        .where(kind == _ASSIGNED)
        .join(F.broadcast(exits), on=[c.RUN, c.CLIENT], how="left")
        .withColumn(
            c.TO_SEQ, F.least(F.coalesce(F.col(c.NEXT_SEQ), F.lit(AFTER_ALL)), F.array_min(later))
        )
        .drop(c.LOADS, c.NEXT_SEQ)
    )


def _of_members(rows: DataFrame, events: DataFrame) -> DataFrame:
    """The rows in which the other owner is a member."""
    sessions = events.transform(member_sessions).select(
        *_A_GROUP,
        F.col(c.MEMBER).alias(c.WHO),
        c.FROM_SEQ,
        F.coalesce(F.col(c.TO_SEQ), F.lit(AFTER_ALL)).alias(c.LAST),
    )
    is_covered = (F.col(c.SEQ) > F.col(c.FROM_SEQ)) & (F.col(c.SEQ) < F.col(c.LAST))
    return (
        rows.withColumn(c.WHO, F.col(c.OTHER)[c.MEMBER])
        .join(sessions, on=[*_A_GROUP, c.WHO], how="inner")
        .where(is_covered)
        .drop(c.WHO, c.FROM_SEQ, c.LAST)
    )


def _of_the_present(rows: DataFrame, events: DataFrame) -> DataFrame:
    """The rows whose owners, if they are static, have both joined the present generation.

    After a load all members are in it: that is what the log has.
    """
    kind = F.col(c.KIND)
    is_join = kind.isin(*JOINS)
    is_turn = ((kind == _CHANGED) & (F.col(c.STATE) == _COMPLETING)) | (kind == _LOADED)
    turns = (
        events.where(is_turn | is_join)
        .withColumn(c.ROUND, F.count_if(is_turn).over(so_far(*_A_GROUP)))
        .groupBy(*_A_GROUP, c.ROUND)
        .agg(
            F.min(F.when(is_turn, F.col(c.SEQ))).alias(c.FROM_SEQ),
            F.max(F.when(is_turn, F.col(c.KIND))).alias(c.ENDED_BY),
            F.collect_set(F.when(is_join, F.col(c.INSTANCE))).alias(c.NEXT),
        )
    )
    in_rounds = Window.partitionBy(*_A_GROUP).orderBy(c.ROUND)
    present = turns.withColumns(
        {c.JOINS: F.lag(c.NEXT).over(in_rounds), c.TO_SEQ: F.lead(c.FROM_SEQ).over(in_rounds)}
    ).select(
        *(*_A_GROUP, c.FROM_SEQ, c.JOINS, c.ENDED_BY),
        F.coalesce(F.col(c.TO_SEQ), F.lit(AFTER_ALL)).alias(c.LAST),
    )
    has_joined = [
        instance.isNull()
        | F.array_contains(F.col(c.JOINS), instance)
        | (F.col(c.ENDED_BY) == _LOADED)
        for instance in (F.col(c.INSTANCE), F.col(c.OTHER)[c.INSTANCE])
    ]
    is_then = (F.col(c.SEQ) > F.coalesce(F.col(c.FROM_SEQ), F.lit(0))) & (
        F.col(c.SEQ) < F.col(c.LAST)
    )
    return (
        rows.join(present, on=list(_A_GROUP), how="inner")
        .where(is_then)
        .where(or_false(has_joined[0]) & or_false(has_joined[1]))
    )
