"""Topics and what is written to them: the part of a script about data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any, Unpack

from attrs import define, field

from simulation.arguments import require_topic_name, require_whole
from simulation.cluster import OFFSETS_TOPIC, SimulatedTopic
from simulation.durations import Duration, milliseconds
from simulation.events import Facts, WorldEventKind
from simulation.kernel import Rank, Turn
from simulation.logs import Growth, PartitionLog
from simulation.stage import Stage

_MS_PER_S = 1_000
#: Records a second.
Rate = int | float | Fraction


@define(eq=False, kw_only=True)
class Producers:
    """Verbs of a script that create topics and let their logs grow."""

    stage: Stage = field(init=False)
    _produced: int = field(default=0, init=False)
    #: What was said last of how fast each topic grows.
    _rates: dict[str, object] = field(factory=dict, init=False)

    def topic(  # noqa: PLR0913 (each is named where it is called)
        self,
        name: str,
        *,
        partitions: int = 1,
        records_per_s: Rate = 0,
        varying: Sequence[tuple[Duration, Rate]] = (),
        burst: tuple[int, Duration] | None = None,
        retention: Duration | None = None,
    ) -> None:
        """Create a topic whose partitions share so many records a second.

        `varying` gives other rates from other times on; `burst` is so many records at once, each
        so often.
        """
        stage = self.stage
        require_topic_name(name)
        if name == OFFSETS_TOPIC:
            raise ValueError(f"name of a topic must not be {name}, which the brokers write")
        require_whole("partitions", partitions, least=1)
        retention_ms = None if retention is None else milliseconds(retention)
        _rate_of("records_per_s", records_per_s)
        changes = _changes_of(varying, stage.kernel.now_ms)
        if burst is not None:
            _require_burst(burst)
        stage.wake_all()
        stage.cluster.create_topic(name, partitions, retention_ms)
        created = WorldEventKind.TOPIC_CREATED
        self._record(created, topic=name, count=partitions, duration_ms=retention_ms)
        if records_per_s:
            self.produce(name, records_per_s)
        topic = stage.cluster.topics[name]
        for at_ms, rate in changes:
            self._later(at_ms, topic, partial(self.produce, name, rate))
        if burst is not None:
            count, every = burst
            self._burst(topic, count, milliseconds(every))

    def produce(self, topic: str, records_per_s: Rate) -> None:
        """From now on let the partitions of a topic share so many records a second."""
        stage, found = self.stage, self._topic(topic)
        records_per_s = _rate_of("records_per_s", records_per_s)
        each_per_ms = records_per_s / (len(found.logs) * _MS_PER_S)
        # What was said before ends now, where it has begun; where it has not, it never begins.
        rate = self._rates[topic] = object()
        for partition, log in enumerate(found.logs):
            goes_on = log.has_grown
            if log.is_growing or not records_per_s:
                self._grow(topic, partition, 0, 1)
            if records_per_s:
                # One after the other, as a producer does that takes them in turn; one that has
                # written before brings a record when its turn comes.
                late_ms = int((partition + goes_on) * _MS_PER_S / records_per_s)
                count, every_ms = each_per_ms.as_integer_ratio()
                grow = partial(self._grow, topic, partition, count, every_ms, int(goes_on))
                if late_ms:
                    begin = partial(self._if_latest, topic, rate, grow)
                    self._later(stage.kernel.now_ms + late_ms, found, begin)
                else:
                    grow()

    def append(self, topic: str, count: int, *, partition: int = 0) -> None:
        """Write so many records to a partition at once."""
        log = self._log(topic, partition)
        require_whole("count", count, least=0)
        self._on_growth(topic, partition, log.append(self.stage.kernel.now_ms, count))

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have so many partitions from now on.

        Bursts reach them all; a steady rate goes on with those it knows until it is given again.
        """
        self._topic(topic)
        require_whole("total", total, least=1)
        self.stage.wake_all()
        self.stage.cluster.add_partitions(topic, total)
        self._record(WorldEventKind.PARTITIONS_ADDED, topic=topic, count=total)
        self.stage.on_cluster_changed()

    def delete_topic(self, topic: str) -> None:
        """Let a topic be gone, with its records and the positions in it."""
        stage = self.stage
        partitions = len(self._topic(topic).logs)
        stage.wake_all()
        gone = stage.cluster.view().topics or {}
        found = gone[topic]
        stage.cluster.delete_topic(topic)
        deleted = self._record(WorldEventKind.TOPIC_DELETED, topic=topic)
        stage.on_cluster_changed()
        for broker in stage.brokers.values():
            if broker.is_up:
                outcome = broker.machine.on_topics_deleted((found,), stage.kernel.now_ms)
                broker.carry_out(outcome, deleted)
        for partition in range(partitions):
            stage.idle.on_log_changed((topic, partition))

    def truncate(self, topic: str, partition: int, before: int) -> None:
        """Delete the records of a partition before this offset."""
        log = self._log(topic, partition)
        require_whole("before", before, least=0)
        end = log.end_at(self.stage.kernel.now_ms)
        if before > end:
            raise ValueError(f"before must not be beyond the log's end, {end}, but is {before}")
        log.truncate_before(before)
        self._record(
            WorldEventKind.LOG_START_MOVED, topic=topic, partition=partition, offset=before
        )

    # --- inside ---

    def _topic(self, name: str) -> SimulatedTopic:
        topics = self.stage.cluster.topics
        if name not in topics:
            known = ", ".join(sorted(topics)) or "none"
            raise ValueError(f"there is no topic {name!r}, only {known}")
        return topics[name]

    def _log(self, topic: str, partition: int) -> PartitionLog:
        logs = self._topic(topic).logs
        require_whole("partition", partition, least=0)
        if partition >= len(logs):
            raise ValueError(f"partition must be one of the {len(logs)} of {topic}: {partition}")
        return logs[partition]

    def _grow(self, topic: str, partition: int, count: int, every_ms: int, first: int = 0) -> None:
        log = self._topic(topic).logs[partition]
        growth = log.grow(self.stage.kernel.now_ms, count, every_ms, first)
        self._on_growth(topic, partition, growth)

    def _burst(self, topic: SimulatedTopic, count: int, every_ms: int) -> None:
        for partition in range(len(topic.logs)):
            self.append(topic.name, count, partition=partition)
        again = partial(self._burst, topic, count, every_ms)
        self._later(self.stage.kernel.now_ms + every_ms, topic, again)

    def _on_growth(self, topic: str, partition: int, growth: Growth) -> None:
        self._record(
            WorldEventKind.LOG_RATE_CHANGED,
            topic=topic,
            partition=partition,
            offset=growth.offset,
            count=growth.count,
            duration_ms=growth.every_ms,
        )
        self.stage.idle.on_log_changed((topic, partition))

    def _later(self, at_ms: int, topic: SimulatedTopic, action: partial[None]) -> None:
        """Do this then, if the topic is still the same: a deleted one takes its producers along."""
        self._produced += 1
        turn = Turn(at_ms, Rank.LOG, "", "produced", self._produced)
        self.stage.kernel.at(turn, partial(self._if_there, topic, action))

    def _if_latest(self, topic: str, rate: object, action: partial[None]) -> None:
        if self._rates[topic] is rate:
            action()

    def _if_there(self, topic: SimulatedTopic, action: partial[None]) -> None:
        if self.stage.cluster.topics.get(topic.name) is topic:
            action()

    def _record(self, kind: WorldEventKind, **facts: Unpack[Facts]) -> int:
        now_ms = self.stage.kernel.now_ms
        return self.stage.recorder.record(kind, now_ms, None, **facts)


