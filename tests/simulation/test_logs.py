from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulation.logs import Growth, PartitionLog

TIMES = st.integers(0, 10**7)


def test_a_log_without_producers_stays_empty():
    log = PartitionLog()

    assert (log.start_at(10**9), log.end_at(10**9)) == (0, 0)
    assert log.grows_beyond_ms(0, 0) is None


def test_a_log_grows_at_its_rate():
    log = PartitionLog()
    log.grow(1_000, 3, 100)

    assert [log.end_at(at_ms) for at_ms in (999, 1_000, 1_033, 1_034, 1_100)] == [0, 0, 0, 1, 3]


@given(count=st.integers(1, 50), every_ms=st.integers(1, 5_000), end=st.integers(1, 10**6))
def test_a_growth_reaches_an_end_at_the_first_moment_at_which_it_has_it(count, every_ms, end):
    growth = Growth(500, 0, count, every_ms)

    at_ms = growth.reached_ms(end)

    assert at_ms is not None
    assert growth.end_at(at_ms) >= end > growth.end_at(at_ms - 1)


def test_records_written_at_once_come_on_top():
    log = PartitionLog()
    log.grow(0, 1, 10)
    log.append(100, 5)

    assert [log.end_at(at_ms) for at_ms in (99, 100, 110)] == [9, 15, 16]


def test_what_was_said_of_the_past_stays_true():
    log = PartitionLog()
    log.grow(0, 1, 10)
    before = [log.end_at(at_ms) for at_ms in range(200)]

    log.grow(200, 7, 3)

    assert [log.end_at(at_ms) for at_ms in range(200)] == before


@given(offset=st.integers(0, 300))
def test_a_record_was_written_when_the_log_first_reached_beyond_it(offset):
    log = PartitionLog()
    log.grow(0, 1, 10)
    log.grow(1_000, 3, 10)

    at_ms = log.written_ms(offset)

    assert at_ms is not None
    assert log.end_at(at_ms) > offset >= log.end_at(at_ms - 1)


def test_old_records_are_gone_after_their_time():
    log = PartitionLog(retention_ms=1_000)
    log.grow(0, 1, 10)

    assert [log.start_at(at_ms) for at_ms in (1_000, 1_100, 2_000)] == [0, 10, 100]


def test_records_deleted_by_hand_are_gone():
    log = PartitionLog()
    log.grow(0, 1, 1)
    log.truncate_before(40)

    assert log.start_at(100) == 40


def test_batches_are_parted_by_the_epochs_of_leaders():
    log = PartitionLog()
    log.grow(0, 1, 1)
    log.lead_from(1, 10)
    log.lead_from(4, 20)

    batches = log.batches(5, 25)

    assert [(each.first, each.end, each.leader_epoch) for each in batches] == [
        (5, 10, 0),
        (10, 20, 1),
        (20, 25, 4),
    ]


def test_an_epoch_ends_where_the_next_began():
    log = PartitionLog()
    log.grow(0, 1, 1)
    log.lead_from(2, 10)

    assert [log.end_of_epoch(epoch, 30) for epoch in (0, 1, 2, 9)] == [
        (0, 10),
        (0, 10),
        (2, 30),
        (2, 30),
    ]
