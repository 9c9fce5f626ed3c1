"""The recorded vocabulary: the columns of an event, its kinds, and the version of both.

Everything observable in a run is one `Row`. The coordinator's own events (coordinator/events.py)
are recorded under their own words; what happens around it has its words here. A new kind is a new
member of `WorldEventKind` and a row in `KINDS`. `docs/events.md` is printed from here by
`simulation.events_page`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypedDict

from attrs import field, fields, frozen

from coordinator import EventKind

__all__ = [
    "COLUMNS",
    "KINDS",
    "SCHEMA_VERSION",
    "Column",
    "ColumnType",
    "EventKind",
    "Facts",
    "Kind",
    "Row",
    "WorldEventKind",
]

#: Rises when a column or the meaning of a kind changes, so that readers can tell.
SCHEMA_VERSION = 1


class ColumnType(Enum):
    """What a column holds; the Parquet sink and Spark each have their own word for it."""

    INT32 = "int32"
    INT64 = "int64"
    TEXT = "text"


INT32, INT64, TEXT = ColumnType.INT32, ColumnType.INT64, ColumnType.TEXT


class WorldEventKind(Enum):
    """What happens outside the coordinator; the value is the word in a recording."""

    RUN_STARTED = "run_started"
    RUN_ENDED = "run_ended"
    CONSUMER_STARTED = "consumer_started"
    CONSUMER_CRASHED = "consumer_crashed"
    REQUEST_SENT = "request_sent"
    REQUEST_RECEIVED = "request_received"
    REPLY_SENT = "reply_sent"
    REPLY_RECEIVED = "reply_received"
    REPLY_LOST = "reply_lost"
    TIMER_FIRED = "timer_fired"
    WRITE_COMMITTED = "write_committed"
    PARTITION_ASSIGNED = "partition_assigned"
    PARTITION_REVOKED = "partition_revoked"
    PARTITION_LOST = "partition_lost"


Kind = EventKind | WorldEventKind

# fmt: off

#: What a row of each kind says: first what happens in the world, then in the coordinator.
KINDS: Mapping[Kind, str] = {
    WorldEventKind.RUN_STARTED:        "The run begins; `detail` is its title.",
    WorldEventKind.RUN_ENDED:          "The run is over; what is still open then stays open.",
    WorldEventKind.CONSUMER_STARTED:   "A consumer begins its work.",
    WorldEventKind.CONSUMER_CRASHED:   "A consumer dies without a word; nothing is sent any more.",
    WorldEventKind.REQUEST_SENT:       "A client sends a request.",
    WorldEventKind.REQUEST_RECEIVED:   "A broker begins to handle a request.",
    WorldEventKind.REPLY_SENT:         "A broker answers a request; `cause` is what made it "
                                       "answer, `duration_ms` the time since the request came.",
    WorldEventKind.REPLY_RECEIVED:     "A client hears the answer; `duration_ms` is the time since "
                                       "it sent the request.",
    WorldEventKind.REPLY_LOST:         "An answer arrives where nobody listens any more.",
    WorldEventKind.TIMER_FIRED:        "A timer of the coordinator is due; `detail` names it, "
                                       "`duration_ms` is the time since it was set.",
    WorldEventKind.WRITE_COMMITTED:    "The log has `count` records of the coordinator, from "
                                       "`offset` up to but not including `end_offset`.",
    WorldEventKind.PARTITION_ASSIGNED: "A consumer takes a partition over.",
    WorldEventKind.PARTITION_REVOKED:  "A consumer gives a partition up.",
    WorldEventKind.PARTITION_LOST:     "A consumer has a partition no more, without giving it up; "
                                       "`cause` is the crash that ended it.",

    EventKind.GROUP_CREATED:       "A group comes into being, without members.",
    EventKind.GROUP_REMOVED:       "A group is gone; `detail` says why.",
    EventKind.GROUP_LOADED:        "A group is rebuilt from the log, with `count` members.",
    EventKind.STATE_CHANGED:       "A group is now in `state`, with `count` members; `detail` says "
                                   "why.",
    EventKind.MEMBER_ID_GIVEN:     "A new member is told its id and is to come back with it.",
    EventKind.MEMBER_ADDED:        "A member is in the group, which now has `count`.",
    EventKind.MEMBER_REJOINED:     "A member asks to be in the next generation.",
    EventKind.MEMBER_REPLACED:     "A static member is back under a new id; `detail` has the old.",
    EventKind.MEMBER_REMOVED:      "A member is out of the group; `detail` says why.",
    EventKind.LEADER_ELECTED:      "`member` leads the group from now on.",
    EventKind.JOIN_PHASE_EXTENDED: "The wait for joins goes on; `detail` says for what.",
    EventKind.JOIN_PHASE_ENDED:    "The wait for joins is over; `detail` says why, and who was "
                                   "awaited still.",
    EventKind.ASSIGNMENT_STORED:   "The leader's assignment is in the log.",
    EventKind.OFFSET_COMMITTED:    "The group's position in a partition is now `offset`.",
    EventKind.COMMIT_REFUSED:      "A commit is not accepted; `error` says why.",
    EventKind.OFFSET_REMOVED:      "The group's position in a partition is forgotten.",
    EventKind.WRITE_FAILED:        "The log could not take a write; `error` says why.",
    EventKind.SHARD_LOADING:       "A broker begins to read a partition of the offsets topic.",
    EventKind.SHARD_LOADED:        "A broker coordinates the `count` groups of that partition.",
    EventKind.SHARD_UNLOADED:      "A broker has given that partition up.",
    EventKind.INTERNAL_FAULT:      "Kafka's own coordinator would fail here with an exception.",
}

# fmt: on


def _always(column_type: ColumnType, meaning: str) -> Any:  # noqa: ANN401 - as attrs' own field
    return field(metadata={"type": column_type, "meaning": meaning})


def _maybe(column_type: ColumnType, meaning: str) -> Any:  # noqa: ANN401 - the same
    return field(default=None, metadata={"type": column_type, "meaning": meaning})


# fmt: off

@frozen(kw_only=True)
class Row:
    """One event as it is recorded. A column that says nothing about it is None."""

    seq: int                = _always(INT64, "place in the total order of the run's rows, from 1")
    at_ms: int              = _always(INT64, "virtual time since the start of the run")
    kind: str               = _always(TEXT, "what happened: a word of the tables below")
    cause: int | None       = _maybe(INT64, "`seq` of the event that led to it; null: the script")
    run: str                = _always(TEXT, "the run's name, the same in all its rows")
    group: str | None       = _maybe(TEXT, "group id")
    broker: int | None      = _maybe(INT32, "node id")
    client: str | None      = _maybe(TEXT, "the consumer's name in the run, also its client id")
    member: str | None      = _maybe(TEXT, "member id")
    instance: str | None    = _maybe(TEXT, "group instance id, of a static member")
    generation: int | None  = _maybe(INT32, "generation of the group")
    state: str | None       = _maybe(TEXT, "state of the group, in Kafka's word")
    protocol: str | None    = _maybe(TEXT, "name of the chosen assignor")
    topic: str | None       = _maybe(TEXT, "topic")
    partition: int | None   = _maybe(INT32, "partition of the topic")
    offset: int | None      = _maybe(INT64, "first offset of a range, or the only one")
    end_offset: int | None  = _maybe(INT64, "the offset after a range")
    request: str | None     = _maybe(TEXT, "kind of a request: `JoinGroup` ...")
    request_id: int | None  = _maybe(INT64, "which request; unique in the run")
    connection: str | None  = _maybe(TEXT, "the connection that carries it")
    error: str | None       = _maybe(TEXT, "Kafka's name of an error; `NONE` in a good reply")
    duration_ms: int | None = _maybe(INT64, "how long something took")
    count: int | None       = _maybe(INT64, "how many")
    set_by: int | None      = _maybe(INT64, "`seq` of the event that set the timer which fired")
    detail: str | None      = _maybe(TEXT, "more, for people")

# fmt: on


class Facts(TypedDict, total=False):
    """What an event may say beyond when, what and why: the columns from `group` on."""

    group: str | None
    broker: int | None
    client: str | None
    member: str | None
    instance: str | None
    generation: int | None
    state: str | None
    protocol: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    end_offset: int | None
    request: str | None
    request_id: int | None
    connection: str | None
    error: str | None
    duration_ms: int | None
    count: int | None
    set_by: int | None
    detail: str | None


@frozen
class Column:
    """One column of the schema."""

    name: str
    type: ColumnType
    is_optional: bool
    meaning: str


#: The columns of an event, in their order.
COLUMNS: tuple[Column, ...] = tuple(
    Column(each.name, each.metadata["type"], each.default is None, each.metadata["meaning"])
    for each in fields(Row)
)
