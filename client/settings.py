"""A consumer's settings: names, defaults and checks are Kafka's.

`ConsumerConfig(...)` takes snake case; `consumer_config(mapping)` also takes Kafka's dotted names,
texts as they stand in a properties file, and the settings that play no part here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from attrs import Attribute, field, frozen

from client.assignors import Assignor, RebalanceProtocol, assignor_names, new_assignor
from client.assignors.registry import CLASS_NAMES
from client.messages import IsolationLevel
from client.reset import ResetStrategy, reset_strategy

#: `close()` without a time limit of its own takes at most this long.
DEFAULT_CLOSE_TIMEOUT_MS = 30_000

_DEFAULT_RECONNECT_BACKOFF_MS = 50
_INT_MAX = 2_147_483_647
#: Settings that are longs in Kafka; the others are ints.
_LONGS = frozenset(
    {
        "metadata_max_age_ms",
        "metadata_recovery_rebootstrap_trigger_ms",
        "reconnect_backoff_max_ms",
        "reconnect_backoff_ms",
        "retry_backoff_max_ms",
        "retry_backoff_ms",
        "socket_connection_setup_timeout_max_ms",
        "socket_connection_setup_timeout_ms",
    }
)
_INSTANCE_ID = re.compile(r"[a-zA-Z0-9._-]{1,249}")

#: Kafka has these settings too. They change nothing that is modelled, so any value will do.
WITHOUT_EFFECT = frozenset(
    {
        "auto_include_jmx_reporter",
        "check_crcs",
        "client_dns_lookup",
        "config_providers",
        "connections_max_idle_ms",
        "enable_metrics_push",
        "interceptor_classes",
        "internal_throw_on_fetch_stable_offset_unsupported",
        "key_deserializer",
        "metric_reporters",
        "metrics_num_samples",
        "metrics_recording_level",
        "metrics_sample_window_ms",
        "receive_buffer_bytes",
        "security_protocol",
        "security_providers",
        "send_buffer_bytes",
        "value_deserializer",
    }
)
_WITHOUT_EFFECT_PREFIXES = ("ssl_", "sasl_")


def _at_least(lowest: int) -> Any:  # noqa: ANN401 (attrs takes any callable as a validator)
    def check(_: object, attribute: Attribute[int], value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
            raise ValueError(f"{attribute.name} must be at least {lowest}, not {value!r}")
        if value > _INT_MAX and attribute.name not in _LONGS:
            raise ValueError(f"{attribute.name} must be at most {_INT_MAX}, not {value!r}")

    return check


def _one_of(*allowed: str) -> Any:  # noqa: ANN401 (attrs takes any callable as a validator)
    def check(_: object, attribute: Attribute[str], value: str) -> None:
        if value not in allowed:
            raise ValueError(f"{attribute.name} must be {' or '.join(allowed)}, not {value!r}")

    return check


def _flag(_: object, attribute: Attribute[bool], value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{attribute.name} must be true or false, not {value!r}")  # noqa: TRY004


def _text(_: object, attribute: Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{attribute.name} must be a text, not {value!r}")  # noqa: TRY004


def _text_or_none(_: object, attribute: Attribute[str | None], value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{attribute.name} must be a text, not {value!r}")


def _names(value: str | Iterable[str | Assignor]) -> tuple[str | Assignor, ...]:
    """Assignors, each once, by name, class or as they are."""
    if not isinstance(value, Iterable):
        raise ValueError(f"partition_assignment_strategy must name assignors, not {value!r}")  # noqa: TRY004
    given = value.split(",") if isinstance(value, str) else value
    known = [CLASS_NAMES.get(name, name) if isinstance(name, str) else name for name in given]
    return tuple(dict.fromkeys(name.strip() if isinstance(name, str) else name for name in known))


def _addresses(value: str | Iterable[str]) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    return tuple(address.strip() for address in given)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


@frozen(kw_only=True)
class ConsumerConfig:
    """The settings of one consumer of the classic protocol."""

    bootstrap_servers: tuple[str, ...] = field(default=("bootstrap:9092",), converter=_addresses)
    client_id: str = field(default="", validator=_text)
    client_rack: str = field(default="", validator=_text)
    group_id: str | None = field(default=None, validator=_text_or_none)
    group_instance_id: str | None = field(default=None, validator=_text_or_none)
    group_protocol: str = field(default="classic", converter=_lower, validator=_one_of("classic"))
    session_timeout_ms: int = field(default=45_000, validator=_at_least(0))
    heartbeat_interval_ms: int = field(default=3_000, validator=_at_least(0))
    max_poll_interval_ms: int = field(default=300_000, validator=_at_least(1))
    max_poll_records: int = field(default=500, validator=_at_least(1))
    partition_assignment_strategy: tuple[str | Assignor, ...] = field(
        default=("range", "cooperative-sticky"), converter=_names
    )
    #: Without a group there is nothing to commit to.
    enable_auto_commit: bool = field(validator=_flag)
    auto_commit_interval_ms: int = field(default=5_000, validator=_at_least(0))
    auto_offset_reset: str = field(default="latest", validator=_text)
    isolation_level: str = field(
        default="read_uncommitted", validator=_one_of("read_uncommitted", "read_committed")
    )
    fetch_min_bytes: int = field(default=1, validator=_at_least(0))
    fetch_max_bytes: int = field(default=52_428_800, validator=_at_least(0))
    max_partition_fetch_bytes: int = field(default=1_048_576, validator=_at_least(0))
    fetch_max_wait_ms: int = field(default=500, validator=_at_least(0))
    request_timeout_ms: int = field(default=30_000, validator=_at_least(0))
    default_api_timeout_ms: int = field(default=60_000, validator=_at_least(0))
    retry_backoff_ms: int = field(default=100, validator=_at_least(0))
    retry_backoff_max_ms: int = field(default=1_000, validator=_at_least(0))
    reconnect_backoff_ms: int = field(default=_DEFAULT_RECONNECT_BACKOFF_MS, validator=_at_least(0))
    #: If only `reconnect_backoff_ms` is given, the same as that.
    reconnect_backoff_max_ms: int = field(validator=_at_least(0))
    socket_connection_setup_timeout_ms: int = field(default=10_000, validator=_at_least(0))
    socket_connection_setup_timeout_max_ms: int = field(default=30_000, validator=_at_least(0))
    metadata_max_age_ms: int = field(default=300_000, validator=_at_least(0))
    metadata_recovery_strategy: str = field(
        default="rebootstrap", converter=_lower, validator=_one_of("none", "rebootstrap")
    )
    metadata_recovery_rebootstrap_trigger_ms: int = field(default=300_000, validator=_at_least(0))
    allow_auto_create_topics: bool = field(default=True, validator=_flag)
    exclude_internal_topics: bool = field(default=True, validator=_flag)
    reset_strategy: ResetStrategy = field(init=False)

    @enable_auto_commit.default
    def _commits_with_a_group(self) -> bool:
        return self.group_id is not None

    @reconnect_backoff_max_ms.default
    def _grows_unless_set(self) -> int:
        given_ms = self.reconnect_backoff_ms
        return 1_000 if given_ms == _DEFAULT_RECONNECT_BACKOFF_MS else given_ms

    @reset_strategy.default
    def _parsed_reset_strategy(self) -> ResetStrategy:
        given: object = self.auto_offset_reset
        # What is no text is refused by its own check, a moment later.
        return reset_strategy(given if isinstance(given, str) else "latest")

    def __attrs_post_init__(self) -> None:
        """Refuse what Kafka's consumer refuses to be built with."""
        for broken in (
            self._no_bootstrap_server(),
            self._bad_group_id(),
            self._bad_instance_id(),
            self._heartbeat_not_below_the_session_timeout(),
            self._commit_without_a_group(),
            self._bad_assignors(),
        ):
            if broken is not None:
                raise ValueError(broken)

    def new_assignors(self) -> tuple[Assignor, ...]:
        """A consumer's own assignors, in order of preference."""
        return tuple(
            new_assignor(given) if isinstance(given, str) else given
            for given in self.partition_assignment_strategy
        )

    def _no_bootstrap_server(self) -> str | None:
        for address in self.bootstrap_servers:
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit():
                return f"bootstrap_servers must be host:port, not {address!r}"
        return None if self.bootstrap_servers else "bootstrap_servers must not be empty"

    def _bad_group_id(self) -> str | None:
        if self.group_id is not None and not self.group_id.strip():
            return f"group_id must not be blank, not {self.group_id!r}"
        return None

    def _bad_instance_id(self) -> str | None:
        given = self.group_instance_id
        if given is None or (_INSTANCE_ID.fullmatch(given) and given not in (".", "..")):
            return None
        return f"group_instance_id must be 1 to 249 of a-z, A-Z, 0-9, '.', '_', '-', not {given!r}"

    def _heartbeat_not_below_the_session_timeout(self) -> str | None:
        if self.group_id is None or self.heartbeat_interval_ms < self.session_timeout_ms:
            return None
        return (
            f"heartbeat_interval_ms ({self.heartbeat_interval_ms}) must be below "
            f"session_timeout_ms ({self.session_timeout_ms})"
        )

    def _commit_without_a_group(self) -> str | None:
        if self.group_id is None and self.enable_auto_commit:
            return "enable_auto_commit must be false without a group_id, not True"
        return None

    def _bad_assignors(self) -> str | None:
        given = self.partition_assignment_strategy
        for name in given:
            if isinstance(name, str) and name not in assignor_names():
                known = ", ".join(assignor_names())
                return f"partition_assignment_strategy must be of {known}, not {name!r}"
        assignors = self.new_assignors()
        names = [assignor.name for assignor in assignors]
        if len(set(names)) < len(names):
            return f"partition_assignment_strategy must not name an assignor twice: {names}"
        if assignors and not common_protocols(assignors):
            return (
                "partition_assignment_strategy must have a rebalance protocol in common, "
                f"not {names}"
            )
        return None

    @property
    def isolation(self) -> IsolationLevel:
        """The isolation level as requests carry it."""
        return IsolationLevel(self.isolation_level)

    @property
    def rebootstraps(self) -> bool:
        """Whether a client without brokers begins again with the bootstrap addresses."""
        return self.metadata_recovery_strategy == "rebootstrap"

    @property
    def is_static(self) -> bool:
        """Whether this is a static member (KIP-345)."""
        return self.group_instance_id is not None


