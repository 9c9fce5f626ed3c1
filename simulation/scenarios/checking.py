"""What no single value of a scenario can know: names that must be there, sizes, Kafka's own rules.

Every check yields the place and what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
from attrs import define, field

from client.assignors import assignor_names
from client.settings import consumer_config
from coordinator import GroupConfig
from simulation.scenarios.actions import Action, Autoscale, Raw, Scale
from simulation.scenarios.aims import (
    action_aims,
    event_aims,
    no_partition,
    partition_counts,
)
from simulation.scenarios.crews import Person, roster_of
from simulation.scenarios.disturbances import AddPartitions, CreateTopic, MoveCoordinator
from simulation.scenarios.expectations import group_of
from simulation.scenarios.limits import Limits
from simulation.scenarios.mistakes import Path, Unknown, Wrong, shown, unknown
from simulation.scenarios.parts import App, Group
from simulation.scenarios.patterns import TooManySteps, Uncountable, steps_of
from simulation.scenarios.python_names import import_problem
from simulation.scenarios.script import Entry, On
from simulation.scenarios.settings import ASSIGNORS, is_python
from simulation.scenarios.values import coordinated_group
from simulation.scenarios.whom import FORMS, Named, Owner, parse_whom

if TYPE_CHECKING:
    from simulation.scenarios.scenario import Scenario

#: A place, and what is wrong there.
Finding = tuple[Path, Wrong]

#: What stands in for an assignor in Python while Kafka's own rules are checked.
_STAND_IN = "range"


def check(
    scenario: Scenario,
    *,
    data: Any,  # noqa: ANN401 (plain data)
    unread: Iterable[Path],
    limits: Limits,
    allow_python: bool,
) -> Iterator[Finding]:
    """All that is wrong; `data` has the names that were given, even of what could not be read.

    `unread` are the places of that: what is missing because of them is not told as well.
    """
    yield from _Check(scenario, data, tuple(unread), limits, allow_python).findings()


@define(eq=False)
class _Check:
    scenario: Scenario
    data: Any
    unread: tuple[Path, ...]
    limits: Limits
    allow_python: bool
    groups: tuple[str, ...] = field(init=False)
    topics: tuple[str, ...] = field(init=False)
    #: Topics that there will be, without those that could not be read.
    readable: tuple[str, ...] = field(init=False)
    people: dict[str, Person] = field(factory=dict, init=False)
    patterns: set[str] = field(factory=set, init=False)
    #: What it takes to match them.
    steps: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Know the names."""
        scenario = self.scenario
        made = [entry.do.name for entry in scenario.script if isinstance(entry.do, CreateTopic)]
        given = _names_in(self.data, "groups")
        self.groups = tuple(dict.fromkeys([*scenario.groups, *given]))
        self.readable = tuple(dict.fromkeys([*scenario.cluster.topics, *made]))
        given = _names_in(self.data, "cluster", "topics")
        self.topics = tuple(dict.fromkeys([*scenario.cluster.topics, *given, *made]))

    def findings(self) -> Iterator[Finding]:
        """Everything but names that may stand where nothing could be read."""
        for path, wrong in self._all():
            if not (isinstance(wrong, Unknown) and self._is_unread(_NAMED_AT.get(wrong.what))):
                yield path, wrong

    def _is_unread(self, place: Path | None) -> bool:
        return place is not None and any(place[: len(each)] == each for each in self.unread)

    def _all(self) -> Iterator[Finding]:
        yield from self._sizes()
        yield from self._broker_settings()
        yield from self._roster()
        for n, entry in enumerate(self.scenario.script):
            yield from self._entry(("script", n), entry)
        for n, text in enumerate(self.scenario.expect):
            group = group_of(text)
            if group is not None and group not in self.groups:
                yield ("expect", n), unknown("group", group, self.groups)

    # --- sizes ---

    def _sizes(self) -> Iterator[Finding]:
        scenario, limits = self.scenario, self.limits
        partitions: int = sum(topic.partitions for topic in scenario.cluster.topics.values())
        for entry in scenario.script:
            if isinstance(entry.do, AddPartitions):
                partitions += entry.do.to
            elif isinstance(entry.do, CreateTopic):
                partitions += entry.do.partitions
        sizes: tuple[tuple[Path, str, int, int], ...] = (
            (("cluster", "topics"), "partitions", partitions, limits.partitions),
            (("cluster", "brokers"), "brokers", scenario.cluster.brokers, limits.brokers),
            (("groups",), "members", self._members_count(), limits.members),
            (("script",), "entries", len(scenario.script), limits.entries),
            (("variants",), "variants", len(scenario.variants), limits.variants),
        )
        for path, what, size, most in sizes:
            if size > most:
                yield path, Wrong(f"found {size} {what}", _at_most(most, what))

    def _members_count(self) -> int:
        count = 0
        for group in self.scenario.groups.values():
            if isinstance(group.members, int):
                count += group.members
            else:
                count += sum(each.count or 1 for each in group.members.values())
        for entry in self.scenario.script:
            if isinstance(entry.do, Scale):
                count += entry.do.to
            elif isinstance(entry.do, Autoscale):
                count += entry.do.most
        return count

    # --- the cluster and the groups ---

    def _broker_settings(self) -> Iterator[Finding]:
        try:
            GroupConfig(**self.scenario.cluster.settings)
        except ValueError as error:
            yield ("cluster", "settings"), Wrong("cannot be together", str(error))

    def _roster(self) -> Iterator[Finding]:
        if self._members_count() > self.limits.members:
            return  # Said already; counting them out would be the harm that the limit is against.
        for name, group in self.scenario.groups.items():
            path = ("groups", name)
            yield from self._group(path, group)
            seen: set[object] = set()
            for person in roster_of(name, group, tuple(self.scenario.cluster.topics)):
                if person.name in self.people:
                    wrong = Wrong(f"found the name {person.name} twice", "must be one consumer's")
                    yield (*path, "members"), wrong
                self.people[person.name] = person
                if not (
                    person.topics
                    or person.pattern
                    or person.app.python
                    or self._is_unread(_NAMED_AT["topic"])
                ):
                    wrong = Wrong("found no topic to read", "must have `subscribe` or `pattern`")
                    yield path, wrong
                    break
                key = (tuple(sorted(map(repr, person.settings.items()))), person.app.commit)
                if key not in seen:
                    seen.add(key)
                    yield from self._settings((*path, "settings"), person)

    def _group(self, path: Path, group: Group) -> Iterator[Finding]:
        for n, topic in enumerate(group.subscribe):
            if topic not in self.topics:
                yield (*path, "subscribe", n), unknown("topic", topic, self.topics)
        if group.subscribe and group.pattern:
            yield path, Wrong("found subscribe and pattern", "must have one of them")
        yield from self._pattern(path, group.pattern)
        yield from self._app((*path, "app"), group.app)
        members = {} if isinstance(group.members, int) else group.members
        for member, each in members.items():
            place = (*path, "members", member)
            yield from self._pattern(place, each.pattern)
            if each.app is not None:
                yield from self._app((*place, "app"), each.app)

    def _pattern(self, path: Path, pattern: str | None) -> Iterator[Finding]:
        if not pattern or pattern in self.patterns:
            return
        self.patterns.add(pattern)
        found, place = f"found {shown(pattern)}", (*path, "pattern")
        most_chars, most_steps = self.limits.pattern_chars, self.limits.pattern_steps
        if len(pattern) > most_chars:
            yield place, Wrong(found, f"{_at_most(most_chars)} characters long")
            return
        # Where one takes too long already, the others are only read: counting takes time as well.
        names = () if self.steps > most_steps else self.readable
        try:
            self.steps += steps_of(pattern, names, most_steps - self.steps)
        except re.error as error:
            yield place, Wrong(found, f"must be a regular expression: {error}")
        except Uncountable as error:
            yield place, Wrong(f"{found}, but {error}", _WITHOUT)
        except TooManySteps:
            self.steps = most_steps + 1
            takes = f"which takes more than {most_steps} steps to match the topics' names"
            yield place, Wrong(f"{found}, {takes}", _SIMPLER)

    def _settings(self, path: Path, person: Person) -> Iterator[Finding]:
        """What Kafka's consumer refuses to be built with."""
        given = {**person.config_settings(), "client_id": person.name}
        if given.setdefault("group_id", person.group) != person.group:
            wrong = Wrong(f"found {given['group_id']!r}", f"must be {person.group}, or left out")
            yield (*path, "group_id"), wrong
        assignors = given[ASSIGNORS]
        yield from self._python((*path, ASSIGNORS), *filter(is_python, assignors))
        if any(map(is_python, assignors)):
            given[ASSIGNORS] = [each for each in assignors if not is_python(each)] or [_STAND_IN]
        given["group_id"] = person.group
        given.pop("bootstrap_servers", None)
        try:
            consumer_config(given)
        except ValueError as error:
            yield path, Wrong("cannot be together", str(error))

    def _app(self, path: Path, app: App) -> Iterator[Finding]:
        if app.python is not None:
            yield from self._python((*path, "python"), app.python)
        for n, slow in enumerate(app.slow_records):
            if slow.topic not in self.topics:
                yield (*path, "slow_records", n), unknown("topic", slow.topic, self.topics)

    def _python(self, path: Path, *names: str) -> Iterator[Finding]:
        for name in names:
            if not self.allow_python:
                allowed = "code of yours runs only where it is allowed: --allow-python"
                yield path, Wrong(f"found {name}", allowed)
            elif (problem := import_problem(name)) is not None:
                yield path, Wrong(f"found {name}", problem)

    # --- the script ---

    def _entry(self, path: Path, entry: Entry) -> Iterator[Finding]:
        place = (*path, entry.verb)
        run_for = self.scenario.run_for
        if entry.at is not None and entry.at > run_for:
            yield (*path, "at"), Wrong("found a time after the end", "must be within run_for")
        if entry.every is not None and run_for // entry.every.ms > self.limits.repeats:
            times = run_for // entry.every.ms
            yield (
                (*path, "every"),
                Wrong(f"found {times} repetitions", _at_most(self.limits.repeats)),
            )
        if entry.on is not None:
            yield from self._event((*path, "on"), entry.on)
        yield from self._names(place, entry.do)
        yield from action_aims(self.scenario, place, entry.do, self.people)
        settings = getattr(entry.do, "settings", {})
        yield from self._changed_settings((*place, "settings"), entry.do, settings)
        app = getattr(entry.do, "app", None)
        if isinstance(app, App):
            yield from self._app((*place, "app"), app)

    def _event(self, path: Path, on: On) -> Iterator[Finding]:
        """Whatever an event to wait for names must be there."""
        if on.group is not None and on.group not in self.groups:
            yield (*path, "group"), unknown("group", on.group, self.groups)
        raw = [entry.do for entry in self.scenario.script if isinstance(entry.do, Raw)]
        if on.client is not None and on.client not in [each.member for each in raw]:
            yield from self._whom((*path, "client"), on.client)
        # An assignor in Python says its name when it is loaded, which is not done here.
        if on.protocol is not None and not self.allow_python:
            of_raw = (name for each in raw for name in each.assignors)
            assignors = list(dict.fromkeys((*assignor_names(), *of_raw)))
            if on.protocol not in assignors:
                yield (*path, "protocol"), unknown("assignor", on.protocol, assignors)
        yield from event_aims(self.scenario, path, on, self.topics)

    def _names(self, path: Path, action: Action) -> Iterator[Finding]:
        """Whatever an action names must be there."""
        for each in attrs.fields(type(action)):
            value, place = getattr(action, each.name), (*path, each.name)
            if each.name == "group" and value not in self.groups:
                yield place, unknown("group", value, self.groups)
            elif each.name == "topic" and value not in self.topics:
                yield place, unknown("topic", value, self.topics)
            elif each.name == "members":
                for text in value:
                    yield from self._whom(place, text)
            elif each.name in ("brokers", "broker"):
                yield from self._brokers(place, value)
        if isinstance(action, MoveCoordinator) and action.to is not None:
            yield from self._brokers((*path, "to"), (action.to,))
        if isinstance(action, Raw):
            yield from (
                ((*path, "subscribe"), unknown("topic", topic, self.topics))
                for topic in action.subscribe
                if topic not in self.topics
            )

    def _whom(self, path: Path, text: str) -> Iterator[Finding]:
        chosen = parse_whom(text)
        if isinstance(chosen, Named):
            yield from self._consumer(path, chosen.name)
            return
        if isinstance(chosen, Owner):
            if chosen.topic not in self.topics:
                yield path, unknown("topic", chosen.topic, self.topics)
            elif wrong := no_partition(
                chosen.topic, chosen.partition, partition_counts(self.scenario)
            ):
                yield path, wrong
            elif chosen.group is None and len(self.groups) > 1:
                yield path, Wrong(f"found {text!r}", f"must say whose: {text} in GROUP")
        if chosen.group is not None and chosen.group not in self.groups:
            yield path, unknown("group", chosen.group, self.groups)

    def _consumer(self, path: Path, name: str) -> Iterator[Finding]:
        if name in self.people or self._may_come(name):
            return
        wrong = unknown("consumer", name, self.people)
        many = len(self.people)
        known = wrong.allowed if many <= _LISTED_MAX else f"there are {many}, or {FORMS}"
        yield path, Wrong(wrong.found, known, nearest=wrong.nearest)

    def _may_come(self, name: str) -> bool:
        """Whether a name can only be known later: of a group that scales, or could not be read."""
        if any(map(_hides_members, self.unread)) or self._members_count() > self.limits.members:
            return True
        growing = {
            entry.do.group
            for entry in self.scenario.script
            if isinstance(entry.do, Scale | Autoscale)
        }
        return any(name.startswith(f"{group}-") for group in growing)

    def _brokers(self, path: Path, wanted: tuple[int | str, ...]) -> Iterator[Finding]:
        for broker in wanted:
            group = coordinated_group(broker)
            if group is not None and group not in self.groups:
                yield path, unknown("group", group, self.groups)
            if isinstance(broker, int) and broker > self.scenario.cluster.brokers:
                count = self.scenario.cluster.brokers
                yield path, Wrong(f"found broker {broker}", f"there are 1 to {count}")

    def _changed_settings(
        self, path: Path, action: Action, settings: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """Settings that come with a restart must fit those that stay."""
        if not settings:
            return
        group = getattr(action, "group", None)
        named = {
            chosen.name
            for chosen in map(parse_whom, getattr(action, "members", ()))
            if isinstance(chosen, Named)
        }
        fit = [
            person
            for person in self.people.values()
            if person.group == group or person.name in named
        ]
        for person in fit[:1]:
            yield from self._settings(path, person.changed(settings, None))


_LISTED_MAX = 20
_WITHOUT = "must do without, so that one can tell how long it takes to match"
_SIMPLER = "must be simpler: no repetition within another, and few one after the other"
#: Where a file names things.
_NAMED_AT: Mapping[str, Path] = {"topic": ("cluster", "topics"), "group": ("groups",)}


def _hides_members(unread: Path) -> bool:
    """Whether nobody knows who is in a group, as this place could not be read."""
    return unread[:1] in ((), ("groups",)) and unread[2:3] in ((), ("members",))


def _names_in(data: Any, *path: str) -> tuple[str, ...]:  # noqa: ANN401 (plain data)
    """The keys at a place of the file, whatever is below them."""
    for step in path:
        data = data.get(step) if isinstance(data, Mapping) else None
    return tuple(data) if isinstance(data, Mapping) else ()


def _at_most(most: int, what: str = "") -> str:
    flag = f"; --max-{what} N raises this" if what in ("members", "partitions") else ""
    return f"must be at most {most}{flag}"
