"""Colours that can be told apart, by most eyes, on light and on dark pages.

Members have light colours and what is wrong has dark, saturated ones, so they differ in lightness
and not in hue alone. Some of the light ones are Paul Tol's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coordinator import GroupState
from groupsim.report.bands import NO_COORDINATOR

__all__ = [
    "CURVE_COLOUR",
    "DUAL_COLOUR",
    "INK",
    "LAG_COLOUR",
    "ON_DARK",
    "OUTSIDE_COLOUR",
    "STATE_COLOURS",
    "THEME",
    "UNOWNED_COLOUR",
    "member_colours",
]

#: Neighbours in this list are far apart: assignors give neighbours to neighbours. None is near red
#: or violet, which have a meaning.
_MEMBERS = (
    *("#77AADD", "#EEDD88", "#44BB99", "#E8B088", "#CBDD4A"),
    *("#86D5FA", "#D9B84A", "#8FD9A0", "#8CAA5A"),
)
#: With each lap through the list, colours are so much darker, so members nine apart differ too.
_DARKER = (1.0, 0.82, 0.91, 0.74)

UNOWNED_COLOUR, DUAL_COLOUR = "#D81B2A", "#5B2A86"
OUTSIDE_COLOUR = "#B5B8BC"
#: What is drawn on a member's colour, which is light on every page.
INK = "#16202C"
#: A line that is seen on white and on black; the lines beside it are to be seen too.
LAG_COLOUR, CURVE_COLOUR = "#3F83D6", "#7C8694"

STATE_COLOURS: Mapping[str, str] = {
    GroupState.STABLE.value: "#9BCFB0",
    GroupState.PREPARING_REBALANCE.value: "#E8891C",
    GroupState.COMPLETING_REBALANCE.value: "#F6D02F",
    GroupState.EMPTY.value: "#B9C0CA",
    NO_COORDINATOR: "#5B6470",
}

#: What takes the place of colours that are too dark or too light for a dark page.
ON_DARK: Mapping[str, str] = {
    UNOWNED_COLOUR: "#FF4D5B",
    DUAL_COLOUR: "#A064E0",
    OUTSIDE_COLOUR: "#6B7076",
    CURVE_COLOUR: "#B4BECA",
}

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
#: How charts look where no page says otherwise.
THEME: Mapping[str, Any] = {
    # A description of each mark for those who cannot see would be most of an SVG.
    "aria": False,
    "background": "white",
    "font": _FONT,
    "view": {"stroke": None},
    # Of a name that is too long the end is shown: there lanes differ.
    "style": {"guide-label": {"dir": "rtl"}},
    "title": {
        "anchor": "start",
        "fontSize": 13,
        "subtitleFontSize": 11,
        "subtitleColor": "#5B6470",
    },
    "axis": {"domain": False, "gridColor": "#E6E9EE", "tickColor": "#C5CBD3", "labelFontSize": 10},
    "axisY": {"ticks": False},
    "legend": {
        "orient": "top",
        "title": None,
        "labelFontSize": 10,
        "symbolType": "square",
        "symbolSize": 60,
        "symbolStrokeWidth": 0,
        "offset": 4,
        "padding": 0,
        "columnPadding": 8,
    },
}


def member_colours(clients: Sequence[str]) -> dict[str, str]:
    """A colour for each consumer; the same names in the same order have the same colours."""
    return {
        client: _darker(_MEMBERS[n % len(_MEMBERS)], _DARKER[n // len(_MEMBERS) % len(_DARKER)])
        for n, client in enumerate(clients)
    }


def _darker(colour: str, share: float) -> str:
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part * share):02X}" for part in parts)
