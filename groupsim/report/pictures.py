"""Charts as PNG and SVG, without a browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

import altair as alt
import vl_convert
from attrs import evolve

from groupsim.report.charts import CHARTS, Canvas, charts_worth_drawing
from groupsim.report.frames import Frame, Lanes, frames_of, lanes_in, lanes_of
from groupsim.report.palette import THEME
from groupsim.report.png import smaller
from groupsim.report.story import RunStory

__all__ = ["as_file", "as_png", "as_svg", "charts_of", "filled", "picture"]

#: Pixels of a PNG for each of the chart's own: sharp on today's screens.
_SCALE = 2.0
_WIDTH = 760
_WIDTH_OF_MANY = 330
_HEIGHT_OF_MANY = 240
#: So many runs stand beside one another, but four in two rows of two.
_COLUMNS, _TWICE_TWO = 3, 4
#: A page says this better; a picture of several runs leaves it out.
_LEFT_OUT_OF_MANY = ("members",)

#: A letter of a title's words is about so wide.
_LETTER = 7

Spec = dict[str, Any]


def charts_of(run: RunStory, runs: Sequence[RunStory] = ()) -> Iterator[tuple[str, Spec]]:
    """Every chart of a run by its name, with its data in it, on the scale of all these runs."""
    lanes = lanes_in(run, lanes_of(runs or (run,)))
    canvas = Canvas(lanes=lanes, width=_WIDTH, is_live=False)
    frames = frames_of(run, lanes)
    for name in charts_worth_drawing(lanes):
        yield name, filled(CHARTS[name](canvas), frames, lanes)


def picture(runs: Sequence[RunStory], subtitles: Sequence[str] = ()) -> Spec:
    """Runs side by side on one scale, each under its name and some words."""
    lanes = lanes_of(runs)
    is_one = len(runs) == 1
    width = _WIDTH if is_one else _WIDTH_OF_MANY
    canvas = Canvas(
        lanes=lanes,
        width=width,
        height_max=360 if is_one else _HEIGHT_OF_MANY,
        is_live=False,
    )
    left_out = () if is_one else _LEFT_OUT_OF_MANY
    names = [name for name in charts_worth_drawing(lanes) if name not in left_out]
    told = _in_lines(subtitles, width + lanes.label_width)
    columns: list[alt.VConcatChart] = []
    frames: dict[str, Frame] = {}
    for n, run in enumerate(runs):
        prefix = f"run{n}_"
        charts = [CHARTS[name](evolve(canvas, prefix=prefix)) for name in names]
        words = told[n] if n < len(told) else []
        title = alt.TitleParams(run.name, subtitle=words, fontSize=15, subtitleFontSize=12)
        columns.append(
            alt.vconcat(*charts, spacing=12, title=title).resolve_scale(color="independent")
        )
        frames.update({f"{prefix}{key}": rows for key, rows in frames_of(run, lanes).items()})
    in_a_row = 2 if len(runs) == _TWICE_TWO else _COLUMNS
    whole = alt.concat(*columns, columns=in_a_row, spacing=24).resolve_scale(color="independent")
    return filled(whole, frames, lanes)


def _in_lines(texts: Sequence[str], width: int) -> list[list[str]]:
    """Texts in lines no wider than a column, as many for each: charts stand beside each other."""
    told = [wrap(text, width // _LETTER) for text in texts]
    most = max(map(len, told), default=0)
    return [[*lines, *[" "] * (most - len(lines))] for lines in told]


def filled(
    chart: alt.LayerChart | alt.ConcatChart, frames: Mapping[str, Frame], lanes: Lanes
) -> Spec:
    """A chart with its data in it, and room for the names of these lanes."""
    spec: Spec = chart.to_dict()
    spec["datasets"] = dict(frames)
    room = lanes.label_width
    names = {"minExtent": room, "maxExtent": room, "labelLimit": room - 4}
    spec["config"] = {**THEME, "axisY": {**THEME["axisY"], **names}}
    return spec


def as_file(spec: Spec, kind: str) -> bytes:
    """A chart as what a file of this kind holds: png or svg."""
    return as_png(spec) if kind == "png" else as_svg(spec).encode()


def as_png(spec: Spec, scale: float = _SCALE) -> bytes:
    """A chart as PNG, with so many pixels for each of its own."""
    return smaller(vl_convert.vegalite_to_png(spec, scale=scale))


def as_svg(spec: Spec) -> str:
    """A chart as SVG."""
    return vl_convert.vegalite_to_svg(spec)
