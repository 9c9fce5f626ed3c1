"""What groups went through, and what was done around them: their states, faults, changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from attrs import define, evolve, field, frozen

from coordinator import GroupState
from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler
from simulation.sentences import counted

__all__ = ["NO_COORDINATOR", "BandFold", "StateStay", "Trouble"]

#: What a group is while no broker answers for it, beside the states of a coordinator.
NO_COORDINATOR = "no coordinator"

# fmt: off

#: The words of a script for a fault, and ours.
_FAULTS: Mapping[re.Pattern[str], str] = {
    re.compile(r"partition (.+) from broker (\d+)"): r"\1 is cut off from broker \2",
    re.compile(r"partition (.+) from broker (\d+) one_way to_broker"):
        r"nothing of \1 reaches broker \2",
    re.compile(r"partition (.+) from broker (\d+) one_way to_client"):
        r"nothing of broker \2 reaches \1",
    re.compile(r"hold all of (.+) to broker (\d+)"):  r"requests of \1 to broker \2 are held",
    re.compile(r"hold (.+) of (.+) to broker (\d+)"): r"\1 of \2 to broker \3 is held",
    re.compile(r"slow (.+) to broker (\d+) by (\w+)"):
        r"messages of \1 and broker \2 take \3 longer",
    re.compile(r"slow_append (.+) by (\w+)"):         r"the log of \1 takes \2 to write",
    re.compile(r"fail_append (.+)"):                  r"the log of \1 takes no writes",
    # Recordings from before faults said how much.
    re.compile(r"slow (.+) to broker (\d+)"):         r"messages of \1 and broker \2 are slow",
    re.compile(r"slow_append (.+)"):                  r"the log of \1 is slow to write",
}

# fmt: on


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
    """A fault, a broker that is down, or what a script changed: that takes no time."""

    what: str
    from_ms: int
    to_ms: int


@define(eq=False)
class BandFold:
    """States and troubles, as rows tell."""

    #: Since when the partitions of the offsets topic that are being read have been read.
    _loading: dict[int | None, int] = field(factory=dict, init=False)
    _stays: list[StateStay] = field(factory=list, init=False)
    _present: dict[str, Row] = field(factory=dict, init=False)
    _troubles: dict[Trouble, None] = field(factory=dict, init=False)
    #: What is wrong now, and since when.
    _wrong: dict[str, int] = field(factory=dict, init=False)

    def handlers(self) -> Mapping[Kind, Handler]:
        """The moves of groups; what breaks and what is mended."""
        return {
            EventKind.GROUP_CREATED: self._on_state,
            EventKind.GROUP_LOADED: self._on_state,
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.GROUP_REMOVED: self._on_removed,
            EventKind.SHARD_LOADING: self._on_loading,
            EventKind.SHARD_LOADED: self._on_loaded,
            WorldEventKind.FAULT_STARTED: lambda row: self._break(_fault(row), row),
            WorldEventKind.FAULT_HEALED: lambda row: self._mend(_fault(row), row),
            WorldEventKind.BROKER_CRASHED: self._on_crashed,
            WorldEventKind.BROKER_RESTARTED: lambda row: self._mend(_down(row), row),
            **dict.fromkeys(_CHANGES, self._on_change),
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
        # It is dead where its broker gave it up; another will read it from the log.
        is_dead = row.state == GroupState.DEAD.value
        self._present[row.group or ""] = evolve(row, state=NO_COORDINATOR) if is_dead else row

    def _on_crashed(self, row: Row) -> None:
        self._break(_down(row), row)
        for group, before in list(self._present.items()):
            if before.broker == row.broker:
                self._close(evolve(before, at_ms=row.at_ms))
                self._present[group] = evolve(before, at_ms=row.at_ms, state=NO_COORDINATOR)

    def _on_loading(self, row: Row) -> None:
        self._loading[row.partition] = row.at_ms

    def _on_loaded(self, row: Row) -> None:
        """A group that is not there by now was not in the log."""
        since_ms = self._loading.pop(row.partition, None)
        if since_ms in self._loading.values():
            return  # it may be in the log of another that is still being read
        for each in list(self._present.values()):
            if each.state == NO_COORDINATOR and each.at_ms == since_ms:
                self._close(evolve(each, at_ms=row.at_ms))

    def _on_removed(self, row: Row) -> None:
        self._close(row)

    def _close(self, row: Row) -> None:
        if (before := self._present.pop(row.group or "", None)) is not None:
            self._stays.append(_stay(before, row.at_ms))

    def _break(self, what: str, row: Row) -> None:
        self._wrong.setdefault(what, row.at_ms)

    def _mend(self, what: str, row: Row) -> None:
        if (from_ms := self._wrong.pop(what, None)) is not None:
            self._troubles[Trouble(what=what, from_ms=from_ms, to_ms=row.at_ms)] = None

    def _on_change(self, row: Row) -> None:
        """What a script has done by itself; partitions of a topic are told together."""
        if row.cause is None and row.at_ms > 0:
            what = _CHANGES[_KINDS[row.kind]](row)
            self._troubles[Trouble(what=what, from_ms=row.at_ms, to_ms=row.at_ms)] = None


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


def _fault(row: Row) -> str:
    detail = row.detail or "a fault"
    for pattern, words in _FAULTS.items():
        if (found := pattern.fullmatch(detail)) is not None:
            return found.expand(words)
    return detail


#: What a script changes at a moment, in words.
_CHANGES: Mapping[Kind, Callable[[Row], str]] = {
    WorldEventKind.TOPIC_CREATED: lambda row: f"topic {row.topic} is created",
    WorldEventKind.PARTITIONS_ADDED: lambda row: (
        f"topic {row.topic} has {counted(row.count or 0, 'partition')}"
    ),
    WorldEventKind.TOPIC_DELETED: lambda row: f"topic {row.topic} is deleted",
    WorldEventKind.LOG_START_MOVED: lambda row: f"old records of topic {row.topic} are deleted",
    WorldEventKind.COORDINATOR_MOVED: lambda row: (
        f"the coordinator of offsets partition {row.partition} moves"
        f" {row.detail or 'from nowhere'} to broker {row.broker}"
    ),
    WorldEventKind.LINK_CHANGED: lambda row: (
        f"messages of {row.client} and broker {row.broker} take {row.detail}"
    ),
    WorldEventKind.CONNECTION_RESET: lambda row: f"connections of {row.client} break",
}
_KINDS: Mapping[str, Kind] = {kind.value: kind for kind in _CHANGES}
