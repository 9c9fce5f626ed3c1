"""Partitions that came to be while groups were at work, and how long each waited to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from groupsim.report.ownership import UNOWNED, Stay
from simulation.events import Kind, Row, WorldEventKind
from simulation.folds.places import Handler
from simulation.measures import Place

__all__ = ["GrowthFold", "Wait", "waits_for_readers"]

#: A partition as the cluster knows it.
Partition = tuple[str, int]


@define(eq=False)
class GrowthFold:
    """When each partition was added that its topic did not have from the beginning."""

    added_ms: dict[Partition, int] = field(factory=dict, init=False)
    _counts: dict[str, int] = field(factory=dict, init=False)

    def handlers(self) -> Mapping[Kind, Handler]:
        """How many partitions a topic has."""
        return {
            WorldEventKind.TOPIC_CREATED: self._on_created,
            WorldEventKind.PARTITIONS_ADDED: self._on_added,
            WorldEventKind.TOPIC_DELETED: self._on_deleted,
        }

    def _on_created(self, row: Row) -> None:
        self._counts[row.topic or ""] = row.count or 0

    def _on_added(self, row: Row) -> None:
        topic, count = row.topic or "", row.count or 0
        for partition in range(self._counts.get(topic, 0), count):
            self.added_ms[topic, partition] = row.at_ms
        self._counts[topic] = count

    def _on_deleted(self, row: Row) -> None:
        """Nobody waits for what is gone."""
        self._counts.pop(row.topic or "", None)
        for each in [each for each in self.added_ms if each[0] == row.topic]:
            del self.added_ms[each]


@frozen
class Wait:
    """From when to when a new partition had no reader yet."""

    from_ms: int
    to_ms: int
    #: Whether somebody came; else the run ended first.
    is_over: bool

    @property
    def seconds(self) -> float:
        """How long it was."""
        return (self.to_ms - self.from_ms) / 1_000


def waits_for_readers(
    added_ms: Mapping[Partition, int], stays: Sequence[Stay], now_ms: int
) -> dict[Place, Wait]:
    """The wait of each new partition, in each group that reads its topic.

    A group that reads nothing of the topic yet lets no partition wait.
    """
    groups: dict[tuple[str, str], int] = {}
    first_ms: dict[Place, int] = {}
    for stay in stays:
        place = stay.place
        known = (place.group, place.topic)
        groups[known] = min(stay.from_ms, groups.get(known, stay.from_ms))
        # What was before is of a topic that had the same name.
        is_new = stay.from_ms >= added_ms.get((place.topic, place.partition), now_ms)
        if is_new and stay.kind != UNOWNED:
            first_ms.setdefault(place, stay.from_ms)
    return {
        place: Wait(max(at_ms, here_ms), first_ms.get(place, now_ms), place in first_ms)
        for (topic, partition), at_ms in added_ms.items()
        for (group, wanted), here_ms in groups.items()
        if wanted == topic and (place := Place(group, topic, partition))
    }
