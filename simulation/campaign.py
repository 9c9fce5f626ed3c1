"""A campaign: many random worlds, all checkers on.

    python -m simulation.campaign --worlds 1000 --seed 0 --jobs 2 --out failures

Each world has its own seed, from `--seed` on. A world that fails is saved as a script that shows
the failure, made smaller, printed and saved again. With `--both-ways` a world fails if skipping its
quiet time gives other rows than playing it. The status is 0 if all worlds held, 1 if one failed.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TextIO

from attrs import asdict, define, field, frozen

from coordinator.invariants import BrokenInvariant
from simulation.checkers import Watch
from simulation.events import Row
from simulation.inspection import Inspector
from simulation.random_worlds import draw_world
from simulation.recorder import MemorySink
from simulation.shrinking import shrink
from simulation.stage import Quiet
from simulation.world_plans import World, prepare
from simulation.world_scripts import script_of

HELD, FAILED, INTERRUPTED = 0, 1, 130
_PROGRESS_EVERY = 10
#: So many failing worlds of one kind are made smaller; the others are like them.
_SHRUNK_OF_A_KIND_MAX = 2
#: Both ways are compared up to so long after the last trouble; then nothing happens any more.
_COMPARED_CALM_MS = 60_000
_DIFFERENCE = "skipping and playing quiet time differ"


@frozen(kw_only=True)
class Failure:
    """What went wrong in a world: a sentence that did not hold, or an exception."""

    seed: int
    #: What failures of the same kind share: a checker's name, or an exception and its place.
    kind: str
    told: str


def fail_of(world: World, command: str | None = None) -> Failure | None:
    """How this world fails, if it does: by a checker, an invariant or an exception."""
    try:
        watch = Watch(patience=world.patience())
        sim = prepare(world, sink=watch)
        inspector = Inspector(sim)
        sim.stage.recorder.watchers.append(inspector.see)
        sim.run_for(world.runs_for_ms())
        sim.end()
        inspector.check()
    except Exception as error:  # noqa: BLE001 (whatever a world raises is a finding)
        return _failure_of(error, world, command)
    if not watch.violations:
        return None
    first = watch.violations[0]
    told = first.report(world.seed, command or command_for(world.seed))
    return Failure(seed=world.seed, kind=first.checker, told=told)


def _failure_of(error: Exception, world: World, command: str | None) -> Failure:
    frames = traceback.extract_tb(error.__traceback__)
    # An invariant is named for what it holds; it raises by a function that all of them share.
    frame = frames[-2] if isinstance(error, BrokenInvariant) and len(frames) > 1 else frames[-1]
    kind = f"{type(error).__name__} in {Path(frame.filename).stem}.{frame.name}"
    notes = "; ".join(getattr(error, "__notes__", ()))
    told = f"{kind}, line {frame.lineno}: {error}; {notes}\n  {repetition(world.seed, command)}"
    return Failure(seed=world.seed, kind=kind, told=told)


def differ_of(world: World, command: str | None = None) -> Failure | None:
    """How the rows of this world differ, its quiet time skipped or played; None if they do not."""
    command = command or command_for(world.seed, "--both-ways")
    try:
        skipped, played = rows_of(world, "skip"), rows_of(world, "play")
    except Exception as error:  # noqa: BLE001 (whatever a world raises is a finding)
        return _failure_of(error, world, command)
    if skipped == played:
        return None
    place = next(n for n, (a, b) in enumerate(zip_longest(skipped, played)) if a != b)
    ways = (("skipped", skipped), ("played", played))
    rows = "".join(f"\n  {way}: {_told_row(rows, place)}" for way, rows in ways)
    told = f"{_DIFFERENCE}, first at row {place + 1}:{rows}\n  {repetition(world.seed, command)}"
    return Failure(seed=world.seed, kind=_DIFFERENCE, told=told)


def rows_of(world: World, quiet: Quiet) -> list[Row]:
    """The rows of a world, with questions on the way, which must not disturb its calm."""
    sink = MemorySink()
    sim = prepare(world, sink=sink, quiet=quiet)
    length_ms = world.calm_from_ms() + _COMPARED_CALM_MS
    asked_ms = length_ms * 2 // 5 + 37 * (world.seed % 100)
    for until_ms in (asked_ms, asked_ms + 700, max(length_ms, asked_ms + 1_400)):
        sim.run_for(until_ms - sim.now_ms)
        assert sim.events is sink.rows
    sim.end()
    return sink.rows


def _told_row(rows: Sequence[Row], place: int) -> str:
    if place >= len(rows):
        return "nothing"
    known = asdict(rows[place])
    return ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)


#: Says how a world fails, if it does; told what to say as the command that repeats it.
Judge = Callable[[World], Failure | None]


def judged(judge: Judge, seed: int) -> Failure | None:
    """How the world of a seed fails, if it does."""
    return judge(draw_world(seed))


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def shrunk(failure: Failure, judge: Judge) -> World:
    """The smallest world found that fails in the same way."""

    def fails(world: World) -> bool:
        found = judge(world)
        return found is not None and found.kind == failure.kind

    return shrink(draw_world(failure.seed), fails)


def command_for(seed: int, *flags: str) -> str:
    """What repeats a world of a campaign that was played with these flags."""
    return " ".join(("python -m simulation.campaign --worlds 1 --seed", str(seed), *flags))


def repetition(seed: int, command: str | None = None) -> str:
    """The last line of every failure."""
    return f"seed {seed}; to repeat it: {command or command_for(seed)}"


@define(eq=False, kw_only=True)
class Campaign:
    """Worlds played one after the other, or several at a time; findings as they come."""

    seeds: Sequence[int]
    jobs: int = 1
    judge: Judge = fail_of
    out: Path | None = None
    results: TextIO = field(factory=lambda: sys.stdout)
    talk: TextIO = field(factory=lambda: sys.stderr)
    is_shrinking: bool = True
    #: What comes of each, as it is known, if they are played in another place than here.
    elsewhere: Generator[Failure | None, None, None] | None = None
    #: Hears how many are done, of how many; without it, a line says so.
    progress: Callable[[int, int], object] | None = None
    failures: list[Failure] = field(factory=list, init=False)
    _done: int = field(default=0, init=False)

    def run(self) -> int:
        """Play all worlds and return the exit status."""
        try:
            with closing(self._outcomes()) as outcomes:
                self._watch(outcomes)
        except KeyboardInterrupt:
            self._say(f"\ninterrupted: {self._done} worlds, {len(self.failures)} failed\n")
            return INTERRUPTED
        self._say(f"\r{len(self.seeds)} worlds, {len(self.failures)} failed\n")
        return FAILED if self.failures else HELD

    def _outcomes(self) -> Generator[Failure | None, None, None]:
        if self.elsewhere is not None:
            yield from self.elsewhere
            return
        outcome = partial(judged, self.judge)
        if self.jobs == 1:
            yield from map(outcome, self.seeds)
            return
        # Spawned, not forked: the caller may have threads. An interrupt is the parent's to handle.
        pool_of = partial(
            ProcessPoolExecutor,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_leave_interrupts_to_the_parent,
        )
        with pool_of(self.jobs) as pool:
            try:
                yield from pool.map(outcome, self.seeds)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _watch(self, outcomes: Iterable[Failure | None]) -> None:
        for self._done, failure in enumerate(outcomes, 1):
            if failure is not None:
                self._report(failure)
            if self.progress is not None:
                self.progress(self._done, len(self.seeds))
            elif self._done % _PROGRESS_EVERY == 0:
                self._say(f"\r{self._done}/{len(self.seeds)} worlds, {len(self.failures)} failed")

    def _report(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.results.write(f"\n{failure.told}\n")
        alike = [each for each in self.failures if each.kind == failure.kind]
        path = self._save(failure, draw_world(failure.seed))
        if path is not None:
            self.results.write(f"  saved as {path}\n")
        if self.is_shrinking and len(alike) <= _SHRUNK_OF_A_KIND_MAX:
            small = shrunk(failure, self.judge)
            self.results.write(f"\n{self._script(failure, small)}")
            self._save(failure, small)
        self.results.flush()

    def _script(self, failure: Failure, world: World) -> str:
        judge = "differ_of" if self.judge is differ_of else "fail_of"
        return script_of(world, f"{failure.kind}, found with seed {failure.seed}.", judge)

    def _save(self, failure: Failure, world: World) -> Path | None:
        """Keep it at once, large as it is: what was found must survive an interrupt."""
        if self.out is None:
            return None
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"world_{failure.seed}.py"
        path.write_text(self._script(failure, world), encoding="utf-8")
        return path

    def _say(self, text: str) -> None:
        self.talk.write(text)
        self.talk.flush()


def _parsed(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m simulation.campaign", description="Many random worlds.")
    parser.add_argument("--worlds", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=0, help="the first world's (0)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (1)")
    parser.add_argument(
        "--out", type=Path, default=Path("failures"), help="where scripts are saved (failures)"
    )
    parser.add_argument(
        "--both-ways", action="store_true", help="compare rows with quiet time skipped and played"
    )
    parser.add_argument("--no-shrink", action="store_true", help="do not make failures smaller")
    found = parser.parse_args(arguments)
    for name, least in (("worlds", 1), ("jobs", 1), ("seed", 0)):
        if getattr(found, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(found, name)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign that the arguments ask for."""
    wanted = _parsed(arguments)
    campaign = Campaign(
        seeds=range(wanted.seed, wanted.seed + wanted.worlds),
        jobs=wanted.jobs,
        judge=differ_of if wanted.both_ways else fail_of,
        out=wanted.out,
        is_shrinking=not wanted.no_shrink,
    )
    # Asked to end it ends as with Ctrl-C: its workers would wait for more worlds for ever.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return campaign.run()
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
