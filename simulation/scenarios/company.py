"""The consumers of a run: who is there, who may come, and who is meant by an action.

A `Company` starts and stops them as a script says. An order that has become pointless, such as to
crash who is dead, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, field

from client.applications import PollLoop, Stall
from client.assignors import Assignor, FunctionAssignor
from client.membership import CloseOperation
from client.partitions import TopicPartition
from client.workloads import ConstantTime, DrawnTime, SlowRecord, TimePerRecord
from simulation.chance import draw, stream_key
from simulation.consumer_host import ConsumerHost
from simulation.events import CONSUMER_ENDS, Row
from simulation.programs import Application
from simulation.scenarios.actions import How
from simulation.scenarios.crews import Person
from simulation.scenarios.parts import App
from simulation.scenarios.python_names import imported
from simulation.scenarios.results import Missed
from simulation.scenarios.settings import ASSIGNORS, is_python
from simulation.scenarios.values import PerRecord
from simulation.scenarios.whom import Chosen, Leader, Named, Owner, Some, parse_whom
from simulation.world import Simulation

_US_PER_MS = 1_000


@define(eq=False)
class Company:
    """Everybody who has a part in the run, by name."""

    sim: Simulation
    people: dict[str, Person] = field(factory=dict)
    #: For the checkers: the topics that each one wants.
    topics: dict[str, str] = field(factory=dict)
    #: Who was meant and was nobody, and when.
    missed: list[Missed] = field(factory=list)
    _changed: dict[str, Person] = field(factory=dict)
    _drawn: int = 0

    # --- who there is ---

    def hire(self, person: Person) -> None:
        """Let there be one more, who does not run yet."""
        self.people[person.name] = person
        self.topics[person.name] = person.wanted_topics()
        app = self._app_of(person)
        self.sim.consumer(
            person.name,
            group=person.group,
            settings=_settings_of(person),
            app=app,
            topics=person.topics,
            pattern=person.pattern,
            static=person.is_static,
            start=False,
        )

    def change(self, name: str, settings: Mapping[str, Any], app: App | None) -> None:
        """From its next start on, let it have other settings or another application."""
        if name in self.people:
            self.people[name] = self.people[name].changed(settings, app)
            self._changed[name] = self.people[name]

    def running(self, group: str) -> list[str]:
        """Who of a group runs and is not about to end, in the order of their coming."""
        return [name for name in self._members(group) if self._is_working(name)]

    def idle(self, group: str) -> list[str]:
        """Who of a group does not run."""
        return [name for name in self._members(group) if not self._host(name).is_alive]

    def _members(self, group: str) -> list[str]:
        return [person.name for person in self.people.values() if person.group == group]

    def new_name(self, base: str, numbers: Iterable[int]) -> str:
        """A name that nobody has had."""
        return next(f"{base}{n}" for n in numbers if f"{base}{n}" not in self.people)

    # --- who is meant ---

    def chosen(self, texts: Iterable[str]) -> list[str]:
        """The consumers that these texts mean at present, each once."""
        found: dict[str, None] = {}
        for text in texts:
            names = self._chosen(parse_whom(text))
            if not names:
                self.missed.append(Missed(at_ms=self.sim.now_ms, whom=text))
            found |= dict.fromkeys(names)
        return list(found)

    def _chosen(self, chosen: Chosen) -> list[str]:
        if isinstance(chosen, Named):
            return [chosen.name]
        if isinstance(chosen, Leader):
            leader = self.sim.leader(chosen.group)
            return [] if leader is None else [leader]
        if isinstance(chosen, Owner):
            return self._owners(chosen)
        among = self.running(chosen.group)
        return among if chosen.count is None else self._drawn_of(among, chosen)

    def _drawn_of(self, among: list[str], chosen: Some) -> list[str]:
        """So many of them, without any twice."""
        stream = stream_key(self.sim.seed, f"script/{chosen.group}")
        left = list(among)
        found: list[str] = []
        while left and len(found) < (chosen.count or 0):
            self._drawn += 1
            found.append(left.pop(draw(stream, self._drawn) * len(left) >> 64))
        return found

    def _owners(self, wanted: Owner) -> list[str]:
        partition = TopicPartition(wanted.topic, wanted.partition)
        return [
            name
            for name, person in self.people.items()
            if wanted.group in (None, person.group)
            and (machine := self._host(name).machine) is not None
            and partition in machine.calls.subscriptions.assigned_partitions
        ]

    # --- coming and going ---

    def start(self, name: str) -> None:
        """Start it; who is still closing is started when that is done."""
        host = self._found(name)
        if host is None:
            return
        if host.is_alive:
            if host.is_stopping:
                self.when_gone([name], lambda: self.start(name))
            return
        person = self._changed.pop(name, None)
        if person is None and _has_python(self.people[name]):
            person = self.people[name]  # An assignor of one's own remembers nothing of a past life.
        if person is not None:
            self.topics[name] = person.wanted_topics()
            self.sim.recast(
                name,
                settings=_settings_of(person),
                app=self._app_of(person),
                topics=person.topics,
                pattern=person.pattern,
                static=person.is_static,
            )
        self.sim.start(name)

    def end(self, name: str, how: How, close: str = CloseOperation.DEFAULT) -> None:
        """Let it end, in one way or the other."""
        if how is How.CRASH:
            self.crash(name)
        elif self._is_working(name):
            wanted = self.people[name].app.close if close == CloseOperation.DEFAULT else close
            self.sim.stop(name, operation=wanted)

    def crash(self, name: str) -> None:
        """Let it die, if it lives."""
        host = self._found(name)
        if host is not None and host.is_alive:
            self.sim.crash(name)

    def pause(self, name: str) -> None:
        """Let it stand still, if it moves."""
        host = self._found(name)
        if host is not None and host.is_alive and not host.is_paused:
            self.sim.pause(name)

    def resume(self, name: str) -> None:
        """Let it go on, if it stands still."""
        host = self._found(name)
        if host is not None and host.is_paused:
            self.sim.resume(name)

    def are_gone(self, names: Iterable[str]) -> bool:
        """Whether none of them runs."""
        return not any(self._host(name).is_alive for name in names)

    def when_gone(self, names: list[str], then: Callable[[], object]) -> None:
        """Do this once none of them runs."""
        if self.are_gone(names):
            then()
            return

        def has_gone(row: Row) -> bool:
            return row.kind in CONSUMER_ENDS and row.client in names

        self.sim.when(has_gone, lambda: self.when_gone(names, then))

    def _found(self, name: str) -> ConsumerHost | None:
        return self.sim.stage.hosts.get(name)

    def _host(self, name: str) -> ConsumerHost:
        return self.sim.stage.hosts[name]

    def _is_working(self, name: str) -> bool:
        host = self._found(name)
        return host is not None and host.is_alive and not host.is_stopping

    # --- what it does ---

    def _app_of(self, person: Person) -> PollLoop | Application:
        app = person.app
        if app.python is not None:
            found: Application = imported(app.python)
            return found
        return PollLoop(
            topics=person.topics,
            pattern=person.pattern,
            poll_timeout_ms=app.poll_timeout,
            time_per_record=_time_per_record(app, self.sim.seed),
            commit=app.commit,
            commits_when_revoked=app.commit_when_revoked,
            assigned_callback_ms=app.on_assigned,
            revoked_callback_ms=app.on_revoked,
            lost_callback_ms=app.on_lost,
            stalls=tuple(Stall(stall.at, stall.lasts) for stall in app.stalls),
            finishes_batch=app.finishes_batch,
            close_timeout_ms=app.close_timeout,
            close_operation=app.close,
        )


def _settings_of(person: Person) -> dict[str, Any]:
    """Settings for the world, with assignors in Python made anew."""
    found = person.config_settings()
    found[ASSIGNORS] = tuple(
        _assignor(each) if is_python(each) else each for each in found[ASSIGNORS]
    )
    return found


def _has_python(person: Person) -> bool:
    return any(map(is_python, person.config_settings()[ASSIGNORS]))


def _assignor(text: str) -> Assignor:
    """A class of assignors, or a function that decides for a group."""
    found = imported(text)
    if isinstance(found, type):
        made: Assignor = found()
        return made
    return FunctionAssignor(name=text.partition(":")[2], function=found)


def _time_per_record(app: App, seed: int) -> TimePerRecord:
    time = _usual_time(app.process, seed)
    for slow in app.slow_records:
        time = SlowRecord(
            partition=TopicPartition(slow.topic, slow.partition),
            offset=slow.offset,
            takes_ms=slow.takes,
            others=time,
        )
    return time


def _usual_time(process: PerRecord, seed: int) -> TimePerRecord:
    if process.least_us == process.most_us:
        return ConstantTime(process.most_us)

    def drawn_ms(partition: TopicPartition, offset: int) -> int:
        stream = stream_key(seed, f"records/{partition.topic}-{partition.partition}")
        span = process.most_us - process.least_us + 1
        return (process.least_us + (draw(stream, offset) * span >> 64)) // _US_PER_MS

    return DrawnTime(drawn_ms)
