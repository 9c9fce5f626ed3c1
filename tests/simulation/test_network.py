"""What the network promises, seen from whole worlds."""

from __future__ import annotations

from functools import partial

import pytest
from attrs import define, field

from client.calls import AsyncConsumer
from client.partitions import OffsetAndMetadata
from coordinator.protocol import HeartbeatRequest, Request
from simulation.chance import between, fixed
from simulation.events import Row
from simulation.kernel import Kernel, Rank, Turn
from simulation.network import Connection, Message, Network
from simulation.stage import Quiet
from simulation.world import Fault, Simulation


def a_pair(**options: object) -> Simulation:
    sim = Simulation(seed=3, latency=between(1, 60), **options)  # type: ignore[arg-type]
    sim.topic("orders", partitions=4, records_per_s=4)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])
    sim.run_until_stable("checkout")
    return sim


def of_kind(sim: Simulation, *kinds: str) -> list[Row]:
    return [row for row in sim.events if row.kind in kinds]


def test_order_is_kept_within_a_connection():
    sim = a_pair()
    sim.run_for("30s")

    by_connection: dict[str | None, list[int | None]] = {}
    for row in of_kind(sim, "request_received"):
        by_connection.setdefault(row.connection, []).append(row.request_id)
    assert all(ids == sorted(ids, key=lambda each: each or 0) for ids in by_connection.values())


def test_what_is_sent_behind_a_held_request_waits_with_it():
    sim = a_pair()

    sim.hold("ada", request="Heartbeat")
    sim.run_for("8s")
    held_from_ms = sim.now_ms
    sim.run_for("12s")
    sim.release("ada", request="Heartbeat")
    sim.run_for("10s")

    to_coordinator = [row for row in of_kind(sim, "request_received") if row.client == "ada"]
    waited = [row for row in to_coordinator if row.at_ms > held_from_ms]
    assert waited[0].request == "OffsetCommit"
    assert waited[0].at_ms >= held_from_ms + 12_000


@define(eq=False)
class Listener:
    """A client that keeps the answers it hears."""

    name: str = "ada"
    request_timeout_ms: int = 30_000
    is_listening: bool = True
    wants_other_since_ms: int = -1
    heard: list[object] = field(factory=list)

    def hear(self, _message: Message, response: object, _replied: int | None) -> None:
        self.heard.append(response)

    def hear_reset(self, _connection: Connection, _cause: int | None) -> None:
        self.heard.append("reset")

    def put_behind(self, connection: str, request: Request, other: Request) -> None:
        """Nothing is fetched here."""

    def set_sent(self, connection: str, request: Request, sent_ms: int) -> None:
        """The same."""


@define(eq=False)
class Echo:
    """A broker that answers each request with its number, at once or when it is told to."""

    network: Network
    life: int = 1
    is_up: bool = True
    is_busy: bool = False
    handled: list[int] = field(factory=list)

    def receive(self, message: Message) -> None:
        self.handled.append(message.request.request_id)
        if not self.is_busy:
            self.network.reply(message, message.request.request_id, None)

    def answer_parked(self, message: Message, *, at_last: bool) -> bool:  # noqa: ARG002
        return False


@define(eq=False)
class Wire:
    """One connection of ten milliseconds between a listener and an echo."""

    kernel: Kernel = field(factory=Kernel)
    listener: Listener = field(factory=Listener)
    lost: list[int] = field(factory=list)
    network: Network = field(init=False)
    echo: Echo = field(init=False)
    connection: Connection = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.network = Network(self.kernel, 0, fixed(10))
        self.network.lost = lambda message, _why: self.lost.append(message.request.request_id)
        self.echo = self.network.brokers[1] = Echo(self.network)
        self.connection = self.network.connect(self.listener, "c1", 1)

    def send(self, number: int) -> None:
        request = HeartbeatRequest(
            request_id=number, group_id="g", member_id="ada", generation_id=1
        )
        sent_ms = self.kernel.now_ms
        message = Message(self.connection, request, "Heartbeat", sent_ms, None, {})
        self.network.send(message)

    def at(self, at_ms: int, action: partial[None]) -> None:
        self.kernel.at(Turn(at_ms, Rank.SCRIPT), action)


def test_order_is_not_kept_between_two_connections_though_they_have_one_name():
    wire = Wire()
    wire.connection.link.extra_ms = 50
    wire.send(1)
    wire.connection.link.extra_ms = 0
    wire.connection = wire.network.connect(wire.listener, "c1", 1)

    wire.send(2)
    wire.kernel.run(100)

    assert wire.echo.handled == [2, 1]


def test_answers_that_a_repaired_link_kept_come_home_before_those_behind_them():
    wire = Wire()
    link = wire.connection.link
    link.is_silent_to_client = True
    wire.send(1)
    wire.at(5, partial(wire.send, 2))
    wire.kernel.run(22)

    link.is_silent_to_client = False
    link.release()
    wire.kernel.run(100)

    assert wire.listener.heard == [1, 2]


def test_requests_that_a_repaired_link_kept_arrive_before_those_behind_them():
    wire = Wire()
    link = wire.connection.link
    wire.send(1)
    wire.at(5, partial(wire.send, 2))
    wire.kernel.run(7)
    link.is_silent_to_broker = True
    wire.kernel.run(12)

    link.is_silent_to_broker = False
    link.release()
    wire.kernel.run(100)

    assert wire.echo.handled == [1, 2]


