from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest
from attrs import define

from simulation.kernel import Kernel, Rank, Turn, WakeUp
from tests.support.kernels import run_until

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

    run_until(kernel, 7)

    assert taken == TURNS


def test_the_clock_stands_at_a_turns_time_while_it_runs():
    kernel, seen = Kernel(), []
    kernel.at(Turn(5, Rank.SCRIPT, "", "", 0), lambda: seen.append(kernel.now_ms))

    kernel.step()

    assert seen == [5]


def test_two_things_with_the_same_turn_are_refused():
    kernel = Kernel()
    kernel.at(TURNS[0], nothing)

    with pytest.raises(ValueError, match="taken already"):
        kernel.at(TURNS[0], nothing)


def test_nothing_can_be_asked_for_in_the_past():
    kernel = Kernel()
    run_until(kernel, 6)

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
    run_until(kernel, 6)

    with pytest.raises(ValueError, match="before the present, 6 ms"):
        kernel.carry((5, Rank.REPLY, "ada", "c1", 2, [].append, None))


@define(eq=False)
class Napper:
    """Somebody who says how often he was woken."""

    name: str = "ada"
    wakes: WakeUp | None = None
    woken: int = 0

    def wake(self) -> None:
        self.woken += 1


def test_a_sleeper_is_woken_in_the_turn_that_was_set_last():
    kernel, napper = Kernel(), Napper()
    kernel.wake_in((5, Rank.LOG, "ada", "b1", 1, None, napper))
    kernel.wake_in((7, Rank.LOG, "ada", "b1", 2, None, napper))

    kernel.run(6)
    assert napper.woken == 0

    kernel.run(7)
    assert napper.woken == 1


def test_a_sleeper_cannot_be_woken_in_the_past():
    kernel = Kernel()
    run_until(kernel, 6)

    with pytest.raises(ValueError, match="before the present, 6 ms"):
        kernel.wake_in((5, Rank.LOG, "ada", "b1", 1, None, Napper()))
