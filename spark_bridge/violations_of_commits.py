"""What no commit may show: a member that is none, a step back without a reason, a loss."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import NOTHING_COMMITTED, EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.blame import as_violation, is_placed, place
from spark_bridge.commits import kept_commits
from spark_bridge.lives import with_lives
from spark_bridge.rosters import with_rosters
from spark_bridge.values import or_false, or_zero, said
from spark_bridge.windows import before, in_order, so_far

_COMMITTED, _REMOVED = EventKind.OFFSET_COMMITTED.value, EventKind.OFFSET_REMOVED.value
_SENT, _RECEIVED = WorldEventKind.REQUEST_SENT.value, WorldEventKind.REQUEST_RECEIVED.value
_ANSWERED = WorldEventKind.REPLY_RECEIVED.value
_POSITION, _GIVEN = WorldEventKind.POSITION_SET.value, WorldEventKind.OFFSET_GIVEN.value
_HEARD, _ASSIGNED = (
    WorldEventKind.COMMIT_ACKNOWLEDGED.value,
    WorldEventKind.PARTITION_ASSIGNED.value,
)
_LOG_START = WorldEventKind.LOG_START_MOVED.value
_PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
_A_READER = (*_PLACE, c.CLIENT)


def commits_of_others(events: DataFrame) -> DataFrame:
    """One row per commit that was accepted from another generation, or from nobody's member.

    A commit without a generation is for groups without members.
    """
    roster, generation = F.col(c.ROSTER), F.col(c.GENERATION)
    is_nameless = or_false(generation < 0) | generation.isNull()
    is_inhabited = (roster[c.STATE] != "Empty") & (F.col(c.MEMBERS) > 0) & F.col(c.IS_CERTAIN)
    is_stale = generation != roster[c.GENERATION]
    is_foreign = F.col(c.MEMBER).isNotNull() & F.col(c.IS_CERTAIN) & ~F.col(c.IS_IN)
    nameless = said("a commit without a generation in a group that is ", roster[c.STATE])
    stale = said("a commit of generation ", generation, " in generation ", roster[c.GENERATION])
    who = F.coalesce(F.col(c.CLIENT), F.col(c.MEMBER))
    seen = (
        F.when(is_nameless, F.when(is_inhabited, nameless))
        .when(is_stale, stale)
        .when(is_foreign, said("a commit of ", who, ", who is no member"))
    )
    return (
        events.where(F.col(c.KIND) == _COMMITTED)
        .transform(with_rosters, events)
        .withColumn(c.SEEN, seen)
        .where(F.col(c.SEEN).isNotNull())
        .select(*as_violation("CommitsAreCurrent", roster[c.SEQ], F.col(c.SEEN)))
    )


# --- steps back ---


def commits_that_go_back(events: DataFrame) -> DataFrame:
    """One row per commit below the one before it, where no row shows why.

    Reasons are a position that its consumer was sent to (for one commit, and until it begins at the
    committed offset), an offset that was forgotten, an offset given by hand, by an application or a
    script, a commit from outside the group, a request that overtook an earlier one, and one that
    had waited for a coordinator.
    """
    kind, last = F.col(c.KIND), F.col(c.LAST)
    is_commit, is_elsewhere = kind == _COMMITTED, ~F.col(c.DETAIL).eqNullSafe("committed")
    # A repetition says what was so before: it is not what a later position has led to.
    led_to = F.when(~F.col(c.IS_REPETITION), F.col(c.SENT_SEQ))
    change = F.struct(c.KIND, c.SEQ, c.CLIENT, c.OFFSET, led_to.alias(c.SENT_SEQ))
    sent_back = F.struct(c.SEQ, F.when(is_elsewhere, F.col(c.OFFSET)).alias(c.OFFSET))
    newest = F.max(F.when(is_commit, F.struct(c.SENT_SEQ, c.OFFSET)))
    return (
        events.transform(_commits_and_reasons)
        .withColumns(
            {
                c.LAST: _last(kind.isin(_COMMITTED, _REMOVED), change).over(
                    before(*_PLACE, c.LIFE)
                ),
                c.NEWEST: newest.over(before(*_PLACE)),
                c.SENT_BACK: _last(kind == _POSITION, sent_back).over(so_far(*_A_READER)),
                c.GIVEN: _last(kind == _GIVEN, F.col(c.OFFSET)).over(so_far(*_A_READER)),
            }
        )
        .withColumn(c.IS_USED, _is_used().over(so_far(*_A_READER, c.SENT_BACK)))
        .where(is_commit & (last[c.KIND] == _COMMITTED) & (F.col(c.OFFSET) < last[c.OFFSET]))
        # One that was overtaken may have gone ahead: after it comes what goes on from the newest.
        .where(F.col(c.OFFSET) < F.col(c.NEWEST)[c.OFFSET])
        .where(~_has_a_reason())
        .select(
            *as_violation(
                *("CommitsOnlyAdvance", last[c.SEQ], place(), " went back from "),
                *(last[c.OFFSET], " to ", F.col(c.OFFSET), ", by ", F.col(c.CLIENT)),
            )
        )
    )


def _commits_and_reasons(events: DataFrame) -> DataFrame:
    """Commits, with the row of their request's sending, and what may send one back."""
    kind, is_commit = F.col(c.KIND), F.col(c.REQUEST) == "OffsetCommit"
    received = events.where((kind == _RECEIVED) & is_commit).select(
        c.RUN, F.col(c.CAUSE).alias(c.SENT_SEQ), F.col(c.SEQ).alias(c.CAUSE)
    )
    found = events.where((kind == _ANSWERED) & (F.col(c.REQUEST) == "FindCoordinator")).select(
        c.RUN,
        F.col(c.SEQ).alias(c.CAUSE),
        F.lit(True).alias(c.IS_LATE),  # noqa: FBT003
    )
    # What nothing led to is the script's doing; what a lookup led to was made before it ended.
    told_apart = (
        events.where((kind == _SENT) & is_commit)
        .join(found, on=[c.RUN, c.CAUSE], how="left")
        .select(
            c.RUN,
            F.col(c.SEQ).alias(c.SENT_SEQ),
            F.col(c.CAUSE).isNull().alias(c.IS_SCRIPTED),
            c.IS_LATE,
        )
    )
    # A repetition has no row of its sending, and is told only if it was overtaken.
    is_repetition = F.col(c.SENT_SEQ).isNull() & F.col(c.CAUSE).isNotNull()
    commits = (
        events.transform(kept_commits)
        .join(received, on=[c.RUN, c.CAUSE], how="left")
        .join(told_apart, on=[c.RUN, c.SENT_SEQ], how="left")
        .withColumns(
            {
                c.IS_REPETITION: is_repetition,
                c.IS_LATE: is_repetition | or_false(F.col(c.IS_LATE)),
                c.SENT_SEQ: F.coalesce(F.col(c.SENT_SEQ), F.col(c.SEQ)),
            }
        )
    )
    reasons = events.where(kind.isin(_POSITION, _GIVEN, _REMOVED))
    return (
        commits.unionByName(reasons, allowMissingColumns=True)
        .where(is_placed())
        .transform(with_lives, events)
    )


