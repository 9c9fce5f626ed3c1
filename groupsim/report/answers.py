"""The answer before the evidence: what came of runs in plain sentences, what tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from groupsim.report.figures import (
    FEARED,
    LATER,
    SUM,
    UNREAD,
    WORDS,
    differ,
    figure,
    figures_asked_for,
    figures_that_differ,
    in_seconds,
    value_of,
)
from groupsim.report.members import BROKEN
from groupsim.report.story import RunStory
from simulation.measures import Number
from simulation.sentences import counted, listed

__all__ = ["headline", "verdict"]

#: So many numbers are told in sentences where they tell runs apart, and so many that are asked for.
_SAID, _SAID_IF_ASKED_FOR = 3, 4
#: What is said where nothing was written.
_NO_RECORDS = "No record was written: none could be lost, processed twice or late."
#: More runs than this are counted, not listed.
_LISTED_MAX = 3


def headline(runs: Sequence[RunStory]) -> list[str]:
    """The answer in sentences: of one run what it cost, of several who did best and worst."""
    if len(runs) == 1:
        return _headline_of_one(runs[0])
    apart = _worth_saying(runs)
    feared = [name for name in FEARED if name not in apart]
    return [
        *(_compared(runs, name) for name in apart),
        *([] if apart else ["They hardly differ."]),
        *_feared(runs, feared),
        *_unread(runs),
        *_unfinished(runs),
        *_broken(runs),
        *_failures(runs),
    ]


def _worth_saying(runs: Sequence[RunStory]) -> list[str]:
    """What tells these runs apart, most wanted first."""
    asked = figures_asked_for(runs)
    names = figures_that_differ(runs, _SAID_IF_ASKED_FOR)
    return [
        name for n, name in enumerate(names) if differ(runs, name) and (n < _SAID or name in asked)
    ]


def _headline_of_one(run: RunStory) -> list[str]:
    unowned = run.measures.values("unowned_s")
    worst = max(unowned, key=unowned.__getitem__, default=None)
    if worst is None or not unowned[worst]:
        gaps = f"{WORDS[SUM].none}."
    else:
        gaps = f"{worst} had no owner for {in_seconds(unowned[worst])} in all"
        if everything := _all_partitions(run):
            gaps += f", the worst of all partitions; {everything} together"
            gaps += f" {in_seconds(value_of(run, SUM) or 0)}"
        gaps += "."
    told = (SUM, "unowned_s", "rebalances", "rebalance_s", LATER, *FEARED)
    names = [
        *(FEARED if run.has_records else ()),
        *(name for name in _more_of_one(run) if name not in told and value_of(run, name)),
    ]
    return [
        gaps,
        _rebalances_of_one(run),
        *(f"{_said(run, name, [run])}." for name in names),
        *([] if run.has_records else [_NO_RECORDS]),
        *_unread([run]),
        *_unfinished([run]),
        *_broken([run]),
    ]


def _more_of_one(run: RunStory) -> list[str]:
    """What is told of a run if there is any of it, beside what always is."""
    return list(dict.fromkeys((UNREAD, "lag_s", "detection_s", *figures_asked_for([run]))))


def _rebalances_of_one(run: RunStory) -> str:
    """The start of a group is a rebalance too, and no trouble: it waits for its first members."""
    if not run.measures.rebalances:
        return f"{WORDS['rebalances'].none}."
    count = sum(len(run.measures.rebalances_of(group)[1:]) for group in run.groups)
    if not count:
        return "There was no rebalance after the start."
    longest = in_seconds(value_of(run, LATER) or 0)
    if count == 1:
        return f"There was 1 rebalance after the start, which took {longest}."
    return f"There were {count:,} rebalances after the start, the longest {longest}."


def _feared(runs: Sequence[RunStory], names: Sequence[str]) -> list[str]:
    """What is the same everywhere, and worth a word all the same."""
    if not any(run.has_records for run in runs):
        return [_NO_RECORDS]
    return [_compared(runs, name) for name in names]


def _said(run: RunStory, name: str, runs: Sequence[RunStory]) -> str:
    words = WORDS[name]
    if not value_of(run, name):
        return words.none
    return words.some.format(_counted(run, name), summed=_summed(runs))


def _summed(runs: Sequence[RunStory]) -> str:
    """What a sum is over; nothing where there is one partition only."""
    found = {_all_partitions(run) for run in runs}
    if found == {""}:
        return ""
    return f", summed over {found.pop() if len(found) == 1 else 'all of them'},"


def _all_partitions(run: RunStory) -> str:
    """All partitions of a run, each once however many groups read it; nothing if it is one."""
    places = run.measures.values("unowned_s")
    count = len({(place.topic, place.partition) for place in places})
    if count <= 1:
        return ""
    return f"all {count:,}{' in each group that reads them' if len(places) > count else ''}"


def _counted(run: RunStory, name: str) -> str:
    """A number with what it counts: "41 rebalances", "3.2 s"."""
    each = figure(run, name)
    noun = WORDS[name].noun
    return f"{each.said} {each.about.split()[0]}" if noun else each.said


# --- several runs ---


def _compared(runs: Sequence[RunStory], name: str) -> str:
    """Who had least and who had most of it; those that have the same are named together.

    Of what people fear, whoever had any is named.
    """
    groups = _by_value(runs, name)
    said = _said(groups[0][0], name, runs)
    has_none = not value_of(groups[0][0], name)
    if len(groups) == 1:
        if len(groups[0]) < len(runs):
            return f"{said} with {_names(groups[0], runs)}."
        return f"{said} in any of them." if has_none else f"{said} in each of them."
    least, *between, most = groups
    the_most = ", the most" if between else ""
    if has_none and not WORDS[name].noun:
        worst = f"{_said(most[0], name, runs)} with {_names(most, runs)}{the_most}"
        return f"{worst}; not at all with {_least(least, runs, name)}."
    is_merit = between and not has_none and not _is_flawed(least, runs, name)
    best = "the fewest" if WORDS[name].noun else "the least"
    others = [
        f"{_counted(each[0], name)} with {_who(each, runs, name)}"
        for each in [*(between if name in FEARED else ()), most]
    ]
    return (
        f"{said} with {_least(least, runs, name)}{f', {best}' if is_merit else ''};"
        f" {listed(others)}{the_most}."
    )


def _by_value(runs: Sequence[RunStory], name: str) -> list[list[RunStory]]:
    """Runs that have the same of it, least first; those that have nothing to tell are left out."""
    known = [(value, run) for run in runs if (value := value_of(run, name)) is not None]
    found: dict[str, list[RunStory]] = {}
    for _, run in sorted(known, key=lambda each: each[0]):
        found.setdefault(_counted(run, name), []).append(run)
    return list(found.values())


def _who(some: Sequence[RunStory], runs: Sequence[RunStory], name: str) -> str:
    """Runs that have the same of it; whoever has any of what people fear is never only counted."""
    is_feared = name in FEARED and value_of(some[0], name)
    return _all_names(some, runs) if is_feared else _names(some, runs)


def _names(some: Sequence[RunStory], runs: Sequence[RunStory]) -> str:
    """Runs by their names; many of them by their number."""
    if len(some) > _LISTED_MAX:
        return f"{len(some)} of the {len(runs)}"
    return _all_names(some, runs)


def _all_names(some: Sequence[RunStory], runs: Sequence[RunStory]) -> str:
    return listed([run.name for run in sorted(some, key=runs.index)])


def _least(some: Sequence[RunStory], runs: Sequence[RunStory], name: str) -> str:
    """Those that have least of it, and what little of it is no merit for."""
    if len(some) > _LISTED_MAX or name in FEARED:
        return _who(some, runs, name)
    flaws = [(run.name, _flaw(run, runs)) for run in sorted(some, key=runs.index)]
    return listed([f"{each} ({flaw})" if flaw else each for each, flaw in flaws])


def _is_flawed(some: Sequence[RunStory], runs: Sequence[RunStory], name: str) -> bool:
    """Whether it is no merit of these runs to have least of it."""
    if name in FEARED:
        return False
    return any(_flaw(run, runs) or _is_unfinished(run) for run in some)


def _flaw(run: RunStory, runs: Sequence[RunStory]) -> str:
    """What a run paid for its other numbers: records that it lost, consumers that ended."""
    if _lost(run) > min(map(_lost, runs)):
        return f"which lost {_counted(run, 'lost')}"
    return "where consumers failed" if run.errors else ""


def _lost(run: RunStory) -> Number:
    return value_of(run, "lost") or 0


def _is_unfinished(run: RunStory) -> bool:
    return any(not each.ended_in for each in run.measures.rebalances)


def _unfinished(runs: Sequence[RunStory]) -> Iterator[str]:
    """Who did not come to rest: few rebalances and few moves are no merit then."""
    found = [run for run in runs if _is_unfinished(run)]
    if not found:
        return
    if len(runs) == 1:
        yield "When the run ended, the last rebalance had not."
    elif len(found) == len(runs):
        yield "When they ended, each of them was still rebalancing."
    else:
        verb = "was" if len(found) == 1 else "were"
        yield f"At the end, {_all_names(found, runs)} {verb} still rebalancing."


def _unread(runs: Sequence[RunStory]) -> Iterator[str]:
    """Where new partitions have not been read at all: their wait was not over."""
    for run in runs:
        unread = Counter(place.group for place, wait in run.waits.items() if not wait.is_over)
        where = f" with {run.name}" if len(runs) > 1 else ""
        for group, count in unread.items():
            those = counted(count, "new partition")
            yield f"At the end, {those} still had no reader in {group}{where}."


def _broken(runs: Sequence[RunStory]) -> Iterator[str]:
    """Where consumers did not live to the end: few rebalances are no merit then either."""
    for run in runs:
        by_error: Counter[str] = Counter()
        for (_, error), count in run.errors.items():
            by_error[error] += count
        told = listed([f"{_ended(run, error, n)} with {error}" for error, n in by_error.items()])
        if told:
            yield f"With {run.name}, {told}." if len(runs) > 1 else f"{told}."


def _ended(run: RunStory, error: str, times: int) -> str:
    """How many consumers ended with an error, and how often if somebody started them again."""
    marks = [each for each in run.marks if each.what == BROKEN and each.detail.startswith(error)]
    count = len({each.member for each in marks}) or times
    often = f" {counted(times, 'time')}" if times > count else ""
    return f"{counted(count, 'consumer')} ended{often}"


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
