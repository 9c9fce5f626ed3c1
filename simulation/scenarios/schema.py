"""The JSON Schema of scenario files, made from their parts, for editors.

`python -m simulation.scenarios.schema groupsim/scenario.schema.json` renews the shipped file. It
knows keys, kinds of values and words; what only a whole file can get wrong, `groupsim validate`
says.
"""

from __future__ import annotations

import json
import sys
import types
from collections import abc
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import define, field

from client.applications import CommitMode
from client.assignors import assignor_names
from client.membership import CloseOperation
from client.settings import WITHOUT_EFFECT, ConsumerConfig
from coordinator import GroupConfig
from simulation.chance import Law
from simulation.scenarios import parts, settings, values
from simulation.scenarios.expectations import AN_EXPECTATION, Expected
from simulation.scenarios.scenario import Scenario
from simulation.scenarios.script import KINDS, Entry
from simulation.scenarios.verbs import ACTIONS
from simulation.scenarios.whom import FORMS
from simulation.scenarios.wrongs import keys_of

Schema = dict[str, Any]

_DURATION = r"^\s*0\s*$|^\s*(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$"
_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$"


def json_schema() -> Schema:
    """The schema of a whole file."""
    making = _Making()
    body = making.part(Scenario)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of groupsim",
        **body,
        "$defs": dict(sorted(making.parts.items())),
    }


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _texts(*patterns: str, meaning: str) -> Schema:
    found: Schema = {"type": "string", "description": meaning}
    return {**found, "pattern": patterns[0]} if patterns else found


def _words(words: abc.Iterable[str]) -> Schema:
    return {"enum": list(words)}


def _one_or_more(inner: Schema) -> Schema:
    return {"anyOf": [inner, {"type": "array", "items": inner, "minItems": 1}]}


_A_DURATION: Schema = {
    "anyOf": [{"const": 0}, _texts(_DURATION, meaning=values.A_DURATION)],
}
_A_BROKER: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        _texts(r"^coordinator of \S+$", meaning="coordinator of GROUP"),
    ]
}

#: The schema of each value that is written in a form of its own.
_VALUES: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    values.Ms: _A_DURATION,
    values.SomeMs: _A_DURATION,
    values.Rate: {
        "anyOf": [{"const": 0}, _texts(r"^\s*\d+\s*/\s*[smh]\s*$", meaning=values.A_RATE)]
    },
    values.Name: _texts(_NAME, meaning=values.A_NAME),
    values.Count: {"type": "integer", "minimum": 1},
    values.Whole: {"type": "integer", "minimum": 0},
    values.Whom: _one_or_more(_texts(meaning=FORMS)),
    values.Brokers: _one_or_more(_A_BROKER),
    values.PerRecord: _texts(r"^\s*(at once|.+ per\s+record)\s*$", meaning=values.A_PER_RECORD),
    values.Every: _texts(r"^\s*(about )?\s*(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$", meaning="how often"),
    values.Close: _words(map(str.lower, CloseOperation.ALL)),
    values.Kind: _words(KINDS),
    values.PythonName: _texts(r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", meaning="module:name"),
    CommitMode: _words(mode.value for mode in CommitMode),
    Law: {
        "anyOf": [
            _texts(meaning=values.A_LATENCY),
            {"type": "array", "items": _A_DURATION, "minItems": 1},
        ]
    },
    parts.Start: {"anyOf": [{"const": parts.BY_SCRIPT}, _A_DURATION]},
    Expected: _texts(meaning=AN_EXPECTATION),
}


