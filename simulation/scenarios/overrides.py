"""Other values by their paths: what variants and `--set path=value` change in a scenario.

A path names keys and places from the top, `groups.checkout.settings.session_timeout_ms` or
`script.0.at`. The name of a consumer's setting alone, or of what a group has (`members`), means
that of every group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from attrs import evolve, fields_dict

from simulation.scenarios.documents import Change, Document, parse_value
from simulation.scenarios.mistakes import Path, Wrong, shown, unknown
from simulation.scenarios.parts import Group
from simulation.scenarios.script import On
from simulation.scenarios.settings import is_consumer_setting
from simulation.scenarios.verbs import ACTIONS

#: Below these, keys are names that must be there already.
_NAMED: tuple[Path, ...] = (("groups",), ("cluster", "topics"))
_SETTINGS = "settings"
#: What may stand alone behind a key of the script, by that key.
_SHORT = {"on": On.short, **{verb: action.short for verb, action in ACTIONS.items()}}


def parse_override(text: str) -> tuple[str, Any]:
    """`path=value` as it is given to --set; the value is read as YAML."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise ValueError(f"must read like groups.checkout.static=true, not {text!r}")
    return path.strip(), parse_value(value)


def overridden(document: Document, path: str, value: object, asked: Change) -> Document:
    """The same document with another value at a path; `asked` says where that was asked for."""
    data, changes = deepcopy(document.data), list(document.changes)
    _spell_out(data)
    for place in _places(data, path):
        _put(data, place, deepcopy(value))
        changes.append(evolve(asked, place=place))
    return evolve(document, data=data, changes=tuple(changes))


def places_of(data: Any, path: str) -> list[Path]:  # noqa: ANN401 (plain data)
    """Where a path leads in a scenario's data, settings in snake case; nowhere if it is wrong."""
    spelled = deepcopy(data)
    _spell_out(spelled)
    try:
        return [_in_snake_case(place) for place in _places(spelled, path)]
    except Wrong:
        return []


def _in_snake_case(place: Path) -> Path:
    return tuple(
        str(step).replace(".", "_") if above == _SETTINGS else step
        for above, step in zip((None, *place), place, strict=False)
    )


def _spell_out(data: Any) -> None:  # noqa: ANN401 (plain data)
    """Write short forms as long ones, so that a path can lead to the keys that they leave out.

    `crash: ada` becomes `crash: {members: ada}`, and a list of members their names with details.
    """
    for entry in _mappings(data, "script"):
        for key, value in entry.items():
            short = _SHORT.get(key)
            if short and not isinstance(value, Mapping):
                entry[key] = {short: value}
    for group in _mappings(data, "groups"):
        members = group.get("members")
        if isinstance(members, list) and all(isinstance(name, str) for name in members):
            group["members"] = dict.fromkeys(members)


def _mappings(data: Any, key: str) -> list[dict[str, Any]]:  # noqa: ANN401 (plain data)
    """The mappings in a list or under names, as far as there are any."""
    found = data.get(key) if isinstance(data, Mapping) else None
    each = found.values() if isinstance(found, Mapping) else found
    return [one for one in each if isinstance(one, dict)] if isinstance(each, Iterable) else []


def _places(data: Any, path: str) -> list[Path]:  # noqa: ANN401 (plain data)
    """Where a path leads; the name of a setting or of what a group has leads to every group."""
    if not isinstance(data, Mapping):
        raise Wrong(f"found {shown(data)}", "must be a mapping")
    if path.partition(".")[0] == "variants":
        raise Wrong("found a path into variants", "must be one that they have in common")
    groups = data.get("groups")
    if not isinstance(groups, Mapping) or path in data:
        return [_place(data, path)]
    if is_consumer_setting(path):
        return [
            ("groups", group, *_place(inside, f"{_SETTINGS}.{path}"))
            for group, inside in groups.items()
        ]
    if path.partition(".")[0] in fields_dict(Group):
        return [("groups", group, *_place(inside, path)) for group, inside in groups.items()]
    return [_place(data, path)]


def _place(data: Any, path: str) -> Path:  # noqa: ANN401 (plain data)
    """The steps of a path; names with dots are found by what is there."""
    if not path.strip():
        raise Wrong(f"found {shown(path)}", "must be a path such as groups.checkout.static")
    place: list[str | int] = []
    here, rest = data, path
    while rest:
        step, rest = _next_step(here, tuple(place), rest)
        place.append(step)
        if isinstance(here, list):
            here = here[int(step)]
        else:
            here = here.get(step) if isinstance(here, Mapping) else None
    return tuple(place)


def _next_step(here: Any, place: Path, rest: str) -> tuple[str | int, str]:  # noqa: ANN401
    if place and place[-1] == _SETTINGS:
        return _setting_step(here, rest), ""
    if isinstance(here, list):
        step, _, after = rest.partition(".")
        if not step.isdigit() or int(step) >= len(here):
            raise Wrong(f"there is no place {shown(step)}", f"must be below {len(here)}")
        return int(step), after
    if here is not None and not isinstance(here, Mapping):
        raise Wrong(f"cannot go on to {shown(rest)}", f"here stands {shown(here)}")
    keys = [] if here is None else list(here)
    for key in sorted(keys, key=len, reverse=True):
        if rest == key or rest.startswith(f"{key}."):
            return key, rest[len(key) + 1 :]
    step, _, after = rest.partition(".")
    if after and place in _NAMED:
        raise unknown("name", step, keys)
    if not step:
        raise Wrong(f"found {shown(rest)}", "must be a path such as groups.checkout.static")
    return step, after


def _setting_step(here: Any, rest: str) -> str:  # noqa: ANN401 (plain data)
    """The key of a setting, as it is spelled there already."""
    known = list(here) if isinstance(here, Mapping) else []
    wanted = rest.replace(".", "_")
    return next((key for key in known if key.replace(".", "_") == wanted), wanted)


def _put(data: Any, place: Path, value: object) -> None:  # noqa: ANN401 (plain data)
    here = data
    for step in place[:-1]:
        if isinstance(here, list):
            here = here[int(step)]
            continue
        if here.get(step) is None:
            here[step] = {}
        here = here[step]
    here[place[-1]] = value
