"""How far behind each partition was at every moment: the fold of `lag`, which keeps its looks here.

A curve is straight between two looks, unless records come one by one, which makes it a stair: a log
grows steadily and a position stands still. It is looked at whenever either changes, so the curves
have exactly the greatest lags of the measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest

from attrs import define, evolve, field, frozen

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
    """Every partition's curve; `curves` tells them.

    Records that come more often than once in `step_ms` are a slope to the eye, and drawn as one.
    """

    step_ms: int = 1
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
        points, end = self._points[place], log.end_at(now_ms)
        lag = max(0, end - progress.position)
        if points:
            since_ms, before = points[-1]
            if lag > before and now_ms - since_ms >= (lag - before) * self.step_ms:
                for more in range(before, lag):
                    written_ms = log.written_ms(end - lag + more)
                    if since_ms < written_ms - 1 < now_ms:
                        _add(points, (written_ms - 1, more))
                        _add(points, (written_ms, more + 1))
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


@define(eq=False)
class _Height:
    """The greatest lag of a short time, and when it was reached first and last."""

    lag: int
    first: Peak
    last: Peak
    #: Whether a line from its last to the first of the next would pass below a curve.
    is_cut: bool = False


def peaks(curves: Mapping[Place, Sequence[Point]], bucket_ms: int) -> list[Peak]:
    """A line that lies on the greatest lag of each bucket of time, and never below any curve.

    Of level stretches the ends are told.
    """
    heights: dict[int, _Height] = {}
    for place, points in curves.items():
        for at_ms, lag in _with_edges(points, bucket_ms):
            peak = Peak(at_ms, lag, place)
            height = heights.get(at_ms // bucket_ms)
            if height is None or height.lag < lag:
                heights[at_ms // bucket_ms] = _Height(lag, peak, peak)
            elif height.lag == lag:
                height.first = min(height.first, peak, key=lambda each: each.at_ms)
                height.last = max(height.last, peak, key=lambda each: each.at_ms)
    for points in curves.values():
        for point in _with_edges(points, bucket_ms):
            _mind(heights, point, bucket_ms)
    return _without_middles(_along(heights, bucket_ms))


def _with_edges(points: Sequence[Point], bucket_ms: int) -> Iterator[Point]:
    """A curve's points, and where it is when a bucket begins."""
    yield from points[:1]
    for (start_ms, start), (end_ms, end) in pairwise(points):
        for bucket in range(start_ms // bucket_ms + 1, -(-end_ms // bucket_ms)):
            gone_ms = bucket * bucket_ms - start_ms
            # Rounded up: half a record more than there is hides no curve, half of one less does.
            yield bucket * bucket_ms, start - (start - end) * gone_ms // (end_ms - start_ms)
        yield end_ms, end


def _mind(heights: Mapping[int, _Height], point: Point, bucket_ms: int) -> None:
    """Note where the line from one bucket's height to the next would pass below a point."""
    at_ms, lag = point
    bucket = at_ms // bucket_ms
    if at_ms < heights[bucket].first.at_ms:
        bucket -= 1
    before, after = heights.get(bucket), heights.get(bucket + 1)
    if before is None or after is None or at_ms <= before.last.at_ms:
        return
    gone_ms, whole_ms = at_ms - before.last.at_ms, after.first.at_ms - before.last.at_ms
    if before.lag * whole_ms + (after.lag - before.lag) * gone_ms < lag * whole_ms:
        before.is_cut = True


def _along(heights: Mapping[int, _Height], bucket_ms: int) -> Iterator[Peak]:
    """From height to height; around a corner where a straight line would cut it."""
    in_order = sorted(heights)
    for bucket, following in zip_longest(in_order, in_order[1:]):
        height = heights[bucket]
        yield from dict.fromkeys((height.first, height.last))
        if height.is_cut:
            higher = max(height.last, heights[following].first, key=lambda each: each.lag)
            yield evolve(higher, at_ms=following * bucket_ms)


def _without_middles(line: Iterable[Peak]) -> list[Peak]:
    found: list[Peak] = []
    for peak in line:
        if len(found) > 1 and found[-2].lag == found[-1].lag == peak.lag:
            found.pop()
        found.append(peak)
    return found
