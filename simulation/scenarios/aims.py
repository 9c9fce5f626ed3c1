"""What an entry of the script aims at: partitions, requests, states and errors that there can be.

An entry that aims at nothing would do nothing, and nobody would notice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from coordinator import ErrorCode, GroupConfig
from coordinator.states import GroupState
from simulation.planned_faults import REQUESTS
from simulation.scenarios.actions import Action, Raw
from simulation.scenarios.disturbances import (
    AddPartitions,
    Append,
    CreateTopic,
    DeleteTopic,
    Hold,
    Release,
    Truncate,
)
from simulation.scenarios.mistakes import Path, Wrong, unknown
from simulation.scenarios.script import On

if TYPE_CHECKING:
    from simulation.scenarios.scenario import Scenario

#: The name of an exception in Python, which may stand where an error does.
_EXCEPTION = re.compile(r"[A-Z]\w*[a-z]\w*")


def partition_counts(scenario: Scenario) -> dict[str, int]:
    """The most partitions that each topic ever has."""
    counts = {str(name): int(topic.partitions) for name, topic in scenario.cluster.topics.items()}
    for entry in scenario.script:
        if isinstance(entry.do, CreateTopic):
            topic, count = entry.do.name, entry.do.partitions
        elif isinstance(entry.do, AddPartitions):
            topic, count = entry.do.topic, entry.do.to
        else:
            continue
        counts[topic] = max(counts.get(topic, 0), count)
    return counts


def no_partition(topic: str, partition: int, counts: dict[str, int]) -> Wrong | None:
    """What is wrong with a partition of a known topic, if it has no such one."""
    count = counts.get(topic)
    if count is None or partition < count:
        return None
    last = count - 1
    return Wrong(f"found partition {partition}", f"{topic} has 0 to {last}" if last else "only 0")


def event_aims(
    scenario: Scenario, path: Path, on: On, topics: Collection[str]
) -> Iterator[tuple[Path, Wrong]]:
    """Columns of an event that can never say what is waited for."""
    if on.state is not None and on.state not in (states := [each.value for each in GroupState]):
        yield (*path, "state"), unknown("state", on.state, states)
    if on.request is not None and on.request not in REQUESTS:
        yield (*path, "request"), unknown("request", on.request, REQUESTS)
    if on.error is not None and not _EXCEPTION.fullmatch(on.error):
        errors = [each.name for each in ErrorCode]
        if on.error not in errors:
            yield (*path, "error"), unknown("error", on.error, errors)
    if on.broker is not None and not 1 <= on.broker <= scenario.cluster.brokers:
        allowed = f"there are 1 to {scenario.cluster.brokers}"
        yield (*path, "broker"), Wrong(f"found broker {on.broker}", allowed)
    if on.topic is not None and on.topic not in topics:
        yield (*path, "topic"), unknown("topic", on.topic, topics)
    elif on.partition is not None:
        counts = partition_counts(scenario)
        if on.topic is None:
            # Without a topic it may be one of the offsets topic.
            usual = GroupConfig().offsets_topic_num_partitions
            offsets = scenario.cluster.settings.get("offsets_topic_num_partitions", usual)
            most = max([*counts.values(), offsets])
            wrong = no_partition("no topic", on.partition, {"no topic": most})
            wrong = wrong and Wrong(wrong.found, f"no topic has more than {most} partitions")
        else:
            wrong = no_partition(on.topic, on.partition, counts)
        if wrong is not None:
            yield (*path, "partition"), wrong


def action_aims(
    scenario: Scenario, path: Path, action: Action, people: Collection[str]
) -> Iterator[tuple[Path, Wrong]]:
    """What an action can never find."""
    if isinstance(action, Hold | Release) and action.request and action.request not in REQUESTS:
        yield (*path, "request"), unknown("request", action.request, REQUESTS)
    if isinstance(action, Append | Truncate) and action.partition is not None:
        wrong = no_partition(action.topic, action.partition, partition_counts(scenario))
        if wrong is not None:
            yield (*path, "partition"), wrong
    if isinstance(action, Raw) and action.member in people:
        found = f"found {action.member}, which is a consumer"
        yield (*path, "member"), Wrong(found, "must be a name that nobody else has")
    yield from _topic_changes(scenario, path, action)


def _topic_changes(scenario: Scenario, path: Path, action: Action) -> Iterator[tuple[Path, Wrong]]:
    deleted = {each.do.topic for each in scenario.script if isinstance(each.do, DeleteTopic)}
    there = {name: each for name, each in scenario.cluster.topics.items() if name not in deleted}
    if isinstance(action, AddPartitions) and action.topic in there:
        count = there[action.topic].partitions
        if action.to <= count:
            allowed = f"must be more than the {count} that {action.topic} has"
            yield (*path, "to"), Wrong(f"found {action.to}", allowed)
    if isinstance(action, CreateTopic) and action.name in there:
        allowed = "must be a topic that is not there yet"
        yield (*path, "name"), Wrong(f"found {action.name}, which is there from the start", allowed)
