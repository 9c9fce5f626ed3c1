"""The verb `sweep`; cli.py puts it among the others.

As there, a verb imports what it does when it is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groupsim.commands.failures import FAILED
from groupsim.commands.shipped import names_like, variants_like
from groupsim.flags import (
    EventsOption,
    JsonOption,
    MasterOption,
    MembersOption,
    PartitionsOption,
    PythonOption,
    RemoteOption,
    folder,
)

ScenarioArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME|FILE]",
        help="A scenario that comes with groupsim, or a file; without it nothing is played.",
        autocompletion=names_like,
        show_default=False,
    ),
]
FolderOption = Annotated[
    Path, typer.Option(metavar="DIR", help="The sweep's folder: its results.", parser=folder)
]
VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=VALUES",
        help="What to try: members=10,50 or session_timeout_ms=6s..45s:5; may be given again.",
    ),
]
SeedsOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="So many seeds for each setting; 100 unless told."),
]
FirstSeedOption = Annotated[int | None, typer.Option(metavar="N", min=0, help="The first seed.")]
VariantsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Only this variant; may be given again.",
        autocompletion=variants_like,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Another value; may be given again."),
]
KeepOption = Annotated[
    bool, typer.Option("--keep-events", help="Keep a run directory for each run.")
]
RecommendOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BOUND", help="Which setting holds 'p99(unowned_s) < 5'? May be given again."
    ),
]
MinimizeOption = Annotated[
    str | None,
    typer.Option(metavar="FIGURE", help="Of those that hold, where is it least?"),
]
GateOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BOUND", help="Exit with 1 unless it holds in every setting; may be repeated."
    ),
]
ParetoOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIGURE,FIGURE",
        help="Which settings does no other beat in both? May be given again.",
    ),
]
MeasureOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIGURE", help="Tell this of each setting: lag_s, sum(unowned_s); may be again."
    ),
]


def sweep(  # noqa: PLR0913 - one parameter for each flag
    scenario: ScenarioArgument = None,
    *,
    out: FolderOption,
    vary: VaryOption = None,
    seeds: SeedsOption = None,
    seed: FirstSeedOption = None,
    variant: VariantsOption = None,
    change: SetOption = None,
    keep_events: KeepOption = False,
    recommend: RecommendOption = None,
    minimize: MinimizeOption = None,
    gate: GateOption = None,
    pareto: ParetoOption = None,
    measure: MeasureOption = None,
    master: MasterOption = None,
    remote: RemoteOption = None,
    allow_python: PythonOption = False,
    max_members: MembersOption = None,
    max_partitions: PartitionsOption = None,
    max_events: EventsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a scenario in many settings with many seeds, on Spark, and say which setting to take.

    A sweep that was interrupted goes on with the same command, and plays only what is missing.
    Without a scenario, --out DIR is asked again, and nothing is played.

    \b
    Examples:
      groupsim sweep gc_pause_sweep --variant session_45s --vary session_timeout_ms=6s..45s:5
        --seeds 50 --out sweep --pareto commits_refused,detection_s
      groupsim sweep --out sweep --recommend "p99(unowned_s) < 30" --minimize "mean(detection_s)"
      groupsim sweep mine.yaml --seeds 200 --out sweep --gate "p99(unowned_s) < 5"
    """
    from groupsim.commands import sweeping
    from groupsim.commands.sweep_questions import Asked
    from simulation.scenarios.limits import raised

    wish = sweeping.SweepWish(
        scenario=scenario,
        out=out,
        axes=tuple(vary or ()),
        seeds=seeds,
        first_seed=seed,
        variants=tuple(variant or ()),
        changes=tuple(change or ()),
        keeps_events=keep_events,
        master=master,
        remote=remote,
        allow_python=allow_python,
        limits=raised(members=max_members, partitions=max_partitions, events=max_events),
        asked=Asked(
            recommend=tuple(recommend or ()),
            minimize=minimize,
            gates=tuple(gate or ()),
            lines=tuple(pareto or ()),
            measures=tuple(measure or ()),
        ),
    )
    if not sweeping.sweep(wish, is_json=as_json):
        raise typer.Exit(FAILED)
