"""What the network promises, seen from whole worlds."""

from __future__ import annotations

from simulation.chance import between
from simulation.events import Row
from simulation.world import Simulation


def a_pair(**options: object) -> Simulation:
    sim = Simulation(seed=3, latency=between(1, 60), **options)  # type: ignore[arg-type]
    sim.topic("orders", partitions=4, records_per_s=4)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_until_stable("checkout")
    return sim


def of_kind(sim: Simulation, kind: str) -> list[Row]:
    return [row for row in sim.events if row.kind == kind]


def test_order_is_kept_within_a_connection():
    sim = a_pair()
    sim.run_for("30s")

    by_connection: dict[str | None, list[int | None]] = {}
    for row in of_kind(sim, "request_received"):
        by_connection.setdefault(row.connection, []).append(row.request_id)
    assert all(ids == sorted(ids, key=lambda each: each or 0) for ids in by_connection.values())


def test_what_waits_on_a_silent_link_arrives_when_it_is_repaired():
    sim = a_pair()

    sim.hold("ada", request="OffsetCommit")
    sim.run_for("10s")
    received_before = len([r for r in of_kind(sim, "request_received") if r.client == "ada"])
    sim.release("ada", request="OffsetCommit")
    sim.run_for("1s")

    received = [row for row in of_kind(sim, "request_received") if row.client == "ada"]
    assert "OffsetCommit" in {row.request for row in received[received_before:]}


def test_a_reset_before_the_broker_acts_loses_the_request():
    sim = a_pair()
    sim.when(
        lambda row: (row.kind, row.request, row.client) == ("request_sent", "OffsetCommit", "ada"),
        lambda: sim.reset_connections("ada"),
    )

    sim.run_for("8s")

    assert [row.request for row in of_kind(sim, "request_lost")] == ["OffsetCommit"]


def test_a_reset_after_the_broker_acted_loses_only_the_answer():
    sim = a_pair()
    sim.when(
        lambda row: (row.kind, row.request, row.client) == ("request_sent", "OffsetCommit", "ada"),
        lambda: sim.reset_connections("ada", acted=True),
    )

    sim.run_for("8s")

    lost = {row.request for row in of_kind(sim, "reply_lost")}
    assert "OffsetCommit" in lost


def test_one_way_silence_lets_requests_through_and_no_answers():
    sim = a_pair()

    sim.partition("bea", one_way="to_client")
    sim.run_for("20s")

    began = of_kind(sim, "fault_started")[0].seq
    after = [row for row in sim.events if row.seq > began and row.client == "bea"]
    assert "reply_received" not in {row.kind for row in after}


def test_a_fetch_is_not_an_event():
    sim = a_pair()
    sim.run_for("30s")

    assert {row.request for row in sim.events}.isdisjoint({"Fetch", "Metadata"})


def test_idle_fetches_cost_no_turns():
    sim = Simulation(seed=3)
    sim.topic("orders", partitions=4)
    sim.consumers("checkout", "ada", topics=["orders"], settings={"enable.auto.commit": "false"})
    sim.run_until_stable("checkout")
    sim.run_for("10s")
    before = sim.stage.kernel.turns

    sim.run_for("1m")

    assert sim.stage.kernel.turns - before < 10
