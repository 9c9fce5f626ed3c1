"""A plugin of pytest for `python -m tests.mutants`: a fault is to be noticed, not explained.

Hypothesis would spend minutes on making a failing example small, and a test that a fault lets run
in circles would go on until all tests together have taken too long.
"""

from __future__ import annotations

import signal
from collections.abc import Generator

import pytest
from hypothesis import Phase, settings

#: No test takes so long, however busy the machine.
LONGEST_S = 420


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Leave out the phase that shrinks, whatever the profile that conftest.py has chosen."""
    settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("unshrunk")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Let a test fail that does not end."""
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(LONGEST_S)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def _give_up(_signal: int, _frame: object) -> None:
    raise TimeoutError(f"the test was not done after {LONGEST_S} s")
