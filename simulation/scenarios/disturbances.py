"""What a script can do to the world around the consumers: network, brokers, logs and topics."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from attrs import field, frozen

from simulation.scenarios.actions import Action, OfGroup, OfMembers, one_of
from simulation.scenarios.parts import Topic, says
from simulation.scenarios.values import (
    ALL_BROKERS,
    Brokers,
    Count,
    Ms,
    Name,
    Rate,
    Whole,
    brokers,
    duration,
    maybe_positive,
    maybe_whole,
    name,
    positive,
    rate,
    whole,
)

_TOPIC = says("the topic")
_BROKERS = says("the brokers: ids, or `coordinator of G`; without them, all")
_LOAD = says("how long the new coordinator reads its log")


class OneWay(Enum):
    """The direction in which a link is silent."""

    TO_BROKER = "to_broker"
    TO_CLIENT = "to_client"


def _one_way(value: str | OneWay | None) -> OneWay | None:
    return None if value is None else one_of(OneWay, value)


# --- the network ---


@frozen
class OfLinks(OfMembers):
    """Something that is done to the links between consumers and brokers."""

    brokers: Brokers = field(
        default=ALL_BROKERS, converter=brokers, metadata=_BROKERS, kw_only=True
    )


@frozen
class Partition(OfLinks):
    """Let the links between consumers and brokers go silent."""

    one_way: OneWay | None = field(
        default=None,
        converter=_one_way,
        metadata=says("`to_broker` or `to_client`: what is silent; without it, both"),
        kw_only=True,
    )


@frozen
class Repair(OfLinks):
    """Let silent links speak again; what waited on the way goes on."""


@frozen
class Hold(OfLinks):
    """Let requests of consumers not arrive."""

    request: str = field(
        default="",
        metadata=says("those of one kind, such as JoinGroup; without it, all"),
        kw_only=True,
    )


@frozen
class Release(OfLinks):
    """Let requests that are held arrive."""

    request: str = field(
        default="",
        metadata=says("only those that were held as this kind; without it, all"),
        kw_only=True,
    )


@frozen
class Slow(OfLinks):
    """Let every message between consumers and brokers take longer."""

    by: Ms = field(
        default=Ms(200), converter=duration, metadata=says("by so much, one way"), kw_only=True
    )


@frozen
class Normal(OfLinks):
    """Let messages be as fast as before."""


@frozen
class ResetConnections(OfLinks):
    """Break the connections of consumers."""

    acted: bool = field(
        default=False,
        metadata=says("whether brokers still act on what is on its way; only answers are lost"),
        kw_only=True,
    )


# --- brokers and the coordinator's log ---


@frozen
class OfBrokers(Action):
    """Something that is done to brokers; whoever coordinates then has to read its log first."""

    short: ClassVar[str] = "broker"
    broker: Brokers = field(converter=brokers, metadata=_BROKERS)
    load: Ms = field(default=Ms(1_000), converter=duration, metadata=_LOAD, kw_only=True)


@frozen
class MoveCoordinator(OfGroup):
    """Let another broker coordinate a group."""

    to: Count | None = field(
        default=None,
        converter=maybe_positive,
        metadata=says("the broker's id; without it, the next one"),
        kw_only=True,
    )
    load: Ms = field(default=Ms(0), converter=duration, metadata=_LOAD, kw_only=True)


@frozen
class CrashBroker(OfBrokers):
    """Let brokers die; others take over what they led."""


@frozen
class RestartBroker(OfBrokers):
    """Bring brokers back."""


@frozen
class FailAppend(OfGroup):
    """Let every write to the log that holds a group fail."""


@frozen
class SlowAppend(OfGroup):
    """Let every write to the log that holds a group take long."""

    by: Ms = field(default=Ms(1_000), converter=duration, metadata=says("so long"), kw_only=True)


@frozen
class HealAppend(OfGroup):
    """Let writes to the log that holds a group be as they should."""


# --- topics ---


@frozen(kw_only=True)
class CreateTopic(Topic, Action):
    """Let there be another topic."""

    name: Name = field(converter=name, metadata=says("what it is called"))


@frozen
class DeleteTopic(Action):
    """Let a topic be gone, with its records and the positions in it."""

    short: ClassVar[str] = "topic"
    topic: Name = field(converter=name, metadata=_TOPIC)


@frozen(kw_only=True)
class AddPartitions(Action):
    """Let a topic have more partitions."""

    topic: Name = field(converter=name, metadata=_TOPIC)
    to: Count = field(converter=positive, metadata=says("how many it has then"))


@frozen(kw_only=True)
class Produce(Action):
    """From now on write at another rate to a topic."""

    topic: Name = field(converter=name, metadata=_TOPIC)
    records: Rate = field(converter=rate, metadata=says("the new rate of the whole topic"))


@frozen(kw_only=True)
class Append(Action):
    """Write many records at once."""

    topic: Name = field(converter=name, metadata=_TOPIC)
    records: Count = field(converter=positive, metadata=says("so many in each partition"))
    partition: Whole | None = field(
        default=None, converter=maybe_whole, metadata=says("only in this one")
    )


@frozen(kw_only=True)
class Truncate(Action):
    """Delete the first records of a partition."""

    topic: Name = field(converter=name, metadata=_TOPIC)
    partition: Whole = field(default=Whole(0), converter=whole, metadata=says("the partition"))
    before: Whole = field(
        converter=whole, metadata=says("the offset of the first record that stays")
    )
