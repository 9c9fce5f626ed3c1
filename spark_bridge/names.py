"""Consumers' names where rows have member ids, which are long and tell a person nothing."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c

#: The events that say which consumer is behind a member id.
_NAMING = tuple(
    kind.value
    for kind in (EventKind.MEMBER_ID_GIVEN, EventKind.MEMBER_ADDED, EventKind.MEMBER_REPLACED)
)
#: Between a word and what parts it from the next one.
_SEAMS = r"(?<=[\s,;])|(?=[\s,;])"


def member_names(events: DataFrame) -> DataFrame:
    """One row per member id: the consumer behind it."""
    is_named = F.col(c.KIND).isin(*_NAMING) & F.col(c.MEMBER).isNotNull()
    return (
        events.where(is_named & F.col(c.CLIENT).isNotNull())
        .groupBy(c.RUN, c.MEMBER)
        .agg(F.max_by(c.CLIENT, c.SEQ).alias(c.CLIENT))
    )


def with_names(frame: DataFrame, events: DataFrame) -> DataFrame:
    """The same rows, each with the names of its run as a map, for `in_names` and `name_of`."""
    names = (
        events.transform(member_names)
        .groupBy(c.RUN)
        .agg(F.map_from_entries(F.collect_list(F.struct(c.MEMBER, c.CLIENT))).alias(c.NAMES))
    )
    return frame.join(F.broadcast(names), on=c.RUN, how="left")


def name_of(member: Column) -> Column:
    """The consumer behind a member id, or the id itself."""
    return F.coalesce(F.try_element_at(F.col(c.NAMES), member), member, F.lit("nobody"))


def in_names(text: Column) -> Column:
    """A text with consumers' names where it has member ids."""
    return F.array_join(
        F.transform(F.split(text, _SEAMS), lambda word: F.coalesce(_named(word), word)), ""
    )


def _named(word: Column) -> Column:
    return F.try_element_at(F.col(c.NAMES), word)
