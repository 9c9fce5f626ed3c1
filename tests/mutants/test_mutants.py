"""Planted faults keep up with the code, and the runner tells caught from survived."""

from __future__ import annotations

import ast
import re
import tempfile
from shutil import copytree

import pytest

from tests.mutants.__main__ import ROOT, main
from tests.mutants.faults import Fault, StaleFault, place_of, planted, source_of
from tests.mutants.rooms import ROOMS, Room

FAULTS = [fault for room in ROOMS for fault in room.faults]


def is_stale(fault):
    try:
        place_of(fault, source_of(fault, ROOT))
    except StaleFault:
        return True
    return False


def is_parseable(source):
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def a_fault(**traits):
    said = {"file": "room.py", "line": "2 * n", "faulty": "3 * n", "says": "Two is three."}
    return Fault(**(said | traits))


def test_every_fault_still_applies_to_its_file_exactly_once():
    assert [fault for fault in FAULTS if is_stale(fault)] == []


def test_every_fault_leaves_its_file_parseable():
    faulty = ((fault, planted(fault, source_of(fault, ROOT))) for fault in FAULTS)

    assert [fault for fault, source in faulty if not is_parseable(source)] == []


def test_no_two_faults_say_the_same():
    assert len({fault.says for fault in FAULTS}) == len(FAULTS)


def test_a_fault_keeps_its_lines_indentation_and_all_other_lines():
    source = "def double(n):\n    return 2 * n\n\n\nprint(double(2))\n"

    faulty = planted(a_fault(), source)

    assert faulty == "def double(n):\n    return 3 * n\n\n\nprint(double(2))\n"


def test_a_fault_may_name_the_function_that_its_line_stands_in():
    source = "def double(n):\n    return 2 * n\n\n\ndef twice(n):\n    return 2 * n\n"

    assert place_of(a_fault(inside="twice"), source) == 5


@pytest.mark.parametrize("source", ["", "2 * n, 2 * n\n", "2 * n\n2 * n\n"])
def test_a_fault_is_stale_unless_its_line_is_there_once(source):
    with pytest.raises(StaleFault):
        place_of(a_fault(), source)


def test_the_runner_tells_what_was_caught_what_survived_and_what_is_stale(
    tmp_path, monkeypatch, capsys
):
    tree, temporary = tmp_path / "tree", tmp_path / "temporary"
    copytree(ROOT / "tests" / "mutants", tree / "tests" / "mutants")
    (tree / "room.py").write_text("def double(n):\n    return 2 * n  # twice\n")
    (tree / "tests" / "test_room.py").write_text(
        "from room import double\n\n\ndef test_two_is_four():\n    assert double(2) == 4\n"
    )
    faults = (
        a_fault(),
        a_fault(faulty="n * n", says="A square is a double."),
        a_fault(line="n + n", says="The line is another one now."),
    )
    room = Room(faults=faults, tests=("tests/test_room.py",))
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    status = main([], rooms=[room], tree=tree)

    printed = capsys.readouterr().out
    assert status == 1
    assert re.search(r"^STALE +3 The line is another one now\.", printed, re.MULTILINE)
    assert re.search(r"caught +1 .*\n +by tests/test_room.py::test_two_is_four\n", printed)
    assert re.search(r"SURVIVED +2 .*\n +room.py:2\n", printed)
    assert printed.endswith("1 caught, 1 survived, 1 stale\n")
    assert list(temporary.iterdir()) == []


def test_a_list_of_faults_can_be_narrowed_by_number_and_by_word(capsys):
    status = main(["--list", "--only", "1", "java_order.py"])

    numbers = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    wanted = [n for n, each in enumerate(FAULTS, 1) if n == 1 or "java_order" in each.file]
    assert status == 0
    assert numbers == wanted


def test_asking_for_a_fault_that_is_not_there_is_wrong_use(capsys):
    status = main(["--only", "no such words"])

    assert status == 2
    assert "no such words" in capsys.readouterr().err
