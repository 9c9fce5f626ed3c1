"""The page in a real Chromium: it draws, zooms and answers, and asks nobody for anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from groupsim.report.page import page as page_of
from groupsim.report.story import read_story
from tests.groupsim.report.stories import WICKED, a_wicked_directory, story_of
from tests.groupsim.runs import a_death, a_pause

DRAWN = "[data-state=drawn]"
PARTITIONS = ".chart[data-run='0'][data-chart=partitions]"
LAG = ".chart[data-run='0'][data-chart=lag]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own Chromium; without one these tests are skipped, and pytest says so."""
    # Empty is what scripts/chromium.sh says where none runs.
    program = os.environ.get("CHROMIUM", shutil.which("chromium"))
    if not program:
        pytest.skip("there is no Chromium here: `scripts/chromium.sh` installs one where it can")
    with sync_playwright() as playwright:
        # A container's root has no sandbox to put it into; the pages are our own.
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Three pages: of one run, of two side by side, and of one with wicked names."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {
        "one": [story_of(a_death)],
        "two": [story_of(a_death), story_of(a_pause)],
        "wicked": [read_story(a_wicked_directory())],
    }
    for name, runs in pages.items():
        (folder / f"{name}.html").write_text(page_of(runs), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


class Visit:
    """A page that was opened, and all that it complained of or asked for."""

    def __init__(
        self,
        browser: Browser,
        file: Path,
        *,
        width: int = 1280,
        scheme: str = "light",
        has_touch: bool = False,
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 2_000},
            color_scheme=scheme,  # type: ignore[arg-type]
            has_touch=has_touch,
            is_mobile=has_touch,
        )
        self.context.set_default_timeout(15_000)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector(f"body{DRAWN}")
        self.page.wait_for_selector(f"{PARTITIONS}{DRAWN}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def pixels(self, chart: str) -> str:
        """What a chart looks like."""
        return str(self.page.eval_on_selector(f"{chart} canvas", "canvas => canvas.toDataURL()"))

    def window(self) -> tuple[int, int]:
        """The stretch of time that the charts show."""
        self.page.wait_for_selector("body[data-window]")
        from_ms, to_ms = self.page.evaluate("document.body.dataset.window").split("-")
        return int(from_ms), int(to_ms)

    def point_at(self, chart: str, across: float, down: int) -> str:
        """Put the pointer there, a share of the width and so many pixels; the tooltip's text."""
        canvas = self.page.locator(f"{chart} canvas")
        width = canvas.evaluate("canvas => canvas.clientWidth")
        canvas.hover(position={"x": width * across, "y": down})
        tooltip = self.page.locator("#vg-tooltip-element.visible")
        tooltip.wait_for()
        return tooltip.inner_text()

    def swipe(self, chart: str, across: int) -> None:
        """Put a finger on the middle of a chart and draw it so many pixels to the side."""
        box = self.page.locator(f"{chart} canvas").bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + 10
        fingers = self.context.new_cdp_session(self.page)
        for kind, points in (
            ("touchStart", [{"x": x, "y": y}]),
            *(("touchMove", [{"x": x + across * n / 4, "y": y}]) for n in range(1, 5)),
            ("touchEnd", []),
        ):
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def wait_for_another(self, chart: str, before: str) -> None:
        """Until a chart looks otherwise."""
        self.page.wait_for_function(
            "([chart, before]) => document.querySelector(`${chart} canvas`).toDataURL() !== before",
            arg=[chart, before],
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["one", "two", "wicked"])
def test_a_page_draws_without_a_word_in_the_console_or_a_request(
    browser, files, name, width, scheme
):
    with Visit(browser, files[name], width=width, scheme=scheme) as visit:
        assert visit.said == []
        assert visit.asked == [files[name].as_uri()]
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        height = visit.page.eval_on_selector(f"{PARTITIONS} canvas", "each => each.clientHeight")
        assert height > 50


def test_dark_is_another_page_than_light(browser, files):
    looks = []
    for scheme in ("light", "dark"):
        with Visit(browser, files["one"], scheme=scheme) as visit:
            looks.append(visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert looks == ["rgb(255, 255, 255)", "rgb(17, 22, 29)"]


def test_the_wheel_zooms_all_charts_with_control_held(browser, files):
    with Visit(browser, files["one"]) as visit:
        before = {chart: visit.pixels(chart) for chart in (PARTITIONS, LAG)}
        visit.page.locator(f"{PARTITIONS} canvas").hover()
        visit.page.keyboard.down("Control")
        visit.page.mouse.wheel(0, -400)

        for chart, pixels in before.items():
            visit.wait_for_another(chart, pixels)
        from_ms, to_ms = visit.window()
        assert 0 < from_ms < to_ms < story_of(a_death).ended_ms


def test_buttons_zoom_in_and_back_to_the_whole(browser, files):
    with Visit(browser, files["two"]) as visit:
        whole = visit.pixels(PARTITIONS)
        visit.page.get_by_label("zoom in").click()
        visit.wait_for_another(PARTITIONS, whole)
        closer = visit.pixels(PARTITIONS)
        visit.page.get_by_text("whole run").click()
        visit.wait_for_another(PARTITIONS, closer)

        assert visit.window() == (0, max(story_of(a_death).ended_ms, story_of(a_pause).ended_ms))


def test_a_finger_moves_all_charts_in_time(browser, files):
    with Visit(browser, files["one"], width=390, has_touch=True) as visit:
        before = visit.pixels(LAG)
        visit.swipe(PARTITIONS, across=-80)
        visit.wait_for_another(LAG, before)

        from_ms, _ = visit.window()
        assert from_ms > 0


def test_a_tap_tells_who_reads_a_partition(browser, files):
    with Visit(browser, files["one"], width=390, has_touch=True) as visit:
        visit.page.locator(f"{PARTITIONS} canvas").tap(position={"x": 120, "y": 10})

        assert "orders-0" in visit.page.locator("#vg-tooltip-element.visible").inner_text()


def test_a_pointer_on_a_partition_is_told_who_reads_it(browser, files):
    with Visit(browser, files["one"]) as visit:
        told = visit.point_at(PARTITIONS, across=0.2, down=10)

        assert "orders-0" in told
        assert "ada" in told


def test_a_tooltip_tells_a_wicked_name_as_text(browser, files):
    with Visit(browser, files["wicked"]) as visit:
        told = visit.point_at(PARTITIONS, across=0.3, down=10)

        assert WICKED[:30] in told
        assert visit.page.evaluate("window.harmed") is None


def test_a_rebalance_leads_to_its_place_in_the_charts(browser, files):
    last = story_of(a_death).rebalances[-1]
    with Visit(browser, files["one"]) as visit:
        before = visit.pixels(PARTITIONS)
        visit.page.locator(f"a.place[href='#run-0-rebalance-{last.number}']").click()
        visit.wait_for_another(PARTITIONS, before)

        from_ms, to_ms = visit.window()
        assert from_ms < last.rebalance.started_ms < last.rebalance.ended_ms < to_ms
        assert to_ms - from_ms < 10_000
        assert visit.page.url.endswith(f"#run-0-rebalance-{last.number}")


def test_charts_that_nobody_has_scrolled_to_are_on_paper_too(browser, files):
    with Visit(browser, files["two"]) as visit:
        charts = visit.page.locator(".chart")

        visit.page.wait_for_function(
            "() => [...document.querySelectorAll('.chart')].every(each => each.dataset.state)"
        )

        assert charts.count() == charts.locator("canvas").count()


def test_a_link_to_a_run_leads_to_what_the_toolbar_does_not_hide(browser, files):
    with Visit(browser, files["two"]) as visit:
        visit.page.set_viewport_size({"width": 1280, "height": 600})
        visit.page.locator(".card a").last.click()
        visit.page.wait_for_function("() => location.hash === '#run-1' && scrollY > 0")

        heading, toolbar = (
            visit.page.locator(each).bounding_box() for each in ("#run-1 h2", ".toolbar")
        )

        assert heading is not None
        assert toolbar is not None
        assert heading["y"] >= toolbar["y"] + toolbar["height"]


def test_the_button_of_a_chart_is_below_the_toolbar(browser, files):
    with Visit(browser, files["one"]) as visit:
        layers = visit.page.evaluate(
            "() => ['.toolbar', '.chart summary']"
            ".map(each => Number(getComputedStyle(document.querySelector(each)).zIndex))"
        )

        assert layers[0] > layers[1]
