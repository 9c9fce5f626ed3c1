"""What can be asked of a sweep's results, read from the command line with all mistakes at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from attrs import asdict, frozen

from simulation.bounds import Bound, Figure, parse_bound, parse_figure
from simulation.errors import SimulationError
from simulation.scenarios.mistakes import Mistake, ScenarioError, shown

Parsed = TypeVar("Parsed")

_ASKED_FILE = "asked.json"
#: What is held against each other if nobody says otherwise.
USUAL_LINES = ("unowned_s,detection_s", "duplicates,commits_per_s")


@frozen(kw_only=True)
class Asked:
    """The questions as they were given."""

    recommend: Sequence[str] = ()
    minimize: str | None = None
    gates: Sequence[str] = ()
    lines: Sequence[str] = ()
    measures: Sequence[str] = ()


def remember(asked: Asked, folder: Path) -> None:
    """Keep the questions beside the results, so that a page can answer them."""
    (folder / _ASKED_FILE).write_text(json.dumps(asdict(asked), indent=2) + "\n", encoding="utf-8")


def remembered(folder: Path) -> Asked:
    """What a sweep was asked last, if anything."""
    file = folder / _ASKED_FILE
    if not file.exists():
        return Asked()
    try:
        return Asked(**json.loads(file.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise SimulationError(f"{file} holds no questions ({error}): delete it") from error


@frozen(kw_only=True)
class Questions:
    """The same, understood."""

    bounds: tuple[Bound, ...]
    goal: Figure | None
    gates: tuple[Bound, ...]
    lines: tuple[tuple[Figure, Figure], ...]
    #: What to tell of the runs of each setting.
    measures: tuple[Figure, ...]


def understood(asked: Asked) -> Questions:
    """The questions, if all of them can be asked."""
    mistakes: list[Mistake] = []

    def read(flag: str, texts: Sequence[str], parse: Callable[[str], Parsed]) -> list[Parsed]:
        return list(all_read(flag, texts, parse, mistakes))

    bounds = read("--recommend", asked.recommend, _bound)
    goals = read("--minimize", [] if asked.minimize is None else [asked.minimize], _over_runs)
    gates = read("--gate", asked.gates, _bound)
    lines = read("--pareto", asked.lines or USUAL_LINES, _line)
    measures = read("--measure", asked.measures, _of_run)
    if goals and not asked.recommend:
        mistakes.append(
            Mistake(
                file="--minimize",
                found="found it alone",
                allowed="must stand beside --recommend, which says what has to hold",
            )
        )
    if mistakes:
        raise ScenarioError(mistakes)
    named = [*(bound.figure for bound in (*bounds, *gates)), *goals]
    compared = [figure for line in lines for figure in line]
    shown_by_itself = measures or [Figure(each.aggregates[1:], each.measure) for each in compared]
    asked_about = [Figure(each.aggregates[1:], each.measure) for each in named]
    return Questions(
        bounds=tuple(bounds),
        goal=goals[0] if goals else None,
        gates=tuple(gates),
        lines=tuple(lines),
        measures=tuple(dict.fromkeys([*shown_by_itself, *asked_about])),
    )


def all_read(
    flag: str, texts: Sequence[str], parse: Callable[[str], Parsed], mistakes: list[Mistake]
) -> Iterator[Parsed]:
    """What can be read of these; what cannot is added to the mistakes."""
    for text in texts:
        try:
            yield parse(text)
        except ValueError as error:
            mistakes.append(Mistake(file=flag, found=f"found {shown(text)}", allowed=str(error)))


def _bound(text: str) -> Bound:
    bound = parse_bound(text)
    _require_over_runs(bound.figure)
    return bound


def _over_runs(text: str) -> Figure:
    figure = parse_figure(text)
    _require_over_runs(figure)
    return figure


def _require_over_runs(figure: Figure) -> None:
    if not figure.aggregates:
        raise ValueError(f"must have an aggregate over the runs, such as p99({figure.measure})")


def _of_run(text: str) -> Figure:
    figure = parse_figure(text)
    if len(figure.aggregates) > 1:
        raise ValueError("must be a figure of one run, such as sum(unowned_s)")
    return figure


def _line(text: str) -> tuple[Figure, Figure]:
    """`FIGURE,FIGURE`; a measure alone stands for its mean over the runs."""
    across, comma, up = text.partition(",")
    if not comma or "," in up:
        raise ValueError("must be two figures, like unowned_s,detection_s")
    return _or_mean(across), _or_mean(up)


def _or_mean(text: str) -> Figure:
    figure = parse_figure(text)
    return figure if figure.aggregates else Figure(("mean",), figure.measure)
