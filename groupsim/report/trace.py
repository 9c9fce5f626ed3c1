"""A run as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing, in Chrome's trace events.

One track for each partition (who reads it, and when nobody does), each member (joining, syncing,
stable, paused, crashed; its commits and heartbeats as instants), each group (its states) and each
fault; arrows lead from what caused a slice to the slice. Slices of a track do not overlap: the
viewers could not show that. What begins and ends in the same millisecond is no slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from attrs import define, field, frozen

from groupsim.report.bands import BandFold
from groupsim.report.member_tracks import Instant, MemberTracks
from groupsim.report.ownership import UNOWNED, OwnershipLanes
from groupsim.report.story import natural
from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Member, Place, by_kind, place_of

__all__ = ["Slice", "Trace", "Track"]

#: An event as a viewer reads it.
Event = dict[str, Any]
#: Viewers count in microseconds.
_US = 1_000
_CLUSTER = "cluster"
_NOBODY = "nobody"


class Track(NamedTuple):
    """A process and a thread of it, as the viewers call them, by their names."""

    process: str
    thread: str


@frozen(kw_only=True)
class Slice:
    """A stretch of a track."""

    track: Track
    name: str
    category: str
    from_ms: int
    to_ms: int
    #: The row that began it, if one row did.
    seq: int | None = None
    facts: Mapping[str, Any] = field(factory=dict)


@define(eq=False)
class _Beginnings:
    """Which row began what, for slices that are told by their times only."""

    fetches: dict[tuple[Place, int], int] = field(factory=dict)
    ends: dict[tuple[Place, int], int] = field(factory=dict)
    states: dict[tuple[str, int], int] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Rows that begin slices of partitions and groups."""
        return {
            WorldEventKind.FETCH_STARTED: lambda row: self._at_place(self.fetches, row),
            WorldEventKind.PARTITION_REVOKED: lambda row: self._at_place(self.ends, row),
            WorldEventKind.PARTITION_LOST: lambda row: self._at_place(self.ends, row),
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.GROUP_CREATED: self._on_state,
            EventKind.GROUP_LOADED: self._on_state,
        }

    @staticmethod
    def _at_place(rows: dict[tuple[Place, int], int], row: Row) -> None:
        if (place := place_of(row)) is not None:
            rows[place, row.at_ms] = row.seq

    def _on_state(self, row: Row) -> None:
        self.states[row.group or "", row.at_ms] = row.seq


@define(eq=False)
class _Numbers:
    """The numbers of tracks: viewers know them by these, and show the names."""

    _processes: dict[str, int] = field(factory=dict)
    _threads: dict[Track, int] = field(factory=dict)

    def of(self, track: Track) -> Event:
        """The numbers of a track, the same each time."""
        # No number is given twice: a thread that had its process's would be its main thread.
        pid = self._processes.setdefault(track.process, self._next())
        tid = self._threads.setdefault(track, self._next())
        return {"pid": pid, "tid": tid}

    def _next(self) -> int:
        return len(self._processes) + len(self._threads) + 1

    def names(self) -> Iterator[Event]:
        """What the tracks are called, and in which order they stand."""
        for place, process in enumerate(sorted(self._processes)):
            pid = self._processes[process]
            yield _metadata("process_name", {"name": process}, pid=pid)
            yield _metadata("process_sort_index", {"sort_index": place}, pid=pid)
        for place, track in enumerate(sorted(self._threads, key=_natural_track)):
            numbers = self.of(track)
            yield _metadata("thread_name", {"name": track.thread}, **numbers)
            yield _metadata("thread_sort_index", {"sort_index": place}, **numbers)


