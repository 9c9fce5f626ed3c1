"""What each group has committed, as its log has it: a commit whose write fails never was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, field

from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Place, place_of


@define(eq=False)
class Commits:
    """The committed offset of every partition, as the row that committed it."""

    current: dict[Place, Row] = field(factory=dict)
    #: Why a partition's offset was last forgotten; None since it was committed anew.
    forgotten: dict[Place, str] = field(factory=dict)
    #: By the cause of commits that no row calls written yet: the commits before them.
    _unwritten: dict[int, list[tuple[Place, Row | None]]] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Commits, and the log's word on them."""
        return {
            EventKind.OFFSET_COMMITTED: self._on_committed,
            EventKind.OFFSET_REMOVED: self._on_removed,
            WorldEventKind.WRITE_COMMITTED: self._on_written,
            EventKind.WRITE_FAILED: self._on_failed,
            EventKind.GROUP_LOADED: self._on_loaded,
            WorldEventKind.TOPIC_DELETED: self._on_topic_deleted,
        }

    def offset(self, place: Place) -> int | None:
        """What is committed now."""
        row = self.current.get(place)
        return None if row is None else row.offset

    def _on_committed(self, row: Row) -> None:
        place = place_of(row)
        if place is None:
            return
        if row.cause is not None:
            before = self.current.get(place)
            self._unwritten.setdefault(row.cause, []).append((place, before))
        self.current[place] = row
        self.forgotten.pop(place, None)

    def _on_removed(self, row: Row) -> None:
        place = place_of(row)
        if place is not None:
            self.current.pop(place, None)
            self.forgotten[place] = row.detail or "forgotten"

    def _on_written(self, row: Row) -> None:
        self._unwritten.pop(row.cause or 0, None)

    def _on_failed(self, row: Row) -> None:
        """A write that fails takes the later ones with it."""
        voided = [cause for cause in self._unwritten if cause >= (row.cause or 0)]
        for cause in sorted(voided, reverse=True):
            self._restore(self._unwritten.pop(cause))

    def _on_loaded(self, row: Row) -> None:
        """What was not written when the coordinator changed is not there after it."""
        for cause in sorted(self._unwritten, reverse=True):
            if self._unwritten[cause][0][0].group == row.group:
                self._restore(self._unwritten.pop(cause))

    def _on_topic_deleted(self, row: Row) -> None:
        for place in [place for place in self.current if place.topic == row.topic]:
            del self.current[place]

    def _restore(self, commits: Iterable[tuple[Place, Row | None]]) -> None:
        for place, before in reversed(list(commits)):
            if before is None:
                self.current.pop(place, None)
            else:
                self.current[place] = before
