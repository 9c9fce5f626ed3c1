"""Bounds: what a run, or a sweep of runs, is asked to keep. "sum(unowned_s) < 40", "lost == 0".

A bound names a measure, if need be with an aggregate over its values; over the runs of a sweep one
more aggregate stands around it: "p99(unowned_s) < 5", "mean(sum(unowned_s)) < 20".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from simulation.measures import AGGREGATES, MEASURES, Measures, Number, figure_of

_COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BOUND = re.compile(r"(?P<what>[^<>=!]+?)\s*(?P<comparison>[<>=!]+)\s*(?P<limit>\S.*)?")
_CALL = re.compile(r"(?P<name>\w+)\s*\(\s*(?P<inside>.*?)\s*\)")
#: One over the values of a run, one over the runs of a sweep.
_AGGREGATES_MAX = 2


@frozen
class Figure:
    """A measure and the aggregates around it, from the outside in."""

    aggregates: tuple[str, ...]
    measure: str

    @property
    def text(self) -> str:
        """As people write it."""
        return (
            "".join(f"{each}(" for each in self.aggregates)
            + self.measure
            + ")" * len(self.aggregates)
        )


@frozen
class Bound:
    """A measure, the aggregates around it from the outside in, and what the figure must be."""

    text: str
    aggregates: tuple[str, ...]
    measure: str
    comparison: str
    limit: Number

    @property
    def figure(self) -> Figure:
        """What is compared."""
        return Figure(self.aggregates, self.measure)

    def holds(self, figure: Number) -> bool:
        """Does this figure keep the bound?"""
        return _COMPARISONS[self.comparison](figure, self.limit)

    def figure_of_run(self, measures: Measures) -> Number:
        """What the bound looks at in one run."""
        if len(self.aggregates) > 1:
            raise ValueError(f"{self.text!r} has an aggregate over runs, and this is one run")
        if not self.aggregates:
            return measures.figure(self.measure)
        return figure_of(self.aggregates[0], measures.values(self.measure).values())

    def figure_of_runs(self, runs: Iterable[Measures]) -> Number:
        """What the bound looks at in a sweep: the outermost aggregate is over its runs."""
        if not self.aggregates:
            raise ValueError(f"{self.text!r} needs an aggregate over the runs, such as max(...)")
        outer, *inner = self.aggregates
        of_one = Bound(self.text, tuple(inner), self.measure, self.comparison, self.limit)
        return figure_of(outer, [of_one.figure_of_run(run) for run in runs])


def parse_bound(text: str) -> Bound:
    """A bound as people write it."""
    parts = _BOUND.fullmatch(text.strip())
    if parts is None or parts["limit"] is None:
        raise ValueError(f"a bound must read like 'sum(unowned_s) < 40', not {text!r}")
    comparison = parts["comparison"]
    if comparison not in _COMPARISONS:
        known = " ".join(_COMPARISONS)
        raise ValueError(f"a bound must compare by one of {known}, not {comparison!r} in {text!r}")
    aggregates, measure = _parse_figure(parts["what"].strip(), text)
    return Bound(text.strip(), aggregates, measure, comparison, _parse_limit(parts["limit"], text))


def parse_figure(text: str) -> Figure:
    """What a bound compares, by itself: "mean(detection_s)"."""
    return Figure(*_parse_figure(text.strip(), text))


def _parse_figure(what: str, text: str) -> tuple[tuple[str, ...], str]:
    aggregates: list[str] = []
    while (call := _CALL.fullmatch(what)) is not None:
        if call["name"] not in AGGREGATES:
            known = ", ".join(AGGREGATES)
            raise ValueError(
                f"an aggregate must be one of {known}, not {call['name']!r} in {text!r}"
            )
        aggregates.append(call["name"])
        what = call["inside"]
    if what not in MEASURES:
        known = ", ".join(MEASURES)
        raise ValueError(f"a bound must name one of {known}, not {what!r} in {text!r}")
    if len(aggregates) > _AGGREGATES_MAX:
        raise ValueError(f"a bound must have at most {_AGGREGATES_MAX} aggregates, not {text!r}")
    return tuple(aggregates), what


def _parse_limit(limit: str, text: str) -> Number:
    try:
        return int(limit)
    except ValueError:
        pass
    if re.fullmatch(r"-?\d*\.\d+|-?\d+\.\d*", limit) is None:
        raise ValueError(f"a bound must end in a number, not {limit!r} in {text!r}")
    return float(limit)
