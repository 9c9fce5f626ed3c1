"""YAML as it is read here: safe, bounded, and each value with its line."""

from __future__ import annotations

import re

import pytest

from simulation.scenarios.documents import parse, write
from simulation.scenarios.limits import Limits
from simulation.scenarios.mistakes import ScenarioError


def refusals(text: str, limits: Limits | None = None) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        parse(text, "a.yaml", limits or Limits())
    return [str(mistake) for mistake in refused.value.mistakes]


def test_every_value_knows_the_line_of_its_key():
    document = parse("a: 1\nb:\n  - c\n  - {d: 2}\n", "a.yaml", Limits())

    assert document.data == {"a": 1, "b": ["c", {"d": 2}]}
    assert document.lines["b", 1, "d"] == 4
    assert document.line_of(("b", 1, "nothing", "there")) == 4


@pytest.mark.parametrize(
    "word", ["on", "off", "yes", "No", "1:30", "2026-11-16", "0x1f", "1e", ".inf"]
)
def test_what_looks_like_something_to_older_yaml_is_a_text(word):
    assert parse(f"{word}: {word}", "a.yaml", Limits()).data == {word: word}


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        None,
        17,
        -3,
        1.5,
        "45s",
        "true",
        "12",
        "~",
        "",
        "a\x85b",
        "a\r\nb",
        "\u2028",
        " a\n",
    ],
)
def test_what_is_written_is_read_as_the_same(value):
    assert parse(write({"on": value}), "a.yaml", Limits()).data == {"on": value}


def test_a_key_that_is_there_twice_is_a_mistake_with_its_line():
    assert refusals("a: 1\nb: 2\na: 3\n") == ["a.yaml:3: a: found 'a' twice; must be there once"]


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['true']",
        "a: !!python/name:os.system",
        "a: !thing {b: c}",
        "a: !!set {b, c}",
        "!!python/object:object {}",
    ],
)
def test_no_tag_is_followed(text):
    (refusal,) = refusals(text)

    assert "found the tag" in refusal


def test_a_small_file_cannot_become_a_large_one():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )

    (refusal,) = refusals(bomb)

    assert "found more values than that, once aliases are followed" in refusal


def test_a_value_that_contains_itself_is_a_mistake():
    assert refusals("a: &a [*a]") == [
        "a.yaml:1: a.0: found a value that contains itself; must be finite"
    ]


@pytest.mark.parametrize("text", ["[" * 50_000, "{a: " * 50_000, "- " * 50_000])
def test_what_is_nested_too_deeply_is_refused_in_words(text):
    (refusal,) = refusals(text)

    assert "a.yaml" in refusal


def test_what_is_nested_too_deeply_is_told_with_its_line():
    (refusal,) = refusals(f"a: 1\nb: {'[' * 600}{']' * 600}\nc: [d]\n")

    assert refusal.startswith("a.yaml:2: found values nested too deeply")


def test_a_merge_of_keys_is_told_to_be_none():
    (refusal,) = refusals("a: &a {b: 1}\nc:\n  <<: *a\n")

    assert refusal.startswith("a.yaml:3: c.<<: found a merge of keys, which is not followed")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: b: c\n", "1: found a colon where no key can be; .*must stand in quotes"),
        ("a:\n  b: 1\n c: 2\n", "3: found a line that does not go on with what is above it"),
        ("a:\n\tb: 1\n", "2: found a tab; must be indented with spaces"),
        ("a: @b\n", "1: found a text that begins with @; must stand in quotes"),
        ("a: - b\n", "1: found `- ` in the line of a key; must begin a line of its own"),
        ("a: 'b' c\n", "1: found more behind a text in quotes; must be within the quotes"),
        ("a:\n  [1, 2\nb: 3\n", "2: found a list that is not closed; must end with ]"),
        ("a: {b: 1\nc: 2\n", "1: found a mapping that is not closed; must end with }"),
        ("a: 1\nb\nc: 2\n", "2: found a line without a colon; must read like `key: value`"),
        ("a: 1\nb: 'x\nc: 2\n", "2: found a quote that is not closed; must be closed"),
        ("a: 1\n---\nb: 2\n", "2: found a second document; must be one scenario"),
        ("a: 1\nb: *c\n", "2: found undefined alias 'c'; must be YAML"),
        ("%", "1: found what cannot be: .*; must be YAML"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line_and_what_to_do(text, told):
    (refusal,) = refusals(text)

    assert re.match(f"a.yaml:{told}", refusal)


def test_a_control_character_is_refused_with_the_line():
    assert refusals("a: 1\nb: \x07\n") == ["a.yaml:2: found a control character; must be YAML"]


def test_a_number_of_too_many_digits_is_a_mistake():
    assert refusals(f"a: {'9' * 10_000}") == [
        "a.yaml:1: a: found a number with too many digits; must be shorter"
    ]


def test_a_text_that_is_too_long_is_refused_before_it_is_read():
    (refusal,) = refusals("a: 1\n" * 100, Limits(file_bytes=100))

    assert refusal == ("a.yaml: found 500 characters; must have at most 100 bytes")