def _is_used() -> Column:
    """Has the position that a consumer was sent to explained a commit that holds?"""
    last, sent_back = F.col(c.LAST), F.col(c.SENT_BACK)
    is_own = (last[c.KIND] == _COMMITTED) & last[c.CLIENT].eqNullSafe(F.col(c.CLIENT))
    is_since = (last[c.SEQ] > sent_back[c.SEQ]) & (last[c.SENT_SEQ] > sent_back[c.SEQ])
    is_from_there = last[c.OFFSET] >= sent_back[c.OFFSET]
    is_explained = is_own & is_since & is_from_there
    return F.bool_or((F.col(c.KIND) == _COMMITTED) & or_false(is_explained))


def _has_a_reason() -> Column:
    is_overtaken = (F.col(c.SENT_SEQ) < F.col(c.NEWEST)[c.SENT_SEQ]) | F.col(c.IS_LATE)
    is_sent_back = (F.col(c.SENT_BACK)[c.OFFSET] <= F.col(c.OFFSET)) & ~F.col(c.IS_USED)
    is_given = F.col(c.GIVEN) == F.col(c.OFFSET)
    is_by_hand = F.col(c.MEMBER).isNull() | or_false(F.col(c.IS_SCRIPTED)) | or_false(is_given)
    return or_false(is_overtaken) | or_false(is_sent_back) | is_by_hand


# --- losses ---


