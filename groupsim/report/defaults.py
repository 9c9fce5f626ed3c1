"""What a scenario means where it says nothing: `run.json` leaves out what is as usual."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, get_args, get_origin, get_type_hints

import attrs

from client.settings import ConsumerConfig
from coordinator import GroupConfig
from simulation.scenarios import Scenario
from simulation.scenarios.conversions import CONVERTER
from simulation.scenarios.settings import BrokerSettings, ConsumerSettings, settings_texts
from simulation.scenarios.verbs import ACTIONS
from simulation.scenarios.wrongs import keys_of

__all__ = ["default_at", "with_defaults"]

#: Where settings have their defaults.
_SETTINGS: Mapping[Any, type] = {ConsumerSettings: ConsumerConfig, BrokerSettings: GroupConfig}


def default_at(path: tuple[str, ...], scenario: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as in files
    """What stands for a key that a scenario leaves out, as a file would say it.

    None if that is nothing, or if the scenario has no such group or topic at all.
    """
    wanted: Any = Scenario
    here: Any = scenario
    for n, key in enumerate(path):
        is_last = n == len(path) - 1
        inside = here.get(key) if isinstance(here, Mapping) else None
        if wanted in _SETTINGS:
            return _default_setting(_SETTINGS[wanted], key) if is_last else None
        if get_origin(wanted) is not None:
            # Names of the scenario's own: what is not there has no defaults.
            if inside is None or is_last:
                return None
            wanted = get_args(wanted)[-1]
        elif attrs.has(wanted) and key in keys_of(wanted):
            if is_last:
                return _default(wanted, key)
            wanted = get_type_hints(wanted)[keys_of(wanted)[key].name]
        else:
            return None
        here = inside
    return None


def with_defaults(verb: str, said: Any, keys: set[str]) -> Any:  # noqa: ANN401 - as in files
    """What an entry of a script says of its action, with the defaults of these keys."""
    action = ACTIONS.get(verb)
    if action is None:
        return said
    short = getattr(action, "short", "")
    given = {short: said} if short and not isinstance(said, Mapping) else said
    if not isinstance(given, Mapping):
        return said
    usual = {key: _default(action, key) for key in keys if key not in given}
    added = {key: value for key, value in usual.items() if value is not None}
    whole = {**given, **added}
    return {key: whole[key] for key in keys_of(action) if key in whole} if added else said


def _default(cl: type, key: str) -> Any:  # noqa: ANN401 - as in files
    each = keys_of(cl).get(key)
    if each is None or not _is_said(each.default):
        return None
    return CONVERTER.unstructure(each.default, unstructure_as=get_type_hints(cl)[each.name])


def _default_setting(config: type, name: str) -> Any:  # noqa: ANN401 - as in files
    found = [each.default for each in attrs.fields(config) if each.name == name]
    return settings_texts({name: found[0]})[name] if found and _is_said(found[0]) else None


def _is_said(default: Any) -> bool:  # noqa: ANN401 - any value
    """Whether a default is a value that a file could name."""
    if default is attrs.NOTHING or type(default).__name__ == "Factory":
        return False
    return isinstance(default, Hashable) and default not in (None, "", ())
