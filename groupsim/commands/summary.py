"""The summary of runs that people read first: what was expected, what it cost, who held what."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from coordinator import GroupState
from groupsim.commands.results import GroupFigures, groups_of
from groupsim.commands.voice import Voice
from simulation.durations import duration_text
from simulation.liveness import Liveness
from simulation.measures import MEASURES, Death, Measures, Number, Rebalance, Tally
from simulation.moments import Moment
from simulation.scenarios import RunResult, Scenario
from simulation.scenarios.results import Failure, Missed
from simulation.sentences import counted, in_time, lasting, listed

#: Of more rebalances than this, the longest are shown.
_REBALANCES_MAX = 10
#: Of more orders to nobody than this, the first are told.
_MISSED_MAX = 3
#: Of more causes than this, the most frequent are told.
_CAUSES_MAX = 3
_NONE = "none"
#: What a table has where there was nothing to measure.
NOTHING = "-"
#: More digits than this are never shown, and so much of a number may be left away.
_DIGITS_MAX, _HIDDEN_MAX = 9, 0.002
#: Lengths of what need not happen at all: none of 0 s would be the best of all.
_OF_EVENTS = ("rebalance_s", "detection_s")
_REBALANCES = "rebalances"
#: On a narrower page the words of a rebalance stand under its numbers.
_WIDE = 80
#: The worst partition says little of what all of them went through.
_WORST_HIDES_THE_REST = "unowned_s"


def print_summary(voice: Voice, scenario: Scenario, results: Sequence[RunResult]) -> None:
    """The comparison of all runs, then each of them."""
    if scenario.question:
        voice.line(scenario.question.strip(), style="italic")
    if len(results) > 1:
        voice.show(comparison(results))
    for result in results:
        _print_run(voice, result)


def comparison(results: Sequence[RunResult]) -> Table:
    """The figures of several runs side by side."""
    table = Table(title="Measures", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("measure", no_wrap=True)
    for result in results:
        table.add_column(result.variant, justify="right", overflow="fold")
    for name in MEASURES:
        table.add_row(name, *(figure_text(result.measures, name) for result in results))
        if name == _WORST_HIDES_THE_REST:
            sums = [sum(result.measures.values(name).values()) for result in results]
            table.add_row(f"sum({name})", *map(number, sums))
    table.add_row("held", *("yes" if result.held else "no" for result in results))
    return table


def has_figure(measures: Measures, name: str) -> bool:
    """Whether anything happened that a measure could tell of."""
    return name not in _OF_EVENTS or bool(measures.values(name))


def figure_text(measures: Measures, name: str) -> str:
    """A run's own figure as a table shows it."""
    return number(measures.figure(name)) if has_figure(measures, name) else NOTHING


def number(value: Number) -> str:
    """A figure as a table shows it: three digits, and more where these would hide much of it."""
    if not isinstance(value, float):
        return f"{value:,}"
    digits = 3
    while digits < _DIGITS_MAX and abs(round(value, digits) - value) > abs(value) * _HIDDEN_MAX:
        digits += 1
    return f"{value:,.{digits}f}"


def _print_run(voice: Voice, result: RunResult) -> None:
    voice.line()
    kept = "" if result.path is None else f", kept in {result.path}"
    voice.line(
        f"{result.variant}: {duration_text(result.ended_ms)} of virtual time,"
        f" {result.events:,} events, seed {result.seed}{kept}",
        style="bold",
    )
    for group in groups_of(result):
        _print_group(voice, group)
        if failures := [each for each in result.failures if each.group == group.group]:
            _fact(voice, "failed", _failed(failures))
    if result.missed:
        voice.line(f"  {told_missed(result.missed)}", style="yellow")
    _print_verdict(voice, result)


def told_missed(missed: Sequence[Missed]) -> str:
    """Whom the script did not find; of many times the first few.

    Others whom the same entry named it may have found.
    """
    told = [f"{each.whom} at {in_time(each.at_ms)}" for each in missed[:_MISSED_MAX]]
    if (more := len(missed) - len(told)) > 0:
        told.append(counted(more, "other"))
    return f"the script found nobody for: {listed(told)}"


