"""LeaveGroup: members and handed-out ids that go, one rebalance for all of them."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.errors import ErrorCode
from coordinator.events import EventKind
from coordinator.group import Group
from coordinator.heartbeat import dismiss
from coordinator.protocol import (
    UNKNOWN_MEMBER_ID,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from coordinator.rebalance import rebalance_or_try_complete
from coordinator.shard import Shard
from coordinator.states import DEAD, EMPTY
from coordinator.step import Step
from coordinator.timers import SessionTimer


def leave_group(shard: Shard, request: LeaveGroupRequest, step: Step) -> LeaveGroupResponse | None:
    """Let everyone go who may; each entry sees what the earlier ones did."""
    assert request.group_id is not None
    group = shard.groups.get(request.group_id)
    if group is None:
        step.reply(request, nobody_known(request))
        return None
    if group.state is DEAD:
        return LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    rows = tuple(_leave(group, identity, step) for identity in request.members)
    gone = [row for row in rows if row.error_code is ErrorCode.NONE]
    if gone and group.state is not EMPTY:
        names = ", ".join(row.member_id or f"instance {row.group_instance_id}" for row in gone)
        rebalance_or_try_complete(group, f"{names} left{_reasons(request, rows)}", step)
    return LeaveGroupResponse(members=rows)


def nobody_known(request: LeaveGroupRequest) -> LeaveGroupResponse:
    """The answer when there is no such group: nothing wrong on top, nobody known below."""
    return LeaveGroupResponse(
        members=tuple(_row(each, ErrorCode.UNKNOWN_MEMBER_ID) for each in request.members)
    )


def _leave(group: Group, identity: MemberIdentity, step: Step) -> MemberResponse:
    """One entry: by member id, or by instance id whoever holds it."""
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id == UNKNOWN_MEMBER_ID:
        holder = None if instance_id is None else group.static_members.get(instance_id)
        if holder is None:
            return _row(identity, ErrorCode.UNKNOWN_MEMBER_ID)
        member_id = holder
    elif member_id in group.pending_joins:
        group.remove(member_id)
        step.cancel_timer(SessionTimer(group.group_id, member_id))
        step.tell(EventKind.MEMBER_REMOVED, group, member_id=member_id, detail=_why(identity))
        return _row(identity, ErrorCode.NONE)
    else:
        refusal = group.refusal_of(member_id, instance_id)
        if refusal is not None:
            return _row(identity, refusal)
    member = group.members[member_id]
    step.cancel_timer(member.session_timer)
    dismiss(group, member, step, _why(identity))
    return _row(identity, ErrorCode.NONE)


def _row(identity: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        error_code=error,
    )


def _reasons(request: LeaveGroupRequest, rows: Iterable[MemberResponse]) -> str:
    """What those who went said of it, each reason once."""
    said = dict.fromkeys(
        identity.reason
        for identity, row in zip(request.members, rows, strict=True)
        if row.error_code is ErrorCode.NONE and identity.reason
    )
    return f"; client reason: {', '.join(said)}" if said else ""


def _why(identity: MemberIdentity) -> str:
    said = "not provided" if identity.reason is None else identity.reason
    return f"it left; client reason: {said}"
