"""Mistakes in a file: all of them at once, each with its place and the nearest known word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulation.scenarios import Limits, Scenario, ScenarioError, validate

A_FILE = """\
title: A deploy
cluster:
  topics:
    orders: {partitions: 12, records: 5/s}
groups:
  checkout:
    members: [ada, bea]
    subscribe: orders
    settings: {session.timeout.ms: 45s}
script:
  - at: 10s
    crash: ada
    for: 5s
run_for: 1m
expect:
  - lost == 0
variants:
  eager: {}
  static: {groups.checkout.static: true}
"""


def mistakes_in(text: str, **options: object) -> list[str]:
    try:
        Scenario.from_yaml(text, file="a.yaml", **options)  # type: ignore[arg-type]
    except ScenarioError as error:
        return [str(mistake) for mistake in error.mistakes]
    return []


def with_line(old: str, new: str) -> str:
    assert old in A_FILE
    return A_FILE.replace(old, new)


def test_the_file_of_these_tests_is_a_scenario():
    assert mistakes_in(A_FILE) == []


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("title:", "titel:", "1: titel: unknown key 'titel'; .*did you mean `title`"),
        (
            "session.timeout.ms: 45s",
            "sesion.timeout.ms: 45s",
            "9: groups.checkout.settings.sesion.timeout.ms: unknown setting .*`session_timeout_ms`",
        ),
        ("45s", "45x", "9: .*found '45x'; must be a length of time such as 250ms"),
        (
            "45s",
            "1s",
            r"9: groups.checkout.settings: .*heartbeat_interval_ms \(3000\) must be below",
        ),
        ("at: 10s", "at: 10", "11: script.0.at: found 10; must be a length of time"),
        ("at: 10s", "att: 10s", "11: script.0.att: unknown key 'att'; .*did you mean `at`"),
        (
            "at: 10s",
            "at: 10m",
            "11: script.0.at: found a time after the end; must be within run_for",
        ),
        ("crash: ada", "crush: ada", "12: script.0.crush: unknown action .*did you mean `crash`"),
        ("crash: ada", "crash: adda", "12: script.0.crash.members: unknown consumer .*`ada`"),
        ("crash: ada", "crash: leader of chekout", "12: .*unknown group .*`checkout`"),
        ("crash: ada", "crash: owner of ordres-1", "12: .*unknown topic .*`orders`"),
        (
            "crash: ada",
            "crash_broker: 7",
            "12: script.0.crash_broker.broker: found broker 7; there are 1",
        ),
        ("crash: ada", "start: ada", "11: script.0: found for, with start; must stand with one of"),
        ("subscribe: orders", "subscribe: order", "8: groups.checkout.subscribe.0: .*`orders`"),
        (
            "records: 5/s",
            "records: 5",
            "4: cluster.topics.orders.records: found 5; must be records",
        ),
        ("partitions: 12", "partitions: 0", "4: .*partitions: found 0; must be a whole number"),
        (
            "partitions: 12",
            "partitions: 12.5",
            "4: .*partitions: found 12.5; must be a whole number",
        ),
        ("lost == 0", "lots == 0", "16: expect.0: found 'lots == 0'; .*did you mean `lost`"),
        ("lost == 0", "checkout is stable", "16: expect.0: .*did you mean `Stable`"),
        ("lost == 0", "p99(sum(lost)) == 0", "16: expect.0: .*two are for a sweep"),
        (
            "groups.checkout.static",
            "groups.chekout.static",
            "19: variants.static.groups.chekout.static",
        ),
        (
            "static: true}",
            "static: maybe}",
            "19: variants.static.groups.checkout.static: found 'maybe'; must be true",
        ),
        ("static: {", "../../static: {", "19: variants.*: found '../../static'; must be up to 200"),
        ("[ada, bea]", "[ada, ada]", "7: groups.checkout.members: found a name twice"),
        ("[ada, bea]", "{a: {count: 2}, a-1: }", "7: .*found the name a-1 twice"),
    ],
)
def test_a_mistake_is_told_with_its_line_its_path_and_what_is_allowed(old, new, mistake):
    text = with_line(old, new)

    found = "\n".join(mistakes_in(text))

    assert re.search(f"a.yaml:{mistake}", found), found


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines():
    text = A_FILE
    for old, new in (
        ("title:", "titel:"),
        ("partitions: 12", "partitions: none"),
        ("45s", "45x"),
        ("crash: ada", "crush: ada"),
        ("lost == 0", "lots == 0"),
        ("groups.checkout.static", "groups.chekout.static"),
    ):
        text = text.replace(old, new)

    found = mistakes_in(text)

    assert [each.split(" ")[0] for each in found] == [
        *("a.yaml:1:", "a.yaml:4:", "a.yaml:9:", "a.yaml:12:", "a.yaml:16:", "a.yaml:19:")
    ]


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        (
            "members: [ada, bea]",
            "members: {ada: {count: x}}",
            "7: groups.checkout.members.ada.count: found 'x'; must be a whole number, at least 1",
        ),
        (
            "members: [ada, bea]",
            "members: 2.5",
            (
                "7: groups.checkout.members: found 2.5;"
                " must be a whole number, a list of names, or names with details"
            ),
        ),
        (
            "  topics:\n    orders: {partitions: 12, records: 5/s}\n",
            "  topics: orders\n",
            "3: cluster.topics: found 'orders'; must be a mapping of names",
        ),
    ],
)
def test_what_stands_where_nothing_could_be_read_is_not_also_unknown(old, new, mistake):
    assert mistakes_in(with_line(old, new)) == [f"a.yaml:{mistake}"]


def test_a_group_with_nothing_to_read_is_a_mistake():
    assert mistakes_in("groups:\n  checkout: {members: 2}\n") == [
        "a.yaml:2: groups.checkout: found no topic to read; must have `subscribe` or `pattern`"
    ]


def test_groups_that_cannot_be_read_are_not_also_unknown():
    text = "groups: 5\nscript:\n  - {at: 1s, crash: leader of checkout}\n  - {at: 1s, crash: ada}\n"

    assert mistakes_in(text) == ["a.yaml:1: groups: found 5; must be a mapping of names"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "found nothing; must be a scenario"),
        ("just a text", "found 'just a text'; must be a mapping"),
        ("[1, 2]", "found a list; must be a mapping"),
        ("groups: 5", "groups: found 5; must be a mapping of names"),
        ("script: 5", "script: found 5; must be a list"),
        ("script: [5]", "script.0: found 5; must be a mapping: when, and an action"),
        ("script: [{at: 1s}]", "script.0: found no action"),
        ("script: [{at: 1s, crash: a, start: a}]", "found crash and start; must have one action"),
        ("script: [{crash: a}]", "script.0: found none of at, every, on"),
        ("variants: {a: 5}", "variants.a: found 5; must be a mapping"),
        ("cluster: {latency: fast}", "cluster.latency: found 'fast'; must be `lan`"),
        ("groups: {'': {}}", "groups.: found ''; must be up to 200"),
    ],
)
def test_what_is_no_scenario_at_all_is_told_so(text, found):
    assert found in "\n".join(mistakes_in(text))


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (
            Limits(members=1),
            "groups: found 2 members; must be at most 1; --max-members N raises this",
        ),
        (Limits(partitions=11), "cluster.topics: found 12 partitions; must be at most 11"),
        (Limits(brokers=2), "cluster.brokers: found 3 brokers; must be at most 2"),
        (Limits(variants=1), "variants: found 2 variants; must be at most 1"),
        (Limits(nodes=10), "must have at most 10 values"),
        (Limits(file_bytes=10), "must have at most 10 bytes"),
    ],
)
def test_sizes_are_bounded(limits, found):
    assert found in "\n".join(mistakes_in(A_FILE, limits=limits))


def test_code_is_not_run_unless_it_is_allowed():
    text = with_line("session.timeout.ms: 45s", "partition.assignment.strategy: os.path:join")

    (found,) = mistakes_in(text)

    assert found == (
        "a.yaml:9: groups.checkout.settings.partition_assignment_strategy: found os.path:join;"
        " code of yours runs only where it is allowed: --allow-python"
    )


def test_code_that_cannot_be_imported_is_a_mistake():
    text = with_line("subscribe: orders", "app: {python: no_such_module:app}")

    (found,) = mistakes_in(text, allow_python=True)

    assert "groups.checkout.app.python: found no_such_module:app; must be importable" in found


def test_a_file_is_called_as_its_scenario_unless_that_has_a_name(tmp_path):
    path = tmp_path / "my_deploy.yaml"
    path.write_text(A_FILE)

    assert Scenario.from_file(path).name == "my_deploy"
    assert validate(path) == ()


@pytest.mark.parametrize(
    ("written", "found"),
    [(b"a: \xff\n", "a.yaml:1: found bytes that are no UTF-8"), (b"", "a.yaml:1: found nothing")],
)
def test_a_file_that_is_no_text_is_told_so(tmp_path, written, found):
    (tmp_path / "a.yaml").write_bytes(written)

    (mistake,) = validate(tmp_path / "a.yaml")

    assert found in str(mistake)


def test_a_file_that_is_not_there_is_told_so():
    (mistake,) = validate(Path("no") / "such.yaml")

    assert str(mistake) == "no/such.yaml: cannot be read: No such file or directory; must be a file"


@pytest.mark.parametrize(
    ("entry", "mistake"),
    [
        ("{on: {kind: state_changed, state: Stabel}, crash: ada}", "on.state: .*mean `Stable`"),
        ("{on: {kind: reply_sent, error: BOGUS}, crash: ada}", "on.error: unknown error 'BOGUS'"),
        ("{on: {kind: reply_sent, request: JionGroup}, crash: ada}", "on.request: .*`JoinGroup`"),
        ("{on: {kind: consumer_started, client: adda}, crash: ada}", "on.client: .*`ada`"),
        (
            "{on: {kind: reply_sent, client: leader of chekout}, crash: ada}",
            "on.client: unknown group .*`checkout`",
        ),
        (
            "{on: {kind: reply_sent, client: any of checkout}, crash: ada}",
            "on.client: found 'any of checkout'; must be a consumer's name, or `leader of GROUP`",
        ),
        ("{on: {kind: state_changed, protocol: rnage}, crash: ada}", "on.protocol: .*`range`"),
        ("{on: {kind: reply_sent, broker: 9}, crash: ada}", "on.broker: found broker 9; there are"),
        ("{on: {kind: topic_created, topic: nope}, crash: ada}", "on.topic: unknown topic 'nope'"),
        (
            "{on: {kind: commit_failed, topic: orders, partition: 99}, crash: ada}",
            "on.partition: found partition 99; orders has 0 to",
        ),
        ("{on: {kind: commit_failed, partition: 99}, crash: ada}", "on.partition: found partition"),
        ("{at: 1s, crash: owner of orders-99}", "crash.members: found partition 99"),
        ("{at: 1s, append: {topic: orders, records: 1, partition: 99}}", "append.partition: found"),
        ("{at: 1s, truncate: {topic: orders, before: 1, partition: 99}}", "truncate.partition: f"),
        ("{at: 1s, add_partitions: {topic: orders, to: 1}}", "add_partitions.to: .*more than the"),
        ("{at: 1s, create_topic: {name: orders}}", "create_topic.name: found orders, which is"),
        ("{at: 1s, raw: {member: ada, group: checkout, send: join}}", "raw.member: found ada"),
        ("{at: 1s, hold: {members: ada, request: JionGroup}}", "hold.request: .*`JoinGroup`"),
        ("{at: 1s, change: {members: ada}}", "change: found no change"),
        (
            "{at: 1s, autoscale: {group: checkout, lag_per_member: 1, least: 9, most: 5}}",
            "autoscale: found least 9; must be at most most, 5",
        ),
    ],
)
def test_an_entry_that_could_never_do_anything_is_refused(entry, mistake):
    found = "\n".join(mistakes_in(f"{A_FEW}script:\n  - {entry}\n"))

    assert re.search(rf"a.yaml:4: script.0.{mistake}", found), found


A_FEW = """\
cluster: {topics: {orders: {partitions: 4}}}
groups: {checkout: {members: [ada, bea], subscribe: orders}}
"""


def test_too_many_members_are_told_with_the_flag_that_allows_them_and_nothing_follows():
    text = """\
cluster: {topics: {orders: {partitions: 4}}}
groups: {checkout: {members: 3000, subscribe: orders}}
script: [{at: 1s, crash: checkout-2}]
"""
    (found,) = mistakes_in(text)

    assert found.endswith("found 3000 members; must be at most 2000; --max-members N raises this")
