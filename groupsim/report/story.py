"""One recorded run as its report sees it: its answers, its lanes, and its rebalances explained."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from groupsim.report.bands import BandFold, StateStay, Trouble
from groupsim.report.growth import GrowthFold, Wait, waits_for_readers
from groupsim.report.lag_curves import LAG_WORTH_A_LOOK, LagCurves, Peak, Point, peaks, thinned
from groupsim.report.members import Beats, Mark, MemberFold, MemberStay
from groupsim.report.ownership import OwnershipLanes, Stay
from simulation.critical_path import Witness, explain
from simulation.events import Row
from simulation.folds.places import by_kind
from simulation.measures import Measures, Place, Rebalance
from simulation.parquet_source import Recording, read_recording
from simulation.run_directory import RunFile

__all__ = ["RunStory", "Told", "natural", "read_story", "told_apart"]

#: A run is cut into so many moments, about the pixels of a wide chart: what happens within one of
#: them is counted, and of a curve the extremes are kept.
MOMENTS = 1_200
#: The greatest lag is told of longer moments: a group that goes between 0 and 1 all the time would
#: be a block of colour, and no line.
_PEAKS = 400
#: With more steps than this a stair is a slope.
_STEPS = 150
#: So many curves can be told apart in a chart; of more partitions, those that were furthest behind.
CURVES_MAX = 8
#: Of more rebalances than this, only the longest are explained.
EXPLAINED_MAX = 150
#: Told now and then while a run is read: so far of so much.
Listener = Callable[[int, int], None]
_DIGITS = re.compile(r"(\d+)")
_ROWS_BETWEEN_WORDS = 2_000
#: So many rows fit into memory easily; explaining asks for them one by one, again and again.
_ROWS_AT_HAND = 400_000


@frozen
class Told:
    """A rebalance, its number in the run, and why it took as long as it did, if that is told."""

    number: int
    rebalance: Rebalance
    sentences: tuple[str, ...]


@frozen(kw_only=True, eq=False)
class RunStory:
    """What a report says of one run."""

    #: How it is called beside others.
    name: str
    path: Path
    run_file: RunFile
    ended_ms: int
    events: int
    measures: Measures
    rebalances: tuple[Told, ...]
    states: Sequence[StateStay]
    troubles: Sequence[Trouble]
    ownership: Sequence[Stay]
    member_stays: Sequence[MemberStay]
    marks: Sequence[Mark]
    beats: Sequence[Beats]
    curves: Mapping[Place, Sequence[Point]] = field(repr=False)
    #: The partition that is furthest behind at each moment, by group.
    worst: Mapping[str, Sequence[Peak]] = field(repr=False)
    #: Whether there was anything to read: where nothing is written, nothing can be lost.
    has_records: bool = True
    #: How often consumers ended with an error and how often commits failed, by group and error.
    errors: Mapping[tuple[str, str], int] = field(factory=dict)
    failed_commits: Mapping[tuple[str, str], int] = field(factory=dict)
    #: When each partition that was added waited for its first reader.
    waits: Mapping[Place, Wait] = field(factory=dict)

    @property
    def outcome(self) -> Mapping[str, Any]:
        """What `run.json` says of expectations and checkers."""
        return self.run_file.outcome

    @property
    def scenario(self) -> Mapping[str, Any]:
        """What was played."""
        return self.run_file.scenario

    @property
    def groups(self) -> tuple[str, ...]:
        """Its groups."""
        return self.measures.groups

    def places(self, group: str) -> list[Place]:
        """The partitions that a group had, in order."""
        found = dict.fromkeys(stay.place for stay in self.ownership if stay.place.group == group)
        return sorted(found, key=lambda place: (natural(place.topic), place.partition))

    def clients(self, group: str) -> list[str]:
        """The consumers of a group, in order."""
        found = dict.fromkeys(
            each.member.client for each in self.member_stays if each.member.group == group
        )
        return sorted(found, key=natural)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Names in the order of people: pod-2 before pod-10."""
    parts = _DIGITS.split(name)
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in parts)


