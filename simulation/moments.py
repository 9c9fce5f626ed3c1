"""The moment that matters: when and where a run broke a bound on one of its measures."""

from __future__ import annotations

from attrs import frozen

from simulation.bounds import Bound
from simulation.measures import MEASURES, Death, Measures, Rebalance, Span
from simulation.sentences import in_time

#: So much is worth a look before and after it.
_AROUND_MS = 1_000


@frozen(kw_only=True)
class Moment:
    """A stretch of a run, or a point of it, and whom it is about."""

    group: str
    #: "orders-3 of checkout", "rebalance:2 of checkout", "ada of checkout".
    what: str
    from_ms: int
    to_ms: int

    @property
    def around(self) -> Span:
        """The same with a little more on both sides."""
        return Span(max(0, self.from_ms - _AROUND_MS), self.to_ms + _AROUND_MS)

    def __str__(self) -> str:
        if self.from_ms == self.to_ms:
            return f"{self.what} at {in_time(self.from_ms)}"
        return f"{self.what} from {in_time(self.from_ms)} to {in_time(self.to_ms)}"


def moment_of(bound: Bound, measures: Measures) -> Moment | None:
    """Where to look if a run has too much of what a bound is on; too little happens nowhere."""
    figure = bound.figure_of_run(measures)
    if figure < bound.limit or (figure == bound.limit and bound.comparison != "<"):
        return None
    if bound.measure == "rebalances":
        return _of_rebalance(_one_too_many(bound, measures), measures)
    values, times = measures.values(bound.measure), measures.when.get(bound.measure, {})
    worst = max((key for key in values if key in times), key=values.__getitem__, default=None)
    if worst is None:
        return None
    if MEASURES[bound.measure].of == "rebalance":
        (rebalance,) = (each for each in measures.rebalances if each.seq == worst)
        return _of_rebalance(rebalance, measures)
    what = f"{worst.client} of {worst.group}" if isinstance(worst, Death) else str(worst)
    from_ms, to_ms = times[worst]
    return Moment(group=worst.group, what=what, from_ms=from_ms, to_ms=to_ms)


def _one_too_many(bound: Bound, measures: Measures) -> Rebalance:
    """The first rebalance that the bound does not allow, or the longest if it allows none."""
    rebalances = measures.rebalances
    if bound.aggregates not in ((), ("sum",)):  # then it is on one group
        counts = measures.values("rebalances")
        rebalances = measures.rebalances_of(max(counts, key=counts.__getitem__))
    allowed = [each for n, each in enumerate(rebalances) if bound.holds(n)]
    return allowed[-1] if allowed else max(rebalances, key=lambda each: each.duration_ms)


def _of_rebalance(each: Rebalance, measures: Measures) -> Moment:
    number = measures.rebalances_of(each.group).index(each) + 1
    return Moment(
        group=each.group,
        what=f"rebalance:{number} of {each.group}",
        from_ms=each.started_ms,
        to_ms=each.ended_ms,
    )
