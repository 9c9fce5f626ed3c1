from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.chance import LAN, Dice, Law, between, draw, fixed, stream_key, wait_ms

NUMBERS = st.integers(0, 2**40)
DRAWN = st.integers(0, 2**64 - 1)


def test_a_draw_follows_from_seed_name_and_number_alone():
    first = [draw(stream_key(7, "ada"), k) for k in range(3)]

    assert first == [draw(stream_key(7, "ada"), k) for k in range(3)]
    assert first != [draw(stream_key(7, "bea"), k) for k in range(3)]
    assert first != [draw(stream_key(8, "ada"), k) for k in range(3)]


def test_a_draw_is_the_same_on_every_machine():
    # splitmix64 by its authors: the first outputs for the seed 1234567.
    golden = 0x9E3779B97F4A7C15

    assert [draw(1234567, k) for k in (1, 2)] == [6457827717110365317, 3203168211198807973]
    assert draw(1234567 + golden, 0) == 6457827717110365317


@given(k=NUMBERS)
def test_a_draw_has_64_bits(k):
    assert 0 <= draw(stream_key(0, "any"), k) < 2**64


@given(drawn=DRAWN)
def test_a_law_stays_between_its_least_and_its_longest(drawn):
    law = Law((1, 3, 3, 10, 200))

    assert 1 <= law.of(drawn) <= law.longest_ms == 200


def test_a_law_meets_its_quantiles():
    law = between(10, 20)

    assert [law.of(part << 62) for part in range(4)] == [10, 12, 15, 17]


def test_half_of_all_draws_are_up_to_the_nominal_one():
    draws = [LAN.of(draw(stream_key(0, "link"), k)) for k in range(2_000)]

    assert sum(each <= LAN.nominal_ms for each in draws) > 1_000


def test_a_fixed_law_has_no_chance():
    assert {fixed(5).of(part << 60) for part in range(16)} == {5}


def test_a_slower_law_is_slower_by_that():
    assert LAN.slower_by(100).quantiles == tuple(each + 100 for each in LAN.quantiles)


@pytest.mark.parametrize("quantiles", [(), (0, 1), (3, 2)], ids=["none", "no time", "falling"])
def test_a_law_is_refused_with(quantiles):
    with pytest.raises(ValueError, match="quantiles"):
        Law(quantiles)


def test_waits_are_as_long_as_they_should_be_on_average():
    waits = [wait_ms(60_000, draw(stream_key(0, "faults"), k)) for k in range(4_000)]

    assert sum(waits) / len(waits) == pytest.approx(60_000, rel=0.1)


@given(now_ms=NUMBERS, bound=st.integers(1, 100))
def test_dice_choose_by_the_moment(now_ms, bound):
    dice = Dice(stream_key(0, "ada/choices"), lambda: now_ms)

    assert 0.8 <= dice.jitter() == dice.jitter() < 1.2
    assert 0 <= dice.pick(bound) == dice.pick(bound) < bound


def test_back_offs_are_stretched_by_all_factors_alike():
    stream = stream_key(0, "ada/choices")
    factors = [Dice(stream, partial(int, now_ms)).jitter() for now_ms in range(1_000)]

    counts = [sum(n <= 10 * factor < n + 1 for factor in factors) for n in (8, 9, 10, 11)]

    assert all(200 <= count <= 300 for count in counts)


@pytest.mark.parametrize("law", [LAN, fixed(3), between(2, 9)], ids=["lan", "fixed", "between"])
def test_a_length_drawn_in_one_go_is_that_of_the_draw(law):
    stream = stream_key(0, "link")

    lengths = [law.drawn(stream, k) for k in range(200)]

    assert lengths == [law.of(draw(stream, k)) for k in range(200)]
