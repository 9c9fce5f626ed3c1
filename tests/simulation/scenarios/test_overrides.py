"""Other values by their paths: `--set path=value`, variants, and the same from Python."""

from __future__ import annotations

import pytest

from simulation.durations import duration_text
from simulation.scenarios import (
    Cluster,
    Crash,
    CrashBroker,
    Group,
    Members,
    Scenario,
    ScenarioError,
    Topic,
    at,
    parse_override,
)


def a_scenario() -> Scenario:
    return Scenario(
        cluster=Cluster(topics={"orders.v1": Topic(partitions=3)}),
        groups={
            "checkout": Group(members=["ada"]),
            "billing": Group(settings={"max.poll.records": 7}),
        },
        script=[at("10s", Crash("ada"))],
        variants={"static": {"groups.checkout.static": True}, "plain": {}},
    )


def partitions(scenario: Scenario) -> list[int]:
    return [topic.partitions for topic in scenario.cluster.topics.values()]


def ada_of(scenario: Scenario) -> Members:
    members = scenario.groups["checkout"].members
    assert not isinstance(members, int)
    return members["ada"]


def polled(scenario: Scenario) -> object:
    return scenario.groups["billing"].settings["max_poll_records"]


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("groups.checkout.static", True, lambda changed: changed.groups["checkout"].static),
        ("cluster.topics.orders.v1.partitions", 9, lambda changed: partitions(changed)[0]),
        ("script.0.at", "20s", lambda changed: duration_text(changed.script[0].at)),
        ("script.0.crash", "any of billing", lambda changed: changed.script[0].do.members[0]),
        ("script.0.crash.members", "any of billing", lambda new: new.script[0].do.members[0]),
        ("groups.billing.members", 3, lambda changed: changed.groups["billing"].members),
        ("groups.checkout.members.ada.static", True, lambda changed: ada_of(changed).static),
        ("groups.checkout.app.commit", "auto", lambda new: new.groups["checkout"].app.commit.value),
        ("groups.billing.settings.max.poll.records", 5, polled),
        ("run_for", "1h", lambda changed: duration_text(changed.run_for)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_path_leads_to(path, value, found):
    assert found(a_scenario().with_overrides({path: value})) == value


def test_a_whole_part_can_be_added_at_a_path():
    found = a_scenario().with_overrides({"cluster.topics.late": {"partitions": 2}})

    assert partitions(found) == [3, 2]


def test_a_path_leads_below_an_action_in_its_short_form():
    scenario = Scenario.from_yaml("""
        cluster: {topics: {orders: {partitions: 2}}}
        groups: {checkout: {members: [ada, bea], subscribe: orders}}
        script: [{at: 10s, crash_broker: 2}]
        variants: {slow_load: {script.0.crash_broker.load: 30s}}
    """)

    (entry,) = scenario.variant("slow_load").script

    assert entry.do == CrashBroker(2, load="30s")


@pytest.mark.parametrize("name", ["session_timeout_ms", "session.timeout.ms"])
def test_the_name_of_a_setting_alone_means_that_of_every_group(name):
    found = a_scenario().with_overrides({name: "10s"})

    assert [group.settings["session_timeout_ms"] for group in found.groups.values()] == [10_000] * 2


def test_the_name_of_what_a_group_has_means_that_of_every_group():
    found = a_scenario().with_overrides({"static": True, "app.process": "2ms per record"})

    groups = found.groups.values()
    assert [(group.static, group.app.process.text) for group in groups] == [
        (True, "2ms per record")
    ] * 2


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("memberz", 3, r"memberz: unknown key .*`members`"),
        ("groups.chekout.static", True, r"groups.chekout.static: unknown name .*`checkout`"),
        ("groups.checkout.statik", True, r"groups.checkout.statik: unknown key .*`static`"),
        ("script.1.at", "20s", r"script.1.at: there is no place '1'; must be below 1"),
        ("script.0.crash.members.x", "y", r"cannot go on to 'x'; here stands 'ada'"),
        ("groups.checkout.static", "maybe", r"groups.checkout.static: found 'maybe'; must be true"),
        ("", 1, r"found ''; must be a path such as"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(path, value, told):
    with pytest.raises(ScenarioError, match=told):
        a_scenario().with_overrides({path: value})


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"members": 2, "static": True, "run_for": "1h"}, "--set members: script.0.crash"),
        ({"run_for": "5s", "static": True}, "--set run_for: script.0.at: found a time after"),
        (
            {"session_timeout_ms": "9s", "static": True, "heartbeat_interval_ms": "9s"},
            "--set session_timeout_ms, heartbeat_interval_ms: groups.checkout.settings: cannot be",
        ),
    ],
)
def test_of_several_changes_those_are_named_without_which_it_would_be_no_mistake(overrides, told):
    with pytest.raises(ScenarioError) as caught:
        a_scenario().with_overrides(overrides, called="--set")

    assert str(caught.value).startswith(told)


def test_a_variant_is_the_scenario_with_its_own_values_and_no_variants():
    found = a_scenario().variant("static")

    assert found.groups["checkout"].static
    assert found.variants == {}


def test_a_scenario_without_variants_has_one_run_of_its_own_name():
    scenario = Scenario(name="deploy", groups={"checkout": Group(pattern="o.*")})

    assert scenario.variant_names == ("deploy",)
    assert scenario.variant("deploy") == scenario


def test_an_unknown_variant_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="variant must be one of static, plain, not 'dynamic'"):
        a_scenario().variant("dynamic")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.b=5", ("a.b", 5)),
        ("a.b=45s", ("a.b", "45s")),
        ("a.b = [x, y]", ("a.b", ["x", "y"])),
        ("a={b: true}", ("a", {"b": True})),
        ("a=b=c", ("a", "b=c")),
        ("a=", ("a", "")),
    ],
)
def test_an_override_is_a_path_and_a_value_in_yaml(text, found):
    assert parse_override(text) == found


@pytest.mark.parametrize("text", ["a.b", "=5", ""])
def test_an_override_without_a_path_or_a_value_is_refused(text):
    with pytest.raises(ValueError, match=r"must read like groups.checkout.static=true"):
        parse_override(text)


def test_a_mistake_in_a_variant_names_the_variant_and_its_line():
    text = """\
cluster: {topics: {orders: {partitions: 4}}}
groups: {checkout: {members: 2, subscribe: [orders]}}
variants:
  A: {}
  B:
    session_timeout_ms: 3s
  C:
    cluster.brokers: none
"""
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_yaml(text, file="f.yaml")

    told = [(each.line, each.path.split(":")[0]) for each in caught.value.mistakes]
    assert told == [(6, "variants.B.session_timeout_ms"), (8, "variants.C.cluster.brokers")]


@pytest.mark.parametrize("name", ["session.timeout.ms", "session_timeout_ms"])
def test_a_variant_finds_a_setting_however_the_file_spells_it(name):
    text = f"""\
cluster: {{topics: {{orders: {{}}}}}}
groups:
  checkout: {{settings: {{session.timeout.ms: 45s}}}}
  billing: {{}}
variants:
  short: {{{name}: 10s}}
"""

    short = Scenario.from_yaml(text).variant("short")

    assert [group.settings for group in short.groups.values()] == 2 * [
        {"session_timeout_ms": 10_000}
    ]
