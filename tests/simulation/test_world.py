"""The world as a script sees it: design.md's own example, and one sentence per verb."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import pytest
from freezegun import freeze_time

from client.calls import AsyncConsumer
from simulation.events import Row
from simulation.world import Detail, Fault, Simulation


def a_world(**options: object) -> Simulation:
    """Three consumers that share twelve partitions with some traffic, in the calm."""
    sim = Simulation(seed=7, **options)  # type: ignore[arg-type]
    sim.topic("orders", partitions=12, records_per_s=10)
    sim.consumers("checkout", "ada", "bea", "cat", topics=["orders"])
    sim.run_until_stable("checkout")
    return sim


def of_kind(rows: Iterable[Row], *kinds: str) -> list[Row]:
    return [row for row in rows if row.kind in kinds]


def owners(sim: Simulation) -> dict[int | None, str | None]:
    """Who owns which partition now, told from the rows."""
    held: dict[int | None, str | None] = {}
    for row in of_kind(sim.events, "partition_assigned", "partition_revoked", "partition_lost"):
        if row.kind == "partition_assigned":
            held[row.partition] = row.client
        elif held.get(row.partition) == row.client:
            del held[row.partition]
    return held


def test_a_dead_consumer_is_missed_when_its_session_ends():
    sim = a_world()
    sim.run_for("1m")

    sim.crash("ada")
    sim.run_until_stable("checkout")

    last = sim.rebalances("checkout")[-1]
    assert last.cause == "session of ada expired"
    assert last.duration_ms < 4_000
    assert set(owners(sim).values()) == {"bea", "cat"}


def test_a_consumer_that_closes_is_missed_at_once():
    sim = a_world()
    stopped_ms = sim.now_ms

    sim.stop("ada")
    sim.run_until_stable("checkout")

    assert sim.now_ms - stopped_ms < 4_000
    assert set(owners(sim).values()) == {"bea", "cat"}
    assert len(owners(sim)) == 12


def test_a_consumer_that_is_back_has_its_share_again():
    sim = a_world()
    sim.stop("ada")
    sim.run_until_stable("checkout")

    sim.restart("ada")
    sim.run_until_stable("checkout")

    assert set(owners(sim).values()) == {"ada", "bea", "cat"}


def stands_still(sim: Simulation) -> None:
    sim.pause("ada")
    sim.run_for("50s")


UNREST: dict[str, tuple[str, Callable[[Simulation], object], str]] = {
    "a group is misspelt": (
        "chekout",
        lambda _sim: None,
        "no coordinator knows 'chekout'; consumers are of checkout",
    ),
    "somebody is dead": (
        "checkout",
        lambda sim: sim.crash("ada"),
        "checkout counts on ada, which does not run",
    ),
    "somebody was removed": (
        "checkout",
        stands_still,
        "ada is not settled in generation 2",
    ),
}


@pytest.mark.parametrize(("group", "act", "words"), UNREST.values(), ids=UNREST)
def test_who_waits_in_vain_is_told_when(group, act, words):
    sim = a_world()
    act(sim)

    with pytest.raises(TimeoutError, match=rf"not within 10s, at \d+ ms, seed 7: {words}"):
        sim.run_until_stable(group, within="10s")


def test_a_group_that_has_ended_is_not_waited_for():
    sim = a_world()
    for name in ("ada", "bea", "cat"):
        sim.stop(name)
    sim.consumers("billing", "dan", topics=["orders"])

    sim.run_until_stable(within="1m")

    assert sim.is_stable("billing")
    assert not sim.is_stable("checkout")


def test_a_short_pause_is_not_noticed():
    sim = a_world()

    sim.pause("bea")
    sim.run_for("20s")
    sim.resume("bea")
    sim.run_for("30s")

    assert len(of_kind(sim.events, "member_removed")) == 0


def test_a_long_pause_costs_the_membership_and_the_consumer_comes_back():
    sim = a_world()

    sim.pause("bea")
    sim.run_for("50s")
    sim.resume("bea")
    sim.run_until_stable("checkout")

    (removed,) = of_kind(sim.events, "member_removed")
    assert removed.client == "bea"
    assert set(owners(sim).values()) == {"ada", "bea", "cat"}


def test_a_silent_link_is_noticed_on_both_sides_and_healed():
    sim = a_world()

    sim.partition("cat")
    sim.run_for("70s")
    sim.repair("cat")
    sim.run_for("1m")

    assert [row.client for row in of_kind(sim.events, "member_removed")] == ["cat"]
    assert sim.is_stable("checkout")
    assert set(owners(sim).values()) == {"ada", "bea", "cat"}


def test_records_are_processed_once_each_in_the_calm():
    sim = a_world()
    sim.run_for("10s")

    processed = of_kind(sim.events, "records_processed")
    ends: dict[int | None, int | None] = {}
    for row in processed:
        assert ends.get(row.partition, row.offset) == row.offset
        ends[row.partition] = row.end_offset


def test_an_application_of_ones_own_sees_the_virtual_time():
    seen: list[datetime] = []

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        while True:
            records = await consumer.poll(timeout_ms=500)
            seen.extend(datetime.now(tz=UTC) for _ in records)

    with freeze_time("2024-01-01") as clock:
        sim = Simulation(seed=1, clock=clock)
        sim.topic("orders", records_per_s=1)
        sim.consumers("g", "ada", app=app)
        sim.run_for("1m")

    assert seen
    assert seen == sorted(seen)
    assert (seen[-1] - datetime(2024, 1, 1, tzinfo=UTC)).total_seconds() == pytest.approx(60, abs=1)


def test_a_ghost_that_joins_once_holds_the_group_until_its_session_ends():
    sim = a_world()
    ghost = sim.raw_member("ghost", "checkout")

    ghost.join("orders", session_timeout_ms=10_000)
    sim.run_for("1s")
    ghost.join("orders", session_timeout_ms=10_000)
    sim.run_for("2m")

    assert [row.client for row in of_kind(sim.events, "member_removed")] == ["ghost"]


def test_something_can_be_done_when_an_event_happens():
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=2)
    sim.when(
        lambda row: row.kind == "request_sent" and row.request == "SyncGroup",
        lambda: sim.crash("ada"),
    )

    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("10s")

    (crash,) = of_kind(sim.events, "consumer_crashed")
    sync = next(row for row in sim.events if row.request == "SyncGroup")
    assert crash.at_ms == sync.at_ms


def test_a_fault_is_data_and_heals_by_itself():
    sim = a_world()

    sim.fault(Fault(verb="partition", target="ada", at=sim.now_ms + 1_000, lasts="5s"))
    sim.run_for("20s")

    began, *_ = of_kind(sim.events, "fault_started")
    healed = of_kind(sim.events, "fault_healed")
    assert {row.detail for row in healed} == {
        row.detail for row in of_kind(sim.events, "fault_started")
    }
    assert healed[0].at_ms - began.at_ms == 5_000


@pytest.mark.parametrize("acted", [False, True], ids=["before", "after"])
def test_a_connection_that_is_reset_is_opened_again(acted):
    sim = a_world()

    sim.reset_connections("ada", acted=acted)
    sim.run_for("20s")

    assert sim.is_stable("checkout")
    assert of_kind(sim.events, "member_removed") == []


@pytest.mark.parametrize(("acted", "words"), [(False, "before"), (True, "after")])
def test_a_reset_is_told_with_whether_the_broker_had_acted(acted, words):
    sim = a_world()

    sim.reset_connections("ada", acted=acted)

    told = {row.detail for row in of_kind(sim.events, "connection_reset")}
    assert told == {f"{words} the broker acted"}


def test_commits_wait_for_a_log_that_is_slow_and_go_on_when_it_is_healed():
    sim = a_world()

    sim.slow_append("checkout", by="2s")
    sim.run_for("20s")
    sim.heal_append("checkout")
    sim.run_for("20s")

    assert sim.is_stable("checkout")


def test_what_a_broker_had_not_written_when_it_died_is_never_written():
    sim = Simulation(seed=5, brokers=1)
    sim.topic("orders", partitions=1, records_per_s=1)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_until_stable("checkout")
    sim.slow_append("checkout", by="20s")
    sim.run_for("10s")

    sim.crash_broker(1)
    crashed_ms = sim.now_ms
    sim.heal_append("checkout")
    sim.run_for("1s")
    sim.restart_broker(1)
    sim.run_for("1m")

    asked = {row.seq: row.at_ms for row in of_kind(sim.events, "request_received")}
    written = [row for row in of_kind(sim.events, "write_committed") if row.at_ms > crashed_ms]
    assert written
    assert [row for row in written if asked.get(row.cause or 0, crashed_ms) < crashed_ms] == []


def test_commits_fail_while_the_log_fails():
    sim = a_world()

    sim.fail_append("checkout")
    sim.run_for("20s")
    sim.heal_append("checkout")
    sim.run_for("20s")

    assert of_kind(sim.events, "write_failed")
    assert sim.is_stable("checkout")


def test_records_that_retention_has_taken_are_skipped():
    sim = Simulation(seed=5)
    sim.topic("orders", records_per_s=100, retention="10s")
    sim.consumers("checkout", "ada", topics=["orders"], settings={"auto.offset.reset": "earliest"})
    sim.run_until_stable("checkout")

    sim.partition("ada")
    sim.run_for("40s")
    sim.repair("ada")
    sim.run_for("1m")

    assert [row.detail for row in of_kind(sim.events, "position_set")][-1] != "committed"


def test_a_partition_that_comes_back_to_its_owner_is_fetched_again_though_nothing_is_written():
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=3)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_until_stable()

    sim.crash("ada")
    sim.run_for("2m")

    assigned = [row for row in sim.events if row.kind == "partition_assigned"][-3:]
    fetched = [row for row in sim.events if row.kind == "fetch_started"][-3:]
    assert {row.partition for row in fetched} == {0, 1, 2}
    assert max(row.at_ms for row in fetched) - assigned[0].at_ms < 600


def test_a_recording_in_full_detail_has_a_row_for_each_heartbeat():
    def played(detail: Detail) -> list[Row]:
        sim = Simulation(seed=1, detail=detail)
        sim.topic("orders", partitions=2)
        sim.consumers("checkout", "ada", topics=["orders"])
        sim.run_for("1m")
        sim.end()
        return list(sim.events)

    folded, full = (
        [row.count or 0 for row in played(detail) if row.kind == "heartbeats_answered"]
        for detail in ("folded", "full")
    )

    assert set(full) == {1}
    assert len(full) == sum(full) == sum(folded) > len(folded)


def test_a_rebalance_says_until_when_it_would_have_waited():
    settings = {"max.poll.interval.ms": "20000"}
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", "bea", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.pause("bea")

    sim.consumer("cat", group="checkout", topics=["orders"], settings=settings)
    sim.run_for("10s")

    last = sim.rebalances("checkout")[-1]
    assert last.deadline_ms == last.started_ms + 20_000


def test_a_first_rebalance_waits_until_its_delay_and_what_prolongs_it_are_over():
    sim = Simulation(seed=7)
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("2s")

    sim.consumers("checkout", "bea", topics=["orders"])
    sim.run_until_stable("checkout")

    (first,) = sim.rebalances("checkout")
    assert first.deadline_ms == first.started_ms + 6_000


def test_a_consumer_more_does_not_shift_what_happens_to_another_group():
    def of_checkout(*others: str) -> list[tuple[object, ...]]:
        sim = Simulation(seed=7)
        sim.topic("orders", partitions=6, records_per_s=5)
        sim.consumers("audit", *others, topics=["orders"])
        sim.consumers("checkout", "ada", "bea", "cat", topics=["orders"])
        sim.run_for("30s")
        sim.crash("bea")
        sim.run_for("2m")
        rows = [row for row in sim.events if row.group == "checkout"]
        return [
            (row.at_ms, row.kind, row.client, row.member, row.partition, row.offset) for row in rows
        ]

    assert of_checkout("hal") == of_checkout("hal", "ivy", "jon")


def test_one_way_silence_towards_a_broker_holds_requests_and_no_answers():
    sim = a_world()
    sim.slow_append("checkout", by="2s")
    sim.when(
        lambda row: (
            (row.kind, row.client, row.request) == ("request_received", "bea", "OffsetCommit")
        ),
        lambda: sim.partition("bea", one_way="to_broker"),
    )

    sim.run_for("20s")

    began_ms = of_kind(sim.events, "fault_started")[-1].at_ms
    after = [row for row in sim.events if row.client == "bea" and row.at_ms > began_ms]
    assert [row.request for row in of_kind(after, "reply_received")][:1] == ["OffsetCommit"]
    assert of_kind(after, "request_sent")
    assert of_kind(after, "request_received") == []


def test_whatever_a_debugger_or_a_test_report_shows_of_a_world_is_short():
    sim = Simulation()
    sim.topic("orders", partitions=4, records_per_s=10)
    (ada,) = sim.consumers("checkout", "ada", topics=["orders"])
    ghost = sim.raw_member("ghost", "checkout")
    ghost.join("orders")
    sim.run_for("10s")

    assert ada.machine is not None
    shown = (sim, sim.stage, sim.sink, ada, ada.machine, ada.machine.calls, ghost, ada.connections)
    assert {type(each).__name__: n for each in shown if (n := len(repr(each))) > 5_000} == {}
