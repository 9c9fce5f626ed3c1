"""What is expected of a run: bounds on its measures, and how its groups are at the end.

unowned_s < 15        sum(moved) <= 100        lost == 0
checkout is Stable    checkout has 8 members
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NewType

from attrs import frozen

from coordinator import GroupState
from simulation.bounds import Bound, parse_bound
from simulation.measures import AGGREGATES, MEASURES, Measures, Number
from simulation.scenarios.mistakes import Wrong, nearest_to, shown

#: An expectation as it is written.
Expected = NewType("Expected", str)

_IS = re.compile(r"(?P<group>\S+)\s+is\s+(?P<state>\w+)")
_HAS = re.compile(r"(?P<group>\S+)\s+has\s+(?P<count>\d{1,9})\s+members?")
_WORD = re.compile(r"\w+")
_STATES = tuple(state.value for state in GroupState)
AN_EXPECTATION = "like `unowned_s < 15`, `checkout is Stable` or `checkout has 8 members`"
#: What a group that nobody coordinates, or that never was, is said to be.
_NOWHERE = "nowhere"


@frozen
class GroupAtEnd:
    """A group when the run ends."""

    state: str
    members: int


@frozen
class StateExpected:
    """A group is in this state at the end."""

    group: str
    state: str


@frozen
class MembersExpected:
    """A group has so many members at the end."""

    group: str
    count: int


@frozen(kw_only=True)
class ExpectationResult:
    """An expectation, what came of it, and whether it holds."""

    text: str
    figure: Number | str
    holds: bool


def parse_expectation(text: str) -> Bound | StateExpected | MembersExpected:
    """An expectation as people write it."""
    given: object = text
    if not isinstance(given, str):
        raise Wrong(f"found {shown(given)}", f"must be {AN_EXPECTATION}")
    stripped = given.strip()
    if (said := _IS.fullmatch(stripped)) is not None:
        if said["state"] not in _STATES:
            nearest = nearest_to(said["state"].capitalize(), _STATES)
            allowed = f"a group is one of {', '.join(_STATES)}"
            raise Wrong(f"found {shown(given)}", allowed, nearest=nearest)
        return StateExpected(said["group"], said["state"])
    if (said := _HAS.fullmatch(stripped)) is not None:
        return MembersExpected(said["group"], int(said["count"]))
    try:
        bound = parse_bound(stripped)
    except ValueError as error:
        raise Wrong(f"found {shown(given)}", str(error), nearest=_nearest_word(given)) from error
    if len(bound.aggregates) > 1:
        raise Wrong(f"found {shown(given)}", "one aggregate is for a run; two are for a sweep")
    return bound


def _nearest_word(text: str) -> str:
    """The measure or aggregate that a word of the text was perhaps meant to be."""
    known = (*MEASURES, *AGGREGATES)
    odd = [word for word in _WORD.findall(text) if word not in known and not word.isdigit()]
    return nearest_to(odd[0], known) if odd else ""


def expected(text: str) -> Expected:
    """The text, if it is an expectation."""
    parse_expectation(text)
    return Expected(text.strip())


def group_of(text: str) -> str | None:
    """The group that an expectation is about, if it is about one."""
    parsed = parse_expectation(text)
    return None if isinstance(parsed, Bound) else parsed.group


def judge(text: str, measures: Measures, groups: Mapping[str, GroupAtEnd]) -> ExpectationResult:
    """What came of an expectation."""
    wanted = parse_expectation(text)
    if isinstance(wanted, Bound):
        figure = wanted.figure_of_run(measures)
        return ExpectationResult(text=text, figure=figure, holds=wanted.holds(figure))
    found = groups.get(wanted.group, GroupAtEnd(_NOWHERE, 0))
    if isinstance(wanted, StateExpected):
        holds = found.state == wanted.state
        return ExpectationResult(text=text, figure=found.state, holds=holds)
    return ExpectationResult(text=text, figure=found.members, holds=found.members == wanted.count)
