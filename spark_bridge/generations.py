"""The generations of groups: who led them, by which protocol, and who had voted for it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c
from spark_bridge.names import name_of, with_names
from spark_bridge.windows import in_order, so_far

_CHANGED, _ELECTED = EventKind.STATE_CHANGED.value, EventKind.LEADER_ELECTED.value
_SELECTED = EventKind.PROTOCOL_SELECTED.value
_MOVES = (_CHANGED, EventKind.GROUP_LOADED.value, EventKind.GROUP_REMOVED.value)
_A_GROUP = (c.RUN, c.GROUP)


def generations(events: DataFrame) -> DataFrame:
    """One row per generation of a group: its leader, its protocol, how many members it had.

    It begins when everyone has joined (`started_ms`) and is at rest when its assignment is written
    (`stable_ms`, null if it never was). `votes` has the members that voted for each protocol: every
    member votes for the first of its own that all members support.
    """
    kind = F.col(c.KIND)
    is_move = kind.isin(*_MOVES)
    leader = F.last(F.when(kind == _ELECTED, F.col(c.MEMBER)), ignorenulls=True)
    vote = F.last(F.when(kind == _SELECTED, F.struct(c.GENERATION, c.DETAIL)), ignorenulls=True)
    is_its_own = F.col(c.VOTES)[c.GENERATION] == F.col(c.GENERATION)
    following = F.lead(F.struct(c.KIND, c.STATE, c.AT_MS)).over(in_order(*_A_GROUP))
    is_stable = (F.col(c.NEXT)[c.KIND] == _CHANGED) & (F.col(c.NEXT)[c.STATE] == "Stable")
    return (
        events.where(is_move | kind.isin(_ELECTED, _SELECTED))
        .withColumn(c.LEADER, leader.over(so_far(*_A_GROUP)))
        .withColumn(c.VOTES, vote.over(so_far(*_A_GROUP)))
        .where(is_move)
        .withColumn(c.NEXT, following)
        .where((kind == _CHANGED) & (F.col(c.STATE) == "CompletingRebalance"))
        .transform(with_names, events)
        .select(
            *(*_A_GROUP, c.SEQ, c.GENERATION),
            name_of(F.col(c.LEADER)).alias(c.LEADER),
            c.PROTOCOL,
            F.when(is_its_own, _votes_in(F.col(c.VOTES)[c.DETAIL])).alias(c.VOTES),
            F.col(c.COUNT).alias(c.MEMBERS),
            F.col(c.AT_MS).alias(c.STARTED_MS),
            F.when(is_stable, F.col(c.NEXT)[c.AT_MS]).alias(c.STABLE_MS),
        )
    )


def _votes_in(told: Column) -> Column:
    """Who voted for what, by name, from "range: ada-1, bea-1; sticky: cat-1"."""
    return F.map_from_entries(
        F.transform(
            F.split(told, "; "),
            lambda part: F.struct(
                F.substring_index(part, ": ", 1),
                F.array_sort(
                    F.transform(F.split(F.substring_index(part, ": ", -1), ", "), name_of)
                ),
            ),
        )
    )
