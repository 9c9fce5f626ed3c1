"""The Pareto line of two figures: the settings than which no other is better in both."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.bounds import Figure
from spark_bridge import columns as c
from spark_bridge import schemas


def pareto(estimates: DataFrame, across: Figure, up: Figure) -> DataFrame:
    """One row per setting that has both figures; the best are those that no other one beats.

    Less is better in both. Another one beats a setting that is nowhere worse and somewhere better.
    """
    points = _points(estimates, across, c.ACROSS).join(
        _points(estimates, up, c.UP).select(c.SETTING, c.UP), on=c.SETTING, how="inner"
    )
    # Settings are few. By itself Spark lets each partition meet each other one: on a cluster, where
    # a shuffle has 200 of them, that is 40,000 tasks.
    others, ones = points.alias("other"), F.broadcast(points.alias("one"))
    better = others.join(ones, on=_beats("other", "one"), how="inner")
    beaten = better.select(F.col(f"one.{c.SETTING}").alias(c.SETTING)).distinct()
    return (
        points.join(beaten.withColumn(c.IS_BEST, F.lit(0)), on=c.SETTING, how="left")
        .withColumn(c.IS_BEST, F.col(c.IS_BEST).isNull())
        .select(*schemas.SWEEP_PARETO.names)
    )


def _points(estimates: DataFrame, figure: Figure, name: str) -> DataFrame:
    known = (F.col(c.FIGURE) == figure.text) & F.col(c.ESTIMATE).isNotNull()
    return estimates.where(known).select(
        c.SETTING, c.VARIANT, c.CHOSEN, F.col(c.ESTIMATE).alias(name)
    )


def _beats(one: str, other: str) -> Column:
    def of(which: str, name: str) -> Column:
        return F.col(f"{which}.{name}")

    is_nowhere_worse = (of(one, c.ACROSS) <= of(other, c.ACROSS)) & (
        of(one, c.UP) <= of(other, c.UP)
    )
    is_better = (of(one, c.ACROSS) < of(other, c.ACROSS)) | (of(one, c.UP) < of(other, c.UP))
    return is_nowhere_worse & is_better
