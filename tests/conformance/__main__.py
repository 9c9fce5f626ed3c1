"""`python -m tests.conformance FILE...`: play recorded cases and say where we differ.

Formats are told apart by content. One line per failing case; the last line counts. Exit status 0
only if nothing failed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.conformance import assignors, client, coordinator
from tests.conformance.results import CaseResult


class Format(Protocol):
    """A player: it says whether a file is in its format, and plays it."""

    def is_mine(self, cases: list[dict[str, Any]], /) -> bool: ...

    def play(self, cases: list[dict[str, Any]], /) -> Iterator[CaseResult]: ...


FORMATS: tuple[Format, ...] = (coordinator, client, assignors)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all files; 0 if nothing failed, 1 if something did, 2 if a file cannot be played."""
    options = _parser().parse_args(arguments)
    counts: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    for file in options.files:
        try:
            cases = read_cases(file)
        except ValueError as error:
            print(f"{file}: {error}", file=sys.stderr)
            return 2
        if options.only is not None:
            cases = [case for case in cases if case["id"] in options.only]
        for result in _results(cases, is_traced=options.trace):
            (counts if result.scored else apart)[result.outcome] += 1
            if result.outcome != "passed" or options.verbose:
                note = "" if result.scored else " (not scored)"
                print(f"{result.outcome} {result.case_id}{note}: {result.message}".rstrip(": "))
    if options.only is not None and not counts + apart:
        print(f"no case has the id {', '.join(options.only)}", file=sys.stderr)
        return 2
    if apart:
        print(f"apart, not scored: {_counted(apart)}")
    print(_counted(counts))
    return 1 if counts["failed"] else 0


def read_cases(file: Path) -> list[dict[str, Any]]:
    """The cases of a file, gzip-compressed or plain; ValueError says what is wrong with it."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    try:
        cases = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
    except (ValueError, gzip.BadGzipFile) as error:
        raise ValueError(f"is not JSON: {error}") from error
    if isinstance(cases, dict):
        cases = [cases]
    if not isinstance(cases, list) or not all(isinstance(each, dict) for each in cases):
        raise ValueError("must hold a list of cases")
    if cases and not any(each.is_mine(cases) for each in FORMATS):
        raise ValueError("is in none of the formats of recorded cases")
    return cases


def _results(cases: list[dict[str, Any]], *, is_traced: bool) -> Iterator[CaseResult]:
    if not cases:
        return iter(())
    player = next(each for each in FORMATS if each.is_mine(cases))
    if player is coordinator and is_traced:
        return coordinator.play(cases, print)
    if is_traced:
        print("--trace is for cases of the coordinator; the others show where they differ")
    return player.play(cases)


def _counted(counts: Counter[str]) -> str:
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Play recorded cases with Kafka's own answers, and say where we differ.",
        epilog="One failing case, step by step: --only walk_500001 --trace FILE",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON, also as .gz")
    parser.add_argument("--verbose", action="store_true", help="a line for every case")
    parser.add_argument("--only", action="append", metavar="ID", help="play only this case")
    parser.add_argument(
        "--trace", action="store_true", help="show each step, each answer and the group's state"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
