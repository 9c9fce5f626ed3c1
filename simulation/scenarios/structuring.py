"""Plain data to the values of a scenario and back, by cattrs; every mistake at once.

What cannot be read is taken out and the rest is read again, so that the mistakes behind the first
ones are found too.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar, get_origin

import attrs
from attrs import frozen
from cattrs import Converter
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from simulation.chance import Law
from simulation.scenarios import expectations, parts, settings, values
from simulation.scenarios.documents import Document
from simulation.scenarios.mistakes import (
    AllWrong,
    Mistake,
    Path,
    Wrong,
    shown,
    unknown,
)
from simulation.scenarios.script import Entry
from simulation.scenarios.verbs import ACTIONS

T = TypeVar("T")
_VERBS = {action: verb for verb, action in ACTIONS.items()}


@frozen(kw_only=True)
class Structured(Generic[T]):
    """What could be read of a document, and all mistakes in it."""

    value: T | None
    mistakes: list[Mistake]
    #: The document's data without what could not be read.
    data: Any

    def place_of(self, path: Path) -> Path:
        """A path into the value as one into the document, where lists may have more in them."""
        place: list[str | int] = []
        here = self.data
        for step in path:
            if isinstance(here, list) and isinstance(step, int):
                kept = [n for n, each in enumerate(here) if each is not SKIPPED]
                place.append(kept[step])
                here = here[kept[step]]
            else:
                place.append(step)
                here = here.get(step) if isinstance(here, Mapping) else None
        return tuple(place)


def structure(document: Document, wanted: type[T]) -> Structured[T]:
    """The value that a document describes as far as it can be read, and all mistakes in it."""
    mistakes: list[Mistake] = []
    blamed: list[Path] = []
    data = document.data
    while True:
        try:
            value = _CONVERTER.structure(data, wanted)
            return Structured(value=value, mistakes=mistakes, data=data)
        except Exception as error:  # noqa: BLE001 (cattrs wraps whatever a value raises)
            found = [((*path, *wrong.at), wrong) for path, wrong in _wrongs_of(error, ())]
        smaller = data
        for path, wrong in found:
            smaller = _without(smaller, path)
            # What is wrong around a value that was taken out is wrong because of that.
            if not any(each[: len(path)] == path for each in blamed):
                blamed.append(path)
                mistakes.append(document.mistake(path, wrong.found, wrong.allowed, wrong.nearest))
        if smaller == data or smaller is None:
            return Structured(value=None, mistakes=mistakes, data=data)
        data = smaller


def unstructure(value: object) -> Any:  # noqa: ANN401 (plain data)
    """The plain data of a value; what is as usual is left out."""
    return _CONVERTER.unstructure(value)


# --- what cattrs raises ---


def _wrongs_of(error: BaseException, path: Path) -> Iterator[tuple[Path, Wrong]]:
    """Everything that is wrong below a place."""
    if isinstance(error, ClassValidationError | IterableValidationError):
        noted, others = error.group_exceptions()
        for inner, note in noted:
            yield from _wrongs_of(inner, (*path, _step_of(note)))
        for inner in others:
            yield from _wrongs_of(inner, path)
    elif isinstance(error, AllWrong):
        for wrong in error.wrongs:
            yield path, wrong
    elif isinstance(error, ForbiddenExtraKeysError):
        known = list(_keys_of(error.cl))
        for key in sorted(error.extra_fields):
            yield path, unknown("key", key, known, at=(key,))
    elif isinstance(error, Wrong):
        yield path, error
    elif isinstance(error, KeyError):
        yield path, Wrong("found nothing", "must be given")
    else:
        yield path, Wrong(f"found what cannot be: {error}", "must be as documented")


def _step_of(note: AttributeValidationNote | IterableValidationNote) -> str | int:
    if isinstance(note, AttributeValidationNote):
        return _KEYS.get(note.name, str(note.name))
    return note.index if isinstance(note.index, int) else str(note.index)


def _without(data: Any, path: Path) -> Any:  # noqa: ANN401 (plain data)
    """The same without a value; a value that is not there takes what is around it with it."""
    if not path:
        return None
    *above, last = path
    around = data
    for step in above:
        try:
            around = around[step]
        except (KeyError, IndexError, TypeError):
            return _without(data, path[:-1])
    if isinstance(around, Mapping) and last in around:
        return _replaced(data, above, {key: each for key, each in around.items() if key != last})
    if isinstance(around, list) and isinstance(last, int) and last < len(around):
        # Places in the list are part of other paths, so the others stay where they are.
        return _replaced(data, above, [*around[:last], SKIPPED, *around[last + 1 :]])
    return _without(data, path[:-1])


def _replaced(data: Any, path: list[str | int], value: object) -> Any:  # noqa: ANN401 (plain data)
    if not path:
        return value
    step, *rest = path
    inner = _replaced(data[step], rest, value)
    if isinstance(data, Mapping):
        return {**data, step: inner}
    assert isinstance(step, int)
    return [*data[:step], inner, *data[step + 1 :]]


class _Skipped:
    """Stands in a list where a value was that could not be read."""


SKIPPED = _Skipped()

# --- how values are read ---

_KEYS: dict[str, str] = {
    each.name: each.metadata["key"]
    for owner in (Entry, parts.StallAt)
    for each in attrs.fields(owner)
    if each.metadata.get("key")
}


def keys_of(cl: type) -> dict[str, attrs.Attribute[Any]]:
    """The keys of a part in a file, each with its attribute."""
    return {each.metadata.get("key") or each.name: each for each in attrs.fields(cl)}


def _keys_of(cl: type) -> Iterator[str]:
    if cl is Entry:
        yield from (key for key in keys_of(cl) if key != "do")
        yield from ACTIONS
    else:
        yield from keys_of(cl)


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
            raise Wrong(f"found {shown(value)}", "must be a list")
        found, wrongs = [], []
        for n, each in enumerate(value):
            if each is SKIPPED:
                continue
            try:
                found.append(read(each, inner))
            except Exception as error:  # noqa: BLE001 (cattrs wraps whatever a value raises)
                wrongs += [_moved(path, wrong) for path, wrong in _wrongs_of(error, (n,))]
        if wrongs:
            raise AllWrong(wrongs)
        return tuple(found)

    return structured


def _moved(path: Path, wrong: Wrong) -> Wrong:
    return Wrong(wrong.found, wrong.allowed, nearest=wrong.nearest, at=(*path, *wrong.at))


def _mapping_hook(wanted: Any, converter: Converter) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    plain: Any = dict.__class_getitem__(wanted.__args__)
    usual = converter.get_structure_hook(plain)
    inner = wanted.__args__[1]
    has_parts = attrs.has(inner) or _is_mapping(inner)

    def structured(value: Any, _: object) -> Any:  # noqa: ANN401 (plain data)
        if not isinstance(value, Mapping):
            raise Wrong(f"found {shown(value)}", "must be a mapping of names")
        # A name with nothing behind it has all defaults.
        given = {key: {} if has_parts and each is None else each for key, each in value.items()}
        return usual(given, plain)

    return structured


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
            keys = ", ".join(_keys_of(cl))
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
            wrongs = _wrongs_of(error, ())
            named = [_moved(_with_verb(path, verbs[0]), wrong) for path, wrong in wrongs]
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
    by_name = Mapping[values.Name, parts.Members]

    def structured(value: Any, _: object) -> Any:  # noqa: ANN401 (plain data)
        if type(value) is int:
            return values.positive(value)
        if isinstance(value, list):
            names: Any = converter.structure(value, tuple[values.Name, ...])
            return dict.fromkeys(names, parts.Members())
        if isinstance(value, Mapping):
            return converter.structure(value, by_name)  # type: ignore[type-abstract]
        allowed = "must be a number, a list of names, or names with details"
        raise Wrong(f"found {shown(value)}", allowed)

    return structured


# --- how values are written ---


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
    return values.duration_text(value)


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
    roster = int | Mapping[values.Name, parts.Members]
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
        values.Ms: values.duration_text,
        values.SomeMs: values.duration_text,
        values.Rate: values.rate_text,
        values.Whom: _one_or_list,
        values.Brokers: _one_or_list,
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


_CONVERTER = _new_converter()
