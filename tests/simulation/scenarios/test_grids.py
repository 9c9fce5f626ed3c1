"""Axes as people write them, and the settings of a grid."""

from __future__ import annotations

import pytest

from simulation.scenarios import Scenario, ScenarioError
from simulation.scenarios.grids import parse_axis, settings_of

SMALL = """
cluster: {topics: {orders: {partitions: 2}}}
groups: {checkout: {members: 2}}
script: [{at: 5s, crash: checkout-2}]
run_for: 10s
"""


def a_scenario(more: str = "") -> Scenario:
    return Scenario.from_yaml(SMALL + more)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("members=10,50, 100", (10, 50, 100)),
        ("session_timeout_ms=6s..45s:5", ("6s", "15s750ms", "25s500ms", "35s250ms", "45s")),
        ("members=1..4:4", (1, 2, 3, 4)),
        ("members=1, 4..8:3", (1, 4, 6, 8)),
        ("x=0.5..1.0:3", (0.5, 0.75, 1)),
        ("static=true,false", (True, False)),
        ("subscribe=[a, b],c", (["a", "b"], "c")),
    ],
)
def test_an_axis_has_the_values_that_it_lists_or_spans(text, values):
    assert parse_axis(text).values == values


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("members", "must read like members=10,50,100"),
        ("members=", "must read like members=10,50,100"),
        ("=3", "must read like members=10,50,100"),
        ("members=1,,2", "must have a value between commas"),
        ("members=1,2,1", "must have each value once, not 1 again"),
        ("members=1..9", "must say how many values 1..9 has, like 1..9:5"),
        ("members=1..9:1", "a range must have 2 to 1000 values, not 1"),
        ("members=9..1:3", "a range must rise, not go from 9 to 1"),
        ("members=1..2:5", "must have each value once"),
        ("members=1,]", "must have values in YAML; '\\]' is none"),
        ("session_timeout_ms=6s..many:3", "from number to number or from one length of time"),
    ],
)
def test_an_axis_that_cannot_be_is_refused_in_words(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_axis(text)


def test_a_grid_has_every_combination_in_every_variant_the_last_axis_fastest():
    scenario = a_scenario("variants: {one: {}, two: {static: true}}")

    settings = settings_of(scenario, [parse_axis("members=2,3"), parse_axis("run_for=20s,30s")])

    assert [(each.variant, each.text) for each in settings[:5]] == [
        ("one", "members=2, run_for=20s"),
        ("one", "members=2, run_for=30s"),
        ("one", "members=3, run_for=20s"),
        ("one", "members=3, run_for=30s"),
        ("two", "members=2, run_for=20s"),
    ]
    assert settings[7].scenario.groups["checkout"].members == 3
    assert settings[7].scenario.groups["checkout"].static


def test_a_grid_without_axes_has_the_variants():
    assert [each.variant for each in settings_of(a_scenario(), [])] == ["scenario"]


def test_every_mistake_of_all_settings_is_told_at_once_with_where_it_is_one():
    axes = [parse_axis("members=1,two,3"), parse_axis("session_timeout_ms=2s,45s")]

    with pytest.raises(ScenarioError) as caught:
        settings_of(a_scenario(), axes)

    told = str(caught.value)
    assert "--vary session_timeout_ms: with members=1, session_timeout_ms=2s and 2 more" in told
    assert "--vary members: with members=1, session_timeout_ms=2s and 1 more: script.0" in told
    assert "--vary members: with members=two, session_timeout_ms=2s and 1 more: groups" in told
    assert "heartbeat_interval_ms (3000) must be below session_timeout_ms (2000)" in told


def test_a_path_that_is_given_twice_is_refused():
    with pytest.raises(ScenarioError, match="--vary members: given twice"):
        settings_of(a_scenario(), [parse_axis("members=1,2"), parse_axis("members=3")])


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        (
            "session_timeout_ms=6s,10s",
            "groups.checkout.settings.session.timeout.ms=20s",
            "groups.checkout.settings.session_timeout_ms",
        ),
        ("session_timeout_ms=6s", "session.timeout.ms=8s", "settings.session_timeout_ms"),
        ("groups.checkout.members=1,2", "members=3", "groups.checkout.members"),
        ("session_timeout_ms=6s", "settings={max.poll.records: 5}", "settings.session_timeout_ms"),
    ],
)
def test_two_paths_that_lead_to_one_place_are_refused_by_name(one, other, place):
    path, later = one.partition("=")[0], other.partition("=")[0]

    with pytest.raises(ScenarioError) as caught:
        settings_of(a_scenario(), [parse_axis(one), parse_axis(other)])

    assert f"--vary {path}, --vary {later}: both lead to" in str(caught.value)
    assert place in str(caught.value)


def test_a_whole_and_then_a_part_of_it_are_two_axes():
    axes = [parse_axis("settings={},{max.poll.records: 5}"), parse_axis("session_timeout_ms=6s,8s")]

    assert len(settings_of(a_scenario(), axes)) == 4
