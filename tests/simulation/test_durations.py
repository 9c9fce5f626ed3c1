from __future__ import annotations

import pytest

from simulation.durations import milliseconds


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0, 0),
        (250, 250),
        ("250", 250),
        ("250ms", 250),
        ("45s", 45_000),
        ("1.5s", 1_500),
        ("2m", 120_000),
        ("1h30m", 5_400_000),
        ("1d", 86_400_000),
    ],
)
def test_a_length_of_time_is_read(written, meant):
    assert milliseconds(written) == meant


@pytest.mark.parametrize("written", ["", "soon", "5 years", "s", -1, True, None, "1h oops"])
def test_a_length_of_time_is_refused(written):
    with pytest.raises(ValueError, match="a length of time must"):
        milliseconds(written)
