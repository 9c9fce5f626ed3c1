"""The coordinator's settings; names, defaults and bounds are Kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Attribute, field, fields, frozen

_INT_MAX = 2_147_483_647
_PROTOCOLS = frozenset({"classic", "consumer", "share", "streams"})


def _whole(_: object, attribute: Attribute[int], value: int) -> None:
    """A Java int, not a bool, a float or a string."""
    if type(value) is not int or not -_INT_MAX - 1 <= value <= _INT_MAX:
        raise ValueError(f"{attribute.name} must be a whole number of 32 bits, not {value!r}")


def _at_least(least: int) -> object:
    """Kafka's own lower bound of a setting."""

    def check(instance: object, attribute: Attribute[int], value: int) -> None:
        _whole(instance, attribute, value)
        if value < least:
            raise ValueError(f"{attribute.name} must be at least {least}, not {value}")

    return check


def _setting(default: int, kafka_name: str, least: int | None = None) -> int:
    """One setting: its default, its name in Kafka and its lower bound where Kafka has one."""
    validator = _whole if least is None else _at_least(least)
    return field(default=default, validator=validator, metadata={"kafka_name": kafka_name})  # type: ignore[no-any-return,call-overload]


@frozen(kw_only=True)
class GroupConfig:
    """A broker's group settings.

    `from_properties` takes Kafka's dotted names. Kafka does not check that the least session
    timeout is below the greatest, and neither do we.
    """

    # fmt: off
    group_min_session_timeout_ms: int = _setting(6_000, "group.min.session.timeout.ms")
    group_max_session_timeout_ms: int = _setting(1_800_000, "group.max.session.timeout.ms")
    group_initial_rebalance_delay_ms: int = _setting(3_000, "group.initial.rebalance.delay.ms")
    group_max_size: int = _setting(_INT_MAX, "group.max.size", 1)
    offset_metadata_max_bytes: int = _setting(4_096, "offset.metadata.max.bytes")
    offsets_retention_minutes: int = _setting(10_080, "offsets.retention.minutes", 1)
    offsets_retention_check_interval_ms: int = _setting(
        600_000, "offsets.retention.check.interval.ms", 1)
    offsets_commit_timeout_ms: int = _setting(5_000, "offsets.commit.timeout.ms", 1)
    offsets_topic_num_partitions: int = _setting(50, "offsets.topic.num.partitions", 1)
    offsets_topic_replication_factor: int = _setting(3, "offsets.topic.replication.factor", 1)
    offsets_topic_segment_bytes: int = _setting(104_857_600, "offsets.topic.segment.bytes", 1)
    offsets_topic_compression_codec: int = _setting(0, "offsets.topic.compression.codec")
    offsets_load_buffer_size: int = _setting(5_242_880, "offsets.load.buffer.size", 1)
    group_coordinator_append_linger_ms: int = _setting(
        -1, "group.coordinator.append.linger.ms", -1)
    group_coordinator_threads: int = _setting(4, "group.coordinator.threads", 1)
    group_coordinator_background_threads: int = _setting(
        2, "group.coordinator.background.threads", 1)
    group_coordinator_cached_buffer_max_bytes: int = _setting(
        1_048_588, "group.coordinator.cached.buffer.max.bytes", 524_288)
    # fmt: on
    group_coordinator_rebalance_protocols: tuple[str, ...] = field(
        default=("classic", "consumer", "streams"),
        metadata={"kafka_name": "group.coordinator.rebalance.protocols"},
    )

    @group_coordinator_rebalance_protocols.validator
    def _known_protocols(self, attribute: Attribute[tuple[str, ...]], value: object) -> None:
        if not isinstance(value, tuple) or not value or not set(value) <= _PROTOCOLS:
            known = ", ".join(sorted(_PROTOCOLS))
            raise ValueError(f"{attribute.name} must name some of {known}, not {value!r}")

    #: Hard-coded in Kafka; here so that tests need not wait five minutes.
    new_member_join_timeout_ms: int = field(default=300_000, validator=_whole)

    #: The minutes in milliseconds; a test may give a finer grain, Kafka has minutes only.
    offsets_retention_ms: int = field()

    @offsets_retention_ms.default
    def _from_minutes(self) -> int:
        minutes = self.offsets_retention_minutes
        return minutes * 60_000 if type(minutes) is int else -1  # its own check says what is wrong

    @offsets_retention_ms.validator
    def _some_time(self, attribute: Attribute[int], value: int) -> None:
        if type(value) is not int or value < 1:
            raise ValueError(f"{attribute.name} must be a number of milliseconds, not {value!r}")

    @classmethod
    def from_properties(cls, properties: Mapping[str, object]) -> GroupConfig:
        """Settings by Kafka's dotted names or in snake case, numbers also as text.

        Unknown names are refused.
        """
        known = {each.name: each for each in fields(cls)}
        known |= {each.metadata["kafka_name"]: each for each in fields(cls) if each.metadata}
        settings: dict[str, Any] = {}
        for name, value in properties.items():
            if name not in known:
                raise ValueError(f"{name} is not a group setting of the broker")
            settings[known[name].name] = _from_text(known[name], value)
        return cls(**settings)


def _from_text(setting: Attribute[Any], value: object) -> object:
    """A value as a properties file has it."""
    if not isinstance(value, str):
        return value
    if isinstance(setting.default, tuple):
        return tuple(part.strip() for part in value.split(","))
    try:
        return int(value)
    except ValueError:
        return value  # the setting's own check says what is wrong with it
