"""The `groupsim` command, one function for each verb.

Nothing heavy is imported before it is needed: a verb imports what it does (commands/) when it is
called, so `groupsim --help` answers at once. What a verb raises becomes one sentence and an exit
status in commands/failures.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from groupsim.commands.failures import FAILED, HELD, WRONG_USE, told
from groupsim.commands.shadows import shadows, warning_of
from groupsim.commands.shipped import names_like, variants_like


@contextmanager
def told_if_raised() -> Iterator[None]:
    """Every way out of the command but the usual ones ends here."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.TyperException, SystemExit):
        raise
    except BaseException as error:
        raise typer.Exit(told(error)) from error


class Verbs(TyperGroup):
    """Turns whatever a verb raises into a sentence and a status."""

    def make_context(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - click's own
        """Read the command line; some flags answer at once."""
        with told_if_raised():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - the same
        """Call the verb."""
        with told_if_raised():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - the same
        """In the order of this file, which is the order in which one needs them."""
        del ctx
        return list(self.commands)


app = typer.Typer(
    name="groupsim",
    cls=Verbs,
    no_args_is_help=True,
    # Plain help comes at once, and is the same in a file as on a terminal.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _folder(text: str) -> Path:
    """A folder to write in, which need not be there yet."""
    if not text:
        raise typer.BadParameter("it names no folder; . is the one you are in")
    if (path := Path(text)).is_file():
        raise typer.BadParameter(f"{text} is a file, and this must be a folder")
    return path


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
    typer.Option("--allow-python", help="Let the scenario import assignors and applications."),
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
JsonOption = Annotated[
    bool, typer.Option("--json", help="Results for a script; docs/cli.md has their schema.")
]


def main() -> None:
    """The command, as it is started from a shell."""
    found = shadows()
    if found:
        sys.stderr.write(f"{warning_of(found)}\n")
    app(prog_name="groupsim")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - as click calls it
    if wanted:
        from simulation.version import VERSION

        typer.echo(f"groupsim {VERSION}")
        raise typer.Exit(HELD)


@app.callback()
def groupsim(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which groupsim this is.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Play Kafka's consumer groups in virtual time, and learn why they did what they did.

    \b
    Begin with:
      groupsim list                          the scenarios that come with it
      groupsim run rolling_deploy            play one, in all its variants
      groupsim run rolling_deploy --out r    the same, and keep the recordings
      groupsim why r/eager rebalance:3       who held the third rebalance, and why

    Exit status: 0 all held, 1 an expectation or a checker failed, 2 wrong use, 3 our bug.
    """


@app.command("list")
def list_scenarios(*, as_json: JsonOption = False) -> None:
    """List the scenarios that come with groupsim.

    \b
    Examples:
      groupsim list
      groupsim list --json
    """
    from groupsim.commands import scenarios

    scenarios.list_all(as_json=as_json)


@app.command()
def show(  # noqa: PLR0913 - one parameter for each flag
    scenario: ScenarioArgument,
    *,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="The file itself, to copy and change.")
    ] = False,
    allow_python: PythonOption = False,
    max_members: MembersOption = None,
    max_partitions: PartitionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a scenario in words: who is there, what happens, what is asked.

    \b
    Examples:
      groupsim show rolling_deploy
      groupsim show rolling_deploy --yaml > mine.yaml
    """
    from groupsim.commands import scenarios
    from simulation.scenarios.limits import raised

    limits = raised(members=max_members, partitions=max_partitions)
    if yaml and as_json:
        raise typer.BadParameter("--yaml and --json cannot both be asked for")
    found = scenarios.load(scenario, allow_python=allow_python, limits=limits)
    if as_json:
        scenarios.print_as_json(found)
    elif yaml:
        scenarios.print_file(scenario)
    else:
        scenarios.explain(found)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path(
        "scenario.yaml"
    ),
) -> None:
    """Write a commented scenario file to start from.

    \b
    Example:
      groupsim init mine.yaml
    """
    from groupsim.commands import scenarios

    scenarios.init(file)


@app.command()
def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file.")],
    *,
    allow_python: PythonOption = False,
    max_members: MembersOption = None,
    max_partitions: PartitionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say everything that is wrong with a scenario file, and where.

    Each line has the file and line, the path in the file, what was found and what is allowed.

    \b
    Example:
      groupsim validate mine.yaml
    """
    from groupsim.commands import scenarios
    from simulation.scenarios.limits import raised

    limits = raised(members=max_members, partitions=max_partitions)
    if not scenarios.check(file, allow_python=allow_python, limits=limits, as_json=as_json):
        raise typer.Exit(WRONG_USE)


@app.command()
def run(  # noqa: PLR0913 - one parameter for each flag
    scenario: ScenarioArgument,
    *,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this variant; may be given again.",
            autocompletion=variants_like,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Other dice; 0 unless the scenario says.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Another value; may be given again."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep a run directory for each variant in this folder.",
            parser=_folder,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Record every heartbeat and commit by itself.")
    ] = False,
    allow_python: PythonOption = False,
    max_members: MembersOption = None,
    max_partitions: PartitionsOption = None,
    max_events: EventsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a scenario in all its variants, and tell what came of it.

    The same scenario and seed give the same events, on any machine. A run directory of --out is
    DIR/VARIANT with run.json and events/*.parquet; it is complete or absent.

    \b
    Examples:
      groupsim run rolling_deploy
      groupsim run rolling_deploy --variant eager --seed 7 --out runs
      groupsim run mine.yaml --set groups.checkout.settings.session_timeout_ms=10s --json
    """
    from groupsim.commands import running
    from simulation.scenarios.limits import raised

    wish = running.Wish(
        scenario=scenario,
        variants=tuple(variant or ()),
        seed=seed,
        changes=tuple(change or ()),
        out=out,
        is_full=full,
        allow_python=allow_python,
        limits=raised(members=max_members, partitions=max_partitions, events=max_events),
    )
    if not running.run(wish, is_json=as_json):
        raise typer.Exit(FAILED)


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def replay(  # noqa: PLR0913 - one parameter for each flag
    run: RunArgument,
    *,
    allow_python: PythonOption = False,
    max_members: MembersOption = None,
    max_partitions: PartitionsOption = None,
    max_events: EventsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a run again from its run.json, and show that the events are the same.

    The status is 1 if they are not.

    \b
    Example:
      groupsim replay runs/eager
    """
    from groupsim.commands import running
    from simulation.scenarios.limits import raised

    limits = raised(members=max_members, partitions=max_partitions, events=max_events)
    if not running.replay(run, allow_python=allow_python, limits=limits, is_json=as_json):
        raise typer.Exit(FAILED)


@app.command()
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
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Work on this cluster: spark://host:7077.")
    ] = None,
    remote: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this Connect server: sc://host:15002.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the tables as files in this folder.", parser=_folder
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Of these files: parquet or csv.")
    ] = "parquet",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Show so many rows.")] = 20,
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
        )
    )


@app.command()
def campaign(  # noqa: PLR0913 - one parameter for each flag
    *,
    worlds: Annotated[int, typer.Option(metavar="N", min=1, help="How many.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The first world's.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="How many at a time.")] = 1,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Where scripts of failing worlds are saved.", parser=_folder
        ),
    ] = Path("failures"),
    shrink: Annotated[bool, typer.Option(help="Make failing worlds small.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Play random worlds with all checkers on; a world that fails is made small and saved.

    \b
    Example:
      groupsim campaign --worlds 1000 --jobs 2
    """
    from groupsim.commands import campaigning

    seeds = range(seed, seed + worlds)
    status = campaigning.campaign(seeds, jobs=jobs, out=out, is_shrinking=shrink, as_json=as_json)
    raise typer.Exit(status)


if __name__ == "__main__":
    main()
