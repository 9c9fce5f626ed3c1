"""A write that cannot be appended while earlier ones are still on their way to the replicas."""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.errors import OutOfTurn
from tests.support.builders import a_broker, a_stable_group
from tests.support.verbs import an_offset


def two_commits_under_way(broker):
    """Ada's commits of offsets 1 and 2, both with a log that keeps silent."""
    (ada,) = a_stable_group(broker, "ada")
    broker.log_falls_silent()
    return broker.commits(ada, an_offset(offset=1)), broker.commits(ada, an_offset(offset=2))


def test_a_later_write_can_fail_while_an_earlier_one_is_under_way():
    broker = a_broker()
    first, second = two_commits_under_way(broker)
    _, later = broker.unspoken

    broker.carry_out(broker.machine.on_append(later, ErrorCode.NOT_ENOUGH_REPLICAS, broker.now_ms))

    assert first.is_open
    assert second.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_the_earlier_write_stands_and_only_the_later_one_is_undone():
    broker = a_broker()
    first, _ = two_commits_under_way(broker)
    earlier, later = broker.unspoken
    broker.carry_out(broker.machine.on_append(later, ErrorCode.NOT_ENOUGH_REPLICAS, broker.now_ms))

    broker.carry_out(broker.machine.on_append(earlier, None, broker.now_ms))

    assert first.errors == [ErrorCode.NONE]
    assert list(broker.offsets().values()) == [1]


def test_a_later_write_cannot_be_committed_before_an_earlier_one():
    broker = a_broker()
    two_commits_under_way(broker)
    earlier, later = broker.unspoken

    with pytest.raises(OutOfTurn, match=f"waits for write {earlier.write_id}"):
        broker.machine.on_append(later, None, broker.now_ms)


def test_the_log_may_still_speak_of_a_write_that_fell_with_an_earlier_one():
    broker = a_broker()
    first, second = two_commits_under_way(broker)

    broker.log_speaks(ErrorCode.NOT_ENOUGH_REPLICAS)

    assert first.errors == second.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert broker.offsets() == {}
