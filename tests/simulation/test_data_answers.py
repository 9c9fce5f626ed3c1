"""What a broker answers from its logs, above all when it does not know a topic any more."""

from __future__ import annotations

from client.messages import FetchPartition, FetchRequest, FetchResponse
from coordinator import ErrorCode
from simulation.cluster import SimulatedCluster
from simulation.data_answers import DataAnswers
from simulation.events import Row
from simulation.world import Simulation


def a_broker(*topics: str) -> DataAnswers:
    cluster = SimulatedCluster((1,), 1)
    for topic in topics:
        cluster.create_topic(topic, 1, None)
    return DataAnswers(1, cluster)


def wanted(broker: DataAnswers, *topics: str) -> tuple[FetchPartition, ...]:
    """The beginnings of these topics, by their ids of now."""
    known = broker.cluster.topics
    return tuple(
        FetchPartition(topic=topic, partition=0, topic_id=known[topic].topic_id, fetch_offset=0)
        for topic in topics
    )


def fetch(
    broker: DataAnswers, partitions: tuple[FetchPartition, ...], *, unknown_before: int = 9
) -> FetchResponse | None:
    request = FetchRequest(partitions=partitions, max_wait_ms=500)
    return broker.fetch(request, partitions, 0, at_last=False, unknown_before=unknown_before)


def test_a_fetch_waits_for_records_though_one_of_its_topics_is_unknown():
    broker = a_broker("orders", "payments")
    both = wanted(broker, "orders", "payments")
    broker.cluster.delete_topic("payments")

    assert fetch(broker, both) is None


def test_a_fetch_of_nothing_but_unknown_topics_is_answered_at_once():
    broker = a_broker("payments")
    only = wanted(broker, "payments")
    broker.cluster.delete_topic("payments")

    answer = fetch(broker, only)

    assert answer is not None
    errors = [found.error_code for found in answer.partitions]
    assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_fetch_that_waits_is_answered_when_one_of_its_topics_is_deleted():
    broker = a_broker("orders", "payments")
    both = wanted(broker, "orders", "payments")
    broker.cluster.delete_topic("payments")

    answer = fetch(broker, both, unknown_before=0)

    assert answer is not None


def test_a_topic_that_is_created_again_is_not_the_one_that_an_old_id_names():
    broker = a_broker("payments")
    old = wanted(broker, "payments")
    broker.cluster.delete_topic("payments")
    broker.cluster.create_topic("payments", 1, None)

    answer = fetch(broker, old)

    assert answer is not None
    assert [found.error_code for found in answer.partitions] == [ErrorCode.UNKNOWN_TOPIC_ID]


def of_kind(sim: Simulation, kind: str) -> list[Row]:
    return [row for row in sim.events if row.kind == kind]


def test_a_consumer_waits_with_its_other_topics_when_one_is_deleted():
    sim = Simulation(seed=3, brokers=1)
    sim.topic("orders")
    sim.topic("payments")
    settings = {"enable.auto.commit": "false"}
    sim.consumers("checkout", "ada", topics=["orders", "payments"], settings=settings)
    sim.run_until_stable("checkout")
    sim.hold("ada", request="JoinGroup")  # so that it goes on with what it has
    before = sim.stage.kernel.turns

    sim.delete_topic("payments")
    sim.run_for("10s")

    # Twenty fetches of half a second, and a look at metadata each second.
    assert sim.stage.kernel.turns - before < 400


def ranges_read_of_a_topic_created_again_with(records: int) -> list[tuple[int | None, int | None]]:
    """A consumer has read ten records of a topic; then it is another one of the same name."""
    sim = Simulation(seed=3)
    sim.topic("orders")
    settings = {"enable.auto.commit": "false", "auto.offset.reset": "earliest"}
    sim.consumers("checkout", "ada", topics=["orders"], settings=settings)
    sim.run_until_stable("checkout")
    sim.append("orders", 10)
    sim.run_for("10s")
    sim.delete_topic("orders")
    sim.topic("orders")
    sim.append("orders", records)
    sim.run_for("1m")
    return [(row.offset, row.end_offset) for row in of_kind(sim, "records_processed")]


def test_a_topic_that_is_created_again_and_shorter_is_read_from_its_beginning():
    assert ranges_read_of_a_topic_created_again_with(5) == [(0, 10), (0, 5)]


def test_a_topic_that_is_created_again_and_as_long_is_read_on_from_where_the_old_one_was():
    # Kafka's consumer goes by leader and epoch, which are those of before; nobody tells it more.
    assert ranges_read_of_a_topic_created_again_with(25) == [(0, 10), (10, 25)]
