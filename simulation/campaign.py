"""A campaign: many random worlds, all checkers on.

    python -m simulation.campaign --worlds 1000 --seed 0 --jobs 2 --out failures

Each world has its own seed, from `--seed` on. A world that fails is made smaller, printed as a
script that shows the failure, and saved. The status is 0 if all worlds held and 1 if one failed.
"""

from __future__ import annotations

import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TextIO

from attrs import define, field, frozen

from simulation.checkers import Watch
from simulation.random_worlds import World, draw_world, play
from simulation.shrinking import shrink
from simulation.world_scripts import script_of

HELD, FAILED, INTERRUPTED = 0, 1, 130
_PROGRESS_EVERY = 10
#: So many failing worlds of one kind are made smaller; the others are like them.
_SHRUNK_OF_A_KIND_MAX = 2


@frozen(kw_only=True)
class Failure:
    """What went wrong in a world: a sentence that did not hold, or an exception."""

    seed: int
    #: What failures of the same kind share: a checker's name, or an exception and its place.
    kind: str
    told: str


def fail_of(world: World) -> Failure | None:
    """How this world fails, if it does."""
    watch = Watch(patience=world.patience())
    try:
        play(world, sink=watch)
    except Exception as error:  # noqa: BLE001 (whatever a world raises is a finding)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} in {Path(frame.filename).stem}.{frame.name}"
        notes = "; ".join(getattr(error, "__notes__", ()))
        told = f"{kind}, line {frame.lineno}: {error}; {notes}\n  {repetition(world.seed)}"
        return Failure(seed=world.seed, kind=kind, told=told)
    if not watch.violations:
        return None
    first = watch.violations[0]
    told = first.report(world.seed, command_for(world.seed))
    return Failure(seed=world.seed, kind=first.checker, told=told)


#: Says how a world fails, if it does.
Judge = Callable[[World], Failure | None]


def _judged(judge: Judge, seed: int) -> Failure | None:
    return judge(draw_world(seed))


def shrunk(failure: Failure, judge: Judge) -> World:
    """The smallest world found that fails in the same way."""

    def fails(world: World) -> bool:
        found = judge(world)
        return found is not None and found.kind == failure.kind

    return shrink(draw_world(failure.seed), fails)


def command_for(seed: int) -> str:
    """What repeats a world of a campaign."""
    return f"python -m simulation.campaign --worlds 1 --seed {seed}"


def repetition(seed: int) -> str:
    """The last line of every failure."""
    return f"seed {seed}; to repeat it: {command_for(seed)}"


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
    failures: list[Failure] = field(factory=list, init=False)

    def run(self) -> int:
        """Play all worlds and return the exit status."""
        try:
            with closing(self._outcomes()) as outcomes:
                self._watch(outcomes)
        except KeyboardInterrupt:
            self._say("\ninterrupted\n")
            return INTERRUPTED
        self._say(f"\r{len(self.seeds)} worlds, {len(self.failures)} failed\n")
        return FAILED if self.failures else HELD

    def _outcomes(self) -> Generator[Failure | None, None, None]:
        judged = partial(_judged, self.judge)
        if self.jobs == 1:
            yield from map(judged, self.seeds)
            return
        with ProcessPoolExecutor(self.jobs) as pool:
            try:
                yield from pool.map(judged, self.seeds)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _watch(self, outcomes: Iterable[Failure | None]) -> None:
        for done, failure in enumerate(outcomes, 1):
            if failure is not None:
                self._report(failure)
            if done % _PROGRESS_EVERY == 0:
                self._say(f"\r{done}/{len(self.seeds)} worlds, {len(self.failures)} failed")

    def _report(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.results.write(f"\n{failure.told}\n")
        alike = [each for each in self.failures if each.kind == failure.kind]
        if self.is_shrinking and len(alike) <= _SHRUNK_OF_A_KIND_MAX:
            small = shrunk(failure, self.judge)
            script = script_of(small, f"{failure.kind}, found with seed {failure.seed}.")
            self.results.write(f"\n{script}")
            self._save(failure, script)
        self.results.flush()

    def _save(self, failure: Failure, script: str) -> None:
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"world_{failure.seed}.py"
            path.write_text(script, encoding="utf-8")
            self._say(f"\nsaved as {path}\n")

    def _say(self, text: str) -> None:
        self.talk.write(text)
        self.talk.flush()


def _parsed(arguments: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m simulation.campaign", description="Many random worlds.")
    parser.add_argument("--worlds", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=0, help="the first world's (0)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (1)")
    parser.add_argument(
        "--out", type=Path, default=Path("failures"), help="where scripts are saved"
    )
    parser.add_argument("--no-shrink", action="store_true", help="do not make failures smaller")
    found = parser.parse_args(arguments)
    for name in ("worlds", "jobs"):
        if getattr(found, name) < 1:
            parser.error(f"--{name} must be at least 1, not {getattr(found, name)}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign that the arguments ask for."""
    wanted = _parsed(arguments)
    return Campaign(
        seeds=range(wanted.seed, wanted.seed + wanted.worlds),
        jobs=wanted.jobs,
        out=wanted.out,
        is_shrinking=not wanted.no_shrink,
    ).run()


if __name__ == "__main__":
    sys.exit(main())
