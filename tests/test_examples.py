"""Examples run, and print what they say they print.

An example that is a test file is run by pytest, and its report compared; some tests fail in it, to
show what is told of them.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TEST_FILES = [path for path in EXAMPLES if "\ndef test_" in path.read_text()]
ON_SPARK = [path for path in EXAMPLES if "spark_bridge" in path.read_text()]
BUILD_SERVER = ("CI", "BUILD_NUMBER")
SCRIPTS = [path for path in EXAMPLES if path not in (*TEST_FILES, *ON_SPARK)]


@pytest.mark.parametrize("example", SCRIPTS, ids=lambda path: path.stem)
def test_the_example_prints_its_recorded_output(example, capsys):
    runpy.run_path(str(example), run_name="__main__")

    assert capsys.readouterr().out == example.with_suffix(".out").read_text()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("example", ON_SPARK, ids=lambda path: path.stem)
def test_the_example_on_spark_prints_its_recorded_output(example, capsys):
    runpy.run_path(str(example), run_name="__main__")

    assert capsys.readouterr().out == example.with_suffix(".out").read_text()


@pytest.mark.parametrize("example", TEST_FILES, ids=lambda path: path.stem)
def test_the_example_gives_its_recorded_report(example, tmp_path):
    shutil.copy(example, tmp_path)

    assert report_of(example.name, tmp_path) == example.with_suffix(".out").read_text()


def report_of(file: str, folder: Path) -> str:
    """What `pytest -v` says of a file, but for how long it took.

    On a build server (`CI` is set) pytest cuts no line short, and would say more.
    """
    flags = ["-v", "--no-header", "-p", "no:cacheprovider"]
    at_a_desk = {name: value for name, value in os.environ.items() if name not in BUILD_SERVER}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *flags, file],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**at_a_desk, "COLUMNS": "80", "PYTEST_ADDOPTS": ""},
        text=True,
        timeout=60,
    )
    return re.sub(r"=+ (.*) in \d+\.\d+s =+", r"== \1 ==", result.stdout)
