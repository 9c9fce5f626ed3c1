"""`diff`: where two runs part, and what it changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from rich import box
from rich.table import Table

from groupsim.commands.voice import Voice, print_json
from simulation.critical_path import Witness
from simulation.events import Row
from simulation.measures import Number
from simulation.parquet_source import Recording, read_recording
from simulation.partings import Parting, causes_of, first_difference
from simulation.sentences import clause_of, in_time

#: So many causes of the first difference are told.
_CAUSES_MAX = 5
_NOTHING = "-"


@frozen
class Side:
    """One of two runs."""

    recording: Recording
    witness: Witness

    @classmethod
    def read(cls, run: Path) -> Side:
        """A run and what one look at it leaves."""
        recording = read_recording(run)
        return cls(recording, Witness.of(recording))

    @property
    def name(self) -> str:
        """How it is called here."""
        return str(self.recording.path)

    def figures(self) -> dict[str, Number]:
        """Its measures, each as the run's own figure."""
        return self.witness.measures().figures()

    def told(self, row: Row) -> str:
        """A row of it in words."""
        return f"at {in_time(row.at_ms)}, row {row.seq}: {clause_of(self.witness.names, row)}"


def diff(left_run: Path, right_run: Path, *, as_json: bool) -> None:
    """Print how two runs differ."""
    left, right = Side.read(left_run), Side.read(right_run)
    parting = first_difference(left.recording, right.recording)
    changes = _changes(_inputs(left.recording), _inputs(right.recording))
    if as_json:
        print_json(_as_json(left, right, parting, changes))
    else:
        _print(Voice(), left, right, parting, changes)


def _inputs(recording: Recording) -> dict[str, Any]:
    """What was played, as flat paths."""
    run_file = recording.run_file
    return _flat({"seed": run_file.seed, "scenario": dict(run_file.scenario)})


def _flat(value: Any, path: str = "") -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, Mapping) and value:
        return {
            inner: leaf
            for key, each in value.items()
            for inner, leaf in _flat(each, f"{path}.{key}" if path else str(key)).items()
        }
    return {path: value}


def _changes(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The paths at which two inputs differ."""
    paths = dict.fromkeys([*left, *right])
    return {
        path: (left.get(path), right.get(path))
        for path in paths
        if left.get(path) != right.get(path)
    }


def _as_json(
    left: Side, right: Side, parting: Parting | None, changes: Mapping[str, tuple[Any, Any]]
) -> dict[str, Any]:
    one, other = left.figures(), right.figures()
    return {
        "left": left.name,
        "right": right.name,
        "same": parting is None,
        "inputs": {path: {"left": a, "right": b} for path, (a, b) in changes.items()},
        "parting": None if parting is None else _parting_as_json(left, right, parting),
        "measures": {name: {"left": one[name], "right": other[name]} for name in one},
        "events": {"left": len(left.recording), "right": len(right.recording)},
    }


def _parting_as_json(left: Side, right: Side, parting: Parting) -> dict[str, Any]:
    def side(of: Side, row: Row | None) -> dict[str, Any] | None:
        if row is None:
            return None
        causes = causes_of(of.recording, row, _CAUSES_MAX)
        return {
            "row": {name: value for name, value in asdict(row).items() if value is not None},
            "text": of.told(row),
            "causes": [of.told(cause) for cause in causes],
        }

    return {
        "seq": parting.seq,
        "columns": {
            name: {"left": one, "right": other} for name, (one, other) in parting.columns().items()
        },
        "left": side(left, parting.left),
        "right": side(right, parting.right),
    }


def _print(
    voice: Voice,
    left: Side,
    right: Side,
    parting: Parting | None,
    changes: Mapping[str, tuple[Any, Any]],
) -> None:
    if parting is None:
        voice.line(f"The runs are the same, in all {len(left.recording)} events.")
        return
    if changes:
        voice.line("What was played differs:")
        for path, (one, other) in changes.items():
            voice.line(f"  {path}: {_shown(one)} | {_shown(other)}")
        voice.line()
    voice.line(f"The runs are the same in their first {parting.seq - 1} events. Then:")
    for side, row in ((left, parting.left), (right, parting.right)):
        _print_side(voice, side, row)
    for name, (one, other) in parting.columns().items():
        voice.line(f"  {name} differs: {_shown(one)} | {_shown(other)}")
    voice.line()
    voice.show(_table(left, right))


def _print_side(voice: Voice, side: Side, row: Row | None) -> None:
    if row is None:
        voice.line(f"  {side.name} is over")
        return
    voice.line(f"  {side.name} {side.told(row)}")
    for cause in causes_of(side.recording, row, _CAUSES_MAX):
        voice.line(f"    <- {side.told(cause)}")


def _shown(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    if value is None:
        return _NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(left: Side, right: Side) -> Table:
    table = Table(title="What it changed", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("measure", no_wrap=True)
    for side in (left, right):
        table.add_column(side.name, justify="right")
    table.add_column("change", justify="right", no_wrap=True)
    one, other = left.figures(), right.figures()
    one["events"], other["events"] = len(left.recording), len(right.recording)
    for name, before in one.items():
        change = other[name] - before
        style = None if change == 0 else "bold"
        table.add_row(name, _number(before), _number(other[name]), _signed(change), style=style)
    return table


def _number(value: Number) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _signed(change: Number) -> str:
    if change == 0:
        return ""
    return f"{change:+.3f}" if isinstance(change, float) else f"{change:+d}"
