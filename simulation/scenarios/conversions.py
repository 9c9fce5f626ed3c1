"""How each value of a scenario is read from plain data and written as it: the hooks of cattrs."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_origin

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from client.applications import CommitMode
from simulation.chance import Law
from simulation.durations import duration_text
from simulation.scenarios import expectations, parts, settings, values
from simulation.scenarios.mistakes import AllWrong, Path, Wrong, shown, unknown
from simulation.scenarios.script import Entry, kind_of_event
from simulation.scenarios.verbs import ACTIONS
from simulation.scenarios.wrongs import all_keys_of, keys_of, moved, wrongs_of

_VERBS = {action: verb for verb, action in ACTIONS.items()}


class _Skipped:
    """Stands in a list where a value was that could not be read."""


SKIPPED = _Skipped()


# --- reading ---


def _text(value: object, _: object) -> str:
    if not isinstance(value, str):
        raise Wrong(f"found {shown(value)}", "must be a text")
    return value


def _flag(value: object, _: object) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"found {shown(value)}", "must be true or false")
    return value


def _whole_number(value: object, _: object) -> int:
    if type(value) is not int:
        raise Wrong(f"found {shown(value)}", "must be a whole number")
    return value


def _written_duration(read: Callable[[Any], int]) -> Callable[[Any, object], int]:
    """In a file a length of time has a unit; only 0 needs none."""

    def structured(value: object, _: object) -> int:
        if value != 0 and not isinstance(value, str):
            raise Wrong(f"found {shown(value)}", f"must be {values.A_DURATION}")
        if isinstance(value, str) and value.strip().isdigit() and value.strip() != "0":
            raise Wrong(f"found {shown(value)}", f"must be {values.A_DURATION}")
        return read(value)

    return structured


def _written_rate(value: object, _: object) -> Any:  # noqa: ANN401 (a NewType)
    if value != 0 and not isinstance(value, str):
        raise Wrong(f"found {shown(value)}", f"must be {values.A_RATE}")
    return values.rate(value)


def _by(read: Callable[[Any], object]) -> Callable[[Any, object], object]:
    def structured(value: object, _: object) -> object:
        return read(value)

    return structured


def _enum(value: object, words: type[Enum]) -> Enum:
    known = [each.value for each in words]
    if value not in known:
        raise unknown("word", str(value), known)
    return words(value)


def _list_hook(wanted: Any, converter: Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    """A list; a text or a mapping that stands alone is a list of one."""
    inner = wanted.__args__[0]
    read = converter.get_structure_hook(inner)

    def structured(value: Any, _: object) -> Any:  # noqa: ANN401 (plain data)
        if isinstance(value, str) and not attrs.has(inner):
            value = [value]
        if not isinstance(value, list | tuple):
            allowed = "must be a list" if attrs.has(inner) else "must be a text or a list"
            raise Wrong(f"found {shown(value)}", allowed)
        found, wrongs = [], []
        for n, each in enumerate(value):
            if each is SKIPPED:
                continue
            try:
                found.append(read(each, inner))
            except Exception as error:  # noqa: BLE001 (cattrs wraps whatever a value raises)
                wrongs += [moved(path, wrong) for path, wrong in wrongs_of(error, (n,))]
        if wrongs:
            raise AllWrong(wrongs)
        return tuple(found)

    return structured


def _mapping_hook(wanted: Any, converter: Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    """Parts by their names; a name with nothing behind it has all defaults."""
    plain: Any = dict.__class_getitem__(wanted.__args__)
    usual = converter.get_structure_hook(plain)
    inner = wanted.__args__[1]
    has_parts = attrs.has(inner) or _is_mapping(inner)

    def structured(value: Any, _: object) -> Any:  # noqa: ANN401 (plain data)
        if not isinstance(value, Mapping):
            raise Wrong(f"found {shown(value)}", "must be a mapping of names")
        if not has_parts:
            return usual(value, plain)
        wrongs = [wrong for key in value for wrong in _wrong_names(key)]
        given = {key: {} if each is None else each for key, each in value.items()}
        found: Any = None
        try:
            found = usual(given, plain)
        except Exception as error:  # noqa: BLE001 (cattrs wraps whatever a value raises)
            wrongs += [moved(path, wrong) for path, wrong in wrongs_of(error, ())]
        if wrongs:
            raise AllWrong(wrongs)
        return found

    return structured


def _wrong_names(key: str) -> list[Wrong]:
    try:
        values.name(key)
    except Wrong as wrong:
        return [Wrong(wrong.found, wrong.allowed, at=(key,))]
    return []


def _class_hook(cl: type, converter: Converter) -> Callable[[Any, Any], Any]:
    """A part of a scenario; with a `short` key, its value may stand for the whole."""
    renamed = _overrides(cl)
    usual: Callable[[Any, Any], Any] = make_dict_structure_fn(
        cl, converter, _cattrs_forbid_extra_keys=True, **renamed
    )
    short = getattr(cl, "short", "")

    def structured(value: Any, _: object) -> Any:  # noqa: ANN401 (plain data)
        given = {short: value} if short and not isinstance(value, Mapping) else value
        if not isinstance(given, Mapping):
            keys = ", ".join(all_keys_of(cl))
            raise Wrong(f"found {shown(value)}", f"must be a mapping with some of {keys}")
        return usual(given, cl)

    return structured


def _overrides(cl: type) -> dict[str, Any]:
    """For cattrs: the attributes whose keys in a file have other names."""
    return {
        each.name: override(rename=key) for key, each in keys_of(cl).items() if key != each.name
    }


def _entry_hook(_: object, converter: Converter) -> Callable[[Any, Any], Any]:
    """An entry of the script; its action stands under its own verb."""
    hooks = {
        verb: make_dict_structure_fn(
            Entry,
            converter,
            _cattrs_forbid_extra_keys=True,
            do=override(rename=verb, struct_hook=converter.get_structure_hook(action)),
            **_overrides(Entry),
        )
        for verb, action in ACTIONS.items()
    }

    def structured(value: Any, _: object) -> Entry:  # noqa: ANN401 (plain data)
        if not isinstance(value, Mapping):
            raise Wrong(f"found {shown(value)}", "must be a mapping: when, and an action")
        verbs = [key for key in value if key in ACTIONS]
        if len(verbs) > 1:
            raise Wrong(f"found {' and '.join(verbs)}", "must have one action; make two entries")
        if not verbs:
            raise _no_action(value)
        try:
            return hooks[verbs[0]](value, Entry)
        except Exception as error:
            wrongs = wrongs_of(error, ())
            named = [moved(_with_verb(path, verbs[0]), wrong) for path, wrong in wrongs]
            raise AllWrong(named) from error

    return structured


def _with_verb(path: Path, verb: str) -> Path:
    return (verb, *path[1:]) if path[:1] == ("do",) else path


def _no_action(value: Mapping[str, Any]) -> Wrong:
    """The key that was meant for an action is the one that is nothing else."""
    odd = [key for key in value if key not in keys_of(Entry)]
    if odd:
        return unknown("action", odd[0], ACTIONS, at=(odd[0],))
    return Wrong("found no action", f"must have one of {', '.join(ACTIONS)}")


def _members(converter: Converter) -> Callable[[Any, object], Any]:
    by_name = Mapping[str, parts.Members]

    def structured(value: Any, _: object) -> Any:  # noqa: ANN401 (plain data)
        if type(value) is int:
            return values.positive(value)
        if isinstance(value, list):
            names: Any = converter.structure(value, tuple[values.Name, ...])
            return parts.members_named(names)
        if isinstance(value, Mapping):
            return converter.structure(value, by_name)  # type: ignore[type-abstract]
        allowed = "must be a whole number, a list of names, or names with details"
        raise Wrong(f"found {shown(value)}", allowed)

    return structured


# --- writing ---


def _entry_written(converter: Converter) -> Callable[[Entry], dict[str, Any]]:
    def written(entry: Entry) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, each in keys_of(Entry).items():
            value = getattr(entry, each.name)
            if key == "do":
                found[_VERBS[type(value)]] = converter.unstructure(value)
            elif value != each.default:
                found[key] = _when_written(key, value, converter)
        return found

    return written


def _when_written(key: str, value: Any, converter: Converter) -> Any:  # noqa: ANN401 (plain data)
    if key in ("on", "every"):
        return converter.unstructure(value)
    return duration_text(value)


def _class_written(cl: type, converter: Converter) -> Callable[[Any], Any]:
    renamed = _overrides(cl)
    usual: Callable[[Any], Any] = make_dict_unstructure_fn(
        cl, converter, _cattrs_omit_if_default=True, **renamed
    )
    short = getattr(cl, "short", "")

    def written(value: Any) -> Any:  # noqa: ANN401 (plain data)
        found = usual(value)
        if short and list(found) == [short]:
            return found[short]
        return {key: found[key] for key in keys_of(cl) if key in found}

    return written


def _members_written(converter: Converter) -> Callable[[Any], Any]:
    def written(members: Any) -> Any:  # noqa: ANN401 (plain data)
        if isinstance(members, int):
            return members
        if all(each == parts.Members() for each in members.values()):
            return list(members)
        return {name: converter.unstructure(each) for name, each in members.items()}

    return written


def _one_or_list(value: tuple[Any, ...]) -> Any:  # noqa: ANN401 (plain data)
    return value[0] if len(value) == 1 else list(value)


def _new_converter() -> Converter:
    converter = Converter(
        forbid_extra_keys=True, omit_if_default=True, prefer_attrib_converters=False
    )
    roster = int | Mapping[str, parts.Members]
    read: dict[Any, Callable[[Any, Any], Any]] = {
        str: _text,
        bool: _flag,
        int: _whole_number,
        values.Ms: _written_duration(values.duration),
        values.SomeMs: _written_duration(values.some_time),
        values.Rate: _written_rate,
        values.Name: _by(values.name),
        values.Count: _by(values.positive),
        values.Whole: _by(values.whole),
        values.Whom: _by(values.whom),
        values.Brokers: _by(values.brokers),
        values.PerRecord: _by(values.per_record),
        values.Close: _by(parts.close_operation),
        values.Kind: _by(kind_of_event),
        values.PythonName: _by(parts.python_name),
        CommitMode: _by(parts.commit_mode),
        values.Every: _written_duration(values.every),  # type: ignore[arg-type]
        Law: _by(values.latency),
        expectations.Expected: _by(expectations.expected),
        parts.Start: _written_duration(parts.start),  # type: ignore[arg-type]
        settings.ConsumerSettings: _by(settings.consumer_settings),
        settings.BrokerSettings: _by(settings.broker_settings),
    }
    converter.register_structure_hook_factory(attrs.has, _class_hook)
    converter.register_structure_hook_factory(_is_tuple, _list_hook)
    converter.register_structure_hook_factory(_is_mapping, _mapping_hook)
    converter.register_structure_hook_factory(lambda cl: cl is Entry, _entry_hook)
    converter.register_structure_hook_func(lambda cl: cl == roster, _members(converter))
    converter.register_structure_hook_func(_is_enum, _enum)
    for kind, hook in read.items():
        converter.register_structure_hook(kind, hook)

    write: dict[Any, Callable[[Any], Any]] = {
        values.Ms: duration_text,
        values.SomeMs: duration_text,
        values.Rate: values.rate_text,
        values.Whom: _one_or_list,
        values.Brokers: _one_or_list,
        values.Close: str.lower,
        Law: values.latency_text,
        settings.ConsumerSettings: settings.settings_texts,
        settings.BrokerSettings: settings.settings_texts,
    }
    converter.register_unstructure_hook_factory(attrs.has, _class_written)
    converter.register_unstructure_hook_func(_is_tuple, _list_written(converter))
    converter.register_unstructure_hook_func(lambda cl: cl == roster, _members_written(converter))
    converter.register_unstructure_hook(Entry, _entry_written(converter))
    for kind in (values.PerRecord, values.Every, parts.Start):
        converter.register_unstructure_hook(kind, lambda value: value.text)
    for kind, hook_out in write.items():
        converter.register_unstructure_hook(kind, hook_out)
    return converter


def _list_written(converter: Converter) -> Callable[[Any], Any]:
    return lambda value: [converter.unstructure(each) for each in value]


def _is_tuple(cl: Any) -> bool:  # noqa: ANN401 (any type)
    return get_origin(cl) is tuple


def _is_mapping(cl: Any) -> bool:  # noqa: ANN401 (any type)
    return get_origin(cl) is abc.Mapping


def _is_enum(cl: Any) -> bool:  # noqa: ANN401 (any type)
    return isinstance(cl, type) and issubclass(cl, Enum)


CONVERTER = _new_converter()
