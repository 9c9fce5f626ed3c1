"""The verbs that read finished runs; cli.py puts them among the others.

As there, a verb imports what it does when it is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groupsim.flags import (
    GroupOption,
    JsonOption,
    MasterOption,
    RemoteOption,
    RunArgument,
    folder,
)


def timeline(  # noqa: PLR0913 - one parameter for each flag
    run: RunArgument,
    *,
    group: GroupOption = None,
    from_time: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="From this time on: 90s, 2m.")
    ] = None,
    to_time: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Up to this time: 90s, 2m.")
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Around this only: rebalance:3, rebalance:last."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Every event, also what goes without saying.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell the story of a run, line by line, with what led to what.

    Each line has a time, the number of its event and what happened; `<- 17` says that event 17
    led to it. A line without one was caused by the line above it, or by the script.

    \b
    Examples:
      groupsim timeline runs/eager
      groupsim timeline runs/eager --from 2m --to 3m
      groupsim timeline runs/eager --around rebalance:3 --full
    """
    from groupsim.commands import reading

    reading.timeline(
        run,
        group=group,
        from_time=from_time,
        to_time=to_time,
        around=around,
        is_full=full,
        as_json=as_json,
    )


def why(
    run: RunArgument,
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="What to explain: rebalance:3, rebalance:last.")
    ] = "rebalance:last",
    *,
    group: GroupOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a rebalance: why it began, who held it, and why.

    It also shows the critical path, step by step. Rebalances are counted from 1 over the whole
    run, or within --group.

    \b
    Examples:
      groupsim why runs/eager rebalance:3
      groupsim why runs/eager rebalance:last --group checkout
    """
    from groupsim.commands import reading

    reading.why(run, what, group=group, as_json=as_json)


def diff(
    left: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    right: Annotated[Path, typer.Argument(metavar="RUN", help="Another one.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Show where two runs part, what led to it, and what it changed.

    \b
    Example:
      groupsim diff runs/eager runs/cooperative
    """
    from groupsim.commands import comparing

    comparing.diff(left, right, as_json=as_json)


def trace(
    run: RunArgument,
    *,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Where to write it.")
    ] = Path("trace.json"),
) -> None:
    """Write a run as a trace for Perfetto or chrome://tracing.

    It has a track for each group, partition and member, and arrows from causes to effects.

    \b
    Example:
      groupsim trace runs/eager -o trace.json
    """
    from groupsim.commands import tracing

    tracing.trace(run, out)


def analyze(  # noqa: PLR0913 - one parameter for each flag
    path: Annotated[
        str, typer.Argument(metavar="RUN|DIR", help="A run, a folder with runs, or a glob.")
    ],
    *,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="This table, such as rebalances; may be given again."),
    ] = None,
    sql: Annotated[
        str | None, typer.Option(metavar="QUERY", help="A question; every table is a view.")
    ] = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the tables as files in this folder.", parser=folder),
    ] = None,
    kind: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Of these files: parquet or csv.")
    ] = "parquet",
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="So many rows of each; 20 unless told, all in JSON."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell tables from finished runs, on Spark: rebalances, ownership, lag, duplicates and more.

    Without --table or --sql it shows what people ask for first; docs/spark.md lists all tables.

    \b
    Examples:
      groupsim analyze runs
      groupsim analyze runs/eager --table rebalances
      groupsim analyze runs --sql "SELECT reason, count(*) FROM rebalances GROUP BY reason"
      groupsim analyze runs --out tables --format csv
    """
    from groupsim.commands import analyzing

    analyzing.analyze(
        analyzing.Question(
            path=path,
            tables=tuple(table or ()),
            sql=sql,
            master=master,
            remote=remote,
            out=out,
            format=kind,
            limit=limit,
            is_json=as_json,
        )
    )
