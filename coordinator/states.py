"""The heart: the states of a classic group, where it may move, and what each state answers.

Tables, all of them total; the handlers ask them instead of asking for states one by one.
`docs/states.md` is printed from here by `coordinator.states_page`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from coordinator.errors import ErrorCode


class GroupState(Enum):
    """Where a group stands; the values are Kafka's words on the wire."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    __hash__ = object.__hash__


EMPTY = GroupState.EMPTY
PREPARING_REBALANCE = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
DEAD = GroupState.DEAD

#: States in which a group has no members, so that nobody's request can be a member's.
NOBODY_THERE = frozenset({EMPTY, DEAD})

# fmt: off

#: Where a classic group may go next. A move missing here is a bug of ours, never of a client.
MOVES: Mapping[GroupState, frozenset[GroupState]] = {
    EMPTY:                frozenset({PREPARING_REBALANCE, DEAD}),
    PREPARING_REBALANCE:  frozenset({COMPLETING_REBALANCE, EMPTY, DEAD}),
    COMPLETING_REBALANCE: frozenset({STABLE, PREPARING_REBALANCE, DEAD}),
    STABLE:               frozenset({PREPARING_REBALANCE, DEAD}),
    DEAD:                 frozenset({DEAD}),
}

#: What makes a group move, in words, for the page of states.
REASONS_TO_MOVE: Mapping[tuple[GroupState, GroupState], str] = {
    (EMPTY, PREPARING_REBALANCE):                "the first member is added",
    (PREPARING_REBALANCE, COMPLETING_REBALANCE): "the join phase ends with members",
    (PREPARING_REBALANCE, EMPTY):                "the join phase ends without members",
    (COMPLETING_REBALANCE, STABLE):              "the leader's assignment is written",
    (COMPLETING_REBALANCE, PREPARING_REBALANCE): "a member comes, goes, changes, or never syncs; "
                                                 "the write of the assignment fails",
    (STABLE, PREPARING_REBALANCE):               "a member comes, goes, changes, or never syncs; "
                                                 "the leader rejoins; a loaded group is too large",
}

#: What a member of the current generation hears when it heartbeats.
HEARTBEAT_ANSWERS: Mapping[GroupState, ErrorCode] = {
    EMPTY:                ErrorCode.UNKNOWN_MEMBER_ID,
    PREPARING_REBALANCE:  ErrorCode.REBALANCE_IN_PROGRESS,
    COMPLETING_REBALANCE: ErrorCode.NONE,  # Kafka's own comment says 27; its code says 0
    STABLE:               ErrorCode.NONE,
    DEAD:                 ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


class SyncAnswer(Enum):
    """What a SyncGroup of a member of the current generation leads to."""

    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
    PARK = "parked until the leader's assignment is written"
    ASSIGNMENT = "the stored assignment"


#: What a member of the current generation gets when it syncs.
SYNC_ANSWERS: Mapping[GroupState, SyncAnswer] = {
    EMPTY:                SyncAnswer.UNKNOWN_MEMBER_ID,
    PREPARING_REBALANCE:  SyncAnswer.REBALANCE_IN_PROGRESS,
    COMPLETING_REBALANCE: SyncAnswer.PARK,
    STABLE:               SyncAnswer.ASSIGNMENT,
    DEAD:                 SyncAnswer.COORDINATOR_NOT_AVAILABLE,
}


class Rejoin(Enum):
    """What the JoinGroup of a known member leads to."""

    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
    PARK = "parked; the join phase may end"
    REBALANCE = "parked; a rebalance starts"
    CURRENT_GENERATION = "the current generation, at once"

    __hash__ = object.__hash__  # looked up for every join


#: A known member joins again with the protocols it had: as the leader, as a follower.
REJOIN_UNCHANGED: Mapping[GroupState, tuple[Rejoin, Rejoin]] = {
    EMPTY:                (Rejoin.UNKNOWN_MEMBER_ID, Rejoin.UNKNOWN_MEMBER_ID),
    PREPARING_REBALANCE:  (Rejoin.PARK, Rejoin.PARK),
    COMPLETING_REBALANCE: (Rejoin.CURRENT_GENERATION, Rejoin.CURRENT_GENERATION),
    STABLE:               (Rejoin.REBALANCE, Rejoin.CURRENT_GENERATION),
    DEAD:                 (Rejoin.COORDINATOR_NOT_AVAILABLE, Rejoin.COORDINATOR_NOT_AVAILABLE),
}

#: A known member joins again with other protocols, or the same ones in another order.
REJOIN_CHANGED: Mapping[GroupState, Rejoin] = {
    EMPTY:                Rejoin.UNKNOWN_MEMBER_ID,
    PREPARING_REBALANCE:  Rejoin.PARK,
    COMPLETING_REBALANCE: Rejoin.REBALANCE,
    STABLE:               Rejoin.REBALANCE,
    DEAD:                 Rejoin.COORDINATOR_NOT_AVAILABLE,
}

#: A commit of a member of the current generation: the error it gets. Empty has no members.
COMMIT_ANSWERS: Mapping[GroupState, ErrorCode] = {
    EMPTY:                ErrorCode.UNKNOWN_MEMBER_ID,
    PREPARING_REBALANCE:  ErrorCode.NONE,
    COMPLETING_REBALANCE: ErrorCode.REBALANCE_IN_PROGRESS,
    STABLE:               ErrorCode.NONE,
    DEAD:                 ErrorCode.COORDINATOR_NOT_AVAILABLE,
}

#: Whether a commit keeps its member's session alive.
COMMIT_KEEPS_SESSION: Mapping[GroupState, bool] = {
    EMPTY:                False,
    PREPARING_REBALANCE:  True,
    COMPLETING_REBALANCE: False,
    STABLE:               True,
    DEAD:                 False,
}

#: What DeleteGroups answers.
DELETE_ANSWERS: Mapping[GroupState, ErrorCode] = {
    EMPTY:                ErrorCode.NONE,
    PREPARING_REBALANCE:  ErrorCode.NON_EMPTY_GROUP,
    COMPLETING_REBALANCE: ErrorCode.NON_EMPTY_GROUP,
    STABLE:               ErrorCode.NON_EMPTY_GROUP,
    DEAD:                 ErrorCode.GROUP_ID_NOT_FOUND,
}



#: What clients hear for a failed write. An error that is not listed goes through unchanged.
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS:        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT:          ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER:     ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR:        ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE:          ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE:      ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE:         ErrorCode.UNKNOWN_SERVER_ERROR,
}

# fmt: on
