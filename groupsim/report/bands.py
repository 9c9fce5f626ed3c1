"""What groups went through, and what was wrong around them: their states, faults, dead brokers."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field, frozen

from coordinator import GroupState
from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler

__all__ = ["BandFold", "StateStay", "Trouble"]


@frozen(kw_only=True)
class StateStay:
    """A stay of a group in a state."""

    group: str
    state: str
    generation: int | None
    members: int
    from_ms: int
    to_ms: int


@frozen(kw_only=True)
class Trouble:
    """A fault, or a broker that is down."""

    what: str
    from_ms: int
    to_ms: int


@define(eq=False)
class BandFold:
    """States and troubles, as rows tell."""

    _stays: list[StateStay] = field(factory=list, init=False)
    _present: dict[str, Row] = field(factory=dict, init=False)
    _troubles: list[Trouble] = field(factory=list, init=False)
    #: What is wrong now, and since when.
    _wrong: dict[str, int] = field(factory=dict, init=False)

    def handlers(self) -> Mapping[Kind, Handler]:
        """The moves of groups; what breaks and what is mended."""
        return {
            EventKind.GROUP_CREATED: self._on_state,
            EventKind.GROUP_LOADED: self._on_state,
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.GROUP_REMOVED: self._on_removed,
            WorldEventKind.FAULT_STARTED: lambda row: self._break(row.detail or "a fault", row),
            WorldEventKind.FAULT_HEALED: lambda row: self._mend(row.detail or "a fault", row),
            WorldEventKind.BROKER_CRASHED: lambda row: self._break(_down(row), row),
            WorldEventKind.BROKER_RESTARTED: lambda row: self._mend(_down(row), row),
        }

    def states(self, now_ms: int) -> list[StateStay]:
        """Every stay of every group, in the order in which they began."""
        open_ones = [_stay(row, now_ms) for row in self._present.values()]
        known = [stay for stay in (*self._stays, *open_ones) if stay.to_ms > stay.from_ms]
        return sorted(known, key=lambda stay: (stay.from_ms, stay.group))

    def troubles(self, now_ms: int) -> list[Trouble]:
        """Everything that was wrong, in the order in which it began."""
        open_ones = [
            Trouble(what=what, from_ms=from_ms, to_ms=now_ms)
            for what, from_ms in self._wrong.items()
        ]
        return sorted((*self._troubles, *open_ones), key=lambda each: (each.from_ms, each.what))

    def _on_state(self, row: Row) -> None:
        self._close(row)
        if row.state != GroupState.DEAD.value:
            self._present[row.group or ""] = row

    def _on_removed(self, row: Row) -> None:
        self._close(row)

    def _close(self, row: Row) -> None:
        if (before := self._present.pop(row.group or "", None)) is not None:
            self._stays.append(_stay(before, row.at_ms))

    def _break(self, what: str, row: Row) -> None:
        self._wrong.setdefault(what, row.at_ms)

    def _mend(self, what: str, row: Row) -> None:
        if (from_ms := self._wrong.pop(what, None)) is not None:
            self._troubles.append(Trouble(what=what, from_ms=from_ms, to_ms=row.at_ms))


def _stay(row: Row, to_ms: int) -> StateStay:
    return StateStay(
        group=row.group or "",
        state=row.state or "",
        generation=row.generation,
        members=row.count or 0,
        from_ms=row.at_ms,
        to_ms=to_ms,
    )


def _down(row: Row) -> str:
    return f"broker {row.broker} is down"
