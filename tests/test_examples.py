"""Examples run, and print what they say they print; so does the one in the README."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_prints_its_recorded_output(example, capsys):
    runpy.run_path(str(example), run_name="__main__")

    assert capsys.readouterr().out == example.with_suffix(".out").read_text()


def test_the_readme_shows_what_its_example_prints(capsys, tmp_path):
    readme = (ROOT / "README.md").read_text()
    code = readme.split("```python\n")[1].split("```")[0]
    shown = readme.split("```text\n")[1].split("```")[0]
    script = tmp_path / "readme.py"
    script.write_text(code)

    runpy.run_path(str(script), run_name="__main__")

    assert capsys.readouterr().out == shown