def _print_group(voice: Voice, group: GroupFigures) -> None:
    voice.line(f"  group {group.group}")
    for name, told in facts_of(group):
        _fact(voice, name, told)
        if name == _REBALANCES and group.rebalances:
            voice.show(_rebalance_table(group.rebalances, is_wide=voice.page.width >= _WIDE))


def facts_of(group: GroupFigures) -> Iterator[tuple[str, str]]:
    """What people read first of a group: a word for each thing, and what came of it."""
    measures = group.measures
    rebalances = group.rebalances
    moved = counted(int(group.total("moved")), "partition")
    longest = max((each.duration_ms for each in rebalances), default=0)
    yield (
        _REBALANCES,
        f"{len(rebalances)}, the longest {lasting(longest)}, {moved} moved"
        if rebalances
        else _NONE,
    )
    yield "unowned", _seconds(group, "unowned_s")
    yield "owned twice", _seconds(group, "dual_s")
    yield "duplicates", _records(group, measures.duplicates)
    yield "lost", _records(group, measures.lost)
    yield "lag", _lag(group)
    if deaths := group.values("detection_s"):
        yield "deaths", _deaths(deaths)
    yield "commits", _commits(group)


def _deaths(seconds: Mapping[Death, Number]) -> str:
    """How many members died, and how long the group counted on them."""
    noticed = [each for death, each in seconds.items() if death.removed_ms is not None]
    open_ones = [each for death, each in seconds.items() if death.removed_ms is None]
    told = []
    if noticed:
        told.append(f"noticed after {_said(max(noticed))}{' at most' if len(noticed) > 1 else ''}")
    if open_ones:
        count = f"{len(open_ones)} " if noticed else ""
        told.append(f"{count}not noticed for {_said(max(open_ones))} up to the end")
    return f"{len(seconds)}, {'; '.join(told)}"


def _failed(failures: Sequence[Failure]) -> str:
    """Who ended with an error of which kind, and who was the first."""
    by_error: dict[str, list[Failure]] = {}
    for each in failures:
        by_error.setdefault(each.error, []).append(each)
    return "; ".join(
        f"{counted(len(those), 'time')} with {error}, first {those[0].client}"
        f" at {in_time(those[0].at_ms)}" + (f": {those[0].why}" if those[0].why else "")
        for error, those in by_error.items()
    )


def _fact(voice: Voice, name: str, told: str) -> None:
    voice.line(f"    {name:<12} {told}")


