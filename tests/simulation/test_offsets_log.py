"""A partition of `__consumer_offsets`, and commits in it that say nothing new."""

from __future__ import annotations

from coordinator.protocol import OffsetCommitRequest, OffsetCommitResponse
from coordinator.records import OffsetAndMetadata, OffsetRecord
from coordinator.standing import Standing
from simulation.offsets_log import OffsetsLog


def a_record(partition: int, at_ms: int = 5) -> OffsetRecord:
    value = OffsetAndMetadata(committed_offset=7, commit_timestamp_ms=at_ms, topic_id="id of t")
    return OffsetRecord(group_id="g", topic="t", partition=partition, value=value)


def a_standing(partition: int) -> Standing:
    request = OffsetCommitRequest(request_id=1, client_id="", group_id="g")
    return Standing(request, (a_record(partition),), OffsetCommitResponse(), 5)


def keep_at(log: OffsetsLog, standing: Standing, at_ms: int) -> None:
    standing.at_ms = at_ms
    log.keep(standing)


def test_what_is_committed_again_is_read_as_of_the_last_time():
    log, standing = OffsetsLog(), a_standing(0)
    log.append(standing.records)

    for at_ms in (10, 15):
        keep_at(log, standing, at_ms)

    assert log.records() == (a_record(0, 15),)
    assert log.end_offset == 1


def test_what_is_committed_again_is_read_in_the_order_of_the_last_times():
    log, standings = OffsetsLog(), [a_standing(partition) for partition in range(3)]

    for at_ms, partition in enumerate((0, 1, 2, 1, 0)):
        keep_at(log, standings[partition], at_ms)

    assert log.records() == (a_record(2, 2), a_record(1, 3), a_record(0, 4))


def test_what_was_committed_again_stands_before_what_comes_later():
    log, standing = OffsetsLog(), a_standing(0)
    keep_at(log, standing, 10)

    log.append([a_record(1, 12)])

    assert log.records() == (a_record(0, 10), a_record(1, 12))
