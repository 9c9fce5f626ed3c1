"""Heartbeat and liveness: what keeps a session alive, and what its end does."""

from __future__ import annotations

from coordinator.errors import ErrorCode
from coordinator.events import EventKind
from coordinator.group import Group
from coordinator.member import Member
from coordinator.protocol import (
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
)
from coordinator.rebalance import complete_join, rebalance_or_try_complete
from coordinator.shard import Shard
from coordinator.states import (
    COMPLETING_REBALANCE,
    DEAD,
    HEARTBEAT_ANSWERS,
    NOBODY_THERE,
    PREPARING_REBALANCE,
    STABLE,
)
from coordinator.step import Step

#: The reply has one field, so there is one value for each answer.
ANSWERS = {state: HeartbeatResponse(error_code=code) for state, code in HEARTBEAT_ANSWERS.items()}


def heartbeat(shard: Shard, request: HeartbeatRequest, step: Step) -> HeartbeatResponse | None:
    """Keep a member's session alive and tell it whether a rebalance is waiting for it."""
    assert request.group_id is not None
    group = shard.groups.get(request.group_id)
    if group is None:
        step.reply(request, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        return None
    refusal = _refusal_of(group, request)
    if refusal is not None:
        step.reply(request, HeartbeatResponse(error_code=refusal))
        return None

    step.keep_session(group.members[request.member_id])
    return ANSWERS[group.state]


def _refusal_of(group: Group, request: HeartbeatRequest) -> ErrorCode | None:
    if group.state in NOBODY_THERE:
        return HEARTBEAT_ANSWERS[group.state]
    refusal = group.refusal_of(request.member_id, request.group_instance_id)
    if refusal is None and request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return refusal


def on_session_timer(group: Group, member_id: str, step: Step) -> None:
    """A session is over: forget a handed-out id, remove a silent member, excuse one that waits."""
    if group.state is DEAD:
        return
    if member_id in group.pending_joins:
        group.remove(member_id)
        step.tell(
            EventKind.MEMBER_REMOVED,
            group,
            member_id=member_id,
            detail="it never came back with the id it was given",
        )
        _complete_if_all_joined(group, f"pending member {member_id} never came back", step)
        return
    member = group.members.get(member_id)
    # One that is parked is not counted as silent; its timer is set again when it is answered.
    if member is not None and not member.is_excused:
        _remove_expired(group, member, step)


def _remove_expired(group: Group, member: Member, step: Step) -> None:
    dismiss(group, member, step, "its session expired")
    reason = f"session of {member.member_id} expired"
    if group.state in (STABLE, COMPLETING_REBALANCE):
        rebalance_or_try_complete(group, reason, step)
    else:
        _complete_if_all_joined(group, reason, step)


def dismiss(group: Group, member: Member, step: Step, why: str) -> None:
    """Remove a member; its parked join is told so, its parked sync is not (as in Kafka)."""
    request = group.release_join(member)
    if request is not None:
        step.reply(
            request,
            JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID, member_id=UNKNOWN_MEMBER_ID),
        )
    leader_before = group.leader_id
    group.remove(member.member_id)
    step.tell(EventKind.MEMBER_REMOVED, group, member=member, count=len(group.members), detail=why)
    step.tell_new_leader(group, leader_before, "the leader is gone")


def _complete_if_all_joined(group: Group, reason: str, step: Step) -> None:
    """An expiry may end even an initial join phase early; a leave may not."""
    if group.state is PREPARING_REBALANCE and group.has_all_joined:
        complete_join(group, reason, step)
