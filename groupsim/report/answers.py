"""The answer before the evidence: what came of runs in plain sentences, what tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen

from groupsim.commands.summary import number
from groupsim.report.story import RunStory
from simulation.measures import MEASURES, Number, figure_of
from simulation.sentences import counted, listed

__all__ = [
    "Figure",
    "brief",
    "figure",
    "figure_names",
    "figures_of_one",
    "figures_that_differ",
    "headline",
    "verdict",
]

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
    ("lag_s", "lag"),
    ("moved",),
    ("rebalance_s",),
    ("detection_s",),
    ("commits_refused",),
    ("dual_s",),
)
#: What people want to know of even if it is the same everywhere.
_FEARED = ("lost", "duplicates")
#: What has no meaning where nothing was written, and what is said then.
_OF_RECORDS = ("lost", "duplicates", "lag", "lag_s")
_NO_RECORDS = "No record was written: none could be lost, processed twice or late."
#: A number tells runs apart if the least is smaller than the greatest by this share of it.
_APART = 0.1
#: More runs than this are counted, not listed.
_LISTED_MAX = 3
_TEN, _HUNDRED, _HOUR_S = 10, 100, 3_600


@frozen
class _Words:
    """How people say a number: what it counts, if anything but seconds, and what that is about."""

    noun: str
    about: str
    #: A sentence's beginning with the number in it, and what is said where it is zero.
    some: str
    none: str


# fmt: off

#: How each number is said.
_WORDS = {
    _SUM:              _Words("", "unowned in all", "Partitions had no owner for {} in all",
                              "No partition was without an owner once it had one"),
    "unowned_s":       _Words("", "unowned at worst",
                              "The worst partition had no owner for {}",
                              "No partition was without an owner once it had one"),
    "dual_s":          _Words("", "with two readers at worst",
                              "The worst partition had two readers at once for {}",
                              "No partition had two readers at once"),
    "rebalances":      _Words("rebalance", "", "It took {}",
                              "There was no rebalance"),
    "rebalance_s":     _Words("", "longest rebalance", "The longest rebalance took {}",
                              "No rebalance took any time"),
    "moved":           _Words("partition", "moved", "Rebalances moved {}",
                              "No partition moved"),
    "duplicates":      _Words("record", "processed again", "Processed more than once: {}",
                              "Nothing was processed twice"),
    "lost":            _Words("record", "lost", "Lost: {}",
                              "Nothing was lost"),
    "lag":             _Words("record", "behind at worst", "The worst partition was {} behind",
                              "No partition was behind"),
    "lag_s":           _Words("", "late at worst", "The oldest record waited {}",
                              "No record waited"),
    "detection_s":     _Words("", "until a death was noticed", "A death went unnoticed for {}",
                              "No member died unnoticed"),
    "commits_refused": _Words("commit", "refused", "The coordinator refused {}",
                              "No commit was refused"),
    "commits_per_s":   _Words("commit", "a second", "The group made {} a second",
                              "Nothing was committed"),
}

# fmt: on


@frozen
class Figure:
    """A number under its name, as text: exactly, and as people say it."""

    name: str
    meaning: str
    value: str
    #: Rounded, with the unit of time if it has one.
    said: str
    #: What it is a number of, in a word or three.
    about: str


def figure_names() -> list[str]:
    """The measures of a run in the order of the summary, with the sum that stands beside one."""
    names = list(MEASURES)
    names.insert(names.index("unowned_s") + 1, _SUM)
    return names


def figures_of_one(run: RunStory) -> list[str]:
    """The measures that say something of a run: without records, none of what becomes of them."""
    return [name for name in figure_names() if run.has_records or name not in _OF_RECORDS]


def figure(run: RunStory, name: str) -> Figure:
    """One number of a run."""
    meaning = MEASURES["unowned_s" if name == _SUM else name].meaning
    value = _value(run, name)
    words = _WORDS[name]
    noun = "" if not words.noun else words.noun if value == 1 else f"{words.noun}s"
    return Figure(
        name=name,
        meaning=f"{meaning}; all partitions together" if name == _SUM else meaning,
        value=number(value),
        said=_rounded(value) if noun else _seconds(value),
        about=" ".join(filter(None, (noun, words.about))),
    )


def brief(run: RunStory, names: Sequence[str]) -> str:
    """Some numbers of a run in a line: "352 s unowned in all, 41 rebalances"."""
    figures = [figure(run, name) for name in names]
    return ", ".join(f"{each.said} {each.about}" for each in figures)


def _value(run: RunStory, name: str) -> Number:
    if name == _SUM:
        return figure_of("sum", run.measures.values("unowned_s").values())
    return run.measures.figure(name)


def _seconds(value: Number) -> str:
    """A length of time as precise as anybody needs it."""
    if value >= _TEN * _HOUR_S:
        return f"{value / _HOUR_S:,.0f} h"
    if 0 < value < 1:
        return f"{value * 1_000:.0f} ms"
    return f"{_rounded(value)} s"


def _rounded(value: Number) -> str:
    if not isinstance(value, float) or value == 0:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if value >= _HUNDRED else f"{value:.1f}"


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
    apart = [name for name in figures_that_differ(runs) if _spread(runs, name) > _APART]
    feared = [name for name in _FEARED if name not in apart]
    return [
        *(_compared(runs, name) for name in apart),
        *([] if apart else ["They hardly differ."]),
        *_feared(runs, feared),
        *_unfinished(runs),
        *_broken(runs),
        *_failures(runs),
    ]


def _headline_of_one(run: RunStory) -> list[str]:
    measures = run.measures
    unowned = measures.values("unowned_s")
    worst = max(unowned, key=unowned.__getitem__, default=None)
    if worst is None or not unowned[worst]:
        gaps = f"{_WORDS[_SUM].none}."
    else:
        gaps = f"{worst} had no owner for {_seconds(unowned[worst])}, the worst of all partitions"
        gaps += f"; all together {_seconds(_value(run, _SUM))}."
    rebalances = _said(run, "rebalances")
    if measures.rebalances:
        rebalances += f", the longest {_seconds(_value(run, 'rebalance_s'))}"
    names = [
        *(_FEARED if run.has_records else ()),
        *(name for name in ("lag_s", "detection_s") if _value(run, name)),
    ]
    return [
        gaps,
        f"{rebalances}.",
        *(f"{_said(run, name)}." for name in names),
        *([] if run.has_records else [_NO_RECORDS]),
        *_unfinished([run]),
        *_broken([run]),
    ]


def _feared(runs: Sequence[RunStory], names: Sequence[str]) -> list[str]:
    """What is the same everywhere, and worth a word all the same."""
    if not any(run.has_records for run in runs):
        return [_NO_RECORDS]
    return [_compared(runs, name) for name in names]


def _said(run: RunStory, name: str) -> str:
    words = _WORDS[name]
    return words.some.format(_counted(run, name)) if _value(run, name) else words.none


def _counted(run: RunStory, name: str) -> str:
    """A number with what it counts: "41 rebalances", "3.2 s"."""
    each = figure(run, name)
    noun = _WORDS[name].noun
    return f"{each.said} {each.about.split()[0]}" if noun else each.said


def _compared(runs: Sequence[RunStory], name: str) -> str:
    """Who had least and who had most of it; those that have the same are named together."""
    by_value: dict[str, list[RunStory]] = {}
    for run in sorted(runs, key=lambda each: _value(each, name)):
        by_value.setdefault(_counted(run, name), []).append(run)
    least, *between = by_value.values()
    said = _said(least[0], name)
    is_none = not _value(least[0], name)
    if not between:
        return f"{said} in any of them." if is_none else f"{said} in each of them."
    *between, most = between
    best = "the fewest" if _WORDS[name].noun else "the least"
    return (
        f"{said} with {_names(least, runs)}{f', {best}' if between and not is_none else ''};"
        f" {_counted(most[0], name)} with {_names(most, runs)}{', the most' if between else ''}."
    )


def _names(some: Sequence[RunStory], runs: Sequence[RunStory]) -> str:
    """Runs by their names; many of them by their number."""
    if len(some) > _LISTED_MAX:
        return f"{len(some)} of the {len(runs)}"
    return listed([run.name for run in sorted(some, key=runs.index)])


def _unfinished(runs: Sequence[RunStory]) -> Iterator[str]:
    """Who did not come to rest: few rebalances and few moves are no merit then."""
    found = [run for run in runs if any(not each.ended_in for each in run.measures.rebalances)]
    if not found:
        return
    if len(runs) == 1:
        yield "When the run ended, the last rebalance had not."
    elif len(found) == len(runs):
        yield "When they ended, each of them was still rebalancing."
    else:
        verb = "was" if len(found) == 1 else "were"
        yield f"At the end, {_names(found, runs)} {verb} still rebalancing."


def _broken(runs: Sequence[RunStory]) -> Iterator[str]:
    """Where consumers did not live to the end: few rebalances are no merit then either."""
    for run in runs:
        by_error: Counter[str] = Counter()
        for (_, error), count in run.errors.items():
            by_error[error] += count
        told = listed([f"{counted(n, 'time')} with {error}" for error, n in by_error.items()])
        if told:
            where = f"With {run.name}, consumers" if len(runs) > 1 else "Consumers"
            yield f"{where} ended {told}."


def _failures(runs: Sequence[RunStory]) -> Iterator[str]:
    """What was expected and did not come; nothing is said of what held."""
    for run in runs:
        held, words = verdict(run)
        if held is False:
            yield f"{run.name}: {words}."


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
