"""A consumer's settings: names, defaults and refusals are Kafka's."""

from __future__ import annotations

import attrs
import pytest

from client.assignors import FunctionAssignor, RebalanceProtocol
from client.reset import ResetStrategy, ResetType, reset_strategy
from client.settings import ConsumerConfig, consumer_config


def an_assignor(name, *protocols):
    return FunctionAssignor(name=name, function=lambda *_: {}, supported_protocols=protocols)


def test_the_defaults_are_kafkas():
    config = ConsumerConfig(group_id="g")

    assert (config.session_timeout_ms, config.heartbeat_interval_ms) == (45_000, 3_000)
    assert (config.max_poll_interval_ms, config.max_poll_records) == (300_000, 500)
    assert (config.enable_auto_commit, config.auto_commit_interval_ms) == (True, 5_000)
    assert config.partition_assignment_strategy == ("range", "cooperative-sticky")
    assert config.auto_offset_reset == "latest"
    assert (config.retry_backoff_ms, config.retry_backoff_max_ms) == (100, 1_000)
    assert (config.reconnect_backoff_ms, config.reconnect_backoff_max_ms) == (50, 1_000)
    assert (config.request_timeout_ms, config.default_api_timeout_ms) == (30_000, 60_000)
    assert (config.fetch_max_wait_ms, config.metadata_max_age_ms) == (500, 300_000)


def test_a_properties_file_can_be_pasted():
    config = consumer_config(
        {
            "bootstrap.servers": "one:9092, two:9092",
            "group.id": "checkout",
            "session.timeout.ms": "10000",
            "enable.auto.commit": "false",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor",
            "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
            "ssl.truststore.location": "/etc/ssl",
        }
    )

    assert config == ConsumerConfig(
        bootstrap_servers=("one:9092", "two:9092"),
        group_id="checkout",
        session_timeout_ms=10_000,
        enable_auto_commit=False,
        partition_assignment_strategy=("sticky",),
    )


def test_without_a_group_nothing_is_committed_automatically():
    assert ConsumerConfig().enable_auto_commit is False


def test_a_reconnect_backoff_given_alone_does_not_grow():
    assert ConsumerConfig(reconnect_backoff_ms=200).reconnect_backoff_max_ms == 200
    assert consumer_config({"reconnect.backoff.ms": 50}).reconnect_backoff_max_ms == 50


def test_an_assignor_named_twice_counts_once():
    config = ConsumerConfig(partition_assignment_strategy=["range", "range"])

    assert config.partition_assignment_strategy == ("range",)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"group.id": " "}, "group_id must not be blank"),
        ({"group.id": "g", "heartbeat.interval.ms": 45_000}, "must be below session_timeout_ms"),
        ({"group.instance.id": "a b"}, "group_instance_id must be 1 to 249"),
        ({"group.instance.id": ".."}, "group_instance_id must be 1 to 249"),
        ({"max.poll.interval.ms": 0}, "max_poll_interval_ms must be at least 1, not 0"),
        ({"max.poll.records": "many"}, "max_poll_records must be a whole number, not 'many'"),
        ({"enable.auto.commit": "yes"}, "enable_auto_commit must be true or false, not 'yes'"),
        ({"enable.auto.commit": True}, "must be false without a group_id"),
        ({"isolation.level": "dirty"}, "isolation_level must be read_uncommitted or"),
        ({"auto.offset.reset": "Latest"}, "auto_offset_reset must be earliest, latest, none"),
        ({"auto.offset.reset": "by_duration"}, "needs a duration such as by_duration:PT1H"),
        ({"auto.offset.reset": "by_duration:-PT1H"}, "needs a duration"),
        ({"partition.assignment.strategy": "best"}, "must be of range, .*, not 'best'"),
        ({"bootstrap.servers": ""}, "bootstrap_servers must be host:port"),
        ({"bootstrap.servers": []}, "bootstrap_servers must not be empty"),
        ({"session_timeout_ms": 1, "session.timeout.ms": 1}, "session.timeout.ms is given twice"),
        ({"sesion.timeout.ms": 1}, "'sesion.timeout.ms' is not a setting of Kafka's consumer"),
        ({"group.remote.assignor": "uniform"}, "cannot be set with group.protocol=classic"),
        ({"group.protocol": "consumer"}, "only classic is modelled"),
    ],
)
def test_what_kafka_refuses_is_refused_with_name_expectation_and_value(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        consumer_config(settings)


def test_assignors_without_a_protocol_in_common_are_refused():
    cooperative = an_assignor("mine", RebalanceProtocol.COOPERATIVE)

    with pytest.raises(ValueError, match="rebalance protocol in common"):
        ConsumerConfig(partition_assignment_strategy=["range", cooperative])


def test_two_assignors_of_one_name_are_refused():
    twins = [an_assignor("mine", RebalanceProtocol.EAGER) for _ in range(2)]

    with pytest.raises(ValueError, match="must not name an assignor twice"):
        ConsumerConfig(partition_assignment_strategy=twins)


def test_every_setting_is_known_by_its_dotted_name():
    for setting in attrs.fields(ConsumerConfig):
        # The second changes its own maximum when it is given alone.
        if setting.init and setting.name not in (
            "partition_assignment_strategy",
            "reconnect_backoff_ms",
        ):
            value = getattr(ConsumerConfig(), setting.name)

            assert consumer_config({setting.name.replace("_", "."): value}) == ConsumerConfig()


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("by_duration:PT1H", 3_600_000),
        ("by_duration:P1DT2M", 86_520_000),
        ("by_duration:PT0.5S", 500),
        ("by_duration:PT0S", 0),
    ],
)
def test_a_duration_is_read_as_iso_8601(text, duration_ms):
    assert reset_strategy(text) == ResetStrategy(ResetType.BY_DURATION, duration_ms)
