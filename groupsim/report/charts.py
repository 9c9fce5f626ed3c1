"""The charts of a run, one Altair chart each; the same for the page, for PNG and for SVG.

A chart names its data and holds none: pictures.py puts rows into it, the page's script does the
same in the browser. All have one time axis, and a window on it that can be moved and made smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal

import altair as alt
from attrs import frozen

from groupsim.report.frames import SCRIPT, Lanes
from groupsim.report.lag_curves import LAG_WORTH_A_LOOK
from groupsim.report.members import (
    BROKEN,
    COMMITTED,
    CRASHED,
    FAILED,
    MISSED,
    OUTSIDE,
    PRESENT,
    STILL,
    STILL_OUTSIDE,
)
from groupsim.report.ownership import DUAL, OWNED, UNOWNED
from groupsim.report.palette import (
    CURVE_COLOUR,
    DUAL_COLOUR,
    INK,
    LAG_COLOUR,
    OUTSIDE_COLOUR,
    STATE_COLOURS,
    UNOWNED_COLOUR,
    member_colours,
)

__all__ = ["CHARTS", "Canvas", "Chart", "charts_worth_drawing"]

Chart = alt.LayerChart

#: A lane that is lower than this has no room for marks inside it.
_ROOMY = 7
#: What a lane with room has of its height; the rest is between it and the next.
_LANE = 0.88
#: Stretches that are shorter than such a part of the run are drawn as wide as a line.
_SHORT = 600
#: Labels need so much room from one to the next.
_LABEL_HEIGHT = 13
_HOUR_MS = 3_600_000
#: What the names of all states take side by side.
_LEGEND_WIDTH = 420
#: The window is moved by dragging; the wheel alone scrolls the page.
_ZOOM_EVENT = "wheel![event.ctrlKey || event.metaKey]"
#: A letter below a title is about so wide.
_LETTER = 5
_A_CROSS = "M-1,-1L1,1M1,-1L-1,1"

_SECONDS = "format(toNumber(datum.value) / 1000, ',') + ' s'"
_RECORDS = "format(datum.value, datum.value < 10000 ? ',' : '~s')"
_HOURS = (
    "floor(toNumber(datum.value) / 3600000) + ' h'"
    " + (toNumber(datum.value) % 3600000 ? ' '"
    " + floor(toNumber(datum.value) % 3600000 / 60000) + ' m' : '')"
    " + (toNumber(datum.value) % 60000 ? ' '"
    " + format(toNumber(datum.value) % 60000 / 1000, '~g') + ' s' : '')"
)


@frozen(kw_only=True)
class Canvas:
    """What charts are drawn on: the lanes of all runs that are compared, and how much room."""

    lanes: Lanes
    width: int | Literal["container"] = "container"
    #: How high lanes may stand on one another before they become lower.
    height_max: int = 420
    #: Whether no number of lanes makes it higher than that, though none can be told from the next.
    is_small: bool = False
    #: What the names of its data begin with, where several runs share one picture.
    prefix: str = ""
    #: Whether it can be moved, zoomed and pointed at; on paper it cannot.
    is_live: bool = True
    #: Whether lanes have their names beside them.
    has_names: bool = True
    #: A page has words for colours outside its charts.
    has_legend: bool = True

    @property
    def legend_columns(self) -> int:
        """How many words of a legend stand side by side without being wider than the chart."""
        return 2 if isinstance(self.width, int) and self.width < _LEGEND_WIDTH else 4

    def on(self, frame: str) -> alt.Chart:
        """A chart of these rows."""
        return alt.Chart(alt.NamedData(name=f"{self.prefix}{frame}"))

    def step(self, lanes: Sequence[str], most: int) -> int:
        """How high each lane is."""
        return max(1, min(most, self.height_max // max(1, len(lanes))))

    def more(self, words: str) -> str:
        """Words that a page has room for, and a picture has not."""
        return words if self.is_live else ""

    def x(self, field: str) -> alt.X:
        """A time, on the axis that `finished` gives a chart."""
        return alt.X(f"{field}:T", title=None, scale=alt.Scale(type="utc"))

    def pointed_at(
        self, rows: alt.Chart, words: Mapping[str, str], told: list[alt.Tooltip]
    ) -> alt.Chart:
        """Rows that say what they are where a pointer stands, in words that are made of them."""
        if not self.is_live:
            return rows
        chart: alt.Chart = rows.transform_calculate(**words).encode(tooltip=told)
        return chart

    def _axis(self, *, has_labels: bool) -> alt.Chart:
        """Nothing to see, but what all charts have in common: the whole time, and its labels.

        It stands in a layer without stretches: Vega-Lite reads the bounds of a stretch's scale in
        two ways, and warns of that.
        """
        labels = _HOURS if self.lanes.ended_ms > _HOUR_MS else _SECONDS
        whole = alt.Scale(type="utc", domain=[0, max(1, self.lanes.ended_ms)], nice=False)
        axis = alt.Axis(
            labels=has_labels,
            ticks=has_labels,
            labelExpr=labels,
            labelOverlap="parity",
            labelSeparation=8,
            labelFlush=True,
        )
        time = alt.X("from_ms:T", title=None, scale=whole, axis=axis)
        chart: alt.Chart = self.on("focus").mark_point(opacity=0).encode(x=time)
        return chart

    def y(self, lanes: Sequence[str], step: int) -> alt.Y:
        """Lanes, each with its name where there is room for it."""
        # An odd number of lanes from one to the next: often old and new ones take turns.
        shown = lanes[:: -(-_LABEL_HEIGHT // step) | 1] if step < _LABEL_HEIGHT else lanes
        # Without a margin, rounding may put the first lane outside, and Vega leaves out its name.
        inner, outer = (1 - _LANE, (1 - _LANE) / 2) if step >= _ROOMY else (0, 0)
        return alt.Y(
            "lane:N",
            title=None,
            scale=alt.Scale(domain=list(lanes), paddingInner=inner, paddingOuter=outer),
            axis=alt.Axis(values=list(shown), grid=False) if self.has_names else None,
        )

    def finished(
        self,
        title: str,
        subtitle: str,
        *layers: alt.Chart,
        height: int,
        has_labels: bool = True,
    ) -> Chart:
        """Layers over one another, with the window on time and what it is set on."""
        first, *rest = layers
        if self.is_live:
            window = alt.selection_interval(
                name="window", bind="scales", encodings=["x"], zoom=_ZOOM_EVENT
            )
            first = first.add_params(window)
        focus = (
            self.on("focus")
            .mark_rect(clip=True, color=INK, opacity=0.14)
            .encode(x=self.x("from_ms"), x2="to_ms:T")
        )
        axis = self._axis(has_labels=has_labels)
        return alt.LayerChart(
            layer=[first, *rest, focus, axis],
            width=self.width,
            height=height,
            title=alt.TitleParams(title, subtitle=self._lines(subtitle)),
        )

    def _lines(self, words: str) -> list[str]:
        """Words in lines that are no wider than the chart; a page breaks them itself."""
        if self.width == "container":
            return [words]
        return wrap(words, self.width // _LETTER)


_STRETCH = {
    "began": "format(datum.from_ms / 1000, ',.3f') + ' s'",
    "ended": "format(datum.to_ms / 1000, ',.3f') + ' s'",
    "lasted": "format((datum.to_ms - datum.from_ms) / 1000, ',.3f') + ' s'",
}
_MOMENT = {"at": "format(datum.at_ms / 1000, ',.3f') + ' s'"}


def _told(*fields: str) -> list[alt.Tooltip]:
    """A tooltip's lines; `what:title` gives a field another name."""
    pairs = [each.partition(":") for each in fields]
    return [alt.Tooltip(f"{name}:N", title=title or name) for name, _, title in pairs]


