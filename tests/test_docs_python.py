"""Every Python block of these pages runs by itself, and prints what is shown below it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/simulation.md")

_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def blocks() -> list[ParameterSet]:
    """Each block with what is shown of its output, named after its page and section."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            section = text[: block.start()].rsplit("\n## ", 1)[-1].split("\n")[0]
            found.append(pytest.param(*block.groups(default=""), id=f"{page}: {section}"))
    return found


@pytest.mark.parametrize(("code", "shown"), blocks())
def test_a_block_runs_and_prints_what_is_shown_in(code, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "block.py"
    script.write_text(code, encoding="utf-8")

    runpy.run_path(str(script), run_name="__main__")

    assert capsys.readouterr().out == shown
