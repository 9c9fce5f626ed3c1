"""The answers of a run under their names: one fold over its rows, for whoever reports.

`measure(rows)` takes any rows in the order of `seq`; a `Measurer` takes them one by one, as a sink
does, and may be asked at any time. Memory follows groups, partitions, members and how often the
growth of a log changed, not rows. What is open when the rows end counts up to the last of them.
`docs/measures.md` has it in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from simulation.events import Row
from simulation.folds.commits import Commits
from simulation.folds.deaths import Death, DeathFold
from simulation.folds.deliveries import DeliveryFold, Tally
from simulation.folds.lags import LagFold
from simulation.folds.ownership import OwnershipFold
from simulation.folds.places import Member, Place, Span, by_kind
from simulation.folds.rebalances import Hold, Phase, Rebalance, RebalanceFold
from simulation.folds.rosters import Rosters

__all__ = [
    "AGGREGATES",
    "MEASURES",
    "Death",
    "Hold",
    "Measure",
    "Measurer",
    "Measures",
    "Member",
    "Phase",
    "Place",
    "Rebalance",
    "Span",
    "Tally",
    "figure_of",
    "measure",
]

Number = int | float


def _percentile(hundredths: int) -> Callable[[list[Number]], Number]:
    """The least value that at least so many in a hundred do not exceed."""

    def of(values: list[Number]) -> Number:
        ordered = sorted(values)
        return ordered[-(-len(ordered) * hundredths // 100) - 1]

    return of


def _mean(values: list[Number]) -> Number:
    return sum(values) / len(values)


#: What may stand around a measure in a bound; of no values at all, each of them is 0.
AGGREGATES: Mapping[str, Callable[[list[Number]], Number]] = {
    "sum": sum,
    "max": max,
    "min": min,
    "mean": _mean,
    "count": len,
    "p50": _percentile(50),
    "p90": _percentile(90),
    "p95": _percentile(95),
    "p99": _percentile(99),
}


def figure_of(aggregate: str, values: Iterable[Number]) -> Number:
    """Many values in one."""
    found = list(values)
    return AGGREGATES[aggregate](found) if found else 0


@frozen
class Measure:
    """A name for an answer: what it has one value for, and how a run's own figure comes of them."""

    name: str
    of: str
    aggregate: str
    meaning: str


# fmt: off

#: Every measure, by its name.
MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("unowned_s", "partition", "max",
                "seconds between the effective stop of one owner and the first fetch of the next"),
        Measure("dual_s", "partition", "max",
                "seconds in which two live consumers both process the partition"),
        Measure("rebalances", "group", "sum",
                "how often a group left Stable or Empty to rebalance, its start included"),
        Measure("rebalance_s", "rebalance", "max",
                "seconds of a rebalance, until the group was Stable or Empty again"),
        Measure("moved", "rebalance", "sum",
                "partitions whose owner differs before and after a rebalance"),
        Measure("duplicates", "partition", "sum",
                "records processed more than once, counted each time but the first"),
        Measure("lost", "partition", "sum",
                "records never processed, though committed past"),
        Measure("lag", "partition", "max",
                "log end minus position at its greatest, in records"),
        Measure("lag_s", "partition", "max",
                "age of the first unread record at its greatest, in seconds"),
        Measure("detection_s", "death of a member", "max",
                "seconds from the death of a member to its removal from the group"),
        Measure("commits_refused", "member", "sum",
                "commits that the coordinator did not accept"),
        Measure("commits_per_s", "member", "sum",
                "commits that the coordinator accepted, for each second of the run"),
    )
}

# fmt: on


@frozen(kw_only=True)
class Measures:
    """What the rows so far come to."""

    until_ms: int
    unowned_s: Mapping[Place, float]
    dual_s: Mapping[Place, float]
    rebalances: tuple[Rebalance, ...]
    duplicates: tuple[Tally, ...]
    lost: tuple[Tally, ...]
    lag: Mapping[Place, int]
    lag_s: Mapping[Place, float]
    deaths: tuple[Death, ...]
    #: Commits that the coordinator accepted, which is to say answered with NONE, by member.
    commits: Mapping[Member, int]
    #: By member, then by error.
    commits_refused: Mapping[Member, Mapping[str, int]]
    groups: tuple[str, ...]
    #: By measure, then by what it has one value for: when that was at its worst, or began.
    when: Mapping[str, Mapping[Any, Span]] = field(eq=False, repr=False)

    def values(self, name: str) -> Mapping[Any, Number]:
        """A measure's values, by what it has one for."""
        _known(name)
        return _VALUES[name](self)

    def figure(self, name: str) -> Number:
        """The run's own figure of a measure."""
        return figure_of(_known(name).aggregate, self.values(name).values())

    def figures(self) -> dict[str, Number]:
        """The run's own figures, all of them."""
        return {name: self.figure(name) for name in MEASURES}

    def rebalances_of(self, group: str) -> tuple[Rebalance, ...]:
        """One group's rebalances, in order."""
        return tuple(each for each in self.rebalances if each.group == group)


def _known(name: str) -> Measure:
    if name not in MEASURES:
        raise ValueError(f"a measure must be one of {', '.join(MEASURES)}, not {name!r}")
    return MEASURES[name]


def _rebalances_by_group(measures: Measures) -> dict[str, int]:
    return {group: len(measures.rebalances_of(group)) for group in measures.groups}


