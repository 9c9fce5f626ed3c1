"""Every command that README and docs show is run, in a folder of its own, and succeeds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from groupsim.cli import app
from groupsim.commands.shipped import shipped

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
def test_every_command_succeeds_that_is_shown_in(page, tmp_path):
    commands = [each for each in commands_of(page) if not is_played_elsewhere(each)]

    failures = [told for command in commands if (told := failure_of(command, tmp_path))]

    assert failures == []


def failure_of(command: str, folder: Path) -> str | None:
    """What a shell says when the command fails; it finds the `groupsim` of this tree."""
    program = folder / ".bin" / "groupsim"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m groupsim "$@"\n')
        program.chmod(0o755)
    result = subprocess.run(  # noqa: S602 # what a page shows is for a shell
        command,
        shell=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return None if result.returncode == 0 else f"{command}: {result.returncode}, {result.stderr}"


def test_the_command_s_own_page_shows_every_verb():
    shown = {command.split()[1] for command in commands_of(ROOT / "docs" / "cli.md")}

    assert set(typer.main.get_command(app).commands) - shown == set()  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_verb_is_there_that_is_named_in(page):
    verbs = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

    assert set(_SPAN.findall(page.read_text(encoding="utf-8"))) - verbs == set()
