from __future__ import annotations

import json

import pytest

from groupsim.commands.scenarios import STARTER
from groupsim.commands.shipped import shipped
from simulation.scenarios import Scenario
from tests.groupsim.command import (
    ROOT,
    groupsim,
    groupsim_on_a_small_disk,
    groupsim_process,
)


@pytest.fixture
def starter(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(STARTER.read_text())
    return file


def test_a_starter_file_is_written(tmp_path):
    result = groupsim("init", tmp_path / "mine.yaml")

    assert result.exit_code == 0
    assert (tmp_path / "mine.yaml").read_text() == STARTER.read_text()


def test_a_starter_file_is_never_written_over_another(starter):
    starter.write_text("mine\n")

    result = groupsim("init", starter)

    assert (result.exit_code, starter.read_text()) == (2, "mine\n")
    assert result.stderr == f"groupsim: {starter} exists already, and is not written over\n"


def test_a_starter_file_needs_a_folder_to_be_in(tmp_path):
    result = groupsim("init", tmp_path / "nowhere" / "mine.yaml")

    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_a_starter_file_for_which_there_is_no_room_leaves_nothing_in_its_place(tmp_path):
    result = groupsim_on_a_small_disk("init", tmp_path / "mine.yaml", most_bytes=100)

    assert result.returncode == 2
    assert result.stderr == f"groupsim: {tmp_path / 'mine.yaml'}: File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_a_good_file_is_said_to_be_one(starter):
    result = groupsim("validate", starter)

    assert result.exit_code == 0
    assert result.stdout == (
        f"{starter} is a scenario with 3 runs: as_it_is, short_session and cooperative\n"
    )


def test_every_mistake_is_told_with_its_line_and_the_nearest_word(starter):
    text = starter.read_text()
    starter.write_text(text.replace("session_timeout_ms: 45s", "sesion_timeout_ms: 45s", 1))
    line = starter.read_text()[: starter.read_text().index("sesion")].count("\n") + 1

    result = groupsim("validate", starter)

    first, last = result.stderr.splitlines()
    assert result.exit_code == 2
    assert first.startswith(f"{starter}:{line}: groups.checkout.settings.sesion_timeout_ms: ")
    assert first.endswith("did you mean `session_timeout_ms`?")
    assert last == "groupsim: 1 mistake"


def test_mistakes_are_there_for_scripts_too(starter):
    starter.write_text(starter.read_text().replace("run_for: 5m", "run_for: soon"))

    result = groupsim("validate", starter, "--json")

    told = json.loads(result.stdout)
    assert (result.exit_code, told["valid"]) == (2, False)
    assert [mistake["path"] for mistake in told["mistakes"]] == ["run_for"]


def test_a_scenario_is_explained_in_words(starter):
    told = groupsim("show", starter).stdout

    assert "A cluster of 3 brokers." in told
    assert "Group checkout has 4 members, reading orders." in told
    assert "at 1m: crash checkout-2 (Let consumers die without a word)" in told
    assert "Expected at the end: unowned_s < 60 and lost == 0." in told
    assert "short_session: groups.checkout.settings.session_timeout_ms is 10s" in told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("two_bounce_migration", "the members checkout (count 6) and late (start by script, "),
        ("commit_race", "the members left-1 (settings max_poll_interval_ms 10s) and left-2"),
        ("cold_start_storm", "  settings: group_initial_rebalance_delay_ms 3s\nTopic orders"),
        ("autoscaler_feedback", "Its groups need not come to rest: the autoscaler goes on."),
    ],
)
def test_an_explanation_leaves_nothing_out(name, told):
    assert told in groupsim("show", name).stdout


def test_the_latency_of_a_cluster_is_explained(starter):
    text = starter.read_text().replace("cluster:\n", "cluster:\n  latency: 5ms\n", 1)
    starter.write_text(text)

    assert "A cluster of 3 brokers.\n  latency: 5ms\n" in groupsim("show", starter).stdout


def test_a_scenario_s_file_can_be_shown_to_be_copied(starter):
    assert groupsim("show", starter, "--yaml").stdout == starter.read_text()


def test_a_name_that_is_almost_right_is_answered_with_the_right_one():
    result = groupsim("show", "rolling_deplo")

    assert result.exit_code == 2
    assert "did you mean `rolling_deploy`?" in result.stderr


def test_no_name_is_no_scenario():
    result = groupsim("show", "")

    assert result.exit_code == 2
    assert "a scenario must have a name" in result.stderr


def test_a_folder_is_no_scenario(tmp_path):
    result = groupsim("show", tmp_path)

    assert result.exit_code == 2
    assert result.stderr == f"groupsim: {tmp_path} is a folder, and a scenario is a file\n"


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    result = groupsim("validate", tmp_path / "mine.yaml")

    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_all_shipped_scenarios_are_listed_for_scripts():
    told = json.loads(groupsim("list", "--json").stdout)

    assert [each["name"] for each in told] == list(shipped())
    assert all(each["question"] and each["variants"] for each in told)


def test_all_shipped_scenarios_are_listed_for_people():
    told = groupsim("list").stdout.splitlines()

    assert [name for name in shipped() if name not in told] == []


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("run rolling", ["rolling_deploy"]),
        ("run rolling_deploy --variant co", ["cooperative"]),
        ("run no_such_scenario --variant co", []),
    ],
)
def test_a_shell_completes(typed, completed):
    words = ["groupsim", *typed.split()]
    result = groupsim_process(
        cwd=ROOT,
        _GROUPSIM_COMPLETE="complete_bash",
        COMP_WORDS="\n".join(words),
        COMP_CWORD=str(len(words) - 1),
    )

    assert (result.stdout.split(), result.stderr) == (completed, "")


def test_a_scenario_is_shown_as_a_file_or_for_a_script_but_not_both():
    assert groupsim("show", "rolling_deploy", "--yaml", "--json").exit_code == 2


def test_a_scenario_for_a_script_can_be_played(starter):
    told = json.loads(groupsim("show", starter, "--json").stdout)

    assert Scenario.from_dict(told["scenario"]).variant_names == tuple(told["variants"])
