"""Charts without a browser."""

from __future__ import annotations

import colorsys
import math
from base64 import b64encode
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
import vl_convert
from attrs import evolve

from groupsim.report.charts import Canvas, members_chart, partitions_chart
from groupsim.report.frames import lanes_of
from groupsim.report.ownership import UNOWNED
from groupsim.report.palette import (
    CURVE_COLOUR,
    DUAL_COLOUR,
    ON_DARK,
    UNOWNED_COLOUR,
    member_colours,
)
from groupsim.report.pictures import as_png, as_svg, charts_of, filled, picture
from groupsim.report.png import smaller
from groupsim.report.story import read_story
from tests.groupsim.report.stories import WICKED, a_wicked_directory, story_of
from tests.groupsim.runs import a_death, a_pause

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - ours


def test_a_picture_has_the_names_of_its_runs_and_lanes():
    svg = as_svg(picture([story_of(a_death), story_of(a_pause)], ["first", "second"]))

    assert {"run", "first", "second", "orders-0", "checkout"} <= set(texts_of(svg))


def test_every_lane_has_its_name_beside_it_down_to_the_first():
    names = [f"pod-{n}" for n in range(6)]
    lanes = evolve(lanes_of([story_of(a_death)]), members=names, clients=names)

    chart = members_chart(Canvas(lanes=lanes, width=300, is_live=False))
    svg = as_svg(filled(chart, {}, lanes))

    assert set(names) <= set(texts_of(svg))


def test_where_old_and_new_ones_take_turns_some_of_both_have_their_names():
    names = [name for n in range(50) for name in (f"pod-{n}", f"pod-{n}-v2")]
    lanes = evolve(lanes_of([story_of(a_death)]), members=names, clients=names)

    chart = members_chart(Canvas(lanes=lanes, width=300, is_live=False))
    shown = set(names) & set(texts_of(as_svg(filled(chart, {}, lanes))))

    assert {name.endswith("-v2") for name in shown} == {True, False}


def test_long_names_have_the_room_that_they_need():
    name = "a-very-long-name-of-a-pod-in-a-cluster"
    lanes = evolve(lanes_of([story_of(a_death)]), partitions=[name], members=[], clients=[])

    chart = partitions_chart(Canvas(lanes=lanes, width=300, is_live=False))
    svg = as_svg(filled(chart, {}, lanes))

    assert any(text.endswith(name[-20:]) for text in texts_of(svg))


def test_of_names_that_are_too_long_the_end_is_shown_because_there_they_differ():
    names = [f"a-deployment-with-a-name-that-nobody-can-remember-{n}" for n in range(3)]
    lanes = evolve(lanes_of([story_of(a_death)]), members=names, clients=names)

    chart = members_chart(Canvas(lanes=lanes, width=300, is_live=False))
    svg = as_svg(filled(chart, {}, lanes))

    ends = [text[-4:] for text in texts_of(svg) if text.startswith("\N{HORIZONTAL ELLIPSIS}")]
    assert ends == ["er-0", "er-1", "er-2"]


def test_a_consumer_that_only_others_have_has_no_lane():
    runs = [story_of(a_death), story_of(a_pause)]

    lanes = [dict(charts_of(run, runs))["members"] for run in runs]

    assert ["cat" in texts_of(as_svg(chart)) for chart in lanes] == [False, True]


def test_long_words_under_a_name_take_as_many_lines_in_each_column():
    runs = [story_of(a_death), story_of(a_pause)]

    spec = picture(runs, ["short", "words and more words " * 5])

    short, long = (each["title"]["subtitle"] for each in spec["concat"])
    assert len(short) == len(long) > 1
    assert short[0] == "short"


def test_a_gap_is_red_in_the_picture():
    assert UNOWNED_COLOUR in as_svg(picture([story_of(a_death)]))


def test_a_gap_that_is_shorter_than_a_pixel_has_the_width_of_a_line():
    story = story_of(a_death)
    (gap, *_) = [stay for stay in story.ownership if stay.kind == UNOWNED]
    moment = evolve(gap, from_ms=30_000, to_ms=30_001)

    charts = dict(charts_of(evolve(story, ownership=[moment])))

    widths = [
        float(each.get("d", "").split("h")[1].split("v")[0])
        for each in ET.fromstring(as_svg(charts["partitions"])).iter(f"{SVG}path")  # noqa: S314 - ours
        if each.get("fill") == UNOWNED_COLOUR
    ]
    assert max(widths) == 1


def test_words_in_a_picture_are_no_wider_than_their_chart():
    spec = picture([story_of(a_death), story_of(a_pause)])

    charts = [chart for column in spec["concat"] for chart in column["vconcat"]]
    lines = [line for chart in charts for line in chart["title"].get("subtitle", ())]
    assert len(lines) > len(charts)
    assert max(map(len, lines)) <= 66


def test_a_picture_can_be_a_png():
    (_, groups), *_ = charts_of(story_of(a_death))

    assert as_png(groups).startswith(b"\x89PNG")


def test_a_png_is_made_smaller_and_shows_the_same():
    (_, groups), *_ = charts_of(story_of(a_death))
    hasty = vl_convert.vegalite_to_png(groups)

    small = smaller(hasty)

    assert len(small) < len(hasty) / 2
    shown = [
        vl_convert.svg_to_png(
            '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="90">'
            f'<image href="data:image/png;base64,{b64encode(png).decode()}"/></svg>'
        )
        for png in (hasty, small)
    ]
    assert shown[0] == shown[1]


def test_each_chart_stands_by_itself_under_its_name():
    assert [name for name, _ in charts_of(story_of(a_death))] == [
        *("groups", "partitions", "members", "lag")
    ]


def test_names_are_text_in_a_picture():
    svg = as_svg(picture([read_story(a_wicked_directory())]))

    assert not list(ET.fromstring(svg).iter(f"{SVG}script"))  # noqa: S314 - ours
    assert any(text.startswith(WICKED[:5]) for text in texts_of(svg))


def test_fifty_members_have_colours_that_differ_from_their_neighbours_and_from_a_gap():
    colours = list(member_colours([f"pod-{n}" for n in range(50)]).values())

    assert all(one != other for one, other in pairwise(colours))
    assert not {UNOWNED_COLOUR, DUAL_COLOUR} & set(colours)


def test_no_member_has_a_colour_that_might_be_called_red_pink_or_violet():
    colours = set(member_colours([f"pod-{n}" for n in range(50)]).values())

    # Degrees on the wheel: what is wrong is between 230 and 360.
    hues = [
        360 * colorsys.rgb_to_hsv(*(int(each[at : at + 2], 16) / 255 for at in (1, 3, 5)))[0]
        for each in colours
    ]
    assert all(15 < hue < 230 for hue in hues)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (math.pow(each, 2.2) for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [UNOWNED_COLOUR, DUAL_COLOUR, CURVE_COLOUR])
def test_what_is_wrong_is_clear_on_white_and_on_black(colour):
    assert contrast(colour, "#FFFFFF") > 3
    assert contrast(ON_DARK[colour], "#11161D") > 3
