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
from coordinator.protocol.making import quickly_made

__all__ = [
    "COLUMNS",
    "DISTURBANCES",
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

#: Rises when a column, a kind or what one of them means changes, so that readers can tell. A kind
#: more, a column that was empty or more words in `detail` change none of what there was.
SCHEMA_VERSION = 3


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
    TOPIC_CREATED = "topic_created"
    PARTITIONS_ADDED = "partitions_added"
    TOPIC_DELETED = "topic_deleted"
    LOG_RATE_CHANGED = "log_rate_changed"
    LOG_START_MOVED = "log_start_moved"
    CONSUMER_STARTED = "consumer_started"
    CONSUMER_STOPPING = "consumer_stopping"
    CONSUMER_STOPPED = "consumer_stopped"
    CONSUMER_CRASHED = "consumer_crashed"
    CONSUMER_PAUSED = "consumer_paused"
    CONSUMER_RESUMED = "consumer_resumed"
    FAULT_STARTED = "fault_started"
    FAULT_HEALED = "fault_healed"
    LINK_CHANGED = "link_changed"
    BROKER_CRASHED = "broker_crashed"
    BROKER_RESTARTED = "broker_restarted"
    COORDINATOR_MOVED = "coordinator_moved"
    CONNECTION_OPENED = "connection_opened"
    CONNECTION_FAILED = "connection_failed"
    CONNECTION_CLOSED = "connection_closed"
    CONNECTION_RESET = "connection_reset"
    REQUEST_SENT = "request_sent"
    REQUEST_RECEIVED = "request_received"
    REQUEST_LOST = "request_lost"
    REPLY_SENT = "reply_sent"
    REPLY_RECEIVED = "reply_received"
    REPLY_LOST = "reply_lost"
    HEARTBEATS_ANSWERED = "heartbeats_answered"
    COMMITS_REPEATED = "commits_repeated"
    TIMER_FIRED = "timer_fired"
    WRITE_COMMITTED = "write_committed"
    PARTITION_ASSIGNED = "partition_assigned"
    PARTITION_REVOKED = "partition_revoked"
    PARTITION_LOST = "partition_lost"
    POSITION_SET = "position_set"
    FETCH_STARTED = "fetch_started"
    RECORDS_RETURNED = "records_returned"
    RECORDS_PROCESSED = "records_processed"
    OFFSET_GIVEN = "offset_given"
    COMMIT_ACKNOWLEDGED = "commit_acknowledged"
    COMMIT_FAILED = "commit_failed"


Kind = EventKind | WorldEventKind

#: The `detail` of `consumer_stopped` where an application returned and left its consumer open.
WITHOUT_CLOSING = "without closing"
#: The `detail` of `position_set` where the coordinator knew of no committed offset.
NOTHING_COMMITTED = "reset (no committed offset)"

# fmt: off

#: What a row of each kind says: first what happens in the world, then in the coordinator.
KINDS: Mapping[Kind, str] = {
    WorldEventKind.RUN_STARTED:        "The run begins; `detail` is its title.",
    WorldEventKind.RUN_ENDED:          "The run is over; what is still open then stays open.",
    WorldEventKind.TOPIC_CREATED:      "A topic is there from now on, with `count` partitions; "
                                       "`duration_ms` is its retention, if it has one.",
    WorldEventKind.PARTITIONS_ADDED:   "A topic has `count` partitions from now on.",
    WorldEventKind.TOPIC_DELETED:      "A topic is gone, and its logs with it.",
    WorldEventKind.LOG_RATE_CHANGED:   "A partition's log ends at `offset` and grows by `count` "
                                       "records in each `duration_ms`: at t it ends at `offset` + "
                                       "(t - `at_ms`) * `count` // `duration_ms`, until its next "
                                       "such row. With `count` 0 it stands still.",
    WorldEventKind.LOG_START_MOVED:    "Records before `offset` are gone because the script "
                                       "deleted them; what retention takes has no row.",
    WorldEventKind.CONSUMER_STARTED:   "A consumer begins its work.",
    WorldEventKind.CONSUMER_STOPPING:  "A consumer is asked to close; `detail` says how.",
    WorldEventKind.CONSUMER_STOPPED:   "A consumer's application has ended; `error` is what it "
                                       "raised, if it did, and `detail` that in words; or "
                                       "`detail` says that it returned without closing.",
    WorldEventKind.CONSUMER_CRASHED:   "A consumer dies without a word; nothing is sent any more.",
    WorldEventKind.CONSUMER_PAUSED:    "A consumer's process stands still, all threads of it.",
    WorldEventKind.CONSUMER_RESUMED:   "It goes on, late for whatever was due.",
    WorldEventKind.FAULT_STARTED:      "Something is wrong from now on; `detail` says what, where "
                                       'and how much, in the words of the script: "slow ada to '
                                       'broker 2 by 1s".',
    WorldEventKind.FAULT_HEALED:       "It is right again; same `detail`, `cause` is its start.",
    WorldEventKind.LINK_CHANGED:       "From now on messages between a client and `broker` take as "
                                       "long, one way, as `detail` says, besides what slows them.",
    WorldEventKind.BROKER_CRASHED:     "A broker dies; its connections are reset.",
    WorldEventKind.BROKER_RESTARTED:   "A broker is back, with its logs.",
    WorldEventKind.COORDINATOR_MOVED:  "`broker` leads that partition of the offsets topic from "
                                       "now on; `detail` says from where.",
    WorldEventKind.CONNECTION_OPENED:  "A client has a connection to `broker`.",
    WorldEventKind.CONNECTION_FAILED:  "A client tries to connect to `broker`: `detail` says that "
                                       "it was refused or that nobody answers.",
    WorldEventKind.CONNECTION_CLOSED:  "A client gives a connection up, and `count` requests on it "
                                       "that had no answer; if one was overdue, `detail` says "
                                       "which, and `duration_ms` how long it was waited for.",
    WorldEventKind.CONNECTION_RESET:   "A connection breaks, before or after the broker acted on "
                                       "what was on its way (`detail`); the client will notice.",
    WorldEventKind.REQUEST_SENT:       "A client sends a request.",
    WorldEventKind.REQUEST_RECEIVED:   "A broker begins to handle a request.",
    WorldEventKind.REQUEST_LOST:       "A request never reaches its broker; `detail` says why.",
    WorldEventKind.REPLY_SENT:         "A broker answers a request; `cause` is what made it "
                                       "answer, `duration_ms` the time since the request came.",
    WorldEventKind.REPLY_RECEIVED:     "A client hears the answer; `duration_ms` is the time since "
                                       "it sent the request.",
    WorldEventKind.REPLY_LOST:         "An answer arrives where nobody listens any more.",
    WorldEventKind.HEARTBEATS_ANSWERED: "`count` heartbeats of a member, one after the other, "
                                       "found nothing new; `duration_ms` is the time from the "
                                       "first sending to the last answer, and `detail` says when "
                                       'that was: "the last at 3005 ms".',
    WorldEventKind.COMMITS_REPEATED:   "`count` automatic commits of a member repeated what was "
                                       "committed already; `duration_ms` and `detail` as for "
                                       "heartbeats.",
    WorldEventKind.TIMER_FIRED:        "A timer of the coordinator is due; `detail` names it, "
                                       "`duration_ms` is the time since it was set.",
    WorldEventKind.WRITE_COMMITTED:    "The log has `count` records of the coordinator, from "
                                       "`offset` up to but not including `end_offset`; commits "
                                       "that repeat what is there are not counted.",
    WorldEventKind.PARTITION_ASSIGNED: "A consumer takes a partition over.",
    WorldEventKind.PARTITION_REVOKED:  "A consumer gives a partition up.",
    WorldEventKind.PARTITION_LOST:     "A consumer has a partition no more, without giving it up; "
                                       "`detail` says how: crashed, fenced, stopped.",
    WorldEventKind.POSITION_SET:       "A consumer reads a partition from `offset` on; `detail` "
                                       "says why: committed, reset, seek. To an offset that its "
                                       "application seeks it goes at once, otherwise with the "
                                       "next fetch.",
    WorldEventKind.FETCH_STARTED:      "A consumer asks for records of a partition, from `offset` "
                                       "on, for the first time since it was assigned.",
    WorldEventKind.RECORDS_RETURNED:   "A poll hands out the records from `offset` up to but not "
                                       "including `end_offset`.",
    WorldEventKind.RECORDS_PROCESSED:  "An application has done its work on the records from "
                                       "`offset` up to but not including `end_offset`; it took "
                                       "`duration_ms`.",
    WorldEventKind.OFFSET_GIVEN:       "An application commits `offset` by hand: it is not the "
                                       "consumer's position.",
    WorldEventKind.COMMIT_ACKNOWLEDGED: "A consumer hears that its position `offset` is committed; "
                                       "`cause` is the answer.",
    WorldEventKind.COMMIT_FAILED:      "A consumer hears that a commit of `offset` is refused, and "
                                       "`error` is the answer; or there is no answer, and `error` "
                                       "is the exception's name.",

    EventKind.GROUP_CREATED:       "A group comes into being, without members.",
    EventKind.GROUP_REMOVED:       "A group is gone; `detail` says why.",
    EventKind.GROUP_LOADED:        "A group is rebuilt from the log, with `count` members.",
    EventKind.STATE_CHANGED:       "A group is now in `state`, with `count` members; `detail` says "
                                   "why. Where it waits for joins now, it does so for at most "
                                   "`duration_ms`.",
    EventKind.MEMBER_ID_GIVEN:     "A new member is told its id and is to come back with it.",
    EventKind.MEMBER_ADDED:        "A member is in the group, which now has `count`; "
                                   "`duration_ms` is its session timeout.",
    EventKind.MEMBER_REJOINED:     "A member asks to be in the next generation; `duration_ms` is "
                                   "its session timeout.",
    EventKind.MEMBER_REPLACED:     "A static member is back under a new id; `detail` has the old, "
                                   "`duration_ms` is its session timeout. Unless it goes on as it "
                                   "was, `member_rejoined` follows.",
    EventKind.MEMBER_REMOVED:      "A member is out of the group; `detail` says why.",
    EventKind.LEADER_ELECTED:      "`member` leads the group from now on.",
    EventKind.JOIN_PHASE_EXTENDED: "The wait for joins goes on, for at most `duration_ms`; "
                                   "`detail` says for what.",
    EventKind.JOIN_PHASE_ENDED:    "The wait for joins is over; `detail` says why, and who was "
                                   "awaited still.",
    EventKind.PROTOCOL_SELECTED:   "`count` members have voted for `protocol`, which is chosen; "
                                   "`detail` says who voted for what.",
    EventKind.ASSIGNMENT_STORED:   "The leader's assignment is in the log.",
    EventKind.OFFSET_COMMITTED:    "The group's position in a partition is now `offset`.",
    EventKind.COMMIT_REFUSED:      "A commit is not accepted, or not for all of its partitions; "
                                   "`error` says why.",
    EventKind.OFFSET_REMOVED:      "The group's position in a partition is forgotten.",
    EventKind.WRITE_FAILED:        "The log could not take a write; `error` says why.",
    EventKind.SHARD_LOADING:       "A broker begins to read a partition of the offsets topic.",
    EventKind.SHARD_LOADED:        "A broker coordinates the `count` groups of that partition.",
    EventKind.SHARD_UNLOADED:      "A broker has given that partition up.",
    EventKind.INTERNAL_FAULT:      "Kafka's own coordinator would fail here with an exception.",
}

# fmt: on

#: What ends a life of a consumer.
CONSUMER_ENDS: frozenset[str] = frozenset(
    {WorldEventKind.CONSUMER_STOPPED.value, WorldEventKind.CONSUMER_CRASHED.value}
)

#: What a script or chance does to a run; liveness is asked for only after the last of these, and
#: after the last request of a raw member.
DISTURBANCES: frozenset[str] = frozenset(
    kind.value
    for kind in (
        WorldEventKind.TOPIC_CREATED,
        WorldEventKind.PARTITIONS_ADDED,
        WorldEventKind.TOPIC_DELETED,
        WorldEventKind.CONSUMER_STARTED,
        WorldEventKind.CONSUMER_STOPPING,
        WorldEventKind.CONSUMER_STOPPED,
        WorldEventKind.CONSUMER_CRASHED,
        WorldEventKind.CONSUMER_PAUSED,
        WorldEventKind.CONSUMER_RESUMED,
        WorldEventKind.FAULT_STARTED,
        WorldEventKind.FAULT_HEALED,
        WorldEventKind.LINK_CHANGED,
        WorldEventKind.BROKER_CRASHED,
        WorldEventKind.BROKER_RESTARTED,
        WorldEventKind.COORDINATOR_MOVED,
        WorldEventKind.CONNECTION_RESET,
    )
)


def _always(column_type: ColumnType, meaning: str) -> Any:  # noqa: ANN401 - as attrs' own field
    return field(metadata={"type": column_type, "meaning": meaning})


def _maybe(column_type: ColumnType, meaning: str) -> Any:  # noqa: ANN401 - the same
    return field(default=None, metadata={"type": column_type, "meaning": meaning})


# fmt: off

@quickly_made
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
