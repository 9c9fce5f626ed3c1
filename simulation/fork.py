"""A run that takes another turn: the same script, stopped at an event and changed in one thing.

A fork is played from the start: the same seed gives the same rows up to the chosen one, so nothing
has to be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from simulation.arguments import require_function, require_whole
from simulation.errors import SimulationError
from simulation.events import Row
from simulation.partings import parting_of
from simulation.world import Simulation

#: Fills a world and lets it run.
Script = Callable[[Simulation], object]
#: What is done to the fork, in the millisecond of the chosen event.
Change = Callable[[Simulation], object]
#: Makes an empty world for a `seed`: `partial(Simulation, brokers=1)`, or a function.
NewWorld = Callable[..., Simulation]


@frozen(kw_only=True)
class Fork:
    """Two timelines that are the same up to and including row `at`."""

    at: int
    original: Sequence[Row]
    forked: Sequence[Row]

    @property
    def first_difference(self) -> int | None:
        """The `seq` of the first row in which they differ; None if they never do."""
        return parting_of(self.original, self.forked)


def fork(
    script: Script, *, at: int, change: Change, seed: int = 0, world: NewWorld = Simulation
) -> Fork:
    """Play a script twice, the second time with a change at the end of row `at`'s millisecond.

    A row that is written between two moments of the run, such as that of a verb of the script,
    is changed when time passes again; if it never does, `SimulationError`.
    """
    require_whole("at", at, least=1)
    for what, value in (("script", script), ("change", change), ("world", world)):
        require_function(what, value)
    original = world(seed=seed)
    script(original)
    if at > len(original.events):
        raise SimulationError(f"there is no row {at} in a run of {len(original.events)} rows")
    forked = world(seed=seed)
    is_changed = False

    def make_change() -> None:
        nonlocal is_changed
        is_changed = True
        change(forked)

    forked.when(lambda row: row.seq >= at, make_change)
    script(forked)
    if not is_changed:
        raise SimulationError(f"nothing can be changed after row {at}: no time passes after it")
    return Fork(at=at, original=original.events, forked=forked.events)
