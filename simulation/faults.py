"""What goes wrong and right again: verbs of a script, in pairs, and how planned ones happen.

Each fault between a client and a broker or of a log is a row `fault_started`, and its healing a row
`fault_healed` with the same words, whose cause is that first row. Faults may overlap: each holds
until its own end. What begins one gives back how to end that one; the verb of the other half of the
pair ends all of its kind. Crashes and pauses have rows of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field

from simulation.chance import Law, draw, stream_key, wait_ms
from simulation.durations import Duration, duration_text, milliseconds
from simulation.events import CONSUMER_ENDS, Facts, Row, WorldEventKind
from simulation.network import Link
from simulation.planned_faults import (
    OF_LINKS,
    PAIRS,
    WAYS,
    Awaited,
    Fault,
    require_request,
    require_way,
)
from simulation.producers import Producers

if TYPE_CHECKING:
    from simulation.world import Simulation


@define(eq=False)
class Ongoing:
    """A fault that has begun: of a link or of a shard, named in words, and what it does there."""

    verb: str
    place: Link | int
    words: str
    #: Whose it is: the client of a link, or the group whose writes are meant.
    client: str | None
    group: str | None
    effect: Any
    row: int


#: Ends one fault, if nothing else has ended it.
Heal = Callable[[], None]


@define(eq=False, kw_only=True)
class Faults(Producers):
    """Verbs of a script that disturb a run."""

    _ongoing: list[Ongoing] = field(factory=list, init=False)
    #: How often a rate has been asked for, by its verb and targets.
    _rated: Counter[str] = field(factory=Counter, init=False)
    #: Each crash or pause that holds somebody down now, by the verb that ends them.
    _down: dict[tuple[str, str | int], list[object]] = field(factory=dict, init=False)

    # --- links ---

    def link(self, client: str, *brokers: int, latency: Law) -> None:
        """From now on let messages between a client and these brokers take as long as this says."""
        if not isinstance(latency, Law):
            raise TypeError(f"latency must be a Law such as fixed(5), not {latency!r}")
        stage = self.stage
        for link in self._links(client, brokers):
            if link.law == latency:
                continue
            stage.before_touching_client(client)
            stage.recorder.record(
                WorldEventKind.LINK_CHANGED,
                stage.kernel.now_ms,
                None,
                client=client,
                broker=link.broker,
                detail=_spread(latency),
            )
            self._disturb(link)
            link.take(latency)

    def partition(self, client: str, *brokers: int, one_way: str | None = None) -> Heal:
        """Let the links between a client and these brokers go silent; no brokers means all.

        `one_way` is "to_broker" or "to_client": what is silent. Without it, both are.
        """
        require_way(one_way)
        ways = WAYS if one_way is None else (one_way,)
        how = "" if one_way is None else f" one_way {one_way}"
        begun = [
            self._begin(
                "partition", link, f"partition {client} from broker {link.broker}{how}", ways
            )
            for link in self._links(client, brokers)
        ]
        self.stage.show_links(client)
        return partial(self._end, begun)

    def repair(self, client: str, *brokers: int) -> None:
        """Let them speak again; what waited on the way goes on."""
        self._end(self._of_links("partition", client, brokers))

    def hold(self, client: str, *brokers: int, request: str = "") -> Heal:
        """Let requests of a client not arrive, those of one kind if it is given.

        What is sent behind such a request on the same connection waits with it, as TCP has it.
        """
        require_request(request)
        begun = [
            self._begin(
                "hold",
                link,
                f"hold {request or 'all'} of {client} to broker {link.broker}",
                request,
            )
            for link in self._links(client, brokers)
        ]
        return partial(self._end, begun)

    def release(self, client: str, *brokers: int, request: str = "") -> None:
        """Let them arrive now: all that are held, or those held as this kind if it is given."""
        require_request(request)
        held = self._of_links("hold", client, brokers)
        self._end([each for each in held if request in ("", each.effect)])

    def slow(self, client: str, *brokers: int, by: Duration = "200ms") -> Heal:
        """Let every message between a client and these brokers take so much longer.

        Where a link is slow for several reasons, it is as slow as the worst of them.
        """
        by_ms = milliseconds(by)
        begun = [
            self._begin("slow", link, f"slow {client} to broker {link.broker}{_by(by_ms)}", by_ms)
            for link in self._links(client, brokers)
        ]
        return partial(self._end, begun)

    def normal(self, client: str, *brokers: int) -> None:
        """Let them be as fast as before."""
        self._end(self._of_links("slow", client, brokers))

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
        found, load_ms = stage.require_broker(broker), milliseconds(load)
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
            stage.move_shard(shard, stage.cluster.heir_of(shard), load_ms, crashed)
        stage.on_cluster_changed()

    def restart_broker(self, broker: int, *, load: Duration = "1s") -> None:
        """Bring a broker back; it leads what nobody leads."""
        stage = self.stage
        found, load_ms = stage.require_broker(broker), milliseconds(load)
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
                stage.move_shard(shard, broker, load_ms, restarted)
        stage.on_cluster_changed()
        self._on_healed("restart_broker", broker)

    def move_coordinator(self, group: str, to: int, *, load: Duration = 0) -> None:
        """Let another broker coordinate a group, after reading its log for so long."""
        stage, load_ms = self.stage, milliseconds(load)
        if not stage.require_broker(to).is_up:
            raise ValueError(f"broker {to} is down and cannot coordinate {group}")
        shard = stage.shard_of(group)
        if stage.cluster.offsets_leaders[shard] == to:
            return
        stage.wake_shard(shard)
        stage.move_shard(shard, to, load_ms, None)
        stage.on_cluster_changed()

    def fail_append(self, group: str) -> Heal:
        """Let every write to the log that holds a group fail."""
        return self._trouble("fail_append", group, None)

    def slow_append(self, group: str, *, by: Duration = "1s") -> Heal:
        """Let every write to the log that holds a group take so long."""
        return self._trouble("slow_append", group, milliseconds(by))

    def heal_append(self, group: str) -> None:
        """Let writes be as they should, as far as this group was meant."""
        self._end([each for each in self._ongoing if each.group == group])

    def _trouble(self, verb: str, group: str, by_ms: int | None) -> Heal:
        shard = self.stage.shard_of(group)
        self.stage.wake_shard(shard)
        words = f"{verb} {group}{_by(by_ms)}"
        return partial(self._end, [self._begin(verb, shard, words, by_ms, group)])

    # --- as data ---

    def fault(self: Simulation, fault: Fault) -> None:  # type: ignore[misc] # mixed into it
        """Let a fault happen at its time or on its event, and be healed at the end of it."""
        if not isinstance(fault, Fault):
            raise TypeError(f'fault must be one such as Fault(verb="crash", ...), not {fault!r}')
        if isinstance(fault.target, int):
            self.stage.require_broker(fault.target)
        for broker in fault.brokers:
            self.stage.require_broker(broker)
        if fault.on is not None:
            _await(self, fault, fault.on, fault.on.nth, fault.on.times)
        elif fault.at is not None:
            self.at(fault.at, partial(_happen, self, fault))

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

        From the end of one to the beginning of the next it takes `every` on average. Another rate
        beside it changes nothing of when and whom it strikes, unless all that is said is the same.
        """
        if isinstance(targets, str):
            raise TypeError(f"targets must be a sequence of names, not the text {targets!r}")
        among = list(targets)
        if not among:
            raise ValueError("targets must name at least one consumer, group or broker")
        if milliseconds(every) < 1:
            raise ValueError(f"every must be at least 1 ms, not {every!r}")
        for target in among:  # whether or not one is drawn
            Fault(verb=verb, target=target, at=until, lasts=lasts, options=options or {})
        at_ms, end_ms, k = self.now_ms, milliseconds(until), 0
        # Named by whom it strikes, so that other rates, and how long or how hard this one strikes,
        # do not change when; numbered among those that are named alike.
        name = f"faults/{verb}/{among}"
        self._rated[name] += 1
        stream = stream_key(self.seed, f"{name}/{self._rated[name]}")
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

    def until_the_last(self: Simulation, undo: str, target: str | int) -> Heal:  # type: ignore[misc] # mixed into it
        """How to end a crash or a pause: by this verb, if it is the last of them to end."""
        down, this = self._down.setdefault((undo, target), []), object()
        down.append(this)

        def heal() -> None:
            if down == [this] and _is_on_its_way_out(self, undo, target):
                self.when(partial(_is_end_of, target), heal)
            elif this in down:
                down.remove(this)
                if not down:
                    _apply(self, undo, target)

        return heal

    def _on_healed(self, undo: str, target: str | int) -> None:
        """The verb has ended all of its kind, so that none is left to be ended later."""
        self._down.get((undo, target), []).clear()

    # --- inside ---

    def _links(self, client: str, brokers: tuple[int, ...]) -> list[Link]:
        if not self.stage.has_client(client):
            known = ", ".join(sorted({*self.stage.hosts, *self.stage.raw_names})) or "nobody"
            raise ValueError(f"client must be one of those there are, {known}, not {client!r}")
        return [
            self.stage.network.link(client, self.stage.require_broker(broker).id)
            for broker in (brokers or self.stage.broker_ids)
        ]

    def _of_links(self, verb: str, client: str, brokers: tuple[int, ...]) -> list[Ongoing]:
        links = self._links(client, brokers)
        return [each for each in self._ongoing if each.verb == verb and each.place in links]

    def _begin(
        self, verb: str, place: Link | int, words: str, effect: object, group: str | None = None
    ) -> Ongoing:
        stage = self.stage
        client = place.client if isinstance(place, Link) else None
        row = stage.recorder.record(
            WorldEventKind.FAULT_STARTED, stage.kernel.now_ms, None, client=client, detail=words
        )
        ongoing = Ongoing(verb, place, words, client, group, effect, row)
        self._ongoing.append(ongoing)
        self._let_be_felt(ongoing)
        return ongoing

    def _end(self, faults: list[Ongoing]) -> None:
        """End these, as far as nothing else has ended them."""
        stage = self.stage
        for each in faults:
            if each not in self._ongoing:
                continue
            if each.client is not None:
                stage.before_touching_client(each.client)
            stage.recorder.record(
                WorldEventKind.FAULT_HEALED,
                stage.kernel.now_ms,
                each.row,
                client=each.client,
                detail=each.words,
            )
            self._ongoing.remove(each)
            self._let_be_felt(each)
            if isinstance(each.place, Link):
                each.place.release()
        for client in dict.fromkeys(each.client for each in faults if each.verb == "partition"):
            assert client is not None
            stage.show_links(client)

    def _let_be_felt(self, fault: Ongoing) -> None:
        """Let its place be as all that goes on there makes it, now that this begins or ends."""
        place = fault.place
        if isinstance(place, Link):
            self.stage.before_touching_client(place.client)
            self._disturb(place)
            ways = [way for each in self._at("partition", place) for way in each.effect]
            place.is_silent_to_broker = "to_broker" in ways
            place.is_silent_to_client = "to_client" in ways
            place.held_kinds = frozenset(each.effect for each in self._at("hold", place))
            place.extra_ms = max((each.effect for each in self._at("slow", place)), default=0)
            return
        trouble = self.stage.trouble
        trouble.failing.discard(place)
        trouble.slow_ms.pop(place, None)
        if self._at("fail_append", place):
            trouble.failing.add(place)
        if slow := self._at("slow_append", place):
            trouble.slow_ms[place] = max(each.effect for each in slow)

    def _at(self, verb: str, place: Link | int) -> list[Ongoing]:
        return [each for each in self._ongoing if each.verb == verb and each.place == place]

    def _disturb(self, link: Link) -> None:
        link.changed_ms = self.stage.kernel.now_ms
        for connection in self.stage.connections_over(link):
            self.stage.idle.on_disturbed(connection)


