"""Every command that README and docs show is run, in a folder of its own, and succeeds."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from groupsim.cli import app
from groupsim.commands.shipped import shipped
from tests.groupsim.command import groupsim

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`groupsim ([a-z]+)[^`]*`")


def commands_of(page: Path) -> list[str]:
    """The lines of a page's console blocks that begin with a prompt."""
    blocks = _CONSOLE.findall(page.read_text(encoding="utf-8"))
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def is_played_elsewhere(command: str) -> bool:
    """tests/scenarios/test_shipped.py plays every shipped scenario, whole."""
    found = re.fullmatch(r"groupsim run (\w+)", command)
    return found is not None and found[1] in shipped()


SHOWING = [page for page in PAGES if commands_of(page)]


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_every_command_succeeds_that_is_shown_in(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = [each for each in commands_of(page) if not is_played_elsewhere(each)]

    failures = [told for command in commands if (told := failure_of(command))]

    assert failures == []


def failure_of(command: str) -> str | None:
    """What the command says when it fails; it is called in this process, for speed."""
    program, *words = shlex.split(command)
    if program != "groupsim":
        return f"{command}: only groupsim is called by this test"
    result = groupsim(*words)
    return None if result.exit_code == 0 else f"{command}: {result.exit_code}, {result.stderr}"


def test_the_command_s_own_page_shows_every_verb():
    shown = {command.split()[1] for command in commands_of(ROOT / "docs" / "cli.md")}

    assert set(typer.main.get_command(app).commands) - shown == set()  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_verb_is_there_that_is_named_in(page):
    verbs = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

    assert set(_SPAN.findall(page.read_text(encoding="utf-8"))) - verbs == set()
