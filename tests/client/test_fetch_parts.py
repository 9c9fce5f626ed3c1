"""Chunks, sessions and collecting: the parts of fetching, one by one."""

from __future__ import annotations

from client.errors import DataErrorCode
from client.fetch_buffer import CompletedFetch, FetchBuffer
from client.fetch_sessions import FetchSession, SessionPlace
from client.messages import FetchPartition, FetchPartitionResponse, FetchResponse, RecordBatch
from client.partitions import TopicPartition
from client.records import ConsumerRecords, RecordRange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def a_chunk(*batches, offset=0, moved=None):
    answer = FetchPartitionResponse(topic="t", partition_index=0, batches=batches)
    return CompletedFetch(T0, answer, offset, (moved if moved is not None else []).append)


def ranges(found):
    return [(each.first, each.end) for each in found]


def wanted(**offsets):
    return {
        TopicPartition("t", int(name[1:])): FetchPartition(
            topic="t", partition=int(name[1:]), fetch_offset=offset
        )
        for name, offset in offsets.items()
    }


def an_answer(*numbers, session_id=0):
    return FetchResponse(
        session_id=session_id,
        partitions=tuple(
            FetchPartitionResponse(topic="t", partition_index=number) for number in numbers
        ),
    )


def test_a_million_records_are_one_range():
    chunk = a_chunk(RecordBatch(first=0, end=1_000_000))

    assert ranges(chunk.take(2_000_000)) == [(0, 1_000_000)]


def test_a_chunk_is_consumed_only_when_more_is_asked_for_than_it_has():
    chunk = a_chunk(RecordBatch(first=0, end=4))

    chunk.take(4)
    at_the_end = chunk.is_consumed
    chunk.take(1)

    assert not at_the_end
    assert chunk.is_consumed


def test_records_before_the_asked_offset_are_skipped():
    assert ranges(a_chunk(RecordBatch(first=0, end=9), offset=6).take(5)) == [(6, 9)]


def test_compacted_ends_and_markers_move_the_position_without_a_record():
    chunk = a_chunk(
        RecordBatch(first=0, end=2, next_offset=5, leader_epoch=3),
        RecordBatch(first=5, end=5, next_offset=6, leader_epoch=4),
    )

    found = chunk.take(10)

    assert ranges(found) == [(0, 2)]
    assert found[0].leader_epoch == 3
    assert (chunk.next_fetch_offset, chunk.last_epoch) == (6, 4)


def test_a_partition_that_was_read_out_is_fetched_last_but_not_one_that_was_not():
    moved: list[TopicPartition] = []

    a_chunk(RecordBatch(first=0, end=1), moved=moved).drain()
    unread = list(moved)
    chunk = a_chunk(RecordBatch(first=0, end=1), moved=moved)
    chunk.take(5)

    assert unread == []
    assert moved == [T0]


def test_the_buffer_keeps_only_what_is_retained():
    buffer = FetchBuffer()
    buffer.add([a_chunk(RecordBatch(first=0, end=1))])
    buffer.in_line = a_chunk(RecordBatch(first=0, end=1))

    buffer.retain({T1})

    assert buffer.partitions == set()
    assert buffer.in_line is None
    assert not buffer.queue


def test_records_become_objects_only_when_one_looks_at_them():
    records = ConsumerRecords(
        (
            RecordRange(partition=T0, first=4, end=6, leader_epoch=2),
            RecordRange(partition=T1, first=0, end=1),
        )
    )

    assert len(records) == 3
    assert records.partitions == (T0, T1)
    assert [(record.partition, record.offset, record.leader_epoch) for record in records] == [
        (0, 4, 2),
        (0, 5, 2),
        (1, 0, None),
    ]


def test_a_session_names_only_what_changed():
    session = FetchSession()
    session.request(wanted(p0=0, p1=0))
    session.accepts(an_answer(0, 1, session_id=7))

    asked = session.request(wanted(p0=5, p1=0))

    assert asked.to_send == tuple(wanted(p0=5).values())
    assert set(asked.partitions) == {T0, T1}
    assert asked.place == SessionPlace(7, 1)


def test_a_session_forgets_what_is_not_wanted_any_more():
    session = FetchSession()
    session.request(wanted(p0=0, p1=0))
    session.accepts(an_answer(0, 1, session_id=7))

    asked = session.request(wanted(p1=0))

    assert asked.to_forget == (T0,)
    assert list(asked.to_send) == []


def test_a_session_that_the_broker_does_not_know_begins_anew():
    session = FetchSession()
    session.request(wanted(p0=0))
    session.accepts(an_answer(0, session_id=7))

    unknown = FetchResponse(error_code=DataErrorCode.FETCH_SESSION_ID_NOT_FOUND)

    assert not session.accepts(unknown)
    assert session.place == SessionPlace()


def test_a_full_answer_must_be_about_exactly_what_was_asked():
    session = FetchSession()
    session.request(wanted(p0=0, p1=0))

    assert not session.accepts(an_answer(0, session_id=7))
    assert session.place == SessionPlace()


def test_a_lost_request_ends_the_session_and_begins_another():
    session = FetchSession(SessionPlace(7, 3))

    session.lost()

    assert session.place == SessionPlace(7, 0)
    session.close()
    assert session.place == SessionPlace(7, -1)
