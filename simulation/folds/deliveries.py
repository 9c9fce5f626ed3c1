"""Records processed more than once, and records never processed though committed past.

A record is processed when its application says so. What a living consumer still has in hand when
the rows end is on its way, not lost. A loss is final when the records are gone with their topic;
until then somebody may go back and process them after all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen

from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.commits import Commits
from simulation.folds.places import Handler, Place, Ranges, Span, place_of

#: How a consumer's stay at a partition ended, in words, by the kind of its last row.
_ENDINGS = {
    WorldEventKind.PARTITION_REVOKED.value: "gave the partition up",
    WorldEventKind.PARTITION_LOST.value: "lost the partition",
    WorldEventKind.CONSUMER_CRASHED.value: "crashed",
    WorldEventKind.CONSUMER_STOPPED.value: "stopped",
}
_SEEK, _RESET = "seek", "reset"


@frozen(kw_only=True)
class Tally:
    """Records of one partition with one thing in common: why they came twice, or never."""

    place: Place
    cause: str
    records: int


@define(eq=False)
class Reader:
    """A consumer at a partition: why it began where it did, and what it has in hand."""

    began: str = "committed"
    began_at: int = 0
    #: How far others, or it, had come when it began: from there on it reads what is new.
    began_behind: int = 0
    in_hand: tuple[int, int] | None = None
    handed_ms: int = 0
    is_reading: bool = True
    #: Whether it was handed any records in its present stay: who was not leaves none undone.
    has_read: bool = False
    #: The row with which it last came.
    since: int = 0


@define(eq=False)
class Delivery:
    """What a group has done with one partition."""

    processed: Ranges = field(factory=Ranges)
    #: Where the group began to read; what lies before never was its business.
    base: int | None = None
    #: Up to where anybody has been handed records, or has been sent by a seek or a reset.
    reached: int = 0
    readers: dict[str, Reader] = field(factory=dict)
    #: The consumer that last ceased to read, and how.
    ending: tuple[str, str] | None = None
    #: The last commit that was refused or never answered: by whom, of what, why.
    failed: tuple[str, int, str] | None = None
    duplicates: Counter[str] = field(factory=Counter)
    #: When records were first processed again.
    duplicated_ms: int | None = None
    #: Stretches that nobody will process any more, unless somebody goes back: from, to, why, when.
    dropped: list[tuple[int, int, str, int]] = field(factory=list)
    #: What was committed when the group's offset was last removed: it counts until the next commit.
    removed_at: int | None = None
    #: Records that were lost with topics of this name, by cause.
    lost: Counter[str] = field(factory=Counter)


@define(eq=False)
class DeliveryFold:
    """`duplicates` and `lost`."""

    commits: Commits
    deliveries: dict[Place, Delivery] = field(factory=dict)
    _born: dict[tuple[str, int], int] = field(factory=dict)
    _began: dict[str, int] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """The way of records: handed out, processed, committed."""
        return {
            WorldEventKind.TOPIC_CREATED: self._on_topic,
            WorldEventKind.PARTITIONS_ADDED: self._on_topic,
            WorldEventKind.TOPIC_DELETED: self._on_topic_deleted,
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
            WorldEventKind.POSITION_SET: self._on_position,
            WorldEventKind.RECORDS_RETURNED: self._on_returned,
            WorldEventKind.RECORDS_PROCESSED: self._on_processed,
            WorldEventKind.PARTITION_REVOKED: self._on_stop,
            WorldEventKind.PARTITION_LOST: self._on_stop,
            WorldEventKind.CONSUMER_CRASHED: self._on_gone,
            WorldEventKind.CONSUMER_STOPPED: self._on_gone,
            WorldEventKind.COMMIT_FAILED: self._on_commit_failed,
            EventKind.OFFSET_COMMITTED: self._on_committed,
            EventKind.OFFSET_REMOVED: self._on_offset_removed,
        }

    def duplicates(self) -> list[Tally]:
        """Records processed again, by partition and cause."""
        return [
            Tally(place=place, cause=cause, records=records)
            for place, delivery in self.deliveries.items()
            for cause, records in delivery.duplicates.items()
        ]

    def lost(self) -> list[Tally]:
        """Records committed past and processed by nobody, by partition and cause."""
        return [
            Tally(place=place, cause=cause, records=records)
            for place, delivery in self.deliveries.items()
            for cause, records in self._losses(place, delivery).items()
        ]

    def _losses(self, place: Place, delivery: Delivery) -> Counter[str]:
        """Records lost so far, by cause: with earlier topics of the name, and of this one."""
        causes = Counter(delivery.lost)
        committed = self.commits.offset(place)
        if committed is None:
            committed = delivery.removed_at
        if delivery.base is not None and committed is not None:
            for start, end in delivery.processed.missing(delivery.base, committed):
                _blame(delivery, start, end, causes)
        return causes

    def first_duplicates(self) -> dict[Place, Span]:
        """When the first records of each partition were processed again."""
        return {
            place: Span(each.duplicated_ms, each.duplicated_ms)
            for place, each in self.deliveries.items()
            if each.duplicated_ms is not None
        }

    def first_losses(self) -> dict[Place, Span]:
        """When records of each partition were lost: left undone, or else committed."""
        found = {}
        for place, delivery in self.deliveries.items():
            causes = self._losses(place, delivery)
            commit = self.commits.current.get(place)
            times = [at_ms for _, _, why, at_ms in delivery.dropped if why in causes]
            if not times and commit is not None:
                times = [commit.at_ms]
            if causes and times:
                found[place] = Span(min(times), min(times))
        return found

    # --- rows ---

    def _on_topic(self, row: Row) -> None:
        for partition in range(row.count or 0):
            self._born.setdefault((row.topic or "", partition), row.seq)

    def _on_topic_deleted(self, row: Row) -> None:
        """A topic of that name that comes later has other records; what is lost by now stays so.

        Called before the commits learn of it.
        """
        for key in [key for key in self._born if key[0] == row.topic]:
            del self._born[key]
        for place, delivery in self.deliveries.items():
            if place.topic == row.topic:
                self.deliveries[place] = Delivery(
                    duplicates=delivery.duplicates,
                    duplicated_ms=delivery.duplicated_ms,
                    lost=self._losses(place, delivery),
                )

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        if place is None or row.client is None:
            return
        self._began.setdefault(place.group, row.seq)
        delivery = self.deliveries.setdefault(place, Delivery())
        reader = delivery.readers.setdefault(row.client, Reader())
        reader.is_reading, reader.has_read, reader.since = True, False, row.seq
        # The records of a partition that came to be under the group's eyes are all its business.
        born = self._born.get((place.topic, place.partition), 0)
        if delivery.base is None and born > self._began[place.group]:
            delivery.base = 0

    def _on_position(self, row: Row) -> None:
        delivery, reader = self._at(row)
        if delivery is None or reader is None:
            return
        offset = row.offset or 0
        reader.began, reader.began_at = row.detail or "", offset
        reader.began_behind = delivery.reached
        if delivery.base is None:
            delivery.base = delivery.reached = offset
        elif offset > delivery.reached and not reader.began.startswith("committed"):
            why = f"{row.client} went from {delivery.reached} to {offset}: {reader.began}"
            delivery.dropped.append((delivery.reached, offset, why, row.at_ms))
        delivery.reached = max(delivery.reached, offset)

    def _on_returned(self, row: Row) -> None:
        delivery, reader = self._at(row)
        if delivery is None or reader is None or row.offset is None or row.end_offset is None:
            return
        # Two ranges of one poll are one batch; a later poll means that the last batch is done with.
        start = row.offset
        if reader.in_hand is not None and reader.handed_ms == row.at_ms:
            start = min(start, reader.in_hand[0])
        reader.in_hand, reader.handed_ms = (start, row.end_offset), row.at_ms
        reader.has_read = True
        delivery.base = row.offset if delivery.base is None else delivery.base
        delivery.reached = max(delivery.reached, row.end_offset)

    def _on_processed(self, row: Row) -> None:
        delivery, reader = self._at(row)
        if delivery is None or row.offset is None or row.end_offset is None:
            return
        again = delivery.processed.add(row.offset, row.end_offset)
        if again:
            delivery.duplicates[self._why_again(delivery, row, reader)] += again
            if delivery.duplicated_ms is None:
                delivery.duplicated_ms = row.at_ms
        if reader is not None and reader.in_hand is not None:
            left = max(reader.in_hand[0], row.end_offset)
            reader.in_hand = (left, reader.in_hand[1]) if left < reader.in_hand[1] else None

    def _on_stop(self, row: Row) -> None:
        delivery, reader = self._at(row)
        if delivery is not None and reader is not None:
            reader.is_reading = False
            if reader.has_read or delivery.ending is None:
                delivery.ending = (row.client or "", _ENDINGS[row.kind])

    def _on_gone(self, row: Row) -> None:
        """Whatever a consumer had in hand goes with it."""
        client, how = row.client or "", _ENDINGS[row.kind]
        for delivery in self.deliveries.values():
            reader = delivery.readers.pop(client, None)
            if reader is None:
                continue
            was_at_work = reader.in_hand or (reader.is_reading and reader.has_read)
            if delivery.ending is None or delivery.ending[0] == client or was_at_work:
                delivery.ending = (client, how)
            if reader.in_hand is not None:
                why = f"{client} {how} with them in hand"
                delivery.dropped.append((*reader.in_hand, why, row.at_ms))

    def _on_commit_failed(self, row: Row) -> None:
        delivery, _ = self._at(row)
        if delivery is not None and row.offset is not None:
            delivery.failed = (row.client or "", row.offset, row.error or "")

    def _on_committed(self, row: Row) -> None:
        delivery, _ = self._at(row)
        if delivery is None or row.offset is None:
            return
        if delivery.failed is not None and delivery.failed[1] <= row.offset:
            delivery.failed = None

    def _on_offset_removed(self, row: Row) -> None:
        """Called before the commits learn of it: nothing is found again by being forgotten."""
        place = place_of(row)
        if place is not None and (committed := self.commits.offset(place)) is not None:
            self.deliveries.setdefault(place, Delivery()).removed_at = committed

    def _why_again(self, delivery: Delivery, row: Row, reader: Reader | None) -> str:
        """Why these records are processed a second time, as one clause."""
        place = place_of(row)
        went = reader is not None and reader.began.startswith((_SEEK, _RESET))
        if reader is not None and went and (row.offset or 0) < reader.began_behind:
            return f"{row.client} went to {reader.began_at}: {reader.began}"
        if place in self.commits.forgotten:
            return f"the committed offset was removed: {self.commits.forgotten[place]}"
        if delivery.failed is not None and delivery.failed[1] > (row.offset or 0):
            client, offset, error = delivery.failed
            return f"the commit of offset {offset} by {client} failed: {error}"
        for client, other in delivery.readers.items():
            if client != row.client and other.is_reading:
                return _who_came_later(row.client, reader, client, other)
        if delivery.ending is None:
            return f"{row.client} read them again"
        client, how = delivery.ending
        return f"{client} {how} before it had committed them"

    def _at(self, row: Row) -> tuple[Delivery | None, Reader | None]:
        place = place_of(row)
        if place is None:
            return None, None
        delivery = self.deliveries.setdefault(place, Delivery())
        return delivery, delivery.readers.get(row.client or "")


def _who_came_later(again: str | None, reader: Reader | None, client: str, other: Reader) -> str:
    """Why records come again where two read: the first had not committed, or went on."""
    if reader is not None and reader.is_reading and reader.since > other.since:
        return f"{client} had not committed them when {again} took over"
    return f"{again} went on with them after {client} had taken over"


def _blame(delivery: Delivery, start: int, end: int, causes: Counter[str]) -> None:
    """Why nobody processed these records; those in a living consumer's hand are not lost."""
    known = Ranges()
    for reader in delivery.readers.values():
        if reader.in_hand is not None:
            known.add(*reader.in_hand)
    for low, high, why, _ in reversed(delivery.dropped):
        for part in known.missing(max(low, start), min(high, end)):
            causes[why] += part[1] - part[0]
        known.add(low, high)
    for low, high in known.missing(start, end):
        causes["committed before anyone had processed them"] += high - low