def groups_chart(canvas: Canvas) -> Chart:
    """The state of each group over time, and what was wrong or was changed around it."""
    has_script = canvas.lanes.has_script
    lanes = [*canvas.lanes.groups, *([SCRIPT] if has_script else [])]
    step = 18 if len(lanes) <= 3 else 13  # noqa: PLR2004 - a few have more room
    x, y = canvas.x("from_ms"), canvas.y(lanes, step)
    shown = [state for state in STATE_COLOURS if state in canvas.lanes.states]
    legend = alt.Legend(columns=canvas.legend_columns, values=shown)
    told = _told("lane:group", "state", "rebalance", "generation", "members", "began", "lasted")
    states = (
        canvas.pointed_at(canvas.on("states"), _STRETCH, told)
        .mark_rect(clip=True)
        .encode(
            x=x,
            x2="to_ms:T",
            y=y,
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=list(STATE_COLOURS), range=list(STATE_COLOURS.values())),
                legend=legend if canvas.has_legend else None,
            ),
        )
    )
    busy = states.transform_filter("datum.rebalance !== null").mark_rect(
        clip=True, strokeWidth=0.8, stroke=STATE_COLOURS["PreparingRebalance"]
    )
    return canvas.finished(
        "Group state",
        canvas.more(
            "blank: there is no such group, or the run is over"
            + "; below it, red: something is wrong, blue: something is changed" * has_script
        ),
        states,
        busy,
        *_script(canvas, y, step),
        height=step * len(lanes),
        has_labels=False,
    )


