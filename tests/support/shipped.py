"""The scenarios that come with groupsim, each variant played once for all tests."""

from __future__ import annotations

from functools import cache

from attrs import define, field

from groupsim.commands.shipped import shipped
from simulation.events import Row
from simulation.measures import Measures
from simulation.scenarios import RunResult, Scenario, play

#: The kinds of rows that a test may want to see besides the measures.
NOTED = (
    *("state_changed", "member_removed", "consumer_started", "consumer_stopped"),
    *("broker_crashed", "coordinator_moved", "offset_removed", "position_set"),
    *("commit_acknowledged", "commit_failed", "commit_refused", "records_processed"),
)


@define(eq=False)
class Notes:
    """A sink that keeps rows of a few kinds, and of the answers those with an error."""

    rows: list[Row] = field(factory=list)

    def take(self, row: Row) -> None:
        is_refusal = row.kind == "reply_received" and row.error not in (None, "NONE")
        if row.kind in NOTED or is_refusal:
            self.rows.append(row)


def story(name: str) -> Scenario:
    """A scenario by its name."""
    return Scenario.from_file(shipped()[name])


@cache
def noted(name: str, variant: str) -> tuple[RunResult, list[Row]]:
    """What comes of one of its variants, and what was worth a note on the way."""
    notes = Notes()
    return play(story(name), variant=variant, sink=notes), notes.rows


def played(name: str, variant: str) -> RunResult:
    """What comes of one of its variants."""
    return noted(name, variant)[0]


def measured(name: str, variant: str) -> Measures:
    """The measures of one of its variants."""
    return played(name, variant).measures


def rows_of(name: str, variant: str, kind: str) -> list[Row]:
    """The noted rows of a kind."""
    return [row for row in noted(name, variant)[1] if row.kind == kind]


def total(name: str, variant: str, measure: str) -> float:
    """All values of a measure together."""
    return sum(measured(name, variant).values(measure).values())
