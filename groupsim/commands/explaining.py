"""A scenario in words: what is there, what happens, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simulation.durations import duration_text
from simulation.scenarios.scenario import Scenario
from simulation.scenarios.verbs import ACTIONS
from simulation.sentences import counted, listed

#: The keys of an entry that say when; the other one is its verb.
_WHENS = ("at", "every", "from", "until", "on", "for")


def told_scenario(scenario: Scenario) -> Iterator[str]:
    """The lines that explain a scenario."""
    said = scenario.to_dict()
    yield f"{scenario.name}: {scenario.title}" if scenario.title else str(scenario.name)
    if scenario.question:
        yield f"It asks: {scenario.question.strip()}"
    yield ""
    yield from _cluster(scenario)
    for name, group in scenario.groups.items():
        yield from _group(name, group.members, said["groups"][name])
    if scenario.script:
        yield ""
        yield "What happens:"
        for entry in said["script"]:
            yield f"  {_entry(entry)}"
    yield ""
    yield f"It runs for {duration_text(scenario.run_for)} of virtual time, seed {scenario.seed}."
    if scenario.never_settles:
        yield f"Its groups need not come to rest: {scenario.never_settles}."
    if scenario.expect:
        expected = [str(each) for each in said["expect"]]
        yield f"Expected at the end: {listed(expected)}."
    if scenario.variants:
        yield ""
        yield "Variants, each played with the same dice:"
        for name, changes in scenario.variants.items():
            yield f"  {name}: {_changes(changes)}"


def _cluster(scenario: Scenario) -> Iterator[str]:
    cluster = scenario.to_dict()["cluster"]
    yield f"A cluster of {counted(scenario.cluster.brokers, 'broker')}."
    for key, value in cluster.items():
        if key not in ("brokers", "topics"):
            yield f"  {key}: {told_value(value)}"
    for name, topic in scenario.cluster.topics.items():
        said = cluster["topics"][name] or {}
        traffic = {key: value for key, value in said.items() if key != "partitions"}
        more = f": {_options(traffic)}" if traffic else ""
        yield f"Topic {name} has {counted(topic.partitions, 'partition')}{more}."


def _group(name: str, members: int | Mapping[Any, Any], said: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(members, int):
        who = counted(members, "member")
    else:
        options = said["members"] if isinstance(said["members"], Mapping) else {}
        who = f"the members {listed([_member(str(each), options.get(each)) for each in members])}"
    topics = said.get("subscribe") or said.get("pattern")
    reads = f", reading {told_value(topics)}" if topics else ""
    yield f"Group {name} has {who}{reads}."
    rest = {
        key: value for key, value in said.items() if key not in ("members", "subscribe", "pattern")
    }
    for key, value in rest.items():
        yield f"  {key}: {told_value(value)}"


def _member(name: str, said: Mapping[str, Any] | None) -> str:
    return f"{name} ({_options(said)})" if said else name


def _entry(entry: Mapping[str, Any]) -> str:
    meaning = (ACTIONS[_verb(entry)].__doc__ or "").splitlines()[0].rstrip(".")
    return f"{told_entry(entry)} ({meaning})"


def told_entry(entry: Mapping[str, Any]) -> str:
    """When something happens, and what: "at 30s: crash ada"."""
    when = ", ".join(f"{key} {told_value(entry[key])}" for key in _WHENS if key in entry)
    verb = _verb(entry)
    *words, last = verb.split("_")
    said = told_value(entry[verb])
    # "crash broker broker 1" would say it twice.
    doing = words if said.startswith(f"{last} ") else [*words, last]
    return f"{when}: {' '.join([*doing, said])}"


def _verb(entry: Mapping[str, Any]) -> str:
    return next(key for key in entry if key not in _WHENS)


def _changes(changes: Mapping[str, Any]) -> str:
    if not changes:
        return "as it is above"
    return "; ".join(f"{path} is {told_value(value)}" for path, value in changes.items())


def _options(said: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {told_value(value)}" for key, value in said.items())


def told_value(value: Any) -> str:  # noqa: ANN401 - whatever a file holds
    """What a file says under a key, in words."""
    if isinstance(value, Mapping):
        return _options(value)
    if isinstance(value, list | tuple):
        return listed([told_value(each) for each in value])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
