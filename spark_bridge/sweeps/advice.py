"""Which setting to take: bounds held against every setting, and what is to be least.

A bound does not hold where a run has failed: nobody knows what that run would have shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.bounds import Bound, Figure
from simulation.measures import Number
from spark_bridge import columns as c
from spark_bridge import schemas

_HOLDS: Mapping[str, Callable[[Column, Number], Column]] = {
    "<": lambda figure, limit: figure < limit,
    "<=": lambda figure, limit: figure <= limit,
    ">": lambda figure, limit: figure > limit,
    ">=": lambda figure, limit: figure >= limit,
    "==": lambda figure, limit: figure == limit,
    "!=": lambda figure, limit: figure != limit,
}


def judged(estimates: DataFrame, bounds: Sequence[Bound]) -> DataFrame:
    """One row per setting and bound: what the bound looks at, and whether it holds.

    `excess` is how far the figure lies beyond the limit, in limits if it is not 0.
    """
    judgements = F.array(
        *(
            F.struct(
                F.lit(bound.text).alias(c.BOUND),
                F.lit(bound.figure.text).alias(c.FIGURE),
                _holds(bound).alias(c.HOLDS),
                _excess(bound).alias(c.EXCESS),
            )
            for bound in bounds
        )
    )
    judgement = F.col(c.HOLD)
    known = schemas.SWEEP_ESTIMATES.names
    return (
        estimates.withColumn(c.HOLD, F.explode(judgements))
        .where(judgement[c.FIGURE] == F.col(c.FIGURE))
        .select(*known, *(judgement[name].alias(name) for name in (c.BOUND, c.HOLDS, c.EXCESS)))
    )


def _holds(bound: Bound) -> Column:
    is_known = F.col(c.ESTIMATE).isNotNull() & (F.col(c.FAILED) == 0)
    return is_known & _HOLDS[bound.comparison](F.col(c.ESTIMATE), bound.limit)


def _excess(bound: Bound) -> Column:
    above = F.col(c.ESTIMATE) - bound.limit
    sign = {"<": 1, "<=": 1, ">": -1, ">=": -1}.get(bound.comparison)
    beyond = F.abs(above) if sign is None else F.greatest(above * sign, F.lit(0.0))
    return F.when(F.col(c.FAILED) == 0, beyond / (abs(bound.limit) or 1))


def ranked(estimates: DataFrame, bounds: Sequence[Bound], goal: Figure | None) -> DataFrame:
    """One row per setting, the best first: where all bounds hold, the least goal leads.

    Where they do not, whatever comes nearest does: whose worst excess is least. Without a goal the
    first setting of the grid is as good as any.
    """
    verdicts = (
        estimates.transform(judged, bounds)
        .groupBy(c.SETTING)
        .agg(
            F.bool_and(c.HOLDS).alias(c.HOLDS),
            # A figure that nobody knows is further away than any.
            F.when(F.count(c.EXCESS) == F.count(F.lit(1)), F.max(c.EXCESS)).alias(c.EXCESS),
        )
    )
    is_goal = F.col(c.FIGURE) == F.lit(None if goal is None else goal.text)
    goals = estimates.where(is_goal).select(c.SETTING, F.col(c.ESTIMATE).alias(c.GOAL))
    settings = estimates.select(c.SETTING, c.VARIANT, c.CHOSEN).dropDuplicates([c.SETTING])
    nearest = F.when(F.col(c.HOLDS), F.lit(0.0)).otherwise(F.col(c.EXCESS))
    return (
        settings.join(verdicts, on=c.SETTING, how="inner")
        .join(goals, on=c.SETTING, how="left")
        .select(*schemas.SWEEP_ADVICE.names)
        .orderBy(
            F.desc(c.HOLDS), F.asc_nulls_last(nearest), F.asc_nulls_last(c.GOAL), F.asc(c.SETTING)
        )
    )
