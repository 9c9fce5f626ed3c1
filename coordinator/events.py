"""What happened inside the coordinator, for whoever keeps a record. Facts, in the past tense."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from coordinator.errors import ErrorCode
from coordinator.protocol.making import quickly_made


class EventKind(Enum):
    """The coordinator's vocabulary; the value is the word in a recording."""

    GROUP_CREATED = "group_created"
    GROUP_REMOVED = "group_removed"
    GROUP_LOADED = "group_loaded"
    STATE_CHANGED = "state_changed"
    MEMBER_ID_GIVEN = "member_id_given"
    MEMBER_ADDED = "member_added"
    MEMBER_REJOINED = "member_rejoined"
    MEMBER_REPLACED = "member_replaced"
    MEMBER_REMOVED = "member_removed"
    LEADER_ELECTED = "leader_elected"
    JOIN_PHASE_EXTENDED = "join_phase_extended"
    JOIN_PHASE_ENDED = "join_phase_ended"
    PROTOCOL_SELECTED = "protocol_selected"
    ASSIGNMENT_STORED = "assignment_stored"
    OFFSET_COMMITTED = "offset_committed"
    COMMIT_REFUSED = "commit_refused"
    OFFSET_REMOVED = "offset_removed"
    WRITE_FAILED = "write_failed"
    SHARD_LOADING = "shard_loading"
    SHARD_LOADED = "shard_loaded"
    SHARD_UNLOADED = "shard_unloaded"
    INTERNAL_FAULT = "internal_fault"

    __hash__ = object.__hash__  # looked up for every event


@quickly_made
@frozen(kw_only=True)
class Event:
    """One fact. Fields that say nothing about it are None; `detail` is for people."""

    kind: EventKind
    group_id: str | None = None
    member_id: str | None = None
    group_instance_id: str | None = None
    generation_id: int | None = None
    state: str | None = None
    protocol_name: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    error: ErrorCode | None = None
    count: int | None = None
    detail: str | None = None
