"""Every command that README and docs show is run, in a folder of its own, and succeeds."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import Result

from groupsim.cli import app
from groupsim.commands.running import Wish, resolved
from groupsim.commands.shipped import shipped
from tests.groupsim.command import groupsim

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OUTPUT = re.compile(r"^```console\n[^`]*^```\n+```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`groupsim ([a-z]+)[^`]*`")


def commands_of(page: Path) -> list[str]:
    """The lines of a page's console blocks that begin with a prompt."""
    blocks = _CONSOLE.findall(page.read_text(encoding="utf-8"))
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def shown_output(page: Path) -> list[str]:
    """The lines that a page shows as what the console block before them prints."""
    found = _OUTPUT.findall(page.read_text(encoding="utf-8"))
    return [line for block in found for line in block.splitlines()]


def goes_to_a_cluster(command: str) -> bool:
    return re.search(r" --(master spark|remote sc)://", command) is not None


def is_played_elsewhere(command: str) -> bool:
    """tests/scenarios/test_shipped.py plays every shipped scenario, whole.

    tests/cluster/ has a cluster and a Connect server, and asks them what docs/cluster.md asks.
    """
    if goes_to_a_cluster(command):
        return True
    found = re.fullmatch(r"groupsim run (\w+)", command)
    return found is not None and found[1] in shipped()


def needs_spark(page: Path) -> bool:
    commands = [each for each in commands_of(page) if not is_played_elsewhere(each)]
    return any(command.startswith(("groupsim analyze", "groupsim sweep")) for command in commands)


SHOWING = [
    pytest.param(page, marks=[pytest.mark.spark] if needs_spark(page) else [], id=page.name)
    for page in PAGES
    if commands_of(page)
]


@pytest.mark.parametrize("page", SHOWING)
def test_every_command_succeeds_that_is_shown_in(page, tmp_path, monkeypatch, request):
    if needs_spark(page):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    commands = [each for each in commands_of(page) if not is_played_elsewhere(each)]

    results = {command: called(command) for command in commands}

    assert {name: each.stderr for name, each in results.items() if each.exit_code != 0} == {}
    printed = {line for each in results.values() for line in each.stdout.splitlines()}
    assert [line for line in shown_output(page) if line not in printed] == []


def called(command: str) -> Result:
    """What a command prints, and its status; it is called in this process, for speed."""
    program, *words = shlex.split(command)
    assert program == "groupsim", f"{command}: only groupsim is called here"
    return groupsim(*words)


def test_the_command_s_own_page_shows_every_verb():
    shown = {command.split()[1] for command in commands_of(ROOT / "docs" / "cli.md")}

    assert set(typer.main.get_command(app).commands) - shown == set()  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_verb_is_there_that_is_named_in(page):
    verbs = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

    assert set(_SPAN.findall(page.read_text(encoding="utf-8"))) - verbs == set()


_TO_CHANGE = re.compile(r"\*\*What to change and see\*\*(.*)", re.DOTALL)
_FLAGS = re.compile(r"`(--(?:set|variant) [^`]*)`")


def flags_to_try(page: Path) -> list[str]:
    """What a scenario's page says one may add to `groupsim run`."""
    return [
        flags
        for text in _TO_CHANGE.findall(page.read_text(encoding="utf-8"))
        for flags in _FLAGS.findall(text)
    ]


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        pytest.param(page.stem, flags, id=f"{page.stem} {' '.join(flags.split())}")
        for page in sorted((ROOT / "docs" / "scenarios").glob("*.md"))
        for flags in flags_to_try(page)
    ],
)
def test_what_a_page_says_to_change_can_be_played_in_every_variant_that_it_means(name, flags):
    words = shlex.split(flags)
    given = list(zip(words[::2], words[1::2], strict=True))
    wish = Wish(
        scenario=name,
        variants=[value for flag, value in given if flag == "--variant"],
        changes=[value for flag, value in given if flag == "--set"],
    )

    assert resolved(wish).variant_names
