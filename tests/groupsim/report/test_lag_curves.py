"""Thinning keeps what a picture can show."""

from __future__ import annotations

from itertools import pairwise

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

    assert peaks(curves, 10) == [Peak(5, 8, THERE)]


def test_a_curve_is_straight_between_its_points():
    assert peaks({HERE: [(0, 0), (20, 20)]}, 10) == [
        *(Peak(0, 0, HERE), Peak(10, 10, HERE), Peak(20, 20, HERE))
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
