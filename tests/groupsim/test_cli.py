from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import groupsim as front_door
from groupsim.cli import Verbs, app
from groupsim.commands.failures import Terminated, told
from groupsim.commands.shadows import shadows, warning_of
from simulation.errors import SimulationError
from tests.groupsim.command import ROOT, groupsim, groupsim_process
from tests.groupsim.runs import a_death, directory_of

#: What takes long to import, and is not needed to help.
HEAVY = ("attr", "cattrs", "client", "coordinator", "pandas", "pyarrow", "pyspark", "rich", "yaml")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["timeline", "--help"]])
def test_help_comes_without_loading_the_simulator(words):
    program = (
        "import json, sys\n"
        "from groupsim.cli import app\n"
        f"app({words!r}, standalone_mode=False)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )

    printed = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)

    loaded = json.loads(printed.splitlines()[-1])
    assert [name for name in HEAVY if name in loaded] == []
    assert {name for name in loaded if name.startswith("simulation.")} <= {"simulation.version"}


def test_without_a_word_it_helps():
    assert "Begin with:" in groupsim().output


def test_every_verb_says_what_it_does_with_an_example():
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]

    without = [name for name in verbs if "groupsim " not in groupsim(name, "--help").stdout]

    assert without == []


def test_the_version_is_the_packages():
    assert groupsim("--version").stdout == "groupsim 0.1.0\n"


def test_a_verb_that_is_not_there_is_wrong_use():
    assert groupsim("dance").exit_code == 2


def test_completion_can_be_installed_for_a_shell():
    assert "--install-completion" in groupsim("--help").stdout


def test_every_public_name_is_there():
    assert [name for name in front_door.__all__ if not hasattr(front_door, name)] == []


def test_a_name_that_is_not_public_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        front_door.Nonsense  # noqa: B018 # asking is the test


# --- what goes wrong ---


def test_wrong_use_is_one_sentence_and_2(capsys):
    assert told(SimulationError("there is no such thing")) == 2
    assert capsys.readouterr().err == "groupsim: there is no such thing\n"


def test_a_bug_of_ours_is_a_sentence_with_its_seed_and_what_to_do(capsys):
    status = told(a_bug())

    printed = capsys.readouterr().err
    assert status == 3
    assert "this is a bug of groupsim's" in printed
    assert "ZeroDivisionError in groupsim/test_cli.py" in printed
    assert "seed 7, at 12 ms" in printed
    assert "to report it" in printed
    assert "Traceback" not in printed


def test_the_traceback_of_a_bug_is_there_for_who_asks(capsys, monkeypatch):
    monkeypatch.setenv("GROUPSIM_TRACEBACK", "1")

    told(a_bug())

    assert "Traceback (most recent call last)" in capsys.readouterr().err


def a_bug() -> Exception:
    try:
        1 / 0  # noqa: B018 # failing is the point
    except ZeroDivisionError as error:
        error.add_note("seed 7, at 12 ms")
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, "interrupted; nothing half-written was kept"),
        (Terminated(), 143, "asked to end; nothing half-written was kept"),
        (OSError(28, "No space left on device"), 2, "the disk is full"),
        (
            PermissionError(13, "Permission denied", "/nowhere/x"),
            2,
            "/nowhere/x: Permission denied",
        ),
    ],
)
def test_the_system_s_troubles_are_told_in_a_sentence(capsys, error, status, sentence):
    assert told(error) == status
    assert sentence in capsys.readouterr().err


def test_whatever_a_verb_raises_ends_as_a_status():
    broken = typer.Typer(cls=Verbs)

    @broken.callback()
    def nothing() -> None:
        pass

    @broken.command()
    def fail() -> None:
        raise SimulationError("no")

    assert CliRunner().invoke(broken, ["fail"]).exit_code == 2


def test_a_reader_who_has_enough_is_not_told_off():
    command = f"{sys.executable} -m groupsim timeline {directory_of(a_death)} --full | head -1"

    result = subprocess.run(  # noqa: S602 # a pipe is a shell's
        command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )

    assert (result.stdout.split(), result.stderr) == (
        ["time,", "s", "row", "what", "happened", "(<-", "what", "led", "to", "it)"],
        "",
    )


def test_colours_are_for_a_terminal_only():
    result = groupsim_process("timeline", directory_of(a_death), cwd=ROOT)

    assert "\x1b" not in result.stdout


def test_no_color_is_honoured_even_where_colours_are_forced():
    plain = groupsim_process(
        "timeline", directory_of(a_death), cwd=ROOT, FORCE_COLOR="1", NO_COLOR="1"
    )
    coloured = groupsim_process("timeline", directory_of(a_death), cwd=ROOT, FORCE_COLOR="1")

    assert "\x1b[31m" in coloured.stdout
    assert "\x1b[31m" not in plain.stdout


# --- other people's packages ---


def test_nothing_hides_our_packages_here():
    assert shadows() == {}


def test_a_package_of_the_users_own_that_hides_ours_is_named_first(tmp_path):
    (tmp_path / "coordinator").mkdir()
    (tmp_path / "coordinator" / "__init__.py").write_text("")

    result = groupsim_process("timeline", directory_of(a_death), cwd=tmp_path)

    first = result.stderr.splitlines()[0]
    assert result.returncode == 2
    assert first.startswith(f"groupsim: `coordinator` ({tmp_path / 'coordinator'}) is a package")
    assert first.endswith("start groupsim from another folder, or rename yours")
    assert "Traceback" not in result.stderr


def test_help_is_given_even_then(tmp_path):
    (tmp_path / "simulation.py").write_text("")

    helped, asked = (groupsim_process(word, cwd=tmp_path) for word in ("--help", "--version"))

    assert (helped.returncode, asked.returncode) == (0, 2)
    assert "simulation.py" in helped.stderr
    assert "Traceback" not in asked.stderr


def test_a_warning_names_all_that_hide_ours(tmp_path):
    assert "`client` (" in warning_of({"client": tmp_path, "simulation": tmp_path})
