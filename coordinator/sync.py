"""SyncGroup: the leader's assignment in, everyone's share out."""

from __future__ import annotations

from coordinator.errors import ErrorCode
from coordinator.events import EventKind
from coordinator.group import Group
from coordinator.protocol import SyncGroupRequest, SyncGroupResponse
from coordinator.rebalance import (
    answer_sync,
    answer_syncs_with_error,
    prepare_rebalance,
    rebalance_or_try_complete,
)
from coordinator.records import GroupRecord
from coordinator.shard import Shard
from coordinator.states import (
    COMPLETING_REBALANCE,
    NOBODY_THERE,
    STABLE,
    SYNC_ANSWERS,
    WRITE_ERRORS,
    SyncAnswer,
)
from coordinator.step import Step
from coordinator.timers import SyncTimer
from coordinator.writes import AssignmentStorage


def sync_group(shard: Shard, request: SyncGroupRequest, step: Step) -> None:
    """Park a member until the plan is written, or hand it what it has been given."""
    assert request.group_id is not None
    group = shard.groups.get(request.group_id)
    refusal = _refusal_of(group, request)
    if refusal is not None or group is None:
        error = ErrorCode.UNKNOWN_MEMBER_ID if refusal is None else refusal
        step.reply(request, SyncGroupResponse(error_code=error))
        return

    member = group.members[request.member_id]
    what = SYNC_ANSWERS[group.state]
    if what is SyncAnswer.REBALANCE_IN_PROGRESS:
        step.reply(request, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        return
    if what is SyncAnswer.ASSIGNMENT:
        _mark_synced(group, request.member_id, step)
        step.reply(request, _share(group, member.assignment))
        return
    member.awaiting_sync = request  # an earlier one of the same member is never answered
    _mark_synced(group, request.member_id, step)
    if group.is_leader(request.member_id):
        _store_plan(group, request, step)


def _refusal_of(group: Group | None, request: SyncGroupRequest) -> ErrorCode | None:
    """Why this sync is none of the current generation; what a group has not set conflicts never."""
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state in NOBODY_THERE:
        return ErrorCode[SYNC_ANSWERS[group.state].value]
    refusal = group.refusal_of(request.member_id, request.group_instance_id)
    if refusal is not None:
        return refusal
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if _conflict(request.protocol_type, group.protocol_type) or _conflict(
        request.protocol_name, group.protocol_name
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return None


def _conflict(said: str | None, known: str | None) -> bool:
    return said is not None and known is not None and said != known


def _mark_synced(group: Group, member_id: str, step: Step) -> None:
    """This member has asked; when all have, nobody needs to be chased any more."""
    group.pending_syncs.pop(member_id, None)
    if not group.pending_syncs:
        step.cancel_timer(SyncTimer(group.group_id))


def _store_plan(group: Group, request: SyncGroupRequest, step: Step) -> None:
    """Write the leader's plan down; members it forgot get nothing, strangers are left out."""
    given = {each.member_id: each.assignment for each in request.assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    step.records.append(GroupRecord(group_id=group.group_id, value=group.to_metadata(assignments)))
    step.then = AssignmentStorage(
        group=group,
        generation_id=group.generation_id,
        leader_id=request.member_id,
        assignments=assignments,
    )


def assignment_written(plan: AssignmentStorage, step: Step) -> None:
    """The plan is in the log: hand out the shares, unless the group has moved on meanwhile."""
    group = plan.group
    if group.state is not COMPLETING_REBALANCE or group.generation_id != plan.generation_id:
        return
    for member in group.members.values():
        member.assignment = plan.assignments.get(member.member_id, b"")
    for member in group.members.values():
        if member.awaiting_sync is not None:
            answer_sync(member, _share(group, member.assignment), step)
    step.move(group, STABLE, "the leader's assignment is written")
    leader = group.members.get(plan.leader_id)
    step.tell(EventKind.ASSIGNMENT_STORED, group, member=leader, count=len(group.members))


def assignment_failed(plan: AssignmentStorage, error: ErrorCode, step: Step) -> None:
    """The plan could not be written: everyone who waits hears it, and the group starts over."""
    group = plan.group
    if group.state is not COMPLETING_REBALANCE or group.generation_id != plan.generation_id:
        return
    said = WRITE_ERRORS.get(error, error)
    answer_syncs_with_error(group, said, step)
    rebalance_or_try_complete(group, f"storing the assignment failed with {error.name}", step)


def on_sync_timer(group: Group, timer: SyncTimer, step: Step) -> None:
    """Drop the members of this generation that never asked for their assignment."""
    if timer.generation_id != group.generation_id:
        return
    if group.state not in (COMPLETING_REBALANCE, STABLE) or not group.pending_syncs:
        return
    late = tuple(group.pending_syncs)
    leader_before = group.leader_id
    dropped = [group.members[member_id] for member_id in late if member_id in group.members]
    group.remove(*late)
    for member in dropped:
        step.cancel_timer(member.session_timer)
        step.tell(EventKind.MEMBER_REMOVED, group, member=member, detail="it never synced")
    step.tell_new_leader(group, leader_before, "the leader never synced")
    # A static member that was replaced before it synced left its old id here: Kafka rebalances
    # for this ghost although everyone has synced.
    prepare_rebalance(group, f"the time to sync ran out for {', '.join(late)}", step)


def _share(group: Group, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )
