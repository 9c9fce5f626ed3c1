"""Who had which partition when: the fold of `unowned_s` and `dual_s`, with its stretches kept.

The stretches of nobody add up to `unowned_s` and those of two owners to `dual_s`, because the same
fold decides both.
"""

from __future__ import annotations

from attrs import define, field, frozen

from simulation.events import Row
from simulation.folds.ownership import OwnershipFold, Watch
from simulation.measures import Place

__all__ = ["DUAL", "OWNED", "UNOWNED", "OwnershipLanes", "Stay"]

#: What a stretch of a partition's life is.
OWNED, UNOWNED, DUAL = "owned", "unowned", "owned twice"


@frozen(kw_only=True)
class Stay:
    """A partition in the hands of one consumer, of several, or of nobody."""

    place: Place
    kind: str
    owners: tuple[str, ...]
    from_ms: int
    to_ms: int


@define(eq=False)
class _Lane:
    """One partition: the stretch that goes on, and those that are over."""

    kind: str | None = None
    owners: tuple[str, ...] = ()
    since_ms: int = 0
    past: list[tuple[str, tuple[str, ...], int, int]] = field(factory=list)

    def turn(self, kind: str | None, owners: tuple[str, ...], now_ms: int) -> None:
        """Go on as this; None is a partition that nobody has had yet, or that is gone."""
        if (kind, owners) == (self.kind, self.owners):
            return
        if self.kind is not None and now_ms > self.since_ms:
            self._keep(self.kind, self.owners, self.since_ms, now_ms)
        self.kind, self.owners, self.since_ms = kind, owners, now_ms

    def _keep(self, kind: str, owners: tuple[str, ...], from_ms: int, to_ms: int) -> None:
        """What an owner gives up and takes back in the same millisecond is one stretch."""
        if self.past and self.past[-1][:2] == (kind, owners) and self.past[-1][3] == from_ms:
            from_ms = self.past.pop()[2]
        self.past.append((kind, owners, from_ms, to_ms))


@define(eq=False)
class OwnershipLanes(OwnershipFold):
    """Every partition's stretches; `stays` tells them."""

    _lanes: dict[Watch, _Lane] = field(factory=dict, init=False)

    def stays(self, now_ms: int) -> list[Stay]:
        """All of them, partition by partition in order; what goes on ends now."""
        found = []
        for place, watch in sorted(self.watches.items()):
            lane = self._lanes.get(watch, _Lane())
            lane.turn(None, (), now_ms)
            found += [
                Stay(place=place, kind=kind, owners=owners, from_ms=from_ms, to_ms=to_ms)
                for kind, owners, from_ms, to_ms in lane.past
            ]
        return found

    def _settle(self, watch: Watch, now_ms: int) -> None:
        super()._settle(watch, now_ms)
        self._look_at(watch, now_ms)

    def _on_topic_deleted(self, row: Row) -> None:
        super()._on_topic_deleted(row)
        for place, watch in self.watches.items():
            if place.topic == row.topic:
                self._look_at(watch, row.at_ms)

    def _look_at(self, watch: Watch, now_ms: int) -> None:
        """Tell as the clocks do: who reads it, and of several those that are at work."""
        active = [each for each, owner in watch.owners.items() if self._is_active(each, owner)]
        working = [each for each in active if each not in self._paused]
        owners = tuple(sorted(working or active))
        if len(working) > 1:
            kind: str | None = DUAL
        elif owners:
            kind = OWNED
        else:
            kind = UNOWNED if watch.has_been_owned else None
        self._lanes.setdefault(watch, _Lane()).turn(kind, owners, now_ms)
