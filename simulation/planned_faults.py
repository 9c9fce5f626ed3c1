"""Faults as data: what goes wrong, at a time or on an event, and for how long.

`simulation.faults` has the verbs and lets them happen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import field, frozen

from client.membership import CloseOperation
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
from simulation.durations import Duration, milliseconds
from simulation.events import Row

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
REQUESTS = tuple(
    each.__name__.removesuffix("Request")
    for each in (
        *(FindCoordinatorRequest, JoinGroupRequest, SyncGroupRequest, HeartbeatRequest),
        *(LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest, OffsetDeleteRequest),
        *(MetadataRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest, FetchRequest),
        *(DescribeGroupsRequest, ListGroupsRequest, DeleteGroupsRequest),
    )
)

#: Who leads a group at present, if anybody does.
LeaderOf = Callable[[str], str | None]
_LEADER = re.compile(r"leader of (\S+)")

#: What of a link can be silent alone.
WAYS = ("to_broker", "to_client")
#: The verbs that disturb links, of which single brokers can be named.
OF_LINKS = ("partition", "hold", "slow")
#: The verbs that disturb the log of a group.
_OF_LOGS = ("fail_append", "slow_append")


def require_way(one_way: str | None) -> None:
    """Refuse what is no direction of a link."""
    if one_way not in (None, *WAYS):
        raise ValueError(f"one_way must be {' or '.join(WAYS)}, not {one_way!r}")


def require_request(request: str) -> None:
    """Refuse what is no kind of request."""
    if request and request not in REQUESTS:
        raise ValueError(f"request must be one of {', '.join(REQUESTS)}, not {request!r}")


def led_group(text: str) -> str | None:
    """The group in `leader of GROUP`; None for a name."""
    found = _LEADER.fullmatch(text)
    return None if found is None else found[1]


def require_operation(operation: str) -> None:
    """Refuse what is no way to close a consumer."""
    if operation not in CloseOperation.ALL:
        known = ", ".join(CloseOperation.ALL)
        raise ValueError(f"operation must be one of {known}, not {operation!r}")


#: What can be said of each verb besides whom it strikes, and what looks at it.
OPTIONS: Mapping[str, Mapping[str, Callable[[Any], object]]] = {
    "stop": {"operation": require_operation},
    "partition": {"one_way": require_way},
    "hold": {"request": require_request},
    "slow": {"by": milliseconds},
    "slow_append": {"by": milliseconds},
    "crash_broker": {"load": milliseconds},
}


class Awaited(Protocol):
    """An event to wait for, as scenario files write it: `simulation.scenarios.On`."""

    @property
    def nth(self) -> int:
        """From which time on it counts."""

    @property
    def times(self) -> int:
        """How many times it counts."""

    @property
    def after(self) -> int:
        """How many milliseconds later something is done."""

    @property
    def request(self) -> str | None:
        """The kind of request that it is about, if only one kind is meant."""

    def matches(self, row: Row, leader_of: LeaderOf) -> bool:
        """Whether this is such an event, while groups are led by these."""


@frozen(kw_only=True)
class Fault:
    """One thing that goes wrong at a time or on an event, and is right again so long after."""

    verb: str = field()
    #: A client, also as `leader of GROUP`; a group; or a broker's number.
    target: str | int = field()
    #: Of a fault between a client and brokers: which; without any, all of them.
    brokers: tuple[int, ...] = field(default=())
    at: Duration | None = field(default=None)
    on: Awaited | None = field(default=None)
    lasts: Duration | None = field(default=None)
    options: Mapping[str, Any] = field(factory=dict)

    @property
    def led_group(self) -> str | None:
        """The group whose leader it strikes, if it is to be the leader."""
        return led_group(self.target) if isinstance(self.target, str) else None

    @at.validator
    @lasts.validator
    def _is_a_time(self, _attribute: object, value: Duration | None) -> None:
        if value is not None:
            milliseconds(value)

    @on.validator
    def _happens_some_time(self, _attribute: object, value: Awaited | None) -> None:
        if (self.at is None) == (value is None):
            raise ValueError(f"a fault must have either at or on, not {self.at!r} and {value!r}")
        if value is not None and not hasattr(value, "matches"):
            raise TypeError(f'on must be an event such as On(kind="leader_elected"), not {value!r}')
        if value is not None:
            require_request(value.request or "")

    @options.validator
    def _are_the_verb_s(self, _attribute: object, value: Mapping[str, Any]) -> None:
        known = OPTIONS.get(self.verb, {})
        for name, found in value.items():
            if name not in known:
                allowed = " or ".join(known) or "nothing"
                raise TypeError(f"options of {self.verb} may name {allowed}, not {name!r}")
            known[name](found)

    @brokers.validator
    def _has_links(self, _attribute: object, value: object) -> None:
        if not isinstance(value, Sequence) or any(type(each) is not int for each in value):
            raise TypeError(f"brokers must be numbers of brokers, such as (1, 2), not {value!r}")
        if value and self.verb not in OF_LINKS:
            raise ValueError(f"brokers must stand with one of {', '.join(OF_LINKS)}: {value!r}")

    @verb.validator
    def _known(self, _attribute: object, value: str) -> None:
        if value not in PAIRS:
            raise ValueError(f"verb must be one of {', '.join(PAIRS)}, not {value!r}")

    @target.validator
    def _of_the_verb_s_kind(self, _attribute: object, value: str | int) -> None:
        kind, words = (int, "the number of a broker") if "broker" in self.verb else (str, "a name")
        if type(value) is not kind:
            raise TypeError(f"target of {self.verb} must be {words}, not {value!r}")
        if self.verb in _OF_LOGS and self.led_group is not None:
            raise ValueError(f"target of {self.verb} must be a group, not {value!r}")