def _by_place(measures: Measures, tallies: Iterable[Tally]) -> dict[Place, int]:
    counts = dict.fromkeys(measures.unowned_s, 0)
    for tally in tallies:
        counts[tally.place] = counts.get(tally.place, 0) + tally.records
    return counts


def _detections(measures: Measures) -> dict[Death, float]:
    return {
        death: _seconds(_removed_ms(death, measures.until_ms) - death.died_ms)
        for death in measures.deaths
    }


def _removed_ms(death: Death, now_ms: int) -> int:
    return now_ms if death.removed_ms is None else death.removed_ms


#: Where the values of each measure are found.
_VALUES: Mapping[str, Callable[[Measures], Mapping[Any, Number]]] = {
    "unowned_s": lambda of: of.unowned_s,
    "dual_s": lambda of: of.dual_s,
    "rebalances": _rebalances_by_group,
    "rebalance_s": lambda of: {each.seq: _seconds(each.duration_ms) for each in of.rebalances},
    "moved": lambda of: {each.seq: each.moved for each in of.rebalances},
    "duplicates": lambda of: _by_place(of, of.duplicates),
    "lost": lambda of: _by_place(of, of.lost),
    "lag": lambda of: of.lag,
    "lag_s": lambda of: of.lag_s,
    "detection_s": _detections,
    "commits_refused": lambda of: {
        member: sum(errors.values()) for member, errors in of.commits_refused.items()
    },
    "commits_per_s": lambda of: {
        member: count / _seconds(of.until_ms) if of.until_ms else 0.0
        for member, count in of.commits.items()
    },
}


@define(eq=False)
class Measurer:
    """The fold: rows in, one by one; measures out, whenever they are wanted."""

    _rosters: Rosters = field(factory=Rosters, init=False)
    _ownership: OwnershipFold = field(factory=OwnershipFold, init=False)
    _rebalances: RebalanceFold = field(init=False)
    _commits: Commits = field(factory=Commits, init=False)
    _deliveries: DeliveryFold = field(init=False)
    _lags: LagFold = field(factory=LagFold, init=False)
    _deaths: DeathFold = field(init=False)
    _handlers: dict[str, tuple[Callable[[Row], None], ...]] = field(init=False)
    _until_ms: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Rosters come first: the others ask them who is who.

        Deliveries come before commits: they ask what was committed before it was forgotten.
        """
        self._deliveries = DeliveryFold(self._commits)
        self._rebalances = RebalanceFold(self._rosters)
        self._deaths = DeathFold(self._rosters)
        self._handlers = by_kind(
            (
                self._rosters,
                self._ownership,
                self._rebalances,
                self._deliveries,
                self._commits,
                self._lags,
                self._deaths,
            )
        )

    def take(self, row: Row) -> None:
        """Learn from the next row."""
        self._until_ms = row.at_ms
        for handle in self._handlers.get(row.kind, ()):
            handle(row)

    def measures(self, until_ms: int | None = None) -> Measures:
        """What the rows so far come to; what is open counts up to the last row, or to this time."""
        now_ms = self._until_ms if until_ms is None else until_ms
        lags = self._lags.lags(now_ms)
        accepted, refused = self._deaths.accepted, self._deaths.refused
        rebalances = tuple(self._rebalances.rebalances(now_ms))
        deaths = tuple(self._deaths.deaths())
        return Measures(
            until_ms=now_ms,
            unowned_s=_all_seconds(self._ownership.unowned_ms(now_ms)),
            dual_s=_all_seconds(self._ownership.dual_ms(now_ms)),
            rebalances=rebalances,
            duplicates=tuple(self._deliveries.duplicates()),
            lost=tuple(self._deliveries.lost()),
            lag={place: records for place, (records, _) in lags.items()},
            lag_s=_all_seconds({place: ms for place, (_, ms) in lags.items()}),
            deaths=deaths,
            commits={member: accepted[member] for member in (*self._rosters.seen, *accepted)},
            commits_refused={
                member: dict(refused.get(member, {})) for member in (*self._rosters.seen, *refused)
            },
            groups=tuple(self._rosters.groups),
            when=self._when(now_ms, rebalances, deaths),
        )

    def _when(
        self, now_ms: int, rebalances: Iterable[Rebalance], deaths: Iterable[Death]
    ) -> dict[str, Mapping[Any, Span]]:
        courses = {each.seq: Span(each.started_ms, each.ended_ms) for each in rebalances}
        lags = self._lags.greatest()
        return {
            "unowned_s": self._ownership.longest_unowned(now_ms),
            "dual_s": self._ownership.longest_dual(now_ms),
            "rebalance_s": courses,
            "moved": courses,
            "duplicates": self._deliveries.first_duplicates(),
            "lost": self._deliveries.first_losses(),
            "lag": {place: records for place, (records, _) in lags.items()},
            "lag_s": {place: seconds for place, (_, seconds) in lags.items()},
            "detection_s": {
                death: Span(death.died_ms, _removed_ms(death, now_ms)) for death in deaths
            },
            "commits_refused": dict(self._deaths.refusals),
        }


def measure(rows: Iterable[Row]) -> Measures:
    """What a run's rows come to."""
    measurer = Measurer()
    for row in rows:
        measurer.take(row)
    return measurer.measures()


def _seconds(ms: int) -> float:
    return ms / 1_000


def _all_seconds(by_place: Mapping[Place, int]) -> dict[Place, float]:
    return {place: _seconds(ms) for place, ms in by_place.items()}