#: The rows of Kafka's own table that hold settings of another protocol than the one chosen.
_ONLY_WITH_CONSUMER_PROTOCOL = ("group_remote_assignor",)
_ONLY_WITH_SHARE_GROUPS = ("share_acknowledgement_mode", "share_acquire_mode")
_ONLY_WITH_CLASSIC_PROTOCOL = (
    "partition_assignment_strategy",
    "heartbeat_interval_ms",
    "session_timeout_ms",
)


def common_protocols(assignors: Iterable[Assignor]) -> set[RebalanceProtocol]:
    """The rebalance protocols that all of these support."""
    supported = [set(assignor.supported_protocols) for assignor in assignors]
    return set.intersection(*supported) if supported else set()


def consumer_config(settings: Mapping[str, object]) -> ConsumerConfig:
    """Settings by Kafka's dotted names or in snake case, as values or as texts of a file."""
    by_name = {known.name: known for known in attrs.fields(ConsumerConfig) if known.init}
    given: dict[str, Any] = {}
    for key, value in settings.items():
        name = key.replace(".", "_")
        if name in given:
            raise ValueError(f"{key} is given twice")
        if name in by_name:
            given[name] = _value_of(by_name[name], value)
        elif name in (*_ONLY_WITH_CONSUMER_PROTOCOL, *_ONLY_WITH_SHARE_GROUPS):
            raise ValueError(f"{key} cannot be set with group.protocol=classic")
        elif name not in WITHOUT_EFFECT and not name.startswith(_WITHOUT_EFFECT_PREFIXES):
            raise ValueError(f"{key!r} is not a setting of Kafka's consumer")
    if str(given.get("group_protocol", "classic")).lower() == "consumer":
        refused = [name for name in _ONLY_WITH_CLASSIC_PROTOCOL if name in given]
        why = f"{refused[0]} cannot be set with it" if refused else "only classic is modelled"
        raise ValueError(f"group.protocol=consumer: {why}")
    if "reconnect_backoff_ms" in given:
        given.setdefault("reconnect_backoff_max_ms", given["reconnect_backoff_ms"])
    return ConsumerConfig(**given)


def _value_of(setting: Attribute[Any], value: object) -> object:
    """A text becomes the number or flag that the setting wants; anything else stays."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    kind = str(setting.type)
    if kind == "int":
        if not re.fullmatch(r"-?\d+", text):
            raise ValueError(f"{setting.name} must be a whole number, not {value!r}")
        return int(text)
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{setting.name} must be true or false, not {value!r}")
        return text.lower() == "true"
    if setting.name == "partition_assignment_strategy" and not text:
        return ()
    return text
