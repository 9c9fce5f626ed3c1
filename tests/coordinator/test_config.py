"""Settings: Kafka's names, defaults and bounds; a wrong value is refused by its name."""

from __future__ import annotations

import pytest
from attrs import fields

from coordinator import ErrorCode, GroupConfig
from tests.support.builders import a_broker, a_static_client

#: Kafka's name, its default, and the least value it allows (None where it declares no bound).
SETTINGS = [
    ("group.min.session.timeout.ms", 6_000, None),
    ("group.max.session.timeout.ms", 1_800_000, None),
    ("group.initial.rebalance.delay.ms", 3_000, None),
    ("group.max.size", 2_147_483_647, 1),
    ("offset.metadata.max.bytes", 4_096, None),
    ("offsets.retention.minutes", 10_080, 1),
    ("offsets.retention.check.interval.ms", 600_000, 1),
    ("offsets.commit.timeout.ms", 5_000, 1),
    ("offsets.topic.num.partitions", 50, 1),
    ("offsets.topic.replication.factor", 3, 1),
    ("offsets.topic.segment.bytes", 104_857_600, 1),
    ("offsets.topic.compression.codec", 0, None),
    ("offsets.load.buffer.size", 5_242_880, 1),
    ("group.coordinator.append.linger.ms", -1, -1),
    ("group.coordinator.threads", 4, 1),
    ("group.coordinator.background.threads", 2, 1),
    ("group.coordinator.cached.buffer.max.bytes", 1_048_588, 524_288),
]
NAMES = [name for name, _, _ in SETTINGS]
BOUNDED = [(name, least) for name, _, least in SETTINGS if least is not None]


def in_snake_case(name):
    return name.replace(".", "_")


@pytest.mark.parametrize(("name", "default"), [(name, default) for name, default, _ in SETTINGS])
def test_a_setting_has_kafkas_default(name, default):
    assert getattr(GroupConfig(), in_snake_case(name)) == default


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_goes_by_kafkas_dotted_name_and_by_ours(name):
    dotted = GroupConfig.from_properties({name: 600_000})
    ours = GroupConfig.from_properties({in_snake_case(name): 600_000})

    assert dotted == ours
    assert getattr(dotted, in_snake_case(name)) == 600_000


@pytest.mark.parametrize(("name", "least"), BOUNDED)
def test_the_least_value_is_allowed_and_one_below_it_is_not(name, least):
    GroupConfig.from_properties({name: least})

    with pytest.raises(ValueError, match=f"{in_snake_case(name)} must be at least {least}, not"):
        GroupConfig.from_properties({name: least - 1})


@pytest.mark.parametrize("name", [name for name, _, least in SETTINGS if least is None])
def test_a_setting_without_a_bound_may_be_negative(name):
    assert getattr(GroupConfig.from_properties({name: -7}), in_snake_case(name)) == -7


@pytest.mark.parametrize("value", ["3 s", 3000.0, None, True, 2**31, -(2**31) - 1])
@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_is_no_java_int_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=in_snake_case(name)):
        GroupConfig.from_properties({name: value})


def test_a_brokers_properties_may_be_pasted_as_text():
    config = GroupConfig.from_properties(
        {"group.max.size": "250", "group.coordinator.rebalance.protocols": "classic, consumer"}
    )

    assert config.group_max_size == 250
    assert config.group_coordinator_rebalance_protocols == ("classic", "consumer")


@pytest.mark.parametrize("value", ["", "modern", (), ("classic", "modern"), None])
def test_rebalance_protocols_that_nobody_knows_are_refused(value):
    with pytest.raises(ValueError, match="group_coordinator_rebalance_protocols must name some"):
        GroupConfig.from_properties({"group.coordinator.rebalance.protocols": value})


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(ValueError, match=r"group\.max\.sice is not a group setting"):
        GroupConfig.from_properties({"group.max.sice": 3})


def test_every_setting_of_kafka_is_in_the_list_above():
    names = [each.metadata["kafka_name"] for each in fields(GroupConfig) if each.metadata]

    assert sorted(names) == sorted([*NAMES, "group.coordinator.rebalance.protocols"])


def test_retention_in_minutes_does_not_overflow():
    config = GroupConfig(offsets_retention_minutes=2_147_483_647)

    assert config.offsets_retention_ms == 2_147_483_647 * 60_000


def test_retention_may_be_given_in_milliseconds_instead():
    assert GroupConfig(offsets_retention_ms=250).offsets_retention_ms == 250


@pytest.mark.parametrize("value", [0, -1, "1", 1.5])
def test_a_retention_that_is_no_time_is_refused(value):
    with pytest.raises(ValueError, match="offsets_retention_ms"):
        GroupConfig(offsets_retention_ms=value)


def test_nobody_checks_that_the_least_session_is_below_the_greatest():
    broker = a_broker(group_min_session_timeout_ms=9_000, group_max_session_timeout_ms=8_000)

    call = broker.joins(a_static_client(), session_timeout_ms=8_500)

    assert call.error is ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_new_members_five_minutes_may_be_shortened_for_a_test():
    broker = a_broker(new_member_join_timeout_ms=100, group_initial_rebalance_delay_ms=3_000)
    call = broker.joins(a_static_client())

    broker.advances(100)

    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID
