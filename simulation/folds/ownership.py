"""When a partition is nobody's, and when it is two consumers' at once.

A consumer is active in a partition from its first fetch until it gives it up, loses it, dies or
is fenced. One that the group has removed without its knowledge is active only as long as it still
works on records it was handed before; and one that stands still does no work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, field

from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Place, Span, place_of
from simulation.folds.rosters import replaced_id


@define(eq=False)
class Owner:
    """A consumer that believes a partition to be its own."""

    member: str | None
    is_fetching: bool = False
    is_fenced: bool = False
    #: The end of the records that it was handed and has not processed yet.
    in_hand: int | None = None


@define(eq=False)
class Stopwatch:
    """Adds up stretches of time, and remembers the longest of them."""

    since_ms: int | None = None
    _total_ms: int = field(default=0, init=False)
    _longest: Span | None = field(default=None, init=False)

    def start(self, now_ms: int) -> None:
        """Begin a stretch, unless one has begun."""
        if self.since_ms is None:
            self.since_ms = now_ms

    def stop(self, now_ms: int) -> None:
        """End the stretch, if one has begun."""
        self._total_ms, self._longest = self.total_ms(now_ms), self.longest(now_ms)
        self.since_ms = None

    def total_ms(self, now_ms: int) -> int:
        """All stretches so far, and the present one."""
        return self._total_ms + (0 if self.since_ms is None else now_ms - self.since_ms)

    def longest(self, now_ms: int) -> Span | None:
        """The longest of them; of equal ones the first."""
        present = None if self.since_ms is None else Span(self.since_ms, now_ms)
        found = [span for span in (self._longest, present) if span is not None]
        return max(found, key=lambda span: span.to_ms - span.from_ms, default=None)


@define(eq=False)
class Watch:
    """One partition: who has it, and the clocks that run while nobody or two of them do."""

    owners: dict[str, Owner] = field(factory=dict)
    unowned: Stopwatch = field(factory=Stopwatch)
    dual: Stopwatch = field(factory=Stopwatch)
    has_been_owned: bool = False


@define(eq=False)
class OwnershipFold:
    """`unowned_s` and `dual_s`."""

    watches: dict[Place, Watch] = field(factory=dict)
    _places: dict[str, dict[Place, None]] = field(factory=dict)
    _paused: set[str] = field(factory=set)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Whatever begins or ends somebody's work on a partition."""
        return {
            WorldEventKind.PARTITION_ASSIGNED: self._on_assigned,
            WorldEventKind.FETCH_STARTED: self._on_fetch,
            WorldEventKind.RECORDS_RETURNED: self._on_returned,
            WorldEventKind.RECORDS_PROCESSED: self._on_processed,
            WorldEventKind.PARTITION_REVOKED: self._on_stop,
            WorldEventKind.PARTITION_LOST: self._on_stop,
            WorldEventKind.CONSUMER_STARTED: self._on_gone,
            WorldEventKind.CONSUMER_STOPPED: self._on_gone,
            WorldEventKind.CONSUMER_CRASHED: self._on_gone,
            WorldEventKind.CONSUMER_PAUSED: self._on_paused,
            WorldEventKind.CONSUMER_RESUMED: self._on_resumed,
            WorldEventKind.TOPIC_DELETED: self._on_topic_deleted,
            EventKind.MEMBER_REMOVED: self._on_member_removed,
            EventKind.MEMBER_REPLACED: self._on_member_replaced,
        }

    def unowned_ms(self, now_ms: int) -> dict[Place, int]:
        """How long each partition has been nobody's after it had an owner."""
        return {place: watch.unowned.total_ms(now_ms) for place, watch in self.watches.items()}

    def dual_ms(self, now_ms: int) -> dict[Place, int]:
        """How long two consumers or more worked on each partition."""
        return {place: watch.dual.total_ms(now_ms) for place, watch in self.watches.items()}

    def longest_unowned(self, now_ms: int) -> dict[Place, Span]:
        """When each partition was nobody's for longest."""
        return _known({place: each.unowned.longest(now_ms) for place, each in self.watches.items()})

    def longest_dual(self, now_ms: int) -> dict[Place, Span]:
        """When two consumers or more worked on each partition for longest."""
        return _known({place: each.dual.longest(now_ms) for place, each in self.watches.items()})

    # --- rows ---

    def _on_assigned(self, row: Row) -> None:
        place = place_of(row)
        if place is None or row.client is None:
            return
        watch = self.watches.setdefault(place, Watch())
        watch.owners[row.client] = Owner(row.member)
        self._places.setdefault(row.client, {})[place] = None
        self._settle(watch, row.at_ms)

    def _on_fetch(self, row: Row) -> None:
        place = place_of(row)
        if (owner := self._owner(row)) is None or place is None:
            return
        owner.is_fetching = True
        self._settle(self.watches[place], row.at_ms)

    def _on_returned(self, row: Row) -> None:
        if (owner := self._owner(row)) is not None:
            owner.in_hand = row.end_offset

    def _on_processed(self, row: Row) -> None:
        owner = self._owner(row)
        if owner is None or owner.in_hand is None or (row.end_offset or 0) < owner.in_hand:
            return
        owner.in_hand = None
        place = place_of(row)
        if owner.is_fenced and place is not None:
            self._settle(self.watches[place], row.at_ms)

    def _on_stop(self, row: Row) -> None:
        place = place_of(row)
        if place is not None and row.client is not None:
            self._drop(row.client, [place], row.at_ms)

    def _on_gone(self, row: Row) -> None:
        client = row.client or ""
        self._paused.discard(client)
        self._drop(client, list(self._places.get(client, ())), row.at_ms)

    def _on_paused(self, row: Row) -> None:
        self._paused.add(row.client or "")
        self._settle_all(row.client, row.at_ms)

    def _on_resumed(self, row: Row) -> None:
        self._paused.discard(row.client or "")
        self._settle_all(row.client, row.at_ms)

    def _on_member_removed(self, row: Row) -> None:
        self._fence(row, row.member, self._places.get(row.client or "", ()))

    def _on_member_replaced(self, row: Row) -> None:
        of_the_group = [place for place in self.watches if place.group == row.group]
        self._fence(row, replaced_id(row), of_the_group)

    def _on_topic_deleted(self, row: Row) -> None:
        """What is no more cannot be unowned: the clocks stop, and what they say stays."""
        for place, watch in self.watches.items():
            if place.topic == row.topic:
                for client in watch.owners:
                    self._places[client].pop(place, None)
                watch.owners.clear()
                self._settle(watch, row.at_ms)
                watch.unowned.stop(row.at_ms)
                watch.has_been_owned = False

    # --- keeping the clocks ---

    def _owner(self, row: Row) -> Owner | None:
        place = place_of(row)
        watch = None if place is None else self.watches.get(place)
        return None if watch is None else watch.owners.get(row.client or "")

    def _fence(self, row: Row, member: str | None, places: Iterable[Place]) -> None:
        for watch in map(self.watches.__getitem__, places):
            for owner in watch.owners.values():
                if owner.member == member and not owner.is_fenced:
                    owner.is_fenced = True
                    self._settle(watch, row.at_ms)

    def _drop(self, client: str, places: Iterable[Place], now_ms: int) -> None:
        for place in places:
            self._places.get(client, {}).pop(place, None)
            watch = self.watches.get(place)
            if watch is not None and watch.owners.pop(client, None) is not None:
                self._settle(watch, now_ms)

    def _settle_all(self, client: str | None, now_ms: int) -> None:
        for place in self._places.get(client or "", ()):
            self._settle(self.watches[place], now_ms)

    def _settle(self, watch: Watch, now_ms: int) -> None:
        """Start and stop the clocks as the owners now are."""
        active = [
            client for client, owner in watch.owners.items() if self._is_active(client, owner)
        ]
        working = len(set(active) - self._paused)
        if active:
            watch.unowned.stop(now_ms)
            watch.has_been_owned = True
        elif watch.has_been_owned:
            watch.unowned.start(now_ms)
        if working > 1:
            watch.dual.start(now_ms)
        else:
            watch.dual.stop(now_ms)

    def _is_active(self, client: str, owner: Owner) -> bool:
        if not owner.is_fenced:
            return owner.is_fetching
        return owner.in_hand is not None and client not in self._paused


def _known(spans: Mapping[Place, Span | None]) -> dict[Place, Span]:
    return {place: span for place, span in spans.items() if span is not None}
