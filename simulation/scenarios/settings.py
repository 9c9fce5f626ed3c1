"""Settings in a scenario: Kafka's names, dotted or in snake case; lengths of time with units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NewType

import attrs

from client.assignors import assignor_names
from client.assignors.registry import CLASS_NAMES
from client.settings import WITHOUT_EFFECT, ConsumerConfig
from coordinator import GroupConfig
from simulation.durations import duration_text
from simulation.scenarios.mistakes import AllWrong, Wrong, nearest_to, shown
from simulation.scenarios.values import duration

#: A consumer's settings, in snake case; lengths of time in milliseconds.
ConsumerSettings = NewType("ConsumerSettings", Mapping[str, Any])
#: A broker's settings for groups, the same way.
BrokerSettings = NewType("BrokerSettings", Mapping[str, Any])

ASSIGNORS = "partition_assignment_strategy"

_CONSUMER = {each.name: each for each in attrs.fields(ConsumerConfig) if each.init}
_BROKER = {each.name: each for each in attrs.fields(GroupConfig)}
_WITHOUT_EFFECT_PREFIXES = ("ssl_", "sasl_")
#: What the world itself gives to each consumer; a pasted file may have them, to no effect.
_GIVEN = ("bootstrap_servers", "client_id")
_PYTHON = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def consumer_setting_names() -> tuple[str, ...]:
    """Every setting that has an effect here, in snake case."""
    return tuple(name for name in _CONSUMER if name not in (*_GIVEN, "group_id"))


def broker_setting_names() -> tuple[str, ...]:
    """Every group setting of a broker, in snake case."""
    return tuple(_BROKER)


def is_consumer_setting(key: str) -> bool:
    """Whether Kafka's consumer has a setting of this name, dotted or in snake case."""
    return key.replace(".", "_") in _CONSUMER


def is_python(text: object) -> bool:
    """Whether this names something in Python: `module:name`."""
    return isinstance(text, str) and _PYTHON.fullmatch(text) is not None


def no_settings() -> ConsumerSettings:
    """Kafka's own."""
    return ConsumerSettings({})


def no_broker_settings() -> BrokerSettings:
    """Kafka's own."""
    return BrokerSettings({})


def consumer_settings(given: Mapping[str, Any]) -> ConsumerSettings:
    """A consumer's settings, each one looked at for itself."""
    return ConsumerSettings(_settings(given, _consumer_setting))


def broker_settings(given: Mapping[str, Any]) -> BrokerSettings:
    """A broker's settings for groups, each one looked at for itself."""
    return BrokerSettings(_settings(given, _broker_setting))


def settings_texts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a file says them."""
    return {key: _written(key, value) for key, value in settings.items()}


def _written(key: str, value: object) -> object:
    if key.endswith("_ms") and type(value) is int and value >= 0:
        return duration_text(value)
    return list(value) if isinstance(value, tuple) else value


def _settings(given: object, read: Callable[[str, Any], Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise Wrong(f"found {shown(given)}", "must be settings by their names in Kafka")
    found: dict[str, Any] = {}
    wrongs: list[Wrong] = []
    for key, value in given.items():
        name = str(key).replace(".", "_")
        try:
            if name in found:
                raise Wrong(f"{key} is given twice", "must be given once")  # noqa: TRY301
            found[name] = read(name, value)
        except Wrong as wrong:
            wrongs.append(Wrong(wrong.found, wrong.allowed, nearest=wrong.nearest, at=(key,)))
    if wrongs:
        raise AllWrong(wrongs)
    return found


def _consumer_setting(name: str, value: object) -> object:
    if name in WITHOUT_EFFECT or name.startswith(_WITHOUT_EFFECT_PREFIXES) or name in _GIVEN:
        return value
    if name not in _CONSUMER:
        nearest = nearest_to(name, consumer_setting_names())
        raise Wrong(
            f"unknown setting {name}", "must be a setting of Kafka's consumer", nearest=nearest
        )
    if name == ASSIGNORS:
        return _assignors(value)
    return _checked(_CONSUMER[name], value)


def _broker_setting(name: str, value: object) -> object:
    if name not in _BROKER:
        nearest = nearest_to(name, broker_setting_names())
        raise Wrong(
            f"unknown setting {name}", "must be a group setting of Kafka's broker", nearest=nearest
        )
    if isinstance(value, list):
        value = tuple(value)
    return _checked(_BROKER[name], value)


def _checked(setting: attrs.Attribute[Any], value: object) -> object:
    """A value that the setting's own check accepts; texts become what the setting wants."""
    if isinstance(value, str):
        value = _from_text(setting, value.strip())
    if isinstance(value, float):
        raise Wrong(f"found {shown(value)}", "must be a whole number")
    if setting.validator is not None:
        try:
            setting.validator(None, setting, value)
        except ValueError as error:
            raise Wrong(f"found {shown(value)}", str(error)) from error
    return value


def _from_text(setting: attrs.Attribute[Any], text: str) -> object:
    kind = str(setting.type)
    if kind == "int" and setting.name.endswith("_ms"):
        return duration(text)
    if kind == "int":
        if not re.fullmatch(r"-?\d{1,18}", text):
            raise Wrong(f"found {shown(text)}", "must be a whole number")
        return int(text)
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise Wrong(f"found {shown(text)}", "must be true or false")
        return text.lower() == "true"
    if kind.startswith("tuple"):
        return tuple(part.strip() for part in text.split(","))
    return text


def _assignors(value: object) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    known = ", ".join(assignor_names())
    allowed = f"must name some of {known}, or Python's module:name"
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise Wrong(f"found {shown(value)}", allowed)
    found = []
    for each in names:
        text = each.strip() if isinstance(each, str) else ""
        if text not in assignor_names() and text not in CLASS_NAMES and not is_python(text):
            nearest = nearest_to(text, assignor_names()) if text else ""
            raise Wrong(f"found {shown(each)}", allowed, nearest=nearest)
        found.append(CLASS_NAMES.get(text, text))
    return tuple(found)
