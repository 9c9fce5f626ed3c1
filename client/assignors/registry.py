"""The one registry of assignors: a name, and how to make a consumer's own instance of it."""

from __future__ import annotations

from collections.abc import Callable

from client.assignors.cooperative_sticky import CooperativeStickyAssignor
from client.assignors.custom import broadcast_assignor, random_assignor
from client.assignors.interface import Assignor
from client.assignors.range import RangeAssignor
from client.assignors.round_robin import RoundRobinAssignor
from client.assignors.sticky import StickyAssignor

#: How a consumer gets an assignor of its own.
AssignorFactory = Callable[[], Assignor]

_FACTORIES: dict[str, AssignorFactory] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
    "random": random_assignor,
    "broadcast": broadcast_assignor,
}

#: Kafka's settings name classes; each stands for the name that the class goes by in a group.
CLASS_NAMES = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}


def new_assignor(name: str) -> Assignor:
    """A consumer's own assignor of this name, or of this Kafka class."""
    known = CLASS_NAMES.get(name, name)
    if known not in _FACTORIES:
        raise ValueError(f"assignor must be one of {', '.join(assignor_names())}, not {name!r}")
    return _FACTORIES[known]()


def register_assignor(name: str, factory: AssignorFactory) -> None:
    """Make a user's assignor known by its name, for scenario files and settings."""
    if name in _FACTORIES or name in CLASS_NAMES:
        raise ValueError(f"an assignor named {name!r} is registered already")
    _FACTORIES[name] = factory


def assignor_names() -> tuple[str, ...]:
    """Every registered name, Kafka's four first."""
    return tuple(_FACTORIES)
