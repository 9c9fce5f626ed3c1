"""Records processed more than once, and records never processed though committed past, by cause.

A record is processed when its application says so. What a living consumer still has in hand when
the rows end is on its way, not lost.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from simulation.events import WorldEventKind
from spark_bridge import columns as c
from spark_bridge.commits import committed_offsets
from spark_bridge.coverage import (
    is_range,
    is_rewind,
    never_processed,
    odd_ranges,
    processed_again,
    rewinds,
)
from spark_bridge.lives import with_lives
from spark_bridge.readers import (
    A_LIFE,
    A_TENURE,
    ASSIGNED,
    COMMIT_FAILED,
    COMMITTED,
    FORGOTTEN,
    GONE,
    PLACE,
    POSITION,
    RETURNED,
    SAID,
    STOPS,
    reader_rows,
)
from spark_bridge.values import AFTER_ALL, always, or_empty, or_false, or_zero, said
from spark_bridge.windows import before, greatest_since, in_order, so_far

_BIRTHS = (WorldEventKind.TOPIC_CREATED.value, WorldEventKind.PARTITIONS_ADDED.value)
#: How a consumer's stay at a partition ended, in words, by the kind of its last row.
_ENDINGS = {
    WorldEventKind.PARTITION_REVOKED.value: "gave the partition up",
    WorldEventKind.PARTITION_LOST.value: "lost the partition",
    WorldEventKind.CONSUMER_CRASHED.value: "crashed",
    WorldEventKind.CONSUMER_STOPPED.value: "stopped",
}


def duplicates(events: DataFrame) -> DataFrame:
    """One row per partition and cause: how many records were processed again because of it."""
    rows = events.transform(delivery_rows)
    return rows.transform(duplicates_among, rows.transform(odd_ranges))


def losses(events: DataFrame) -> DataFrame:
    """One row per partition and cause: how many records nobody processed, though committed past."""
    rows = events.transform(delivery_rows)
    return rows.transform(losses_among, rows.transform(odd_ranges), events)


def duplicates_among(rows: DataFrame, odd: DataFrame) -> DataFrame:
    """The same as `duplicates`, of what `delivery_rows` and `odd_ranges` return."""
    # Most partitions are in order, and nobody need ask why.
    few = F.broadcast(odd.transform(rewinds).select(*PLACE).distinct())
    concerned = rows.join(few, on=list(PLACE), how="left_semi")
    return (
        concerned.transform(_with_reasons)
        .join(odd.transform(processed_again), on=[*A_LIFE, c.SEQ], how="inner")
        .transform(_with_other_readers, concerned, odd)
        .groupBy(*PLACE, _why_again().alias(c.REASON))
        .agg(F.sum(c.RECORDS).alias(c.RECORDS))
    )


def losses_among(rows: DataFrame, odd: DataFrame, events: DataFrame) -> DataFrame:
    """The same as `losses`, of what `delivery_rows` and `odd_ranges` return."""
    return (
        rows.transform(_missing, odd, events)
        .transform(_with_blames, rows, events)
        .where(~F.col(c.HAS_IN_HAND))
        .groupBy(*PLACE, c.REASON)
        .agg(F.sum(F.col(c.HIGH) - F.col(c.LOW)).alias(c.RECORDS))
    )


def delivery_rows(events: DataFrame) -> DataFrame:
    """The rows about partitions and their readers, with how far anybody had come before them.

    `reached` is how far anybody had read, `done` how far anybody had processed, `had_base` whether
    anybody had begun to read at all.
    """
    return events.transform(reader_rows).transform(_with_progress)


def _with_progress(rows: DataFrame) -> DataFrame:
    """The rows with how far anybody had come before them."""
    kind = F.col(c.KIND)
    is_handed = (kind == RETURNED) & F.col(c.OFFSET).isNotNull()
    came_to = F.when(kind == POSITION, or_zero(F.col(c.OFFSET))).when(
        is_handed, F.col(c.END_OFFSET)
    )
    begins = F.col(c.IS_READER) & kind.isin(POSITION, RETURNED)
    earlier = before(*A_LIFE)
    return rows.withColumns(
        {
            c.REACHED: or_zero(F.max(F.when(F.col(c.IS_READER), came_to)).over(earlier)),
            c.DONE: or_zero(F.max(F.when(is_range(), F.col(c.END_OFFSET))).over(earlier)),
            c.HAD_BASE: or_false(F.bool_or(begins).over(earlier)),
        }
    )


# --- why again ---


def _with_reasons(rows: DataFrame) -> DataFrame:
    """Ranges that begin anew, and positions, with whatever may be to blame for the former.

    Nearly all of it is told from the order in which the rows are kept: those of a partition.
    """
    kind = F.col(c.KIND)
    began = F.struct(
        or_empty(F.col(c.DETAIL)).alias(c.DETAIL),
        or_zero(F.col(c.OFFSET)).alias(c.OFFSET),
        c.REACHED,
    )
    is_begin = (kind == POSITION) & F.col(c.IS_READER)
    forgotten = F.when(kind == FORGOTTEN, F.coalesce(F.col(c.DETAIL), F.lit("forgotten")))
    is_said = kind.isin(*SAID)
    is_failure = (kind == COMMIT_FAILED) & F.col(c.OFFSET).isNotNull()
    failed = F.when(is_failure, F.struct(c.CLIENT, c.OFFSET, c.ERROR))
    committed = greatest_since(
        c.FAILURES, F.when(kind == COMMITTED, F.col(c.OFFSET)), so_far(*A_LIFE)
    )
    is_telling = is_begin | is_rewind() | is_said | is_failure | kind.isin(*STOPS, *GONE)
    return (
        rows.where(is_telling)
        .withColumns(
            {
                c.FORGOTTEN: F.last(
                    F.when(is_said, F.struct(forgotten.alias(c.DETAIL))), ignorenulls=True
                ).over(_through_lives())[c.DETAIL],
                c.FAILURES: F.count_if(is_failure).over(so_far(*A_LIFE)),
                c.FAILED: F.last(failed, ignorenulls=True).over(so_far(*A_LIFE)),
            }
        )
        .withColumn(c.IS_CLEARED, or_false(committed >= F.col(c.FAILED)[c.OFFSET]))
        .transform(_with_endings)
        .where(is_begin | is_rewind())
        .withColumn(
            c.BEGAN, F.last(F.when(is_begin, began), ignorenulls=True).over(so_far(*A_TENURE))
        )
    )


def _through_lives() -> WindowSpec:
    """The rows of a partition up to the present one, also of earlier lives of its topic.

    Lives follow each other, so this is the order by `seq`; but said so, it is that of a life too.
    """
    return (
        Window.partitionBy(*PLACE)
        .orderBy(c.LIFE, c.SEQ)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )


def _with_endings(rows: DataFrame) -> DataFrame:
    """The rows with the consumer that last ceased to read, and how.

    Who was handed nothing in its stay left nothing undone, so it is not to blame, unless nobody
    else is; and who has ceased already may still die.
    """
    kind, is_gone = F.col(c.KIND), F.col(c.KIND).isin(*GONE)
    was_at_work = F.col(c.HAS_IN_HAND) | (F.col(c.IS_READING) & F.col(c.HAS_READ))
    is_candidate = F.col(c.IS_READER) & (kind.isin(*STOPS) | is_gone)
    is_strong = is_candidate & F.when(is_gone, was_at_work).otherwise(F.col(c.HAS_READ))
    is_first = F.count_if(c.IS_CANDIDATE).over(so_far(*A_LIFE)) == 1
    sets = F.col(c.IS_STRONG) | (
        F.col(c.IS_CANDIDATE) & is_gone & (F.col(c.CLIENT) == F.col(c.LAST_READER))
    )
    ending = F.struct(c.CLIENT, _how_it_ended().alias(c.DETAIL))
    return (
        rows.withColumn(c.IS_CANDIDATE, is_candidate)
        .withColumn(c.IS_STRONG, is_strong | (is_candidate & is_first))
        .withColumn(
            c.LAST_READER,
            F.last(F.when(F.col(c.IS_STRONG), F.col(c.CLIENT)), ignorenulls=True).over(
                so_far(*A_LIFE)
            ),
        )
        .withColumn(c.ENDING, F.last(F.when(sets, ending), ignorenulls=True).over(so_far(*A_LIFE)))
    )


def _with_other_readers(again: DataFrame, rows: DataFrame, odd: DataFrame) -> DataFrame:
    """Ranges that were processed again, each with another consumer that reads there at the time.

    `from_seq` is the row with which that one came last, `came` that of their own reader.
    """
    kind = F.col(c.KIND)
    of_a_consumer = in_order(*A_LIFE, c.CLIENT)
    came = F.min(F.when(kind == ASSIGNED, F.col(c.SEQ))).over(so_far(*A_TENURE))
    readings = (
        rows.where(kind.isin(ASSIGNED, *STOPS, *GONE))
        .withColumns({c.BEGAN: came, c.TO_SEQ: F.lead(c.SEQ).over(of_a_consumer)})
        .where(kind == ASSIGNED)
        .select(
            *A_LIFE,
            F.col(c.CLIENT).alias(c.OTHER),
            F.col(c.BEGAN).alias(c.CAME),
            F.col(c.SEQ).alias(c.FROM_SEQ),
            F.coalesce(F.col(c.TO_SEQ), F.lit(AFTER_ALL)).alias(c.TO_SEQ),
        )
    )
    is_reading = (F.col(c.FROM_SEQ) < F.col(c.SEQ)) & (F.col(c.SEQ) < F.col(c.TO_SEQ))
    is_other = F.col(c.OTHER) != F.col(c.CLIENT)
    first = F.min_by(F.struct(c.OTHER, c.FROM_SEQ), F.when(is_other, F.col(c.CAME)))
    others = (
        odd.transform(rewinds)
        .join(readings, on=list(A_LIFE), how="inner")
        .where(is_reading)
        .groupBy(*A_LIFE, c.SEQ)
        .agg(first.alias(c.FIRST), F.max(F.when(~is_other, F.col(c.FROM_SEQ))).alias(c.CAME))
        .select(
            *A_LIFE,
            c.SEQ,
            c.CAME,
            F.col(c.FIRST)[c.OTHER].alias(c.OTHER),
            F.col(c.FIRST)[c.FROM_SEQ].alias(c.FROM_SEQ),
        )
    )
    return again.join(others, on=[*A_LIFE, c.SEQ], how="left")


def _why_again() -> Column:
    """Why these records are processed a second time, as one clause."""
    began, failed, ending = F.col(c.BEGAN), F.col(c.FAILED), F.col(c.ENDING)
    is_sent = began[c.DETAIL].startswith("seek") | began[c.DETAIL].startswith("reset")
    was_sent = F.col(c.IS_READER) & is_sent & (F.col(c.OFFSET) < began[c.REACHED])
    was_refused = ~F.col(c.IS_CLEARED) & (failed[c.OFFSET] > F.col(c.OFFSET))
    client = F.col(c.CLIENT)
    return (
        F.when(was_sent, said(client, " went to ", began[c.OFFSET], ": ", began[c.DETAIL]))
        .when(
            F.col(c.FORGOTTEN).isNotNull(),
            said("the committed offset was removed: ", F.col(c.FORGOTTEN)),
        )
        .when(
            was_refused,
            said(
                *("the commit of offset ", failed[c.OFFSET], " by ", failed[c.CLIENT]),
                *(" failed: ", or_empty(failed[c.ERROR])),
            ),
        )
        .when(
            F.col(c.OTHER).isNotNull(),
            F.when(
                or_false(F.col(c.CAME) > F.col(c.FROM_SEQ)),
                said(F.col(c.OTHER), " had not committed them when ", client, " took over"),
            ).otherwise(
                said(client, " went on with them after ", F.col(c.OTHER), " had taken over")
            ),
        )
        .when(ending.isNull(), said(client, " read them again"))
        .otherwise(said(ending[c.CLIENT], " ", ending[c.DETAIL], " before it had committed them"))
    )


# --- why never ---


def _missing(rows: DataFrame, odd: DataFrame, events: DataFrame) -> DataFrame:
    """Stretches that the group has committed past, from where it began, and nobody processed."""
    known = (
        rows.transform(_bases, events)
        .where(F.col(c.LIFE_ENDED).isNull())
        .join(events.transform(committed_offsets), on=list(PLACE), how="inner")
        .select(*A_LIFE, c.BASE, c.REACHED, c.COMMITTED)
    )
    beyond = known.select(*A_LIFE, F.col(c.REACHED).alias(c.LOW), F.col(c.COMMITTED).alias(c.HIGH))
    low, high = F.greatest(c.LOW, c.BASE), F.least(c.HIGH, c.COMMITTED)
    return (
        odd.transform(never_processed)
        .unionByName(beyond)
        .join(known.drop(c.REACHED), on=list(A_LIFE), how="inner")
        .withColumns({c.LOW: low, c.HIGH: high})
        .where(F.col(c.LOW) < F.col(c.HIGH))
        .select(*A_LIFE, c.LOW, c.HIGH)
    )


def _bases(rows: DataFrame, events: DataFrame) -> DataFrame:
    """One row per partition in a life of its topic: where the group began, how far it has come.

    What lies before its first position never was its business; but of a partition that came to be
    while the group was at work, everything is.
    """
    is_begin = F.col(c.IS_READER) & F.col(c.KIND).isin(POSITION, RETURNED)
    began = F.when(is_begin & F.col(c.OFFSET).isNotNull(), F.col(c.SEQ))
    is_new = F.col(c.BORN) < F.coalesce(F.col(c.BEGAN), F.lit(AFTER_ALL))
    return (
        rows.groupBy(*A_LIFE)
        .agg(
            F.min(began).alias(c.BEGAN),
            F.min_by(c.OFFSET, began).alias(c.OFFSET),
            F.coalesce(F.max(F.when(is_range(), F.col(c.END_OFFSET))), F.lit(0)).alias(c.REACHED),
            F.max(c.LIFE_ENDED).alias(c.LIFE_ENDED),
        )
        .join(rows.transform(_new_partitions, events), on=list(A_LIFE), how="left")
        .withColumn(c.BASE, F.when(is_new, F.lit(0)).otherwise(F.col(c.OFFSET)))
        .where(F.col(c.BASE).isNotNull())
    )


def _new_partitions(rows: DataFrame, events: DataFrame) -> DataFrame:
    """One row per partition that came to be while its group was at work: `born`, its first row."""
    # A topic grows seldom: its growths fit into one row.
    births = (
        events.where(F.col(c.KIND).isin(*_BIRTHS))
        .transform(with_lives, events)
        .groupBy(c.RUN, c.TOPIC, c.LIFE)
        .agg(F.collect_list(F.struct(c.SEQ, c.COUNT)).alias(c.PARTITIONS))
    )
    have_it = F.filter(c.PARTITIONS, lambda birth: birth[c.COUNT] > F.col(c.PARTITION))
    born = F.array_min(F.transform(have_it, lambda birth: birth[c.SEQ]))
    assigned = rows.where(F.col(c.KIND) == ASSIGNED)
    began = assigned.groupBy(c.RUN, c.GROUP).agg(F.min(c.SEQ).alias(c.WORK_BEGAN))
    return (
        assigned.groupBy(*A_LIFE)
        .agg(F.min(c.SEQ).alias(c.BORN))
        .join(F.broadcast(births), on=[c.RUN, c.TOPIC, c.LIFE], how="inner")
        .join(F.broadcast(began), on=[c.RUN, c.GROUP], how="inner")
        .where(born > F.col(c.WORK_BEGAN))
        .select(*A_LIFE, c.BORN)
    )


def _with_blames(missing: DataFrame, rows: DataFrame, events: DataFrame) -> DataFrame:
    """The missing stretches, cut so that one thing is to blame for each: the last that happened."""
    blame = F.struct(c.SEQ, c.HAS_IN_HAND, c.REASON, c.LOW, c.HIGH)
    blames = (
        rows.transform(_dropped, events)
        .unionByName(rows.transform(_in_hand))
        .groupBy(*A_LIFE)
        .agg(F.collect_list(blame).alias(c.BLAMES))
    )
    covering = F.filter(
        c.BLAMES, lambda each: (each[c.LOW] <= F.col(c.LOW)) & (each[c.HIGH] >= F.col(c.HIGH))
    )
    last = F.array_max(covering)
    by_nobody = F.lit("committed before anyone had processed them")
    return (
        missing.join(blames, on=list(A_LIFE), how="left")
        .withColumn(c.PIECE, _cuts())
        .select(*A_LIFE, c.BLAMES, F.inline(_stretches(F.col(c.PIECE))))
        .select(
            *(*A_LIFE, c.LOW, c.HIGH),
            F.coalesce(last[c.REASON], by_nobody).alias(c.REASON),
            or_false(last[c.HAS_IN_HAND]).alias(c.HAS_IN_HAND),
        )
    )


def _cuts() -> Column:
    """Where a stretch begins, ends, and is cut by the ends of what is to blame."""
    ends = F.flatten(F.transform(c.BLAMES, lambda each: F.array(each[c.LOW], each[c.HIGH])))
    within = F.filter(ends, lambda end: (end > F.col(c.LOW)) & (end < F.col(c.HIGH)))
    own = F.array(c.LOW, c.HIGH)
    return F.array_sort(F.array_distinct(F.concat(own, F.coalesce(within, own))))


def _stretches(cuts: Column) -> Column:
    """From each cut to the next."""
    return F.transform(
        F.sequence(F.lit(1), F.size(cuts) - 1),
        lambda n: F.struct(F.get(cuts, n - 1).alias(c.LOW), F.get(cuts, n).alias(c.HIGH)),
    )


def _dropped(rows: DataFrame, events: DataFrame) -> DataFrame:
    """Stretches that nobody would process any more when the row came, unless somebody went back."""
    kind, detail = F.col(c.KIND), or_empty(F.col(c.DETAIL))
    jumps = (kind == POSITION) & F.col(c.IS_READER) & (F.col(c.OFFSET) > F.col(c.REACHED))
    is_leap = jumps & ~detail.startswith("committed")
    is_drop = kind.isin(*GONE) & F.col(c.HAS_IN_HAND)
    is_jump = is_leap & (F.col(c.HAD_BASE) | or_false(F.col(c.BORN) < F.col(c.SEQ)))
    client = F.col(c.CLIENT)
    went = said(client, " went from ", F.col(c.REACHED), " to ", F.col(c.OFFSET), ": ", detail)
    died = said(client, " ", _how_it_ended(), " with them in hand")
    return (
        rows.where(is_leap | is_drop)
        .join(rows.transform(_new_partitions, events), on=list(A_LIFE), how="left")
        .where(is_jump | is_drop)
        .select(
            *(*A_LIFE, c.SEQ),
            F.when(is_jump, F.col(c.REACHED)).otherwise(F.col(c.IN_HAND_FROM)).alias(c.LOW),
            F.when(is_jump, F.col(c.OFFSET)).otherwise(F.col(c.IN_HAND_END)).alias(c.HIGH),
            F.when(is_jump, went).otherwise(died).alias(c.REASON),
            always(is_so=False).alias(c.HAS_IN_HAND),
        )
    )


def _in_hand(rows: DataFrame) -> DataFrame:
    """What living consumers have in hand when the rows end; it comes after everything else."""
    lives = F.col(c.IS_LAST) & ~F.col(c.KIND).isin(*GONE)
    return rows.where(lives & F.col(c.HAS_IN_HAND)).select(
        *A_LIFE,
        F.lit(AFTER_ALL).alias(c.SEQ),
        F.col(c.IN_HAND_FROM).alias(c.LOW),
        F.col(c.IN_HAND_END).alias(c.HIGH),
        F.lit(None).cast("string").alias(c.REASON),
        c.HAS_IN_HAND,
    )


def _how_it_ended() -> Column:
    words = F.create_map(*(F.lit(word) for pair in _ENDINGS.items() for word in pair))
    return F.try_element_at(words, F.col(c.KIND))
