"""What a sweep found, as people read it: tables for each measure, the Pareto line, the advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from rich import box
from rich.table import Table
from rich.text import Text

from groupsim.commands.voice import Voice
from simulation.scenarios.grids import told
from simulation.sentences import counted

#: A larger figure has no decimals worth reading.
_MANY = 1_000
#: Of more settings than this that fail a gate, the worst are told.
_WORST_MAX = 5
STATISTICS = ("mean", "p50", "p99")
_BOUNDS = ("estimate", "low", "high")

Row = Mapping[str, Any]


def print_answer(voice: Voice, answer: Row) -> None:
    """All of it."""
    _print_measures(voice, answer)
    for line in answer["pareto"]:
        _print_line(voice, answer, line)
    _print_failures(voice, answer)
    if answer["recommendation"] is not None:
        voice.line(answer["recommendation"]["sentence"], style="bold")
    for gate in answer["gates"]:
        _print_gate(voice, answer, gate)


def _print_measures(voice: Voice, answer: Row) -> None:
    found = figures_by_setting(answer)
    for measure, of_settings in found.differing.items():
        voice.show(_table(answer, measure, of_settings))
    if found.alike:
        voice.line(f"the same in every run: {', '.join(found.alike)}")


@frozen
class Figures:
    """What is told of each setting: by measure and statistic, one row for each setting."""

    differing: Mapping[str, Sequence[Sequence[Row]]]
    #: Measures that do not differ, each with what it is everywhere.
    alike: Sequence[str]


def figures_by_setting(answer: Row) -> Figures:
    """The measures that differ between runs, and those that need no table."""
    by_figure: dict[str, list[Row]] = {}
    for row in answer["estimates"]:
        by_figure.setdefault(row["figure"], []).append(row)
    differing, alike = {}, []
    for measure in answer["measures"]:
        of_settings = [by_figure[f"{each}({measure})"] for each in STATISTICS]
        values = {row[name] for rows in of_settings for row in rows for name in _BOUNDS}
        if len(values) == 1:
            alike.append(f"{measure} {brief(*values)}")
        else:
            differing[measure] = of_settings
    return Figures(differing, alike)


def _table(answer: Row, measure: str, of_settings: Sequence[Sequence[Row]]) -> Table:
    table = _with_settings(answer, f"{measure}, with 95% intervals")
    table.add_column("runs", justify="right")
    for name in STATISTICS:
        table.add_column(name, justify="right")
    for rows in zip(*of_settings, strict=True):
        failed = f", {rows[0]['failed']} failed" if rows[0]["failed"] else ""
        table.add_row(
            *_cells(answer, rows[0]), f"{rows[0]['runs']}{failed}", *(interval(row) for row in rows)
        )
    return table


def _print_line(voice: Voice, answer: Row, line: Row) -> None:
    """The settings worth a thought; nothing if the figures do not differ."""
    across, up = line["across"], line["up"]
    if any(len({row[name] for row in line["settings"]}) <= 1 for name in ("across", "up")):
        return
    best = [row for row in line["settings"] if row["is_best"]]
    title = f"{across} against {up}: {len(best)} of {counted(len(line['settings']), 'setting')}"
    table = _with_settings(answer, f"{title} that no other beats in both")
    for name in (across, up):
        table.add_column(name, justify="right")
    for row in sorted(best, key=lambda row: (row["across"], row["setting"])):
        table.add_row(*_cells(answer, row), brief(row["across"]), brief(row["up"]))
    voice.show(table)


def _with_settings(answer: Row, title: str) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in _columns(answer):
        table.add_column(Text(name), justify="right")
    return table


def _columns(answer: Row) -> list[str]:
    several = ["variant"] if len(answer["variants"]) > 1 or not answer["axes"] else []
    return [*several, *answer["axes"]]


def _cells(answer: Row, row: Row) -> list[Text]:
    known = {"variant": row["variant"], **row["chosen"]}
    return [Text(known[name]) for name in _columns(answer)]


def _print_failures(voice: Voice, answer: Row) -> None:
    if not answer["failed"]:
        return
    voice.line(f"{counted(answer['failed'], 'run')} failed", style="bold red")
    for row in answer["failures"]:
        voice.line(f"  {named(row, answer['variants'])}, seed {row['seed']}: {row['error']}")
        voice.line(f"    to repeat it: {row['command']}")
    if answer["failed"] > len(answer["failures"]):
        voice.line("  and more: they are rows with an error in the results")


def _print_gate(voice: Voice, answer: Row, gate: Row) -> None:
    failing = [row for row in gate["settings"] if not row["holds"]]
    word, style = ("pass", "green") if gate["holds"] else ("FAIL", "bold red")
    count = counted(len(gate["settings"]), "setting")
    holding = f"in {len(failing)} of {count} it does not hold" if failing else f"in {count}"
    voice.show(Text.assemble((word, style), f"  {gate['bound']}  ({holding})"))
    for row in sorted(failing, key=_by_excess)[:_WORST_MAX]:
        found = f"{counted(row['failed'], 'run')} failed" if row["failed"] else interval(row)
        voice.line(f"      {named(row, answer['variants'])}: {found}")


def _by_excess(row: Row) -> float:
    """The worst first, and before them those that nobody knows."""
    return -float("inf") if row["excess"] is None else -row["excess"]


def interval(row: Row) -> str:
    """A figure and where it lies."""
    if row["estimate"] is None:
        return "unknown"
    value, low, high = (brief(row[name]) for name in _BOUNDS)
    return value if low == high == value else f"{value} ({low} to {high})"


def brief(value: float | None) -> str:
    """A figure with as many digits as one reads."""
    if value is None:
        return "unknown"
    if value == round(value) or abs(value) >= _MANY:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def named(setting: Row, variants: Sequence[str]) -> str:
    """A setting as people call it; its variant goes without saying if there is no other."""
    chosen = told(setting["chosen"])
    if len(variants) == 1 and chosen:
        return chosen
    return f"{setting['variant']}, {chosen}" if chosen else str(setting["variant"])
