"""The charts of a sweep: what each setting comes to, how its runs differ, what one pays for what.

They hold their rows, and stand still: a page shows them as SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from groupsim.commands.sweep_summary import brief, named
from groupsim.report.palette import THEME, UNOWNED_COLOUR
from simulation.scenarios.grids import told

__all__ = ["distributions_chart", "heat_map", "pareto_chart"]

Row = Mapping[str, Any]
Spec = dict[str, Any]

_ROWS = alt.Chart(alt.NamedData(name="rows"))
_WIDTH = 460
_CELL_HEIGHT, _LANE_HEIGHT, _PLOT_HEIGHT = 30, 20, 300
#: A cell narrower than this has no room for its figure.
_CELL_WIDTH = 34
_LINE_COLOUR, _OTHER_COLOUR = "#1F5FAE", "#9AA5B1"


def heat_map(answer: Row, figure: str) -> Spec:
    """A figure over the plane of settings: the last axis goes to the right, the others down."""
    rows = [
        _placed(answer, row) | {"value": row["estimate"], "told": brief(row["estimate"])}
        for row in answer["estimates"]
        if row["figure"] == figure and row["estimate"] is not None
    ]
    columns, lanes = _in_order(rows, "column"), _in_order(rows, "lane")
    base = _ROWS.encode(
        x=alt.X("column:N", sort=columns, title=_last(answer), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("lane:N", sort=lanes, title=None),
    )
    colours = alt.Color("value:Q", scale=alt.Scale(scheme="yelloworangered"), legend=None)
    layers = [base.mark_rect().encode(color=colours)]
    if _WIDTH / max(1, len(columns)) >= _CELL_WIDTH:
        middle = (max(row["value"] for row in rows) + min(row["value"] for row in rows)) / 2
        ink = alt.condition(f"datum.value > {middle}", alt.value("white"), alt.value("black"))
        layers.append(base.mark_text(fontSize=11).encode(text="told:N", color=ink))
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_CELL_HEIGHT * len(lanes))
    return _finished(chart, rows)


def distributions_chart(answer: Row, figure: str, measure: str) -> Spec:
    """How the runs of each setting differ: from the least to the most, the middle half as a bar."""
    rows = [
        {
            "setting": named(row, answer["variants"]),
            **dict(zip(("least", "low", "middle", "high", "most"), row["quantiles"], strict=True)),
        }
        for row in answer["distributions"]
        if row["figure"] == figure and row["quantiles"]
    ]
    names = _in_order(rows, "setting")
    base = _ROWS.encode(y=alt.Y("setting:N", sort=names, title=None, axis=alt.Axis(labelLimit=240)))
    across = alt.X("least:Q", title=measure, scale=alt.Scale(zero=False))
    chart = alt.layer(
        base.mark_rule(color=_OTHER_COLOUR).encode(x=across, x2="most:Q"),
        base.mark_bar(size=9, color=_LINE_COLOUR, opacity=0.75).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(size=13, thickness=2, color=UNOWNED_COLOUR).encode(x="middle:Q"),
    ).properties(width=_WIDTH, height=_LANE_HEIGHT * len(names))
    return _finished(chart, rows)


def pareto_chart(answer: Row, line: Row) -> Spec:
    """Every setting by two figures; those that no other beats in both are joined by a line."""
    rows = [
        {
            "across": row["across"],
            "up": row["up"],
            "is_best": row["is_best"],
            "setting": named(row, answer["variants"]),
        }
        for row in line["settings"]
    ]
    base = _ROWS.encode(
        x=alt.X("across:Q", title=line["across"]), y=alt.Y("up:Q", title=line["up"])
    )
    best = base.transform_filter("datum.is_best")
    chart = alt.layer(
        base.mark_circle(size=45, color=_OTHER_COLOUR),
        best.mark_line(interpolate="step-after", color=_LINE_COLOUR).encode(order="across:Q"),
        best.mark_circle(size=80, color=_LINE_COLOUR, opacity=1),
        best.mark_text(align="left", dx=8, dy=-6, fontSize=10).encode(text="setting:N"),
    ).properties(width=_WIDTH, height=_PLOT_HEIGHT)
    return _finished(chart, rows)


def _last(answer: Row) -> str | None:
    return list(answer["axes"])[-1] if answer["axes"] else None


def _placed(answer: Row, row: Row) -> dict[str, str]:
    """Where a setting stands on the plane."""
    *others, last = answer["axes"] or [None]
    rest = told({path: row["chosen"][path] for path in others})
    several = [row["variant"]] if len(answer["variants"]) > 1 or last is None else []
    return {
        "column": row["chosen"][last] if last is not None else "",
        "lane": ", ".join([*several, *([rest] if rest else [])]),
    }


def _in_order(rows: Sequence[Row], name: str) -> list[str]:
    """As they come, which is the order of the grid."""
    return list(dict.fromkeys(row[name] for row in rows))


def _finished(chart: alt.LayerChart | alt.FacetChart, rows: Sequence[Row]) -> Spec:
    spec: Spec = chart.to_dict()
    spec["datasets"] = {"rows": rows}
    # Names of settings are longer than those of members.
    spec["config"] = {**THEME, "axisY": {"labelLimit": 240, "ticks": False}}
    return spec