def _changes_of(varying: Sequence[object], now_ms: int) -> list[tuple[int, Fraction]]:
    """When a topic gets another rate, and which."""
    if isinstance(varying, str) or not isinstance(varying, Sequence):
        raise TypeError(f'varying must be a sequence such as [("10s", 50)], not {varying!r}')
    changes = []
    for each in varying:
        time, rate = _pair("each of varying", each, 'a time and a rate, such as ("10s", 50)')
        changes.append((milliseconds(time), _rate_of("varying", rate)))
    for at_ms, _rate in changes:
        if at_ms < now_ms:
            raise ValueError(f"varying must not be before the present, {now_ms}, not {at_ms}")
    return changes


def _require_burst(burst: object) -> None:
    count, every = _pair("burst", burst, 'records and how often, such as (100, "1m")')
    require_whole("records of a burst", count, least=1)
    if milliseconds(every) < 1:
        raise ValueError(f"burst must be some records each so often, not {burst!r}")


def _pair(what: str, value: object, example: str) -> tuple[Any, Any]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:  # noqa: PLR2004 (a pair)
        raise TypeError(f"{what} must be {example}, not {value!r}")
    first, second = value
    return first, second


def _rate_of(name: str, records_per_s: Rate) -> Fraction:
    """A rate as it is written: 0.1 is a tenth, exactly."""
    if type(records_per_s) not in (int, float, Fraction) or not isfinite(records_per_s):
        raise TypeError(f"{name} must be a number of records a second, not {records_per_s!r}")
    if records_per_s < 0:
        raise ValueError(f"{name} must not fall below 0 records a second, not {records_per_s}")
    return Fraction(str(records_per_s))
