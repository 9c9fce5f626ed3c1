"""`groupsim report`: which runs, which files, and what it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from groupsim.commands import reporting
from groupsim.commands.failures import HELD, WRONG_USE
from tests.groupsim.command import ROOT, groupsim
from tests.groupsim.runs import a_death, a_pause, directory_of


@pytest.fixture
def runs(tmp_path):
    """A folder with two runs, as `run --out` makes it, and what a killed process left in it."""
    folder = tmp_path / "runs"
    for name, tale in (("first", a_death), ("second", a_pause), (".third-1", a_pause)):
        shutil.copytree(directory_of(tale), folder / name)
    return folder


def test_a_run_becomes_a_page_and_the_page_is_named(runs, tmp_path):
    page = tmp_path / "deep" / "page.html"

    result = groupsim("report", runs / "first", "-o", page)

    assert result.exit_code == HELD
    assert result.stdout.startswith(str(page))
    assert page.read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")


def test_a_folder_means_every_run_in_it(runs):
    assert reporting.runs_in([runs]) == [runs / "first", runs / "second"]


def test_the_variants_of_a_folder_stand_in_the_order_of_their_file(runs):
    for name in ("first", "second"):
        file = runs / name / "run.json"
        told = json.loads(file.read_text()) | {"variant": name, "variants": ["second", "first"]}
        file.write_text(json.dumps(told))

    assert reporting.runs_in([runs]) == [runs / "second", runs / "first"]


def test_runs_stand_in_the_order_in_which_they_are_named(runs):
    assert reporting.runs_in([runs / "second", runs / "first"]) == [
        *(runs / "second", runs / "first")
    ]


def test_an_old_page_is_replaced_and_nothing_else_is_left(runs, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")

    groupsim("report", runs / "first", "-o", page)

    assert page.read_text(encoding="utf-8") != "old"
    assert sorted(tmp_path.iterdir()) == [page, runs]


def test_a_picture_goes_into_a_file_and_all_charts_into_a_folder(runs, tmp_path):
    groupsim("report", runs / "first", "--svg", tmp_path / "one.svg")
    groupsim("report", runs / "first", "--svg", tmp_path / "all")

    assert (tmp_path / "one.svg").read_text().startswith("<svg")
    names = ["picture", *(f"run-{name}" for name in ("groups", "lag", "members", "partitions"))]
    assert sorted(path.stem for path in (tmp_path / "all").iterdir()) == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runs/first"], "-o page.html, --png or --svg"),
        (["runs/first", "-o", "runs"], "runs is a folder: name a file in it"),
        (["nowhere", "-o", "page.html"], "there is no run directory nowhere"),
        (["runs/first/events", "-o", "page.html"], "is no run directory: no run.json"),
        (["runs/first", "--png", "chart.gif"], "a name that ends in .png, or a folder"),
    ],
    ids=["nothing to write", "a folder", "no run", "no run directory", "another format"],
)
def test_wrong_use_is_told_in_a_sentence(runs, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)

    result = groupsim("report", *words)

    assert result.exit_code == WRONG_USE
    assert said in result.stderr
    assert sorted(tmp_path.iterdir()) == [runs]


def test_more_runs_than_can_stand_side_by_side_are_refused(tmp_path):
    for n in range(reporting.RUNS_MAX + 1):
        (tmp_path / f"run-{n}").mkdir()
        (tmp_path / f"run-{n}" / "run.json").touch()

    result = groupsim("report", tmp_path, "-o", tmp_path / "page.html")

    assert result.exit_code == WRONG_USE
    assert "13 runs are too many to stand side by side" in result.stderr


def test_without_its_extra_it_says_what_to_install(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(reporting, "_NEEDED", ("altair", "no_such_package"))

    result = groupsim("report", runs / "first", "-o", tmp_path / "page.html")

    assert result.exit_code == WRONG_USE
    assert result.stderr.endswith("report needs no_such_package: pip install 'groupsim[report]'\n")


def test_a_report_needs_no_spark(runs, tmp_path):
    program = (
        "import sys\n"
        "from groupsim.cli import app\n"
        f"app(['report', {str(runs / 'first')!r}, '-o', {str(tmp_path / 'page.html')!r}],"
        " standalone_mode=False)\n"
        "assert 'pyspark' not in sys.modules\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=False, capture_output=True, text=True
    )

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
