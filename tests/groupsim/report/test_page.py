"""The page as text: nothing in it is fetched, nobody's name is part of it, and it is not large."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from attrs import evolve

from groupsim.report.bands import Trouble
from groupsim.report.ownership import OWNED, UNOWNED, Stay
from groupsim.report.page import page
from groupsim.report.story import read_story
from simulation.measures import Member, Place
from tests.groupsim.report.stories import WICKED, a_wicked_directory, story_of
from tests.groupsim.runs import a_death, a_pause

MEGABYTE = 1_000_000


class Parts(HTMLParser):
    """What a browser would make of a page: its elements, and the text outside of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text.append(data)

    def handle_endtag(self, _tag):
        self._inside = ""


def data_of(html: str) -> Any:
    (text,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(text)


def test_nothing_in_the_page_is_to_be_fetched():
    elements = Parts(page([story_of(a_death)])).elements

    links = [
        value
        for _, attributes in elements
        for name, value in attributes.items()
        if name in ("href", "src", "srcset", "action", "data") and value
    ]
    assert [link for link in links if not link.startswith(("#", "data:"))] == []
    assert any("default-src 'none'" in str(each) for _, each in elements)


def test_names_are_shown_and_never_part_of_the_page():
    wicked = Parts(page([read_story(a_wicked_directory())]))
    harmless = Parts(page([story_of(a_death)]))

    assert WICKED in "".join(wicked.text)
    scripts = [tag for tag, _ in wicked.elements].count("script")
    assert scripts == [tag for tag, _ in harmless.elements].count("script")
    assert "b" not in {tag for tag, _ in wicked.elements} - {tag for tag, _ in harmless.elements}


def test_names_come_whole_to_the_charts():
    data = data_of(page([read_story(a_wicked_directory())]))

    assert f"{WICKED}orders-0" in data["runs"][0]["frames"]["ownership"]["lane"]["words"]


def test_the_same_runs_give_the_same_bytes():
    assert page([story_of(a_death)]) == page([story_of(a_death)])


def test_every_rebalance_is_on_the_page_with_its_sentences_and_a_link_to_its_place():
    html = page([story_of(a_death)])

    text = " ".join("".join(Parts(html).text).split())
    for told in story_of(a_death).rebalances:
        assert f'href="#run-0-rebalance-{told.number}"' in html
        assert f'id="run-0-rebalance-{told.number}"' in html
        assert " ".join(told.sentences) in text


def test_runs_stand_side_by_side_on_one_scale():
    runs = [story_of(a_death), story_of(a_pause)]

    html = page(runs)

    data = data_of(html)
    assert data["ended_ms"] == max(run.ended_ms for run in runs)
    cards = [each for _, each in Parts(html).elements if each.get("data-chart") == "card"]
    assert [card["data-run"] for card in cards] == ["0", "1"]


def lanes_in(chart: Any) -> list[str]:
    (domain,) = {
        tuple(layer["encoding"]["y"]["scale"]["domain"])
        for layer in chart["spec"]["layer"]
        if "y" in layer["encoding"]
    }
    return list(domain)


def test_a_run_has_no_lane_for_members_that_only_others_have():
    data = data_of(page([story_of(a_death), story_of(a_pause)]))

    without, whole = (run["charts"] for run in data["runs"])
    assert lanes_in(without["members"]) == ["ada", "bea"]
    assert whole == {}
    assert lanes_in(data["charts"]["members"]) == ["ada", "bea", "cat"]


def test_what_came_of_an_expectation_is_written_as_in_the_summary():
    story = story_of(a_death)
    expected = [{"text": "unowned_s < 450", "figure": 1991.9409999999998, "holds": False}]
    run_file = evolve(story.run_file, outcome={"expectations": expected})

    assert "(it was 1,991.941)" in page([evolve(story, run_file=run_file)])


def test_what_a_script_does_is_told_in_words_too():
    troubles = [
        Trouble(what="broker 1 is down", from_ms=10_000, to_ms=20_500),
        Trouble(what="broker 2 is down", from_ms=12_000, to_ms=story_of(a_death).ended_ms),
        Trouble(what="topic orders has 12 partitions", from_ms=15_000, to_ms=15_000),
    ]

    html = page([evolve(story_of(a_death), troubles=troubles)])

    assert (
        "script: broker 1 is down, from 10.0 s to 20.5 s; broker 2 is down, from 12.0 s to the end;"
        " topic orders has 12 partitions, at 15.0 s" in html
    )


def test_a_page_of_a_large_deploy_is_smaller_than_five_megabytes():
    story = story_of(a_death)
    # What fifty pods and a hundred partitions go through in fifteen minutes when each pod that
    # goes or comes makes all of them stop, and three variants of it.
    stays = [
        Stay(
            place=Place("checkout", "orders", partition),
            kind=kind,
            owners=owners,
            from_ms=at_ms + n * 9_000,
            to_ms=until_ms + n * 9_000,
        )
        for partition in range(100)
        for n in range(100)
        for kind, owners, at_ms, until_ms in (
            (OWNED, (f"checkout-{(partition + n) % 50}",), 13, 9_000),
            (UNOWNED, (), 0, 13),
        )
    ]
    large = evolve(story, ownership=stays, ended_ms=900_000)

    assert len(page([large] * 3).encode()) < 5 * MEGABYTE


def test_what_the_coordinator_refused_is_not_told_a_second_time():
    run = story_of(a_death)
    refused = {Member("checkout", "ada"): {"UNKNOWN_MEMBER_ID": 5}}
    failed = {("checkout", "UNKNOWN_MEMBER_ID"): 5, ("checkout", "CommitFailedException"): 3}

    html = page(
        [
            evolve(
                run,
                measures=evolve(run.measures, commits_refused=refused),
                failed_commits=failed,
            )
        ]
    )

    assert "refused: 5 UNKNOWN_MEMBER_ID" in html
    assert "<dd>without hearing a refusal: 3 CommitFailedException</dd>" in html


def test_each_of_several_runs_says_what_it_has_that_not_all_have():
    run = story_of(a_death)
    settings = [{"session_timeout_ms": each} for each in ("6s", "45s")]
    runs = [
        evolve(
            run,
            run_file=evolve(run.run_file, scenario={"groups": {"checkout": {"settings": each}}}),
        )
        for each in settings
    ]

    html = page(runs)

    assert "In this run: session.timeout.ms 6s</p>" in html
    assert "In this run: session.timeout.ms 45s</p>" in html
    assert "In this run" not in page(runs[:1])


@pytest.mark.parametrize(
    ("liveness", "said"),
    [
        (
            "kept: settled 46.1 s after the last disturbance",
            "All groups were at rest 46.1 s after the last disturbance",
        ),
        (
            "kept: settled 0.0 s after the last disturbance",
            "All groups were at rest right after the last disturbance",
        ),
        ("not asked for: it goes on", "The groups need not come to rest: it goes on"),
    ],
)
def test_whether_the_groups_came_to_rest_is_said_without_jargon(liveness, said):
    story = story_of(a_death)
    run_file = evolve(story.run_file, outcome={"liveness": liveness})

    assert f">{said}</li>" in page([evolve(story, run_file=run_file)])


def test_a_rebalance_keeps_what_the_client_said_of_itself():
    story = story_of(a_death)
    first = story.rebalances[0]
    reason = evolve(first.rebalance, cause="ada joined", client_reason="new subscription")

    html = page([evolve(story, rebalances=(evolve(first, rebalance=reason),))])

    assert ">ada joined (new subscription)</td>" in html


def test_the_meaning_of_each_measure_is_there_for_those_without_room_beside_it():
    html = page([story_of(a_death), story_of(a_pause)])

    meaning = "records never processed, though committed past; all partitions together"
    assert f"<dt>lost</dt><dd>{meaning}</dd>" in html


def test_what_the_script_wanted_of_nobody_is_on_the_page():
    story = story_of(a_death)
    missed = [{"at_ms": 65_000, "whom": "owner of orders-60"}]
    run_file = evolve(story.run_file, outcome={"missed": missed})

    html = page([evolve(story, run_file=run_file)])

    assert "the script found nobody for: owner of orders-60 at 65.0 s" in html
