from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rich.console import Console

from groupsim.commands.summary import print_summary
from groupsim.commands.voice import Voice
from simulation.measures import MEASURES
from simulation.scenarios import Scenario
from tests.groupsim.command import ROOT, groupsim, groupsim_on_a_small_disk
from tests.groupsim.runs import a_death, a_ghost, a_pause, directory_of

SCHEMA = json.loads((ROOT / "groupsim" / "output_schema.json").read_text())

SHORT = """\
title: A pod dies
question: What does it cost?
cluster: {topics: {orders: {partitions: 4, records: 10/s}}}
groups:
  checkout: {members: 3, subscribe: [orders], settings: {session_timeout_ms: 10s}}
script:
  - {at: 20s, crash: checkout-1}
run_for: 40s
expect: [unowned_s < 12, lost == 0]
variants:
  eager: {}
  cooperative:
    groups.checkout.settings.partition_assignment_strategy: [cooperative-sticky]
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenarios") / "short.yaml"
    file.write_text(SHORT)
    return file


@pytest.fixture(scope="module")
def kept(scenario):
    """A scenario's runs, kept; nobody may change them."""
    out = scenario.parent / "runs"
    result = groupsim("run", scenario, "--out", out)
    assert result.exit_code == 0, result.output
    return out


def broken_rules(verb: str, told: object) -> list[str]:
    schema = {**SCHEMA, "$ref": f"#/$defs/{verb}"}
    return [error.message for error in Draft202012Validator(schema).iter_errors(told)]


# --- the summary ---


def test_every_rebalance_says_which_assignor_it_voted_for(scenario):
    told = json.loads(groupsim("run", scenario, "--json").stdout)

    voted = {
        run["variant"]: {each["protocol"] for each in run["groups"]["checkout"]["rebalances"]}
        for run in told["runs"]
    }
    assert voted == {"eager": {"range"}, "cooperative": {"cooperative-sticky"}}


def test_the_summary_tells_what_people_ask_first(scenario):
    told = groupsim("run", scenario, "--variant", "eager").stdout

    for part in (
        "What does it cost?",
        "eager: 40s of virtual time",
        "group checkout",
        "session of checkout-1 expired",
        "unowned",
        "owned twice  none",
        "duplicates",
        "lost         none",
        "noticed after",
        "none refused",
        "pass  unowned_s < 12",
    ):
        assert part in told


def test_the_summary_says_in_one_line_whether_the_run_was_safe_and_came_to_rest(scenario):
    rest = groupsim("run", scenario, "--variant", "eager").stdout
    unrest = groupsim("run", scenario, "--variant", "eager", "--set", "run_for=25s").stdout

    assert "  safety kept; liveness kept: settled 10." in rest
    assert "  safety kept; liveness open: not settled 5.0 s after the last disturbance;" in unrest


def test_on_a_narrow_page_a_rebalance_s_words_stand_under_its_numbers(scenario, capsys):
    played = Scenario.from_file(scenario)
    voice = Voice(page=Console(width=40, highlight=False, markup=False))

    print_summary(voice, played, [played.play(variant="eager")])

    told = " ".join(capsys.readouterr().out.split())
    assert "because session of checkout-1 expired held " in told


def test_several_variants_are_compared_measure_by_measure(scenario):
    told = groupsim("run", scenario).stdout

    rows = {line.split()[0]: line.split()[1:] for line in told.splitlines() if line.split()}
    assert rows["measure"] == ["eager", "cooperative"]
    assert [name for name in MEASURES if name not in rows] == []


def test_the_seed_and_the_options_are_said_first(scenario):
    result = groupsim(
        "run", scenario, "--variant", "eager", "--seed", "7", "--set", "run_for=30s", "--json"
    )

    assert result.stderr.splitlines()[0].startswith("short: eager; seed 7; run_for=30s;")
    assert json.loads(result.stdout)["runs"][0]["ended_ms"] == 30_000


def test_a_failed_expectation_is_1_and_the_last_line_repeats_it(scenario):
    result = groupsim("run", scenario, "--variant", "eager", "--set", "expect=[unowned_s < 1]")

    assert result.exit_code == 1
    assert "FAIL  unowned_s < 1" in result.stdout
    assert result.stderr.splitlines()[-1] == (
        f"to repeat it: groupsim run {scenario} --variant eager --seed 0"
        " --set 'expect=[unowned_s < 1]'"
    )


