"""The sentences that a page begins with."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from groupsim.report.answers import brief, figures_of_one, figures_that_differ, headline
from groupsim.report.story import RunStory
from simulation.measures import Place, Tally
from tests.groupsim.report.stories import story_of
from tests.groupsim.runs import a_death, a_ghost

ALIKE = [
    "They hardly differ.",
    "Nothing was lost in any of them.",
    "Nothing was processed twice in any of them.",
]


def a_run(name: str, *, unowned_s: float = 0.0, lost: int = 0, **outcome: object) -> RunStory:
    """A run in which nothing happened but this."""
    measures = evolve(
        story_of(a_death).measures,
        unowned_s={Place("checkout", "orders", 0): unowned_s},
        lost=(a_loss(lost),) if lost else (),
        rebalances=(),
        duplicates=(),
        lag={},
        lag_s={},
        deaths=(),
        commits_refused={},
    )
    run_file = evolve(story_of(a_death).run_file, outcome=outcome)
    return evolve(story_of(a_death), name=name, measures=measures, run_file=run_file)


def a_loss(records: int) -> Tally:
    return Tally(place=Place("checkout", "orders", 0), records=records, cause="it was")


def told(unowned_s: Mapping[str, float]) -> str:
    """What is said first of runs that were so long without an owner."""
    return headline([a_run(name, unowned_s=seconds) for name, seconds in unowned_s.items()])[0]


def test_the_answer_of_one_run_begins_with_its_worst_partition():
    first, second, *_ = headline([story_of(a_death)])

    assert first == (
        "orders-2 of checkout had no owner for 45.4 s, the worst of all partitions;"
        " all together 137 s."
    )
    assert second == "It took 2 rebalances, the longest 6.0 s."


def test_of_several_runs_the_best_and_the_worst_are_named():
    assert told({"eager": 1_204.2, "surge": 138.787, "static": 415.0}) == (
        "Partitions had no owner for 139 s in all with surge, the least;"
        " 1,204 s with eager, the most."
    )


def test_two_runs_need_no_word_for_least_and_most():
    assert told({"eager": 12.34, "static": 0.5}) == (
        "Partitions had no owner for 500 ms in all with static; 12.3 s with eager."
    )


def test_runs_that_have_the_same_are_named_together():
    assert told({"a": 30.0, "b": 0.0, "c": 10.0, "d": 0.0}) == (
        "No partition was without an owner once it had one with b and d; 30.0 s with a, the most."
    )


def test_many_that_have_the_same_are_counted():
    assert told({"a": 30.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0}) == (
        "No partition was without an owner once it had one with 4 of the 5; 30.0 s with a."
    )


def test_what_everybody_fears_is_told_even_if_it_is_the_same_everywhere():
    assert headline([a_run("a"), a_run("b")]) == ALIKE


def test_what_each_of_them_lost_is_said_once():
    _, second, *_ = headline([a_run("a", lost=1), a_run("b", lost=1)])

    assert second == "Lost: 1 record in each of them."


def test_a_run_that_did_not_hold_is_named():
    failed = a_run("b", expectations=[{"text": "lost == 0", "figure": 1, "holds": False}])

    assert headline([a_run("a"), failed]) == [*ALIKE, "b: 1 of 1 expectation failed."]


def a_rebalance(run: RunStory, ended_in: str | None) -> RunStory:
    """The run with one rebalance that ended in this state, or did not end."""
    first = evolve(story_of(a_death).measures.rebalances[0], ended_in=ended_in)
    return evolve(run, measures=evolve(run.measures, rebalances=(first,)))


def test_a_run_that_ends_within_a_rebalance_is_named():
    at_rest, busy = (
        a_rebalance(a_run(name), state) for name, state in (("a", "Stable"), ("b", None))
    )

    assert headline([at_rest, busy])[-1] == "At the end, b was still rebalancing."
    assert headline([busy])[-1] == "When the run ended, the last rebalance had not."
    assert not any("ended" in said for said in headline([at_rest]))


def test_how_late_records_were_comes_before_how_many_partitions_moved():
    place = Place("checkout", "orders", 0)
    runs = [
        evolve(run, measures=evolve(run.measures, lag_s={place: late_s}))
        for run, late_s in ((story_of(a_death), 30.0), (story_of(a_ghost), 0.03))
    ]

    names = figures_that_differ(runs)

    assert "lag_s" in names
    assert "moved" not in names


def test_weeks_are_told_in_hours():
    assert told({"a": 5_184_000.0, "b": 3.0}).endswith("; 1,440 h with a.")


def test_of_several_runs_those_numbers_come_first_that_differ():
    names = figures_that_differ([story_of(a_death), story_of(a_ghost)])

    assert len(names) == 3
    assert names[0] == "sum(unowned_s)"
    assert "lost" not in names


def test_some_numbers_of_a_run_fit_into_a_line():
    run = a_run("a", unowned_s=351.974, lost=1)

    assert brief(run, ["sum(unowned_s)", "rebalances", "lost"]) == (
        "352 s unowned in all, 0 rebalances, 1 record lost"
    )


def test_where_nothing_was_written_nothing_is_said_to_be_safe():
    empty = evolve(a_run("a"), has_records=False)

    for said in (headline([empty]), headline([empty, evolve(empty, name="b")])):
        assert "No record was written: none could be lost, processed twice or late." in said
        assert not any(each.startswith("Nothing was") for each in said)
    assert "lost" not in figures_of_one(empty)
    assert "lost" in figures_of_one(a_run("a"))


def test_consumers_that_ended_with_an_error_are_told_of():
    broken = evolve(a_run("b"), errors={("checkout", "FencedInstanceIdException"): 2})

    assert headline([a_run("a"), broken])[-1] == (
        "With b, consumers ended 2 times with FencedInstanceIdException."
    )
    assert headline([broken])[-1] == "Consumers ended 2 times with FencedInstanceIdException."
