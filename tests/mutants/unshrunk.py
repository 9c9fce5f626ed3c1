"""A plugin of pytest for `python -m tests.mutants`: a fault is to be noticed, not explained.

Hypothesis would spend minutes on making a failing example small.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Leave out the phase that shrinks, whatever the profile that conftest.py has chosen."""
    settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("unshrunk")