def test_a_broken_bound_says_where_to_look_and_by_which_command(scenario, tmp_path):
    words = ["--variant", "eager", "--set", "expect=[unowned_s < 1]", "--out", tmp_path]

    lines = groupsim("run", scenario, *words).stdout.splitlines()

    (verdict,) = (n for n, line in enumerate(lines) if "FAIL" in line)
    assert " of checkout from 20.0 s to 30." in lines[verdict]
    command = lines[verdict + 1].split()
    assert command[:3] == ["groupsim", "timeline", str(tmp_path / "eager")]
    assert "checkout-1 crashes" in groupsim(*command[1:]).stdout


def test_a_broken_bound_says_where_to_look_in_json_too(scenario):
    change = "expect=[unowned_s < 1, lost == 0]"
    told = json.loads(
        groupsim("run", scenario, "--variant", "eager", "--set", change, "--json").stdout
    )

    broken, held = told["runs"][0]["expectations"]
    assert broken["moment"]["from_ms"] == 20_000
    assert held["moment"] is None
    assert broken_rules("run", told) == []


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--variant", "eagre"], "has no variant eagre, only eager, cooperative"),
        (["--set", "nonsense"], "--set: "),
        (["--set", "groups.checkout.membres=3"], "did you mean"),
        (["--max-members", "2"], "members"),
        (["--max-events", "10"], "events"),
    ],
)
def test_wrong_wishes_are_answered_in_words(scenario, words, answer):
    result = groupsim("run", scenario, *words)

    assert result.exit_code == 2
    assert answer in result.stderr


# --- results for scripts ---


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


def test_run_prints_what_its_schema_says(scenario):
    told = json.loads(groupsim("run", scenario, "--json").stdout)

    assert broken_rules("run", told) == []
    assert list(told["runs"][0]["measures"]) == list(MEASURES)


def test_the_schema_refuses_what_run_does_not_print(scenario):
    told = json.loads(groupsim("run", scenario, "--json").stdout)
    del told["runs"][0]["groups"]["checkout"]["rebalances"][0]["cause"]

    assert broken_rules("run", told) == ["'cause' is a required property"]


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["show", "rolling_deploy"],
        ["campaign", "--worlds", "1"],
        ["timeline", directory_of(a_death)],
        ["why", directory_of(a_ghost)],
        ["diff", directory_of(a_death), directory_of(a_pause)],
        ["diff", directory_of(a_death), directory_of(a_death)],
    ],
    ids=lambda words: words[0],
)
def test_every_verb_prints_what_its_schema_says(words):
    told = json.loads(groupsim(*words, "--json").stdout)

    assert broken_rules(words[0], told) == []


def test_validate_prints_what_its_schema_says(tmp_path):
    (tmp_path / "wrong.yaml").write_text("run_for: soon\ntittle: x\n")

    told = json.loads(groupsim("validate", tmp_path / "wrong.yaml", "--json").stdout)

    assert broken_rules("validate", told) == []


def test_replay_prints_what_its_schema_says(kept):
    told = json.loads(groupsim("replay", kept / "eager", "--json").stdout)

    assert (broken_rules("replay", told), told["same"]) == ([], True)


# --- run directories ---


def test_every_variant_has_its_run_directory(kept):
    assert sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*.*")) == [
        "cooperative/events/part-0.parquet",
        "cooperative/run.json",
        "eager/events/part-0.parquet",
        "eager/run.json",
    ]


def test_a_run_that_is_kept_can_be_told_and_explained(kept):
    result = groupsim("why", kept / "eager", "rebalance:2")

    assert "It began because the session of checkout-1 expired" in result.stdout


def test_a_run_can_be_played_again_and_is_the_same(kept):
    result = groupsim("replay", kept / "eager")

    assert result.exit_code == 0
    assert "same" in result.stdout


def test_a_replay_that_differs_is_1(kept, tmp_path):
    changed = tmp_path / "changed"
    changed.mkdir()
    said = json.loads((kept / "eager" / "run.json").read_text())
    (changed / "run.json").write_text(json.dumps(said | {"seed": said["seed"] + 1}))
    (changed / "events").symlink_to(kept / "eager" / "events")

    result = groupsim("replay", changed)

    assert result.exit_code == 1
    assert result.stdout.endswith("so its files were changed, or this is our bug\n")


