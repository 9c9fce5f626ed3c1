"""The answer before the evidence: what came of runs in a few numbers, and which tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from groupsim.commands.summary import number
from groupsim.report.story import RunStory
from simulation.measures import MEASURES, Number, figure_of
from simulation.sentences import counted

__all__ = ["Figure", "figure", "figure_names", "figures_that_differ", "headline", "verdict"]

#: The worst partition says little of what all of them went through.
_SUM = "sum(unowned_s)"
#: So many numbers tell runs apart at a glance.
_GLANCE = 3
#: What people ask for first; of those that say nearly the same, one is enough.
_ASKED_FOR = (
    ("lost",),
    (_SUM, "unowned_s"),
    ("duplicates",),
    ("rebalances",),
    ("moved",),
    ("lag_s", "lag"),
    ("rebalance_s",),
    ("detection_s",),
    ("commits_refused",),
    ("dual_s",),
)
#: A number tells runs apart if the least is smaller than the greatest by this share of it.
_APART = 0.1


@frozen
class Figure:
    """A number under its name, as text."""

    name: str
    meaning: str
    value: str


def figure_names() -> list[str]:
    """The measures of a run in the order of the summary, with the sum that stands beside one."""
    names = list(MEASURES)
    names.insert(names.index("unowned_s") + 1, _SUM)
    return names


def figure(run: RunStory, name: str) -> Figure:
    """One number of a run."""
    meaning = MEASURES["unowned_s" if name == _SUM else name].meaning
    whole = f"{meaning}; all partitions together" if name == _SUM else meaning
    return Figure(name, whole, number(_value(run, name)))


def _value(run: RunStory, name: str) -> Number:
    if name == _SUM:
        return figure_of("sum", run.measures.values("unowned_s").values())
    return run.measures.figure(name)


def figures_that_differ(runs: Sequence[RunStory]) -> list[str]:
    """The three numbers to look at first: those that differ, in the order in which people ask."""
    differing: list[str] = []
    alike: list[str] = []
    for family in _ASKED_FOR:
        known = [name for name in family if _spread(runs, name) > _APART]
        (differing if known else alike).append(known[0] if known else family[0])
    return [*differing, *alike][:_GLANCE]


def _spread(runs: Sequence[RunStory], name: str) -> float:
    values = [_value(run, name) for run in runs]
    most = max(values)
    return (most - min(values)) / most if most else 0.0


def headline(runs: Sequence[RunStory]) -> list[str]:
    """The answer in sentences: of one run what it cost, of several who did best and worst."""
    if len(runs) == 1:
        return _headline_of_one(runs[0])
    return [
        _best_and_worst(runs, name)
        for name in figures_that_differ(runs)
        if _spread(runs, name) > _APART
    ]


def _headline_of_one(run: RunStory) -> list[str]:
    measures = run.measures
    found = []
    unowned = measures.values("unowned_s")
    worst = max(unowned, key=unowned.__getitem__, default=None)
    if worst is None or not unowned[worst]:
        found.append("No partition was without an owner.")
    else:
        found.append(f"{worst} was without an owner for {unowned[worst]:.1f} s, the worst of all.")
    count = len(measures.rebalances)
    longest = measures.figure("rebalance_s")
    found.append(
        f"{counted(count, 'rebalance')}, the longest {longest:.1f} s." if count else "No rebalance."
    )
    duplicates, lost = int(measures.figure("duplicates")), int(measures.figure("lost"))
    twice = counted(duplicates, "record") if duplicates else "No record"
    found.append(
        f"{twice} processed more than once, {counted(lost, 'record') if lost else 'none'} lost."
    )
    lag = int(measures.figure("lag"))
    if lag:
        found.append(
            f"{counted(lag, 'record')} behind at worst, {measures.figure('lag_s'):.1f} s late."
        )
    return found


def _best_and_worst(runs: Sequence[RunStory], name: str) -> str:
    best = min(runs, key=lambda run: _value(run, name))
    worst = max(runs, key=lambda run: _value(run, name))
    return (
        f"{name}: least in {best.name} ({figure(best, name).value}),"
        f" most in {worst.name} ({figure(worst, name).value})"
    )


def verdict(run: RunStory) -> tuple[bool | None, str]:
    """Whether everything held, and that in words; None where nothing was expected or checked."""
    expected = run.outcome.get("expectations", ())
    violations = run.outcome.get("violations", ())
    failed = sum(not each["holds"] for each in expected)
    if violations:
        return False, counted(len(violations), "violation")
    if failed:
        return False, f"{failed} of {counted(len(expected), 'expectation')} failed"
    if expected:
        return True, f"{counted(len(expected), 'expectation')} held"
    return None, "nothing was expected"
