"""The page of a sweep, from answers that are written here."""

from __future__ import annotations

import re
from typing import Any

from groupsim.report.pictures import as_svg
from groupsim.report.sweep_charts import heat_map, pareto_chart
from groupsim.report.sweep_page import picture_of, sweep_page

EVIL = "<script>alert(1)</script>"


def an_answer(**more: Any) -> dict[str, Any]:
    """Two settings of one axis, of which the first is better in everything."""
    settings: list[dict[str, Any]] = [
        {"setting": n, "variant": "as_it_is", "chosen": {"session_timeout_ms": text}}
        for n, text in enumerate(("6s", "10s"))
    ]
    estimates = [
        {
            **setting,
            "figure": f"{statistic}(unowned_s)",
            "runs": 5,
            "failed": 0,
            "estimate": 4.25 + setting["setting"],
            "low": 4.0,
            "high": 6.0,
        }
        for setting in settings
        for statistic in ("mean", "p50", "p99")
    ]
    return {
        "scenario": "a_death",
        "title": "",
        "question": "How long?",
        "axes": {"session_timeout_ms": ["6s", "10s"]},
        "variants": ["as_it_is"],
        "settings": 2,
        "seeds": 5,
        "runs": 10,
        "runs_kept": 10,
        "failed": 0,
        "failures": [],
        "measures": ["unowned_s"],
        "estimates": estimates,
        "distributions": [
            {**each, "figure": "mean(unowned_s)", "quantiles": [1.0, 2.0, 3.0, 4.0, 5.0]}
            for each in settings
        ],
        "pareto": [
            {
                "across": "mean(unowned_s)",
                "up": "mean(detection_s)",
                "settings": [
                    {**each, "across": n + 1.0, "up": n + 2.0, "is_best": n == 0}
                    for n, each in enumerate(settings)
                ],
            }
        ],
        "recommendation": {"sentence": "take session_timeout_ms=6s"},
        "gates": [
            {
                "bound": "p99(unowned_s) < 5",
                "holds": False,
                "settings": [{"holds": True}, {"holds": False}],
            }
        ],
    } | more


def words_of(page: str) -> str:
    """What a reader sees, charts included."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_page_of_a_sweep_begins_with_the_advice_and_has_every_chart():
    page = sweep_page(an_answer())

    words = words_of(page)
    assert words.index("take session_timeout_ms=6s") < words.index("The plane of settings")
    assert page.count("<svg") == 3
    assert "4.25 (4 to 6)" in words
    assert "FAIL p99(unowned_s) &lt; 5 in 1 of 2 settings" in words


def test_without_advice_the_page_begins_with_the_settings_that_have_least_and_most():
    words = words_of(sweep_page(an_answer(recommendation=None)))

    assert "Mean unowned_s: least with 6s, 4.25; most with 10s, 5.25." in words


def test_the_words_of_dots_that_are_side_by_side_stand_above_and_below():
    (line,) = an_answer()["pareto"]
    near = [
        each | {"across": 9.0 + n / 10, "up": 8.0 - n / 10, "is_best": True}
        for n, each in enumerate(line["settings"])
    ]

    rows = pareto_chart(an_answer(), line | {"settings": near})["datasets"]["rows"]

    assert [row["is_below"] for row in rows] == [False, True]


def test_the_axis_with_most_values_goes_to_the_right():
    answer = an_answer(axes={"session_timeout_ms": ["6s", "10s"], "members": ["3"]})
    for row in answer["estimates"]:
        row["chosen"] = {**row["chosen"], "members": "3"}

    chart = heat_map(answer, "mean(unowned_s)")

    assert [row["column"] for row in chart["datasets"]["rows"]] == ["6s", "10s"]
    assert {row["lane"] for row in chart["datasets"]["rows"]} == {"3"}


def test_one_picture_has_every_plane_and_every_line():
    picture = as_svg(picture_of(an_answer()))

    assert "mean(unowned_s) against mean(detection_s)" in words_of(picture)
    assert "4.25" in words_of(picture)


def test_a_chart_that_would_tell_nothing_is_left_out():
    (line,) = an_answer()["pareto"]
    flat = line | {"settings": [each | {"up": 1.0} for each in line["settings"]]}

    assert sweep_page(an_answer(pareto=[flat])).count("<svg") == 2


def test_no_text_of_a_scenario_becomes_part_of_the_page():
    answer = an_answer(title=EVIL, variants=[EVIL, "as_it_is"])
    for rows in (answer["estimates"], answer["distributions"], answer["pareto"][0]["settings"]):
        rows[0]["variant"] = EVIL

    page = sweep_page(answer)

    assert "<script" not in page
    assert "default-src 'none'" in page


def test_runs_that_failed_stand_with_the_command_that_repeats_them():
    failure = {"error": "ValueError: it failed", "command": "groupsim run a_death --seed 3"}

    words = words_of(sweep_page(an_answer(failed=1, failures=[failure])))

    assert "1 run failed" in words
    assert "groupsim run a_death --seed 3" in words
