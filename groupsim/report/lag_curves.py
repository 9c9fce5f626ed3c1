"""How far behind each partition was at every moment: the fold of `lag`, which keeps its looks here.

A curve is straight between two looks, unless records come one by one, which makes it a stair: a log
grows steadily and a position stands still. It is looked at whenever either changes, so the curves
have exactly the greatest lags of the measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

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
    """The greatest lag from now until the next, and where it was."""

    at_ms: int
    lag: int
    place: Place


def peaks(curves: Mapping[Place, Sequence[Point]], bucket_ms: int) -> list[Peak]:
    """The greatest lag of each bucket of time, as a stair that is below no curve."""
    heights: dict[int, Peak] = {}
    for place, points in curves.items():
        for at_ms, lag in _with_edges(points, bucket_ms):
            bucket = at_ms // bucket_ms
            if bucket not in heights or heights[bucket].lag < lag:
                heights[bucket] = Peak(bucket * bucket_ms, lag, place)
    found: list[Peak] = []
    for _, peak in sorted(heights.items()):
        if not found or found[-1].lag != peak.lag:
            found.append(peak)
    ends = [point[0] for points in curves.values() for point in (points[0], points[-1])]
    if found:
        found[0] = evolve(found[0], at_ms=min(ends))
        found.append(evolve(found[-1], at_ms=max(ends)))
    return found


def _with_edges(points: Sequence[Point], bucket_ms: int) -> Iterator[Point]:
    """A curve's points, and where it is when a bucket ends and the next begins."""
    yield from points[:1]
    for (start_ms, start), (end_ms, end) in pairwise(points):
        for bucket in range(start_ms // bucket_ms + 1, -(-end_ms // bucket_ms)):
            gone_ms = bucket * bucket_ms - start_ms
            # Rounded up: half a record more than there is hides no curve, half of one less does.
            lag = start - (start - end) * gone_ms // (end_ms - start_ms)
            yield bucket * bucket_ms - 1, lag
            yield bucket * bucket_ms, lag
        yield end_ms, end
