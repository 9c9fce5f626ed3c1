"""`python -m tests.mutants`: plant faults, one at a time, and show that the tests catch each.

Every fault gets a copy of the tree of its own; the working tree is only read, once, at the start.
Exit status 0 if all were caught, 1 if one survived or no longer applies, 2 if nothing can be said
because the tests fail without any fault.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import copytree, ignore_patterns

from attrs import frozen

from tests.mutants.faults import Fault, StaleFault, place_of, planted, source_of
from tests.mutants.rooms import ROOMS, Room

ROOT = Path(__file__).parents[2]
LEFT_OUT = ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "runs")
#: A fault may make the tests run in circles: after this many times their usual time, it is caught.
PATIENCE = 10
PATIENCE_S_MIN = 120.0
_PATIENCE_WITHOUT_S = 1_800.0

PASSED, FAILED, BROKEN_IMPORT = 0, 1, 2


class CannotTell(Exception):
    """The tests say nothing about a fault: they fail without one, or do not run."""


@frozen(kw_only=True)
class Mutant:
    """A fault with its number and the room it is planted in."""

    number: int
    fault: Fault
    room: Room


@frozen(kw_only=True)
class Finding:
    """What became of the tests: which one failed first, None if none did."""

    failed: str | None
    took_s: float


def main(
    arguments: Sequence[str] | None = None, *, rooms: Sequence[Room] = ROOMS, tree: Path = ROOT
) -> int:
    """Plant what was asked for, and count what was caught."""
    options = _parser().parse_args(arguments)
    mutants = [each for each in _numbered(rooms) if is_wanted(each, options.only)]
    if not mutants:
        print(f"no fault has {' or '.join(options.only)}", file=sys.stderr)
        return 2
    fresh, stale = _sorted_out(mutants, tree)
    for mutant, why in stale:
        print(f"STALE     {mutant.number:3} {mutant.fault.says} {why}")
    if options.list:
        for mutant in fresh:
            print(f"{mutant.number:3} {_where(mutant.fault, tree)}: {mutant.fault.says}")
        return 1 if stale else 0
    try:
        counts = asyncio.run(_play(fresh, tree, options.jobs))
    except CannotTell as reason:
        print(reason, file=sys.stderr)
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted; nothing is left behind", file=sys.stderr)
        return 130
    counts["stale"] = len(stale)
    print(", ".join(f"{counts[word]} {word}" for word in ("caught", "survived", "stale")))
    return 1 if counts["survived"] or stale else 0


def is_wanted(mutant: Mutant, only: Iterable[str]) -> bool:
    """Is it asked for: by its number, or by a word of its file, its lines or its sentence?"""
    fault = mutant.fault
    words = f"{fault.file} {fault.inside} {fault.line} {fault.faulty} {fault.says}".lower()
    asked = list(only)
    return not asked or any(
        int(each) == mutant.number if each.isdigit() else each.lower() in words for each in asked
    )


def _numbered(rooms: Iterable[Room]) -> list[Mutant]:
    pairs = [(room, fault) for room in rooms for fault in room.faults]
    return [
        Mutant(number=number, fault=fault, room=room)
        for number, (room, fault) in enumerate(pairs, start=1)
    ]


def _sorted_out(
    mutants: Iterable[Mutant], tree: Path
) -> tuple[list[Mutant], list[tuple[Mutant, StaleFault]]]:
    """Those that apply, and those that do not, each with the reason."""
    fresh, stale = [], []
    for mutant in mutants:
        try:
            place_of(mutant.fault, source_of(mutant.fault, tree))
            fresh.append(mutant)
        except StaleFault as why:
            stale.append((mutant, why))
    return fresh, stale


def _where(fault: Fault, tree: Path) -> str:
    return f"{fault.file}:{place_of(fault, source_of(fault, tree)) + 1}"


async def _play(mutants: Sequence[Mutant], tree: Path, jobs: int) -> Counter[str]:
    """Test the tree without a fault, then with each; `jobs` of them at a time."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for word in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(word, task.cancel)
    counts: Counter[str] = Counter()
    turns = asyncio.Semaphore(jobs)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        clean = Path(folder) / "clean"
        copytree(tree, clean, ignore=LEFT_OUT)
        patience_s = {id(room): await _patience_s(room, clean) for room in _rooms_of(mutants)}

        async def play(mutant: Mutant) -> None:
            async with turns:
                finding = await _test(mutant, clean, patience_s[id(mutant.room)])
            word = "survived" if finding.failed is None else "caught"
            counts[word] += 1
            _tell(mutant, finding, f"{counts.total()}/{len(mutants)}", _where(mutant.fault, clean))

        try:
            async with asyncio.TaskGroup() as group:
                for mutant in mutants:
                    group.create_task(play(mutant))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
    return counts


