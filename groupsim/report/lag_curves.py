"""How far behind each partition was at every moment: the fold of `lag`, which keeps its looks here.

A curve is straight between two looks, unless it is a single record that came: a log grows steadily
and a position stands still. It is looked at whenever either changes, so the curves have exactly
the greatest lags of the measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from attrs import define, field, frozen

from simulation.events import Row
from simulation.folds.lags import LagFold, Progress
from simulation.measures import Place

__all__ = ["LAG_WORTH_A_LOOK", "LagCurves", "Peak", "Point", "peaks", "thinned"]

#: To be fewer records behind is how reading works, and nothing to look at.
LAG_WORTH_A_LOOK = 5
#: When, and how many records behind.
Point = tuple[int, int]


@define(eq=False)
class LagCurves(LagFold):
    """Every partition's curve; `curves` tells them."""

    #: Whether anything was written at all.
    has_records: bool = field(default=False, init=False)
    _points: dict[Place, list[Point]] = field(factory=dict, init=False)
    _readers: dict[tuple[str, int], list[Place]] = field(factory=dict, init=False)

    def curves(self, now_ms: int) -> dict[Place, list[Point]]:
        """All of them, in the order of partitions, up to now."""
        self.lags(now_ms)
        return dict(sorted(self._points.items()))

    def _on_rate(self, row: Row) -> None:
        readers = self._readers.get((row.topic or "", row.partition or 0), ())
        self._look_at_all(readers, row.at_ms)
        super()._on_rate(row)
        self.has_records = self.has_records or bool(row.offset or row.count)
        self._look_at_all(readers, row.at_ms)

    def _look_at_all(self, places: Iterable[Place], now_ms: int) -> None:
        for place in places:
            self._look(place, self.progress[place], now_ms)

    def _look(self, place: Place, progress: Progress, now_ms: int) -> None:
        super()._look(place, progress, now_ms)
        log = self._logs.get((place.topic, place.partition))
        if log is None or progress.position is None:
            return
        if place not in self._points:
            self._points[place] = []
            self._readers.setdefault((place.topic, place.partition), []).append(place)
        points = self._points[place]
        end = log.end_at(now_ms)
        lag = max(0, end - progress.position)
        if points and lag == points[-1][1] + 1:
            # Half a record is nobody's lag: where one comes now and then, the curve is a stair.
            written_ms = log.written_ms(end - 1)
            if points[-1][0] < written_ms - 1 < now_ms:
                _add(points, (written_ms - 1, lag - 1))
                _add(points, (written_ms, lag))
        _add(points, (now_ms, lag))


def _add(points: list[Point], point: Point) -> None:
    """A point that says nothing new is left out; of three that are level, the middle one too."""
    if points and points[-1] == point:
        return
    if len(points) > 1 and points[-1][1] == points[-2][1] == point[1]:
        points.pop()
    points.append(point)


def thinned(points: Sequence[Point], bucket_ms: int) -> list[Point]:
    """At most four points for each bucket: its first and last, its least and greatest."""
    found: list[Point] = []
    for bucket in _in_buckets(points, bucket_ms):
        least = min(bucket, key=lambda point: point[1])
        most = max(bucket, key=lambda point: point[1])
        chosen = {id(each) for each in (bucket[0], least, most, bucket[-1])}
        found += [each for each in bucket if id(each) in chosen]
    return found


def _in_buckets(points: Sequence[Point], bucket_ms: int) -> list[list[Point]]:
    buckets: dict[int, list[Point]] = {}
    for point in points:
        buckets.setdefault(point[0] // bucket_ms, []).append(point)
    return list(buckets.values())


@frozen
class Peak:
    """The greatest lag of a short time, when it was reached, and where."""

    at_ms: int
    lag: int
    place: Place


def peaks(curves: Mapping[Place, Sequence[Point]], bucket_ms: int) -> list[Peak]:
    """The greatest lag of any partition in each bucket of time; of level stretches, the ends."""
    found: dict[int, Peak] = {}

    def offer(bucket: int, at_ms: int, lag: int, place: Place) -> None:
        if bucket not in found or found[bucket].lag < lag:
            found[bucket] = Peak(at_ms, lag, place)

    for place, points in curves.items():
        for at_ms, lag in points:
            offer(at_ms // bucket_ms, at_ms, lag, place)
        for (start_ms, start), (end_ms, end) in pairwise(points):
            for bucket in range(start_ms // bucket_ms + 1, end_ms // bucket_ms + 1):
                at_ms = bucket * bucket_ms
                lag = start + (end - start) * (at_ms - start_ms) // (end_ms - start_ms)
                offer(bucket, at_ms, lag, place)
    in_order = [found[bucket] for bucket in sorted(found)]
    return [
        peak
        for n, peak in enumerate(in_order)
        if not 0 < n < len(in_order) - 1
        or not in_order[n - 1].lag == peak.lag == in_order[n + 1].lag
    ]
