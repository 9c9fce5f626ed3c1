from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from simulation.kernel import Kernel, Rank, Turn, WakeUp

TURNS = [
    Turn(5, Rank.SCRIPT, "", "", 0),
    Turn(7, Rank.TIMER, "1", "", 1),
    Turn(7, Rank.REQUEST, "ada", "", 4),
    Turn(7, Rank.REQUEST, "bea", "", 3),
]


def nothing() -> None:
    """What happens when nothing does."""


@pytest.mark.parametrize("asked", list(permutations(TURNS)))
def test_the_order_of_turns_does_not_depend_on_the_order_of_asking(asked):
    kernel = Kernel()
    taken: list[Turn] = []
    for turn in asked:
        kernel.at(turn, partial(taken.append, turn))

    kernel.run(7)

    assert taken == TURNS


def test_the_clock_stands_at_a_turns_time_while_it_runs():
    kernel, seen = Kernel(), []
    kernel.at(Turn(5, Rank.SCRIPT, "", "", 0), lambda: seen.append(kernel.now_ms))

    kernel.run(5)

    assert seen == [5]


def test_two_things_with_the_same_turn_are_refused():
    kernel = Kernel()
    kernel.at(TURNS[0], nothing)

    with pytest.raises(ValueError, match="taken already"):
        kernel.at(TURNS[0], nothing)


def test_nothing_can_be_asked_for_in_the_past():
    kernel = Kernel()
    kernel.run(6)

    with pytest.raises(ValueError, match="before the present, 6 ms"):
        kernel.at(TURNS[0], nothing)


def test_an_errand_has_its_place_among_the_turns():
    kernel = Kernel()
    seen: list[str] = []
    kernel.at(Turn(5, Rank.REPLY, "ada", "c1", 1), partial(seen.append, "a turn before"))
    kernel.at(Turn(5, Rank.CONSUMER, "ada"), partial(seen.append, "a turn after"))
    kernel.carry((5, Rank.REPLY, "ada", "c1", 2, seen.append, "an errand"))

    kernel.run(5)

    assert seen == ["a turn before", "an errand", "a turn after"]


def test_an_errand_cannot_be_run_in_the_past():
    kernel = Kernel()
    kernel.run(6)

    with pytest.raises(ValueError, match="before the present, 6 ms"):
        kernel.carry((5, Rank.REPLY, "ada", "c1", 2, [].append, None))


@define(eq=False)
class Dozer:
    """Somebody who notes when he is woken."""

    kernel: Kernel
    name: str = "ada"
    wakes: WakeUp | None = None
    wakes_ms: int = 0
    woken_ms: list[int] = field(factory=list)

    def wake(self) -> None:
        self.wakes = None
        self.woken_ms.append(self.kernel.now_ms)


def test_a_sleeper_is_woken_at_the_time_that_was_set_last_and_at_no_other():
    kernel = Kernel()
    ada = Dozer(kernel)
    for at_ms in (500, 900, 700):
        kernel.wake_at(at_ms, ada)

    kernel.run(2_000)

    assert ada.woken_ms == [700]


def test_the_next_turn_is_that_of_a_sleeper_when_he_was_put_off():
    kernel = Kernel()
    ada = Dozer(kernel)

    kernel.wake_at(500, ada)
    kernel.wake_at(900, ada)

    assert kernel.next_at_ms() == 900


def test_a_sleeper_who_was_put_off_is_woken_in_one_turn():
    kernel = Kernel()
    ada = Dozer(kernel)
    kernel.wake_at(500, ada)
    kernel.wake_at(900, ada)

    kernel.run(900)

    assert (ada.woken_ms, kernel.turns) == ([900], 1)


def test_a_sleeper_who_is_to_be_left_alone_is_not_woken():
    kernel = Kernel()
    ada = Dozer(kernel)
    kernel.wake_at(500, ada)

    ada.wakes = None
    kernel.run(2_000)

    assert (ada.woken_ms, kernel.turns, kernel.next_at_ms()) == ([], 0, None)


def test_nobody_is_woken_in_the_past():
    kernel = Kernel()
    kernel.run(600)
    ada = Dozer(kernel)

    kernel.wake_at(500, ada)
    kernel.run(2_000)

    assert ada.woken_ms == [600]


@given(times=st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 3_000)), max_size=30))
def test_turns_run_in_order_however_far_ahead_they_were_asked_for(times):
    kernel = Kernel()
    ran_ms: list[int] = []

    def ask_again(after_ms: int) -> None:
        ran_ms.append(kernel.now_ms)
        if after_ms is not None:
            number = 1_000 + len(ran_ms)
            at_ms = kernel.now_ms + after_ms
            kernel.carry((at_ms, Rank.REPLY, "", "", number, ask_again, None))

    for number, (at_ms, after_ms) in enumerate(times):
        kernel.carry((at_ms, Rank.REPLY, "", "", number, ask_again, after_ms))
    for until_ms in (700, 701, 9_000):
        kernel.run(until_ms)

    assert ran_ms == sorted([at_ms for at_ms, _ in times] + [sum(each) for each in times])


def test_a_sleeper_can_be_woken_in_a_turn_of_his_own():
    kernel = Kernel()
    ada = Dozer(kernel)
    kernel.wake_in((5, Rank.LOG, "ada", "b1", 1, None, ada))
    kernel.wake_in((7, Rank.LOG, "ada", "b1", 2, None, ada))

    kernel.run(9)

    assert ada.woken_ms == [7]


def test_no_turn_of_a_sleepers_own_lies_in_the_past():
    kernel = Kernel()
    kernel.run(6)

    with pytest.raises(ValueError, match="before the present, 6 ms"):
        kernel.wake_in((5, Rank.LOG, "ada", "b1", 1, None, Dozer(kernel)))


def test_what_is_played_aside_in_a_turn_that_was_asked_for_late_goes_as_far_as_all_else():
    kernel = Kernel()
    ada = Dozer(kernel)
    seen: list[list[int]] = []

    def wake() -> None:
        kernel.play_aside([(5, ada)])
        seen.append(list(ada.woken_ms))

    kernel.at(Turn(5, Rank.SCRIPT), partial(kernel.at, Turn(5, Rank.LOG), wake))
    kernel.run(9)

    assert seen == [[5]]


def test_what_is_played_aside_after_an_alarm_goes_no_further_than_all_else():
    kernel = Kernel()
    ada = Dozer(kernel)
    alarms: list[str] = []
    kernel.at(Turn(5, Rank.REPLY), partial(alarms.append, "an alarm"))

    kernel.run(9, alarms)
    kernel.play_aside([(5, ada)])

    assert (ada.woken_ms, kernel.now_ms, kernel.is_present_over) == ([], 5, False)


def test_what_is_played_aside_between_turns_goes_to_the_end_of_the_present():
    kernel = Kernel()
    ada = Dozer(kernel)

    kernel.run(5)
    kernel.play_aside([(5, ada)])

    assert (ada.woken_ms, kernel.now_ms, kernel.is_present_over) == ([5], 5, True)