@define(eq=False)
class Trace:
    """Rows in, one by one; instants out as they come, and all the rest at the end."""

    _ownership: OwnershipLanes = field(factory=OwnershipLanes, init=False)
    _bands: BandFold = field(factory=BandFold, init=False)
    _members: MemberTracks = field(factory=MemberTracks, init=False)
    _beginnings: _Beginnings = field(factory=_Beginnings, init=False)
    _numbers: _Numbers = field(factory=_Numbers, init=False)
    _causes: list[int | None] = field(factory=list, init=False)
    _handlers: dict[str, tuple[Handler, ...]] = field(init=False)
    _until_ms: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Everybody looks at the same rows."""
        self._handlers = by_kind((self._ownership, self._bands, self._members, self._beginnings))

    def take(self, row: Row) -> Iterator[Event]:
        """Learn from the next row, and tell what happened at its moment only."""
        self._until_ms = row.at_ms
        self._causes.append(row.cause)
        for handle in self._handlers.get(row.kind, ()):
            handle(row)
        yield from map(self._instant, self._members.instants())

    def rest(self) -> Iterator[Event]:
        """What was left, slices, arrows between them, and the names of tracks."""
        yield from map(self._instant, self._members.instants(is_over=True))
        slices = self.slices()
        yield from map(self._slice, slices)
        yield from self._arrows(slices)
        yield from self._numbers.names()

    def slices(self) -> list[Slice]:
        """All of them, up to the last row."""
        found = (*self._of_cluster(), *self._of_partitions(), *self._of_members())
        return [each for each in found if each.to_ms > each.from_ms]

    # --- slices ---

    def _of_cluster(self) -> Iterator[Slice]:
        for trouble in self._bands.troubles(self._until_ms):
            yield Slice(
                # Troubles overlap, and so each kind of them has a track of its own.
                track=Track(_CLUSTER, trouble.what),
                name=trouble.what,
                category="trouble",
                from_ms=trouble.from_ms,
                to_ms=trouble.to_ms,
            )
        for state in self._bands.states(self._until_ms):
            yield Slice(
                track=Track(state.group, "state"),
                name=state.state,
                category="state",
                from_ms=state.from_ms,
                to_ms=state.to_ms,
                seq=self._beginnings.states.get((state.group, state.from_ms)),
                facts={"generation": state.generation, "members": state.members},
            )

    def _of_partitions(self) -> Iterator[Slice]:
        for stay in self._ownership.stays(self._until_ms):
            is_owned = stay.kind != UNOWNED
            rows = self._beginnings.fetches if is_owned else self._beginnings.ends
            group, topic, partition = stay.place
            yield Slice(
                track=Track(f"{group}: partitions", f"{topic}-{partition}"),
                name=" and ".join(stay.owners) if is_owned else _NOBODY,
                category=stay.kind,
                from_ms=stay.from_ms,
                to_ms=stay.to_ms,
                seq=rows.get((stay.place, stay.from_ms)),
            )

    def _of_members(self) -> Iterator[Slice]:
        for each in self._members.states(self._until_ms):
            yield Slice(
                track=_track_of(each.member),
                name=each.name,
                category="member",
                from_ms=each.from_ms,
                to_ms=each.to_ms,
                seq=each.seq,
            )

    # --- events ---

    def _instant(self, instant: Instant) -> Event:
        return {
            "ph": "i",
            "s": "t",
            "name": instant.name,
            "cat": "instant",
            **self._numbers.of(_track_of(instant.member)),
            "ts": instant.at_ms * _US,
            "args": dict(instant.facts),
        }

    def _slice(self, each: Slice) -> Event:
        row = {} if each.seq is None else {"row": each.seq}
        return {
            "ph": "X",
            "name": each.name,
            "cat": each.category,
            **self._numbers.of(each.track),
            "ts": each.from_ms * _US,
            "dur": (each.to_ms - each.from_ms) * _US,
            "args": {**row, **each.facts},
        }

    def _arrows(self, slices: Sequence[Slice]) -> Iterator[Event]:
        """From what led to a slice to the slice, where they are on different tracks."""
        begun = {each.seq: each for each in slices if each.seq is not None}
        # A session that is over is the doing of what its member was by then; and that its group
        # rebalances is what a member is told, though no row of the group's led to it.
        sources = {seq: seq for seq in begun} | self._members.silences
        nearest = _Nearest(self._causes, sources)
        number = 0
        for seq, each in begun.items():
            source = begun.get(self._members.told.get(seq) or nearest.before(seq) or 0)
            if source is None or source.track == each.track:
                continue
            number += 1
            # Both ends are at beginnings: Perfetto binds an end to what began last on its track.
            for end, at in (({"ph": "s"}, source), ({"ph": "f", "bp": "e"}, each)):
                arrow = {**end, "id": number, "name": "led to", "cat": "cause"}
                yield {**arrow, **self._numbers.of(at.track), "ts": at.from_ms * _US}


@define(eq=False)
class _Nearest:
    """The nearest row on the way back from another at which an arrow may begin."""

    causes: Sequence[int | None]
    #: By such rows: the row that began the slice which the arrow leaves.
    sources: Mapping[int, int]
    _known: dict[int, int | None] = field(factory=dict, init=False)

    def before(self, seq: int) -> int | None:
        """The row that began the slice from which an arrow to what this row began comes."""
        passed: list[int] = []
        found: int | None = None
        at = self.causes[seq - 1]
        while at is not None:
            if at in self._known:
                found = self._known[at]
                break
            if at in self.sources:
                found = self.sources[at]
                break
            passed.append(at)
            at = self.causes[at - 1]
        self._known.update(dict.fromkeys(passed, found))
        return found


def _track_of(member: Member) -> Track:
    return Track(f"{member.group}: members", member.client)


def _natural_track(track: Track) -> tuple[object, ...]:
    return track.process, natural(track.thread)


def _metadata(name: str, facts: Event, **numbers: int) -> Event:
    return {"ph": "M", "name": name, **numbers, "args": facts}
