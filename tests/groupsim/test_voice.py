"""Names and texts of anybody's, as a terminal sees them."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from attrs import evolve
from rich.table import Table

from groupsim.commands.failures import told
from groupsim.commands.voice import Page, Voice
from groupsim.testing import Playbill
from simulation.errors import SimulationError
from simulation.parquet_sink import ParquetSink
from simulation.run_directory import RunFile
from tests.groupsim.command import groupsim
from tests.groupsim.runs import a_death, directory_of, rows_of

#: Clears the screen: once in seven bits, once in eight.
EVIL = "\x1b[2J\x9b2J"
#: The same as YAML spells it.
SPELLED = r"\e[2J\x9b2J"
#: In a file names are checked, and texts are free.
TEXTS = f"""\
title: "title{SPELLED}"
question: "question{SPELLED}"
cluster: {{topics: {{orders: {{partitions: 2, records: 10/s}}}}}}
groups: {{checkout: {{members: 2, subscribe: [orders]}}}}
run_for: 10s
never_settles: "never{SPELLED}"
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    file = tmp_path_factory.mktemp("evil") / "evil.yaml"
    file.write_text(TEXTS)
    return file


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A run directory of somebody else's, in which any name may stand."""
    path = tmp_path_factory.mktemp("runs") / "stranger"
    rows = rows_of(a_death)
    with ParquetSink(path) as sink:
        for row in rows:
            sink.take(
                evolve(
                    row,
                    client=row.client and f"{row.client}{EVIL}",
                    topic=row.topic and f"{row.topic}{EVIL}",
                    group=row.group and f"{row.group}{EVIL}",
                )
            )
        told_of_it = {"events": len(rows)}
        sink.finish(RunFile(run="run", scenario={}, seed=1, versions={}, outcome=told_of_it))
    return path


def is_harmless(text: str) -> bool:
    return not set(text) & {"\x1b", "\x9b"}


@pytest.mark.parametrize(
    "words", [["show"], ["show", "--yaml"], ["run"], ["run", "--json"]], ids=" ".join
)
def test_no_text_in_a_file_commands_the_terminal_in(scenario, words):
    result = groupsim(words[0], scenario, *words[1:])

    assert "2J" in result.output
    assert is_harmless(result.output)


@pytest.mark.parametrize(
    "words", [["timeline"], ["timeline", "--json"], ["why"], ["diff"]], ids=" ".join
)
def test_no_name_in_a_run_commands_the_terminal_in(stranger, words):
    others = [directory_of(a_death)] if words == ["diff"] else []

    result = groupsim(words[0], stranger, *others, *words[1:])

    assert result.exit_code == 0, result.output
    assert "2J" in result.output
    assert is_harmless(result.output)


def test_no_name_commands_the_terminal_in_a_table():
    table = Table("measure")
    table.add_row(f"orders{EVIL}")
    voice = Voice(page=Page(file=(written := StringIO())))

    voice.show(table)

    assert r"orders\x1b[" in written.getvalue()
    assert is_harmless(written.getvalue())


def test_no_name_in_a_simulation_commands_the_terminal_in_a_report_of_pytest(tmp_path):
    playbill = Playbill(command="pytest", folder=tmp_path)
    sim = playbill.simulation(0, {})
    sim.topic("orders", partitions=1)
    sim.consumers("checkout", f"ada{EVIL}", topics=["orders"])
    sim.run_for("10s")

    ((_, text),) = playbill.told(lines_max=20)

    assert "2J" in text
    assert is_harmless(text)


def test_no_name_commands_the_terminal_in_what_went_wrong(capsys):
    told(SimulationError(f"there is no {EVIL}"))

    assert capsys.readouterr().err == r"groupsim: there is no \x1b[2J\x9b2J" + "\n"


def test_a_name_is_the_same_in_json_as_in_the_file(scenario):
    found = json.loads(groupsim("run", scenario, "--json").stdout)

    assert found["title"] == f"title{EVIL}"
