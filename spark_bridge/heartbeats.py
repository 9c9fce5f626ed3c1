"""How members keep their sessions alive, and how near they come to losing them."""

from __future__ import annotations

from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.joins import JOINS
from spark_bridge.timeline import until_the_end
from spark_bridge.values import always, or_zero
from spark_bridge.windows import before, in_order, so_far

_BEATS, _REPEATS = (
    WorldEventKind.HEARTBEATS_ANSWERED.value,
    WorldEventKind.COMMITS_REPEATED.value,
)
_ANSWERED, _HEARD = WorldEventKind.REPLY_SENT.value, WorldEventKind.REPLY_RECEIVED.value
_FIRED, _LOADED = WorldEventKind.TIMER_FIRED.value, EventKind.GROUP_LOADED.value
_REMOVED, _REPLACED = EventKind.MEMBER_REMOVED.value, EventKind.MEMBER_REPLACED.value
_SIGNS = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
#: Before a sign of life, between those that it stands for, and after the last one.
_SILENCES = (c.SILENCE_BEFORE_MS, c.SILENCE_WITHIN_MS, c.SILENCE_AFTER_MS)
_A_CLIENT, _A_MEMBER = (c.RUN, c.GROUP, c.CLIENT), (c.RUN, c.GROUP, c.MEMBER)


def heartbeats(events: DataFrame) -> DataFrame:
    """One row per member: its heartbeats that were answered, and how silent it was at worst.

    `beats` counts all answers, `refused` those with an error, such as REBALANCE_IN_PROGRESS;
    `expired` is how often its session ran out. A silence is the time between two signs of life, or
    until the member is out of the group or the run is over. `margin_ms` is what was left of the
    session timeout at the end of the worst one, and `near_misses` counts those that lasted two
    thirds of it, which is two heartbeats of three, and were survived.
    """
    return (
        events.transform(_counts)
        .join(events.transform(_worst_silences), on=list(_A_CLIENT), how="outer")
        .select(
            *_A_CLIENT,
            *(or_zero(F.col(name)).alias(name) for name in (c.BEATS, c.REFUSED, c.EXPIRED)),
            *(c.SESSION_TIMEOUT_MS, c.LONGEST_SILENCE_MS, c.MARGIN_MS),
            or_zero(F.col(c.NEAR_MISSES)).alias(c.NEAR_MISSES),
        )
    )


def _counts(events: DataFrame) -> DataFrame:
    kind = F.col(c.KIND)
    is_played = (kind == _HEARD) & (F.col(c.REQUEST) == "Heartbeat")
    beats = F.when(kind == _BEATS, F.col(c.COUNT)).when(is_played, F.lit(1))
    return (
        events.where((kind == _BEATS) | is_played | _is_expiry())
        .where(F.col(c.GROUP).isNotNull() & F.col(c.CLIENT).isNotNull())
        .groupBy(*_A_CLIENT)
        .agg(
            F.sum(beats).alias(c.BEATS),
            F.count_if(is_played & (F.col(c.ERROR) != "NONE")).alias(c.REFUSED),
            F.count_if(_is_expiry()).alias(c.EXPIRED),
        )
    )


def _is_expiry() -> Column:
    return (F.col(c.KIND) == _FIRED) & (F.col(c.DETAIL) == "session")


# --- silences ---


def _worst_silences(events: DataFrame) -> DataFrame:
    """One row per member: its longest silence, the least margin, and the near misses."""
    silences, timeout_ms = tuple(map(F.col, _SILENCES)), F.col(c.TIMEOUT_MS)
    longest_ms = F.greatest(*silences)  # null is left out
    near = (F.when(silence * 3 >= timeout_ms * 2, 1).otherwise(0) for silence in silences)
    near_misses = F.when(~_is_expiry(), reduce(add, near))
    return (
        events.transform(_signs_of_life)
        .transform(_with_silences, events)
        .groupBy(*_A_CLIENT)
        .agg(
            F.max_by(timeout_ms, F.col(c.SEQ)).alias(c.SESSION_TIMEOUT_MS),
            F.max(longest_ms).alias(c.LONGEST_SILENCE_MS),
            F.min(timeout_ms - longest_ms).alias(c.MARGIN_MS),
            F.sum(near_misses).alias(c.NEAR_MISSES),
        )
    )


