"""No pattern in a file can keep Python's matcher busy for ever."""

from __future__ import annotations

import pytest

from simulation.scenarios import CreateTopic, Group, Limits, Scenario, ScenarioError, at
from simulation.scenarios.documents import write
from simulation.scenarios.patterns import TooManySteps, Uncountable, steps_of

LONG = "a" * 200

FOR_EVER = [
    "(a+)+$",
    "(a|a)*b",
    "(a|aa)+b",
    "(.*a){20}",
    ".*.*.*.*.*x",
    "(a{1,100}){100}b",
    "((((a+)+)+)+)+b",
    "(a|a)" * 40 + "b",
    "a?" * 100 + "a" * 100,
    "(?!(a+)+b).*",
    "a{19}(?<=" + "(a|a)" * 19 + ").*",
    "(?i:(A+)+B)",
    "([^b]+)+b",
    r"(\w+)+\d",
    r"([^\W\d]+)+b",
]
AT_ONCE = [
    ".*",
    "orders.*",
    ".*-orders",
    "prod-.*-orders-.*",
    "[a-z]+-[a-z]+-[a-z]+-v[0-9]+",
    "(orders|payments|invoices)-(eu|us)",
    "(?!internal-).*",
    "(?:orders-)*(?:a|b)?",
    "(?i)ORDERS",
    r"^orders\.v\d{1,3}$",
    "(?!)",
]


def mistakes_of(*patterns: str, topic: str = LONG, limits: Limits | None = None) -> list[str]:
    groups = {f"group-{n}": {"pattern": pattern} for n, pattern in enumerate(patterns)}
    text = write({"cluster": {"topics": {topic: {}}}, "groups": groups})
    try:
        Scenario.from_yaml(text, file="a.yaml", limits=limits or Limits())
    except ScenarioError as error:
        return [str(mistake) for mistake in error.mistakes]
    return []


@pytest.mark.parametrize("pattern", FOR_EVER)
def test_what_would_be_matched_for_ever_is_refused(pattern):
    with pytest.raises(TooManySteps):
        steps_of(pattern, [LONG], at_most=500_000)


@pytest.mark.parametrize("pattern", AT_ONCE)
@pytest.mark.parametrize("name", [LONG, "prod-eu-orders-returns-orders-v12", "orders-a"])
def test_what_people_write_is_matched_at_once(pattern, name):
    assert steps_of(pattern, [name], at_most=500_000) < 10 * len(LONG)


@pytest.mark.parametrize(
    ("pattern", "name", "steps"),
    [
        ("ab", "ab", 2),
        ("ab", "cb", 1),  # nothing is tried after what does not match
        ("a*", "aaa", 1 + 4),  # the repetition, and one more try than there are letters
        ("a*b", "aaa", 1 + 4 + 4),  # and b at every place it may end at
        ("(?:a|b)c", "ac", 2),  # a and b are one set, to Python
        ("(?:ab|cd)", "ab", 1 + 2 + 1),
    ],
)
def test_every_try_is_a_step(pattern, name, steps):
    assert steps_of(pattern, [name], at_most=100) == steps


def test_steps_add_up_over_the_names():
    assert steps_of("a*b", ["aaa", "aaa"], at_most=100) == 2 * steps_of("a*b", ["aaa"], at_most=100)
    with pytest.raises(TooManySteps):
        steps_of("a*b", ["aaa"] * 12, at_most=100)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a*)*", "repeats what can be nothing"),
        (r"(a+)\1", "refers to what one of its groups has found"),
        ("(a)?(?(1)b|c)", "refers to what one of its groups has found"),
        ("a{99999999999}", "repetition number is too large"),
        ("[[a]", "Possible nested set"),
        ("\u017f", "in no topic's name"),
        ("[^a-\u017f]", "in no topic's name"),
    ],
)
def test_what_cannot_be_counted_is_said(pattern, reason):
    with pytest.raises(Uncountable, match=reason):
        steps_of(pattern, [LONG], at_most=500_000)


def test_a_pattern_that_takes_for_ever_is_a_mistake_in_the_file():
    (mistake,) = mistakes_of("(a+)+$")

    assert mistake == (
        "a.yaml:7: groups.group-0.pattern: found '(a+)+$', which takes more than 500000 steps to"
        " match the topics' names; must be simpler: no repetition within another, and few one"
        " after the other"
    )


def test_a_topic_that_comes_later_counts_as_well():
    later = at("1s", CreateTopic(name=LONG))
    groups = {"checkout": Group(pattern="(a+)+$")}
    scenario = Scenario(cluster={"topics": {"orders": {}}}, groups=groups, script=[later])

    with pytest.raises(ScenarioError, match="more than 500000 steps"):
        scenario.with_overrides({})


def test_a_pattern_is_no_harm_where_no_name_is_like_it():
    assert mistakes_of("(a+)+$", topic="orders") == []


def test_patterns_are_added_up_and_each_counts_once():
    limits = Limits(pattern_steps=500)

    assert mistakes_of("a*", "a*", "a*", limits=limits) == []
    assert len(mistakes_of("a*", "a*b", "a*c", limits=limits)) == 1


def test_all_else_that_is_wrong_is_told_as_well():
    _, also = mistakes_of("(a+)+$", "(a")

    assert "found '(a'; must be a regular expression: missing )" in also


def test_a_long_pattern_is_refused_and_a_deep_one_is_not():
    assert "must be at most 250 characters long" in mistakes_of("a" * 251)[0]
    assert mistakes_of("(" * 124 + "a" + ")" * 124) == []
