"""Which error a client hears when the log gives one, for every kind of request.

No recording has slow or batched writes, so these tests are the proof; the outcomes are those of
Kafka 4.3.1's own runtime. What a failure undoes is in test_writes.py.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from tests.support.builders import (
    a_broker,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    begin_a_write,
)

#: What the log says, and what a client hears of it.
HEARD = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_TOPIC_EXCEPTION: ErrorCode.INVALID_TOPIC_EXCEPTION,  # anything else
}

# --- every kind of request whose write fails, or that waits for one that does ---


def a_first_join(broker, error):
    broker.next_write_fails(error)
    return broker.joins(a_static_client())


def a_static_return(broker, error):
    ada, _ = a_stable_group(broker, a_static_client("ada"), "bea")
    broker.next_write_fails(error)
    return broker.joins(ada.restarted())


def a_leaders_sync(broker, error):
    (ada,) = a_joined_group(broker, "ada")
    broker.next_write_fails(error)
    return broker.syncs(ada, {})


def a_followers_sync(broker, error):
    ada, bea = a_joined_group(broker, "ada", "bea")
    call = broker.syncs(bea)
    broker.next_write_fails(error)
    broker.syncs(ada, {})
    return call


def the_last_leave(broker, error):
    (ada,) = a_stable_group(broker, "ada")
    broker.next_write_fails(error)
    return broker.leaves(ada)


def a_commit(broker, error):
    broker.next_write_fails(error)
    return broker.commits(None)


def an_offset_delete(broker, error):
    broker.commits(None)
    broker.next_write_fails(error)
    return broker.deletes_offsets("g", ("t", 0))


def a_group_delete(broker, error):
    an_empty_group(broker)
    broker.next_write_fails(error)
    return broker.deletes("g")


def a_beat_that_waits(broker, error):
    (ada,) = a_stable_group(broker, "ada")
    begin_a_write(broker)
    call = broker.beats(ada)
    broker.log_speaks(error)
    return call


def a_leave_that_waits(broker, error):
    _, bea = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = broker.leaves(bea)
    broker.log_speaks(error)
    return call


def a_join_that_waits(broker, error):
    ada, _ = a_stable_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = broker.joins(ada)
    broker.log_speaks(error)
    return call


def a_sync_that_waits(broker, error):
    _, bea = a_joined_group(broker, "ada", "bea")
    begin_a_write(broker)
    call = broker.syncs(bea)
    broker.log_speaks(error)
    return call


def a_stable_fetch_that_waits(broker, error):
    begin_a_write(broker)
    call = broker.fetches("g", require_stable=True)
    broker.log_speaks(error)
    return call


#: The group itself tells these of the failure.
GROUP_WRITES = [a_first_join, a_static_return, a_leaders_sync, a_followers_sync]
OPERATIONS = [
    the_last_leave,
    a_commit,
    an_offset_delete,
    a_group_delete,
    a_leave_that_waits,
    a_join_that_waits,
    a_sync_that_waits,
]


def in_words(value):
    return value.__name__ if callable(value) else value.name


@pytest.mark.parametrize("said", HEARD, ids=in_words)
@pytest.mark.parametrize("kind", [*GROUP_WRITES, *OPERATIONS, a_beat_that_waits], ids=in_words)
def test_the_logs_error_is_translated_for(kind, said):
    broker = a_broker()

    call = kind(broker, said)

    assert call.errors == [HEARD[said]]


@pytest.mark.parametrize("said", HEARD, ids=in_words)
def test_a_stable_fetch_is_sent_elsewhere_where_others_are_told_to_wait(said):
    broker = a_broker()

    call = a_stable_fetch_that_waits(broker, said)

    is_remapped = HEARD[said] is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert call.errors == [ErrorCode.NOT_COORDINATOR if is_remapped else HEARD[said]]


@pytest.mark.parametrize("kind", GROUP_WRITES, ids=in_words)
def test_a_network_error_goes_through_unchanged_for(kind):
    broker = a_broker()

    call = kind(broker, ErrorCode.NETWORK_EXCEPTION)

    assert call.errors == [ErrorCode.NETWORK_EXCEPTION]


@pytest.mark.parametrize("kind", [*OPERATIONS, a_stable_fetch_that_waits], ids=in_words)
def test_a_network_error_reads_as_a_load_in_progress_for(kind):
    broker = a_broker()

    call = kind(broker, ErrorCode.NETWORK_EXCEPTION)

    assert call.errors == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]


def test_a_network_error_does_not_reach_a_beat_that_waits():
    broker = a_broker()

    call = a_beat_that_waits(broker, ErrorCode.NETWORK_EXCEPTION)

    # It reads as a load in progress, and a beat during a load is taken blindly.
    assert call.error is ErrorCode.NONE
