"""The command as tests call it: in this process, for speed, or in one of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from groupsim.cli import app

ROOT = Path(__file__).parent.parent.parent


def groupsim(*words: object) -> Result:
    """Call the command here; what it prints and its status come back."""
    return CliRunner().invoke(app, [str(word) for word in words])


def groupsim_process(
    *words: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Call the command as a shell does."""
    return subprocess.run(
        [sys.executable, "-m", "groupsim", *map(str, words)],
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **environment},
        text=True,
        timeout=60,
    )


def groupsim_on_a_small_disk(*words: object, most_bytes: int) -> subprocess.CompletedProcess[str]:
    """Call the command where no file can become larger than this."""

    def allow_little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        [sys.executable, "-B", "-m", "groupsim", *map(str, words)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        preexec_fn=allow_little,  # this process has no other threads by then
        text=True,
        timeout=60,
    )
