"""How far groups are behind: in records, and in seconds since the first unread one was written.

A log's end is a function of time between two rows, and a position stands still between two rows,
so the greatest lag is found by looking whenever either changes, and at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from attrs import define, field

from simulation.events import Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Place, Span, place_of
from simulation.logs import Growth

_LogKey = tuple[str, int]


@define(eq=False)
class Log:
    """One partition's growths, all of them: a group may begin at the earliest record any time."""

    growths: list[Growth] = field(factory=list)

    def end_at(self, now_ms: int) -> int:
        """Where the log ends."""
        return self.growths[-1].end_at(now_ms) if self.growths else 0

    def written_ms(self, offset: int) -> int:
        """When the record of this offset, which is there, was written."""
        # The first growth that found it there; it was written then, or while the one before lasted.
        after = bisect_right(self.growths, offset, key=lambda growth: growth.offset)
        around = self.growths[max(after - 1, 0) : after + 1]
        found = [growth.reached_ms(offset + 1) for growth in around]
        return min((at_ms for at_ms in found if at_ms is not None), default=0)


@define(eq=False)
class Progress:
    """One group at one partition."""

    position: int | None = None
    reader: str | None = None
    lag: int = 0
    lag_ms: int = 0
    #: When each of them was reached.
    lag_at_ms: int = 0
    lag_ms_at_ms: int = 0


@define(eq=False)
class LagFold:
    """`lag` and `lag_s`."""

    progress: dict[Place, Progress] = field(factory=dict)
    _logs: dict[_LogKey, Log] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Whatever moves a log's end or a position."""
        return {
            WorldEventKind.LOG_RATE_CHANGED: self._on_rate,
            WorldEventKind.TOPIC_DELETED: self._on_topic_deleted,
            WorldEventKind.FETCH_STARTED: self._on_fetch,
            WorldEventKind.POSITION_SET: self._on_position,
            WorldEventKind.RECORDS_RETURNED: self._on_returned,
        }

    def lags(self, now_ms: int) -> dict[Place, tuple[int, int]]:
        """The greatest lag of each partition so far, in records and in milliseconds."""
        for place, progress in self.progress.items():
            self._look(place, progress, now_ms)
        return {place: (each.lag, each.lag_ms) for place, each in self.progress.items()}

    def greatest(self) -> dict[Place, tuple[Span, Span]]:
        """When each of them was reached; the age has grown since the record was written."""
        return {
            place: (
                Span(each.lag_at_ms, each.lag_at_ms),
                Span(each.lag_ms_at_ms - each.lag_ms, each.lag_ms_at_ms),
            )
            for place, each in self.progress.items()
            if each.lag
        }

    # --- rows ---

    def _on_rate(self, row: Row) -> None:
        key = (row.topic or "", row.partition or 0)
        growth = Growth(row.at_ms, row.offset or 0, row.count or 0, row.duration_ms or 1)
        self._logs.setdefault(key, Log()).growths.append(growth)

    def _on_topic_deleted(self, row: Row) -> None:
        for place, progress in self.progress.items():
            if place.topic == row.topic:
                self._look(place, progress, row.at_ms)
                progress.position = progress.reader = None
        for key in [key for key in self._logs if key[0] == row.topic]:
            del self._logs[key]

    def _on_fetch(self, row: Row) -> None:
        self._move(row, row.offset, is_new=True)

    def _on_position(self, row: Row) -> None:
        self._move(row, row.offset, is_new=False)

    def _on_returned(self, row: Row) -> None:
        self._move(row, row.end_offset, is_new=False)

    def _move(self, row: Row, offset: int | None, *, is_new: bool) -> None:
        """A position moves; only the reader who began last counts."""
        place = place_of(row)
        if place is None or offset is None:
            return
        progress = self.progress.setdefault(place, Progress())
        if is_new or progress.reader is None:
            progress.reader = row.client
        if progress.reader != row.client:
            return
        self._look(place, progress, row.at_ms)
        progress.position = offset
        self._look(place, progress, row.at_ms)

    def _look(self, place: Place, progress: Progress, now_ms: int) -> None:
        log = self._logs.get((place.topic, place.partition))
        if log is None or progress.position is None:
            return
        lag = log.end_at(now_ms) - progress.position
        if lag > 0:
            if lag > progress.lag:
                progress.lag, progress.lag_at_ms = lag, now_ms
            behind_ms = now_ms - log.written_ms(progress.position)
            if behind_ms > progress.lag_ms:
                progress.lag_ms, progress.lag_ms_at_ms = behind_ms, now_ms
