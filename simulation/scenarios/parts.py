"""Who and where: the parts of a scenario besides its script, as frozen values.

An attribute is a key of the file, by the same name; its `meaning` stands in the schema and in the
documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen
from attrs.validators import deep_mapping, instance_of

from client.applications import CommitMode
from client.membership import CloseOperation
from client.settings import DEFAULT_CLOSE_TIMEOUT_MS
from simulation.chance import LAN, Law
from simulation.durations import Duration, duration_text
from simulation.scenarios.mistakes import Wrong, shown, unknown
from simulation.scenarios.settings import (
    BrokerSettings,
    ConsumerSettings,
    broker_settings,
    consumer_settings,
    is_python,
    no_broker_settings,
    no_settings,
)
from simulation.scenarios.values import (
    AT_ONCE,
    Close,
    Count,
    Ms,
    Name,
    PerRecord,
    PythonName,
    Rate,
    SomeMs,
    Whole,
    duration,
    latency,
    maybe_duration,
    maybe_positive,
    name,
    per_record,
    positive,
    rate,
    some_time,
    whole,
)

#: In a file, for a consumer that only the script starts.
BY_SCRIPT = "by script"


def says(meaning: str, *, key: str = "") -> dict[str, str]:
    """What a key means, for schema and documentation; `key` where Python has the word itself."""
    return {"meaning": meaning, "key": key}


def names(value: str | Sequence[str]) -> tuple[Name, ...]:
    """One name or several."""
    if not isinstance(value, str | list | tuple):
        raise Wrong(f"found {shown(value)}", "must be a name or a list of names")
    return tuple(map(name, [value] if isinstance(value, str) else value))


# --- the cluster ---


@frozen(kw_only=True)
class RateFrom:
    """Another rate from a time on."""

    at: Ms = field(converter=duration, metadata=says("from when"))
    records: Rate = field(converter=rate, metadata=says("the new rate of the whole topic"))


@frozen(kw_only=True)
class Burst:
    """Many records at once, again and again."""

    records: Count = field(converter=positive, metadata=says("so many in each partition"))
    every: SomeMs = field(converter=some_time, metadata=says("how often, from the start on"))


def _rates(value: Iterable[RateFrom]) -> tuple[RateFrom, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Topic:
    """A topic and what is written to it."""

    partitions: Count = field(
        default=Count(1), converter=positive, metadata=says("how many partitions it has")
    )
    records: Rate = field(
        default=rate(0), converter=rate, metadata=says("its traffic, shared by its partitions")
    )
    varying: tuple[RateFrom, ...] = field(
        default=(), converter=_rates, metadata=says("other rates from other times on")
    )
    burst: Burst | None = field(
        default=None, metadata=says("records that come many at once, besides the steady ones")
    )
    backlog: Whole = field(
        default=Whole(0),
        converter=whole,
        metadata=says("records in each partition before the start"),
    )
    retention: Ms | None = field(
        default=None, converter=maybe_duration, metadata=says("records older than this are gone")
    )


def _topics(value: Mapping[str, Topic]) -> Mapping[str, Topic]:
    return {name(each): topic for each, topic in value.items()}


@frozen(kw_only=True)
class Cluster:
    """Brokers, topics, and how long messages take between brokers and consumers."""

    brokers: Count = field(
        default=Count(3), converter=positive, metadata=says("how many; their ids are 1, 2, ...")
    )
    latency: Law = field(
        default=LAN, converter=latency, metadata=says("how long a message takes, one way")
    )
    settings: BrokerSettings = field(
        factory=no_broker_settings,
        converter=broker_settings,
        metadata=says("the brokers' group settings, by Kafka's names"),
    )
    topics: Mapping[str, Topic] = field(
        factory=dict,
        converter=_topics,
        validator=deep_mapping(instance_of(str), instance_of(Topic)),
        metadata=says("topics by name"),
    )


# --- groups ---


@frozen(kw_only=True)
class SlowRecord:
    """A record that takes its own time: a poison pill."""

    topic: Name = field(converter=name, metadata=says("its topic"))
    partition: Whole = field(default=Whole(0), converter=whole, metadata=says("its partition"))
    offset: Whole = field(converter=whole, metadata=says("its offset"))
    takes: Ms = field(converter=duration, metadata=says("how long"))


@frozen(kw_only=True)
class StallAt:
    """The whole process stands still, as a garbage collector makes it."""

    at: Ms = field(converter=duration, metadata=says("so long after each start of the consumer"))
    lasts: Ms = field(converter=duration, metadata=says("how long", key="for"))


def commit_mode(value: str | CommitMode) -> CommitMode:
    """When an application commits."""
    if isinstance(value, CommitMode):
        return value
    words = [mode.value for mode in CommitMode]
    if value not in words:
        raise unknown("way to commit", str(value), words)
    return CommitMode(value)


def close_operation(value: str) -> Close:
    """What closing does to the membership."""
    found = str(value).upper()
    if found not in CloseOperation.ALL:
        raise unknown("way to close", str(value), map(str.lower, CloseOperation.ALL))
    return Close(found)


def python_name(value: str) -> PythonName:
    """Something in Python."""
    if not is_python(value):
        raise Wrong(f"found {shown(value)}", "must be like my_package.my_module:my_function")
    return PythonName(value)


def _maybe_python(value: str | None) -> PythonName | None:
    return None if value is None else python_name(value)


def _slow_records(value: Iterable[SlowRecord]) -> tuple[SlowRecord, ...]:
    return tuple(value)


def _stalls(value: Iterable[StallAt]) -> tuple[StallAt, ...]:
    return tuple(value)


@frozen(kw_only=True)
class App:
    """What the application of a consumer does with its records."""

    process: PerRecord = field(
        default=AT_ONCE, converter=per_record, metadata=says("how long a record takes")
    )
    commit: CommitMode = field(
        default=CommitMode.AUTO,
        converter=commit_mode,
        metadata=says("when it commits; all but `auto` turn enable.auto.commit off"),
    )
    commit_when_revoked: bool = field(
        default=True, metadata=says("commit what was processed when partitions are revoked")
    )
    poll_timeout: Ms = field(
        default=Ms(500), converter=duration, metadata=says("how long a poll waits for records")
    )
    on_assigned: Ms = field(
        default=Ms(0), converter=duration, metadata=says("how long its callback for them takes")
    )
    on_revoked: Ms = field(
        default=Ms(0), converter=duration, metadata=says("how long its callback for them takes")
    )
    on_lost: Ms = field(
        default=Ms(0), converter=duration, metadata=says("how long its callback for them takes")
    )
    slow_records: tuple[SlowRecord, ...] = field(
        default=(), converter=_slow_records, metadata=says("records that take their own time")
    )
    stalls: tuple[StallAt, ...] = field(
        default=(),
        converter=_stalls,
        metadata=says("times at which the whole process stands still"),
    )
    finishes_batch: bool = field(
        default=True, metadata=says("whether a graceful stop first finishes all that was polled")
    )
    close_timeout: Ms = field(
        default=Ms(DEFAULT_CLOSE_TIMEOUT_MS),
        converter=duration,
        metadata=says("how long closing may take"),
    )
    close: Close = field(
        default=Close(CloseOperation.DEFAULT),
        converter=close_operation,
        metadata=says("what closing does to the membership (KIP-1092)"),
    )
    python: PythonName | None = field(
        default=None,
        converter=_maybe_python,
        metadata=says("an async function of yours instead, `module:name`; needs --allow-python"),
    )


@frozen
class Start:
    """When a consumer starts: at a time, or only when the script says so."""

    at_ms: int | None

    @property
    def text(self) -> str:
        """As people write it."""
        return BY_SCRIPT if self.at_ms is None else duration_text(self.at_ms)


def start(value: Duration | Start) -> Start:
    """When a consumer starts."""
    if isinstance(value, Start):
        return value
    return Start(None) if value == BY_SCRIPT else Start(duration(value))


def _maybe_start(value: Duration | Start | None) -> Start | None:
    return None if value is None else start(value)


def _maybe_names(value: str | Sequence[str] | None) -> tuple[Name, ...] | None:
    return None if value is None else names(value)


@frozen(kw_only=True)
class Members:
    """One consumer, or several that are alike, in what they differ from their group."""

    count: Count | None = field(
        default=None,
        converter=maybe_positive,
        metadata=says("so many, called NAME-1, NAME-2 ...; without it, one, called NAME"),
    )
    start: Start | None = field(
        default=None,
        converter=_maybe_start,
        metadata=says("when it starts, or `by script`; without it, as its group says"),
    )
    stagger: Ms | None = field(
        default=None, converter=maybe_duration, metadata=says("instead of the group's")
    )
    subscribe: tuple[Name, ...] | None = field(
        default=None, converter=_maybe_names, metadata=says("instead of the group's")
    )
    pattern: str | None = field(default=None, metadata=says("instead of the group's"))
    settings: ConsumerSettings = field(
        factory=no_settings, converter=consumer_settings, metadata=says("over those of the group")
    )
    app: App | None = field(default=None, metadata=says("instead of the group's"))
    static: bool | None = field(default=None, metadata=says("instead of the group's"))


def members_named(wanted: Sequence[str]) -> Mapping[str, Members]:
    """One consumer of each name, with nothing of its own."""
    found = {str(name(each)): Members() for each in wanted}
    if len(found) < len(wanted):
        raise Wrong("found a name twice", "must be different names")
    return found


def _members(value: int | Sequence[str] | Mapping[str, Members]) -> int | Mapping[str, Members]:
    if type(value) is int:
        return positive(value)
    if isinstance(value, list | tuple):
        return members_named(value)
    if isinstance(value, Mapping):
        return {name(each): member for each, member in value.items()}
    raise Wrong(
        f"found {shown(value)}", "must be a whole number, a list of names, or names with details"
    )


@frozen(kw_only=True)
class Group:
    """A consumer group: its members and what they have in common."""

    members: int | Mapping[str, Members] = field(
        default=1,
        converter=_members,
        metadata=says("how many, called GROUP-1 ...; or their names; or names with details"),
    )
    subscribe: tuple[Name, ...] = field(
        default=(), converter=names, metadata=says("the topics they subscribe to; without it, all")
    )
    pattern: str | None = field(
        default=None, metadata=says("instead: every topic whose name matches this")
    )
    settings: ConsumerSettings = field(
        factory=no_settings,
        converter=consumer_settings,
        metadata=says("the consumers' settings, by Kafka's names"),
    )
    app: App = field(
        factory=App,
        validator=instance_of(App),
        metadata=says("what their application does"),
    )
    static: bool = field(
        default=False, metadata=says("whether each one's name is its group.instance.id")
    )
    start: Start = field(
        default=Start(0), converter=start, metadata=says("when the first starts, or `by script`")
    )
    stagger: Ms = field(
        default=Ms(0), converter=duration, metadata=says("each starts so long after the one before")
    )
