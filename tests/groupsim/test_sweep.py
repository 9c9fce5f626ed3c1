"""`groupsim sweep`, from the grid to the advice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from spark_bridge.sweeps.folder import read_folder
from spark_bridge.sweeps.sweep import Sweep
from tests.groupsim.command import ROOT, groupsim
from tests.spark_bridge.sweeps import A_DEATH

SCHEMA = json.loads((ROOT / "groupsim" / "output_schema.json").read_text())
GRID = ("--vary", "session_timeout_ms=6s,10s", "--seeds", 3)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenario") / "a_death.yaml"
    file.write_text(A_DEATH)
    return file


@pytest.fixture(scope="module")
def folder(spark, scenario, tmp_path_factory):
    """A sweep that has been played."""
    assert spark is not None
    path = tmp_path_factory.mktemp("sweep") / "sweep"
    result = groupsim("sweep", scenario, *GRID, "--out", path)
    assert result.exit_code == 0, result.stderr
    return path


def asked(folder: Path, *words: object):
    return groupsim("sweep", "--out", folder, *words)


def answer_of(folder: Path, *words: object):
    result = asked(folder, "--json", *words)
    told = json.loads(result.stdout)
    Draft202012Validator({**SCHEMA, "$ref": "#/$defs/sweep"}).validate(told)
    return told


@pytest.mark.spark
def test_a_sweep_tells_each_setting_with_its_intervals(folder):
    result = asked(folder, "--measure", "detection_s", "--measure", "lost")

    assert result.exit_code == 0
    assert "detection_s, with 95% intervals" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["6s", "3"] in [line[:2] for line in lines]
    assert "the same in every run: lost 0" in result.stdout


@pytest.mark.spark
def test_the_same_command_plays_nothing_again(scenario, folder):
    before = sorted(folder.rglob("*"))

    result = groupsim("sweep", scenario, *GRID, "--out", folder)

    assert result.exit_code == 0
    assert f"6 of them are in {folder} already" in " ".join(result.stderr.split())
    assert sorted(folder.rglob("*")) == before


@pytest.mark.spark
def test_who_does_not_say_how_many_seeds_means_those_that_are_there(scenario, folder):
    result = groupsim("sweep", scenario, *GRID[:2], "--out", folder, "--json")

    assert json.loads(result.stdout)["seeds"] == 3


@pytest.mark.spark
def test_the_answer_for_a_script_keeps_to_its_schema(folder):
    bound = "p99(detection_s) < 7"

    told = answer_of(folder, "--recommend", bound, "--gate", bound, "--measure", "sum(unowned_s)")

    assert (told["settings"], told["runs"], told["runs_kept"], told["failed"]) == (2, 6, 6, 0)
    assert told["measures"] == ["sum(unowned_s)", "detection_s"]
    assert told["gates"][0]["holds"] is False
    assert told["recommendation"]["setting"]["chosen"] == {"session_timeout_ms": "6s"}


@pytest.mark.spark
def test_the_setting_is_recommended_that_holds_and_has_the_least_of_what_is_to_be_least(folder):
    words = ("--recommend", "max(detection_s) < 20", "--minimize", "mean(detection_s)")

    told = answer_of(folder, *words)["recommendation"]

    assert (told["holds"], told["settings_that_hold"]) == (True, 2)
    assert told["sentence"].startswith("take session_timeout_ms=6s (max(detection_s) < 20: it is")
    assert told["sentence"].endswith("3 runs; 2 of 2 settings hold)")


@pytest.mark.spark
def test_if_no_setting_holds_the_nearest_is_named_with_how_near_it_comes(folder):
    result = asked(folder, "--recommend", "max(detection_s) < 2")

    assert result.exit_code == 0
    assert "none of 2 settings holds; nearest is session_timeout_ms=6s, " in result.stdout
    assert "% of the limit beyond it (max(detection_s) < 2: it is " in result.stdout


@pytest.mark.spark
@pytest.mark.parametrize(
    ("bound", "status", "verdict"),
    [
        ("max(detection_s) < 11", 0, "pass  max(detection_s) < 11  (in 2 settings)"),
        ("max(detection_s) < 7", 1, "FAIL  max(detection_s) < 7  (in 1 of 2 settings it does not"),
    ],
)
def test_a_gate_is_told_by_the_status(folder, bound, status, verdict):
    result = asked(folder, "--gate", bound)

    assert result.exit_code == status
    assert verdict in result.stdout


@pytest.mark.spark
def test_a_line_has_the_settings_that_no_other_beats(folder):
    (line,) = answer_of(folder, "--pareto", "unowned_s,max(detection_s)")["pareto"]

    assert (line["across"], line["up"]) == ("mean(unowned_s)", "max(detection_s)")
    assert [row["is_best"] for row in line["settings"]] == [True, False]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_run_that_fails_is_told_with_the_command_that_repeats_it(scenario, tmp_path):
    words = ("--vary", "run_for=30s,10m", "--seeds", 1, "--max-events", 200)

    result = groupsim("sweep", scenario, *words, "--out", tmp_path / "sweep")

    assert result.exit_code == 1
    assert "1 run failed" in result.stdout
    assert "run_for=10m, seed 0: TooManyEvents: more than 200 events" in result.stdout
    repeated = result.stdout.partition("to repeat it: groupsim ")[2].splitlines()[0]
    assert "more than 200 events" in groupsim(*repeated.split()).stderr


@pytest.mark.spark
def test_another_sweep_is_refused_before_spark_is_started(scenario, folder):
    result = groupsim("sweep", scenario, "--seeds", 3, "--out", folder)

    assert result.exit_code == 2
    assert "holds another sweep: --vary differs;" in result.stderr
    assert "starting Spark" not in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--vary", "members=1..9"], "--vary: found 'members=1..9'; must say how many values"),
        (["--vary", "memberz=1,2"], "unknown key 'memberz'"),
        (["--vary", "memberz=1,2"], "did you mean `members`?"),
        (
            ["--vary", "session_timeout_ms=6s", "--vary", "session.timeout.ms=8s"],
            "--vary session_timeout_ms, --vary session.timeout.ms: both lead to",
        ),
        (["--vary", "members=2,3", "--set", "members=2"], "--vary members: --set has it too"),
        (["--gate", "p99(unowned) < 5"], "--gate: found 'p99(unowned) < 5'; a bound must name"),
        (["--gate", "unowned_s < 5"], "must have an aggregate over the runs, such as p99("),
        (["--recommend", "p99(unowned_s)"], "--recommend: found 'p99(unowned_s)'; a bound must"),
        (["--minimize", "mean(lost)"], "must stand beside --recommend"),
        (["--pareto", "lost"], "--pareto: found 'lost'; must be two figures"),
        (["--measure", "max(max(lost))"], "must be a figure of one run"),
        (["--master", "local[1]", "--remote", "sc://x"], "are two places"),
    ],
)
def test_wrong_use_is_told_before_anything_is_played(scenario, tmp_path, words, said):
    result = groupsim("sweep", scenario, "--out", tmp_path / "sweep", *words)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert not (tmp_path / "sweep").exists()


def test_all_questions_that_cannot_be_asked_are_told_at_once(scenario, tmp_path):
    words = ("--gate", "p98(lost) < 1", "--recommend", "lost", "--pareto", "x,y")

    result = groupsim("sweep", scenario, "--out", tmp_path / "sweep", *words)

    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        "--recommend",
        "--gate",
        "--pareto",
        "groupsim",
    ]


def test_without_a_scenario_nothing_can_be_varied(tmp_path):
    result = asked(tmp_path, "--vary", "members=1,2", "--seeds", 2)

    assert result.exit_code == 2
    assert "--vary, --seeds: say which scenario to play" in result.stderr


def test_where_nothing_was_played_nothing_can_be_asked(tmp_path):
    result = asked(tmp_path)

    assert result.exit_code == 2
    assert "is no sweep: there is no sweep.json" in result.stderr


@pytest.mark.spark
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_is_ended_goes_on_where_it_was(spark, scenario, tmp_path, how):
    """Ended as soon as a first chunk is kept; then the rest is played here."""
    path = tmp_path / "sweep"
    words = ["sweep", scenario, "--vary", "session_timeout_ms=6s,10s", "--seeds", 48, "--out", path]
    with subprocess.Popen(
        [sys.executable, "-m", "groupsim", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    ) as process:
        while process.poll() is None and not list(path.glob("results/chunk=*")):
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        process.send_signal(how)
        _, talk = process.communicate()
    kept = read_folder(path, Sweep).runs_kept()
    assert 0 < kept < 96
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"{kept} of 96 runs are kept in {path}" in " ".join(talk.split())
        assert not list(path.glob("results/_making*"))

    result = groupsim(*words)

    assert result.exit_code == 0
    assert f"{kept} of them are in {path} already" in " ".join(result.stderr.split())
    results = read_folder(path, Sweep).read(spark)
    assert results.count() == results.select("setting", "seed").distinct().count() == 96


@pytest.mark.spark
def test_the_page_of_a_sweep_answers_what_it_was_asked_last(folder, tmp_path):
    asked(folder, "--recommend", "max(detection_s) < 2")

    words = ("-o", tmp_path / "page.html", "--png", tmp_path / "picture.png")
    result = groupsim("report", folder, *words)

    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "none of 2 settings holds; nearest is session_timeout_ms=6s" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["more", "--png", "it.png"], "a sweep has a page of its own: groupsim report DIR -o"),
        (["--png", "folder"], "--png folder: a sweep has one picture, such as it.png"),
    ],
)
def test_a_report_of_a_sweep_is_about_one_and_has_one_picture(tmp_path, words, said):
    (tmp_path / "sweep.json").write_text("{}")

    result = groupsim("report", tmp_path, *words)

    assert result.exit_code == 2
    assert said in result.stderr
