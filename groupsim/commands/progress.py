"""How far a run or a sweep has come: by virtual time or by runs, with a rate and an estimate.

On a terminal there is a bar; elsewhere a line now and then, and none for a run of two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from attrs import define, field
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from simulation.durations import duration_text
from simulation.sentences import lasting

#: A run that is over sooner is not reported on, unless on a terminal.
_QUIET_S = 2.0
_BETWEEN_LINES_S = 10.0
_BETWEEN_FRAMES_S = 0.1
_MS = 1_000
#: What takes longer is estimated in minutes.
_IN_SECONDS = 120


@define(eq=False)
class Reporter:
    """Told by a run how far it is; tells the person."""

    console: Console
    label: str
    #: How it is told: so far, of so much, after so many seconds.
    told: Callable[[int, int, float], str] = field(factory=lambda: told_progress)
    clock: Callable[[], float] = time.monotonic
    _bar: Progress | None = field(default=None, init=False)
    _has_begun: bool = field(default=False, init=False)
    _began_s: float = field(default=0.0, init=False)
    _next_s: float = field(default=0.0, init=False)

    def __enter__(self) -> Self:
        self._began_s = self.clock()
        if self.console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[at]}"),
            )
            self._bar = Progress(*columns, console=self.console, transient=True, auto_refresh=False)
            self._bar.start()
            self._bar.add_task(self.label, total=1, at="")
            self._next_s = self._began_s
        else:
            self._next_s = self._began_s + _QUIET_S
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, now_ms: int, end_ms: int) -> None:
        """So far of so much."""
        now_s = self.clock()
        if not self._has_begun:
            self._has_begun = True
            if now_ms == 0:  # what came before was getting ready, and says nothing of the pace
                self._began_s = now_s
        if now_s < self._next_s:
            return
        told = self.told(now_ms, end_ms, now_s - self._began_s)
        if self._bar is None:
            self.console.print(f"{self.label}: {told}", soft_wrap=True)
            self._next_s = now_s + _BETWEEN_LINES_S
            return
        self._bar.update(self._bar.task_ids[0], completed=now_ms, total=max(1, end_ms), at=told)
        self._bar.refresh()
        self._next_s = now_s + _BETWEEN_FRAMES_S


def told_progress(now_ms: int, end_ms: int, took_s: float) -> str:
    """How far, how fast, how long still."""
    far = f"{lasting(now_ms)} of {lasting(end_ms)}"
    if now_ms <= 0 or took_s <= 0:
        return far
    rate = now_ms / _MS / took_s
    left_s = (end_ms - now_ms) / _MS / rate
    return f"{far}, {rate:,.0f} times as fast as life, {_left(left_s)}"


def told_runs(done: int, of: int, took_s: float) -> str:
    """How many runs, how fast, how long still."""
    return _told_count(done, of, took_s, "runs")


def told_worlds(done: int, of: int, took_s: float) -> str:
    """The same of worlds."""
    return _told_count(done, of, took_s, "worlds")


def _told_count(done: int, of: int, took_s: float, what: str) -> str:
    far = f"{done:,} of {of:,} {what}"
    if done <= 0 or took_s <= 0:
        return far
    rate = done / took_s
    return f"{far}, {rate:,.1f} a second, {_left((of - done) / rate)}"


def _left(seconds: float) -> str:
    """An estimate, in seconds as long as they matter."""
    if seconds < _IN_SECONDS:
        return f"about {seconds:.0f} s left"
    return f"about {duration_text(round(seconds / 60) * 60 * _MS)} left"
