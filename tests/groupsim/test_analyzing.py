from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from groupsim.commands.analyzing import columns_that_fit
from tests.groupsim.command import ROOT, groupsim, groupsim_process
from tests.groupsim.runs import a_death, directory_of

SCHEMA = json.loads((ROOT / "groupsim" / "output_schema.json").read_text())


def asked(*words: object) -> tuple[int, str, str]:
    """What a session that is there already answers."""
    result = groupsim("analyze", *words)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_table_is_shown_on_stdout_and_what_is_going_on_on_stderr():
    status, told, talk = asked(directory_of(a_death), "--table", "deaths")

    assert status == 0
    assert "its session expired" in told
    assert "computing deaths ..." in talk


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_columns_that_nobody_could_read_are_left_to_a_wider_page():
    columns = ["run", "reason", "duration_ms"]
    texts = [["a-run", "session of checkout-2 expired, and more of it", "3004"]]

    counts = [columns_that_fit(columns, texts, width) for width in (120, 40, 3)]

    assert counts == [3, 2, 1]


def test_a_question_in_sql_finds_every_table_as_a_view():
    query = "SELECT count(*) AS deaths FROM deaths"

    status, told, _ = asked(directory_of(a_death), "--sql", query)

    assert status == 0
    assert [line.strip("│ ") for line in told.splitlines() if line.startswith("│")] == ["1"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_mistake_in_a_question_is_told_in_a_line():
    status, told, talk = asked(directory_of(a_death), "--sql", "SELECT nothing FROM deaths")

    assert (status, told) == (2, "")
    assert "groupsim: Spark says: [UNRESOLVED_COLUMN" in talk
    assert "Traceback" not in talk


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_tables_are_kept_as_files(tmp_path):
    words = ("--table", "rebalances", "--out", tmp_path / "tables", "--format", "csv")

    status, told, talk = asked(directory_of(a_death), *words)

    assert (status, told) == (0, "")
    [file] = (tmp_path / "tables" / "rebalances").glob("*.csv")
    assert file.read_text().startswith("run,group,seq,trigger,reason")
    assert f"rebalances is in {tmp_path / 'tables' / 'rebalances'}" in " ".join(talk.split())


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_rows_beyond_the_limit_are_mentioned():
    _, told, talk = asked(directory_of(a_death), "--table", "states", "--limit", 1)

    assert told.count("checkout") == 1
    assert "states has more rows than 1" in talk


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_script_gets_every_row_of_a_table_with_all_its_columns():
    words = ("--table", "deaths", "--table", "runs", "--json")

    told = json.loads(asked(directory_of(a_death), *words)[1])

    Draft202012Validator({**SCHEMA, "$ref": "#/$defs/analyze"}).validate(told)
    assert list(told) == ["deaths", "runs"]
    assert "its session expired" in told["deaths"][0].values()
    assert isinstance(told["runs"][0]["settings"], dict)


def test_tables_are_printed_or_kept(tmp_path):
    status, _, talk = asked(directory_of(a_death), "--json", "--out", tmp_path / "tables")

    assert status == 2
    assert "--json prints the tables and --out keeps them" in talk


def test_files_that_are_there_are_not_written_over(tmp_path):
    (tmp_path / "states").mkdir()

    status, _, talk = asked(directory_of(a_death), "--table", "states", "--out", tmp_path)

    assert status == 2
    assert "exists already" in talk


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "rebalance"], "there is no table 'rebalance', only runs, events"),
        (["--table", "deaths", "--sql", "SELECT 1"], "cannot both be asked for"),
        (["--master", "local[1]", "--remote", "sc://x"], "are two places"),
        (["--format", "xls"], "must be one of parquet, csv, not xls"),
    ],
)
def test_wrong_use_is_told_before_spark_is_started(words, said):
    status, told, talk = asked(directory_of(a_death), *words)

    assert (status, told) == (2, "")
    assert said in talk
    assert "starting Spark" not in talk


def test_a_folder_without_runs_is_told_before_spark_is_started(tmp_path):
    status, _, talk = asked(tmp_path)

    assert status == 2
    assert "there is no complete run at" in talk


def test_without_java_one_sentence_says_what_to_install(tmp_path):
    result = groupsim_process("analyze", directory_of(a_death), JAVA_HOME=str(tmp_path))

    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith(
        "is none that works: install Java 17 or newer, or point JAVA_HOME at one"
    )


def test_without_pyspark_one_sentence_says_what_to_install(tmp_path):
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError('No module named pyspark')")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    result = groupsim_process("analyze", directory_of(a_death), PYTHONPATH=path)

    assert result.returncode == 2
    assert result.stderr == (
        "groupsim: analyze needs Spark (No module named pyspark): pip install 'groupsim[spark]'\n"
    )


@pytest.fixture
def nobody() -> Iterator[str]:
    """A place on this machine where nobody listens, and nobody will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.mark.parametrize(
    ("flag", "url", "said"),
    [
        ("--master", "spark://{}", "there is no Spark master at spark://{} ({}: "),
        ("--remote", "sc://{}", "there is no Spark Connect server at sc://{}: nothing there"),
    ],
)
def test_where_nobody_answers_one_sentence_says_so(nobody, flag, url, said):
    result = groupsim_process("analyze", directory_of(a_death), flag, url.format(nobody))

    assert result.returncode == 2
    talk, sentence = result.stderr.splitlines()
    assert talk == "starting Spark ..."
    assert sentence.startswith(f"groupsim: {said.format(nobody, nobody)}")


def test_without_what_connect_needs_one_sentence_says_what_to_install(tmp_path):
    (tmp_path / "grpc.py").write_text("raise ModuleNotFoundError('No module named grpc')")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    result = groupsim_process(
        "analyze", directory_of(a_death), "--remote", "sc://127.0.0.1", PYTHONPATH=path
    )

    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("groupsim: Spark Connect needs more than")
    assert result.stderr.endswith("pip install 'groupsim[connect]'\n")
