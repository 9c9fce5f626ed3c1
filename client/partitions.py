"""The smallest words of the consumer: a partition, an offset to commit, a leader, a broker."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from attrs import field, frozen

from client.errors import IllegalArgumentException

#: Coordinators have connections of their own; their ids count down from here, as in Kafka.
MAX_CONNECTION_ID = 2**31 - 1


class TopicPartition(NamedTuple):
    """One partition; a plain tuple, so that it is also what assignors speak of."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@frozen(kw_only=True)
class OffsetAndMetadata:
    """A position to be committed, or found committed."""

    offset: int = field()
    leader_epoch: int | None = None
    metadata: str = ""

    @offset.validator
    def _not_negative(self, _: object, offset: int) -> None:
        if offset < 0:
            raise IllegalArgumentException(f"offset must not be negative, not {offset}")


@lru_cache(maxsize=4_096)
def offset_and_metadata(
    offset: int, leader_epoch: int | None, metadata: str = ""
) -> OffsetAndMetadata:
    """The same, remembered: where nothing is read, the same positions are committed again."""
    return OffsetAndMetadata(offset=offset, leader_epoch=leader_epoch, metadata=metadata)


class BrokerNode(NamedTuple):
    """A broker behind one of our connections; the coordinator is one more node of its own."""

    id: int
    connection: str
    host: str = ""
    port: int = -1
    rack: str | None = None


class LeaderAndEpoch(NamedTuple):
    """Who leads a partition and since which epoch, each as far as known."""

    leader: BrokerNode | None = None
    epoch: int | None = None


NO_LEADER_OR_EPOCH = LeaderAndEpoch()


def broker_node(node_id: int, host: str, port: int, rack: str | None = None) -> BrokerNode:
    """The node behind the data connection to a broker."""
    return BrokerNode(id=node_id, connection=f"b{node_id}", host=host, port=port, rack=rack)


def coordinator_node(node_id: int, host: str, port: int) -> BrokerNode:
    """The node behind the connection that a consumer keeps to its coordinator alone."""
    return BrokerNode(
        id=MAX_CONNECTION_ID - node_id, connection=f"c{node_id}", host=host, port=port
    )


def bootstrap_nodes(addresses: tuple[str, ...]) -> tuple[BrokerNode, ...]:
    """The nodes that stand for `bootstrap.servers` until brokers have told their ids."""
    nodes = []
    for number, address in enumerate(addresses):
        host, _, port = address.rpartition(":")
        name = "bootstrap" if number == 0 else f"bootstrap{number + 1}"
        nodes.append(BrokerNode(id=-1 - number, connection=name, host=host, port=int(port)))
    return tuple(nodes)
