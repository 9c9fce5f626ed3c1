"""Figures over the runs of each setting, with the interval in which they lie with confidence.

The intervals are bootstrapped: what would have come of it, had the seeds fallen otherwise? Which
runs are drawn follows from a hash of the draw's number, so the same results give the same
intervals, however Spark lays them out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.bounds import Figure
from spark_bridge import columns as c
from spark_bridge import schemas

#: So often the runs of a setting are drawn anew; so many in a thousand are left out at each end.
REPLICATES = 400
CONFIDENCE = "95%"
_LEFT_OUT_THOUSANDTHS = 25

#: The usual statistics of a run's figure.
USUAL = ("mean", "p50", "p99")


def usual_figures(figure: Figure) -> tuple[Figure, ...]:
    """The usual statistics of what a figure tells of a run."""
    return tuple(Figure((over_runs, *figure.aggregates), figure.measure) for over_runs in USUAL)


def estimates(results: DataFrame, figures: Sequence[Figure]) -> DataFrame:
    """One row per setting and figure: what it comes to over the runs that ended.

    The outermost aggregate of each figure is over the runs. It lies between `low` and `high`.
    """
    samples = results.transform(_samples, figures)
    is_everyone = F.col(c.REPLICATE) == 0
    of_everyone = F.first(F.when(is_everyone, F.col(c.ESTIMATE)), ignorenulls=True)
    of_draws = F.collect_list(F.when(~is_everyone, F.col(c.ESTIMATE)))
    known = (c.VARIANT, c.CHOSEN, c.RUN_COUNT, c.FAILED)
    left_out = REPLICATES * _LEFT_OUT_THOUSANDTHS // 1_000
    return (
        samples.join(F.broadcast(_draws(samples)), on=c.SIZE, how="left")
        .withColumn(c.ESTIMATE, _estimate(figures))
        .groupBy(c.SETTING, c.FIGURE)
        .agg(
            *(F.first(name).alias(name) for name in known),
            of_everyone.alias(c.ESTIMATE),
            F.sort_array(of_draws).alias(c.ESTIMATES),
        )
        .withColumn(c.LOW, F.get(c.ESTIMATES, F.lit(left_out - 1)))
        .withColumn(c.HIGH, F.get(c.ESTIMATES, F.lit(REPLICATES - left_out)))
        .select(*schemas.SWEEP_ESTIMATES.names)
    )


def distributions(results: DataFrame, figures: Sequence[Figure]) -> DataFrame:
    """One row per setting and figure: the least, the quarters and the most over its runs."""
    last = F.size(c.SAMPLE) - 1
    place = [F.floor(last * quarter / 4).cast("int") for quarter in range(5)]
    quantiles = F.when(last >= 0, F.array(*(F.get(c.SAMPLE, each) for each in place)))
    return (
        results.transform(_samples, figures)
        .withColumn(c.QUANTILES, quantiles)
        .select(*schemas.SWEEP_DISTRIBUTIONS.names)
    )


def _samples(results: DataFrame, figures: Sequence[Figure]) -> DataFrame:
    """One row per setting and figure: what it tells of each run that ended, least first."""
    told = F.array(
        *(
            F.struct(F.lit(figure.text).alias(c.FIGURE), of_run(figure).alias(c.ESTIMATE))
            for figure in dict.fromkeys(figures)
        )
    )
    return (
        results.withColumn(c.ESTIMATE, F.explode(told))
        .withColumns({name: F.col(c.ESTIMATE)[name] for name in (c.FIGURE, c.ESTIMATE)})
        .groupBy(c.SETTING, c.FIGURE)
        .agg(
            F.first(c.VARIANT).alias(c.VARIANT),
            F.first(c.CHOSEN).alias(c.CHOSEN),
            F.count(F.when(F.col(c.ERROR).isNull(), c.SEED)).alias(c.RUN_COUNT),
            F.count(c.ERROR).alias(c.FAILED),
            F.sort_array(F.collect_list(c.ESTIMATE)).alias(c.SAMPLE),
        )
        .withColumn(c.SIZE, F.size(c.SAMPLE))
    )


def of_run(figure: Figure) -> Column:
    """What a figure tells of one run: the aggregates below the outermost; null if it failed."""
    inner = figure.aggregates[1:]
    if not inner:
        return F.col(figure.measure)
    values = F.col(c.VALUES)[figure.measure]
    return F.when(
        F.col(c.ERROR).isNull(),
        F.when(F.size(values) > 0, _of_values(inner[0], values)).otherwise(0.0),
    )


def _of_values(aggregate: str, values: Column) -> Column:
    added_up = F.aggregate(values, F.lit(0.0), lambda total, each: total + each)
    match aggregate:
        case "sum":
            return added_up
        case "mean":
            return added_up / F.size(values)
        case _:
            everyone = F.sequence(F.lit(0), F.size(values) - 1)
            return _of_sorted(aggregate, F.sort_array(values), everyone, F.size(values))


def _draws(samples: DataFrame) -> DataFrame:
    """One row per size of a sample and draw: the ranks that are drawn, least first.

    The first draw is everyone; in each other, every place goes to anyone.
    """
    size, replicate = F.col(c.SIZE), F.col(c.REPLICATE)

    def rank(place: Column) -> Column:
        anyone = F.pmod(F.xxhash64(replicate, place), size).cast("int")
        return F.when(replicate == 0, place).otherwise(anyone)

    ranks = F.transform(F.sequence(F.lit(0), size - 1), rank)
    return (
        samples.where(size > 0)
        .select(c.SIZE)
        .distinct()
        .withColumn(c.REPLICATE, F.explode(F.sequence(F.lit(0), F.lit(REPLICATES))))
        .withColumn(c.RANKS, F.sort_array(ranks))
    )


def _estimate(figures: Sequence[Figure]) -> Column:
    """What each figure comes to over the runs of these ranks."""
    by_figure = F.lit(None).cast("double")
    sample, ranks, size = F.col(c.SAMPLE), F.col(c.RANKS), F.col(c.SIZE)
    for figure in dict.fromkeys(figures):
        over_runs = _of_sorted(figure.aggregates[0], sample, ranks, size)
        by_figure = F.when(F.col(c.FIGURE) == figure.text, over_runs).otherwise(by_figure)
    return by_figure


def _of_sorted(aggregate: str, values: Column, ranks: Column, size: Column) -> Column:
    """An aggregate of those values, least first, that have these ranks, least first too."""
    added_up = F.aggregate(ranks, F.lit(0.0), lambda total, rank: total + F.get(values, rank))
    match aggregate:
        case "sum":
            return added_up
        case "mean":
            return added_up / size
        case "count":
            return size.cast("double")
        case "min":
            return F.get(values, F.get(ranks, F.lit(0)))
        case "max":
            return F.get(values, F.get(ranks, size - 1))
        case _:
            # The least value that so many in a hundred do not exceed.
            hundredths = int(aggregate.removeprefix("p"))
            place = F.floor((size * hundredths + 99) / 100).cast("int") - 1
            return F.get(values, F.get(ranks, place))
