"""What tells the scenarios of several runs apart, a line for each: "session.timeout.ms 45s"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groupsim.commands.explaining import told_entry, told_value
from groupsim.report.defaults import default_at, with_defaults

__all__ = ["differences"]

#: What a scenario says about itself, and what is told entry by entry.
_ELSEWHERE = ("name", "title", "question", "expect", "never_settles", "script")
_MEMBERS = "members"
#: What is said of a key that is in other scenarios only and has no default.
_UNSAID = "not set"
#: Where a key stands in a scenario.
Path = tuple[str, ...]


def differences(scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each of these scenarios has that not all of them have; nothing if all are the same."""
    said = [
        dict(_flat({key: value for key, value in each.items() if key not in _ELSEWHERE}))
        for each in scenarios
    ]
    everything = _together(said)
    for each, scenario in zip(said, scenarios, strict=True):
        each |= dict(_usual(everything, each, scenario))
    paths = [path for path in everything if len({each.get(path) for each in said}) > 1]
    scripts = _told_scripts([each.get("script", ()) for each in scenarios])
    own = [[entry for entry in script if _is_own(entry, scripts)] for script in scripts]
    return [
        "; ".join([*_settings(each, paths), *entries])
        for each, entries in zip(said, own, strict=True)
    ]


def _flat(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:  # noqa: ANN401 - as in files
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, (*path, str(key)))
    elif value is not None and not (path[-1:] == (_MEMBERS,) and isinstance(value, Sequence)):
        # Who the members are is no difference by itself: what they are told to do differs.
        yield path, told_value(value)


def _together(said: Sequence[Mapping[Path, str]]) -> list[Path]:
    return list(dict.fromkeys(path for each in said for path in each))


def _usual(
    paths: Sequence[Path], said: Mapping[Path, str], scenario: Mapping[str, Any]
) -> Iterator[tuple[Path, str]]:
    """The defaults of what a scenario does not say and others do."""
    for path in paths:
        if path not in said and _MEMBERS not in path:
            default = default_at(path, scenario)
            if default is not None:
                yield path, told_value(default)


def _told_scripts(scripts: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[str]]:
    """The entries of each script in words; a key that one names is told of all such actions."""
    keys: dict[str, set[str]] = {}
    for entry in (entry for script in scripts for entry in script):
        for verb, said in entry.items():
            keys.setdefault(verb, set()).update(said if isinstance(said, Mapping) else ())
    return [
        [
            told_entry({verb: with_defaults(verb, said, keys[verb]) for verb, said in each.items()})
            for each in script
        ]
        for script in scripts
    ]


def _settings(said: Mapping[Path, str], paths: Sequence[Path]) -> list[str]:
    """The values at these paths; what is the same in several groups is told once."""
    known = {
        path: said.get(path, _UNSAID)
        for path in paths
        if path in said or _MEMBERS not in path  # Another run's members are not these.
    }
    values: dict[str, set[str]] = {}
    for path, value in known.items():
        values.setdefault(_short(path), set()).add(value)
    told = [
        f"{_short(path) if len(values[_short(path)]) == 1 else '.'.join(path)} {value}"
        for path, value in known.items()
    ]
    return list(dict.fromkeys(told))


def _short(path: Path) -> str:
    """A path as people call it: a setting by Kafka's name, anything else without its group."""
    if "settings" in path:
        return path[-1].replace("_", ".")
    return ".".join(part for part in path[2:] if part != "app") or ".".join(path)


def _is_own(entry: str, scripts: Sequence[Sequence[str]]) -> bool:
    return any(entry not in script for script in scripts)