def _signs_of_life(events: DataFrame) -> DataFrame:
    """The rows that keep or end a member's session, each from when to when.

    An answer covers the time since its request came: while a JoinGroup or a SyncGroup is parked, no
    session runs out. Quiet heartbeats are one row; it says when the last of them was.
    """
    kind, error, at_ms = F.col(c.KIND), F.col(c.ERROR), F.col(c.AT_MS)
    is_told = (F.col(c.REQUEST) == "Heartbeat") & (error == "REBALANCE_IN_PROGRESS")
    is_answer = (kind == _ANSWERED) & F.col(c.REQUEST).isin(*_SIGNS) & ((error == "NONE") | is_told)
    is_quiet = kind.isin(_BEATS, _REPEATS)
    is_change = kind.isin(*JOINS, _REMOVED, _REPLACED)
    said_ms = F.regexp_extract(F.col(c.DETAIL), r"(\d+) ms$", 1).try_cast("bigint")
    to_ms = F.when(is_quiet, F.coalesce(said_ms, at_ms)).otherwise(at_ms)
    lasts = is_answer | is_quiet
    signs = (
        until_the_end(events)
        .where(is_answer | is_quiet | is_change | _is_expiry())
        .where(F.col(c.GROUP).isNotNull() & F.col(c.MEMBER).isNotNull())
        .withColumns(
            {
                c.SIGN_TO_MS: to_ms,
                c.SIGN_FROM_MS: to_ms - F.when(lasts, F.col(c.DURATION_MS)).otherwise(0),
                c.IS_OVER: kind == _REMOVED,
            }
        )
    )
    # Whoever is replaced is out, under the old id.
    old_id = F.regexp_replace(c.DETAIL, "^it replaced ", "")
    return signs.unionByName(
        signs.where(kind == _REPLACED).withColumns(
            {c.MEMBER: old_id, c.CLIENT: F.lit(None), c.IS_OVER: always(is_so=True)}
        )
    )


def _with_silences(signs: DataFrame, events: DataFrame) -> DataFrame:
    """The signs of life with the silences before, within and after them, by the member's name."""
    kind = F.col(c.KIND)
    timeout_ms = F.when(kind.isin(*JOINS, _REPLACED) & ~F.col(c.IS_OVER), F.col(c.DURATION_MS))
    # Loads are few: they fit into one row for each group. A new coordinator gives every member its
    # whole session anew.
    loads = (
        events.where(kind == _LOADED)
        .groupBy(c.RUN, c.GROUP)
        .agg(
            F.collect_list(F.struct(c.SEQ, c.AT_MS)).alias(c.LOADS),
            F.max(c.AT_MS).alias(c.LOADED_MS),
        )
    )
    load_ms = F.array_max(
        F.transform(c.LOADS, lambda load: F.when(load[c.SEQ] < F.col(c.SEQ), load[c.AT_MS]))
    )
    last_ms = F.max(c.SIGN_TO_MS).over(before(*_A_MEMBER))
    since_ms = F.when(last_ms.isNotNull(), F.greatest(last_ms, load_ms))
    is_last = F.lead(c.SEQ).over(in_order(*_A_MEMBER)).isNull()
    # A member that joins waits for its answer, and its session with it.
    stays = is_last & ~F.col(c.IS_OVER) & ~kind.isin(*JOINS) & ~_is_expiry()
    heard_ms = F.greatest(F.max(c.SIGN_TO_MS).over(so_far(*_A_MEMBER)), F.col(c.LOADED_MS))
    apart_ms = F.when(
        (kind == _BEATS) & (F.col(c.COUNT) > 1),
        F.floor(F.col(c.DURATION_MS) / (F.col(c.COUNT) - 1)),
    )
    before_ms = F.when(_is_expiry(), F.col(c.DURATION_MS)).otherwise(
        F.greatest(F.col(c.SIGN_FROM_MS) - since_ms, F.lit(0))
    )
    after_ms = F.when(stays, F.col(c.UNTIL_MS) - heard_ms)
    return (
        signs.join(F.broadcast(loads), on=[c.RUN, c.GROUP], how="left")
        .withColumns(
            {
                **dict(zip(_SILENCES, (before_ms, apart_ms, after_ms), strict=True)),
                c.TIMEOUT_MS: F.last(timeout_ms, ignorenulls=True).over(so_far(*_A_MEMBER)),
                c.CLIENT: F.first(c.CLIENT, ignorenulls=True).over(so_far(*_A_MEMBER)),
            }
        )
        # Whoever never joined has no session to lose.
        .where(F.col(c.TIMEOUT_MS).isNotNull())
    )
