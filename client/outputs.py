"""What a consumer tells its host, in order: facts in the past tense, each with its time.

Those that every request or batch of records leads to are named tuples, which cost a third.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import frozen

from client.connections import Link
from client.listeners import Offsets, Partitions
from client.partitions import TopicPartition
from client.records import RecordRange
from coordinator.protocol import Request


class RequestSent(NamedTuple):
    """A request left on a connection; `lost`: into one that the broker had closed already."""

    at_ms: int
    connection: str
    request: Request
    by_heartbeat: bool
    lost: bool


@frozen(kw_only=True)
class ConnectionAttempted:
    """The consumer tried to open a connection."""

    at_ms: int
    connection: str
    link: Link


@frozen(kw_only=True)
class ConnectionClosed:
    """The consumer closed a connection, giving up so many unanswered requests."""

    at_ms: int
    connection: str
    unanswered: int
    #: The request whose answer has taken too long, if that is why, and how long.
    overdue: Request | None = None
    waited_ms: int | None = None


@frozen(kw_only=True)
class ListenerCalled:
    """A rebalance callback of the application begins."""

    at_ms: int
    name: str
    partitions: Partitions


@frozen(kw_only=True)
class ListenerReturned:
    """A rebalance callback ended, with an error if it raised."""

    at_ms: int
    name: str
    error: Exception | None = None


@frozen(kw_only=True)
class CommitCallbackCalled:
    """The application heard how an asynchronous commit ended."""

    at_ms: int
    offsets: Offsets
    error: Exception | None


@frozen(kw_only=True)
class CommitFailed:
    """An attempt to commit came to nothing without an answer: never sent, lost, or too late."""

    at_ms: int
    offsets: Offsets
    error: Exception


@frozen(kw_only=True)
class PositionSought:
    """The application went to an offset of its own choice; None: to an end of the log."""

    at_ms: int
    partition: TopicPartition
    offset: int | None


@frozen(kw_only=True)
class OffsetsGiven:
    """The application commits offsets of its own choice, which are not the consumer's positions."""

    at_ms: int
    offsets: Offsets


@frozen(kw_only=True)
class PausesChanged:
    """The application paused or resumed partitions: the next fetch is about others."""

    at_ms: int


class RecordsReturned(NamedTuple):
    """A poll handed out records."""

    at_ms: int
    ranges: tuple[RecordRange, ...]


@frozen(kw_only=True)
class ApplicationEnded:
    """The application's coroutine returned or raised."""

    at_ms: int
    value: object = None
    error: BaseException | None = None


class ProcessingBegan(NamedTuple):
    """The application took up neighbouring records, which will take it so long."""

    at_ms: int
    records: RecordRange
    takes_ms: int


class RecordsProcessed(NamedTuple):
    """The application is done with them: their effect is there."""

    at_ms: int
    records: RecordRange


@frozen(kw_only=True)
class RecordsSkipped:
    """The application gave up on records that it was handed."""

    at_ms: int
    records: RecordRange
    error: Exception


@frozen(kw_only=True)
class CommitRefused:
    """A commit of the application failed, and it goes on all the same."""

    at_ms: int
    error: Exception
