"""What a script does, read from the rows: a sentence for each verb and each way of timing."""

from __future__ import annotations

import pytest

from simulation.errors import SimulationError
from simulation.events import Row
from simulation.scenarios import Scenario
from simulation.scenarios.results import Missed
from tests.support.stories import rows_of

A_WORLD = """
cluster:
  topics: {orders: {partitions: 4, records: 4/s}}
groups:
  checkout:
    members: [ada, bea]
    subscribe: orders
    settings: {session.timeout.ms: 10s, metadata.max.age.ms: 10s}
run_for: 2m
"""


def played(*entries: str, **changes: object) -> list[Row]:
    """The rows of a small world with this script."""
    script = "script:\n" + "".join(f"  - {entry}\n" for entry in entries)
    scenario = Scenario.from_yaml(A_WORLD + script)
    return rows_of(scenario.with_overrides(changes))


def told(rows: list[Row], *kinds: str) -> list[tuple[int, str | None]]:
    return [(row.at_ms, row.client or row.detail) for row in rows if row.kind in kinds]


def lives(rows: list[Row], client: str) -> list[tuple[int, str]]:
    """When a consumer came and went."""
    return [
        (row.at_ms, row.kind.removeprefix("consumer_"))
        for row in rows
        if row.client == client and row.kind.startswith("consumer_")
    ]


def faults(rows: list[Row]) -> list[tuple[int, str, str | None]]:
    return [
        (row.at_ms, row.kind.removeprefix("fault_"), row.detail)
        for row in rows
        if row.kind in ("fault_started", "fault_healed")
    ]


# --- when ---


def test_what_lasts_is_taken_back():
    rows = played("{at: 20s, crash: ada, for: 15s}")

    assert lives(rows, "ada") == [(0, "started"), (20_000, "crashed"), (35_000, "started")]


def test_what_happens_every_so_often_happens_in_even_steps():
    rows = played("{every: 20s, from: 30s, until: 80s, pause: ada, for: 1s}")

    assert told(rows, "consumer_paused") == [(at, "ada") for at in (30_000, 50_000, 70_000)]


def test_without_a_beginning_the_first_step_is_one_interval_after_the_start():
    rows = played("{every: 50s, pause: ada, for: 1s}")

    assert told(rows, "consumer_paused") == [(50_000, "ada"), (100_000, "ada")]


def test_what_happens_by_chance_happens_as_the_seed_says():
    entry = "{every: about 10s, pause: any of checkout, for: 100ms}"

    first, second = told(played(entry), "consumer_paused"), told(played(entry), "consumer_paused")

    assert first == second
    assert 4 < len(first) < 30
    assert {client for _, client in first} == {"ada", "bea"}
    assert len({at % 10_000 for at, _ in first}) > 1


def test_an_event_is_answered_as_often_and_as_late_as_asked():
    rows = played(
        "{at: 20s, crash: ada, for: 1s}",
        "{at: 60s, crash: ada, for: 1s}",
        "{at: 90s, crash: ada, for: 1s}",
        "{on: {kind: consumer_crashed, client: ada, nth: 2, after: 2s}, pause: bea, for: 1s}",
    )

    assert told(rows, "consumer_paused") == [(62_000, "bea")]


def test_several_events_in_a_row_can_be_answered():
    rows = played(
        "{every: 30s, crash: ada, for: 1s}",
        "{on: {kind: consumer_crashed, times: 2}, pause: bea, for: 1s}",
    )

    assert told(rows, "consumer_paused") == [(30_000, "bea"), (60_000, "bea")]


def test_what_the_leader_of_a_group_does_can_be_answered():
    rows = played(
        "{on: {kind: request_sent, request: SyncGroup, client: leader of checkout},"
        " pause: leader of checkout, for: 1s}",
    )

    elected = next(row for row in rows if row.kind == "leader_elected")
    sent = next(
        row
        for row in rows
        if (row.kind, row.request, row.client) == ("request_sent", "SyncGroup", elected.client)
    )
    assert told(rows, "consumer_paused") == [(sent.at_ms, elected.client)]


def test_what_has_become_pointless_is_left_out():
    rows = played("{at: 20s, crash: ada}", "{at: 21s, crash: ada}", "{at: 22s, pause: ada}")

    assert lives(rows, "ada") == [(0, "started"), (20_000, "crashed")]


# --- consumers ---


def test_a_stop_is_orderly_and_a_start_that_comes_too_early_waits_for_it():
    rows = played(
        "{at: 30s, stop: ada}",
        "{at: 30.5s, start: ada}",
        **{"groups.checkout.app.on_revoked": "2s"},
    )

    (_, stopping, stopped, started) = lives(rows, "ada")
    assert (stopping, stopped[1]) == ((30_000, "stopping"), "stopped")
    assert started == (stopped[0], "started")
    assert stopped[0] > 32_000


def test_a_restart_is_as_long_down_as_told():
    rows = played("{at: 30s, restart: {members: all of checkout, stop: crash, down: 7s}}")

    assert lives(rows, "bea") == [(0, "started"), (30_000, "crashed"), (37_000, "started")]