def _script(canvas: Canvas, y: alt.Y, step: int) -> list[alt.Chart]:
    """What was wrong for a while, and what was changed at a moment."""

    def layer(condition: str, told: list[alt.Tooltip]) -> alt.Chart:
        rows = canvas.on("faults").transform_filter(condition)
        return canvas.pointed_at(rows, _STRETCH, told).encode(x=canvas.x("from_ms"), y=y)

    return [
        layer("datum.to_ms > datum.from_ms", _told("what:fault", "began", "ended", "lasted"))
        .mark_rect(clip=True, color=UNOWNED_COLOUR, opacity=0.75, stroke=UNOWNED_COLOUR)
        .encode(x2="to_ms:T"),
        layer("datum.to_ms == datum.from_ms", _told("what:change", "began:at")).mark_tick(
            clip=True,
            orient="vertical",
            thickness=3,
            size=step * _LANE,
            color=LAG_COLOUR,
            opacity=1,
        ),
    ]


def _member_scale(lanes: Lanes) -> alt.Scale:
    colours = member_colours(lanes.clients)
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def partitions_chart(canvas: Canvas) -> Chart:
    """Who had each partition when; where nobody did, and where two did."""
    lanes = canvas.lanes.partitions
    step = canvas.step(lanes, 16)
    told = _told("lane:partition", "kind:is", "who:by", "began", "ended", "lasted")
    x, y = canvas.x("from_ms"), canvas.y(lanes, step)

    def layer(kind: str) -> alt.Chart:
        stays = canvas.on("ownership").transform_filter(f"datum.kind == '{kind}'")
        return canvas.pointed_at(stays, _STRETCH, told).encode(x=x, y=y)

    colour = alt.Color("who:N", scale=_member_scale(canvas.lanes), legend=None)
    owned = layer(OWNED).mark_rect(clip=True).encode(x2="to_ms:T", color=colour)
    # What is shorter than a pixel would be a mixture with the colours beside it.
    short = f"datum.to_ms - datum.from_ms < {canvas.lanes.ended_ms / _SHORT}"
    size = step * _LANE if step >= _ROOMY else step
    # Most of a pixel wherever it begins; where all is small, many would hide what is between them.
    width = 1.5 if canvas.is_live else 1
    wrong: list[alt.Chart] = []
    for kind, shade in ((UNOWNED, UNOWNED_COLOUR), (DUAL, DUAL_COLOUR)):
        wrong.append(layer(kind).mark_rect(clip=True, color=shade).encode(x2="to_ms:T"))
        wrong.append(
            layer(kind)
            .transform_filter(short)
            .mark_tick(
                clip=True, orient="vertical", thickness=width, size=size, color=shade, opacity=1
            )
        )
    return canvas.finished(
        "Partitions",
        "colour: its reader; red: nobody; violet: two at once;"
        " blank: nobody yet, or the run is over"
        + canvas.more("; what is short is widened to be seen"),
        owned,
        *wrong,
        height=min(step * len(lanes), canvas.height_max) if canvas.is_small else step * len(lanes),
    )


def members_chart(canvas: Canvas) -> Chart:
    """What each consumer was doing, with its heartbeats, crashes and commits."""
    lanes = canvas.lanes.members
    step = canvas.step(lanes, 18)
    y = canvas.y(lanes, step)
    x, told = canvas.x("from_ms"), _told("lane:member", "what:is", "began", "ended", "lasted")

    def layer(*kinds: str) -> alt.Chart:
        stays = canvas.on("members").transform_filter(_is_one_of(kinds))
        return canvas.pointed_at(stays, _STRETCH, told).encode(x=x, x2="to_ms:T", y=y)

    colour = alt.Color("who:N", scale=_member_scale(canvas.lanes), legend=None)
    lives = [
        layer(PRESENT, STILL).mark_rect(clip=True).encode(color=colour),
        layer(OUTSIDE, STILL_OUTSIDE).mark_rect(clip=True, color=OUTSIDE_COLOUR),
        layer(MISSED).mark_rect(clip=True, **_HOLLOW),
        # Whether the group still counts on one that stands still is told by what is behind the bar.
        layer(STILL, STILL_OUTSIDE).mark_rule(clip=True, color=INK, strokeWidth=step * 0.5),
    ]
    told = _told("lane:member", "count:heartbeats", "began", "ended")
    beats = (
        canvas.pointed_at(canvas.on("beats"), _STRETCH, told)
        # Dots are ends of dashes without a length: so a heartbeat by itself is seen too.
        .mark_rule(
            clip=True,
            color=INK,
            opacity=0.65,
            strokeWidth=1.2,
            strokeCap="square",
            strokeDash=[0.1, 3.9],
        )
        .encode(x=x, x2="to_ms:T", y=y)
    )
    is_roomy = step >= _ROOMY
    return canvas.finished(
        "Members",
        ("dotted: heartbeats; ticks: commits, red if they failed; " if is_roomy else "")
        + "x: crash or fatal error; grey: not in the group; dark bar: stands still;"
        " hollow: down, still a member; blank: not running, or the run is over",
        *lives,
        *([beats, *_commits(canvas, y, step)] if is_roomy else []),
        _crashes(canvas, y, step),
        height=step * len(lanes),
    )


