"""What is written to topics, by whom and for how long."""

from __future__ import annotations

import pytest

from simulation.world import Simulation


def ends(sim: Simulation, topic: str) -> list[int]:
    return [log.end_at(sim.now_ms) for log in sim.stage.cluster.topics[topic].logs]


def test_a_rate_that_varies_changes_at_its_times():
    sim = Simulation()
    sim.topic("orders", records_per_s=10, varying=[("10s", 100), ("20s", 0)])

    sim.run_for("1m")

    assert ends(sim, "orders") == [10 * 10 + 10 * 100]


@pytest.mark.parametrize(("rate", "gained"), [(1, 100), (0.1, 10), (2_000, 200_000)])
def test_a_new_rate_is_that_of_the_whole_topic_from_its_time_on(rate, gained):
    sim = Simulation()
    sim.topic("orders", partitions=100, records_per_s=1_000, varying=[("60s", rate)])
    sim.run_for("60s")
    before = sum(ends(sim, "orders"))

    sim.run_for("100s")

    assert sum(ends(sim, "orders")) - before == pytest.approx(gained, abs=100 * rate / 1_000 + 1)


def test_a_rate_that_changes_again_before_all_had_their_turn_is_that_of_the_whole_topic():
    sim = Simulation()
    sim.topic("orders", partitions=100, records_per_s=100)
    sim.run_for("60s")
    before = sum(ends(sim, "orders"))

    sim.produce("orders", 10)
    sim.run_for(1)
    sim.produce("orders", 10)
    sim.run_for("15s")

    assert sum(ends(sim, "orders")) - before == 150


def test_partitions_take_their_turns_at_a_new_rate():
    sim = Simulation()
    sim.topic("orders", partitions=4, records_per_s=4, varying=[("10s", 0.5)])
    sim.run_for("10s")
    before = ends(sim, "orders")

    sim.run_for("6s")

    gained = [end - known for end, known in zip(ends(sim, "orders"), before, strict=True)]
    assert gained == [1, 1, 1, 0]


def test_a_rate_that_has_not_begun_everywhere_gives_way_to_the_next():
    sim = Simulation()
    sim.topic("orders", partitions=30, records_per_s=1)
    sim.run_for("10s")

    sim.produce("orders", 0)
    sim.run_for("10m")

    assert ends(sim, "orders") == [0] * 30


def test_bursts_come_again_and_again():
    sim = Simulation()
    sim.topic("orders", partitions=2, burst=(5, "10s"))

    sim.run_for("25s")

    assert ends(sim, "orders") == [15, 15]


@pytest.mark.parametrize(
    "growth",
    [{"varying": [("20s", 100)]}, {"burst": (5, "10s")}, {"records_per_s": 1, "partitions": 30}],
    ids=["varying", "bursts", "in turn"],
)
def test_a_deleted_topic_takes_its_producers_along(growth):
    sim = Simulation()
    sim.topic("orders", **growth)
    sim.run_for("15s")

    sim.delete_topic("orders")
    sim.topic("orders", partitions=30)
    sim.run_for("1m")

    assert ends(sim, "orders") == [0] * 30


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("produce", (5,)),
        ("append", (5,)),
        ("add_partitions", (5,)),
        ("delete_topic", ()),
        ("truncate", (0, 5)),
    ],
)
def test_a_topic_that_is_not_there_is_named(verb, args):
    sim = Simulation()
    sim.topic("orders")

    with pytest.raises(ValueError, match="there is no topic 'payments', only orders"):
        getattr(sim, verb)("payments", *args)


def test_a_consumer_whose_position_was_deleted_is_sent_to_the_first_record_that_is_left():
    sim = Simulation(seed=3)
    sim.topic("orders")
    settings = {"auto.offset.reset": "earliest"}
    sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.partition("ada")
    sim.append("orders", 20)

    sim.truncate("orders", 0, before=15)
    sim.repair("ada")
    sim.run_for("10s")

    processed = [row for row in sim.events if row.kind == "records_processed"]
    assert [(row.offset, row.end_offset) for row in processed] == [(15, 20)]


def test_records_that_were_deleted_are_told():
    sim = Simulation()
    sim.topic("orders")
    sim.append("orders", 20)

    sim.truncate("orders", 0, before=15)

    (moved,) = [row for row in sim.events if row.kind == "log_start_moved"]
    assert (moved.topic, moved.partition, moved.offset) == ("orders", 0, 15)


def test_records_that_were_never_written_cannot_be_deleted():
    sim = Simulation()
    sim.topic("orders")
    sim.append("orders", 20)

    with pytest.raises(ValueError, match="before must not be beyond the log's end, 20, but is 21"):
        sim.truncate("orders", 0, before=21)


def test_how_long_a_topic_keeps_its_records_is_told():
    sim = Simulation(seed=3)
    sim.topic("orders", retention="10s")
    sim.topic("clicks")

    created = [row for row in sim.events if row.kind == "topic_created"]
    assert [row.duration_ms for row in created] == [10_000, None]


def test_partitions_added_to_a_topic_keep_records_no_longer_than_the_others():
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=1, retention="10s")
    sim.add_partitions("orders", 2)
    for partition in (0, 1):
        sim.append("orders", 5, partition=partition)

    sim.run_for("1m")

    logs = sim.stage.cluster.topics["orders"].logs
    assert [log.start_at(sim.now_ms) for log in logs] == [5, 5]


def test_a_rate_may_be_less_than_one_record_a_second():
    sim = Simulation()

    sim.topic("orders", partitions=2, records_per_s=0.1)
    sim.run_for("1m")

    assert sum(log.end_at(sim.now_ms) for log in sim.stage.cluster.topics["orders"].logs) == 5
