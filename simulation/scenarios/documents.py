"""YAML to plain data and back, with the line of every value; the only module that reads YAML.

Only PyYAML's safe parts are used, and less than they allow: no tags, no repeated keys, no merges,
and `yes`, `on` or `1:30` are texts, as in YAML 1.2. Aliases are followed up to a bound, so that a
small file cannot become a large one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml
from attrs import define, field, frozen

from simulation.scenarios.limits import Limits
from simulation.scenarios.mistakes import Mistake, Path, ScenarioError, path_text, shown
from simulation.scenarios.syntax import deep_line, trouble_of

_PREFIX = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)*")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?")
#: Of what kind a plain scalar is, by what it looks like; anything else is a text.
_LOOKS = (
    (f"{_PREFIX}null", re.compile(r"~|null|"), ("~", "n", "")),
    (f"{_PREFIX}bool", re.compile(r"true|false"), ("t", "f")),
    (f"{_PREFIX}int", _INT, tuple("-+0123456789")),
    (f"{_PREFIX}float", _FLOAT, tuple("-+.0123456789")),
)
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_DIGITS_MAX = 30
_MERGE = "<<"
_ODD_BREAKS = re.compile("[\r\x85\u2028\u2029]")


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the plain scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own shape)


class _Dumper(yaml.SafeDumper):
    """Its counterpart, which quotes what the loader would not take for a text."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own shape)

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Quote what PyYAML would write as a line break and read as another one."""
        style = '"' if _ODD_BREAKS.search(text) else None
        return self.represent_scalar(f"{_PREFIX}str", text, style=style)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (PyYAML's own signature)
        """Write everything out."""
        return True


_Dumper.add_representer(str, _Dumper.represent_text)
for _tag, _look, _first in _LOOKS:
    _pattern = re.compile(f"(?:{_look.pattern})$")
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, _pattern, list(_first))


@frozen
class Change:
    """Another value at a place, and where it was asked for."""

    place: Path
    file: str
    #: Where it stands in that file; empty if `file` says it all.
    path: Path = ()
    line: int | None = None

    def told(self, path: Path) -> str:
        """The place of a mistake that it led to, so that whoever asked for the change finds it."""
        if not self.path:
            return path_text(path)
        if path[: len(self.place)] == self.place:
            return path_text((*self.path, *path[len(self.place) :]))
        return f"{path_text(self.path)}: {path_text(path)}"


@frozen
class Document:
    """Plain data, and the line of each value by its path."""

    file: str
    data: Any
    lines: Mapping[Path, int] = field(factory=dict)
    #: What was changed in it last: whatever is wrong now was right before.
    changes: tuple[Change, ...] = ()

    def line_of(self, path: Path) -> int | None:
        """The line of a value, or of the nearest one around it that has a line."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def mistake(self, path: Path, found: str, allowed: str, nearest: str = "") -> Mistake:
        """A mistake at a place of this document, or of the change that led to it."""
        change = self._change_behind(path)
        return Mistake(
            file=self.file if change is None else change.file,
            line=self.line_of(path) if change is None else change.line,
            path=path_text(path) if change is None else change.told(path),
            found=found,
            allowed=allowed,
            nearest=nearest,
            place=path,
        )

    def _change_behind(self, path: Path) -> Change | None:
        """The change that a mistake is in; else one within its place; else the last."""
        for each in reversed(self.changes):
            if path[: len(each.place)] == each.place:
                return each
        for each in self.changes:
            if each.place[: len(path)] == path:
                return each
        return self.changes[-1] if self.changes else None


