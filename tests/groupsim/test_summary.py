"""The words and numbers of a summary."""

from __future__ import annotations

import pytest
from attrs import evolve

from groupsim.commands.results import GroupFigures
from groupsim.commands.summary import facts_of, figure_text, number, told_missed
from simulation.measures import Measures, Place, Tally, measure
from simulation.scenarios import Scenario
from simulation.scenarios.results import Missed
from tests.groupsim.runs import a_death, rows_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_200, "1,200"),
        (1_991.9409999999998, "1,991.941"),
        (0.009, "0.009"),
        (0.0, "0.000"),
        (431 / 864_000, "0.000499"),
        (433 / 864_000, "0.000501"),
    ],
)
def test_a_number_keeps_the_digits_that_tell_it_from_others(value, text):
    assert number(value) == text


def test_a_time_of_what_never_happened_is_a_dash():
    found = measure(rows_of(a_death))

    nobody_died = evolve(found, deaths=())

    assert figure_text(found, "detection_s") == "42.009"
    assert figure_text(nobody_died, "detection_s") == "-"
    assert figure_text(nobody_died, "lost") == "0"


def told(name: str, measures: Measures) -> str:
    return dict(facts_of(GroupFigures("checkout", measures)))[name]


def losses(*records: int) -> Measures:
    place = Place("checkout", "orders", 0)
    tallies = tuple(
        Tally(place=place, records=count, cause=f"cause {n}") for n, count in enumerate(records, 1)
    )
    return evolve(measure(rows_of(a_death)), lost=tallies)


def test_a_single_cause_needs_no_second_number():
    assert told("lost", losses(20)) == "20 records because cause 1"


def test_a_cause_in_several_partitions_says_in_how_many():
    found = losses(8, 8, 8)
    tallies = [
        evolve(each, place=each.place._replace(partition=n), cause="bea went from 2 to 10: reset")
        for n, each in enumerate(found.lost)
    ]

    told_once = told("lost", evolve(found, lost=tuple(tallies)))

    assert told_once == "24 records in 3 partitions because bea went from 2 to 10: reset"


def test_of_many_causes_the_rest_is_counted_with_its_records():
    assert told("lost", losses(50, 40, 30, 20, 10)) == (
        "150 records: 50 because cause 1; 40 because cause 2; 30 because cause 3;"
        " 30 for 2 other causes"
    )


def test_a_single_death_is_noticed_after_a_time_and_several_at_most():
    found = measure(rows_of(a_death))

    assert told("deaths", found) == "1, noticed after 42.0 s"
    first = found.deaths[0]
    both = evolve(found, deaths=(first, evolve(first, client="cat")))
    assert told("deaths", both) == "2, noticed after 42.0 s at most"


def test_a_death_that_nobody_notices_is_not_said_to_be_noticed():
    found = measure(rows_of(a_death))
    unnoticed = evolve(found.deaths[0], client="cat", died_ms=found.until_ms - 5_000)

    alone = evolve(found, deaths=(evolve(unnoticed, removed_ms=None),))
    both = evolve(found, deaths=(found.deaths[0], *alone.deaths))

    assert told("deaths", alone) == "1, not noticed for 5.0 s up to the end"
    assert told("deaths", both) == "2, noticed after 42.0 s; 1 not noticed for 5.0 s up to the end"


def test_of_many_orders_to_nobody_the_first_are_told():
    missed = [Missed(at_ms=n * 10_000, whom="leader of checkout") for n in range(1, 6)]

    assert told_missed(missed[:1]) == ("the script found nobody for: leader of checkout at 10.0 s")
    assert told_missed(missed).endswith("leader of checkout at 30.0 s and 2 others")


def test_an_entry_that_finds_one_of_two_is_not_said_to_do_nothing():
    scenario = Scenario.from_yaml(
        "cluster: {topics: {orders: {partitions: 2}}}\n"
        "groups: {checkout: {members: [ada, bea], subscribe: orders}}\n"
        "script: [{at: 2s, crash: [ada, owner of orders-0]}]\n"
        "run_for: 20s\n"
    )

    result = scenario.play()

    assert [death.client for death in result.measures.deaths] == ["ada"]
    assert told_missed(result.missed) == ("the script found nobody for: owner of orders-0 at 2.0 s")
