"""Partitions that came to be while groups were at work, and how long each waited to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field

from groupsim.report.ownership import Stay
from simulation.events import Kind, Row, WorldEventKind
from simulation.folds.places import Handler
from simulation.measures import Place

__all__ = ["GrowthFold", "waits_ms"]

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
        }

    def _on_created(self, row: Row) -> None:
        self._counts[row.topic or ""] = row.count or 0

    def _on_added(self, row: Row) -> None:
        topic, count = row.topic or "", row.count or 0
        for partition in range(self._counts.get(topic, 0), count):
            self.added_ms[topic, partition] = row.at_ms
        self._counts[topic] = count


def waits_ms(
    added_ms: Mapping[Partition, int], stays: Sequence[Stay], now_ms: int
) -> dict[Place, int]:
    """How long new partitions waited for their first reader, in each group that reads the topic."""
    first_ms: dict[Place, int] = {}
    for stay in stays:
        first_ms.setdefault(stay.place, stay.from_ms)
    groups = dict.fromkeys((place.group, place.topic) for place in first_ms)
    return {
        place: first_ms.get(place, now_ms) - at_ms
        for (topic, partition), at_ms in added_ms.items()
        for group, wanted in groups
        if wanted == topic and (place := Place(group, topic, partition))
    }
