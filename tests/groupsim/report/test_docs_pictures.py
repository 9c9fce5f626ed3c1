"""Every scenario's page has its picture, and no picture is heavy."""

from __future__ import annotations

import pytest

from groupsim.commands.shipped import shipped
from tests.groupsim.command import ROOT

DOCS = ROOT / "docs"
KILOBYTE = 1_000


@pytest.mark.parametrize("name", shipped())
def test_a_picture_is_shown_on_the_page_of(name):
    assert f"](../pictures/{name}.png)" in (DOCS / "scenarios" / f"{name}.md").read_text("utf-8")
    assert (DOCS / "pictures" / f"{name}.png").stat().st_size < 200 * KILOBYTE


def test_no_picture_is_left_of_a_scenario_that_is_gone():
    names = {path.stem.removesuffix("_plane") for path in (DOCS / "pictures").iterdir()}
    assert names == set(shipped())
