"""The periodic cleanup (KIP-211): what expires from when, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator import ClusterView, Topic
from coordinator.records import GroupMetadata, GroupRecord, OffsetRecord
from coordinator.states import EMPTY
from coordinator.timers import ExpiryTimer
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_preparing_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    some_protocols,
)
from tests.support.verbs import an_offset

A_MINUTE: dict[str, Any] = {
    "offsets_retention_minutes": 1,
    "offsets_retention_check_interval_ms": 1_000,
}
FOR_LONG: dict[str, Any] = {"session_timeout_ms": 1_800_000, "rebalance_timeout_ms": 1_800_000}


def test_the_first_look_is_one_interval_after_the_load():
    broker = a_broker()

    assert broker.due_ms(ExpiryTimer(0)) == 600_000


def test_each_look_is_one_interval_after_the_last():
    broker = a_broker()

    broker.advances(600_000)

    assert broker.due_ms(ExpiryTimer(0)) == 1_200_000


def test_each_shard_looks_for_itself():
    broker = a_broker(offsets_topic_num_partitions=3)
    broker.advances("1min")

    broker.fails_over(1)

    looks = [broker.due_ms(ExpiryTimer(shard)) for shard in range(3)]
    assert looks == [600_000, 660_000, 600_000]


def test_an_offset_of_a_simple_group_expires_a_retention_after_its_commit():
    broker = a_broker(**A_MINUTE)
    broker.commits(None)
    broker.advances(59_999)
    before = broker.offsets()

    broker.advances(1)

    assert before == {("t", 0): 5}
    assert broker.find_group() is None


def test_another_commit_gives_an_offset_of_a_simple_group_a_new_life():
    broker = a_broker(**A_MINUTE)
    broker.commits(None)
    broker.advances("30s")
    broker.commits(None)

    broker.advances("30s")

    assert broker.offsets() == {("t", 0): 5}


def test_an_offset_of_a_group_that_was_left_expires_a_retention_after_that():
    broker = a_broker(**A_MINUTE)
    (ada,) = a_stable_group(broker, "ada", **FOR_LONG)
    broker.commits(ada)
    broker.advances("2min")
    broker.leaves(ada)
    broker.advances(59_999)
    before = broker.offsets()

    broker.advances(1)

    assert before == {("t", 0): 5}
    assert broker.find_group() is None


def test_an_offset_of_an_old_record_without_a_time_of_its_state_expires_by_its_commit():
    broker = a_broker(**A_MINUTE)
    broker.commits(None)
    unknown = GroupMetadata(protocol_type="consumer", generation_id=3)
    broker.logs[0].append(GroupRecord(group_id="g", value=unknown))
    broker.fails_over()
    broker.advances(59_999)
    before = broker.offsets()

    broker.advances(1)

    assert before == {("t", 0): 5}
    assert broker.find_group() is None


def test_only_topics_that_nobody_subscribes_to_expire_in_a_stable_consumer_group():
    broker = a_broker(**A_MINUTE)
    (ada,) = a_stable_group(broker, "ada", **FOR_LONG)
    broker.commits(ada, an_offset("t"), an_offset("u"))

    broker.advances("2min")

    assert broker.offsets() == {("t", 0): 5}


@pytest.mark.parametrize(
    "build", [a_joined_group, a_preparing_group], ids=["between join and sync", "gathering joins"]
)
def test_nothing_expires_in_a_consumer_group_that_is(build):
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset("u"))
    build(broker, "ada", "bea", **FOR_LONG)

    broker.advances("2min")

    assert broker.offsets() == {("u", 0): 5}


def test_nothing_expires_while_the_topics_of_a_consumer_group_are_unknown():
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset("u"))
    a_stable_group(broker, "ada", protocols=some_protocols("range", metadata=b"?"), **FOR_LONG)

    broker.advances("2min")

    assert broker.offsets() == {("u", 0): 5}


def test_nothing_expires_in_a_group_of_another_type_that_has_members():
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset("u"))
    a_stable_group(broker, "ada", protocol_type="connect", **FOR_LONG)

    broker.advances("2min")

    assert broker.offsets() == {("u", 0): 5}


def test_offsets_of_another_type_expire_once_its_members_are_gone():
    broker = a_broker(**A_MINUTE)
    (ada,) = a_stable_group(broker, "ada", protocol_type="connect", **FOR_LONG)
    broker.commits(ada, an_offset("u"))
    broker.leaves(ada)

    broker.advances("1min")

    assert broker.find_group() is None


def test_an_offset_with_a_retention_of_its_own_expires_by_that():
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset("short"), api_version=4, retention_time_ms=10_000)
    broker.commits(None, an_offset("long"), api_version=4, retention_time_ms=3_600_000)

    broker.advances("5min")

    assert broker.offsets() == {("long", 0): 5}


def test_a_retention_of_its_own_does_not_matter_where_nothing_expires():
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset("u"), api_version=4, retention_time_ms=1)
    a_stable_group(broker, "ada", protocol_type="connect", **FOR_LONG)

    broker.advances("2min")

    assert broker.offsets() == {("u", 0): 5}


def test_a_retention_of_its_own_survives_a_failover_and_a_leader_epoch_does_not():
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset(), api_version=4, retention_time_ms=3_600_000)

    broker.fails_over()

    broker.advances("5min")
    assert broker.offsets() == {("t", 0): 5}


def test_the_subscription_that_counts_is_that_of_the_last_generation():
    broker = a_broker(**A_MINUTE)
    _, bea = a_stable_group(broker, a_client("ada", **FOR_LONG), a_static_client("bea", **FOR_LONG))
    broker.commits(bea, an_offset("t"), an_offset("u"))
    broker.joins(
        bea.restarted(), protocols=some_protocols("range", metadata=b"\x00\x00\x00\x00\x00\x00")
    )

    broker.advances("2min")

    assert broker.offsets() == {("t", 0): 5}


def test_an_empty_group_with_offsets_that_are_kept_stays():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.commits(ada)
    broker.leaves(ada)

    broker.advances("1h")

    assert broker.state() is EMPTY


def test_an_empty_group_that_only_has_handed_out_ids_is_removed():
    broker = a_broker(offsets_retention_check_interval_ms=1_000)
    broker.joins(a_client())

    broker.advances("1s")

    assert broker.find_group() is None


def test_a_group_with_members_is_never_removed():
    broker = a_broker(**A_MINUTE)
    a_stable_group(broker, "ada", **FOR_LONG)

    broker.advances("10min")

    assert len(broker.members()) == 1


def test_the_end_of_a_group_is_written_after_the_end_of_its_offsets():
    broker = a_broker(**A_MINUTE)
    broker.commits(None, an_offset("t"), an_offset("u"))
    before = len(broker.written)

    broker.advances("1min")

    assert broker.written[before:] == [
        OffsetRecord(group_id="g", topic="t", partition=0, value=None),
        OffsetRecord(group_id="g", topic="u", partition=0, value=None),
        GroupRecord(group_id="g", value=None),
    ]


def test_a_look_that_finds_nothing_writes_nothing():
    broker = a_broker(**A_MINUTE)
    an_empty_group(broker)
    broker.commits(None)
    before = len(broker.written)

    broker.advances("10s")

    assert len(broker.written) == before


# --- topics that are deleted ---


def test_the_offsets_of_a_deleted_topic_go_at_once_in_all_groups():
    broker = a_broker(offsets_topic_num_partitions=2)
    for group_id in ("a", "b"):
        broker.commits(None, an_offset("t"), an_offset("u"), group_id=group_id)

    broker.carry_out(broker.machine.on_topics_deleted([Topic("t", 1)], broker.now_ms))

    assert [broker.offsets(group_id) for group_id in ("a", "b")] == [{("u", 0): 5}] * 2


def test_the_offsets_of_an_active_group_go_with_their_topic():
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")
    broker.commits(ada)

    broker.carry_out(broker.machine.on_topics_deleted([Topic("t", 1)], broker.now_ms))

    assert broker.offsets() == {}


def test_the_offsets_of_a_later_topic_of_the_same_name_are_kept():
    broker = a_broker(view=ClusterView(topics={"t": Topic("t", 1, "the later one")}))
    broker.commits(None)

    broker.carry_out(
        broker.machine.on_topics_deleted([Topic("t", 1, "the earlier one")], broker.now_ms)
    )

    assert broker.offsets() == {("t", 0): 5}


def test_an_offset_without_a_topic_id_goes_with_any_topic_of_its_name():
    broker = a_broker()
    broker.commits(None)

    broker.carry_out(broker.machine.on_topics_deleted([Topic("t", 1, "an id")], broker.now_ms))

    assert broker.offsets() == {}


def test_a_group_outlives_its_topics():
    broker = a_broker()
    broker.commits(None)

    broker.carry_out(broker.machine.on_topics_deleted([Topic("t", 1)], broker.now_ms))

    assert broker.state() is EMPTY