def read_story(run: Path, listener: Listener = lambda _now_ms, _end_ms: None) -> RunStory:
    """Read a run directory; one that is not whole raises `RunDirectoryError`."""
    recording = read_recording(run)
    end_ms = _end_of(recording)
    bucket_ms, peak_ms, step_ms = (
        max(1, -(-end_ms // parts)) for parts in (MOMENTS, _PEAKS, _STEPS)
    )
    ownership, lags, bands = OwnershipLanes(), LagCurves(step_ms=step_ms), BandFold()
    members, growth = MemberFold(bucket_ms), GrowthFold()
    handlers = by_kind((members.rosters, ownership, lags, bands, members, growth))
    witness = Witness()
    is_small = len(recording) <= _ROWS_AT_HAND
    at_hand: list[Row] = []
    for n, row in enumerate(recording, 1):
        if is_small:
            at_hand.append(row)
        witness.take(row)
        for handle in handlers.get(row.kind, ()):
            handle(row)
        if n % _ROWS_BETWEEN_WORDS == 0:
            listener(row.at_ms, end_ms)
    measures = witness.measures()
    curves = lags.curves(end_ms)
    stays = ownership.stays(end_ms)
    return RunStory(
        name=recording.run_file.variant or recording.run_file.run or run.name,
        path=run,
        run_file=recording.run_file,
        ended_ms=end_ms,
        events=len(recording),
        measures=measures,
        rebalances=_told(at_hand if is_small else recording, witness, measures),
        states=bands.states(end_ms),
        troubles=bands.troubles(end_ms),
        ownership=stays,
        member_stays=members.stays(end_ms),
        marks=members.marks(),
        beats=members.beats(),
        curves=_chosen(curves, bucket_ms),
        worst={group: peaks(_of(group, curves), peak_ms) for group in measures.groups},
        has_records=lags.has_records,
        errors=members.errors,
        failed_commits=members.failed_commits,
        waits=waits_for_readers(growth.added_ms, stays, end_ms),
    )


def told_apart(runs: Sequence[RunStory]) -> list[RunStory]:
    """The same runs; those of one name also have what tells their folders apart: "mine (s40)"."""
    found = []
    for run in runs:
        others = [each.path for each in runs if each.name == run.name and each is not run]
        place = _place_among(run.path, others) if others else Path()
        # A run's own folder mostly has its name, which need not be said twice.
        said = place.parent if place.name == run.name else place
        found.append(evolve(run, name=f"{run.name} ({said})") if said.parts else run)
    return found


def _place_among(path: Path, others: Sequence[Path]) -> Path:
    """The end of a path, as long as is needed to tell it from all of these."""
    parts = path.resolve().parts
    ends = [each.resolve().parts for each in others]
    lengths = range(1, len(parts))
    apart = (n for n in lengths if all(parts[-n:] != each[-n:] for each in ends))
    return Path(*parts[-next(apart, len(parts)) :])


def _end_of(recording: Recording) -> int:
    return recording[-1].at_ms if len(recording) else 0


def _told(rows: Sequence[Row], witness: Witness, measures: Measures) -> tuple[Told, ...]:
    by_length = sorted(measures.rebalances, key=lambda each: (-each.duration_ms, each.seq))
    explained = {each.seq for each in by_length[:EXPLAINED_MAX]}
    return tuple(
        Told(
            number,
            each,
            explain(rows, each, witness).sentences if each.seq in explained else (),
        )
        for number, each in enumerate(measures.rebalances, 1)
    )


def _of(group: str, curves: Mapping[Place, Sequence[Point]]) -> dict[Place, Sequence[Point]]:
    return {place: points for place, points in curves.items() if place.group == group}


def _chosen(
    curves: Mapping[Place, Sequence[Point]], bucket_ms: int
) -> dict[Place, Sequence[Point]]:
    """The curves of the partitions that were furthest behind, group by group."""
    found: dict[Place, Sequence[Point]] = {}
    for group in dict.fromkeys(place.group for place in curves):
        tops = {
            place: max(lag for _, lag in points) for place, points in _of(group, curves).items()
        }
        behind = (place for place in tops if tops[place] >= LAG_WORTH_A_LOOK)
        worst = sorted(behind, key=lambda each: -tops[each])
        for place in sorted(worst[:CURVES_MAX]):
            found[place] = thinned(curves[place], bucket_ms)
    return found