@define(eq=False)
class _Making:
    """Schemas under way; every part of a scenario is defined once."""

    parts: dict[str, Schema] = field(factory=dict)

    def part(self, cl: type) -> Schema:
        """The schema of a part's mapping."""
        hints = get_type_hints(cl)
        found = {
            key: {**self.of(hints[each.name]), "description": each.metadata["meaning"]}
            for key, each in keys_of(cl).items()
            if key != "do"
        }
        needed = [key for key, each in keys_of(cl).items() if each.default is attrs.NOTHING]
        schema: Schema = {
            "type": "object",
            "description": _first_line(cl),
            "properties": found,
            "additionalProperties": False,
        }
        if cl is Entry:
            for verb, action in ACTIONS.items():
                found[verb] = {**self.of(action), "description": _first_line(action)}
            schema["oneOf"] = [{"required": [verb]} for verb in ACTIONS]
        elif needed:
            schema["required"] = needed
        return schema

    def of(self, wanted: Any) -> Schema:  # noqa: ANN401 (any type)
        """The schema of a type."""
        if wanted in _VALUES:
            return _VALUES[wanted]
        for is_so, make in self._kinds():
            if is_so(wanted):
                return make(wanted)
        return {}

    def _kinds(self) -> tuple[tuple[Callable[[Any], bool], Callable[[Any], Schema]], ...]:
        return (
            (
                lambda each: each is settings.ConsumerSettings,
                lambda _: self._settings_of_consumers(),
            ),
            (lambda each: each is settings.BrokerSettings, lambda _: self._settings_of_brokers()),
            (lambda each: isinstance(each, type) and issubclass(each, Enum), _enum),
            (attrs.has, self._defined),
            (lambda each: get_origin(each) is tuple, self._list),
            (lambda each: get_origin(each) is abc.Mapping, self._mapping),
            (lambda each: get_origin(each) in (Union, types.UnionType), self._union),
        )

    def _defined(self, cl: type) -> Schema:
        name = cl.__name__ if cl not in ACTIONS.values() else f"action {cl.__name__}"
        if name not in self.parts:
            self.parts[name] = {}  # Its place, for parts that contain one another.
            mapping = self.part(cl)
            short = getattr(cl, "short", "")
            if short:
                hint = get_type_hints(cl)[short]
                mapping = {"anyOf": [self.of(hint), mapping]}
            self.parts[name] = mapping
        return {"$ref": f"#/$defs/{name.replace(' ', '%20')}"}

    def _list(self, wanted: Any) -> Schema:  # noqa: ANN401 (any type)
        inner = get_args(wanted)[0]
        found: Schema = {"type": "array", "items": self.of(inner)}
        return found if attrs.has(inner) else {"anyOf": [self.of(inner), found]}

    def _mapping(self, wanted: Any) -> Schema:  # noqa: ANN401 (any type)
        inner = get_args(wanted)[1]
        if inner is Any:
            return {"type": "object"}
        may_be_empty = {"anyOf": [{"type": "null"}, self.of(inner)]}
        return {
            "type": "object",
            "propertyNames": {"pattern": _NAME},
            "additionalProperties": may_be_empty,
        }

    def _union(self, wanted: Any) -> Schema:  # noqa: ANN401 (any type)
        members = [each for each in get_args(wanted) if each is not type(None)]
        schemas = [self.of(each) for each in members]
        if len(schemas) == 1:
            return schemas[0]
        # Members of a group: a number, names with details, or a list of names.
        names: Schema = {"type": "array", "items": self.of(values.Name)}
        return {"anyOf": [*schemas, names]}

    def _settings_of_consumers(self) -> Schema:
        found = _settings(ConsumerConfig)
        found |= {name: {} for name in sorted(WITHOUT_EFFECT)}
        found[settings.ASSIGNORS] = _one_or_more(
            {"anyOf": [_words(assignor_names()), _texts(meaning="module:name, or Kafka's class")]}
        )
        return self._named("consumer settings", found, (r"^s(sl|asl)[._]",))

    def _settings_of_brokers(self) -> Schema:
        return self._named("broker settings", _settings(GroupConfig), ())

    def _named(self, name: str, found: Mapping[str, Schema], also: tuple[str, ...]) -> Schema:
        """Settings in snake case and dotted."""
        dotted = {key.replace("_", "."): schema for key, schema in found.items()}
        self.parts[name] = {
            "type": "object",
            "properties": {**found, **dotted},
            "patternProperties": {pattern: {} for pattern in also},
            "additionalProperties": False,
        }
        return {"$ref": f"#/$defs/{name.replace(' ', '%20')}"}


def _settings(config: type) -> dict[str, Schema]:
    return {each.name: _setting(each) for each in attrs.fields(config) if each.init}


def _setting(each: attrs.Attribute[Any]) -> Schema:
    kind = str(each.type)
    if kind == "int" and each.name.endswith("_ms"):
        return {"anyOf": [{"type": "integer"}, _texts(_DURATION, meaning=values.A_DURATION)]}
    if kind == "int":
        return {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^-?\d+$"}]}
    if kind == "bool":
        return {"enum": [True, False, "true", "false"]}
    return {}


def _enum(wanted: type[Enum]) -> Schema:
    return _words(each.value for each in wanted)


def _first_line(cl: type) -> str:
    return (cl.__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
