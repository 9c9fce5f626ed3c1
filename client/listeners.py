"""What an application is told while it polls: rebalances, committed offsets, consumed records.

Any of these may be a plain function or an `async def`; the latter may call the consumer, sleep,
and so take as long as it likes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from client.partitions import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from client.records import ConsumerRecords

Partitions = tuple[TopicPartition, ...]
Offsets = Mapping[TopicPartition, OffsetAndMetadata]

#: Hears how an asynchronous commit ended: the offsets, and the error or None.
CommitCallback = Callable[[Offsets, Exception | None], Awaitable[None] | None]


class RebalanceListener:
    """Told which partitions come and go, sorted by topic and number."""

    #: Whether to be told that none were added makes it do nothing, so that it need not be called.
    ignores_none_assigned: bool = False

    def on_partitions_assigned(self, partitions: Partitions) -> Awaitable[None] | None:
        """These were added; called once per completed rebalance, also with none."""

    def on_partitions_revoked(self, partitions: Partitions) -> Awaitable[None] | None:
        """These are about to be given up; their offsets can still be committed."""

    def on_partitions_lost(self, partitions: Partitions) -> Awaitable[None] | None:
        """These are somebody else's already. Unless told otherwise, the same as revoked."""
        return self.on_partitions_revoked(partitions)


class ConsumerInterceptor:
    """Sees records before the application does, and offsets once they are committed.

    What it raises is swallowed, as Kafka does.
    """

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """The records to hand out in place of these."""
        return records

    def on_commit(self, offsets: Offsets) -> None:
        """These offsets are committed."""
