from __future__ import annotations

import re

import pytest
import yaml

from tests.groupsim.command import groupsim
from tests.groupsim.malformed import GOOD, malformed

FILES = list(malformed())
#: What is wrong with these is no line's fault.
WHOLE_FILES = {"too long a file"}


def test_there_are_at_least_two_hundred():
    assert len({text for _, text, _ in FILES}) >= 200


def test_the_file_that_they_are_made_of_is_right(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(yaml.safe_dump(GOOD))

    assert groupsim("validate", file).exit_code == 0


@pytest.mark.parametrize(
    ("text", "line", "place"),
    [(text, "" if wrong in WHOLE_FILES else r":\d+", place) for wrong, text, place in FILES],
    ids=[wrong for wrong, _, _ in FILES],
)
def test_a_malformed_file_is_refused_and_its_place_named(tmp_path, text, line, place):
    file = tmp_path / "wrong.yaml"
    file.write_bytes(text)

    result = groupsim("run", file)

    assert result.exit_code == 2, result.output
    where = rf"^{re.escape(str(file))}{line}: .*{re.escape(place)}"
    assert re.search(where, result.stderr, re.MULTILINE)
    assert "Traceback" not in result.output
    assert "a bug of groupsim" not in result.output
