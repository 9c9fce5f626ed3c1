"""No acknowledged commit is lost in a failover: recordings that break it, and innocent ones."""

from __future__ import annotations

import pytest

from simulation.events import NOTHING_COMMITTED
from simulation.events import EventKind as E
from simulation.events import WorldEventKind as W
from tests.support.rows import TOPIC, an_event, begins, commits, found_in


def an_acknowledged_commit(offset):
    return (
        commits("ada", 1_000, offset),
        an_event(W.COMMIT_ACKNOWLEDGED, 1_010, client="ada", offset=offset),
    )


@pytest.mark.parametrize(
    ("offset", "detail"),
    [(4, "committed"), (0, "reset"), (0, NOTHING_COMMITTED), (30, NOTHING_COMMITTED)],
)
def test_an_acknowledged_commit_that_the_next_owner_does_not_find_is_a_loss(offset, detail):
    events = (
        *an_acknowledged_commit(9),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
        begins("bea", 2_100, offset, detail),
    )

    assert found_in(*events) == [("AcknowledgedCommitsSurvive", (2, 4))]


@pytest.mark.parametrize(
    ("offset", "detail"), [(9, "committed"), (30, "committed"), (30, "reset"), (0, "seek")]
)
def test_an_acknowledged_commit_is_not_lost_on_a_reader_that_begins_at(offset, detail):
    events = (
        *an_acknowledged_commit(9),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
        begins("bea", 2_100, offset, detail),
    )

    assert found_in(*events) == []


def test_a_commit_that_nobody_acknowledged_may_be_gone():
    events = (
        *an_acknowledged_commit(4),
        commits("ada", 1_500, 9),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
        begins("bea", 2_100, 4),
    )

    assert found_in(*events) == []


def test_a_topic_that_came_again_may_have_been_given_offsets_of_the_old_one():
    events = (
        an_event(W.TOPIC_DELETED, 500, group=None, topic=TOPIC),
        an_event(W.TOPIC_CREATED, 800, group=None, topic=TOPIC, count=1),
        *an_acknowledged_commit(9),
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
        begins("bea", 2_100, 0, NOTHING_COMMITTED),
    )

    assert found_in(*events) == []


def test_an_answer_from_before_the_acknowledgement_is_no_loss():
    events = (
        an_event(W.PARTITION_ASSIGNED, 500, client="bea"),
        *an_acknowledged_commit(9),
        begins("bea", 2_100, 4),
    )

    assert found_in(*events) == []


LATER_LOG = an_event(W.LOG_START_MOVED, 1_500, group=None, offset=10)


@pytest.mark.parametrize(
    ("between", "detail"),
    [
        (an_event(E.OFFSET_REMOVED, 1_500, detail="expired"), NOTHING_COMMITTED),
        (LATER_LOG, "reset"),
    ],
    ids=["the offset was removed", "the log begins later"],
)
def test_a_reset_is_no_loss_if(between, detail):
    events = (
        *an_acknowledged_commit(9),
        between,
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
        begins("bea", 2_100, 0, detail),
    )

    assert found_in(*events) == []


def test_a_commit_may_not_be_gone_because_the_log_begins_later():
    events = (
        *an_acknowledged_commit(9),
        LATER_LOG,
        an_event(W.PARTITION_ASSIGNED, 2_000, client="bea"),
        begins("bea", 2_100, 10, NOTHING_COMMITTED),
    )

    assert found_in(*events) == [("AcknowledgedCommitsSurvive", (2, 5))]
