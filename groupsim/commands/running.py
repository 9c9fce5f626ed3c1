"""`run` and `replay`: playing scenarios, and showing that a run can be played again."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from attrs import field, frozen

from groupsim.commands.failures import Terminated
from groupsim.commands.progress import Reporter
from groupsim.commands.results import as_json
from groupsim.commands.scenarios import load
from groupsim.commands.summary import print_summary
from groupsim.commands.voice import Voice, print_json
from simulation.durations import duration_text
from simulation.errors import SimulationError
from simulation.run_directory import sweep
from simulation.scenarios import (
    Limits,
    RunResult,
    Scenario,
    ScenarioError,
    parse_override,
    play,
)
from simulation.scenarios.mistakes import did_you_mean, nearest_to
from simulation.scenarios.playing import PlayOptions


@frozen(kw_only=True)
class Wish:
    """What was asked of `run`."""

    scenario: str
    variants: Sequence[str] = ()
    seed: int | None = None
    changes: Sequence[str] = ()
    out: Path | None = None
    is_full: bool = False
    allow_python: bool = False
    limits: Limits = field(factory=Limits)

    def command(self, variant: str, seed: int) -> str:
        """What repeats one of its runs."""
        words = ["groupsim", "run", self.scenario, "--variant", variant, "--seed", str(seed)]
        for change in self.changes:
            words += ["--set", change]
        words += ["--full"] if self.is_full else []
        words += ["--allow-python"] if self.allow_python else []
        for name in ("members", "partitions", "events"):
            if (most := getattr(self.limits, name)) != getattr(Limits(), name):
                words += [f"--max-{name}", str(most)]
        return shlex.join(words)


def run(wish: Wish, *, is_json: bool) -> bool:
    """Play a scenario and print what came of it; True if all held."""
    voice = Voice()
    changed = resolved(wish)
    names = changed.variant_names
    seed = changed.seed if wish.seed is None else wish.seed
    _refuse_old_runs(wish, names)
    voice.say(
        f"{changed.name}: {', '.join(names)}; seed {seed};"
        + (f" {' '.join(wish.changes)};" if wish.changes else "")
        + f" {duration_text(changed.run_for)} of virtual time"
    )
    results: list[RunResult] = []
    try:
        with ending_well():
            for variant in names:
                results.append(_play(voice, wish, changed, variant, seed))  # noqa: PERF401 - told of below
    except BaseException:
        _say_what_is_kept(voice, results)
        raise
    if is_json:
        print_json(as_json(changed, results))
    else:
        print_summary(voice, changed, results)
    for result in results:
        if not result.held:
            voice.say(f"to repeat it: {wish.command(result.variant, result.seed)}")
    return all(result.held for result in results)


def _chosen(whole: Scenario, wish: Wish) -> list[str]:
    """The variants that are wanted, in the order of the file."""
    known = whole.variant_names
    for name in wish.variants:
        if name not in known:
            hint = did_you_mean(nearest_to(name, known))
            raise SimulationError(
                f"{whole.name} has no variant {name}, only {', '.join(known)}{hint}"
            )
    return [name for name in known if not wish.variants or name in wish.variants]


def resolved(wish: Wish) -> Scenario:
    """The scenario in the variants that are wanted, with the changes that were asked for.

    Each of them can be played: nothing is found wrong after others have been.
    """
    whole = load(wish.scenario, allow_python=wish.allow_python, limits=wish.limits)
    names = _chosen(whole, wish)
    changes = dict(_change(text) for text in wish.changes)
    return whole.with_overrides(
        changes, variants=names, called="--set", allow_python=wish.allow_python, limits=wish.limits
    )


def _change(text: str) -> tuple[str, object]:
    try:
        return parse_override(text)
    except ScenarioError as error:
        (mistake,) = error.mistakes
        raise SimulationError(
            f"--set {text.partition('=')[0]}: {mistake.found}; {mistake.allowed}"
        ) from error
    except ValueError as error:
        raise SimulationError(f"--set: {error}") from error


def _refuse_old_runs(wish: Wish, variants: Sequence[str]) -> None:
    """Before anything is played, say what could not be kept."""
    if wish.out is None:
        return
    for variant in variants:
        if (wish.out / variant).exists():
            raise SimulationError(
                f"{wish.out / variant} exists already, and a run is never written over:"
                " choose another folder with --out"
            )


def _play(voice: Voice, wish: Wish, scenario: Scenario, variant: str, seed: int) -> RunResult:
    new_folders = _missing(wish.out)
    try:
        with Reporter(voice.talk, variant) as progress:
            options: PlayOptions = {
                "variant": variant,
                "seed": seed,
                "detail": "full" if wish.is_full else "folded",
                "progress": progress,
                "limits": wish.limits,
                "allow_python": wish.allow_python,
            }
            if wish.out is None:
                return play(scenario, **options)
            # Only a run that is kept needs Parquet.
            from simulation.recording import record  # noqa: PLC0415

            return record(scenario, wish.out / variant, **options)
    except BaseException as error:
        if wish.out is not None:
            with undisturbed():
                sweep(wish.out / variant)
                for folder in new_folders:
                    with suppress(OSError):  # somebody has put something there
                        folder.rmdir()
        if isinstance(error, OSError) and error.filename is None and wish.out is not None:
            error.filename = str(wish.out / variant)  # Parquet's own errors name no file
        if not isinstance(error, SimulationError | OSError):  # a bug of ours, then
            error.add_note(f"to repeat it: {wish.command(variant, seed)}")
        raise


def _say_what_is_kept(voice: Voice, results: Sequence[RunResult]) -> None:
    """A run that does not come to its end takes nothing from those before it."""
    kept = [str(result.path) for result in results if result.path is not None]
    if kept:
        voice.say(f"complete and kept: {', '.join(kept)}")


def _missing(folder: Path | None) -> list[Path]:
    """The folders that a run makes on its way to this one, the innermost first."""
    return (
        [] if folder is None else [each for each in (folder, *folder.parents) if not each.exists()]
    )


def replay(run_directory: Path, *, allow_python: bool, limits: Limits, is_json: bool) -> bool:
    """Play a run again from its run.json; True if the events are the same."""
    from simulation.recording import replay as play_again  # noqa: PLC0415 - it needs Parquet

    voice = Voice()
    with ending_well(), Reporter(voice.talk, run_directory.name) as progress:
        found = play_again(
            run_directory, progress=progress, allow_python=allow_python, limits=limits
        )
    if is_json:
        print_json({"same": found.same, "events": found.events, "differs_at": found.differs_at})
    else:
        voice.line(found.sentence)
    return found.same


@contextmanager
def undisturbed() -> Iterator[None]:
    """Nobody ends this half-way but by force."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, signal.SIG_IGN) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


@contextmanager
def ending_well() -> Iterator[None]:
    """A process that is asked to end undoes what is half done, as with Ctrl-C."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
