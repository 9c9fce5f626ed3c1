"""`timeline` and `why`: finished runs, told to a person or a script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from groupsim.commands.references import group_of, rebalance_of
from groupsim.commands.voice import Voice, print_json
from simulation.critical_path import Explanation, Step, Witness, explain
from simulation.durations import milliseconds
from simulation.errors import SimulationError
from simulation.events import EventKind
from simulation.measures import Rebalance
from simulation.parquet_source import Recording, read_recording
from simulation.sentences import counted, in_time, lasting
from simulation.timeline import UNTOLD, Line, Window, is_told, lines, page

#: So much is told before and after what `--around` names.
_AROUND_MS = 1_000
#: A step of a critical path is told by itself if it took so many in a thousand of the whole.
_OWN_LINE = 5
#: A member that never came back is named in no other row.
_NAMING = {EventKind.MEMBER_ID_GIVEN.value}
#: The kinds of lines that catch the eye.
_STYLES = {
    "consumer_crashed": "red",
    "broker_crashed": "red",
    "fault_started": "red",
    "partition_lost": "red",
    "commit_failed": "red",
    "commit_refused": "red",
    "state_changed": "bold",
}


def timeline(  # noqa: PLR0913 - one parameter for each flag
    run: Path,
    *,
    group: str | None,
    from_time: str | None,
    to_time: str | None,
    around: str | None,
    is_full: bool,
    as_json: bool,
) -> None:
    """Print the story of a run, or of a part of it."""
    recording = read_recording(run)
    witness = _witness_of(recording)
    measures = witness.measures()
    window = Window(
        group=group_of(group, measures.groups),
        from_ms=0 if from_time is None else _time(from_time, "--from"),
        to_ms=None if to_time is None else _time(to_time, "--to"),
    )
    if window.to_ms is not None and window.to_ms < window.from_ms:
        raise SimulationError(
            f"--from {from_time} is later than --to {to_time}: swap them to see what is between"
        )
    if around is not None:
        _, rebalance = rebalance_of(around, measures.rebalances, group)
        window = _around(rebalance, window)
    rows = recording if is_full else filter(is_told, recording.without(UNTOLD))
    told = lines(rows, witness.names, window, recording.causes())
    if as_json:
        print_json([asdict(line) for line in told])
        return
    _print_lines(recording, witness, told)


def _witness_of(recording: Recording) -> Witness:
    """Enough to know rebalances and names by; most rows of a run are of other things."""
    return Witness.of(recording.without(UNTOLD - _NAMING))


def _around(rebalance: Rebalance, window: Window) -> Window:
    """The time of a rebalance and a little more, cut further by what else was asked for."""
    to_ms = rebalance.ended_ms + _AROUND_MS
    return Window(
        group=rebalance.group,
        from_ms=max(window.from_ms, rebalance.started_ms - _AROUND_MS),
        to_ms=to_ms if window.to_ms is None else min(window.to_ms, to_ms),
    )


def _time(text: str, option: str) -> int:
    if text.strip().isdigit() and int(text) != 0:
        raise SimulationError(
            f"{option}: {text.strip()} needs a unit: {text.strip()}s or {text.strip()}ms"
        )
    try:
        return milliseconds(text)
    except ValueError as error:
        raise SimulationError(f"{option}: {error}") from error


def _print_lines(recording: Recording, witness: Witness, told: Sequence[Line]) -> None:
    voice = Voice()
    if not told:
        end_ms = recording[-1].at_ms if len(recording) else 0
        voice.say(f"nothing is told of that part of the run, which ends at {in_time(end_ms)}")
        return
    heading, *texts = page(told, recording, witness.names)
    voice.line(heading)
    for line, text in zip(told, texts, strict=True):
        voice.line(text, style=_STYLES.get(line.kind))


def why(run: Path, reference: str, *, group: str | None, as_json: bool) -> None:
    """Print why a rebalance took as long as it did."""
    recording = read_recording(run)
    witness = _witness_of(recording)
    measures = witness.measures()
    number, rebalance = rebalance_of(
        reference, measures.rebalances, group_of(group, measures.groups)
    )
    explanation = explain(recording, rebalance, witness)
    if as_json:
        print_json(_as_json(number, explanation))
        return
    voice = Voice()
    voice.lines(explanation.sentences)
    voice.line()
    voice.line("Step by step, from its beginning to its end:")
    voice.lines(_path_lines(explanation))


def _as_json(number: int, explanation: Explanation) -> dict[str, Any]:
    rebalance = asdict(explanation.rebalance)
    return {
        "reference": f"rebalance:{number}",
        "rebalance": rebalance | {"duration_ms": explanation.rebalance.duration_ms},
        "sentences": list(explanation.sentences),
        "path": [asdict(step) for step in explanation.path],
    }


def _path_lines(explanation: Explanation) -> list[str]:
    """Each step that took its time in a line, the quick ones between them in one."""
    limit = explanation.rebalance.duration_ms * _OWN_LINE // 1_000
    found: list[str] = []
    quick: list[Step] = []
    first, last = explanation.path[0], explanation.path[-1]
    for step in explanation.path:
        if step in (first, last) or step.waited_ms > limit:
            found += [*_quick_line(quick), _step_line(step)]
            quick = []
        else:
            quick.append(step)
    return found


def _quick_line(quick: Sequence[Step]) -> list[str]:
    if len(quick) == 1:
        return [_step_line(quick[0])]
    total = sum(step.waited_ms for step in quick)
    return (
        [f"  {'+' + lasting(total):>10}  in {counted(len(quick), 'quick step')}"] if quick else []
    )


def _step_line(step: Step) -> str:
    return f"  {'+' + lasting(step.waited_ms):>10}  at {in_time(step.at_ms)}: {step.text}"