def _spread(law: Law) -> str:
    """How long messages take by a law, in words."""
    least, half, most = map(duration_text, (law.quantiles[0], law.of(1 << 63), law.longest_ms))
    if least == most:
        return least
    if len(law.quantiles) == 2:  # noqa: PLR2004 (all between the two are alike)
        return f"{least} to {most}"
    return f"{least} to {most}, half of them at most {half}"


def _by(by_ms: int | None) -> str:
    """How much slower, in words; nothing where that is not the trouble."""
    return "" if by_ms is None else f" by {duration_text(by_ms)}"


def _await(sim: Simulation, fault: Fault, event: Awaited, nth: int, times: int) -> None:
    """Let a fault happen at the n-th such event, and at those after it, so many times."""
    left = nth

    def is_it(row: Row) -> bool:
        nonlocal left
        left -= event.matches(row, sim.leader)
        return left == 0

    def happen() -> None:
        sim.after(event.after, partial(_happen, sim, fault))
        if times > 1:
            _await(sim, fault, event, 1, times - 1)

    sim.when(is_it, happen)


def _happen(sim: Simulation, fault: Fault) -> None:
    """Let a fault begin, and end when it has lasted; where nobody leads, no leader is struck."""
    target: str | int | None = fault.target
    if fault.led_group is not None:
        target = sim.leader(fault.led_group)
        if target in sim.stage.raw_names and fault.verb not in OF_LINKS:
            return  # It has no process that could stop or stand still.
    if target is None:
        return
    heal = _apply(sim, fault.verb, target, *fault.brokers, **fault.options)
    if heal is None:
        heal = sim.until_the_last(PAIRS[fault.verb], target)
    if fault.lasts is not None:
        sim.after(fault.lasts, heal)


