"""What goes wrong and right again: as verbs of a script, in pairs, and as data.

Each fault between a client and a broker, of a broker or of a log is a row `fault_started`, and its
healing a row `fault_healed` with the same words. Crashes and pauses of consumers have rows of their
own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from client.messages import (
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
)
from coordinator.protocol import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from simulation.chance import draw, stream_key, wait_ms
from simulation.durations import Duration, milliseconds
from simulation.events import Facts, WorldEventKind
from simulation.network import Link
from simulation.producers import Producers

if TYPE_CHECKING:
    from simulation.world import Simulation

#: Each verb and the one that takes it back.
PAIRS: Mapping[str, str] = {
    "crash": "restart",
    "stop": "restart",
    "pause": "resume",
    "partition": "repair",
    "hold": "release",
    "slow": "normal",
    "fail_append": "heal_append",
    "slow_append": "heal_append",
    "crash_broker": "restart_broker",
}

#: The kinds of requests that a consumer or a raw member sends.
_REQUESTS = tuple(
    each.__name__.removesuffix("Request")
    for each in (
        *(FindCoordinatorRequest, JoinGroupRequest, SyncGroupRequest, HeartbeatRequest),
        *(LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest, OffsetDeleteRequest),
        *(MetadataRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest, FetchRequest),
        *(DescribeGroupsRequest, ListGroupsRequest, DeleteGroupsRequest),
    )
)


@frozen(kw_only=True)
class Fault:
    """One thing that goes wrong at a time, and is right again so long after it began."""

    verb: str = field()
    target: str | int = field()
    at: Duration
    lasts: Duration | None = None
    options: Mapping[str, Any] = field(factory=dict)

    @verb.validator
    def _known(self, _attribute: object, value: str) -> None:
        if value not in PAIRS:
            raise ValueError(f"verb must be one of {', '.join(PAIRS)}, not {value!r}")

    @target.validator
    def _of_the_verb_s_kind(self, _attribute: object, value: str | int) -> None:
        kind, words = (int, "the number of a broker") if "broker" in self.verb else (str, "a name")
        if type(value) is not kind:
            raise TypeError(f"target of {self.verb} must be {words}, not {value!r}")


@define(eq=False, kw_only=True)
class Faults(Producers):
    """Verbs of a script that disturb a run."""

    _faults: dict[str, int] = field(factory=dict, init=False)
    _drawn: int = field(default=0, init=False)

    # --- links ---

    def partition(self, client: str, *brokers: int, one_way: str | None = None) -> None:
        """Let the links between a client and these brokers go silent; no brokers means all.

        `one_way` is "to_broker" or "to_client": what is silent. Without it, both are.
        """
        if one_way not in (None, "to_broker", "to_client"):
            raise ValueError(f"one_way must be to_broker or to_client, not {one_way!r}")
        for link in self._links(client, brokers):
            self._begin(f"partition {client} from broker {link.broker}", client)
            self.stage.before_touching_client(client)
            self._disturb(link)
            link.is_silent_to_broker = one_way in (None, "to_broker")
            link.is_silent_to_client = one_way in (None, "to_client")
        self.stage.show_links(client)

    def repair(self, client: str, *brokers: int) -> None:
        """Let them speak again; what waited on the way goes on."""
        for link in self._links(client, brokers):
            self._heal(f"partition {client} from broker {link.broker}", client)
            link.changed_ms = self.stage.kernel.now_ms
            link.is_silent_to_broker = link.is_silent_to_client = False
            link.release()
        self.stage.show_links(client)

    def hold(self, client: str, *brokers: int, request: str = "") -> None:
        """Let requests of a client not arrive, those of one kind if it is given.

        What is sent behind such a request on the same connection waits with it, as TCP has it.
        """
        _require_kind(request)
        for link in self._links(client, brokers):
            self._begin(f"hold {request or 'all'} of {client} to broker {link.broker}", client)
            self.stage.before_touching_client(client)
            self._disturb(link)
            link.held_kinds.add(request)

    def release(self, client: str, *brokers: int, request: str = "") -> None:
        """Let them arrive now."""
        _require_kind(request)
        for link in self._links(client, brokers):
            self._heal(f"hold {request or 'all'} of {client} to broker {link.broker}", client)
            link.changed_ms = self.stage.kernel.now_ms
            link.held_kinds.discard(request)
            link.release()

    def slow(self, client: str, *brokers: int, by: Duration = "200ms") -> None:
        """Let every message between a client and these brokers take so much longer."""
        for link in self._links(client, brokers):
            self._begin(f"slow {client} to broker {link.broker}", client)
            self.stage.before_touching_client(client)
            self._disturb(link)
            link.extra_ms = milliseconds(by)

    def normal(self, client: str, *brokers: int) -> None:
        """Let them be as fast as before."""
        for link in self._links(client, brokers):
            self._heal(f"slow {client} to broker {link.broker}", client)
            self.stage.before_touching_client(client)
            self._disturb(link)
            link.extra_ms = 0

    def reset_connections(self, client: str, *brokers: int, acted: bool = False) -> None:
        """Break a client's connections: before the broker acts on what is on its way, or after."""
        stage = self.stage
        stage.before_touching_client(client)
        for link in self._links(client, brokers):
            for connection in stage.connections_over(link):
                facts: Facts = {**stage.facts_of(client)}
                facts["broker"], facts["connection"] = link.broker, connection.label
                facts["detail"] = f"{'after' if acted else 'before'} the broker acted"
                cause = stage.recorder.record(
                    WorldEventKind.CONNECTION_RESET, stage.kernel.now_ms, None, **facts
                )
                stage.network.reset(connection, cause, acted=acted)

    # --- brokers ---

    def crash_broker(self, broker: int, *, load: Duration = "1s") -> None:
        """Let a broker die; others take over what it led and read its logs for so long."""
        stage = self.stage
        found = stage.require_broker(broker)
        if not found.is_up:
            raise ValueError(f"broker {broker} is down already")
        stage.wake_all()
        now_ms = stage.kernel.now_ms
        crashed = stage.recorder.record(WorldEventKind.BROKER_CRASHED, now_ms, None, broker=broker)
        orphans = stage.cluster.broker_down(broker, now_ms)
        found.crash()
        for connection in stage.connections_to(broker):
            stage.network.reset(connection, crashed)
        for shard in orphans:
            stage.move_shard(shard, stage.cluster.heir_of(shard), milliseconds(load), crashed)
        stage.on_cluster_changed()

    def restart_broker(self, broker: int, *, load: Duration = "1s") -> None:
        """Bring a broker back; it leads what nobody leads."""
        stage = self.stage
        found = stage.require_broker(broker)
        if found.is_up:
            raise ValueError(f"broker {broker} is up already")
        stage.wake_all()
        now_ms = stage.kernel.now_ms
        restarted = stage.recorder.record(
            WorldEventKind.BROKER_RESTARTED, now_ms, None, broker=broker
        )
        stage.cluster.broker_up(broker, now_ms)
        found.restart()
        for shard, leader in sorted(stage.cluster.offsets_leaders.items()):
            if leader is None:
                stage.move_shard(shard, broker, milliseconds(load), restarted)
        stage.on_cluster_changed()

    def move_coordinator(self, group: str, to: int, *, load: Duration = 0) -> None:
        """Let another broker coordinate a group, after reading its log for so long."""
        stage = self.stage
        if not stage.require_broker(to).is_up:
            raise ValueError(f"broker {to} is down and cannot coordinate {group}")
        shard = stage.shard_of(group)
        if stage.cluster.offsets_leaders[shard] == to:
            return
        stage.wake_shard(shard)
        stage.move_shard(shard, to, milliseconds(load), None)
        stage.on_cluster_changed()

    def fail_append(self, group: str) -> None:
        """Let every write to the log that holds a group fail."""
        shard = self.stage.shard_of(group)
        self.stage.wake_shard(shard)
        self._begin(f"fail_append {group}", None)
        self.stage.trouble.failing.add(shard)

    def slow_append(self, group: str, *, by: Duration = "1s") -> None:
        """Let every write to the log that holds a group take so long."""
        shard = self.stage.shard_of(group)
        self.stage.wake_shard(shard)
        self._begin(f"slow_append {group}", None)
        self.stage.trouble.slow_ms[shard] = milliseconds(by)

    def heal_append(self, group: str) -> None:
        """Let writes be as they should."""
        shard = self.stage.shard_of(group)
        for verb in ("fail_append", "slow_append"):
            if f"{verb} {group}" in self._faults:
                self._heal(f"{verb} {group}", None)
        self.stage.trouble.failing.discard(shard)
        self.stage.trouble.slow_ms.pop(shard, None)

    # --- as data ---

    def fault(self: Simulation, fault: Fault) -> None:  # type: ignore[misc] # mixed into it
        """Let a fault happen at its time and be healed at the end of it."""
        if isinstance(fault.target, int):
            self.stage.require_broker(fault.target)
        at_ms = milliseconds(fault.at)
        self.at(at_ms, partial(_apply, self, fault.verb, fault.target, fault.options))
        if fault.lasts is not None:
            # Who holds one kind of request must release that kind.
            kind = {name: value for name, value in fault.options.items() if name == "request"}
            heal = partial(_apply, self, PAIRS[fault.verb], fault.target, kind)
            self.at(at_ms + milliseconds(fault.lasts), heal)

    def faults_at_a_rate(  # type: ignore[misc] # noqa: PLR0913 (mixed into it; each is named)
        self: Simulation,
        verb: str,
        targets: Iterable[str | int],
        *,
        every: Duration,
        lasts: Duration,
        until: Duration,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Let a fault happen again and again, to one of the targets, until that time.

        From the end of one to the beginning of the next it takes `every` on average.
        """
        among = list(targets)
        if not among:
            raise ValueError("targets must name at least one consumer, group or broker")
        if milliseconds(every) < 1:
            raise ValueError(f"every must be at least 1 ms, not {every!r}")
        stream = stream_key(self.seed, f"faults/{verb}/{self._drawn}")
        self._drawn += 1
        at_ms, end_ms, k = self.now_ms, milliseconds(until), 0
        while True:
            at_ms += wait_ms(milliseconds(every), draw(stream, 2 * k))
            if at_ms >= end_ms:
                return
            target = among[draw(stream, 2 * k + 1) * len(among) >> 64]
            self.fault(
                Fault(verb=verb, target=target, at=at_ms, lasts=lasts, options=options or {})
            )
            at_ms += milliseconds(lasts)
            k += 1

    # --- inside ---

    def _links(self, client: str, brokers: tuple[int, ...]) -> list[Link]:
        if not self.stage.has_client(client):
            known = ", ".join(sorted({*self.stage.hosts, *self.stage.raw_names})) or "nobody"
            raise ValueError(f"client must be one of those there are, {known}, not {client!r}")
        return [
            self.stage.network.link(client, self.stage.require_broker(broker).id)
            for broker in (brokers or self.stage.broker_ids)
        ]

    def _disturb(self, link: Link) -> None:
        link.changed_ms = self.stage.kernel.now_ms
        for connection in self.stage.connections_over(link):
            self.stage.idle.on_disturbed(connection)

    def _begin(self, words: str, client: str | None) -> None:
        stage = self.stage
        self._faults[words] = stage.recorder.record(
            WorldEventKind.FAULT_STARTED, stage.kernel.now_ms, None, client=client, detail=words
        )

    def _heal(self, words: str, client: str | None) -> None:
        stage = self.stage
        if client is not None:
            stage.before_touching_client(client)
        stage.recorder.record(
            WorldEventKind.FAULT_HEALED,
            stage.kernel.now_ms,
            self._faults.pop(words, None),
            client=client,
            detail=words,
        )


def _require_kind(request: str) -> None:
    if request and request not in _REQUESTS:
        raise ValueError(f"request must be one of {', '.join(_REQUESTS)}, not {request!r}")


def _apply(sim: Simulation, verb: str, target: str | int, options: Mapping[str, Any]) -> None:
    """Do it, unless the run has made it pointless: who is dead cannot be paused."""
    act: Callable[..., object] = getattr(sim, verb)
    if _makes_sense(sim, verb, target):
        act(target, **options)


def _makes_sense(sim: Simulation, verb: str, target: str | int) -> bool:
    if isinstance(target, int):
        is_up = sim.stage.brokers[target].is_up
        return is_up if verb == "crash_broker" else not is_up
    host = sim.stage.hosts.get(target)
    if host is None:
        return True
    if verb in ("crash", "stop", "pause"):
        return host.is_alive and not host.is_paused and not host.is_stopping
    if verb == "resume":
        return host.is_paused
    return verb != "restart" or not host.is_alive
