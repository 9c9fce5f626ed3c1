"""How commits fare, and what groups have committed; a commit whose write fails never was."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.lives import with_lives
from spark_bridge.names import name_of, with_names
from spark_bridge.timeline import until_the_end
from spark_bridge.values import AFTER_ALL, or_false, or_zero
from spark_bridge.windows import before, greatest_since, so_far, to_come

_COMMITTED, _REMOVED = EventKind.OFFSET_COMMITTED.value, EventKind.OFFSET_REMOVED.value
_WRITTEN, _FAILED = WorldEventKind.WRITE_COMMITTED.value, EventKind.WRITE_FAILED.value
_LOADED = EventKind.GROUP_LOADED.value
_REFUSED, _REPEATED = EventKind.COMMIT_REFUSED.value, WorldEventKind.COMMITS_REPEATED.value
_COMMIT_FAILED = WorldEventKind.COMMIT_FAILED.value
_ANSWERED = WorldEventKind.REPLY_SENT.value
_PROCESSED = WorldEventKind.RECORDS_PROCESSED.value
_A_MEMBER = (c.RUN, c.GROUP, c.CLIENT)
_PLACE = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)


def committed_offsets(events: DataFrame) -> DataFrame:
    """One row per partition for which a group has an offset when the run ends."""
    offset = F.when(F.col(c.KIND) == _COMMITTED, F.col(c.OFFSET))
    return (
        events.transform(kept_commits)
        .unionByName(events.where(F.col(c.KIND) == _REMOVED), allowMissingColumns=True)
        .transform(with_lives, events)
        .where(F.col(c.LIFE_ENDED).isNull())
        .groupBy(*_PLACE)
        .agg(F.max_by(offset, c.SEQ).alias(c.COMMITTED))
        .where(F.col(c.COMMITTED).isNotNull())
    )


def commits_refused(events: DataFrame) -> DataFrame:
    """One row per member and error: how many of its commits the coordinator did not accept."""
    return (
        events.where(F.col(c.KIND) == _REFUSED)
        .transform(_by_client, events)
        .groupBy(*_A_MEMBER, F.coalesce(c.ERROR, F.lit("UNKNOWN")).alias(c.ERROR))
        .agg(F.count("*").alias(c.COUNT))
    )


def commits(events: DataFrame) -> DataFrame:
    """One row per member that ever committed or processed: how its commits fared and how late.

    `accepted` counts requests, `repeated` among them the automatic ones that found nothing new;
    `unanswered` are those whose member never heard of the answer. `per_s` is the rate of accepted
    ones over the whole run. `uncommitted` is by how many records the committed position of a
    partition was behind what the member had processed, at worst, and `uncommitted_ms` how long a
    record that it had processed waited for somebody's commit.
    """
    counts = (c.ACCEPTED, c.REPEATED, c.REFUSED, c.UNANSWERED)
    until_ms = F.coalesce(F.col(c.UNTIL_MS), F.col(c.ENDED_MS))
    return (
        until_the_end(events)
        .transform(_counts)
        .join(until_the_end(events).transform(_behind), on=list(_A_MEMBER), how="outer")
        .select(
            *_A_MEMBER,
            *(or_zero(F.col(name)).alias(name) for name in counts),
            (or_zero(F.col(c.ACCEPTED)) * 1_000 / until_ms).alias(c.PER_S),
            *(or_zero(F.col(name)).alias(name) for name in (c.UNCOMMITTED, c.UNCOMMITTED_MS)),
        )
    )


def _counts(events: DataFrame) -> DataFrame:
    """One row per member that ever committed: how often, and with what answers."""
    kind, is_repeat = F.col(c.KIND), F.col(c.KIND) == _REPEATED
    is_answer = (kind == _ANSWERED) & (F.col(c.REQUEST) == "OffsetCommit")
    is_good = is_answer & (F.col(c.ERROR) == "NONE")
    repeated = or_zero(F.sum(F.when(is_repeat, F.col(c.COUNT))))
    has_no_answer = (kind == _COMMIT_FAILED) & F.col(c.ERROR).endswith("Exception")
    return (
        events.where(is_good | kind.isin(_REPEATED, _REFUSED, _COMMIT_FAILED))
        .transform(_by_client, events)
        .groupBy(*_A_MEMBER)
        .agg(
            (F.count_if(is_good) + repeated).alias(c.ACCEPTED),
            repeated.alias(c.REPEATED),
            F.count_if(kind == _REFUSED).alias(c.REFUSED),
            F.count_distinct(F.when(has_no_answer, F.col(c.CAUSE))).alias(c.UNANSWERED),
            F.max(c.UNTIL_MS).alias(c.UNTIL_MS),
        )
    )


def _behind(events: DataFrame) -> DataFrame:
    """One row per member that processed anything: how far commits were behind it at worst.

    Where commits go back, or the offset is forgotten, what was processed before waits no longer.
    """
    kind, last = F.col(c.KIND), F.col(c.LAST)
    is_commit, is_work, place = kind == _COMMITTED, kind == _PROCESSED, (*_PLACE, c.LIFE)
    reached = F.when(is_commit, F.col(c.OFFSET)).otherwise(F.col(c.END_OFFSET))
    change = F.when(~is_work, F.struct(F.when(is_commit, F.col(c.OFFSET)).alias(c.OFFSET)))
    is_break = (kind == _REMOVED) | or_false(is_commit & (F.col(c.OFFSET) < last[c.OFFSET]))
    later = to_come(*place)
    work = F.when(is_work, F.struct((-F.col(c.SEQ)).alias(c.SEQ), c.OFFSET))
    first = greatest_since(c.ROUND, work, so_far(*place))[c.OFFSET]
    covered_ms = F.min(F.when(is_commit, F.col(c.AT_MS))).over(_at_least(*place, c.ROUND))
    until_ms = F.least(
        F.coalesce(F.col(c.COVERED_MS), F.col(c.BROKEN_MS), F.col(c.LIFE_ENDED)[c.AT_MS]),
        F.col(c.UNTIL_MS),
    )
    known = F.coalesce(last[c.OFFSET], F.col(c.FIRST))
    return (
        events.transform(_work_and_commits)
        .withColumns(
            {
                c.REACHED: reached,
                c.LAST: F.last(change, ignorenulls=True).over(before(*place)),
            }
        )
        .withColumns(
            {
                c.ROUND: F.count_if(is_break).over(so_far(*place)),
                c.BROKEN_MS: F.min(F.when(is_break, F.col(c.AT_MS))).over(later),
            }
        )
        .withColumns({c.FIRST: first, c.COVERED_MS: covered_ms})
        .where(is_work)
        .groupBy(*_A_MEMBER)
        .agg(
            F.greatest(F.max(F.col(c.REACHED) - known), F.lit(0)).alias(c.UNCOMMITTED),
            F.greatest(F.max(until_ms - F.col(c.AT_MS)), F.lit(0)).alias(c.UNCOMMITTED_MS),
            F.max(c.UNTIL_MS).alias(c.ENDED_MS),
        )
    )


def _work_and_commits(events: DataFrame) -> DataFrame:
    """What was processed, what was committed and what was forgotten of partitions."""
    is_work = (F.col(c.KIND) == _PROCESSED) & F.col(c.CLIENT).isNotNull()
    return (
        events.where(is_work | (F.col(c.KIND) == _REMOVED))
        .unionByName(events.transform(kept_commits), allowMissingColumns=True)
        .where(F.col(c.GROUP).isNotNull() & F.col(c.PARTITION).isNotNull())
        .transform(with_lives, events)
    )


def _at_least(*keys: str) -> WindowSpec:
    """The rows with these keys that reach as far as the present one, the furthest first."""
    return (
        Window.partitionBy(*keys)
        .orderBy(F.desc(c.REACHED))
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )


def _by_client(rows: DataFrame, events: DataFrame) -> DataFrame:
    """The rows with the consumer behind the member, where they do not name it."""
    return rows.transform(with_names, events).withColumn(
        c.CLIENT, F.coalesce(F.col(c.CLIENT), name_of(F.col(c.MEMBER)))
    )


def kept_commits(events: DataFrame) -> DataFrame:
    """The commits whose write did not fail, nor was under way when the coordinator changed."""
    kind = F.col(c.KIND)
    written = (
        events.where(kind == _WRITTEN)
        .groupBy(c.RUN, c.CAUSE)
        .agg(F.min(c.SEQ).alias(c.WRITTEN_SEQ))
    )
    # Failures and loads are few: they fit into one row for each run and group.
    failures = (
        events.where(kind == _FAILED)
        .groupBy(c.RUN)
        .agg(
            F.collect_list(F.struct(c.SEQ, F.coalesce(c.CAUSE, F.lit(0)).alias(c.CAUSE))).alias(
                c.FAILURES
            )
        )
    )
    loads = (
        events.where(kind == _LOADED)
        .groupBy(c.RUN, c.GROUP)
        .agg(F.collect_list(c.SEQ).alias(c.LOADS))
    )
    # A write that fails takes the later ones with it.
    is_failed = F.exists(
        c.FAILURES,
        lambda failure: _is_meanwhile(failure[c.SEQ]) & (failure[c.CAUSE] <= F.col(c.CAUSE)),
    )
    is_forgotten = F.col(c.CAUSE).isNotNull() & F.exists(c.LOADS, _is_meanwhile)
    is_void = or_false(is_failed) | or_false(is_forgotten)
    return (
        events.where(kind == _COMMITTED)
        # By hash, or all commits would be put in the order of their causes for this alone.
        .join(written.hint("shuffle_hash"), on=[c.RUN, c.CAUSE], how="left")
        .join(F.broadcast(failures), on=c.RUN, how="left")
        .join(F.broadcast(loads), on=[c.RUN, c.GROUP], how="left")
        .where(~is_void)
        .drop(c.FAILURES, c.LOADS, c.WRITTEN_SEQ)
    )


def _is_meanwhile(seq: Column) -> Column:
    """Is this row after the commit and before the log has it?"""
    return (seq > F.col(c.SEQ)) & (seq < F.coalesce(F.col(c.WRITTEN_SEQ), F.lit(AFTER_ALL)))
