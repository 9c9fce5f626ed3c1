"""What is made of a sweep's results: estimates, the Pareto line, bounds and advice."""

from __future__ import annotations

from statistics import mean

import pytest

from simulation.bounds import parse_bound, parse_figure
from simulation.measures import AGGREGATES, figure_of
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.sweeps.advice import judged, ranked
from spark_bridge.sweeps.pareto import pareto
from spark_bridge.sweeps.statistics import distributions, estimates, usual_figures
from tests.spark_bridge.frames import rows_of
from tests.spark_bridge.sweeps import results

pytestmark = pytest.mark.spark

#: Ten runs each.
SLOW = [4.0, 9.0, 5.0, 7.0, 6.0, 8.0, 5.5, 6.5, 7.5, 4.5]
FAST = [1.0, 2.0, 1.5, 1.2, 1.8, 1.1, 1.9, 1.3, 1.7, 1.4]


def figures(*texts):
    return [parse_figure(text) for text in texts]


def test_a_figure_over_runs_is_what_the_measures_say(spark):
    frame = results(spark, {"unowned_s": SLOW})

    found = estimates(frame, figures(*(f"{each}(unowned_s)" for each in AGGREGATES)))

    assert dict(rows_of(found, c.FIGURE, c.ESTIMATE)) == pytest.approx(
        {f"{each}(unowned_s)": figure_of(each, SLOW) for each in AGGREGATES}
    )


def test_an_aggregate_within_a_run_is_of_its_values(spark):
    values = [[3.0, 1.0, 2.0], [], [5.0]]
    frame = results(spark, {"unowned_s": values})

    found = estimates(frame, figures(*(f"mean({each}(unowned_s))" for each in AGGREGATES)))

    assert dict(rows_of(found, c.FIGURE, c.ESTIMATE)) == pytest.approx(
        {
            f"mean({each}(unowned_s))": mean(figure_of(each, of_run) for of_run in values)
            for each in AGGREGATES
        }
    )


def test_an_interval_lies_around_its_figure_and_is_narrow_where_runs_agree(spark):
    frame = results(spark, {"unowned_s": SLOW}, {"unowned_s": [5.0] * 10})

    wide, narrow = rows_of(
        estimates(frame, figures("mean(unowned_s)")), c.SETTING, c.LOW, c.ESTIMATE, c.HIGH
    )

    assert 4.0 < wide[1] < wide[2] < wide[3] < 9.0
    assert narrow[1:] == (5.0, 5.0, 5.0)


def test_an_interval_is_about_as_wide_as_theory_has_it(spark):
    values = [float(n % 100) for n in range(400)]
    frame = results(spark, {"unowned_s": values})

    ((low, high),) = rows_of(estimates(frame, figures("mean(unowned_s)")), c.LOW, c.HIGH)

    # 1.96 standard errors of the mean to each side: 28.9 / 20 * 1.96.
    assert (high - low) / 2 == pytest.approx(2.83, rel=0.15)


def test_estimates_repeat_bit_for_bit_however_the_rows_are_laid_out(spark):
    frame = results(spark, {"unowned_s": SLOW}, {"unowned_s": FAST})
    asked = usual_figures(parse_figure("unowned_s"))
    names = (c.SETTING, c.FIGURE, c.ESTIMATE, c.LOW, c.HIGH)

    one = rows_of(estimates(frame.coalesce(1), asked), *names)
    other = rows_of(estimates(frame.repartition(5, c.SEED), asked), *names)

    assert one == other
    assert [row[1] for row in one[:3]] == ["mean(unowned_s)", "p50(unowned_s)", "p99(unowned_s)"]


def test_runs_that_failed_are_counted_and_not_estimated(spark):
    frame = results(spark, {"unowned_s": [1.0, None, 3.0]}, {"unowned_s": [None, None, None]})

    found = estimates(frame, figures("mean(unowned_s)"))

    assert found.schema.names == schemas.SWEEP_ESTIMATES.names
    assert rows_of(found, c.SETTING, c.RUN_COUNT, c.FAILED, c.ESTIMATE) == [
        (0, 2, 1, 2.0),
        (1, 0, 3, None),
    ]


