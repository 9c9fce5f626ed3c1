"""Arguments and flags that several verbs of the command share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from groupsim.commands.shipped import names_like


def folder(text: str) -> Path:
    """A folder to write in, which need not be there yet."""
    if not text:
        raise typer.BadParameter("it names no folder; . is the one you are in")
    if (path := Path(text)).is_file():
        raise typer.BadParameter(f"{text} is a file, and this must be a folder")
    return path


def _look_here(is_allowed: bool) -> bool:  # noqa: FBT001 - as click calls it
    """Code of the user's own is found in the folder one is in, behind all that is installed."""
    here = str(Path.cwd())
    if is_allowed and here not in sys.path:
        sys.path.append(here)
    return is_allowed


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A scenario that comes with groupsim, or a file.",
        autocompletion=names_like,
    ),
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run directory, such as runs/eager.")
]
GroupOption = Annotated[
    str | None, typer.Option("--group", metavar="GROUP", help="Only this group.")
]
PythonOption = Annotated[
    bool,
    typer.Option(
        "--allow-python",
        help="Let the scenario import assignors and applications, also from this folder.",
        callback=_look_here,
    ),
]
MembersOption = Annotated[
    int | None,
    typer.Option("--max-members", metavar="N", min=1, help="Allow so many members."),
]
PartitionsOption = Annotated[
    int | None,
    typer.Option("--max-partitions", metavar="N", min=1, help="Allow so many partitions."),
]
EventsOption = Annotated[
    int | None,
    typer.Option("--max-events", metavar="N", min=1, help="Allow so many events in a run."),
]
MasterOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Work on this cluster: spark://host:7077.")
]
RemoteOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Ask this Connect server: sc://host:15002.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Results for a script; docs/cli.md has their schema.")
]
