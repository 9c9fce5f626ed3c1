"""`python -m groupsim.demo`: a deploy compared, and a group's story through all rooms.

It plays a rolling deploy in the four ways to be a member and prints what each of them costs. Then
it records a small story, reads the recording with Spark and prints what Spark makes of it: the
group's states, who owned which partition when, and what the death of the leader cost. In the end
there is a page of the deploy to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from attrs import define, field, frozen
from pyspark.sql import Row, SparkSession
from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from groupsim.commands.reporting import Order, report
from groupsim.commands.shipped import shipped
from groupsim.commands.summary import comparison
from simulation.errors import SimulationError
from simulation.recording import record
from simulation.run_directory import read_run_file
from simulation.scenarios import RunResult, Scenario
from spark_bridge import columns as c
from spark_bridge.deaths import detections
from spark_bridge.errors import SparkBridgeError
from spark_bridge.ingest import read_events
from spark_bridge.ownership import ownership_gaps, ownership_intervals
from spark_bridge.session import local_session
from spark_bridge.timeline import state_intervals

WRONG_USE = 2

NOBODY = "nobody"

DEPLOY, STORY = "rolling_deploy", "leader_dies"
#: The variants that differ in how pods are members; the others differ in how they are replaced.
COMPARED = ("eager", "cooperative", "static", "static_long_session")
PAGE = "demo.html"

#: How an owner's time with a partition ended, in a word.
ENDINGS = {"partition_revoked": "given up", "partition_lost": "crashed"}


@frozen(kw_only=True)
class Answers:
    """What Spark found in a recording, small enough to print."""

    states: Sequence[Row]
    intervals: Sequence[Row]
    gaps: Sequence[Row]
    deaths: Sequence[Row]


@define(eq=False)
class Voice:
    """Results go to stdout, talk to stderr."""

    page: Console
    talk: Console

    @contextmanager
    def while_working(self, on: str) -> Iterator[None]:
        """Show that something takes its time: a spinner for a person, a line for a file."""
        if not self.talk.is_terminal:
            self.talk.print(f"{on} ...")
            yield
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self.talk, transient=True) as progress:
            progress.add_task(on, total=None)
            yield


def record_variants(deploy: Scenario, folder: Path, voice: Voice) -> list[RunResult]:
    """Variants of a scenario, with the same dice, each in a run directory of its own."""
    results = []
    for variant in COMPARED:
        with voice.while_working(f"Playing {deploy.name}: {variant}"):
            results.append(record(deploy, folder / variant, variant=variant))
    return results


def show_comparison(deploy: Scenario, results: Sequence[RunResult], voice: Voice) -> None:
    """Print what the variants cost, side by side."""
    voice.page.print(f"{deploy.title}. {deploy.question}", soft_wrap=True, highlight=False)
    voice.page.print(comparison(results))
    others = ", ".join(each for each in deploy.variant_names if each not in COMPARED)
    voice.page.print(f"`groupsim run {deploy.name}` also plays {others}.\n", soft_wrap=True)


def ask_spark(spark: SparkSession, run_directory: Path) -> Answers:
    """Everything the demo prints, computed from the recording alone."""
    events = read_events(spark, run_directory)
    intervals = events.transform(ownership_intervals)
    return Answers(
        states=events.transform(state_intervals).orderBy(c.SEQ).collect(),
        intervals=intervals.orderBy(c.SEQ).collect(),
        gaps=intervals.transform(ownership_gaps).collect(),
        deaths=events.transform(detections).orderBy(c.CRASHED_MS).collect(),
    )


def states_table(answers: Answers) -> Table:
    """One line per stay of the group in a state."""
    table = Table(title="The group's states", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("state", no_wrap=True)
    for name in ("gen", "from", "until", "lasted"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("because")
    names = {row[c.MEMBER]: row[c.CLIENT] for row in answers.intervals}
    for row in answers.states:
        table.add_row(
            row[c.STATE],
            str(row[c.GENERATION]),
            *_stretch(row[c.ENTERED_MS], row[c.LEFT_MS]),
            _with_names(row[c.REASON] or "", names),
        )
    return table


def ownership_table(answers: Answers) -> Table:
    """One line per stretch in which a partition had an owner, or none."""
    table = Table(
        title="Who owned which partition, and when", title_justify="left", box=box.SIMPLE_HEAD
    )
    for name in ("partition", "owner"):
        table.add_column(name, no_wrap=True)
    for name in ("from", "until", "lasted"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("then", no_wrap=True)
    lines = sorted([*map(Line.owned, answers.intervals), *map(Line.unowned, answers.gaps)])
    for before, line in zip([None, *lines], lines, strict=False):
        is_first = before is None or before.place != line.place
        if is_first and before is not None:
            table.add_section()
        table.add_row(
            "{}-{}".format(*line.place) if is_first else "",
            line.owner,
            *_stretch(line.from_ms, line.until_ms),
            line.ending,
            style="bold red" if line.owner == NOBODY else None,
        )
    return table


@frozen(order=True)
class Line:
    """One line of the table of owners; lines sort by partition, then by time."""

    place: tuple[str, int]
    from_ms: int
    until_ms: int | None = field(order=False)
    owner: str
    ending: str

    @classmethod
    def owned(cls, row: Row) -> Line:
        """A stretch with an owner."""
        ending = ENDINGS.get(row[c.ENDED_BY], "")
        return cls(_place(row), row[c.OWNED_FROM_MS], row[c.OWNED_UNTIL_MS], row[c.CLIENT], ending)

    @classmethod
    def unowned(cls, row: Row) -> Line:
        """A stretch without one."""
        return cls(_place(row), row[c.UNOWNED_FROM_MS], row[c.UNOWNED_UNTIL_MS], NOBODY, "")


def in_a_sentence(answers: Answers) -> str:
    """What the leader's death cost: how long until it was noticed, and for each partition."""
    death = answers.deaths[0]
    crashed_ms, removed_ms = death[c.CRASHED_MS], death[c.REMOVED_MS]
    died = f"{death[c.CLIENT]}, the leader of {death[c.GROUP]}, died at {_seconds(crashed_ms)} s"
    if removed_ms is None:
        return f"{died} without a word, and nobody noticed."
    costs = [
        _cost_of(gap)
        for gap in sorted(answers.gaps, key=_place)
        if (gap[c.LAST_OWNER], gap[c.UNOWNED_FROM_MS]) == (death[c.CLIENT], crashed_ms)
    ]
    return (
        f"{died} without a word; the coordinator noticed {_seconds(removed_ms - crashed_ms)} s"
        f" later ({death[c.REASON]}): {', '.join(costs)}."
    )


