"""Watchers of a whole run that know its rows and nothing of its workings.

Each checker holds one sentence against every row: safety always (safety.py), liveness after the
last disturbance (liveness.py). `Watch` shows a run to all of them, as a sink or after the fact; a
`Violation` names the rows that show it.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from simulation.events import Row
from simulation.folds.commits import Commits
from simulation.folds.places import Handler, by_kind
from simulation.folds.rosters import Rosters
from simulation.liveness import Liveness, Patience
from simulation.safety import (
    AcknowledgedCommitsSurvive,
    CommitsAreCurrent,
    CommitsOnlyAdvance,
    CooperativeOwnersAreAlone,
    GenerationsRise,
    OneProcessorPerGeneration,
)
from simulation.violations import Checker, Violation

__all__ = ["Patience", "Violation", "Watch", "check"]


@define(eq=False)
class Watch:
    """All checkers over one run; rows in, one by one; violations out."""

    #: Without it, liveness is not asked for.
    patience: Patience | None = None
    _checkers: list[Checker] = field(init=False)
    _liveness: Liveness | None = field(init=False)
    _handlers: dict[str, tuple[Handler, ...]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Rosters come first, for who is a member counts; commits last, to be compared with."""
        rosters, commits = Rosters(), Commits()
        self._checkers = [
            OneProcessorPerGeneration(rosters=rosters),
            CommitsAreCurrent(rosters=rosters),
            CommitsOnlyAdvance(commits=commits),
            GenerationsRise(),
            CooperativeOwnersAreAlone(rosters=rosters),
            AcknowledgedCommitsSurvive(commits=commits),
        ]
        self._liveness = None
        if self.patience is not None:
            self._liveness = Liveness(patience=self.patience, rosters=rosters)
            self._checkers.append(self._liveness)
        self._handlers = by_kind((rosters, *self._checkers, commits))

    def take(self, row: Row) -> None:
        """Look at the next row."""
        if self._liveness is not None:
            self._liveness.before(row)
        for handle in self._handlers.get(row.kind, ()):
            handle(row)

    def verdict(self, ended_ms: int) -> str | None:
        """What is to be said of liveness when the run is over; None if it was not asked for."""
        return None if self._liveness is None else self._liveness.verdict(ended_ms)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What has been found so far, in the order of the rows."""
        found = [violation for checker in self._checkers for violation in checker.found]
        return tuple(sorted(found, key=lambda violation: violation.rows[-1]))


def check(rows: Iterable[Row], *, patience: Patience | None = None) -> tuple[Violation, ...]:
    """What a finished run did wrong; liveness is asked for if it is said for how long to wait."""
    watch = Watch(patience=patience)
    for row in rows:
        watch.take(row)
    return watch.violations