def test_the_owner_of_a_partition_can_be_meant():
    rows = played("{at: 30s, pause: owner of orders-0, for: 1s}")

    (owner,) = {
        row.client for row in rows if row.kind == "partition_assigned" and row.partition == 0
    }
    assert told(rows, "consumer_paused") == [(30_000, owner)]


def test_whoever_is_meant_and_is_nobody_is_told():
    script = "script:\n  - {at: 2s, crash: owner of orders-0}\n  - {at: 30s, crash: ada}\n"

    result = Scenario.from_yaml(A_WORLD + script).play()

    assert result.missed == (Missed(at_ms=2_000, whom="owner of orders-0"),)


def test_a_rolling_restart_replaces_one_after_the_other():
    rows = played(
        "{at: 30s, rolling_restart: {group: checkout, stop: crash, down: 5s, pause: 10s}}"
    )

    assert lives(rows, "ada") == [(0, "started"), (30_000, "crashed"), (35_000, "started")]
    assert lives(rows, "bea") == [(0, "started"), (45_000, "crashed"), (50_000, "started")]


def test_a_rolling_restart_can_wait_for_the_group():
    rows = played("{at: 30s, rolling_restart: {group: checkout, down: 5s, wait: stable}}")

    ada_back = lives(rows, "ada")[-1][0]
    stable = next(row.at_ms for row in rows if row.state == "Stable" and row.at_ms > ada_back)
    bea_goes = next(at for at, what in lives(rows, "bea") if what == "stopping")
    assert stable <= bea_goes < stable + 1_000


def test_a_rolling_restart_can_bring_other_settings():
    rows = played(
        "{at: 30s, rolling_restart: "
        "{group: checkout, unavailable: 2, settings: {partition.assignment.strategy: sticky}}}"
    )

    assert [row.protocol for row in rows if row.protocol][-1] == "sticky"


def test_with_surge_new_ones_come_before_old_ones_go():
    rows = played("{at: 30s, rolling_restart: {group: checkout, surge: 2, down: 5s}}")

    assert lives(rows, "ada-v2") == lives(rows, "bea-v2") == [(30_000, "started")]
    assert [what for _, what in lives(rows, "ada")] == ["started", "stopping", "stopped"]
    assert lives(rows, "ada")[1] == (35_000, "stopping")


def test_a_group_scales_up_with_new_ones_and_down_with_the_latest():
    rows = played(
        "{at: 20s, scale: {group: checkout, to: 4, stagger: 1s}}",
        "{at: 60s, scale: {group: checkout, to: 1}}",
    )

    assert told(rows, "consumer_started")[2:] == [(20_000, "checkout-1"), (21_000, "checkout-2")]
    assert told(rows, "consumer_stopping") == [
        (60_000, client) for client in ("checkout-2", "checkout-1", "bea")
    ]


def test_who_was_scaled_down_is_the_first_to_come_back():
    rows = played(
        "{at: 20s, scale: {group: checkout, to: 1}}", "{at: 60s, scale: {group: checkout, to: 2}}"
    )

    assert lives(rows, "bea")[-1] == (60_000, "started")


def test_a_change_takes_effect_with_the_next_start():
    rows = played(
        "{at: 20s, change: {members: all of checkout, settings: {session.timeout.ms: 30s}}}",
        "{at: 30s, restart: ada}",
        "{at: 60s, crash: all of checkout}",
    )

    waits = {
        row.client: row.duration_ms
        for row in rows
        if row.kind == "timer_fired" and row.detail == "session"
    }
    assert waits == {"ada": 30_000, "bea": 10_000}


def test_an_autoscaler_follows_the_lag():
    rows = played(
        "{at: 0s, autoscale: {group: checkout, every: 5s, lag_per_member: 40, least: 1, most: 4,"
        " cooldown: 20s}}",
        "{at: 30s, append: {topic: orders, records: 50}}",
        **{"groups.checkout.app.process": "100ms per record", "run_for": "3m"},
    )

    running = 0
    most = 0
    for row in rows:
        running += {"consumer_started": 1, "consumer_stopped": -1}.get(row.kind, 0)
        most = max(most, running)
    assert most == 4
    assert running == 1


def test_a_raw_member_sends_what_it_is_told_and_nothing_else():
    rows = played(
        "{at: 30s, raw: {member: ghost, group: checkout, send: join, subscribe: orders}}",
        "{at: 31s, raw: {member: ghost, group: checkout, send: join, forget_id: true}}",
        "{at: 32s, raw: {member: ghost, group: checkout, send: leave}}",
    )

    sent = [
        (row.at_ms, row.request)
        for row in rows
        if row.client == "ghost" and row.kind == "request_sent"
    ]
    given = [row for row in rows if row.client == "ghost" and row.kind == "member_id_given"]
    assert sent == [(30_000, "JoinGroup"), (31_000, "JoinGroup"), (32_000, "LeaveGroup")]
    assert len(given) == 2