#: One that is gone and still counted on is an outline; without a fill none could be pointed at.
_HOLLOW: Mapping[str, Any] = {
    "fill": UNOWNED_COLOUR,
    "fillOpacity": 0,
    "stroke": UNOWNED_COLOUR,
    "strokeDash": [3, 2],
    "strokeWidth": 1.2,
}


def _is_one_of(kinds: Iterable[str]) -> str:
    return " || ".join(f"datum.what == '{what}'" for what in kinds)


def _moments(canvas: Canvas, y: alt.Y, *kinds: str) -> alt.Chart:
    told = _told("lane:member", "what", "count:times", "at", "detail")
    marks = canvas.on("marks").transform_filter(_is_one_of(kinds))
    return canvas.pointed_at(marks, _MOMENT, told).encode(x=canvas.x("at_ms"), y=y)


def _commits(canvas: Canvas, y: alt.Y, step: int) -> list[alt.Chart]:
    return [
        _moments(canvas, y, COMMITTED).mark_tick(
            clip=True, orient="vertical", thickness=1, size=step * 0.45, color=INK, opacity=0.6
        ),
        _moments(canvas, y, FAILED).mark_tick(
            clip=True,
            orient="vertical",
            thickness=2,
            size=step * 0.9,
            color=UNOWNED_COLOUR,
            opacity=1,
        ),
    ]


def _crashes(canvas: Canvas, y: alt.Y, step: int) -> alt.Chart:
    size = max(12, min(70, step * 4))
    marked: alt.Chart = _moments(canvas, y, CRASHED, BROKEN).mark_point(
        clip=True, shape=_A_CROSS, size=size, stroke=UNOWNED_COLOUR, strokeWidth=2, opacity=1
    )
    return marked


def lag_chart(canvas: Canvas) -> Chart:
    """How far behind the worst partition is at each moment, and some partitions by themselves."""
    lanes = canvas.lanes
    y = alt.Y(
        "lag:Q",
        title=None,
        scale=alt.Scale(domain=[0, max(1, lanes.lag_max)], nice=True),
        axis=alt.Axis(tickCount=4, tickMinStep=1, labelExpr=_RECORDS),
    )
    x = canvas.x("at_ms")
    told = _told("lane:partition", "lag:records behind", "at")
    each = (
        canvas.pointed_at(canvas.on("lag"), _MOMENT, told)
        .mark_line(clip=True, strokeWidth=0.8, strokeJoin="round", color=CURVE_COLOUR, opacity=0.6)
        .encode(x=x, y=y, detail="lane:N")
    )
    points = {"size": 14, "opacity": 0} if canvas.is_live else False
    worst = (
        canvas.pointed_at(canvas.on("worst"), _MOMENT, told)
        # A line can be pointed at by its points only, which nobody sees.
        # A pointed join would be higher than the peak it stands on.
        .mark_line(
            clip=True,
            interpolate="step-after",
            strokeWidth=1.6,
            strokeJoin="round",
            point=points,
            color=LAG_COLOUR,
        )
        .encode(x=x, y=y, detail="group:N")
    )
    of_each = " of each group" if len(lanes.groups) > 1 else ""
    return canvas.finished(
        "Lag, in records",
        f"blue: the partition{of_each} that is furthest behind; grey: some single partitions"
        + canvas.more(
            "; counted from its reader's position (not the commit), as soon as there is one;"
            " of short times the most"
        ),
        each,
        worst,
        height=110,
    )


#: Every chart of a run from top to bottom, by the names that their files have.
CHARTS: Mapping[str, Callable[[Canvas], Chart]] = {
    "groups": groups_chart,
    "partitions": partitions_chart,
    "members": members_chart,
    "lag": lag_chart,
}


def charts_worth_drawing(lanes: Lanes) -> list[str]:
    """The charts that have something to show in at least one of the runs that are compared."""
    nothing_in = {
        "partitions": not lanes.partitions,
        "members": not lanes.members,
        "lag": lanes.lag_max < LAG_WORTH_A_LOOK,
    }
    return [name for name in CHARTS if not nothing_in.get(name)]
