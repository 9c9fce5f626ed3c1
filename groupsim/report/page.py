"""The report as one HTML file that needs nothing beside it: answer, evidence, details.

Texts of a scenario are escaped by Jinja wherever they stand; the data for the charts is JSON in
which no `<` is left. A policy in the page forbids it to fetch anything.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert
from attrs import evolve
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from groupsim.commands.results import GroupFigures
from groupsim.commands.summary import facts_of, holder_of, number, told_missed
from groupsim.report.answers import headline, verdict
from groupsim.report.bands import Trouble
from groupsim.report.charts import (
    CHARTS,
    Canvas,
    Chart,
    charts_worth_drawing,
    partitions_chart,
)
from groupsim.report.differences import differences
from groupsim.report.figures import (
    figure,
    figure_names,
    figures_of_one,
    figures_that_differ,
    unrefused,
)
from groupsim.report.frames import Frame, Lanes, frames_of, lanes_in, lanes_of
from groupsim.report.palette import ON_DARK, STATE_COLOURS, THEME
from groupsim.report.story import RunStory, Told
from simulation.durations import duration_text
from simulation.scenarios.results import Missed
from simulation.sentences import counted, in_column, in_time, lasting, worth_saying

__all__ = ["file_of", "page", "template"]

_HERE = Path(__file__).parent
#: How high the chart in a card may be.
_CARD_HEIGHT = 150
#: What a chart needs below its lanes for the time axis.
_AXIS_HEIGHT = 26
#: More faults than this are counted, not listed.
_FAULTS_MAX = 6

#: What the checkers say of liveness, and how the page says it.
_RESTS = {
    "kept: settled 0.0 s after": "All groups were at rest right after",
    "kept: settled": "All groups were at rest",
    "violated:": "The groups did not come to rest:",
    "open: not settled": "The groups were not yet at rest",
    "not judged:": "The groups were not at rest:",
    "not asked for:": "The groups need not come to rest:",
}

#: A chart as the page has it: its specification, the names of its data, the words above it.
Described = Mapping[str, Any]


def page(runs: Sequence[RunStory]) -> str:
    """The page about these runs, side by side if there are several."""
    lanes = lanes_of(runs)
    canvas = Canvas(lanes=lanes, has_legend=False)
    shared = {name: _described(CHARTS[name](canvas)) for name in charts_worth_drawing(lanes)}
    charts = [_charts_in(run, canvas, shared) for run in runs]
    card = _described(
        partitions_chart(
            evolve(canvas, height_max=_CARD_HEIGHT, is_small=True, has_names=False, is_live=False)
        )
    )
    first = runs[0].scenario
    changes = differences([run.scenario for run in runs])
    return template("page.html.jinja").render(
        title=first.get("title") or first.get("name") or runs[0].name,
        question=str(first.get("question") or "").strip(),
        headline=headline(runs),
        runs=[
            _told_run(run, runs) | {"charts": _heads(own), "differs": differs}
            for run, own, differs in zip(runs, charts, changes, strict=True)
        ],
        table=list(_table(runs)),
        card_height=_height(card),
        states=STATE_COLOURS.items(),
        css=file_of("page.css"),
        data=_data(runs, lanes, shared | {"card": card}, charts),
        libraries=_libraries(),
        script=file_of("page.js"),
    )


def template(name: str) -> Template:
    """A page that is still to be filled; what is filled in is escaped."""
    environment = Environment(
        autoescape=True, loader=FileSystemLoader(_HERE), undefined=StrictUndefined
    )
    return environment.get_template(name)


@cache
def _libraries() -> Markup:
    """Vega, Vega-Lite and Vega-Embed, in one."""
    return Markup(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))  # noqa: S704 - theirs, no text of a scenario


def file_of(name: str) -> Markup:
    """A part of the page that stands in a file of its own."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))  # noqa: S704 - a file of ours


# --- charts ---


def _described(chart: Chart) -> dict[str, Any]:
    """A chart without its title, which the page says in its own words; these; the data it names."""
    spec = chart.to_dict()
    said = spec.pop("title")
    return {
        "spec": spec,
        "frames": sorted(set(_names(spec)) - {"focus"}),
        "words": (said["text"], " ".join(said.get("subtitle", ()))),
    }


def _charts_in(
    run: RunStory, canvas: Canvas, shared: Mapping[str, Described]
) -> dict[str, Described]:
    """The charts of one run: the same as of the others, but for members that it does not have."""
    lanes = lanes_in(run, canvas.lanes)
    if lanes == canvas.lanes:
        return dict(shared)
    own = _described(CHARTS["members"](evolve(canvas, lanes=lanes)))
    drawn = charts_worth_drawing(lanes)
    return {
        name: own if name == "members" else each for name, each in shared.items() if name in drawn
    }


def _heads(charts: Mapping[str, Described]) -> list[tuple[str, str, str, int]]:
    """What stands above each chart, and the room to be kept for it."""
    return [(name, *each["words"], _height(each)) for name, each in charts.items()]


def _height(chart: Described) -> int:
    """What a chart will take, so that the page does not jump when it is drawn."""
    return int(chart["spec"]["height"]) + _AXIS_HEIGHT


def _names(spec: Mapping[str, Any]) -> Iterator[str]:
    if "data" in spec:
        yield spec["data"]["name"]
    for layer in spec.get("layer", ()):
        yield from _names(layer)


