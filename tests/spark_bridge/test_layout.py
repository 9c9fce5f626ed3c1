from __future__ import annotations

import pytest

from simulation.events import EventKind
from spark_bridge import columns as c
from spark_bridge.commits import committed_offsets
from spark_bridge.layout import EVENTS_PER_PARTITION, laid_out, partitions_for
from spark_bridge.ownership import ownership_intervals
from spark_bridge.timeline import state_intervals, until_the_end
from tests.spark_bridge.frames import an_event, events, rows_of

#: What Spark's plans call it when rows change partitions.
_MOVE = "Exchange hashpartitioning"
CREATED, COMMITTED = EventKind.GROUP_CREATED, EventKind.OFFSET_COMMITTED


@pytest.fixture(scope="module")
def layout(spark):
    found = events(
        spark,
        an_event(CREATED, 1, seq=1, run="one"),
        an_event(COMMITTED, 7, seq=2, run="one", offset=3),
        an_event(CREATED, 2, seq=1, run="two"),
    ).transform(laid_out, 2)
    yield found
    found.unpersist()


@pytest.mark.spark
def test_the_layout_has_every_row_and_when_its_run_ends(layout):
    assert rows_of(layout, c.RUN, c.SEQ, c.UNTIL_MS) == [
        ("one", 1, 7),
        ("one", 2, 7),
        ("two", 1, 2),
    ]


@pytest.mark.spark
def test_the_end_of_a_run_is_not_looked_for_again(layout):
    assert until_the_end(layout) is layout


@pytest.mark.spark
@pytest.mark.parametrize("analysis", [state_intervals, ownership_intervals, committed_offsets])
def test_rows_that_lie_by_run_are_not_moved_again(capsys, layout, analysis):
    layout.explain()
    of_the_layout = capsys.readouterr().out
    layout.transform(analysis).explain()
    of_the_analysis = capsys.readouterr().out

    # Wherever a plan takes rows from the layout, it tells how that came about.
    looks = of_the_analysis.count("InMemoryRelation")
    assert of_the_analysis.count(_MOVE) == looks * of_the_layout.count(_MOVE) > 0


@pytest.mark.parametrize(
    ("events", "runs", "usual", "partitions"),
    [
        pytest.param(0, 1, 8, 1, id="one run, which cannot be divided"),
        pytest.param(1_000, 5, 2, 2, id="few events, for all who work"),
        pytest.param(1_000, 5, 200, 5, id="no more than runs"),
        pytest.param(10 * EVENTS_PER_PARTITION, 200, 2, 10, id="many events"),
    ],
)
def test_there_are_as_many_partitions_as_are_of_use(events, runs, usual, partitions):
    assert partitions_for(events=events, runs=runs, usual=usual) == partitions
