"""Everything a run needs, put together: which part knows which."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, Protocol

from attrs import define, field

from client.applications import ResultStore
from coordinator import GroupConfig, GroupCoordinator, IdSource
from coordinator.group import Group
from coordinator.java_order import partition_for
from simulation.broker import Broker
from simulation.chance import Law
from simulation.cluster import OFFSETS_TOPIC, PORT, SimulatedCluster, host_of
from simulation.consumer_book import Role
from simulation.consumer_host import ConsumerHost
from simulation.errors import SimulationError
from simulation.events import Facts, WorldEventKind
from simulation.idle_fetch import IdleFetches
from simulation.kernel import Kernel, Rank, Turn
from simulation.member_ids import IdsByClient
from simulation.network import Connection, Link, Message, Network
from simulation.offsets_log import LogTrouble, OffsetsLog
from simulation.recorder import Recorder, Sink

Quiet = Literal["skip", "play"]
#: Whether something holds is asked so often though nothing happens.
_LOOKS_MS = 1_000


class FrozenClock(Protocol):
    """What freezegun's `freeze_time` gives: a clock that can be moved on."""

    def tick(self, delta: float) -> object:
        """Move on by so many seconds."""


class QuietTime(Protocol):
    """What keeps lulls (simulation/quiet.py)."""

    def after_step(self, host: ConsumerHost) -> None:
        """See whether a consumer can be left alone."""

    def wake_client(self, client: str) -> None:
        """End a member's lull."""

    def wake_group(self, group: str) -> None:
        """End the lulls of a group."""

    def wake_all(self) -> None:
        """End every lull."""

    def count_client(self, client: str) -> None:
        """Count a member's repetitions up to the present."""

    def count_all(self) -> None:
        """Count everybody's repetitions up to the present."""


