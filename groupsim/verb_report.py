"""The verb `report`; cli.py puts it among the others.

As there, a verb imports what it does when it is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|DIR...",
            help="Runs to stand side by side, a folder with one for each variant, or a sweep.",
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page: page.html.")
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR", help="A picture of them, or a folder with every chart besides."
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE|DIR", help="The same, to be scaled.")
    ] = None,
) -> None:
    """Make a page of finished runs: the answer, charts to zoom into, every rebalance explained.

    The page is one file and needs no network. What is there already under its name is replaced.
    The page of a sweep has its advice, heat maps and the Pareto line; it needs Spark.

    \b
    Examples:
      groupsim report runs/eager -o page.html
      groupsim report runs -o page.html
      groupsim report runs/eager runs/static --png picture.png
    """
    from groupsim.commands import reporting

    reporting.report(reporting.Order(paths=runs, page=out, png=png, svg=svg))