def test_a_reset_before_the_broker_acts_loses_what_waits_its_turn_there():
    wire = Wire()
    wire.echo.is_busy = True
    wire.send(1)
    wire.send(2)
    wire.kernel.run(10)

    wire.network.reset(wire.connection, None)
    wire.kernel.run(100)

    assert (wire.echo.handled, wire.lost, wire.listener.heard) == ([1], [2], ["reset"])


def test_a_reset_after_the_broker_acted_lets_it_handle_what_waits_its_turn_there():
    wire = Wire()
    wire.echo.is_busy = True
    wire.send(1)
    wire.send(2)
    wire.kernel.run(10)

    wire.network.reset(wire.connection, None, acted=True)
    wire.network.let_next_in(wire.connection)
    wire.kernel.run(100)

    assert (wire.echo.handled, wire.lost) == ([1, 2], [])


def test_what_is_sent_on_a_connection_that_was_reset_is_lost_though_the_broker_acted_before():
    wire = Wire()
    wire.send(1)

    wire.network.reset(wire.connection, None, acted=True)
    wire.send(2)
    wire.kernel.run(100)

    assert (wire.echo.handled, wire.lost) == ([1], [2])


def test_the_end_of_a_connection_waits_behind_what_a_silent_link_keeps():
    wire = Wire()
    link = wire.connection.link
    link.is_silent_to_broker = True
    wire.send(1)
    wire.network.reset(wire.connection, None, acted=True)
    wire.send(2)
    wire.kernel.run(10)

    link.is_silent_to_broker = False
    link.release()
    wire.kernel.run(100)

    assert (wire.echo.handled, wire.lost) == ([1], [2])


def test_heartbeats_on_a_connection_that_was_reset_keep_no_session_alive():
    sim = a_pair()
    sim.run_for("10s")
    sim.partition("ada", one_way="to_client")

    sim.reset_connections("ada", acted=True)
    reset_ms = sim.now_ms
    sim.run_for("50s")

    (expired,) = (row for row in of_kind(sim, "timer_fired") if row.client == "ada")
    assert expired.at_ms - reset_ms < 45_100


def test_however_many_requests_wait_their_turn_they_are_handled_in_order():
    wire = Wire()
    wire.echo.is_busy = True
    for number in range(2_000):
        wire.send(number)
    wire.kernel.run(10)

    wire.echo.is_busy = False
    wire.network.let_next_in(wire.connection)
    wire.kernel.run(100)

    assert wire.echo.handled == list(range(2_000))
    assert wire.listener.heard == list(range(1, 2_000))


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


def test_an_answer_that_comes_as_its_connection_is_given_up_is_lost():
    sim = Simulation(seed=3, latency=fixed(2))
    sim.topic("orders")

    async def app(consumer: AsyncConsumer) -> None:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            await consumer.poll(timeout_ms=100)
        sim.fail_append("checkout")
        (partition,) = consumer.assignment()
        await consumer.commit_async({partition: OffsetAndMetadata(offset=1)})
        await consumer.sleep(2)
        await consumer.commit_async({partition: OffsetAndMetadata(offset=2)})
        await consumer.sleep(4)  # The poll finds the first answer just as the second one comes.
        await consumer.poll(timeout_ms=100)

    sim.consumers("checkout", "ada", app=app, settings={"enable.auto.commit": "false"})
    sim.run_for("10s")

    heard = [
        (row.kind, row.error)
        for row in of_kind(sim, "reply_received", "reply_lost")
        if row.request == "OffsetCommit"
    ]
    assert heard == [
        ("reply_received", "COORDINATOR_NOT_AVAILABLE"),
        ("reply_lost", "COORDINATOR_NOT_AVAILABLE"),
    ]


def test_an_idle_fetch_is_answered_before_requests_that_are_still_on_their_way():
    sim = Simulation(seed=18)
    sim.topic("orders")
    settings = {
        "session_timeout_ms": 6_000,
        "heartbeat_interval_ms": 2_000,
        "request_timeout_ms": 5_000,
        "metadata_max_age_ms": 30_000,
        "enable_auto_commit": False,
    }
    sim.consumers("audit", "bea", topics=["orders"], settings=settings)

    # Requests pile up on a slow link behind a fetch that waits, and then the link is fast again.
    sim.fault(Fault(verb="slow", target="bea", at=101_733, lasts=53_629, options={"by": 2_808}))
    sim.fault(Fault(verb="pause", target="bea", at=102_536, lasts=6_556))
    sim.run_for("4m")

    assert sim.is_stable("audit")


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


def test_each_link_may_have_a_latency_of_its_own():
    sim = Simulation(seed=3, brokers=1, latency=fixed(2))
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", "bea", topics=["orders"])

    sim.link("bea", 1, latency=fixed(40))
    sim.run_for("30s")

    waited = {
        (row.client, row.duration_ms)
        for row in of_kind(sim, "reply_received")
        if row.request == "OffsetFetch"
    }
    assert waited == {("ada", 4), ("bea", 80)}


@pytest.mark.parametrize("at_ms", [40_000, 41_003, 42_999])
def test_a_latency_that_changes_in_a_calm_gives_the_same_rows_skipped_and_played(at_ms):
    def rows(quiet: Quiet) -> list[Row]:
        sim = Simulation(seed=3, quiet=quiet)
        sim.topic("orders")
        sim.consumers("checkout", "ada", "bea", topics=["orders"])
        sim.slow("bea", by="20ms")
        sim.at(at_ms, lambda: sim.link("bea", latency=between(1, 90)))
        sim.at(at_ms + 20_007, lambda: sim.crash("bea"))
        sim.run_for("3m")
        return list(sim.events)

    assert rows("skip") == rows("play")
