"""What a campaign looks at besides the checkers' sentences, while a world goes by.

The coordinators' own invariants, whether an application ended in a way that Kafka's consumer never
ends, and whether a world runs away. Invariants are dear, so they are looked at when a group moves
and, by the number of the row, now and then in between.
"""

from __future__ import annotations

from attrs import define, field

from client.assignors.sticky_constrained import NOBODY_LEFT
from coordinator.invariants import check_all
from simulation.errors import SimulationError
from simulation.events import EventKind, Row, WorldEventKind
from simulation.world import Simulation

#: One row in so many, besides those that tell of a group's moves.
_LOOKS_EACH = 16
#: No world of a campaign has more to tell.
ROWS_MAX = 200_000
#: How an application may end, by Kafka's own rules, through no fault of its own.
_ENDS = frozenset(
    {
        "FencedInstanceIdException",  # another process took its instance id
        # A coordinator that loads a group knows each member's chosen protocol only, not the others.
        "InconsistentGroupProtocolException",
        "WakeupException",  # it was told to stop where its poll loop does not listen
    }
)
#: And with what words: the sticky assignor gives up over claims to partitions that its leader does
#: not know of; and who syncs does not expect its coordinator to be loading.
_LAST_WORDS = (NOBODY_LEFT, "reply of the coordinator: COORDINATOR_LOAD_IN_PROGRESS")


class UnexpectedEnd(SimulationError):
    """A consumer's application ended with an error that nothing in its world explains."""


class RunsAway(SimulationError):
    """A world tells more than any world should: something goes round in circles."""


@define(eq=False)
class Inspector:
    """Looks at a running world after each of its rows."""

    sim: Simulation
    _faulty: set[int] = field(factory=set, init=False)

    def see(self, row: Row) -> None:
        """Raise what is wrong."""
        if row.kind == EventKind.INTERNAL_FAULT.value and row.broker is not None:
            self._faulty.add(row.broker)
        if row.kind == WorldEventKind.CONSUMER_STOPPED.value and not _is_kafkas_own_end(row):
            raise UnexpectedEnd(f"{row.client} ended with {row.error}, row {row.seq}")
        if row.seq > ROWS_MAX:
            raise RunsAway(f"row {row.seq} at {row.at_ms} ms")
        if row.kind == EventKind.STATE_CHANGED.value or row.seq % _LOOKS_EACH == 0:
            self.check()

    def check(self) -> None:
        """Hold every coordinator that is up to its invariants."""
        for broker in self.sim.stage.brokers.values():
            if broker.is_up:
                check_all(broker.machine, had_fault=broker.id in self._faulty)


def _is_kafkas_own_end(row: Row) -> bool:
    return row.error in (None, *_ENDS) or (row.detail or "").endswith(_LAST_WORDS)
