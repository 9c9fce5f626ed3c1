"""What no test noticed when a fault was planted there."""

from __future__ import annotations

import pytest

from client.commits import OFFSET_COMMIT_VERSION
from client.errors import DataErrorCode
from client.messages import FetchPartition, FetchRequest
from coordinator.protocol import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.records import OffsetRecord
from simulation.cluster import SimulatedCluster
from simulation.data_answers import DataAnswers
from simulation.events import Row
from simulation.logs import PartitionLog
from simulation.offsets_log import OffsetsLog
from simulation.raw_member import RawMember
from simulation.world import Simulation


def of_kind(sim: Simulation, kind: str) -> list[Row]:
    return [row for row in sim.events if row.kind == kind]


def a_commit(offset: int) -> OffsetCommitRequest:
    """A commit by hand, which a group without members accepts."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = (OffsetCommitRequestTopic(name="orders", partitions=(partition,)),)
    return OffsetCommitRequest(
        group_id="checkout", topics=topics, api_version=OFFSET_COMMIT_VERSION
    )


def a_world_with(*members: str) -> tuple[Simulation, list[RawMember]]:
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=1)
    return sim, [sim.raw_member(name, "checkout") for name in members]


def test_a_write_to_a_log_that_is_fast_again_waits_for_those_before_it():
    sim, (ada, bea) = a_world_with("ada", "bea")
    sim.slow_append("checkout", by="5s")
    ada.send(a_commit(5))
    sim.run_for("1s")

    sim.heal_append("checkout")
    bea.send(a_commit(7))
    sim.run_for("10s")

    asked = [row.cause for row in of_kind(sim, "write_committed")]
    assert len(asked) == 2
    assert asked == sorted(asked, key=lambda cause: cause or 0)


def test_what_waited_on_a_silent_link_arrives_when_it_is_repaired():
    sim, (ada,) = a_world_with("ada")
    ada.send(a_commit(5))
    sim.run_for("1s")
    sim.partition("ada")
    ada.send(a_commit(6))
    sim.run_for("1s")
    before = len(ada.replies)

    sim.repair("ada")
    sim.run_for("1s")

    assert (before, len(ada.replies)) == (1, 2)


def test_deleted_records_stay_deleted_where_retention_would_still_keep_them():
    log = PartitionLog(retention_ms=1_000)
    log.append(1_000, 10)

    log.truncate_before(8)

    assert log.start_at(1_500) == 8


def a_record(topic: str) -> OffsetRecord:
    return OffsetRecord(group_id="checkout", topic=topic, partition=0, value=None)


def test_the_offsets_log_is_read_in_the_order_in_which_it_was_last_written():
    log = OffsetsLog()
    log.append((a_record("orders"), a_record("payments")))

    log.append((a_record("orders"),))

    assert log.records() == (a_record("payments"), a_record("orders"))


@pytest.mark.parametrize("epoch", [1, 3])
def test_only_the_next_fetch_of_a_session_is_answered(epoch):
    cluster = SimulatedCluster((1,), 1)
    cluster.create_topic("orders", 1, None)
    answers = DataAnswers(1, cluster)
    first = answers.fetch(
        a_fetch(0, 0), a_fetch(0, 0).partitions, 0, at_last=True, unknown_before=0
    )
    assert first is not None
    second = a_fetch(first.session_id, 1)
    answers.fetch(second, second.partitions, 0, at_last=True, unknown_before=0)

    refused = answers.open_fetch(a_fetch(first.session_id, epoch))

    assert refused is not None
    assert refused.error_code is DataErrorCode.INVALID_FETCH_SESSION_EPOCH


def a_fetch(session_id: int, epoch: int) -> FetchRequest:
    wanted = FetchPartition(topic="orders", partition=0)
    return FetchRequest(partitions=(wanted,), session_id=session_id, session_epoch=epoch)


def test_a_producer_takes_the_partitions_in_turn():
    sim = Simulation(seed=1)

    sim.topic("orders", partitions=4, records_per_s=2)
    sim.run_for("5s")

    begun = {row.partition: row.at_ms for row in of_kind(sim, "log_rate_changed")}
    assert begun == {0: 0, 1: 500, 2: 1_000, 3: 1_500}
