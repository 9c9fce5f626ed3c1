"""The charts of a sweep: what each setting comes to, how its runs differ, what one pays for what.

They hold their rows, and stand still: a page shows them as SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from groupsim.commands.sweep_summary import brief
from groupsim.report.palette import THEME, UNOWNED_COLOUR

__all__ = [
    "BETWEEN",
    "called",
    "distributions_chart",
    "heat_map",
    "known_of",
    "lines_worth_drawing",
    "names_of",
    "pareto_chart",
    "sweep_picture",
]

Row = Mapping[str, Any]
Spec = dict[str, Any]

_ROWS = alt.Chart(alt.NamedData(name="rows"))
_WIDTH = 460
_CELL_HEIGHT, _LANE_HEIGHT, _PLOT_HEIGHT = 30, 20, 300
#: A cell narrower than this has no room for its figure.
_CELL_WIDTH = 30
#: From this share of the way to the most on, a cell is so dark that its figure is white.
_DARK = 0.7
#: Dots nearer to one another than these shares of the plot have no room for their words between.
_NEAR_ACROSS, _NEAR_UP = 0.2, 0.05
#: Names of variants are longer than those of members.
_CONFIG = {**THEME, "axisY": {"labelLimit": 240, "ticks": False}}
#: Between the values of a setting.
BETWEEN = " / "
_LINE_COLOUR, _OTHER_COLOUR = "#1F5FAE", "#9AA5B1"


def heat_map(answer: Row, figure: str) -> Spec:
    """A figure over the plane of settings: the axis with most values to the right, others down."""
    across = max(
        reversed(answer["axes"] or [""]), key=lambda path: len(answer["axes"].get(path, ()))
    )
    down = [name for name in names_of(answer) if name != across]
    rows = [
        {
            "column": known_of(row).get(across, ""),
            "lane": called(row, down),
            "value": row["estimate"],
            "told": brief(row["estimate"]),
        }
        for row in answer["estimates"]
        if row["figure"] == figure and row["estimate"] is not None
    ]
    columns, lanes = _in_order(rows, "column"), _in_order(rows, "lane")
    base = _ROWS.encode(
        x=alt.X("column:N", sort=columns, title=across or None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("lane:N", sort=lanes, title=None),
    )
    colours = alt.Color("value:Q", scale=alt.Scale(scheme="yelloworangered"), legend=None)
    layers = [base.mark_rect().encode(color=colours)]
    if _WIDTH / max(1, len(columns)) >= _CELL_WIDTH:
        least, most = (pick(row["value"] for row in rows) for pick in (min, max))
        dark = least + (most - least) * _DARK
        ink = alt.condition(f"datum.value > {dark}", alt.value("white"), alt.value("black"))
        layers.append(base.mark_text(fontSize=11).encode(text="told:N", color=ink))
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_CELL_HEIGHT * len(lanes))
    return _finished(chart, rows, down)


def distributions_chart(answer: Row, figure: str, measure: str) -> Spec:
    """How the runs of each setting differ: from the least to the most, the middle half as a bar."""
    names = names_of(answer)
    rows = [
        {
            "setting": called(row, names),
            **dict(zip(("least", "low", "middle", "high", "most"), row["quantiles"], strict=True)),
        }
        for row in answer["distributions"]
        if row["figure"] == figure and row["quantiles"]
    ]
    lanes = _in_order(rows, "setting")
    base = _ROWS.encode(y=alt.Y("setting:N", sort=lanes, title=None))
    across = alt.X("least:Q", title=measure, scale=alt.Scale(zero=False, padding=8))
    chart = alt.layer(
        base.mark_rule(color=_OTHER_COLOUR).encode(x=across, x2="most:Q"),
        base.mark_bar(size=9, color=_LINE_COLOUR, opacity=0.75).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(size=13, thickness=2, color=UNOWNED_COLOUR).encode(x="middle:Q"),
    ).properties(width=_WIDTH, height=_LANE_HEIGHT * len(lanes))
    return _finished(chart, rows, names)


def pareto_chart(answer: Row, line: Row) -> Spec:
    """Every setting by two figures; those that no other beats in both are joined by a line."""
    rows = [
        {
            "across": row["across"],
            "up": row["up"],
            "is_best": row["is_best"],
            "setting": called(row, names_of(answer)),
            "is_below": False,
        }
        for row in line["settings"]
    ]
    _part_words(rows)
    base = _ROWS.encode(
        x=alt.X("across:Q", title=line["across"]), y=alt.Y("up:Q", title=line["up"])
    )
    best = base.transform_filter("datum.is_best")
    chart = alt.layer(
        base.mark_circle(size=45, color=_OTHER_COLOUR),
        best.mark_line(interpolate="step-after", color=_LINE_COLOUR).encode(order="across:Q"),
        best.mark_circle(size=80, color=_LINE_COLOUR, opacity=1),
        *(
            best.transform_filter(f"{is_shown}datum.is_below")
            .mark_text(align="left", dx=8, dy=dy, fontSize=10)
            .encode(text="setting:N")
            for is_shown, dy in (("!", -6), ("", 9))
        ),
    ).properties(width=_WIDTH, height=_PLOT_HEIGHT)
    return _finished(chart, rows)


def _part_words(rows: Sequence[dict[str, Any]]) -> None:
    """Of two dots that are side by side, the words of the second stand below it."""
    room_across, room_up = (
        share * max((row[name] for row in rows), default=0)
        for name, share in (("across", _NEAR_ACROSS), ("up", _NEAR_UP))
    )
    best = sorted((row for row in rows if row["is_best"]), key=lambda row: row["across"])
    for before, after in pairwise(best):
        is_near = (
            after["across"] - before["across"] < room_across
            and abs(after["up"] - before["up"]) < room_up
        )
        after["is_below"] = is_near and not before["is_below"]


def sweep_picture(answer: Row, measures: Sequence[str]) -> Spec:
    """The plane of settings for each of these measures, and what one pays for what."""
    drawn = {
        **{f"mean({measure})": heat_map(answer, f"mean({measure})") for measure in measures},
        **{
            f"{line['across']} against {line['up']}": pareto_chart(answer, line)
            for line in lines_worth_drawing(answer)
        },
    }
    return {
        "vconcat": [_part(name, spec) for name, spec in drawn.items()],
        "resolve": {"scale": {"color": "independent"}},
        "config": _CONFIG,
    }


def _part(name: str, spec: Spec) -> Spec:
    """A chart among others: under its name, with rows of its own."""
    below = spec.get("title", {}).get("text", "")
    return {
        **{key: spec[key] for key in ("layer", "width", "height")},
        "data": {"values": spec["datasets"]["rows"]},
        "title": {"text": name, "subtitle": below, "frame": "bounds"},
    }


def lines_worth_drawing(answer: Row) -> list[Row]:
    """Those whose settings differ at all in both figures."""
    return [
        line
        for line in answer["pareto"]
        if all(len({row[name] for row in line["settings"]}) > 1 for name in ("across", "up"))
    ]


def names_of(answer: Row) -> list[str]:
    """What tells settings apart: the variant if there are several, and the paths of the axes."""
    several = ["variant"] if len(answer["variants"]) > 1 or not answer["axes"] else []
    return [*several, *answer["axes"]]


def known_of(row: Row) -> dict[str, str]:
    """What a setting is, by those names."""
    return {"variant": row["variant"], **row["chosen"]}


def called(row: Row, names: Sequence[str]) -> str:
    """A setting by its values alone; where it stands, the names stand once beside all of them."""
    known = known_of(row)
    return BETWEEN.join(known[name] for name in names)


def _in_order(rows: Sequence[Row], name: str) -> list[str]:
    """As they come, which is the order of the grid."""
    return list(dict.fromkeys(row[name] for row in rows))


def _finished(
    chart: alt.LayerChart | alt.FacetChart, rows: Sequence[Row], lanes: Sequence[str] = ()
) -> Spec:
    """A chart with its rows in it; what its lanes are called by stands above their names."""
    spec: Spec = chart.to_dict()
    spec["datasets"] = {"rows": rows}
    if lanes:
        over = {"frame": "bounds", "fontSize": 10, "fontWeight": "normal", "color": "#5B6470"}
        spec["title"] = {"text": BETWEEN.join(lanes), **over}
    spec["config"] = _CONFIG
    return spec
