"""Incremental fetch sessions (KIP-227): what the broker remembers need not be said again."""

from __future__ import annotations

from attrs import define, evolve, field, frozen

from client.errors import AnyError, DataErrorCode
from client.messages import (
    FINAL_SESSION_EPOCH,
    INITIAL_SESSION_EPOCH,
    NO_SESSION_ID,
    FetchPartition,
    FetchResponse,
)
from client.partitions import TopicPartition
from coordinator.errors import ErrorCode

_EPOCH_MAX = 2**31 - 1


@frozen
class SessionPlace:
    """A session and how many requests it has seen; without a session, a full fetch."""

    session_id: int = NO_SESSION_ID
    epoch: int = INITIAL_SESSION_EPOCH

    @property
    def is_full(self) -> bool:
        """Whether the request must name every partition."""
        return self.epoch in (INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH)

    def next(self) -> SessionPlace:
        """The place after one more incremental request."""
        return SessionPlace(self.session_id, 1 if self.epoch == _EPOCH_MAX else self.epoch + 1)

    def closing(self) -> SessionPlace:
        """The place that ends the session."""
        return evolve(self, epoch=FINAL_SESSION_EPOCH)

    def restarting(self) -> SessionPlace:
        """The place that ends the session and begins another."""
        return evolve(self, epoch=INITIAL_SESSION_EPOCH)


_NO_SESSION = SessionPlace()

WantedPartitions = dict[TopicPartition, FetchPartition]


@frozen(kw_only=True)
class SessionRequest:
    """What one Fetch says, and all the partitions that it is about."""

    to_send: WantedPartitions
    to_forget: tuple[TopicPartition, ...]
    partitions: WantedPartitions
    place: SessionPlace


@define(eq=False)
class FetchSession:
    """The session with one broker."""

    place: SessionPlace = _NO_SESSION
    partitions: WantedPartitions = field(factory=dict)

    def request(self, wanted: WantedPartitions) -> SessionRequest:
        """The next request for these partitions, in this order."""
        if self.place.is_full:
            self.partitions = dict(wanted)
            return SessionRequest(
                to_send=wanted, to_forget=(), partitions=dict(wanted), place=self.place
            )
        forgotten = tuple(partition for partition in self.partitions if partition not in wanted)
        to_send = {
            partition: new
            for partition, new in wanted.items()
            if partition not in self.partitions or self.partitions[partition] != new
        }
        kept = {
            partition: wanted[partition] for partition in self.partitions if partition in wanted
        }
        self.partitions = {**kept, **wanted}
        return SessionRequest(
            to_send=to_send,
            to_forget=forgotten,
            partitions=dict(self.partitions),
            place=self.place,
        )

    def accepts(self, reply: FetchResponse) -> bool:
        """Go on after an answer; False if it is an error or not about what was asked."""
        if reply.error_code is not ErrorCode.NONE:
            self._on_error(reply.error_code)
            return False
        told = {TopicPartition(found.topic, found.partition_index) for found in reply.partitions}
        is_full = self.place.is_full
        if told - self.partitions.keys() or (is_full and self.partitions.keys() - told):
            self.place = _NO_SESSION if is_full else self.place.restarting()
            return False
        if reply.session_id == NO_SESSION_ID:
            self.place = _NO_SESSION
        elif is_full:
            self.place = SessionPlace(reply.session_id).next()
        else:
            self.place = self.place.next()
        return True

    def lost(self) -> None:
        """A request ended without an answer."""
        self.place = self.place.restarting()

    def close(self) -> None:
        """The next request is the last."""
        self.place = self.place.closing()

    def _on_error(self, error: AnyError) -> None:
        if error is DataErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.place = _NO_SESSION
        else:
            self.place = self.place.restarting()
