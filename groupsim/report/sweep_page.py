"""The page of a sweep as one HTML file: no script, nothing to fetch; its charts are SVG.

What it tells has been asked of Spark already (commands/sweep_answers.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from groupsim.commands.sweep_summary import STATISTICS, brief, figures_by_setting, interval
from groupsim.report.page import file_of, template
from groupsim.report.pictures import as_svg
from groupsim.report.sweep_charts import (
    BETWEEN,
    called,
    distributions_chart,
    heat_map,
    known_of,
    lines_worth_drawing,
    names_of,
    pareto_chart,
    sweep_picture,
)
from simulation.sentences import counted

__all__ = ["picture_of", "sweep_page"]

Row = Mapping[str, Any]
#: Of more measures than this, the first are said at once.
_SAID_MAX = 3


def sweep_page(answer: Row) -> str:
    """The page about these answers."""
    found = figures_by_setting(answer)
    return template("sweep.html.jinja").render(
        title=answer["title"] or answer["scenario"],
        question=answer["question"],
        headline=list(_headline(answer)),
        meta=(
            f"{counted(answer['settings'], 'setting')}, {counted(answer['seeds'], 'seed')} each:"
            f" {answer['runs_kept']:,} of {answer['runs']:,} runs"
        ),
        gates=answer["gates"],
        failures=answer["failures"],
        parts=_parts(answer, list(found.differing)),
        tables=[
            (measure, [_cells(answer, rows) for rows in zip(*of_settings, strict=True)])
            for measure, of_settings in found.differing.items()
        ],
        names=names_of(answer),
        alike=found.alike,
        css=file_of("page.css"),
    )


def picture_of(answer: Row) -> dict[str, Any]:
    """One picture of what differs between the settings."""
    return sweep_picture(answer, list(figures_by_setting(answer).differing))


def _headline(answer: Row) -> list[str]:
    advice = answer["recommendation"]
    said = list(_extremes(answer)) if advice is None else [advice["sentence"]]
    if answer["failed"]:
        said.append(f"{counted(answer['failed'], 'run')} failed")
    return said


def _extremes(answer: Row) -> Iterator[str]:
    """Which settings have least and most of what differs: the answer where nobody asked for one."""
    names = names_of(answer)
    for measure in list(figures_by_setting(answer).differing)[:_SAID_MAX]:
        rows = [
            row
            for row in answer["estimates"]
            if row["figure"] == _mean(measure) and row["estimate"] is not None
        ]
        least, most = (pick(rows, key=lambda row: row["estimate"]) for pick in (min, max))
        if least["estimate"] == most["estimate"]:
            continue  # It differs in its spread alone.
        yield (
            f"Mean {measure}: least with {called(least, names)}, {brief(least['estimate'])};"
            f" most with {called(most, names)}, {brief(most['estimate'])}."
        )


def _parts(answer: Row, measures: list[str]) -> list[tuple[str, str, list[tuple[str, Markup]]]]:
    on_the_line = (
        "Each dot is a setting, and less is better. No other beats those on the line in both;"
        f" beside them stands their {BETWEEN.join(names_of(answer))}."
    )
    return [
        (
            "The plane of settings",
            "The mean over the runs of each setting: the darker, the more.",
            [(measure, _drawn(heat_map(answer, _mean(measure)))) for measure in measures],
        ),
        (
            "What one pays for what",
            on_the_line,
            [
                (f"{line['across']} against {line['up']}", _drawn(pareto_chart(answer, line)))
                for line in lines_worth_drawing(answer)
            ],
        ),
        (
            "How runs differ",
            "From least to most over its runs; the bar is their middle half, the tick the median.",
            [
                (measure, _drawn(distributions_chart(answer, _mean(measure), measure)))
                for measure in measures
            ],
        ),
    ]


def _mean(measure: str) -> str:
    return f"{STATISTICS[0]}({measure})"


def _drawn(spec: dict[str, Any]) -> Markup:
    return Markup(as_svg(spec))  # noqa: S704 - Vega spells out what a text of a scenario may hold


def _cells(answer: Row, rows: tuple[Row, ...]) -> list[str]:
    known = known_of(rows[0])
    chosen = [known[name] for name in names_of(answer)]
    return [*chosen, str(rows[0]["runs"]), *map(interval, rows)]
