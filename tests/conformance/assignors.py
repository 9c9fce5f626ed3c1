"""The player for assignor cases (FORMAT_ASSIGNOR.md): every unit is compared exactly, as sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from client.assignors import (
    Assignment,
    AssignmentError,
    Cluster,
    ConsumerGroupMetadata,
    Subscription,
    TopicPartition,
    assignor_names,
    new_assignor,
)
from tests.conformance.results import CaseResult

Words = dict[str, Any]

_MANY = 5


def is_mine(cases: list[Words]) -> bool:
    """Cases of assignors name one, and have members, in themselves or in their first step."""
    first_units = [units_of(case)[:1] for case in cases]
    return bool(cases) and all(
        unit and {"members", "topics"} <= unit[0].keys() for unit in first_units
    )


def play(cases: list[Words]) -> Iterator[CaseResult]:
    """Play each case; a sequence passes if each of its steps does, on its own."""
    for case in cases:
        scored = case.get("scored", True)
        name = case.get("assignor")
        if name is not None and name not in assignor_names():
            yield CaseResult(case["id"], "skipped", f"no assignor is named {name}", scored)
            continue
        differences = (difference for unit in units_of(case) for difference in play_unit(unit))
        first = next(differences, None)
        if first is None:
            yield CaseResult(case["id"], "passed", scored=scored)
        else:
            yield CaseResult(case["id"], "failed", first, scored)


def play_unit(unit: Words) -> Iterator[str]:
    """Put one unit to its assignor and tell where the answer is another than Kafka's."""
    name = unit["assignor"]
    group = {member["id"]: subscription_of(member, name) for member in unit["members"]}
    try:
        assignments = new_assignor(name).assign(cluster_of(unit), group)
    except AssignmentError as error:
        if not unit.get("expect_error", "").startswith(error.java_class):
            yield f"{unit['id']}: raised {error}, expected {unit.get('expect_error', 'none')}"
        return
    except Exception as error:  # noqa: BLE001 (a crash of ours is a failed case, not the end)
        yield f"{unit['id']}: {type(error).__name__}: {error}"
        return
    if "expect_error" in unit:
        yield f"{unit['id']}: assigned, expected {unit['expect_error']}"
        return
    expected = {member: sorted(pairs_of(owned)) for member, owned in unit["expect"].items()}
    got = {member: sorted(assignment.partitions) for member, assignment in assignments.items()}
    for member in sorted(expected.keys() | got.keys()):
        if member not in got or got[member] != expected.get(member):
            yield f"{unit['id']}: {member} {contrast(got.get(member), expected.get(member))}"


def units_of(case: Words) -> list[Words]:
    """The steps of a sequence, or the case itself."""
    steps: list[Words] = case.get("steps", [case])
    return steps


def cluster_of(unit: Words) -> Cluster:
    """What the leader sees; a replica on a broker without a rack is nowhere in particular."""
    return Cluster(
        partition_counts=unit["topics"],
        replica_racks={
            topic: tuple(frozenset(rack for rack in racks if rack is not None) for racks in listed)
            for topic, listed in unit.get("partition_racks", {}).items()
        },
    )


def subscription_of(member: Words, name: str) -> Subscription:
    """What a member of a case sends, its user data written by an assignor of its own."""
    owned, generation = member.get("owned"), member.get("generation")
    claims = "sticky" in name
    own = new_assignor(name)
    if claims and (owned is not None or generation is not None):
        own.on_assignment(
            Assignment(partitions=pairs_of(owned or [])),
            ConsumerGroupMetadata(
                group_id="g", generation_id=-1 if generation is None else generation
            ),
        )
    field_generation = member.get("subscription_generation", generation)
    return Subscription(
        topics=tuple(member["topics"]),
        user_data=own.subscription_user_data(member["topics"]),
        owned_partitions=pairs_of(owned or []) if name == "cooperative-sticky" else (),
        generation_id=field_generation if claims and field_generation is not None else -1,
        rack_id=member.get("rack"),
        group_instance_id=member.get("instance_id"),
    )


def pairs_of(listed: list[list[Any]]) -> tuple[TopicPartition, ...]:
    """Partitions as a case lists them."""
    return tuple((topic, partition) for topic, partition in listed)


def contrast(got: list[TopicPartition] | None, expected: list[TopicPartition] | None) -> str:
    """What one member's assignment lacks and what it has too much."""
    if got is None:
        return "is missing"
    if expected is None:
        return "is not a member"
    lacks = [f"{topic}-{number}" for topic, number in expected if (topic, number) not in got]
    extra = [f"{topic}-{number}" for topic, number in got if (topic, number) not in expected]
    return f"lacks {shorten(lacks)}, has too much: {shorten(extra)}"


def shorten(names: list[str]) -> str:
    """A few of them and how many more."""
    rest = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return (", ".join(names[:_MANY]) or "nothing") + rest
