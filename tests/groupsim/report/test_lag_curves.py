"""Thinning keeps what a picture can show."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from groupsim.report.lag_curves import LagCurves, Peak, peaks, thinned
from simulation.folds.places import by_kind
from simulation.measures import Place
from simulation.world import Simulation

HERE, THERE = Place("g", "orders", 0), Place("g", "orders", 1)


def test_a_thinned_curve_has_the_extremes_of_each_bucket_in_order():
    points = [(0, 5), (1, 9), (2, 7), (3, 1), (4, 3), (10, 2), (11, 4)]

    assert thinned(points, 10) == [(0, 5), (1, 9), (3, 1), (4, 3), (10, 2), (11, 4)]


def test_a_peak_is_of_the_partition_that_is_furthest_behind():
    curves = {HERE: [(0, 1), (5, 3)], THERE: [(0, 0), (5, 8)]}

    assert peaks(curves, 10) == [Peak(0, 8, THERE), Peak(5, 8, THERE)]


def test_the_line_of_peaks_is_a_stair_of_what_was_most_in_each_bucket():
    assert peaks({HERE: [(2, 0), (22, 20)]}, 10) == [
        *(Peak(2, 8, HERE), Peak(10, 18, HERE), Peak(20, 20, HERE), Peak(22, 20, HERE))
    ]


def test_of_a_level_stretch_the_ends_are_told():
    assert peaks({HERE: [(0, 4), (100, 4)]}, 10) == [Peak(0, 4, HERE), Peak(100, 4, HERE)]


def test_a_single_record_is_a_step_and_no_slope():
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=1, records_per_s=0.1)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("60s")
    fold = LagCurves()
    handlers = by_kind((fold,))
    for row in sim.events:
        for handle in handlers.get(row.kind, ()):
            handle(row)

    (points,) = fold.curves(60_000).values()

    rises = [after[0] - before[0] for before, after in pairwise(points) if after[1] > before[1]]
    assert rises
    assert max(rises) == 1


def test_records_that_come_one_by_one_while_nobody_reads_are_a_stair():
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=1, records_per_s=0.1)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("30s")
    sim.pause("ada")
    sim.run_for("60s")
    fold = LagCurves(step_ms=100)
    handlers = by_kind((fold,))
    for row in sim.events:
        for handle in handlers.get(row.kind, ()):
            handle(row)

    (points,) = fold.curves(90_000).values()

    assert points[-1][1] > 4
    assert all(
        after[0] - before[0] == 1
        for before, after in pairwise(points)
        if after[1] > before[1] and before[0] >= 30_000
    )


def height_at(line: list[Peak], at_ms: int) -> int:
    return next(peak.lag for peak in reversed(line) if peak.at_ms <= at_ms)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 12), st.integers(0, 20)), min_size=1, max_size=12),
        min_size=1,
        max_size=3,
    )
)
def test_the_line_of_peaks_lies_below_no_curve_and_has_its_height(drawn):
    curves = {
        Place("g", "orders", n): list(
            zip(accumulate(gap for gap, _ in each), (lag for _, lag in each), strict=True)
        )
        for n, each in enumerate(drawn)
    }

    line = peaks(curves, 10)

    points = [point for each in curves.values() for point in each]
    assert max(peak.lag for peak in line) == max(lag for _, lag in points)
    assert all(before.at_ms <= after.at_ms for before, after in pairwise(line))
    assert all(height_at(line, at_ms) >= lag for at_ms, lag in points)
