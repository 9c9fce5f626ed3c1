"""The shipped schema and the reference say what the parts of a scenario say."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from simulation.scenarios import Scenario
from simulation.scenarios.documents import parse
from simulation.scenarios.limits import Limits
from simulation.scenarios.reference import renewed
from simulation.scenarios.schema import json_schema, schema_text

ROOT = Path(__file__).parent.parent.parent.parent
SCHEMA = ROOT / "groupsim" / "scenario.schema.json"
SHIPPED = sorted((ROOT / "groupsim" / "scenarios").glob("*.yaml"))


def complaints(data: object) -> list[str]:
    return [
        error.message for error in jsonschema.Draft202012Validator(json_schema()).iter_errors(data)
    ]


def test_the_shipped_schema_is_up_to_date():
    renew = f"python -m simulation.scenarios.schema {SCHEMA.relative_to(ROOT)}"

    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), f"{renew} renews it"


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_the_documentation_has_every_key_and_action():
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")

    assert page == renewed(page), (
        "python -m simulation.scenarios.reference docs/scenarios.md renews it"
    )


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_schema_accepts_as_written_and_as_rewritten(path):
    written = parse(path.read_text(encoding="utf-8"), path.name, Limits()).data

    assert complaints(written) == []
    assert complaints(Scenario.from_file(path).to_dict()) == []


@pytest.mark.parametrize(
    "data",
    [
        {"titel": "x"},
        {"run_for": 5},
        {"cluster": {"brokers": 0}},
        {"groups": {"checkout": {"settings": {"sesion_timeout_ms": "45s"}}}},
        {"groups": {"checkout": {"members": "many"}}},
        {"script": [{"at": "1s", "crush": "ada"}]},
        {"script": [{"at": "1s", "crash": "ada", "stop": "ada"}]},
        {"script": [{"at": "1s", "rolling_restart": {"group": "a", "stop": "slowly"}}]},
    ],
)
def test_the_schema_refuses(data):
    assert complaints(data) != []


def blocks_of(language: str) -> list[str]:
    """The examples in the documentation."""
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


def test_the_file_in_the_documentation_is_a_scenario():
    whole, members, script = blocks_of("yaml")

    scenario = Scenario.from_yaml(whole)
    indented = textwrap.indent(members, "    ")
    around = "cluster: {topics: {orders: {}}}\ngroups:\n  checkout:\n"
    detailed = Scenario.from_yaml(f"{around}{indented}{script}run_for: 15m")

    assert scenario.variant_names == ("eager", "cooperative", "static")
    assert len(detailed.script) == 5


def test_the_python_in_the_documentation_runs():
    (program,) = blocks_of("python")

    exec(program, {})  # noqa: S102 (our own page)