# --- the world around them ---


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{at: 30s, partition: {members: ada, brokers: 2}, for: 5s}",
         "partition ada from broker 2"),
        ("{at: 30s, partition: {members: ada, brokers: 2, one_way: to_client}, for: 5s}",
         "partition ada from broker 2 one_way to_client"),
        ("{at: 30s, hold: {members: ada, brokers: 2, request: JoinGroup}, for: 5s}",
         "hold JoinGroup of ada to broker 2"),
        ("{at: 30s, slow: {members: ada, brokers: 2, by: 1s}, for: 5s}",
         "slow ada to broker 2 by 1s"),
        ("{at: 30s, fail_append: checkout, for: 5s}", "fail_append checkout"),
        ("{at: 30s, slow_append: {group: checkout, by: 1s}, for: 5s}",
         "slow_append checkout by 1s"),
    ],
    ids=["partition", "one way", "hold", "slow", "fail_append", "slow_append"],
)  # fmt: skip
def test_a_fault_begins_and_is_healed(entry, words):
    assert faults(played(entry)) == [(30_000, "started", words), (35_000, "healed", words)]


@pytest.mark.parametrize(
    ("begin", "heal"),
    [
        ("partition: ada", "repair: ada"),
        ("hold: ada", "release: ada"),
        ("hold: {members: ada, request: Heartbeat}", "release: ada"),
        (
            "hold: {members: ada, request: Heartbeat}",
            "release: {members: ada, request: Heartbeat}",
        ),
        ("slow: ada", "normal: ada"),
        ("slow_append: checkout", "heal_append: checkout"),
    ],
)
def test_a_fault_can_be_healed_by_its_own_verb(begin, heal):
    rows = played(f"{{at: 30s, {begin}}}", f"{{at: 40s, {heal}}}")

    began = [words for at, kind, words in faults(rows) if (at, kind) == (30_000, "started")]
    healed = [words for at, kind, words in faults(rows) if (at, kind) == (40_000, "healed")]
    assert began == healed != []


def test_connections_are_reset():
    rows = played("{at: 30s, reset_connections: ada}")

    assert {client for _, client in told(rows, "connection_reset")} == {"ada"}


def test_the_coordinator_of_a_group_is_found_when_it_is_needed():
    rows = played("{at: 30s, crash_broker: coordinator of checkout, for: 10s}")

    (coordinator,) = {row.broker for row in rows if row.kind == "group_created"}
    crashed = [(row.at_ms, row.broker) for row in rows if row.kind == "broker_crashed"]
    restarted = [(row.at_ms, row.broker) for row in rows if row.kind == "broker_restarted"]
    assert crashed == [(30_000, coordinator)]
    assert restarted == [(40_000, coordinator)]


def test_a_coordinator_moves_to_the_next_broker():
    rows = played("{at: 30s, move_coordinator: {group: checkout, load: 2s}}")

    (moved,) = [row for row in rows if row.kind == "coordinator_moved"]
    (loaded,) = [row for row in rows if row.kind == "shard_loaded"]
    assert moved.broker == loaded.broker
    assert loaded.at_ms == moved.at_ms + 2_000


def test_topics_come_grow_and_go():
    rows = played(
        "{at: 20s, create_topic: {name: refunds, partitions: 2}}",
        "{at: 30s, add_partitions: {topic: orders, to: 6}}",
        "{at: 40s, delete_topic: refunds}",
    )

    changes = [
        (row.at_ms, row.kind, row.topic)
        for row in rows
        if row.kind in ("topic_created", "partitions_added", "topic_deleted") and row.at_ms
    ]
    assert changes == [
        (20_000, "topic_created", "refunds"),
        (30_000, "partitions_added", "orders"),
        (40_000, "topic_deleted", "refunds"),
    ]


def test_partitions_that_are_added_have_a_share_of_the_traffic():
    rows = played("{at: 30s, add_partitions: {topic: orders, to: 6}}")

    assert 5 in {row.partition for row in rows if row.kind == "records_processed"}


def test_more_is_written_for_a_while():
    rows = played("{at: 30s, produce: {topic: orders, records: 40/s}, for: 10s}")

    rates = [
        (row.at_ms, 1_000 * row.count // row.duration_ms)
        for row in rows
        if row.kind == "log_rate_changed" and row.partition == 0 and row.count and row.duration_ms
    ]
    assert rates == [(0, 1), (30_025, 10), (40_250, 1)]  # each from its first record on


def test_records_can_be_written_at_once_and_deleted():
    rows = played(
        "{at: 30s, append: {topic: orders, records: 100, partition: 2}}",
        "{at: 40s, truncate: {topic: orders, partition: 2, before: 120}}",
    )

    (moved,) = [row for row in rows if row.kind == "log_start_moved"]
    assert (moved.at_ms, moved.partition, moved.offset) == (40_000, 2, 120)


def test_a_log_that_is_too_short_to_be_truncated_there_is_told_in_a_sentence():
    with pytest.raises(
        SimulationError, match="orders-0 cannot be truncated before 5000 at 1m"
    ) as it:
        played("{at: 1m, truncate: {topic: orders, before: 5000}}")

    assert "asked for by script.0.truncate" in it.value.__notes__
