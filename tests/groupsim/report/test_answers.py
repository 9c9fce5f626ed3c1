"""The sentences that a page begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from groupsim.report.answers import headline
from groupsim.report.figures import (
    brief,
    figure,
    figures_asked_for,
    figures_of_one,
    figures_that_differ,
    value_of,
)
from groupsim.report.growth import Wait
from groupsim.report.members import BROKEN, Mark
from groupsim.report.story import RunStory
from simulation.measures import MEASURES, Member, Place, Tally
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


def a_growth(name: str, seconds: int, *, is_read: bool = True) -> RunStory:
    """A run in which a new partition waited so long for a reader, who came or did not."""
    wait = Wait(10_000, 10_000 + seconds * 1_000, is_over=is_read)
    return evolve(a_run(name), waits={Place("checkout", "orders", 5): wait})


def a_loss(records: int) -> Tally:
    return Tally(place=Place("checkout", "orders", 0), records=records, cause="it was")


def told(unowned_s: Mapping[str, float]) -> str:
    """What is said first of runs that were so long without an owner."""
    return headline([a_run(name, unowned_s=seconds) for name, seconds in unowned_s.items()])[0]


def test_the_answer_of_one_run_begins_with_its_worst_partition():
    first, second, *_ = headline([story_of(a_death)])

    assert first == (
        "orders-2 of checkout had no owner for 45.4 s in all, the worst of all partitions;"
        " all 6 together 137 s."
    )
    assert second == "There was 1 rebalance after the start, which took 3.0 s."


def test_a_partition_that_never_had_an_owner_is_not_said_to_have_had_one():
    run = a_run("a")
    never_owned = evolve(run, measures=evolve(run.measures, unowned_s={}))

    assert headline([never_owned])[0] == "No partition lost its owner."


def test_of_several_runs_the_best_and_the_worst_are_named():
    assert told({"eager": 1_204.2, "surge": 138.787, "static": 415.0}) == (
        "Partitions were left without an owner for 139 s with surge, the"
        " least; 1,204 s with eager, the most."
    )


def unowned_in(places: Sequence[Place], name: str = "a", seconds: float = 10.0) -> RunStory:
    """A run with so much time without an owner for each of these."""
    run = a_run(name)
    return evolve(run, measures=evolve(run.measures, unowned_s=dict.fromkeys(places, seconds)))


def test_a_sum_says_over_how_many_partitions_it_is():
    two, three = ([Place("checkout", "orders", n) for n in range(count)] for count in (2, 3))
    runs = [unowned_in(two, "a", 1.0), unowned_in(two, "b"), unowned_in(three, "c")]

    assert headline(runs[:2])[0] == (
        "Partitions were left without an owner for 2.0 s, summed over all 2, with a; 20.0 s with b."
    )
    assert headline(runs[1:])[0] == (
        "Partitions were left without an owner for 20.0 s, summed over all of"
        " them, with b; 30.0 s with c."
    )


def test_one_partition_is_no_sum():
    assert headline([a_run("a", unowned_s=10.0)])[0] == (
        "orders-0 of checkout had no owner for 10.0 s in all."
    )
    assert told({"a": 10.0, "b": 3.0}) == (
        "Partitions were left without an owner for 3.0 s with b; 10.0 s with a."
    )


def test_a_partition_that_two_groups_read_is_one_partition():
    shared = [Place(group, "orders", n) for group in ("billing", "checkout") for n in range(4)]
    own = [Place(group, group, n) for group in ("billing", "checkout") for n in range(4)]

    assert headline([unowned_in(shared)])[0].endswith(
        "; all 4 in each group that reads them together 80.0 s."
    )
    assert headline([unowned_in(own)])[0].endswith("; all 8 together 80.0 s.")


def test_two_runs_need_no_word_for_least_and_most():
    assert told({"eager": 12.34, "static": 0.5}) == (
        "Partitions were left without an owner for 500 ms with static; 12.3 s with eager."
    )


def test_runs_that_have_the_same_are_named_together():
    assert told({"a": 30.0, "b": 0.0, "c": 10.0, "d": 0.0}) == (
        "Partitions were left without an owner for 30.0 s with a, the most;"
        " not at all with b and d."
    )


def test_runs_of_one_name_keep_their_own_numbers():
    runs = [a_run("mine", unowned_s=seconds) for seconds in (40.0, 20.0, 10.0)]

    assert headline(runs)[0].startswith("Partitions were left without an owner for 10.0 s")
    assert headline(runs)[0].endswith("; 40.0 s with mine, the most.")


def test_a_run_that_has_nothing_to_tell_silences_no_other_of_its_name():
    late, early = a_growth("mine", 240), a_growth("mine", 3)

    assert headline([late, early, a_run("mine")])[0] == (
        "A new partition waited 3.0 s for a reader with mine; 240 s with mine."
    )


def test_many_that_have_the_same_are_counted():
    assert told({"a": 30.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0}) == (
        "Partitions were left without an owner for 30.0 s with a; not at all with 4 of the 5."
    )


def test_what_everybody_fears_is_told_even_if_it_is_the_same_everywhere():
    assert headline([a_run("a"), a_run("b")]) == ALIKE


def test_what_each_of_them_lost_is_said_once():
    _, second, *_ = headline([a_run("a", lost=1), a_run("b", lost=1)])

    assert second == "Lost: 1 record in each of them."


def test_a_run_that_did_not_hold_is_named():
    failed = a_run("b", expectations=[{"text": "lost == 0", "figure": 1, "holds": False}])

    assert headline([a_run("a"), failed]) == [*ALIKE, "b: 1 of 1 expectation failed."]


def a_rebalance(run: RunStory, ended_in: str | None, *, times: int = 1) -> RunStory:
    """The run with so many rebalances that ended in this state, or did not end."""
    first = evolve(story_of(a_death).measures.rebalances[0], ended_in=ended_in)
    return evolve(run, measures=evolve(run.measures, rebalances=(first,) * times))


def test_a_run_that_ends_within_a_rebalance_is_named():
    at_rest, busy = (
        a_rebalance(a_run(name), state) for name, state in (("a", "Stable"), ("b", None))
    )

    assert headline([at_rest, busy])[-1] == "At the end, b was still rebalancing."
    assert headline([busy])[-1] == "When the run ended, the last rebalance had not."
    assert not any("ended" in said for said in headline([at_rest]))


def test_many_runs_that_end_within_a_rebalance_are_named():
    busy = [a_rebalance(a_run(name), None) for name in "abcd"]

    assert headline([*busy, a_rebalance(a_run("e"), "Stable")])[-1] == (
        "At the end, a, b, c and d were still rebalancing."
    )


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


def test_a_sum_of_hours_has_the_unit_of_those_beside_it():
    assert told({"a": 61_234.0, "b": 332.0}).endswith("; 61,234 s with a.")


def test_of_several_runs_those_numbers_come_first_that_differ():
    names = figures_that_differ([story_of(a_death), story_of(a_ghost)])

    assert len(names) == 3
    assert names[0] == "sum(unowned_s)"
    assert "lost" not in names


def test_some_numbers_of_a_run_fit_into_a_line():
    run = a_run("a", unowned_s=351.974, lost=1)

    assert brief(run, ["sum(unowned_s)", "rebalances", "lost"]) == (
        "352 s unowned in sum, 0 rebalances, 1 record lost"
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
        "With b, 2 consumers ended with FencedInstanceIdException."
    )
    assert headline([broken])[-1] == "2 consumers ended with FencedInstanceIdException."


def test_a_consumer_that_ended_again_and_again_is_one_consumer():
    ends = [
        Mark(
            member=Member("checkout", "ada"),
            what=BROKEN,
            at_ms=at_ms,
            detail="FencedInstanceIdException, FENCED_INSTANCE_ID",
        )
        for at_ms in (10_000, 20_000)
    ]
    broken = evolve(a_run("b"), errors={("checkout", "FencedInstanceIdException"): 2}, marks=ends)

    assert headline([broken])[-1] == "1 consumer ended 2 times with FencedInstanceIdException."


def test_everybody_who_lost_records_is_named():
    lost = {"a": 0, "b": 3, "c": 40, "d": 40, "e": 500}

    first, *_ = headline([a_run(name, lost=records) for name, records in lost.items()])

    assert first == (
        "Nothing was lost with a; 3 records with b, 40 records with c and d and"
        " 500 records with e, the most."
    )


def test_many_that_lost_the_same_are_named_too():
    lost = {"a": 0, "b": 40, "c": 40, "d": 40, "e": 40}

    first, *_ = headline([a_run(name, lost=records) for name, records in lost.items()])

    assert first == "Nothing was lost with a; 40 records with b, c, d and e."


def test_what_the_expectations_name_comes_first():
    expected = [{"text": "commits_refused == 2", "figure": 2, "holds": True}]
    refused = {Member("checkout", "ada"): {"UNKNOWN_MEMBER_ID": 2}}
    first, second = a_run("a", unowned_s=3.0, expectations=expected), a_run("b")
    measures = evolve(second.measures, commits_refused=refused)
    runs = [first, evolve(second, measures=measures)]

    assert figures_that_differ(runs)[:2] == ["commits_refused", "sum(unowned_s)"]
    assert headline(runs)[0] == "No commit was refused with a; 2 commits with b."


def asked(*texts: str) -> list[str]:
    """What is asked for by these expectations, beside what always is."""
    expected = [{"text": text, "figure": 0, "holds": True} for text in texts]
    return [
        name
        for name in figures_asked_for([a_run("a", expectations=expected)])
        if name not in figures_asked_for([a_run("a")])
    ]


def test_every_measure_can_be_asked_for():
    assert [name for name in MEASURES if name not in asked(f"{name} < 3")] == []


def test_a_measure_is_asked_for_whatever_is_made_of_it():
    assert asked("mean(lag_s) < 3") == ["lag_s"]
    assert asked("sum(unowned_s) < 40") == ["sum(unowned_s)"]


def test_a_group_that_is_called_like_a_measure_asks_for_nothing():
    assert asked("lost is Stable", "lost has 3 members") == []


def test_a_rate_that_is_small_is_not_said_to_be_nothing():
    expected = [{"text": "commits_per_s < 3", "figure": 0.02, "holds": True}]
    run = a_run("a", expectations=expected)
    measures = evolve(run.measures, commits={Member("checkout", "ada"): 2}, until_ms=100_000)

    assert "The group made 0.02 commits a second." in headline([evolve(run, measures=measures)])


def test_little_of_something_is_no_merit_of_a_run_that_lost_records():
    runs = [
        a_run("a", unowned_s=1.0, lost=7),
        a_run("b", unowned_s=2.0),
        a_run("c", unowned_s=3.0),
    ]

    assert headline(runs)[1] == (
        "Partitions were left without an owner for 1.0 s with a (which lost 7"
        " records); 3.0 s with c, the most."
    )


def test_few_rebalances_are_no_merit_where_consumers_failed():
    broken = evolve(a_run("a"), errors={("checkout", "FencedInstanceIdException"): 1})
    runs = [a_rebalance(a_run(name), "Stable", times=times) for name, times in (("b", 2), ("c", 3))]

    assert headline([a_rebalance(broken, "Stable"), *runs])[0] == (
        "It took 1 rebalance, the start included, with a (where consumers failed);"
        " 3 rebalances with c, the most."
    )


def test_how_long_nobody_noticed_a_death_is_not_told_where_nobody_died():
    quiet, dead = a_run("a"), evolve(a_run("b"), measures=story_of(a_death).measures)

    assert value_of(quiet, "detection_s") is None
    assert figure(quiet, "detection_s").value == "-"
    assert not any("noticed" in said for said in headline([quiet, evolve(quiet, name="c")]))
    assert "A death went unnoticed for 42.0 s." in headline([dead])


def test_the_wait_of_new_partitions_is_told():
    late, early = a_growth("a", 240), a_growth("b", 3)

    assert headline([late, early])[0] == (
        "A new partition waited 3.0 s for a reader with b; 240 s with a."
    )
    assert "A new partition waited 240 s for a reader." in headline([late])


def test_a_new_partition_that_nobody_has_read_is_told():
    never, late = a_growth("a", 240, is_read=False), a_growth("b", 240)

    assert headline([never])[-1] == "At the end, 1 new partition still had no reader in checkout."
    assert headline([never, late])[-1] == (
        "At the end, 1 new partition still had no reader in checkout with a."
    )
    assert not any("At the end" in said for said in headline([late]))


def test_the_meaning_of_a_number_says_of_what_it_is():
    run = a_run("a")

    assert figure(run, "lag").meaning.endswith("; the worst partition")
    assert figure(run, "sum(unowned_s)").meaning.endswith("all partitions together")