def parse(text: str, file: str, limits: Limits) -> Document:
    """The document of a text; what is no YAML, or too much, is refused with its line."""
    if len(text) > limits.file_bytes:
        raise _refusal(file, None, f"found {len(text)} characters", _at_most(limits.file_bytes))
    try:
        node = yaml.compose(text, _Loader)
    except yaml.MarkedYAMLError as error:
        raise _refusal(file, *trouble_of(error)) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _refusal(file, line, "found a control character", "must be YAML") from error
    except (RecursionError, ValueError) as error:
        raise _too_deep(text, file) from error
    if node is None:
        raise _refusal(file, 1, "found nothing", "must be a scenario")
    building = _Building(file, limits)
    try:
        data = building.value_of(node, ())
    except RecursionError as error:
        raise _too_deep(text, file) from error
    if building.mistakes:
        raise ScenarioError(building.mistakes)
    return Document(file, data, building.lines)


def _too_deep(text: str, file: str) -> ScenarioError:
    found = "found values nested too deeply"
    return _refusal(file, deep_line(text), found, "must be as flat as a scenario is")


def parse_value(text: str) -> Any:  # noqa: ANN401 (whatever was written)
    """A single value, as `--set path=value` gives it."""
    return parse(text, "value", Limits()).data if text.strip() else ""


def write(data: object) -> str:
    """Plain data as YAML, in the order it has."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


@define(eq=False)
class _Building:
    """Turns nodes into values and keeps their lines."""

    file: str
    limits: Limits
    lines: dict[Path, int] = field(factory=dict)
    mistakes: list[Mistake] = field(factory=list)
    _count: int = 0
    _above: set[int] = field(factory=set)

    def value_of(self, node: yaml.Node, path: Path) -> Any:  # noqa: ANN401 (whatever was written)
        """What a node says, all aliases followed."""
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._count += 1
        if self._count > self.limits.nodes:
            found = "found more values than that, once aliases are followed"
            raise _refusal(self.file, line, found, _at_most(self.limits.nodes, "values"))
        if id(node) in self._above:
            self._complain(line, path, "found a value that contains itself", "must be finite")
            return None
        self._above.add(id(node))
        value = self._inside(node, path, line)
        self._above.discard(id(node))
        return value

    def _inside(self, node: yaml.Node, path: Path, line: int) -> Any:  # noqa: ANN401 (the same)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_PREFIX}map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_PREFIX}seq":
            return [self.value_of(each, (*path, n)) for n, each in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag.startswith(_PREFIX):
            return self._scalar(node, path, line)
        self._complain(line, path, f"found the tag {node.tag}", "must be plain, without tags")
        return None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._complain(line, path, "found a key that is no text", "must have texts as keys")
                continue
            key = key_node.value
            if key == _MERGE and key_node.style is None:
                self._complain(
                    line,
                    (*path, key),
                    "found a merge of keys, which is not followed",
                    "must be written out, or be a variant",
                )
                continue
            if key in found:
                self._complain(
                    line, (*path, key), f"found {shown(key)} twice", "must be there once"
                )
                continue
            self.lines[*path, key] = line
            found[key] = self.value_of(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.ScalarNode, path: Path, line: int) -> Any:  # noqa: ANN401 (the same)
        kind, text = node.tag.removeprefix(_PREFIX), node.value
        if kind == "str":
            return text
        if kind in ("null", "bool") and text in _CONSTANTS:
            return _CONSTANTS[text]
        if kind in ("int", "float") and len(text) > _DIGITS_MAX:
            self._complain(line, path, "found a number with too many digits", "must be shorter")
            return None
        if kind == "int" and _INT.fullmatch(text):
            return int(text)
        if kind == "float" and _FLOAT.fullmatch(text):
            return float(text)
        self._complain(line, path, f"found the tag {node.tag}", "must be plain, without tags")
        return None

    def _complain(self, line: int, path: Path, found: str, allowed: str) -> None:
        self.mistakes.append(
            Mistake(file=self.file, line=line, path=path_text(path), found=found, allowed=allowed)
        )


def _refusal(file: str, line: int | None, found: str, allowed: str) -> ScenarioError:
    return ScenarioError([Mistake(file=file, line=line, found=found, allowed=allowed)])


def _at_most(most: int, what: str = "bytes") -> str:
    return f"must have at most {most} {what}"
