"""A run's lanes as the rows that charts are drawn from, by the name of the chart's data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from groupsim.report.members import COMMITTED, FAILED, Mark
from groupsim.report.story import RunStory, natural
from simulation.measures import Member, Place
from simulation.sentences import listed

__all__ = ["SCRIPT", "Frame", "Lanes", "frames_of", "lanes_in", "lanes_of"]

Frame = list[dict[str, Any]]

#: The lane of what is wrong around the groups, and of what is changed there.
SCRIPT = "script"
_NOBODY = "nobody"
#: So many ticks side by side still let a member's colour be seen, on a phone too.
_TICKS = 100
#: Room for the names of lanes: a letter is about so wide, and no more than this is given.
_LETTER, _LABEL_MAX, _LABEL_MIN = 6, 170, 60


@frozen(kw_only=True)
class Lanes:
    """What stands one below the other, in one run or in several that are compared."""

    groups: Sequence[str]
    partitions: Sequence[str]
    members: Sequence[str]
    #: Every consumer's name, for colours.
    clients: Sequence[str]
    has_script: bool
    #: The states that a group was in.
    states: Sequence[str]
    ended_ms: int
    lag_max: int

    @property
    def label_width(self) -> int:
        """The room that the names beside lanes need, within reason."""
        names = (*self.partitions, *self.members, *self.groups)
        longest = max(map(len, names), default=0)
        return max(_LABEL_MIN, min(_LABEL_MAX, longest * _LETTER + 8))


def lanes_of(runs: Sequence[RunStory]) -> Lanes:
    """One scale for all of them."""
    groups = list(dict.fromkeys(group for run in runs for group in run.groups))
    places = dict.fromkeys(
        place
        for group in groups
        for run in runs
        if group in run.groups
        for place in run.places(group)
    )
    members = dict.fromkeys(
        Member(group, client) for group in groups for run in runs for client in run.clients(group)
    )
    in_order = sorted(members, key=lambda each: (groups.index(each.group), natural(each.client)))
    is_many = len(groups) > 1
    return Lanes(
        groups=groups,
        partitions=[
            partition_lane(place, is_many=is_many)
            for place in sorted(
                places,
                key=lambda each: (groups.index(each.group), natural(each.topic), each.partition),
            )
        ],
        members=[member_lane(each, is_many=is_many) for each in in_order],
        clients=_in_order_of_colours(runs, [each.client for each in in_order]),
        has_script=any(run.troubles for run in runs),
        states=sorted({stay.state for run in runs for stay in run.states}),
        ended_ms=max((run.ended_ms for run in runs), default=0),
        lag_max=max(
            (peak.lag for run in runs for line in run.worst.values() for peak in line), default=0
        ),
    )


def _in_order_of_colours(runs: Sequence[RunStory], clients: Sequence[str]) -> list[str]:
    """Those that most runs have come first: what only one has takes no colour between them."""
    runs_with = Counter(
        client for run in runs for client in {each.member.client for each in run.member_stays}
    )
    return sorted(dict.fromkeys(clients), key=lambda client: -runs_with[client])


def lanes_in(run: RunStory, lanes: Lanes) -> Lanes:
    """The lanes of one of the runs: consumers that others have, and it does not, have none."""
    is_many = len(lanes.groups) > 1
    there = {member_lane(stay.member, is_many=is_many) for stay in run.member_stays}
    return evolve(lanes, members=[lane for lane in lanes.members if lane in there])


def partition_lane(place: Place, *, is_many: bool) -> str:
    """What a partition's lane is called; of several groups, with its group."""
    name = f"{place.topic}-{place.partition}"
    return f"{place.group}: {name}" if is_many else name


def member_lane(member: Member, *, is_many: bool) -> str:
    """What a consumer's lane is called; of several groups, with its group."""
    return f"{member.group}: {member.client}" if is_many else member.client


def frames_of(run: RunStory, lanes: Lanes) -> dict[str, Frame]:
    """All data of a run's charts."""
    is_many = len(lanes.groups) > 1
    return {
        "states": _states(run),
        "faults": [
            {"lane": SCRIPT, "what": each.what, "from_ms": each.from_ms, "to_ms": each.to_ms}
            for each in run.troubles
        ],
        "ownership": [
            {
                "lane": partition_lane(stay.place, is_many=is_many),
                "kind": stay.kind,
                "who": listed(stay.owners) or _NOBODY,
                "from_ms": stay.from_ms,
                "to_ms": stay.to_ms,
            }
            for stay in run.ownership
        ],
        "members": [
            {
                "lane": member_lane(stay.member, is_many=is_many),
                "who": stay.member.client,
                "what": stay.what,
                "from_ms": stay.from_ms,
                "to_ms": stay.to_ms,
            }
            for stay in run.member_stays
        ],
        "marks": [
            {
                "lane": member_lane(mark.member, is_many=is_many),
                "what": mark.what,
                "at_ms": mark.at_ms,
                "count": mark.count,
                "detail": mark.detail,
            }
            for mark in _apart(run.marks, max(1, -(-lanes.ended_ms // _TICKS)))
        ],
        "beats": [
            {
                "lane": member_lane(each.member, is_many=is_many),
                "count": each.count,
                "from_ms": each.from_ms,
                "to_ms": each.to_ms,
            }
            for each in run.beats
        ],
        "lag": [
            {"lane": partition_lane(place, is_many=is_many), "at_ms": at_ms, "lag": lag}
            for place, points in run.curves.items()
            for at_ms, lag in points
        ],
        "worst": [
            {
                "group": group,
                "lane": partition_lane(peak.place, is_many=is_many),
                "at_ms": peak.at_ms,
                "lag": peak.lag,
            }
            for group, line in run.worst.items()
            for peak in line
        ],
        "focus": [],
    }


def _apart(marks: Sequence[Mark], bucket_ms: int) -> list[Mark]:
    """Commits that would stand on one another are one tick that counts them; the rest as it is."""
    found: list[Mark] = []
    for mark in marks:
        before = found[-1] if found else None
        if (
            before is not None
            and mark.what == before.what in (COMMITTED, FAILED)
            and mark.detail == before.detail
            and mark.member == before.member
            and mark.at_ms // bucket_ms == before.at_ms // bucket_ms
        ):
            found[-1] = evolve(before, count=before.count + mark.count)
        else:
            found.append(mark)
    return found


def _states(run: RunStory) -> Frame:
    numbers = {
        (told.rebalance.group, phase.started_ms): told.number
        for told in run.rebalances
        for phase in told.rebalance.phases
    }
    return [
        {
            "lane": stay.group,
            "state": stay.state,
            "generation": stay.generation,
            "members": stay.members,
            "rebalance": numbers.get((stay.group, stay.from_ms)),
            "from_ms": stay.from_ms,
            "to_ms": stay.to_ms,
        }
        for stay in run.states
    ]
