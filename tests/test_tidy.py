"""The habits of the project that no linter knows: import arrows, clocks, lengths, orphans, pins."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import groupsim
from simulation.version import VERSION

ROOT = Path(__file__).parent.parent
LINES_OF_A_FILE_MAX = 500
LINES_OF_A_FUNCTION_MAX = 70

#: What each room may import besides the standard library and itself.
MAY_IMPORT = {
    "coordinator": {"attr", "attrs"},
    "client": {
        *("attr", "attrs"),
        # Messages, their errors, and the hash that Java gives to strings.
        *("coordinator.protocol", "coordinator.errors", "coordinator.java_order"),
    },
    "simulation": {"attr", "attrs", "cattrs", "client", "coordinator", "pyarrow", "yaml"},
    "spark_bridge": {
        *("attr", "attrs", "simulation"),
        *("altair", "py4j", "pyarrow", "pyspark", "vl_convert"),
    },
    "groupsim": {
        *("attr", "attrs", "client", "coordinator", "simulation", "spark_bridge"),
        *("pyspark", "pytest", "rich", "typer"),
        # Pages and pictures.
        *("altair", "jinja2", "markupsafe", "vl_convert"),
    },
}

#: In the simulation, each of these has one place; the rest of it stays pure Python.
ONLY_IN = {
    "cattrs": "simulation/scenario*.py",
    "yaml": "simulation/scenario*.py",
    "pyarrow": "simulation/*parquet*.py",
}

CLOCKS_AND_DICE = {"datetime", "random", "secrets", "time", "uuid"}
MAY_READ_CLOCKS_AND_DICE = {
    "coordinator/local.py",  # the machine by the wall clock, which freezegun moves
    "groupsim/commands/progress.py",  # tells a person how long a run will take
    "simulation/chance.py",  # where all chance comes from
}

#: Modules that are started by name rather than imported.
STARTED_BY_NAME = {"groupsim.__main__", "groupsim.demo", "groupsim.pytest_plugin"}

#: What a plain `import` must not cost: Spark, and whatever a browser does not have.
HEAVY = {"pandas", "pyarrow", "pyspark"}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_follow_the_arrows_in(room):
    allowed = MAY_IMPORT[room] | {room} | sys.stdlib_module_names

    strays = [
        f"{name_of(path)}: {target}"
        for path in modules_of(room)
        for target in imports_of(path)
        if not is_within(target, allowed)
    ]

    assert strays == []


@pytest.mark.parametrize("package", ONLY_IN)
def test_the_simulation_keeps_to_one_place_its_use_of(package):
    strays = [
        name_of(path)
        for path in modules_of("simulation")
        for target in imports_of(path)
        if is_within(target, {package}) and not fnmatch(name_of(path), ONLY_IN[package])
    ]

    assert strays == []


def test_importing_the_simulator_loads_neither_spark_nor_arrow():
    program = (
        "import json, sys, groupsim, coordinator, client, simulation;"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )

    printed = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT)

    assert HEAVY.intersection(json.loads(printed)) == set()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_nothing_reads_a_clock_or_throws_dice_in(room):
    strays = [
        f"{name_of(path)}: {target}"
        for path in modules_of(room)
        for target in imports_of(path)
        if is_within(target, CLOCKS_AND_DICE) and name_of(path) not in MAY_READ_CLOCKS_AND_DICE
    ]

    assert strays == []


def test_no_test_sleeps():
    assert [f"{name_of(path)}:{line}" for path in modules_of("tests") for line in naps(path)] == []


def test_no_file_is_too_long_to_read():
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in every_module()}

    assert {name: n for name, n in lengths.items() if n > LINES_OF_A_FILE_MAX} == {}


def test_no_function_is_longer_than_a_screen():
    lengths = {
        f"{name_of(path)}: {function.name}": lines
        for room in MAY_IMPORT
        for path in modules_of(room)
        for function, lines in functions_of(path)
    }

    assert {name: n for name, n in lengths.items() if n > LINES_OF_A_FUNCTION_MAX} == {}


def test_no_module_is_an_orphan():
    imported = {
        name
        for path in every_module()
        for target in imports_of(path)
        for name in accumulate(target.split("."), "{}.{}".format)
    }
    ours = {dotted_name(path) for room in MAY_IMPORT for path in modules_of(room)}

    assert sorted(ours - imported - set(MAY_IMPORT) - STARTED_BY_NAME) == []


def test_every_pin_is_one_exact_version():
    pins = [line for line in pin_lines() if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]

    assert pins == []


def test_every_dependency_is_pinned_to_a_version_it_allows():
    pins = {canonicalize_name(name): version for name, version in map(split_pin, pin_lines())}

    refused = [
        str(wanted)
        for wanted in direct_dependencies()
        if not wanted.specifier.contains(pins.get(canonicalize_name(wanted.name), "0"))
    ]

    assert refused == []


def test_the_version_stands_in_one_place_that_needs_no_installation():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "simulation.version.VERSION"
    }
    assert groupsim.__version__ == VERSION


def modules_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def every_module() -> list[Path]:
    return [
        path
        for folder in (*MAY_IMPORT, "tests", "benchmarks", "examples")
        for path in modules_of(folder)
    ]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dotted_name(path: Path) -> str:
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=name_of(path))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Every dotted name that a file imports, wherever in it; `from a import b` counts as a.b."""
    return tuple(target for node in ast.walk(tree_of(path)) for target in targets_of(node, path))


def targets_of(node: ast.AST, path: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = dotted_name(path.parent / "__init__.py").split(".")
        above = package[: len(package) + 1 - node.level] if node.level else []
        source = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{source}.{alias.name}" for alias in node.names)


def is_within(target: str, names: set[str] | frozenset[str]) -> bool:
    return any(target == name or target.startswith(f"{name}.") for name in names)


def naps(path: Path) -> Iterator[int]:
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.Attribute(value=ast.Name(id="time" | "asyncio"), attr="sleep"):
                yield node.lineno
            case ast.ImportFrom(module="time" | "asyncio", names=names):
                if any(alias.name == "sleep" for alias in names):
                    yield node.lineno


def functions_of(path: Path) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, (node.end_lineno or node.lineno) - node.lineno + 1


def pin_lines() -> list[str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def split_pin(line: str) -> tuple[str, str]:
    name, _, version = line.partition("==")
    return name, version


def direct_dependencies() -> list[Requirement]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
        *settings["dependency-groups"]["dev"],
    ]
    wanted = map(Requirement, lines)
    return [requirement for requirement in wanted if requirement.name != project["name"]]
