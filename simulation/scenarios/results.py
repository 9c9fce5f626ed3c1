"""What came of a run: its measures, whether it was as expected, and what the checkers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from simulation.bounds import Bound
from simulation.measures import Measures, Number
from simulation.moments import Moment, moment_of
from simulation.scenarios.expectations import ExpectationResult, parse_expectation
from simulation.violations import Violation

if TYPE_CHECKING:
    from pathlib import Path

    from simulation.scenarios.scenario import Scenario


@frozen(kw_only=True)
class Failure:
    """A consumer that ended with an error: its application's own, or Kafka's that it let pass."""

    group: str
    client: str
    at_ms: int
    #: The class of the error, and what it says.
    error: str
    why: str | None


@frozen(kw_only=True)
class Missed:
    """A moment at which the script meant somebody and there was nobody: "owner of orders-60"."""

    at_ms: int
    whom: str


@frozen(kw_only=True)
class RunResult:
    """One run of a scenario, or of one of its variants."""

    #: As it was played: one variant, and none left to choose.
    scenario: Scenario
    variant: str
    seed: int
    #: The run's name in its rows.
    run: str
    ended_ms: int
    events: int
    measures: Measures
    expectations: tuple[ExpectationResult, ...]
    violations: tuple[Violation, ...]
    #: Whether groups were asked to come to rest, and what came of it, in words.
    liveness: str
    #: Consumers that ended with an error, in the order in which they did.
    failures: tuple[Failure, ...] = ()
    #: Whom the script meant and did not find; others of the same entry it may have found.
    missed: tuple[Missed, ...] = ()
    #: Its run directory, if it was recorded.
    path: Path | None = None

    @property
    def held(self) -> bool:
        """Whether everything was as expected and no checker has found anything."""
        return not self.violations and all(each.holds for each in self.expectations)

    def moment_of(self, each: ExpectationResult) -> Moment | None:
        """Where to look for what broke an expectation, if it did not come true by the end only."""
        wanted = parse_expectation(each.text)
        if each.holds or not isinstance(wanted, Bound):
            return None
        return moment_of(wanted, self.measures)

    def figures(self) -> dict[str, Number]:
        """The run's own figures, by the names of the measures."""
        return self.measures.figures()

    def outcome(self) -> dict[str, Any]:
        """The same as plain data, for `run.json`."""
        return {
            "ended_ms": self.ended_ms,
            "events": self.events,
            "held": self.held,
            "figures": self.figures(),
            "expectations": [asdict(each) for each in self.expectations],
            "violations": [str(each) for each in self.violations],
            "liveness": self.liveness,
            "missed": [asdict(each) for each in self.missed],
        }