def test_to_replay_a_run_that_a_script_recorded_is_2(kept, tmp_path):
    scripted = tmp_path / "scripted"
    scripted.mkdir()
    said = json.loads((kept / "eager" / "run.json").read_text())
    (scripted / "run.json").write_text(json.dumps(said | {"scenario": {}, "versions": {}}))
    (scripted / "events").symlink_to(kept / "eager" / "events")

    result = groupsim("replay", scripted)

    assert result.exit_code == 2
    assert "scripted cannot be played again: it holds no scenario" in result.stderr


def test_runs_that_are_there_already_are_kept_and_nothing_is_played(scenario, kept):
    before = (kept / "eager" / "run.json").stat().st_mtime_ns

    result = groupsim("run", scenario, "--out", kept)

    assert result.exit_code == 2
    assert f"{kept / 'eager'} exists already" in result.stderr
    assert (kept / "eager" / "run.json").stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_written_is_said_so(scenario, tmp_path):
    (tmp_path / "file").write_text("")

    result = groupsim("run", scenario, "--out", tmp_path / "file" / "inside")

    assert result.exit_code == 2
    assert "cannot write in" in result.stderr


@pytest.mark.parametrize("verb", [["run", "rolling_deploy"], ["analyze", "."], ["campaign"]])
@pytest.mark.parametrize(("out", "answer"), [("", "names no folder"), (__file__, "is a file")])
def test_out_must_be_a_folder_for(verb, out, answer):
    result = groupsim(*verb, "--out", out)

    assert result.exit_code == 2
    assert answer in " ".join(result.stderr.split())


def test_a_disk_that_takes_no_more_leaves_nothing_behind(scenario, tmp_path):
    out = tmp_path / "out"

    result = groupsim_on_a_small_disk("run", scenario, "--out", out, most_bytes=2_000)

    assert result.returncode == 2
    assert f"groupsim: {out / 'eager'}: " in result.stderr
    assert "File too large" in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_was_complete_before_a_run_that_was_not_is_kept_and_named(tmp_path):
    busier = {"cluster.topics.orders.records": "200/s"}
    file = tmp_path / "two.yaml"
    file.write_text(SHORT + f"  busy: {json.dumps(busier)}\n")
    out = tmp_path / "out"

    result = groupsim("run", file, "--out", out, "--max-events", 1_500)

    assert result.exit_code == 2
    assert f"complete and kept: {out / 'eager'}, {out / 'cooperative'}\n" in result.stderr
    assert sorted(each.name for each in out.iterdir()) == ["cooperative", "eager"]


# --- code of one's own ---

WITH_PYTHON = """\
cluster: {topics: {orders: {partitions: 4, records: 5/s}}}
groups: {checkout: {members: 2, subscribe: [orders], app: {python: "mine_alone:app"}}}
run_for: 10s
"""
MINE = """\
async def app(consumer):
    consumer.subscribe(["orders"])
    while True:
        await consumer.poll(500)
"""


def test_code_in_the_folder_one_is_in_is_found_where_it_is_allowed(tmp_path):
    (tmp_path / "mine.yaml").write_text(WITH_PYTHON)
    (tmp_path / "mine_alone.py").write_text(MINE)
    # A command that is installed has its own folder in Python's path, and not this one.
    command = [sys.executable, "-P", "-m", "groupsim", "run", "mine.yaml"]

    refused, played = (
        subprocess.run(
            [*command, *flag],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            text=True,
            timeout=60,
        )
        for flag in ([], ["--allow-python"])
    )

    assert (refused.returncode, played.returncode) == (2, 0), played.stderr
    assert "code of yours runs only where it is allowed: --allow-python" in refused.stderr


def test_consumers_that_end_with_an_error_are_told_with_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mine.yaml").write_text(WITH_PYTHON.replace("mine_alone", "mine_that_fails"))
    (tmp_path / "mine_that_fails.py").write_text(MINE + "        [][0]\n")

    result = groupsim("run", "mine.yaml", "--allow-python")
    told = json.loads(groupsim("run", "mine.yaml", "--allow-python", "--json").stdout)

    said = (
        "failed       2 times with IndexError, first checkout-1 at 0.5 s: list index out of range"
    )
    assert said in result.stdout
    assert [each["client"] for each in told["runs"][0]["failures"]] == ["checkout-1", "checkout-2"]
    assert broken_rules("run", told) == []


