"""Bounds as people write them, held against the figures of runs."""

from __future__ import annotations

import pytest

from simulation.bounds import parse_bound, parse_figure
from simulation.measures import AGGREGATES, figure_of, measure
from tests.support.rows import a_death_and_its_rebalance


@pytest.mark.parametrize(
    ("text", "figure", "holds"),
    [
        ("unowned_s < 45", 44.52, True),
        ("sum(unowned_s) < 40", 44.52, False),
        ("lost == 0", 0, True),
        ("p50(rebalance_s) <= 1.51", 1.51, True),
        ("count(rebalance_s) != 2", 2, False),
        ("  mean( rebalance_s )>=2.26 ", 2.26, True),
    ],
)
def test_a_bound_is_held_against_the_figure_it_names(text, figure, holds):
    bound = parse_bound(text)

    found = bound.figure_of_run(measure(a_death_and_its_rebalance()))

    assert (round(found, 3), bound.holds(round(found, 3))) == (figure, holds)


def test_a_bound_over_runs_aggregates_their_own_figures_or_their_aggregates():
    runs = [measure([]), measure(a_death_and_its_rebalance())]

    assert parse_bound("max(rebalances) < 3").figure_of_runs(runs) == 2
    assert parse_bound("mean(count(rebalance_s)) < 3").figure_of_runs(runs) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("unowned_s", "must read like"),
        ("unowned_s <", "must read like"),
        ("unowned_s << 5", "must compare by one of"),
        ("speed < 5", "must name one of .* not 'speed'"),
        ("median(lag) < 5", "an aggregate must be one of .* not 'median'"),
        ("sum(lag < 5", r"must name one of .* not 'sum\(lag'"),
        ("max(max(max(lag))) < 5", "at most 2 aggregates"),
        ("lag < five", "must end in a number, not 'five'"),
        ("lag < nan", "must end in a number"),
        ("lag < __import__('os')", "must end in a number"),
    ],
)
def test_a_bound_that_cannot_be_read_is_refused_with_what_is_wrong(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_bound(text)


def test_an_aggregate_over_runs_needs_runs():
    with pytest.raises(ValueError, match="this is one run"):
        parse_bound("max(sum(lag)) < 5").figure_of_run(measure([]))
    with pytest.raises(ValueError, match="needs an aggregate over the runs"):
        parse_bound("lag < 5").figure_of_runs([measure([])])


@pytest.mark.parametrize(
    ("aggregate", "figure"), list(zip(AGGREGATES, [10, 4, 1, 2.5, 4, 2, 4, 4, 4], strict=True))
)
def test_four_values_come_to_one_by(aggregate, figure):
    assert figure_of(aggregate, [3, 1, 4, 2]) == figure


def test_what_a_bound_compares_can_be_written_by_itself():
    figure = parse_bound("mean( sum(unowned_s) ) < 5").figure

    assert figure == parse_figure(" mean(sum( unowned_s)) ")
    assert figure.text == "mean(sum(unowned_s))"
