"""The `groupsim` command, one function for each verb, some of them in verb files beside this.

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

from groupsim import verb_report, verb_sweep, verbs_on_runs
from groupsim.commands.failures import FAILED, HELD, WRONG_USE, told
from groupsim.commands.shadows import shadows, warning_of
from groupsim.commands.shipped import variants_like
from groupsim.flags import (
    EventsOption,
    JsonOption,
    MasterOption,
    MembersOption,
    PartitionsOption,
    PythonOption,
    RemoteOption,
    RunArgument,
    ScenarioArgument,
    folder,
)


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
            parser=folder,
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


for verb in (verbs_on_runs.timeline, verbs_on_runs.why, verbs_on_runs.diff):
    app.command()(verb)


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


app.command()(verbs_on_runs.trace)
app.command()(verb_report.report)
app.command()(verbs_on_runs.analyze)
app.command()(verb_sweep.sweep)


@app.command()
def campaign(  # noqa: PLR0913 - one parameter for each flag
    *,
    worlds: Annotated[int, typer.Option(metavar="N", min=1, help="How many.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The first world's.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many at a time on this machine; 1 unless told."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Where scripts of failing worlds are saved.", parser=folder
        ),
    ] = Path("failures"),
    shrink: Annotated[bool, typer.Option(help="Make failing worlds small.")] = True,
    master: MasterOption = None,
    remote: RemoteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play random worlds with all checkers on; a world that fails is made small and saved.

    On Spark, --out keeps a row for each world besides: the same command goes on where it was.

    \b
    Examples:
      groupsim campaign --worlds 1000 --jobs 2
      groupsim campaign --worlds 200000 --master spark://host:7077 --out worlds
    """
    from groupsim.commands import campaigning

    wish = campaigning.CampaignWish(
        seeds=range(seed, seed + worlds),
        jobs=jobs,
        out=out,
        is_shrinking=shrink,
        master=master,
        remote=remote,
    )
    raise typer.Exit(campaigning.campaign(wish, is_json=as_json))


if __name__ == "__main__":
    main()
