"""Every scenario that comes with groupsim holds, and shows what it is there to show."""

from __future__ import annotations

from functools import cache

import pytest

from groupsim.commands.shipped import FOLDER, shipped
from simulation.scenarios import RunResult, Scenario, play

PAGES = FOLDER.parent.parent / "docs" / "scenarios"


def story(name: str) -> Scenario:
    return Scenario.from_file(shipped()[name])


@cache
def played(name: str, variant: str) -> RunResult:
    return play(story(name), variant=variant)


RUNS = [(name, variant) for name in shipped() for variant in story(name).variant_names]


@pytest.mark.parametrize(("name", "variant"), RUNS, ids=[f"{n}-{v}" for n, v in RUNS])
def test_everything_holds_in(name, variant):
    result = played(name, variant)

    assert [each for each in result.expectations if not each.holds] == []
    assert result.violations == ()


@pytest.mark.parametrize("name", shipped())
def test_somebody_can_read_about(name):
    index = (PAGES / "README.md").read_text(encoding="utf-8")

    assert (PAGES / f"{name}.md").exists()
    assert f"[{name}]({name}.md)" in index
