"""Ranges of offsets that were processed: which came again, and which never came.

Nearly all ranges begin where the last one ended. So the offsets below the highest end so far are
all covered but for gaps, and only ranges that begin below it (rewinds) can cover anything again.
Gaps and rewinds are few; only they are held against each other.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_bridge import columns as c
from spark_bridge.readers import A_LIFE, PROCESSED
from spark_bridge.values import or_zero

_A_GAP = (*A_LIFE, c.GAP)


def odd_ranges(rows: DataFrame) -> DataFrame:
    """One row per range that does not begin where the last one ended: after a gap, or a rewind.

    Takes what `delivery_rows` returns; `reached` is how far anybody had come before.
    """
    is_odd = F.col(c.OFFSET) != F.col(c.DONE)
    return rows.where(is_range() & is_odd).select(
        *A_LIFE, c.SEQ, c.CLIENT, c.OFFSET, c.END_OFFSET, F.col(c.DONE).alias(c.REACHED)
    )


def processed_again(odd: DataFrame) -> DataFrame:
    """One row per range that was processed, in part at least, once more: how many `records` of it.

    Takes what `odd_ranges` returns.
    """
    is_again = F.col(c.SEQ) > F.min(c.SEQ).over(Window.partitionBy(*_A_GAP, c.LOW))
    in_gaps = (
        odd.transform(_pieces)
        .transform(_cut)
        .withColumn(c.AGAIN, F.when(is_again, 0).otherwise(F.col(c.HIGH) - F.col(c.LOW)))
        .groupBy(*A_LIFE, c.SEQ)
        .agg(F.sum(c.AGAIN).alias(c.AGAIN))
    )
    records = F.col(c.HIGH) - F.col(c.LOW) - or_zero(F.col(c.AGAIN))
    return (
        odd.transform(rewinds)
        .join(in_gaps, on=[*A_LIFE, c.SEQ], how="left")
        .select(*A_LIFE, c.SEQ, records.alias(c.RECORDS))
        .where(F.col(c.RECORDS) > 0)
    )


def never_processed(odd: DataFrame) -> DataFrame:
    """One row per stretch below the highest end that nobody has processed, `low` up to `high`."""
    # A gap is cut where it was filled in part; what no piece covers is missing still.
    whole = odd.transform(_gaps).withColumn(c.SEQ, F.lit(None).cast("bigint"))
    cut = whole.unionByName(odd.transform(_pieces)).transform(_cut)
    return (
        cut.groupBy(*_A_GAP, c.LOW, c.HIGH)
        .agg(F.max(c.SEQ).alias(c.SEQ))
        .where(F.col(c.SEQ).isNull())
        .select(*A_LIFE, c.LOW, c.HIGH)
    )


def is_range() -> Column:
    """Was anything processed in the row?"""
    return (F.col(c.KIND) == PROCESSED) & (F.col(c.OFFSET) < F.col(c.END_OFFSET))


def is_rewind() -> Column:
    """Was something processed that begins below the highest end before it?"""
    return is_range() & (F.col(c.OFFSET) < F.col(c.DONE))


def _gaps(odd: DataFrame) -> DataFrame:
    return odd.where(F.col(c.OFFSET) > F.col(c.REACHED)).select(
        *A_LIFE,
        F.col(c.SEQ).alias(c.GAP),
        F.col(c.REACHED).alias(c.LOW),
        F.col(c.OFFSET).alias(c.HIGH),
    )


def rewinds(odd: DataFrame) -> DataFrame:
    """One row per range that begins below the highest end before it: what it covers below that.

    Takes what `odd_ranges` returns.
    """
    return odd.where(F.col(c.OFFSET) < F.col(c.REACHED)).select(
        *(*A_LIFE, c.SEQ, c.CLIENT),
        F.col(c.OFFSET).alias(c.LOW),
        F.least(c.END_OFFSET, c.REACHED).alias(c.HIGH),
    )


def _pieces(odd: DataFrame) -> DataFrame:
    """What rewinds cover of gaps."""
    low = F.greatest(f"gap.{c.LOW}", f"rewind.{c.LOW}")
    high = F.least(f"gap.{c.HIGH}", f"rewind.{c.HIGH}")
    return (
        odd.transform(rewinds)
        .alias("rewind")
        .join(odd.transform(_gaps).alias("gap"), on=list(A_LIFE), how="inner")
        .where(low < high)
        .select(*A_LIFE, c.GAP, c.SEQ, low.alias(c.LOW), high.alias(c.HIGH))
    )


def _cut(pieces: DataFrame) -> DataFrame:
    """The pieces of each gap, cut wherever any of them begins or ends: none overlap in part."""
    ends = pieces.select(*_A_GAP, F.explode(F.array(c.LOW, c.HIGH)).alias(c.LOW)).distinct()
    following = F.lead(c.LOW).over(Window.partitionBy(*_A_GAP).orderBy(c.LOW))
    stretches = ends.withColumn(c.HIGH, following).where(F.col(c.HIGH).isNotNull())
    is_within = (F.col(f"stretch.{c.LOW}") >= F.col(f"piece.{c.LOW}")) & (
        F.col(f"stretch.{c.HIGH}") <= F.col(f"piece.{c.HIGH}")
    )
    return (
        pieces.alias("piece")
        .join(stretches.alias("stretch"), on=list(_A_GAP), how="inner")
        .where(is_within)
        .select(*_A_GAP, c.SEQ, f"stretch.{c.LOW}", f"stretch.{c.HIGH}")
    )
