"""Applications as people write them by hand, for random worlds: async functions of a consumer.

Each is given the consumer and what it is to do there. They forgive what a rebalance does to a
commit, as any application that lives on must.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from attrs import define, frozen

from client.calls import AsyncConsumer
from client.errors import CommitFailedException, RebalanceInProgressException, TimeoutException
from client.listeners import Partitions, RebalanceListener
from client.records import ConsumerRecords

_POLL_MS = 500
_FORGIVEN = (CommitFailedException, RebalanceInProgressException, TimeoutException)
#: When the fickle one changes its mind, after its start.
_FICKLE_FROM_MS, _FICKLE_UNTIL_MS = 15_000, 30_000
#: Each so many polls with records, the roving one goes back.
_ROVES_EACH = 7


@frozen(kw_only=True)
class Wishes:
    """What an application is to read, and how."""

    topics: tuple[str, ...]
    pattern: str | None
    is_committing: bool
    us_per_record: int


@define(eq=False)
class _CommitsOnRevocation(RebalanceListener):
    consumer: AsyncConsumer

    async def on_partitions_revoked(self, partitions: Partitions) -> None:
        """Commit what was read of what goes."""
        if partitions:
            await _forgiving(self.consumer.commit_sync())

    async def on_partitions_lost(self, partitions: Partitions) -> None:
        """Nothing can be done."""


async def careful(consumer: AsyncConsumer, wishes: Wishes) -> None:
    """Poll, process, commit and wait; commit again when partitions are revoked."""
    listener = _CommitsOnRevocation(consumer) if wishes.is_committing else None
    _subscribe(consumer, wishes, listener)
    while True:
        records = await consumer.poll(_POLL_MS)
        await _process(consumer, records, wishes)
        if records and wishes.is_committing:
            await _forgiving(consumer.commit_sync())


async def iterating(consumer: AsyncConsumer, wishes: Wishes) -> None:
    """Go through batches and never see a poll that brings nothing; commit without waiting."""
    _subscribe(consumer, wishes, None)
    async for records in consumer.batches(_POLL_MS):
        await _process(consumer, records, wishes)
        if wishes.is_committing:
            await consumer.commit_async()


async def fickle(consumer: AsyncConsumer, wishes: Wishes) -> None:
    """Want less after a while, and later all of it again."""
    _subscribe(consumer, wishes, None)
    began_ms = consumer.clock.now_ms
    while consumer.clock.now_ms < began_ms + _FICKLE_FROM_MS:
        await _process(consumer, await consumer.poll(_POLL_MS), wishes)
    if wishes.pattern is not None:
        await consumer.unsubscribe()
        await consumer.sleep(_FICKLE_UNTIL_MS - _FICKLE_FROM_MS)
    else:
        consumer.subscribe(wishes.topics[:1])
        while consumer.clock.now_ms < began_ms + _FICKLE_UNTIL_MS:
            await _process(consumer, await consumer.poll(_POLL_MS), wishes)
    _subscribe(consumer, wishes, None)
    while True:
        await _process(consumer, await consumer.poll(_POLL_MS), wishes)
        if wishes.is_committing:
            await consumer.commit_async()


async def roving(consumer: AsyncConsumer, wishes: Wishes) -> None:
    """Pause, resume, ask questions, and now and then read some records again."""
    _subscribe(consumer, wishes, None)
    polls = 0
    while True:
        records = await consumer.poll(_POLL_MS)
        await _process(consumer, records, wishes)
        consumer.resume(consumer.paused())
        if not records:
            continue
        polls += 1
        first = records.ranges[0]
        if polls % _ROVES_EACH == 0:
            consumer.seek(first.partition, first.first)
        elif polls % _ROVES_EACH == 1:
            consumer.pause([first.partition])
            await _forgiving(consumer.committed([first.partition]))
        if wishes.is_committing:
            await _forgiving(consumer.commit_sync())


def _subscribe(consumer: AsyncConsumer, wishes: Wishes, listener: RebalanceListener | None) -> None:
    if wishes.pattern is not None:
        consumer.subscribe_pattern(wishes.pattern, listener)
    else:
        consumer.subscribe(wishes.topics, listener)


async def _process(consumer: AsyncConsumer, records: ConsumerRecords, wishes: Wishes) -> None:
    await consumer.sleep(len(records) * wishes.us_per_record // 1_000)


async def _forgiving(call: Awaitable[object]) -> None:
    try:
        await call
    except _FORGIVEN:
        return


#: Every one, by its name.
APPLICATIONS: Mapping[str, Callable[[AsyncConsumer, Wishes], Coroutine[Any, Any, None]]] = {
    "careful": careful,
    "iterating": iterating,
    "fickle": fickle,
    "roving": roving,
}

#: For how long after its start an application changes what it wants.
UNREST_MS: Mapping[str, int] = {"fickle": _FICKLE_UNTIL_MS}