@define(eq=False, kw_only=True, repr=False)
class Stage:
    """The parts of a run."""

    seed: int
    broker_ids: tuple[int, ...]
    quiet: Quiet
    title: str
    run: str
    law: Law
    group_config: GroupConfig
    member_ids: IdSource | None
    sink: Sink
    clock: FrozenClock | None
    kernel: Kernel = field(factory=Kernel, init=False)
    recorder: Recorder = field(init=False)
    cluster: SimulatedCluster = field(init=False)
    network: Network = field(init=False)
    idle: IdleFetches = field(init=False)
    brokers: dict[int, Broker] = field(factory=dict, init=False)
    hosts: dict[str, ConsumerHost] = field(factory=dict, init=False)
    #: The consumer behind each member id.
    clients: dict[str, str] = field(factory=dict, init=False)
    logs: dict[int, OffsetsLog] = field(factory=dict, init=False)
    trouble: LogTrouble = field(factory=LogTrouble, init=False)
    #: The row with which the run began.
    started: int = field(init=False)
    #: What keeps lulls; None where everything is played.
    lulls: QuietTime | None = field(default=None, init=False)
    #: Who is left alone at the moment.
    asleep: set[str] = field(factory=set, init=False)
    #: Whether a script is told what has ended an application and should not have.
    is_telling_failures: bool = field(default=True, init=False)
    #: What it has not been told yet.
    failures: list[BaseException] = field(factory=list, init=False)
    #: The longest that any coordinator has read a log for.
    load_ms_max: int = field(default=0, init=False)
    #: The row of the last move of each partition of the offsets topic that has moved.
    _last_moves: dict[int, int] = field(factory=dict, init=False)
    raw_names: set[str] = field(factory=set, init=False)
    #: How many requests raw members have sent.
    raw_requests: int = field(default=0, init=False)
    _results: dict[str, ResultStore] = field(factory=dict, init=False)
    _shown_ms: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Bring the cluster up."""
        kernel = self.kernel
        self.recorder = Recorder(
            run=self.run, sink=self.sink, now_ms=partial(getattr, kernel, "now_ms")
        )
        self.started = self.recorder.record(
            WorldEventKind.RUN_STARTED, 0, None, detail=self.title or None
        )
        shards = self.group_config.offsets_topic_num_partitions
        self.cluster = SimulatedCluster(self.broker_ids, shards, self.seed)
        self.network = Network(kernel, self.seed, self.law)
        self.idle = IdleFetches(kernel, self.network, self.cluster)
        self.recorder.asleep = self.idle.asleep = self.asleep
        self.recorder.before_closing = self._before_closing
        self.idle.before_look = self.before_touching_client
        self.network.lost = self._on_lost
        self.network.pass_idle = self.idle.pass_idle
        self.network.forget_idle = self.idle.forget
        if self.member_ids is None:
            self.member_ids = IdsByClient(self.seed)
        for broker in self.broker_ids:
            self.brokers[broker] = self._new_broker(broker)
            self.network.brokers[broker] = self.brokers[broker]
        for shard, leader in self.cluster.offsets_leaders.items():
            assert leader is not None
            machine = self.brokers[leader].machine
            self.brokers[leader].carry_out_quietly(machine.load(shard, (), 0))

    def _new_broker(self, broker: int) -> Broker:
        return Broker(
            id=broker,
            cluster=self.cluster,
            kernel=self.kernel,
            network=self.network,
            recorder=self.recorder,
            logs=self.logs,
            trouble=self.trouble,
            new_machine=self._new_machine,
            park=self.idle.park,
            before_touching=self.before_touching_group,
            clients=self.clients,
        )

    def _new_machine(self) -> GroupCoordinator:
        # One source for all brokers, so that an id is never given twice.
        return GroupCoordinator(self.group_config, ids=self.member_ids, view=self.cluster.view())

    # --- consumers ---

    @property
    def bootstrap_servers(self) -> tuple[str, ...]:
        """Every broker's address."""
        return tuple(f"{host_of(broker)}:{PORT}" for broker in self.broker_ids)

    def add_consumer(self, role: Role) -> ConsumerHost:
        """A consumer that has not begun yet."""
        host = ConsumerHost(
            role=role,
            kernel=self.kernel,
            network=self.network,
            recorder=self.recorder,
            brokers_of=self.broker_behind,
            on_pause=self.idle.on_disturbed,
            asleep=self.asleep,
            before_touching=self._before_touching_host,
            after_step=None if self.lulls is None else self.lulls.after_step,
            on_failure=self._on_failure,
        )
        self.hosts[role.name] = host
        return host

    def host(self, client: str) -> ConsumerHost:
        """The consumer of that name."""
        found = self.hosts.get(client)
        if found is None:
            known = ", ".join(sorted(self.hosts)) or "nobody"
            raise ValueError(f"there is no consumer {client!r}, only {known}")
        return found

    def has_client(self, name: str) -> bool:
        """Whether there is a consumer or a raw member of that name."""
        return name in self.hosts or name in self.raw_names

    def results_of(self, group: str) -> ResultStore:
        """Where a group that keeps offsets with its results keeps them."""
        return self._results.setdefault(group, ResultStore())

    def broker_behind(self, connection: str) -> int:
        """The broker that a connection of this name leads to."""
        if connection.startswith("bootstrap"):
            return self.broker_ids[int(connection.removeprefix("bootstrap") or "1") - 1]
        return int(connection[1:])

    # --- groups ---

    def shard_of(self, group: str) -> int:
        """The partition of the offsets topic that holds a group."""
        return partition_for(group, self.group_config.offsets_topic_num_partitions)

    def coordinator_of(self, group: str) -> Broker | None:
        """Who coordinates a group, if anybody does."""
        leader = self.cluster.offsets_leaders[self.shard_of(group)]
        return None if leader is None else self.brokers[leader]

    def group(self, group: str) -> Group | None:
        """A group as its coordinator knows it."""
        broker = self.coordinator_of(group)
        slot = None if broker is None else broker.machine.slots.get(self.shard_of(group))
        if slot is None or slot.shard is None:
            return None
        return slot.shard.groups.get(group)

    def move_shard(self, shard: int, to: int | None, load_ms: int, cause: int | None) -> None:
        """Let another broker lead a partition of the offsets topic, and read it for so long."""
        before = self.cluster.offsets_leaders[shard]
        moved = self.recorder.record(
            WorldEventKind.COORDINATOR_MOVED,
            self.kernel.now_ms,
            cause,
            broker=to,
            topic=OFFSETS_TOPIC,
            partition=shard,
            detail=None if before is None else f"from broker {before}",
        )
        self.cluster.lead_shard(shard, to)
        self._last_moves[shard] = moved
        if before is not None and self.brokers[before].is_up:
            self.brokers[before].unload(shard, moved)
        if to is None:
            return
        self.load_ms_max = max(self.load_ms_max, load_ms)
        broker = self.brokers[to]
        broker.start_loading(shard, moved)
        life = broker.life
        turn = Turn(self.kernel.now_ms + load_ms, Rank.LOG, str(to), "loaded", shard)
        self.kernel.at(turn, partial(self._finish_loading, broker, life, shard, moved))

    def _finish_loading(self, broker: Broker, life: int, shard: int, moved: int) -> None:
        # A partition that moved on and came back is read anew; the first reading counts no more.
        is_current = self._last_moves[shard] == moved
        if broker.is_up and broker.life == life and is_current:
            broker.finish_loading(shard, moved)

    # --- time ---

    def play(self, end_ms: int, holds: Callable[[], bool] | None = None) -> None:
        """Run up to that time, or until something holds.

        Whether it holds is asked when a millisecond is over in which something was recorded, and
        at each whole second: at the same moments whether quiet time is skipped or played.
        """
        kernel, recorder = self.kernel, self.recorder
        if holds is not None and holds():
            return
        told = recorder.recorded
        while kernel.now_ms < end_ms or self._is_present_left():
            until_ms = end_ms
            if holds is not None:
                until_ms = min(end_ms, (kernel.now_ms // _LOOKS_MS + 1) * _LOOKS_MS)
            if holds is not None or self.clock is not None:
                next_ms = kernel.next_at_ms()
                until_ms = until_ms if next_ms is None else min(until_ms, next_ms)
            self._show(until_ms)
            kernel.run(until_ms, self.failures)
            if self.failures:
                return
            if holds is None:
                continue
            if recorder.recorded != told or kernel.now_ms % _LOOKS_MS == 0:
                if holds():
                    return
                told = recorder.recorded

    def _is_present_left(self) -> bool:
        """Whether something else happens in the present millisecond."""
        at_ms = self.kernel.next_at_ms()
        return at_ms is not None and at_ms <= self.kernel.now_ms

    def _show(self, now_ms: int) -> None:
        if self.clock is not None and now_ms > self._shown_ms:
            self.clock.tick((now_ms - self._shown_ms) / 1_000)
            self._shown_ms = now_ms

    def settle(self) -> None:
        """Let everything that is only counted become rows."""
        if self.lulls is not None:
            self.lulls.count_all()
        self.recorder.close_all()

    def require_broker(self, broker: int) -> Broker:
        """The broker of that id."""
        if type(broker) is not int:
            raise TypeError(f"a broker must be named by its number, not {broker!r}")
        if broker not in self.brokers:
            raise SimulationError(f"there is no broker {broker}, only {sorted(self.brokers)}")
        return self.brokers[broker]

    # --- what a fault needs ---

    def connections_over(self, link: Link) -> list[Connection]:
        """The open connections of a link, by name."""
        open_ones = self.network.open
        return [open_ones[key] for key in sorted(open_ones) if open_ones[key].link is link]

    def connections_to(self, broker: int) -> list[Connection]:
        """The open connections to a broker, by client and name."""
        open_ones = self.network.open
        return [open_ones[key] for key in sorted(open_ones) if open_ones[key].link.broker == broker]

    def facts_of(self, client: str) -> Facts:
        """Who a client is, as of now."""
        host = self.hosts.get(client)
        return {"client": client} if host is None else host.facts()

    def show_links(self, client: str) -> None:
        """Tell a client how its attempts to connect would end now."""
        if client in self.hosts:
            self.hosts[client].show_links()

    def on_cluster_changed(self) -> None:
        """Brokers, topics or leaders are not what they were."""
        for client in sorted(self.hosts):
            self.hosts[client].show_links()
        for name in sorted(self.cluster.topics):
            for partition in range(len(self.cluster.topics[name].logs)):
                self.idle.on_log_changed((name, partition))

    # --- quiet time ---

    def before_touching_client(self, client: str) -> None:
        """Something is about to happen to a client."""
        if self.lulls is not None:
            self.lulls.wake_client(client)

    def before_touching_group(self, group: str) -> None:
        """Something is about to happen to a group."""
        if self.lulls is not None:
            self.lulls.wake_group(group)

    def wake_shard(self, shard: int) -> None:
        """Something is about to happen to the groups of a shard."""
        for group in sorted({host.role.group for host in self.hosts.values()}):
            if self.shard_of(group) == shard:
                self.before_touching_group(group)

    def wake_all(self) -> None:
        """Something is about to happen to everybody."""
        if self.lulls is not None:
            self.lulls.wake_all()

    def _before_closing(self, client: str) -> None:
        if self.lulls is not None:
            self.lulls.count_client(client)

    def _before_touching_host(self, host: ConsumerHost) -> None:
        self.before_touching_client(host.name)

    def _on_failure(self, error: BaseException) -> None:
        if self.is_telling_failures:
            self.failures.append(error)

    def _on_lost(self, message: Message, why: str) -> None:
        if message.row is not None:
            now_ms, lost = self.kernel.now_ms, WorldEventKind.REQUEST_LOST
            self.recorder.put(lost, now_ms, message.row, message.facts, {"detail": why})
