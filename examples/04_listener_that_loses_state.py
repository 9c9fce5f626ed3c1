"""Testing a rebalance listener: does its state survive when partitions move?

Each pod counts the records of its partitions in memory, and a database keeps what is saved. The
first listener forgets to save what is taken from it. Its test fails, as it should, and the report
tells when the partitions moved; the second listener saves, and its test passes.

    pytest -v 04_listener_that_loses_state.py
"""

import pytest

from client.calls import AsyncConsumer
from client.listeners import Partitions, RebalanceListener
from client.partitions import TopicPartition
from groupsim import Simulation

Database = dict[TopicPartition, int]


class Totals(RebalanceListener):
    """Counts records by partition, and forgets to save the total of a partition that goes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.totals: Database = {}

    def on_partitions_assigned(self, partitions: Partitions) -> None:
        """Go on from what the last owner saved."""
        for partition in partitions:
            self.totals[partition] = self.database.get(partition, 0)

    def on_partitions_revoked(self, partitions: Partitions) -> None:
        """Drop what is somebody else's now."""
        for partition in partitions:
            del self.totals[partition]

    async def run(self, consumer: AsyncConsumer) -> None:
        """Count whatever comes; offsets are committed automatically."""
        consumer.subscribe(["orders"], listener=self)
        while True:
            for record in await consumer.poll(timeout_ms=500):
                self.totals[TopicPartition(record.topic, record.partition)] += 1


class SavedTotals(Totals):
    """The same, done right."""

    def on_partitions_revoked(self, partitions: Partitions) -> None:
        """Save what is somebody else's now; the offsets have just been committed."""
        for partition in partitions:
            self.database[partition] = self.totals.pop(partition)


@pytest.mark.groupsim(seed=7)
@pytest.mark.parametrize("listener", [Totals, SavedTotals])
def test_no_record_is_forgotten_when_a_second_pod_comes(
    simulation: Simulation, listener: type[Totals]
) -> None:
    """Ada counts 100 records; then bea takes one of the two partitions over."""
    database: Database = {}
    ada, bea = listener(database), listener(database)
    from_the_start = {"auto.offset.reset": "earliest"}
    simulation.topic("orders", partitions=2)
    simulation.append("orders", 60, partition=0)
    simulation.append("orders", 40, partition=1)
    simulation.consumer("ada", group="checkout", app=ada.run, settings=from_the_start)
    simulation.run_for("10s")

    simulation.consumer("bea", group="checkout", app=bea.run, settings=from_the_start)
    simulation.run_until_stable("checkout")

    counted = sum(ada.totals.values()) + sum(bea.totals.values())
    assert counted == 100