def _rooms_of(mutants: Iterable[Mutant]) -> list[Room]:
    return list({id(each.room): each.room for each in mutants}.values())


async def _patience_s(room: Room, clean: Path) -> float:
    """How long to wait for the room's tests; they must pass as they are."""
    finding = await _run_tests(room, clean, _PATIENCE_WITHOUT_S)
    if finding.failed is not None:
        raise CannotTell(f"without any fault, this fails already: {finding.failed}")
    print(f"the tests pass without a fault in {finding.took_s:.0f} s", flush=True)
    return max(PATIENCE * finding.took_s, PATIENCE_S_MIN)


async def _test(mutant: Mutant, clean: Path, patience_s: float) -> Finding:
    with tempfile.TemporaryDirectory(dir=clean.parent) as folder:
        copy = Path(folder) / "copy"
        copytree(clean, copy)
        source = source_of(mutant.fault, copy)
        (copy / mutant.fault.file).write_text(planted(mutant.fault, source))
        return await _run_tests(mutant.room, copy, patience_s)


async def _run_tests(room: Room, tree: Path, patience_s: float) -> Finding:
    """Run the room's tests until one fails."""
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-x", "-q", "--tb=no"),
        *("-p", "no:cacheprovider", "-p", "tests.mutants.unshrunk"),
        *room.test_files(tree),
        cwd=tree,
        # Compiled files are told apart by size and second; a fault may change neither. And what
        # the tests themselves put aside goes with the copy.
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tree.parent)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), patience_s)
    except TimeoutError:
        failed: str | None = f"the tests were not done after {patience_s:.0f} s"
    else:
        failed = _first_failure(printed.decode(), process.returncode)
    finally:
        with suppress(ProcessLookupError, PermissionError):  # nothing is left of it
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return Finding(failed=failed, took_s=loop.time() - started_s)


def _first_failure(printed: str, status: int | None) -> str | None:
    """The first test that failed by pytest's summary; a broken import is a failure too."""
    if status == PASSED:
        return None
    for line in printed.splitlines():
        if line.startswith(("FAILED ", "ERROR ")) and status in (FAILED, BROKEN_IMPORT):
            return line.partition(" ")[2].partition(" - ")[0]
    raise CannotTell(f"pytest ended with status {status}:\n{printed}")


def _tell(mutant: Mutant, finding: Finding, progress: str, where: str) -> None:
    fault = mutant.fault
    word = "SURVIVED" if finding.failed is None else "caught"
    print(f"{progress:>7}  {word:8} {mutant.number:3} {fault.says}  ({finding.took_s:.0f} s)")
    if finding.failed is None:
        print(f"{'':25}{where}\n{'':25}- {fault.line}\n{'':25}+ {fault.faulty}", flush=True)
    else:
        print(f"{'':25}by {finding.failed}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="N|WORD", help="faults by number or by a word"
    )
    parser.add_argument("--list", action="store_true", help="say what there is, and plant nothing")
    parser.add_argument(
        "--jobs",
        type=int,
        choices=range(1, 65),
        default=2,
        metavar="N",
        help="how many at a time (2)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