# --- changes and variants ---

TWO_SCRIPTS = """\
cluster: {topics: {orders: {partitions: 4}}}
groups: {checkout: {members: 2, subscribe: [orders]}}
run_for: 30s
variants:
  dies: {script: [{at: 10s, crash: checkout-1}]}
  stays: {}
"""


def test_a_change_that_one_variant_cannot_take_is_refused_before_any_is_played(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(TWO_SCRIPTS)

    result = groupsim("run", file, "--set", "script.0.at=20s", "--out", tmp_path / "runs")

    assert result.exit_code == 2
    assert "--set script.0.at: in variant stays: " in result.stderr
    assert not (tmp_path / "runs").exists()


def test_a_change_that_only_the_chosen_variant_can_take_is_played(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(TWO_SCRIPTS)

    result = groupsim("run", file, "--set", "script.0.at=20s", "--variant", "dies")

    assert result.exit_code in (0, 1), result.output
    assert "two: dies; seed 0" in result.stderr


@pytest.mark.parametrize("change", ["expect=[a", "run_for={a: 1", "seed=!!x y"])
def test_a_change_whose_value_cannot_be_read_is_named(scenario, change):
    result = groupsim("run", scenario, "--set", change)

    assert result.exit_code == 2
    assert f"groupsim: --set {change.partition('=')[0]}: found " in result.stderr
    assert "found found" not in result.stderr


def test_a_change_of_a_variant_itself_is_refused(scenario):
    result = groupsim("run", scenario, "--set", "variants.eager.run_for=1s")

    assert result.exit_code == 2
    assert "--set variants.eager.run_for: " in result.stderr


def test_the_command_that_repeats_a_run_raises_the_same_limits(scenario):
    changes = ["--set", "expect=lost == 7", "--variant", "eager", "--max-members", "3000"]

    result = groupsim("run", scenario, *changes)

    assert result.exit_code == 1
    assert "--max-members 3000" in result.stderr.partition("to repeat it: ")[2]


def test_a_seed_is_not_negative(scenario):
    assert groupsim("run", scenario, "--seed", "-5").exit_code == 2


def test_a_file_for_many_members_is_validated_and_shown_with_the_flag_that_allows_them(tmp_path):
    file = tmp_path / "many.yaml"
    file.write_text(SHORT.replace("members: 3,", "members: 2001,"))

    assert groupsim("validate", file).exit_code == 2
    assert groupsim("validate", file, "--max-members", "2001").exit_code == 0
    assert groupsim("show", file, "--max-members", "2001").exit_code == 0


@pytest.mark.parametrize(
    ("key", "value"), [("run", 5), ("seed", "x"), ("seed", -1), ("more", 1), ("detail", None)]
)
def test_a_damaged_run_file_is_told_in_a_sentence(kept, tmp_path, key, value):
    damaged = tmp_path / "eager"
    shutil.copytree(kept / "eager", damaged)
    said = json.loads((damaged / "run.json").read_text())
    (damaged / "run.json").write_text(json.dumps({**said, key: value}))

    result = groupsim("replay", damaged)

    assert result.exit_code == 2
    assert "is not the run.json of a run: it" in result.stderr
    assert key in result.stderr


def test_a_setting_s_name_that_is_misspelt_in_a_change_is_found(scenario):
    result = groupsim("run", scenario, "--set", "sesion_timeout_ms=45s")

    assert result.exit_code == 2
    assert "did you mean `session_timeout_ms`?" in result.stderr


def test_control_characters_of_a_file_never_reach_the_terminal(tmp_path):
    file = tmp_path / "hostile.yaml"
    file.write_text('title: "\\e[2J\\a"\nquestion: "\\e]0;x\\a"\n' + SHORT.split("\n", 2)[2])
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text('"\\e[2J": 1\n' + SHORT)

    results = [groupsim("show", file), groupsim("run", file), groupsim("validate", wrong)]

    assert [each.exit_code for each in results] == [0, 0, 2]
    assert [each for each in results if "\x1b" in each.output or "\x07" in each.output] == []
