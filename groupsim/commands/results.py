"""What came of runs, as plain data: what `run --json` prints, and what the summary is made of.

The names are those of docs/measures.md; docs/cli.md has the schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, frozen

from simulation.measures import MEASURES, Measures, Number, Place, Rebalance, Tally, figure_of
from simulation.scenarios import ExpectationResult, RunResult, Scenario

_S = 1_000


@frozen
class GroupFigures:
    """The measures of one group of a run."""

    group: str
    measures: Measures

    @property
    def rebalances(self) -> tuple[Rebalance, ...]:
        """Its rebalances, in order."""
        return self.measures.rebalances_of(self.group)

    def values(self, name: str) -> dict[Any, Number]:
        """A measure's values that are about this group."""
        own = {each.seq for each in self.rebalances}
        return {
            key: value
            for key, value in self.measures.values(name).items()
            if _is_of(key, self.group, own)
        }

    def figure(self, name: str) -> Number:
        """A measure's figure for this group, by the aggregate that a run's own figure has."""
        return figure_of(MEASURES[name].aggregate, self.values(name).values())

    def worst(self, name: str) -> tuple[Place, Number] | None:
        """The partition that is worst off, if one is at all."""
        values = self.values(name)
        if not values:
            return None
        place = max(values, key=lambda each: values[each])
        return (place, values[place]) if values[place] > 0 else None

    def total(self, name: str) -> Number:
        """All values of a measure together."""
        return figure_of("sum", self.values(name).values())

    def by_cause(self, tallies: Iterable[Tally]) -> dict[str, int]:
        """Records of this group by cause, most first."""
        counts: Counter[str] = Counter()
        for tally in tallies:
            if tally.place.group == self.group:
                counts[tally.cause] += tally.records
        return dict(counts.most_common())

    def refused_by_error(self) -> dict[str, int]:
        """Refused commits of this group by error, most first."""
        counts: Counter[str] = Counter()
        for member, errors in self.measures.commits_refused.items():
            if member.group == self.group:
                counts.update(errors)
        return dict(counts.most_common())


def _is_of(key: Any, group: str, own: set[int]) -> bool:  # noqa: ANN401 - what a measure is by
    if isinstance(key, str):
        return key == group
    if isinstance(key, int):
        return key in own
    return bool(key.group == group)


def groups_of(result: RunResult) -> list[GroupFigures]:
    """Every group of a run."""
    return [GroupFigures(group, result.measures) for group in result.measures.groups]


def as_json(scenario: Scenario, results: Sequence[RunResult]) -> dict[str, Any]:
    """All of it."""
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "question": scenario.question,
        "held": all(result.held for result in results),
        "runs": [_run(result) for result in results],
    }


def _run(result: RunResult) -> dict[str, Any]:
    return {
        "variant": result.variant,
        "run": result.run,
        "seed": result.seed,
        "held": result.held,
        "ended_ms": result.ended_ms,
        "events": result.events,
        "path": None if result.path is None else str(result.path),
        "measures": result.figures(),
        "expectations": [_expectation(result, each) for each in result.expectations],
        "violations": [asdict(each) for each in result.violations],
        "liveness": result.liveness,
        "failures": [asdict(each) for each in result.failures],
        "missed": [asdict(each) for each in result.missed],
        "groups": {each.group: _group(each) for each in groups_of(result)},
    }


def _expectation(result: RunResult, each: ExpectationResult) -> dict[str, Any]:
    moment = result.moment_of(each)
    return {**asdict(each), "moment": None if moment is None else asdict(moment)}


def _group(of: GroupFigures) -> dict[str, Any]:
    measures = of.measures
    return {
        "measures": {name: of.figure(name) for name in MEASURES},
        "rebalances": [_rebalance(n, each) for n, each in enumerate(of.rebalances, 1)],
        "partitions": [_partition(of, place) for place in _places(of)],
        "duplicates": _causes(of.by_cause(measures.duplicates)),
        "lost": _causes(of.by_cause(measures.lost)),
        "deaths": [
            asdict(death) | {"detection_s": seconds}
            for death, seconds in of.values("detection_s").items()
        ],
        "commits": sum(
            count for member, count in measures.commits.items() if member.group == of.group
        ),
        "commits_refused": {
            member.client: dict(errors)
            for member, errors in measures.commits_refused.items()
            if member.group == of.group and errors
        },
    }


def _rebalance(number: int, each: Rebalance) -> dict[str, Any]:
    held = each.held
    return {
        "reference": f"rebalance:{number}",
        "seq": each.seq,
        "cause": each.cause,
        "client_reason": each.client_reason,
        "started_ms": each.started_ms,
        "ended_ms": each.ended_ms,
        "rebalance_s": each.duration_ms / _S,
        "ended_in": each.ended_in,
        "generation": each.generation,
        "protocol": each.protocol,
        "members": each.members,
        "moved": each.moved,
        "held": None
        if held is None
        else {"who": held.who, "why": held.why, "seconds": held.duration_ms / _S},
        "awaited": each.awaited,
        "phases": [asdict(phase) for phase in each.phases],
        "deadline_ms": each.deadline_ms,
    }


def _places(of: GroupFigures) -> list[Place]:
    found = [*of.values("unowned_s"), *of.values("lag")]
    return sorted(dict.fromkeys(found))


def _partition(of: GroupFigures, place: Place) -> dict[str, Any]:
    names = [name for name, each in MEASURES.items() if each.of == "partition"]
    figures = {name: of.measures.values(name).get(place, 0) for name in names}
    return {"topic": place.topic, "partition": place.partition, **figures}


def _causes(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"cause": cause, "records": records} for cause, records in counts.items()]