def _data(
    runs: Sequence[RunStory],
    lanes: Lanes,
    shared: Mapping[str, Described],
    charts: Sequence[Mapping[str, Described]],
) -> Markup:
    found = {
        "ended_ms": lanes.ended_ms,
        "label_width": lanes.label_width,
        "theme": THEME,
        "on_dark": ON_DARK,
        "charts": {name: _drawable(each) for name, each in shared.items()},
        "runs": [
            {
                "name": run.name,
                "frames": {name: _columns(rows) for name, rows in frames_of(run, lanes).items()},
                "charts": {
                    name: _drawable(each) for name, each in own.items() if each is not shared[name]
                },
            }
            for run, own in zip(runs, charts, strict=True)
        ],
    }
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    # JSON has another way to write it, and HTML has no way to end a script without it.
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - see above


def _drawable(chart: Described) -> dict[str, Any]:
    return {name: chart[name] for name in ("spec", "frames")}


def _columns(rows: Frame) -> dict[str, Any]:
    """Rows as columns, each text once: a tenth of what rows would take."""
    if not rows:
        return {}
    return {name: _column([row[name] for row in rows]) for name in rows[0]}


def _column(values: list[Any]) -> Any:  # noqa: ANN401 - what JSON takes
    if not any(isinstance(value, str) for value in values):
        return values
    words = {value: n for n, value in enumerate(dict.fromkeys(values))}
    return {"words": list(words), "codes": [words[value] for value in values]}


# --- words ---


def _told_run(run: RunStory, runs: Sequence[RunStory]) -> dict[str, Any]:
    held, words = verdict(run)
    return {
        "name": run.name,
        "held": held,
        "verdict": words,
        "glance": [figure(run, name) for name in figures_that_differ(runs)],
        "figures": [figure(run, name) for name in figures_of_one(run)],
        "lasted": duration_text(run.ended_ms),
        "events": f"{run.events:,}",
        "seed": run.run_file.seed,
        "versions": ", ".join(f"{name} {each}" for name, each in run.run_file.versions.items()),
        "expectations": [_expected(each) for each in run.outcome.get("expectations", ())],
        "violations": run.outcome.get("violations", ()),
        "missed": _missed(run),
        "rest": _rest(str(run.outcome.get("liveness", ""))),
        "faults": list(_faults(run)),
        "groups": [(group, list(_facts(run, group))) for group in run.groups],
        "rebalances": [_told_rebalance(told) for told in run.rebalances],
        "unexplained": any(not told.sentences for told in run.rebalances),
        "command": shlex.join(["groupsim", "replay", str(run.path)]),
        "scenario": json.dumps(dict(run.scenario), indent=2, ensure_ascii=False),
    }


def _missed(run: RunStory) -> str:
    found = [Missed(**each) for each in run.outcome.get("missed", ())]
    return told_missed(found) if found else ""


def _rest(liveness: str) -> str:
    """Whether the groups came to rest, for readers who do not speak of liveness."""
    for beginning, said in _RESTS.items():
        if liveness.startswith(beginning):
            return said + liveness.removeprefix(beginning)
    return liveness


def _expected(each: Mapping[str, Any]) -> dict[str, Any]:
    """An expectation, and what came of it as the summary writes it."""
    found = each["figure"]
    return {**each, "figure": found if isinstance(found, str) else number(found)}


def _facts(run: RunStory, group: str) -> Iterator[tuple[str, str]]:
    """What the summary says of a group, and the errors that only its consumers met."""
    yield from facts_of(GroupFigures(group, run.measures))
    if failed := unrefused(run, group):
        yield "commits failed", f"without hearing a refusal: {_by_error(failed)}"
    if fatal := {error: n for (where, error), n in run.errors.items() if where == group}:
        yield "fatal errors", _by_error(fatal)


def _by_error(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {error}" for error, count in counts.items())


def _faults(run: RunStory) -> Iterator[str]:
    """What was wrong or changed around the groups, and when: a red stretch does not say it."""
    for each in run.troubles[:_FAULTS_MAX]:
        yield f"{each.what}, {_when(each, run.ended_ms)}"
    if (more := len(run.troubles) - _FAULTS_MAX) > 0:
        yield f"and {counted(more, 'other')}"


def _when(trouble: Trouble, ended_ms: int) -> str:
    if trouble.to_ms == trouble.from_ms:
        return f"at {in_time(trouble.from_ms)}"
    until = "the end" if trouble.to_ms >= ended_ms else in_time(trouble.to_ms)
    return f"from {in_time(trouble.from_ms)} to {until}"


def _told_rebalance(told: Told) -> dict[str, Any]:
    each = told.rebalance
    reason = worth_saying(each.client_reason)
    return {
        "number": told.number,
        "group": each.group,
        "from_ms": each.started_ms,
        "to_ms": each.ended_ms,
        "at": in_column(each.started_ms),
        "took": lasting(each.duration_ms) + ("" if each.ended_in else " so far"),
        "moved": each.moved,
        "cause": f"{each.cause} ({reason})" if reason else each.cause,
        "held": holder_of(each),
        "sentences": told.sentences,
    }


def _table(runs: Sequence[RunStory]) -> Iterator[tuple[str, str, list[str]]]:
    for name in figure_names(runs):
        figures = [figure(run, name) for run in runs]
        yield name, figures[0].meaning, [each.value for each in figures]