def commits_that_were_lost(events: DataFrame) -> DataFrame:
    """One row per taking over of a partition that did not find what had been acknowledged.

    The first position after the assignment says what the coordinator knew: it lies before that, or
    no offset was committed at all. A topic that comes again under its old name is not asked about,
    for it may have been given offsets of the old one.
    """
    kind, offset = F.col(c.KIND), F.col(c.OFFSET)
    known, floor, assigned = F.col(c.COMMITTED), F.col(c.ACKNOWLEDGED), F.col(c.FLOOR)
    is_change = kind.isin(_COMMITTED, _REMOVED)
    committed = F.struct(F.when(kind == _COMMITTED, offset).alias(c.OFFSET))
    is_kept = (kind == _HEARD) & (known[c.OFFSET] == offset)
    is_back = (kind == _COMMITTED) & (offset < floor[c.OFFSET])
    is_forgotten = or_false(is_back) | (kind == _REMOVED)
    holds = floor[c.SEQ] > or_zero(F.col(c.FORGOTTEN))
    is_gone = F.col(c.DETAIL).eqNullSafe(NOTHING_COMMITTED)
    is_before = (offset < floor[c.OFFSET]) & ~F.col(c.DETAIL).eqNullSafe("seek")
    promise = F.struct(c.KIND, c.SEQ, F.when(holds, floor).alias(c.ACKNOWLEDGED))
    return (
        events.transform(_acknowledgements)
        .withColumn(c.COMMITTED, _last(is_change, committed).over(so_far(*_PLACE)))
        .withColumn(c.ACKNOWLEDGED, _last(is_kept, F.struct(c.SEQ, c.OFFSET)).over(so_far(*_PLACE)))
        .withColumn(c.FORGOTTEN, F.max(F.when(is_forgotten, F.col(c.SEQ))).over(so_far(*_PLACE)))
        .where(kind.isin(_ASSIGNED, _POSITION))
        .withColumn(c.FLOOR, F.lag(promise).over(in_order(*_A_READER)))
        .where((kind == _POSITION) & (assigned[c.KIND] == _ASSIGNED))
        .where(assigned[c.SEQ] > or_zero(F.col(c.FORGOTTEN)))
        .withColumn(c.ACKNOWLEDGED, assigned[c.ACKNOWLEDGED])
        .where(floor.isNotNull() & (is_gone | is_before))
        .transform(_with_log_starts, events)
        .where(is_gone | (floor[c.OFFSET] >= or_zero(F.col(c.LOW))))
        .select(
            *as_violation(
                *("AcknowledgedCommitsSurvive", floor[c.SEQ], F.col(c.CLIENT), " began "),
                *(place(), " at ", offset, ", ", F.col(c.DETAIL), "; "),
                *(floor[c.OFFSET], " was acknowledged"),
            )
        )
    )


def _acknowledgements(events: DataFrame) -> DataFrame:
    """What is told of commits, and where readers begin, until the topic is first deleted."""
    kinds = (_REMOVED, _HEARD, _ASSIGNED, _POSITION)
    return (
        events.where(F.col(c.KIND).isin(*kinds))
        .unionByName(events.transform(kept_commits), allowMissingColumns=True)
        .where(is_placed())
        .transform(with_lives, events)
        .where(F.col(c.LIFE) == 0)
    )


def _with_log_starts(rows: DataFrame, events: DataFrame) -> DataFrame:
    """The rows with the offset before which a script had deleted the records by then."""
    # Deletions are few: they fit into one row for each partition.
    starts = (
        events.where(F.col(c.KIND) == _LOG_START)
        .groupBy(c.RUN, c.TOPIC, c.PARTITION)
        .agg(F.array_sort(F.collect_list(F.struct(c.SEQ, c.OFFSET))).alias(c.LOG_STARTS))
    )
    earlier = F.filter(c.LOG_STARTS, lambda start: start[c.SEQ] < F.col(c.SEQ))
    return rows.join(F.broadcast(starts), on=[c.RUN, c.TOPIC, c.PARTITION], how="left").withColumn(
        c.LOW, F.try_element_at(earlier, F.lit(-1))[c.OFFSET]
    )


def _last(condition: Column, value: Column) -> Column:
    """The value in the last row for which this is so."""
    return F.last(F.when(condition, value), ignorenulls=True)
