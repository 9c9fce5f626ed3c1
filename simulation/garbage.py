"""Spares Python's garbage collector what was there before.

A world of hundreds of consumers is made of a few hundred thousand objects that stay. The collector
would walk all of them again and again while new ones come and go.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def spared() -> Iterator[None]:
    """Let the collector look at what is made in here only; afterwards at everything, as before.

    Who has set objects aside already, an outer call or the user, knows what for.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
