"""Draws docs/pictures: one picture for every shipped scenario, its variants side by side.

`make docs` runs it. With a folder as argument it takes the recordings that are there, as
`groupsim run NAME --out FOLDER/NAME` makes them, and plays only what is missing; with names of
scenarios behind it, it draws those only.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from groupsim.commands.scenarios import load
from groupsim.commands.shipped import shipped
from groupsim.report.figures import brief, figures_that_differ
from groupsim.report.pictures import as_png, picture
from groupsim.report.story import RunStory, read_story

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
#: Pixels for each of the chart's own: legible, and light enough to keep.
SCALE = 1.25
#: A hundred lanes of two pixels are sharp, and lighter, where each has whole ones.
SCALES = {"rolling_deploy": 1.0}
#: Of a scenario with more variants, those that its page speaks of first.
CHOSEN = {"rolling_deploy": ("eager", "cooperative", "static", "static_long_session")}
#: The numbers under a picture, where a page speaks of others than those people ask for first.
NUMBERS = {"rolling_deploy": ("sum(unowned_s)", "rebalances", "moved")}


def main(recordings: Path, names: Sequence[str]) -> None:
    """Play what is missing, draw these scenarios."""
    PICTURES.mkdir(exist_ok=True)
    for name in names:
        folder = recordings / name
        if not folder.exists():
            command = [sys.executable, "-m", "groupsim", "run", name, "--out", str(folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        variants = CHOSEN.get(name) or load(name).variant_names
        runs = [read_story(folder / variant) for variant in variants]
        file = PICTURES / f"{name}.png"
        file.write_bytes(as_png(picture(runs, subtitles(name, runs)), SCALES.get(name, SCALE)))
        sys.stderr.write(f"{file} ({file.stat().st_size / 1_000:.0f} kB)\n")


def subtitles(scenario: str, runs: Sequence[RunStory]) -> list[str]:
    """The three numbers of each run that tell them apart."""
    names = NUMBERS.get(scenario) or figures_that_differ(runs)
    return [brief(run, names) if len(runs) > 1 else "" for run in runs]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(sys.argv[1] if sys.argv[1:] else scratch), sys.argv[2:] or list(shipped()))
