"""The states of a member and of a partition, and where each may go next: the tables.

What an error code makes a member do is in `client.actions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class MemberState(Enum):
    """Where a consumer stands with its group."""

    # The hash of an enumeration is that of a name; these are looked up too often for that.
    __hash__ = object.__hash__

    UNJOINED = "Unjoined"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"

    @property
    def has_joined(self) -> bool:
        """Whether there is a generation to send heartbeats for."""
        return self in (MemberState.COMPLETING_REBALANCE, MemberState.STABLE)

    @property
    def is_rebalancing(self) -> bool:
        """Whether a join or sync is on its way."""
        return self in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)


class FetchState(Enum):
    """How far an assigned partition is from being read."""

    __hash__ = object.__hash__

    INITIALIZING = "Initializing"
    FETCHING = "Fetching"
    AWAIT_RESET = "AwaitReset"
    AWAIT_VALIDATION = "AwaitValidation"

    @property
    def requires_position(self) -> bool:
        """Whether a partition in this state has a position; entering another state drops it."""
        return self in (FetchState.FETCHING, FetchState.AWAIT_VALIDATION)


_UNJOINED = MemberState.UNJOINED
_PREPARING = MemberState.PREPARING_REBALANCE
_COMPLETING = MemberState.COMPLETING_REBALANCE
_STABLE = MemberState.STABLE

# fmt: off
#: Where a member may go next. A reset leads to UNJOINED from anywhere, a new join to PREPARING.
MEMBER_MOVES: Mapping[MemberState, frozenset[MemberState]] = {
    _UNJOINED:   frozenset({_UNJOINED, _PREPARING}),
    _PREPARING:  frozenset({_UNJOINED, _PREPARING, _COMPLETING}),
    _COMPLETING: frozenset({_UNJOINED, _PREPARING, _STABLE}),
    _STABLE:     frozenset({_UNJOINED, _PREPARING}),
}

#: Where a partition may go next. A move missing here is quietly not made, as in Kafka.
FETCH_MOVES: Mapping[FetchState, frozenset[FetchState]] = {
    FetchState.INITIALIZING:
        frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION}),
    FetchState.FETCHING:
        frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION}),
    FetchState.AWAIT_RESET:
        frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET}),
    FetchState.AWAIT_VALIDATION:
        frozenset({FetchState.FETCHING, FetchState.AWAIT_RESET, FetchState.AWAIT_VALIDATION}),
}
# fmt: on
