"""Carries out the actions of a script; each says how to take it back, if it can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from attrs import define, field

from simulation.durations import duration_text
from simulation.errors import SimulationError
from simulation.faults import Heal
from simulation.raw_member import RawMember
from simulation.scenarios import actions, disturbances
from simulation.scenarios.actions import Action, Send
from simulation.scenarios.company import Company
from simulation.scenarios.parts import Topic
from simulation.scenarios.processes import Processes, Until
from simulation.scenarios.values import coordinated_group
from simulation.world import Simulation

#: Takes an action back; None where there is nothing to take back.
Undo = Callable[[], object] | None


@define(eq=False)
class Stagehands:
    """Does what a script says, to the world as it is at that moment."""

    sim: Simulation
    company: Company
    processes: Processes
    _rates: dict[str, Fraction] = field(factory=dict)
    _raw: dict[str, RawMember] = field(factory=dict)
    _doing: Mapping[type[Action], Callable[[Any], Undo]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Know who does what."""
        a, d = actions, disturbances
        self._doing = {
            a.Start: self._start,
            a.Stop: self._stop,
            a.Crash: self._crash,
            a.Restart: self._restart,
            a.Pause: self._pause,
            a.Resume: self._resume,
            a.RollingRestart: self._rolling_restart,
            a.Scale: self._scale,
            a.Change: self._change,
            a.Autoscale: self._autoscale,
            a.Raw: self._send,
            d.Partition: self._partition,
            d.Repair: self._repair,
            d.Hold: self._hold,
            d.Release: self._release,
            d.Slow: self._slow,
            d.Normal: self._normal,
            d.ResetConnections: self._reset_connections,
            d.MoveCoordinator: self._move_coordinator,
            d.CrashBroker: self._crash_broker,
            d.RestartBroker: self._restart_broker,
            d.FailAppend: self._fail_append,
            d.SlowAppend: self._slow_append,
            d.HealAppend: self._heal_append,
            d.CreateTopic: self._create_topic,
            d.DeleteTopic: self._delete_topic,
            d.AddPartitions: self._add_partitions,
            d.Produce: self._produce,
            d.Append: self._append,
            d.Truncate: self._truncate,
        }

    def do(self, action: Action) -> Undo:
        """Carry an action out now."""
        return self._doing[type(action)](action)

    # --- consumers ---

    def _start(self, action: actions.Start) -> Undo:
        for name in self.company.chosen(action.members):
            self.company.start(name)
        return None

    def _stop(self, action: actions.Stop) -> Undo:
        names = self.company.chosen(action.members)
        for name in names:
            self.company.end(name, actions.How.GRACEFUL, action.close)
        return partial(self._start_all, names)

    def _crash(self, action: actions.Crash) -> Undo:
        names = self.company.chosen(action.members)
        for name in names:
            self.company.crash(name)
        return partial(self._start_all, names)

    def _start_all(self, names: list[str]) -> None:
        for name in names:
            self.company.start(name)

    def _restart(self, action: actions.Restart) -> Undo:
        names = self.company.chosen(action.members)

        def process() -> Any:  # noqa: ANN401 (a process)
            for name in names:
                self.company.end(name, action.stop)
            yield Until(lambda: self.company.are_gone(names))
            if action.down:
                yield action.down
            self._start_all(names)

        self.processes.go(process())
        return None

    def _pause(self, action: actions.Pause) -> Undo:
        names = self.company.chosen(action.members)
        for name in names:
            self.company.pause(name)
        return partial(self._resume_all, names)

    def _resume(self, action: actions.Resume) -> Undo:
        self._resume_all(self.company.chosen(action.members))
        return None

    def _resume_all(self, names: list[str]) -> None:
        for name in names:
            self.company.resume(name)

    def _rolling_restart(self, action: actions.RollingRestart) -> Undo:
        self.processes.go(self.processes.rolling_restart(action))
        return None

    def _scale(self, action: actions.Scale) -> Undo:
        self.processes.go(self.processes.scale(action))
        return None

    def _change(self, action: actions.Change) -> Undo:
        for name in self.company.chosen(action.members):
            self.company.change(name, action.settings, action.app)
        return None

    def _autoscale(self, action: actions.Autoscale) -> Undo:
        self.processes.go(self.processes.autoscale(action))
        return None

    def _send(self, action: actions.Raw) -> Undo:
        member = self._raw.get(action.member)
        if member is None:
            member = self._raw[action.member] = self.sim.raw_member(action.member, action.group)
        if action.forget_id:
            member.forget()
        if not member.can_send:
            return None
        if action.send is Send.JOIN:
            member.join(
                *action.subscribe,
                session_timeout_ms=action.session_timeout,
                rebalance_timeout_ms=action.rebalance_timeout,
                protocols=action.assignors,
            )
        elif action.send is Send.SYNC:
            member.sync()
        elif action.send is Send.HEARTBEAT:
            member.heartbeat()
        else:
            member.leave()
        return None

    # --- the network ---

    def _partition(self, action: disturbances.Partition) -> Undo:
        names, brokers = self._link(action)
        one_way = None if action.one_way is None else action.one_way.value
        return _all([self.sim.partition(name, *brokers, one_way=one_way) for name in names])

    def _repair(self, action: disturbances.Repair) -> Undo:
        names, brokers = self._link(action)
        for name in names:
            self.sim.repair(name, *brokers)
        return None

    def _hold(self, action: disturbances.Hold) -> Undo:
        names, brokers = self._link(action)
        return _all([self.sim.hold(name, *brokers, request=action.request) for name in names])

    def _release(self, action: disturbances.Release) -> Undo:
        names, brokers = self._link(action)
        for name in names:
            self.sim.release(name, *brokers, request=action.request)
        return None

    def _slow(self, action: disturbances.Slow) -> Undo:
        names, brokers = self._link(action)
        return _all([self.sim.slow(name, *brokers, by=action.by) for name in names])

    def _normal(self, action: disturbances.Normal) -> Undo:
        names, brokers = self._link(action)
        for name in names:
            self.sim.normal(name, *brokers)
        return None

    def _reset_connections(self, action: disturbances.ResetConnections) -> Undo:
        names, brokers = self._link(action)
        for name in names:
            self.sim.reset_connections(name, *brokers, acted=action.acted)
        return None

    def _link(self, action: disturbances.OfLinks) -> tuple[list[str], tuple[int, ...]]:
        return self.company.chosen(action.members), self._brokers(action.brokers)

    # --- brokers ---

    def _brokers(self, wanted: tuple[int | str, ...]) -> tuple[int, ...]:
        found = []
        for each in wanted:
            group = coordinated_group(each)
            coordinator = None if group is None else self.sim.stage.coordinator_of(group)
            if coordinator is not None:
                found.append(coordinator.id)
            elif isinstance(each, int):
                found.append(each)
        return tuple(dict.fromkeys(found))

    def _move_coordinator(self, action: disturbances.MoveCoordinator) -> Undo:
        stage = self.sim.stage
        to: int | None = action.to
        if to is None:
            present = stage.coordinator_of(action.group)
            up = [each for each in stage.broker_ids if stage.brokers[each].is_up]
            later = [each for each in up if present is None or each > present.id]
            to = next(iter(later or up), None)
        if to is not None and stage.brokers[to].is_up:
            self.sim.move_coordinator(action.group, to, load=action.load)
        return None

    def _crash_broker(self, action: disturbances.CrashBroker) -> Undo:
        found = self._brokers(action.broker)
        for broker in found:
            if self.sim.stage.brokers[broker].is_up:
                self.sim.crash_broker(broker, load=action.load)
        return partial(self._restart_brokers, found, action.load)

    def _restart_broker(self, action: disturbances.RestartBroker) -> Undo:
        self._restart_brokers(self._brokers(action.broker), action.load)
        return None

    def _restart_brokers(self, brokers: tuple[int, ...], load_ms: int) -> None:
        for broker in brokers:
            if not self.sim.stage.brokers[broker].is_up:
                self.sim.restart_broker(broker, load=load_ms)

    def _fail_append(self, action: disturbances.FailAppend) -> Undo:
        return self.sim.fail_append(action.group)

    def _slow_append(self, action: disturbances.SlowAppend) -> Undo:
        return self.sim.slow_append(action.group, by=action.by)

    def _heal_append(self, action: disturbances.HealAppend) -> Undo:
        self.sim.heal_append(action.group)
        return None

    # --- topics ---

    def create(self, name: str, topic: Topic) -> None:
        """Let there be a topic, with what it holds and what is written to it from now on."""
        if name in self.sim.stage.cluster.topics:
            return
        burst = None if topic.burst is None else (topic.burst.records, topic.burst.every)
        self._rates[name] = Fraction(topic.records)
        self.sim.topic(
            name,
            partitions=topic.partitions,
            records_per_s=topic.records,
            burst=burst,
            retention=topic.retention,
        )
        if topic.backlog:
            for partition in range(topic.partitions):
                self.sim.append(name, topic.backlog, partition=partition)
        for change in topic.varying:
            if change.at >= self.sim.now_ms:
                self.sim.at(change.at, partial(self._set_rate, name, Fraction(change.records)))

    def _create_topic(self, action: disturbances.CreateTopic) -> Undo:
        self.create(action.name, action)
        return None

    def _delete_topic(self, action: disturbances.DeleteTopic) -> Undo:
        if action.topic in self.sim.stage.cluster.topics:
            self.sim.delete_topic(action.topic)
        return None

    def _add_partitions(self, action: disturbances.AddPartitions) -> Undo:
        topic = self.sim.stage.cluster.topics.get(action.topic)
        if topic is not None and len(topic.logs) < action.to:
            self.sim.add_partitions(action.topic, action.to)
            self._set_rate(action.topic, self._rates[action.topic])
        return None

    def _produce(self, action: disturbances.Produce) -> Undo:
        before = self._rates.get(action.topic, Fraction(0))
        self._set_rate(action.topic, Fraction(action.records))
        return partial(self._set_rate, action.topic, before)

    def _set_rate(self, topic: str, rate: Fraction) -> None:
        if topic in self.sim.stage.cluster.topics:
            self._rates[topic] = rate
            self.sim.produce(topic, rate)

    def _append(self, action: disturbances.Append) -> Undo:
        topic = self.sim.stage.cluster.topics.get(action.topic)
        partitions = range(0 if topic is None else len(topic.logs))
        for partition in partitions:
            if action.partition in (None, partition):
                self.sim.append(action.topic, action.records, partition=partition)
        return None

    def _truncate(self, action: disturbances.Truncate) -> Undo:
        topic = self.sim.stage.cluster.topics.get(action.topic)
        if topic is not None and action.partition < len(topic.logs):
            end = topic.logs[action.partition].end_at(self.sim.now_ms)
            if action.before > end:
                raise SimulationError(
                    f"{action.topic}-{action.partition} cannot be truncated before"
                    f" {action.before} at {duration_text(self.sim.now_ms)}: its log ends at {end}"
                )
            self.sim.truncate(action.topic, action.partition, action.before)
        return None


def _all(heals: list[Heal]) -> Undo:
    """How to end every one of these faults."""

    def heal() -> None:
        for each in heals:
            each()

    return heal