def _apply(
    sim: Simulation,
    verb: str,
    target: str | int,
    *brokers: int,
    **options: Any,  # noqa: ANN401 (of any verb)
) -> Heal | None:
    """Do it, unless the run has made it pointless: who is dead cannot be paused."""
    act: Callable[..., Heal | None] = getattr(sim, verb)
    return act(target, *brokers, **options) if _makes_sense(sim, verb, target) else None


def _is_on_its_way_out(sim: Simulation, undo: str, target: str | int) -> bool:
    """Whether this is to be started again, and has not even stopped."""
    host = sim.stage.hosts.get(target) if isinstance(target, str) else None
    return undo == "restart" and host is not None and host.is_alive and host.is_stopping


def _is_end_of(client: str | int, row: Row) -> bool:
    return row.client == client and row.kind in CONSUMER_ENDS


def _makes_sense(sim: Simulation, verb: str, target: str | int) -> bool:
    if isinstance(target, int):
        is_up = sim.stage.brokers[target].is_up
        return is_up if verb == "crash_broker" else not is_up
    host = sim.stage.hosts.get(target)
    if host is None:
        return True
    is_at_work = host.is_alive and not host.is_stopping
    makes_sense = {
        "crash": host.is_alive,  # It may be killed while it stands still, or while it stops.
        "stop": is_at_work,
        "pause": is_at_work and not host.is_paused,
        "resume": host.is_paused,
        "restart": not host.is_alive,
    }
    return makes_sense.get(verb, True)
