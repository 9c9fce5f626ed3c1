"""Grids: a scenario in many settings. "session_timeout_ms=6s..45s:5" is an axis of one.

An axis has a path as `--set` takes it and the values to try there; a grid has every combination of
its axes' values, in every variant. `settings_of` tries each of them before anything is played.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from attrs import frozen

from simulation.durations import duration_text, milliseconds
from simulation.scenarios.documents import parse_value
from simulation.scenarios.limits import USUAL, Limits
from simulation.scenarios.mistakes import Mistake, ScenarioError
from simulation.scenarios.overrides import places_of
from simulation.scenarios.scenario import Scenario

AN_AXIS = "like members=10,50,100 or session_timeout_ms=6s..45s:5"
#: More would be a mistake rather than a wish.
VALUES_MAX = 1_000
#: A range has at least its ends.
_ENDS = 2

_RANGE = re.compile(r"(?P<low>[^.].*?)\s*\.\.\s*(?P<high>.+?)\s*(?::\s*(?P<count>\d{1,6})\s*)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_OPENING, _CLOSING = "[{", "]}"


@frozen
class Axis:
    """A path of a scenario and the values that are tried there, as people write them."""

    path: str
    texts: tuple[str, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values themselves."""
        return tuple(map(parse_value, self.texts))


@frozen(kw_only=True)
class Setting:
    """One combination: the scenario as it is played there, and what was chosen for it."""

    variant: str
    #: What is tried, by the axes' paths.
    chosen: Mapping[str, str]
    scenario: Scenario

    @property
    def text(self) -> str:
        """As people call it, apart from its variant."""
        return told(self.chosen)


def told(chosen: Mapping[str, str]) -> str:
    """What was chosen, in a line."""
    return ", ".join(f"{path}={value}" for path, value in chosen.items())


def parse_axis(text: str) -> Axis:
    """`PATH=VALUE,VALUE,...`; a value may be a range of so many, `LOW..HIGH:COUNT`."""
    path, equals, said = text.partition("=")
    if not equals or not path.strip() or not said.strip():
        raise ValueError(f"must read {AN_AXIS}, not {text!r}")
    texts = [each for part in _parts(said) for each in _texts(part, text)]
    if "" in texts:
        raise ValueError(f"must have a value between commas, not {text!r}")
    if len(texts) > VALUES_MAX:
        raise ValueError(f"must have at most {VALUES_MAX} values, not {len(texts)} as {text!r} has")
    for value in texts:
        if texts.count(value) > 1:
            raise ValueError(f"must have each value once, not {value} again in {text!r}")
        try:
            parse_value(value)
        except ScenarioError as error:
            raise ValueError(f"must have values in YAML; {value!r} is none") from error
    return Axis(path.strip(), tuple(texts))


def _parts(said: str) -> Iterator[str]:
    """What stands between commas; those in brackets part nothing."""
    depth, begun = 0, 0
    for place, sign in enumerate(said):
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign == "," and depth == 0:
            yield said[begun:place].strip()
            begun = place + 1
    yield said[begun:].strip()


def _texts(part: str, text: str) -> list[str]:
    ends = _RANGE.fullmatch(part)
    if ends is None:
        return [part]
    if ends["count"] is None:
        raise ValueError(f"must say how many values {part} has, like {part}:5, in {text!r}")
    count = int(ends["count"])
    if not _ENDS <= count <= VALUES_MAX:
        raise ValueError(
            f"a range must have {_ENDS} to {VALUES_MAX} values, not {count} as in {text!r}"
        )
    low, high = ends["low"], ends["high"]
    if _NUMBER.fullmatch(low) and _NUMBER.fullmatch(high):
        is_whole = "." not in low + high
        return [_number(each, is_whole=is_whole) for each in _even(low, high, count)]
    try:
        lengths = _even(milliseconds(low), milliseconds(high), count)
    except ValueError as error:
        raise ValueError(
            f"a range must go from number to number or from one length of time to another,"
            f" not {part!r} in {text!r}"
        ) from error
    return [duration_text(round(each)) for each in lengths]


def _even(low: str | int, high: str | int, count: int) -> list[Fraction]:
    first, last = Fraction(low), Fraction(high)
    if first >= last:
        raise ValueError(f"a range must rise, not go from {low} to {high}")
    return [first + (last - first) * n / (count - 1) for n in range(count)]


def _number(value: Fraction, *, is_whole: bool) -> str:
    return str(round(value)) if is_whole else f"{float(value):.6g}"


def settings_of(
    scenario: Scenario,
    axes: Sequence[Axis],
    *,
    allow_python: bool = False,
    limits: Limits = USUAL,
) -> tuple[Setting, ...]:
    """Every setting of a grid, variant by variant, the last axis changing fastest.

    Each of them can be played; otherwise a `ScenarioError` lists every mistake of all of them.
    """
    _refuse_twice(axes)
    _refuse_one_place(scenario, axes)
    found: dict[str, list[Setting]] = {name: [] for name in scenario.variant_names}
    wrong: dict[str, tuple[Mistake, list[str]]] = {}
    for values in product(*([*zip(axis.texts, axis.values, strict=True)] for axis in axes)):
        chosen = {axis.path: text for axis, (text, _) in zip(axes, values, strict=True)}
        changes = {axis.path: value for axis, (_, value) in zip(axes, values, strict=True)}
        try:
            changed = scenario.with_overrides(
                changes, called="--vary", allow_python=allow_python, limits=limits
            )
        except ScenarioError as error:
            for mistake in error.mistakes:
                wrong.setdefault(str(mistake), (mistake, []))[1].append(told(chosen))
            continue
        for name, of_variant in found.items():
            played = changed.variant(name, allow_python=allow_python, limits=limits)
            of_variant.append(Setting(variant=name, chosen=chosen, scenario=played))
    if wrong:
        raise ScenarioError([_placed(*each) for each in wrong.values()])
    return tuple(setting for each in found.values() for setting in each)


def _refuse_twice(axes: Iterable[Axis]) -> None:
    paths = [axis.path for axis in axes]
    for path in paths:
        if paths.count(path) > 1:
            raise ScenarioError(
                [Mistake(file=f"--vary {path}", found="given twice", allowed="must be given once")]
            )


def _refuse_one_place(scenario: Scenario, axes: Sequence[Axis]) -> None:
    """Refuse axes of which the later takes back what the earlier has put there."""
    data = scenario.to_dict()
    places = [(axis.path, places_of(data, axis.path)) for axis in axes]
    mistakes = [
        Mistake(
            file=f"--vary {path}, --vary {later}",
            found=f"both lead to {'.'.join(map(str, meeting[0]))}",
            allowed="choose one of them",
        )
        for (path, before), (later, after) in combinations(places, 2)
        if (meeting := [each for each in before if any(each[: len(it)] == it for it in after)])
    ]
    if mistakes:
        raise ScenarioError(mistakes)


def _placed(mistake: Mistake, settings: Sequence[str]) -> Mistake:
    """A mistake says in which settings it is one."""
    more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
    return Mistake(
        file=f"{mistake.file}: with {settings[0]}{more}" if settings[0] else mistake.file,
        line=mistake.line,
        path=mistake.path,
        found=mistake.found,
        allowed=mistake.allowed,
        nearest=mistake.nearest,
    )