def _cost_of(gap: Row) -> str:
    name = "{}-{}".format(*_place(gap))
    if gap[c.UNOWNED_UNTIL_MS] is None:
        return f"{name} never had an owner again"
    lasted = _seconds(gap[c.UNOWNED_UNTIL_MS] - gap[c.UNOWNED_FROM_MS])
    return f"{name} had no owner for {lasted} s until {gap[c.NEXT_OWNER]} took it over"


def show(run_directory: Path, answers: Answers, voice: Voice) -> None:
    """Print it all."""
    played = read_run_file(run_directory)
    voice.page.print(
        f"{played.scenario['title']}: {played.outcome['events']} events in"
        f" {played.outcome['ended_ms'] // 1_000} s of virtual time, seed {played.seed};"
        " times below are in seconds.\n"
    )
    voice.page.print(states_table(answers))
    voice.page.print(ownership_table(answers))
    voice.page.print(in_a_sentence(answers), soft_wrap=True, highlight=False)


def main(
    out: Annotated[
        Path | None,
        typer.Option(help="Keep runs and page in this folder; without it, the page alone is kept."),
    ] = None,
) -> None:
    """Compare a rolling deploy's variants; then let Spark tell the story of a leader's death."""
    voice = Voice(Console(), Console(stderr=True))
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(TemporaryDirectory(prefix="groupsim-")))
        try:
            story, deploy = (Scenario.from_file(shipped()[name]) for name in (STORY, DEPLOY))
            run_directory = folder / story.name
            with voice.while_working(f"Playing {story.name}"):
                record(story, run_directory)
            deploys = folder / deploy.name
            show_comparison(deploy, record_variants(deploy, deploys, voice), voice)
            with voice.while_working("Starting Spark, which takes about ten seconds"):
                spark = local_session()
            with voice.while_working("Asking Spark"):
                answers = ask_spark(spark, run_directory)
            show(run_directory, answers, voice)
            voice.page.print("\nThe deploy as a page to look at:")
            report(Order(paths=[deploys], page=(out or Path()).resolve() / PAGE))
        except (SimulationError, SparkBridgeError) as error:
            voice.talk.print(f"groupsim: {error}", soft_wrap=True, highlight=False)
            raise typer.Exit(WRONG_USE) from error
    if out is not None:
        voice.talk.print(f"The recordings are in {out}", soft_wrap=True)


def _place(row: Row) -> tuple[str, int]:
    return row[c.TOPIC], row[c.PARTITION]


def _stretch(from_ms: int, until_ms: int | None) -> tuple[str, str, str]:
    """When it began, when it ended and how long it was; what is open has no end."""
    if until_ms is None:
        return _seconds(from_ms), "", ""
    return _seconds(from_ms), _seconds(until_ms), _seconds(until_ms - from_ms)


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.3f}"


def _with_names(text: str, names: dict[str, str]) -> str:
    """Member ids are long; the consumers' own names say the same to a person."""
    for member, client in names.items():
        text = text.replace(member, client)
    return text


if __name__ == "__main__":
    typer.run(main)