def _rebalance_table(rebalances: Sequence[Rebalance], *, is_wide: bool) -> RenderableType:
    numbered = list(enumerate(rebalances, 1))
    title = None
    if len(numbered) > _REBALANCES_MAX:
        numbered = sorted(numbered, key=lambda each: -each[1].duration_ms)[:_REBALANCES_MAX]
        numbered.sort(key=lambda each: each[0])
        title = f"the {_REBALANCES_MAX} longest of {len(rebalances)}"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=True)
    for name in ("rebalance", "at", "took", "moved"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("because")
    table.add_column("held")
    under: list[str] = []
    for n, each in numbered:
        took = lasting(each.duration_ms) + ("" if each.ended_in else " so far")
        held = holder_of(each)
        at = in_time(each.started_ms)
        table.add_row(str(n), at, took, str(each.moved), each.cause, held)
        under += [
            f"    {n}: at {at}, took {took}, moved {each.moved}",
            f"      because {each.cause}",
            *([f"      held up: {held}"] if held else []),
        ]
    return table if is_wide else Text("\n".join([*([f"    {title}"] if title else []), *under]))


def holder_of(each: Rebalance) -> str:
    """Who held a rebalance, for how long and why; nothing where nobody did."""
    if each.awaited is not None:
        is_joining = each.phases[-1].state == GroupState.PREPARING_REBALANCE.value
        limit = (
            f", at most until {in_time(each.deadline_ms)}"
            if is_joining and each.deadline_ms is not None
            else ""
        )
        return f"it waits for {each.awaited}{limit}"
    held = each.held
    return "" if held is None else f"{lasting(held.duration_ms)} by {held.who}, {held.why}"


def _seconds(group: GroupFigures, name: str) -> str:
    worst = group.worst(name)
    if worst is None:
        return _NONE
    place, seconds = worst
    count = sum(value > 0 for value in group.values(name).values())
    return (
        f"{_said(seconds)} at worst ({place.topic}-{place.partition}),"
        f" {_said(group.total(name))} over {counted(count, 'partition')}"
    )


def _said(seconds: Number) -> str:
    return lasting(round(seconds * 1_000))


def _records(group: GroupFigures, tallies: Sequence[Tally]) -> str:
    by_cause = group.by_cause(tallies)
    if not by_cause:
        return _NONE
    total = counted(sum(by_cause.values()), "record")
    partitions = Counter(each.cause for each in tallies if each.place.group == group.group)
    where = {
        cause: f" in {count} partitions" if count > 1 else "" for cause, count in partitions.items()
    }
    if len(by_cause) == 1:
        (cause,) = by_cause
        return f"{total}{where[cause]} because {cause}"
    told = [f"{records:,}{where[cause]} because {cause}" for cause, records in by_cause.items()]
    if rest := list(by_cause.values())[_CAUSES_MAX:]:
        told[_CAUSES_MAX:] = [f"{sum(rest):,} for {counted(len(rest), 'other cause')}"]
    return f"{total}: {'; '.join(told)}"


def _lag(group: GroupFigures) -> str:
    records, seconds = group.worst("lag"), group.worst("lag_s")
    if records is None:
        return _NONE
    place, lag = records
    late = "" if seconds is None else f", and {_said(seconds[1])} late"
    return f"{counted(int(lag), 'record')} at worst ({place.topic}-{place.partition}){late}"


def _commits(group: GroupFigures) -> str:
    accepted = sum(
        count for member, count in group.measures.commits.items() if member.group == group.group
    )
    refused = group.refused_by_error()
    if not accepted and not refused:
        return _NONE
    told = ", ".join(f"{count:,} {error}" for error, count in refused.items())
    return f"{accepted:,} accepted" + (f"; refused: {told}" if told else ", none refused")


def _print_verdict(voice: Voice, result: RunResult) -> None:
    for each in result.expectations:
        word, style = ("pass", "green") if each.holds else ("FAIL", "bold red")
        moment = result.moment_of(each)
        where = "" if moment is None else f"; look at {moment}"
        figure = each.figure if isinstance(each.figure, str) else number(each.figure)
        told = f"  {each.text}  (it was {figure}{where})"
        voice.show(Text.assemble("  ", (word, style), told))
        if moment is not None and result.path is not None:
            voice.line(f"        {timeline_command(result.path, moment)}")
    for violation in result.violations:
        voice.show(Text.assemble("  ", ("FAIL", "bold red"), f"  {violation}"))
    voice.line(f"  {_checked(result)}", style="yellow" if _is_open(result) else None)


def timeline_command(run: Path, moment: Moment) -> str:
    """What shows a moment of a run that is kept."""
    times = [f"{ms}ms" for ms in moment.around]
    words = ["groupsim", "timeline", str(run), "--group", moment.group]
    return shlex.join([*words, "--from", times[0], "--to", times[1]])


def _checked(result: RunResult) -> str:
    """What the checkers say of the run, in one line."""
    unsafe = sum(each.checker != Liveness.__name__ for each in result.violations)
    safety = f"violated {counted(unsafe, 'time')}" if unsafe else "kept"
    # What was violated has just been told by the violation itself.
    is_violated = result.liveness.startswith("violated")
    return f"safety {safety}; liveness {'violated' if is_violated else result.liveness}"


def _is_open(result: RunResult) -> bool:
    return result.liveness.startswith("open")
