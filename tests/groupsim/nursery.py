"""Whatever a run needs before it begins, done once for hundreds of runs that are killed.

A fork server imports this, so each run of `test_kills` is a copy of a process that has loaded
everything, has answered a command and has played a scenario. It has written no file: that would
start threads, which a copy does not have.
"""

from __future__ import annotations

import os
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pyarrow as pa

import groupsim.commands.running  # noqa: F401 (a verb imports what it does when it is called)
import simulation.recording  # noqa: F401 (the same)
from groupsim.cli import app
from simulation.scenarios import Scenario

VARIANTS = ("one", "two", "three", "four")
#: Short runs, so that many kills hit one that is being written.
SHORT = f"""\
cluster: {{topics: {{orders: {{partitions: 4, records: 20/s}}}}}}
groups:
  checkout: {{members: 2, subscribe: [orders]}}
run_for: 8s
variants: {{{", ".join(f"{name}: {{}}" for name in VARIANTS)}}}
"""


def command(talk: Path, *arguments: str) -> None:
    """The `groupsim` command; what it says goes to a file."""
    with talk.open("w") as told, redirect_stderr(told), redirect_stdout(told):
        app(list(arguments))


with suppress(SystemExit):
    command(Path(os.devnull), "list", "--json")
Scenario.from_yaml(SHORT).play(variant="one")
pa.array([1])  # The first one imports pandas, if that is there.