def test_the_line_has_the_settings_that_no_other_beats(spark):
    frame = results(
        spark,
        {"unowned_s": [1.0], "detection_s": [9.0]},
        {"unowned_s": [2.0], "detection_s": [9.0]},  # beaten by the first
        {"unowned_s": [5.0], "detection_s": [2.0]},
        {"unowned_s": [5.0], "detection_s": [2.0]},  # as good as the one before
        {"unowned_s": [6.0], "detection_s": [3.0]},  # beaten in both
        {"unowned_s": [None], "detection_s": [0.0]},  # nobody knows
    )
    across, up = figures("mean(unowned_s)", "mean(detection_s)")

    line = pareto(estimates(frame, [across, up]), across, up)

    assert rows_of(line, c.SETTING, c.IS_BEST) == [
        (0, True),
        (1, False),
        (2, True),
        (3, True),
        (4, False),
    ]


def test_settings_are_compared_without_every_partition_meeting_every_other(spark, capsys):
    frame = results(spark, {"unowned_s": [3.0], "detection_s": [1.0]})
    across, up = figures("mean(unowned_s)", "mean(detection_s)")

    pareto(estimates(frame, [across, up]), across, up).explain()

    plan = capsys.readouterr().out
    assert "BroadcastNestedLoopJoin" in plan
    assert "CartesianProduct" not in plan


def test_every_bound_is_held_against_every_setting(spark):
    frame = results(spark, {"unowned_s": [3.0, 2.0]}, {"unowned_s": [5.0, 1.0]})
    verdicts = {
        "max(unowned_s) < 4": ([True, False], [0.0, 0.25]),
        "max(unowned_s) >= 4": ([False, True], [0.25, 0.0]),
        "max(unowned_s) == 3": ([True, False], [0.0, 2 / 3]),
        "max(unowned_s) <= 0": ([False, False], [3.0, 5.0]),
    }
    bounds = list(map(parse_bound, verdicts))

    found = judged(estimates(frame, [bound.figure for bound in bounds]), bounds)

    rows = rows_of(found, c.BOUND, c.SETTING, c.HOLDS, c.EXCESS)
    for text, (holds, excess) in verdicts.items():
        assert [row[2] for row in rows if row[0] == text] == holds
        assert [row[3] for row in rows if row[0] == text] == pytest.approx(excess)


def test_a_bound_does_not_hold_where_a_run_has_failed(spark):
    bound = parse_bound("max(unowned_s) < 4")
    frame = results(spark, {"unowned_s": [3.0, None]})

    found = judged(estimates(frame, [bound.figure]), [bound])

    assert rows_of(found, c.HOLDS, c.EXCESS) == [(False, None)]


def test_of_the_settings_in_which_all_bounds_hold_the_one_with_the_least_goal_leads(spark):
    frame = results(
        spark,
        {"unowned_s": [3.0], "lost": [0], "detection_s": [9.0]},
        {"unowned_s": [3.5], "lost": [0], "detection_s": [6.0]},
        {"unowned_s": [3.5], "lost": [1], "detection_s": [1.0]},
        {"unowned_s": [9.0], "lost": [0], "detection_s": [1.0]},
    )
    bounds = [parse_bound("p99(unowned_s) < 4"), parse_bound("max(lost) == 0")]
    (goal,) = figures("mean(detection_s)")
    asked = [*(bound.figure for bound in bounds), goal]

    found = ranked(estimates(frame, asked), bounds, goal).collect()

    assert [(row[c.SETTING], row[c.HOLDS]) for row in found] == [
        (1, True),
        (0, True),
        (2, False),
        (3, False),
    ]
    assert found[0][c.GOAL] == 6.0


def test_if_no_setting_holds_the_nearest_leads_and_what_nobody_knows_comes_last(spark):
    frame = results(spark, {"unowned_s": [None]}, {"unowned_s": [9.0]}, {"unowned_s": [6.0]})
    bound = parse_bound("p99(unowned_s) < 4")

    found = ranked(estimates(frame, [bound.figure]), [bound], None).collect()

    assert [(row[c.SETTING], row[c.HOLDS], row[c.EXCESS]) for row in found] == [
        (2, False, 0.5),
        (1, False, 1.25),
        (0, False, None),
    ]


def test_a_distribution_has_the_least_the_quarters_and_the_most(spark):
    frame = results(spark, {"unowned_s": [5.0, 1.0, 3.0, 2.0, 4.0]}, {"unowned_s": [None] * 5})

    found = distributions(frame, figures("mean(unowned_s)"))

    assert found.schema.names == schemas.SWEEP_DISTRIBUTIONS.names
    assert rows_of(found, c.SETTING, c.QUANTILES) == [(0, [1.0, 2.0, 3.0, 4.0, 5.0]), (1, None)]
