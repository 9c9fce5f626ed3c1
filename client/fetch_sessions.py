"""Incremental fetch sessions (KIP-227): what the broker remembers need not be said again."""

from __future__ import annotations

from typing import NamedTuple

from attrs import define, field

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
_NONE = ErrorCode.NONE
#: The epochs of requests that name every partition.
_FULL = (INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH)
#: Makes a tuple with names without the call of its class.
_named = tuple.__new__


class SessionPlace(NamedTuple):
    """A session and how many requests it has seen; without a session, a full fetch."""

    session_id: int = NO_SESSION_ID
    epoch: int = INITIAL_SESSION_EPOCH

    @property
    def is_full(self) -> bool:
        """Whether the request must name every partition."""
        return self.epoch in _FULL

    def closing(self) -> SessionPlace:
        """The place that ends the session."""
        return SessionPlace(self.session_id, FINAL_SESSION_EPOCH)

    def restarting(self) -> SessionPlace:
        """The place that ends the session and begins another."""
        return SessionPlace(self.session_id, INITIAL_SESSION_EPOCH)


_NO_SESSION = SessionPlace()

WantedPartitions = dict[TopicPartition, FetchPartition]


class SessionRequest(NamedTuple):
    """What one Fetch says, and all the partitions that it is about."""

    to_send: tuple[FetchPartition, ...]
    to_forget: tuple[TopicPartition, ...]
    partitions: WantedPartitions
    place: SessionPlace


@define(eq=False)
class FetchSession:
    """The session with one broker."""

    place: SessionPlace = _NO_SESSION
    #: Never changed, but replaced: requests under way keep theirs.
    partitions: WantedPartitions = field(factory=dict)

    def request(self, wanted: WantedPartitions) -> SessionRequest:
        """The next request for these partitions, in this order."""
        place, known = self.place, self.partitions
        if place.epoch in _FULL:
            self.partitions = wanted
            return SessionRequest(tuple(wanted.values()), (), wanted, place)
        to_send = []
        are_the_same = len(known) == len(wanted)
        for partition, new in wanted.items():
            told = known.get(partition)
            if told is None:
                are_the_same = False
                to_send.append(new)
            elif told is not new and (told.fetch_offset != new.fetch_offset or told != new):
                to_send.append(new)
        forgotten: tuple[TopicPartition, ...] = ()
        if not are_the_same:
            forgotten = tuple(partition for partition in known if partition not in wanted)
            known = {partition: told for partition, told in known.items() if partition in wanted}
        # Those that were known stay where they were, the new ones follow.
        self.partitions = partitions = {**known, **wanted}
        return _named(SessionRequest, (tuple(to_send), forgotten, partitions, place))

    def accepts(self, reply: FetchResponse) -> bool:
        """Go on after an answer; False if it is an error or not about what was asked."""
        if reply.error_code is not _NONE:
            self._on_error(reply.error_code)
            return False
        is_full = self.place.is_full
        if not self._is_about(reply, is_full=is_full):
            self.place = _NO_SESSION if is_full else self.place.restarting()
            return False
        if reply.session_id == NO_SESSION_ID:
            self.place = _NO_SESSION
        else:
            self.go_on(reply)
        return True

    def is_continued_by(self, reply: FetchResponse) -> bool:
        """Whether an answer, if about partitions that were asked for, lets a session go on."""
        return (
            reply.error_code is _NONE
            and reply.session_id != NO_SESSION_ID
            and (self.place.epoch not in _FULL or self._is_about(reply, is_full=True))
        )

    def go_on(self, reply: FetchResponse) -> None:
        """Take an answer that lets this session go on, or begin."""
        session_id, epoch = self.place
        if epoch in _FULL:
            session_id, epoch = reply.session_id, INITIAL_SESSION_EPOCH
        self.place = _named(SessionPlace, (session_id, 1 if epoch == _EPOCH_MAX else epoch + 1))

    def lost(self) -> None:
        """A request ended without an answer."""
        self.place = self.place.restarting()

    def close(self) -> None:
        """The next request is the last."""
        self.place = self.place.closing()

    def _is_about(self, reply: FetchResponse, *, is_full: bool) -> bool:
        """Whether an answer is about partitions of the session; a full one, about all of them."""
        known = self.partitions
        for found in reply.partitions:
            if (found.topic, found.partition_index) not in known:
                return False
        if not is_full:
            return True
        told = {(found.topic, found.partition_index) for found in reply.partitions}
        return len(told) == len(known)

    def _on_error(self, error: AnyError) -> None:
        if error is DataErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.place = _NO_SESSION
        else:
            self.place = self.place.restarting()
