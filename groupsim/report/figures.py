"""The numbers of a run as a page names, says and explains them, and which of them come first."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from groupsim.commands.results import GroupFigures
from groupsim.commands.summary import NOTHING, has_figure, number
from groupsim.report.story import RunStory
from simulation.bounds import parse_bound
from simulation.measures import MEASURES, Number, figure_of

__all__ = [
    "FAILED",
    "FEARED",
    "LATER",
    "SUM",
    "UNREAD",
    "WORDS",
    "Figure",
    "brief",
    "differ",
    "figure",
    "figure_names",
    "figures_asked_for",
    "figures_of_one",
    "figures_that_differ",
    "in_seconds",
    "unrefused",
    "value_of",
]

#: Numbers that are no measures of a run, and made of what it has. The worst partition says little
#: of what all of them went through; the first rebalance of a group is its start.
SUM = "sum(unowned_s)"
LATER = "rebalance_s after the start"
UNREAD = "new partitions unread"
FAILED = "commits failed otherwise"
#: So many numbers tell runs apart at a glance.
_GLANCE = 3
#: What people ask for first; of those that say nearly the same, one is enough.
_ASKED_FOR = (
    ("lost",),
    (UNREAD,),
    (SUM, "unowned_s"),
    ("duplicates",),
    ("rebalances",),
    ("lag_s", "lag"),
    ("moved",),
    (LATER, "rebalance_s"),
    ("detection_s",),
    ("commits_refused",),
    ("dual_s",),
    ("commits_per_s",),
)
#: What people want to know of even if it is the same everywhere.
FEARED = ("lost", "duplicates")
#: What has no meaning where nothing was written.
_OF_RECORDS = ("lost", "duplicates", "lag", "lag_s")
#: A number tells runs apart if the least is smaller than the greatest by this share of it.
_APART = 0.1
_TENTH, _HUNDRED, _HOUR_S = 0.1, 100, 3_600


@frozen
class Words:
    """How people say a number: what it counts, if anything but seconds, and what that is about."""

    noun: str
    about: str
    #: A sentence's beginning with the number in it, and what is said where it is zero.
    some: str
    none: str


# fmt: off

#: How each number is said.
WORDS = {
    SUM:               Words("", "unowned in sum",
                             "Partitions were left without an owner for {}{summed}",
                             "No partition lost its owner"),
    "unowned_s":       Words("", "unowned at worst",
                             "The worst partition was left without an owner for {} in all",
                             "No partition lost its owner"),
    UNREAD:            Words("", "wait of a new partition",
                             "A new partition waited {} for a reader",
                             "No new partition waited for a reader"),
    "dual_s":          Words("", "with two readers at worst",
                             "The worst partition had two readers at once for {} in all",
                             "No partition had two readers at once"),
    "rebalances":      Words("rebalance", "", "It took {}, the start included,",
                             "There was no rebalance"),
    "rebalance_s":     Words("", "longest rebalance", "The longest rebalance took {}",
                             "No rebalance took any time"),
    LATER:             Words("", "longest rebalance after the start",
                             "The longest rebalance after the start took {}",
                             "No rebalance after the start took any time"),
    "moved":           Words("partition", "moved", "Rebalances moved {}",
                             "No partition moved"),
    "duplicates":      Words("record", "processed again", "Processed more than once: {}",
                             "Nothing was processed twice"),
    "lost":            Words("record", "lost", "Lost: {}",
                             "Nothing was lost"),
    "lag":             Words("record", "behind at worst", "The worst partition was {} behind",
                             "No partition was behind"),
    "lag_s":           Words("", "late at worst", "The oldest record waited {}",
                             "No record waited"),
    "detection_s":     Words("", "until a death was noticed", "A death went unnoticed for {}",
                             "Every death was noticed at once"),
    "commits_refused": Words("commit", "refused", "The coordinator refused {}",
                             "No commit was refused"),
    FAILED:            Words("commit", "failed unanswered", "Failed without an answer heard: {}",
                             "No commit failed without an answer heard"),
    "commits_per_s":   Words("commit", "a second", "The group made {} a second",
                             "Nothing was committed"),
}

#: What numbers mean that are no measures.
_MEANINGS = {
    SUM: "the same, all partitions together",
    LATER: "the longest rebalance of a group after its first, in seconds",
    UNREAD: "seconds from the addition of a partition to its first reader or the end; the longest",
    FAILED: "commits that consumers gave up without hearing a refusal; all together",
}

#: How a run's figure comes of many values: by what there is one for, and by the aggregate.
_TOGETHER = {
    ("partition", "max"): "the worst partition",
    ("partition", "sum"): "all partitions together",
    ("group", "sum"): "all groups together",
    ("rebalance", "max"): "the longest",
    ("rebalance", "sum"): "all rebalances together",
    ("death of a member", "max"): "the longest",
    ("member", "sum"): "all members together",
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


def figure_names(runs: Sequence[RunStory]) -> list[str]:
    """The measures of runs in the order of the summary, each with what is beside it."""
    beside = {"unowned_s": SUM, "rebalance_s": LATER, "lag_s": UNREAD, "commits_refused": FAILED}
    found: list[str] = []
    for name in MEASURES:
        found.append(name)
        other = beside.get(name)
        if other is not None and (other == SUM or any(value_of(run, other) for run in runs)):
            found.append(other)
    return found


def figures_of_one(run: RunStory) -> list[str]:
    """The numbers that say something of a run: without records, none of what becomes of them."""
    names = figure_names([run])
    return [name for name in names if run.has_records or name not in _OF_RECORDS]


def figure(run: RunStory, name: str) -> Figure:
    """One number of a run."""
    value = value_of(run, name)
    words = WORDS[name]
    noun = "" if not words.noun else words.noun if value == 1 else f"{words.noun}s"
    said = _rounded if noun else in_seconds
    return Figure(
        name=name,
        meaning=_meaning(name),
        value=NOTHING if value is None else number(value),
        said=NOTHING if value is None else said(value),
        about=" ".join(filter(None, (noun, words.about))),
    )


def brief(run: RunStory, names: Sequence[str]) -> str:
    """Some numbers of a run in a line: "352 s unowned in sum, 41 rebalances"."""
    figures = [figure(run, name) for name in names]
    return ", ".join(f"{each.said} {each.about}" for each in figures)


def _meaning(name: str) -> str:
    if name in _MEANINGS:
        return _MEANINGS[name]
    known = MEASURES[name]
    return f"{known.meaning}; {_TOGETHER[known.of, known.aggregate]}"


def value_of(run: RunStory, name: str) -> Number | None:
    """The number itself; None where nothing happened that it could tell of."""
    measures = run.measures
    if name == SUM:
        return figure_of("sum", measures.values("unowned_s").values())
    if name == UNREAD:
        return max((each.seconds for each in run.waits.values()), default=None)
    if name == FAILED:
        return sum(count for group in run.groups for count in unrefused(run, group).values())
    if name == LATER:
        later = (each for group in run.groups for each in measures.rebalances_of(group)[1:])
        return max((each.duration_ms / 1_000 for each in later), default=None)
    return measures.figure(name) if has_figure(measures, name) else None


def unrefused(run: RunStory, group: str) -> dict[str, int]:
    """Commits of a group that failed without hearing a refusal, by error.

    A consumer that hears of a refusal gives it the coordinator's name; its own reasons are others.
    """
    refused = GroupFigures(group, run.measures).refused_by_error()
    return {
        error: count
        for (where, error), count in run.failed_commits.items()
        if where == group and error not in refused
    }


def in_seconds(value: Number) -> str:
    """A length of time as precise as anybody needs it."""
    if value >= _HUNDRED * _HOUR_S:
        return f"{value / _HOUR_S:,.0f} h"
    if 0 < value < 1:
        return f"{value * 1_000:.0f} ms"
    return f"{_rounded(value)} s"


def _rounded(value: Number) -> str:
    if not isinstance(value, float) or value == 0:
        return f"{value:,.0f}"
    if value < _TENTH:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= _HUNDRED else f"{value:.1f}"


def figures_that_differ(runs: Sequence[RunStory], most: int = _GLANCE) -> list[str]:
    """The numbers to look at first.

    Those that differ come before those that do not, and among them what the runs' own expectations
    are about, because that is what the scenario asks; then in the order in which people ask.
    """
    wanted = figures_asked_for(runs)
    found: list[tuple[bool, bool, str]] = []
    for family in _ASKED_FOR:
        names = [name for name in family if any(value_of(run, name) is not None for run in runs)]
        apart = [name for name in names if differ(runs, name)]
        asked = [name for name in apart or names if name in wanted]
        found += [(not apart, not asked, name) for name in (asked or apart or names)[:1]]
    found.sort(key=lambda each: each[:2])
    return [name for _, _, name in found][:most]


def figures_asked_for(runs: Sequence[RunStory]) -> list[str]:
    """What the expectations of these runs are about, in the order in which people ask."""
    texts = [each["text"] for run in runs for each in run.outcome.get("expectations", ())]
    named = {name for text in texts if (name := _bounded(text))}
    # Whoever adds partitions asks for their readers; and how long a start takes is no question.
    named |= {UNREAD, *([LATER] if "rebalance_s" in named else [])}
    return [name for family in _ASKED_FOR for name in family if name in named]


def _bounded(text: str) -> str:
    """What an expectation sets a bound to; nothing where it is about a group's state or members."""
    try:
        bound = parse_bound(text)
    except ValueError:
        return ""
    return SUM if bound.figure.text == SUM else bound.measure


def differ(runs: Sequence[RunStory], name: str) -> bool:
    """Whether a number tells runs apart."""
    values = [value for run in runs if (value := value_of(run, name)) is not None]
    most = max(values, default=0)
    return bool(most) and (most - min(values)) / most > _APART
