"""Every StructType: what is read, and what each analysis returns."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from simulation.events import COLUMNS, ColumnType
from simulation.measures import MEASURES
from spark_bridge import columns as c

_SPARK_TYPES: Mapping[ColumnType, DataType] = {
    ColumnType.INT32: IntegerType(),
    ColumnType.INT64: LongType(),
    ColumnType.TEXT: StringType(),
}

EVENTS = StructType(
    [
        StructField(column.name, _SPARK_TYPES[column.type], nullable=column.is_optional)
        for column in COLUMNS
    ]
)


def _of_events(*names: str) -> list[StructField]:
    """Columns that an analysis hands on as they are."""
    return [StructField(name, EVENTS[name].dataType) for name in names]


def _texts(*names: str) -> list[StructField]:
    return [StructField(name, StringType()) for name in names]


def _numbers(*names: str) -> list[StructField]:
    return [StructField(name, LongType()) for name in names]


RUNS = StructType(
    [
        *_of_events(c.RUN),
        StructField(c.SCENARIO, StringType()),
        StructField(c.TITLE, StringType()),
        StructField(c.VARIANT, StringType()),
        StructField(c.SEED, LongType()),
        StructField(c.RECORDED, StringType()),
        StructField(c.GROUPSIM_VERSION, StringType()),
        StructField(c.KAFKA_VERSION, StringType()),
        StructField(c.HELD, BooleanType()),
        StructField(c.ENDED_MS, LongType()),
        StructField(c.EVENT_COUNT, LongType()),
        StructField(c.SETTINGS, MapType(StringType(), StringType())),
    ]
)

STATE_INTERVALS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.SEQ, c.STATE, c.GENERATION),
        StructField(c.ENTERED_MS, LongType()),
        StructField(c.LEFT_MS, LongType()),
        StructField(c.REASON, StringType()),
    ]
)

OWNERSHIP_INTERVALS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.TOPIC, c.PARTITION),
        *_of_events(c.SEQ, c.CLIENT, c.MEMBER, c.GENERATION),
        StructField(c.OWNED_FROM_MS, LongType()),
        StructField(c.OWNED_UNTIL_MS, LongType()),
        StructField(c.ENDED_BY, StringType()),
    ]
)

OWNERSHIP_GAPS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.TOPIC, c.PARTITION),
        StructField(c.UNOWNED_FROM_MS, LongType()),
        StructField(c.UNOWNED_UNTIL_MS, LongType()),
        StructField(c.LAST_OWNER, StringType()),
        StructField(c.NEXT_OWNER, StringType()),
    ]
)

DETECTIONS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.CLIENT, c.MEMBER),
        StructField(c.CRASHED_MS, LongType()),
        StructField(c.REMOVED_MS, LongType()),
        StructField(c.REASON, StringType()),
    ]
)

REBALANCE_PHASES = StructType(
    [*_of_events(c.RUN, c.GROUP, c.SEQ, c.STATE), *_numbers(c.STARTED_MS, c.ENDED_MS)]
)

REBALANCES = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.SEQ),
        *_texts(c.TRIGGER, c.REASON, c.CLIENT_REASON),
        *_numbers(c.STARTED_MS, c.ENDED_MS),
        *_texts(c.ENDED_IN, c.AWAITED),
        *_of_events(c.DURATION_MS, c.GENERATION, c.PROTOCOL),
        *_numbers(c.MEMBERS),
        StructField(c.PHASES, ArrayType(StructType(REBALANCE_PHASES.fields[3:]))),
        *_numbers(c.AWAITING_JOINS_MS, c.AWAITING_LEADER_MS, c.SYNCING_MS),
        *_texts(c.HELD_BY, c.HELD_WHY),
        *_numbers(c.HELD_FROM_MS, c.HELD_UNTIL_MS, c.DEADLINE_MS, c.MOVED),
    ]
)

OWNERSHIP_CLOCKS = StructType(
    [*_of_events(c.RUN, c.GROUP, c.TOPIC, c.PARTITION), *_numbers(c.UNOWNED_MS, c.DUAL_MS)]
)

LAG_OVER_TIME = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.TOPIC, c.PARTITION, c.AT_MS),
        *_numbers(c.POSITION, c.LOG_END, c.LAG, c.LAG_MS),
    ]
)

GREATEST_LAGS = StructType(
    [*_of_events(c.RUN, c.GROUP, c.TOPIC, c.PARTITION), *_numbers(c.LAG, c.LAG_MS)]
)

#: Both of duplicates and of losses.
RECORDS_BY_CAUSE = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.TOPIC, c.PARTITION),
        *_texts(c.REASON),
        *_numbers(c.RECORDS),
    ]
)

MEMBER_SESSIONS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.MEMBER, c.CLIENT, c.INSTANCE),
        *_numbers(c.FROM_SEQ, c.TO_SEQ, c.JOINED_MS, c.LEFT_MS),
        *_texts(c.ENDED_BY, c.REASON),
    ]
)

GENERATIONS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.SEQ, c.GENERATION),
        *_texts(c.LEADER),
        *_of_events(c.PROTOCOL),
        StructField(c.VOTES, MapType(StringType(), ArrayType(StringType()))),
        *_numbers(c.MEMBERS, c.STARTED_MS, c.STABLE_MS),
    ]
)

REQUEST_LATENCY = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.REQUEST, c.ERROR),
        *_numbers(c.REQUESTS),
        StructField(c.P50_MS, DoubleType()),
        StructField(c.P99_MS, DoubleType()),
        *_numbers(c.MAX_MS),
    ]
)

HEARTBEATS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.CLIENT),
        *_numbers(c.BEATS, c.REFUSED, c.EXPIRED),
        *_numbers(c.SESSION_TIMEOUT_MS, c.LONGEST_SILENCE_MS, c.MARGIN_MS, c.NEAR_MISSES),
    ]
)

COMMITS = StructType(
    [
        *_of_events(c.RUN, c.GROUP, c.CLIENT),
        *_numbers(c.ACCEPTED, c.REPEATED, c.REFUSED, c.UNANSWERED),
        StructField(c.PER_S, DoubleType()),
        *_numbers(c.UNCOMMITTED, c.UNCOMMITTED_MS),
    ]
)

COMMITS_REFUSED = StructType(_of_events(c.RUN, c.GROUP, c.CLIENT, c.ERROR, c.COUNT))

COORDINATOR_MOVES = StructType(
    [
        *_of_events(c.RUN, c.PARTITION, c.SEQ, c.BROKER),
        *_numbers(c.MOVED_MS, c.LOADED_MS, c.GROUPS),
    ]
)

CRITICAL_PATHS = StructType(
    [
        *_of_events(c.RUN, c.GROUP),
        *_numbers(c.START_SEQ),
        StructField(c.STEP, IntegerType()),
        *_of_events(c.SEQ, c.AT_MS, c.KIND, c.CLIENT),
        *_numbers(c.WAITED_MS),
    ]
)

VIOLATIONS = StructType(
    [
        *_of_events(c.RUN, c.GROUP),
        *_texts(c.CHECKER),
        *_of_events(c.AT_MS),
        *_numbers(c.OTHER_SEQ, c.SEQ),
        *_texts(c.SEEN),
    ]
)

#: A setting of a sweep: its number, and what was chosen for it.
SWEEP_SETTINGS = StructType(
    [
        StructField(c.SETTING, IntegerType()),
        StructField(c.VARIANT, StringType()),
        StructField(c.CHOSEN, MapType(StringType(), StringType())),
    ]
)

_FIGURES = [StructField(name, DoubleType()) for name in MEASURES]
_VALUES = [StructField(name, ArrayType(DoubleType())) for name in MEASURES]

#: A run of a sweep: its own figures by their names, and the values behind them.
SWEEP_RESULTS = StructType(
    [
        *SWEEP_SETTINGS.fields,
        StructField(c.SEED, LongType()),
        *_texts(c.RUN, c.ERROR),
        StructField(c.HELD, BooleanType()),
        StructField(c.MESSAGES, ArrayType(StringType())),
        *_numbers(c.ENDED_MS, c.EVENT_COUNT),
        *_FIGURES,
        StructField(c.VALUES, StructType(_VALUES)),
    ]
)

#: A figure over the runs of a setting, and the interval that it lies in with some confidence.
SWEEP_ESTIMATES = StructType(
    [
        *SWEEP_SETTINGS.fields,
        *_texts(c.FIGURE),
        *_numbers(c.RUN_COUNT, c.FAILED),
        *[StructField(name, DoubleType()) for name in (c.ESTIMATE, c.LOW, c.HIGH)],
    ]
)

#: How the runs of a setting differ in a figure: least, quarters and most.
SWEEP_DISTRIBUTIONS = StructType(
    [
        *SWEEP_SETTINGS.fields,
        *_texts(c.FIGURE),
        StructField(c.QUANTILES, ArrayType(DoubleType())),
    ]
)

SWEEP_PARETO = StructType(
    [
        *SWEEP_SETTINGS.fields,
        *[StructField(name, DoubleType()) for name in (c.ACROSS, c.UP)],
        StructField(c.IS_BEST, BooleanType()),
    ]
)

#: A setting with what is asked of it: whether all bounds hold, and what is to be least.
SWEEP_ADVICE = StructType(
    [
        *SWEEP_SETTINGS.fields,
        StructField(c.HOLDS, BooleanType()),
        *[StructField(name, DoubleType()) for name in (c.EXCESS, c.GOAL)],
    ]
)

#: A world of a campaign: what it broke, and how; null if it held.
WORLDS = StructType([StructField(c.SEED, LongType()), *_texts(c.KIND, c.TOLD)])
