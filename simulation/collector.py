"""Python's collector of cyclic garbage, while a run is played."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: So many new objects are waited for before the collector looks at them.
_YOUNG_OBJECTS = 200_000


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Let the collector wait for more new objects than usual; afterwards all is as before.

    Requests, timers and turns live for seconds of virtual time and are freed when they are done.
    A collector that looks at every 700 takes them for old, and then for a world that has grown and
    has to be gone through as a whole, again and again. What it has put off is done at the end,
    before it is set back: it would fall into whatever comes next. So would the look at everything
    that Python takes when there is a quarter more of it.
    """
    young, *older = gc.get_threshold()
    if not 0 < young < _YOUNG_OBJECTS:
        yield  # It is off, or as patient already.
        return
    gc.set_threshold(_YOUNG_OBJECTS, *older)
    blocks = sys.getallocatedblocks()
    try:
        yield
    finally:
        new, looks, _ = gc.get_count()
        if new > young or looks:
            has_grown = sys.getallocatedblocks() * 4 > blocks * 5
            gc.collect(2 if has_grown else 1)
        gc.set_threshold(young, *older)
