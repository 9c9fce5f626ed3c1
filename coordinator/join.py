"""JoinGroup: who may come in, under which id, and whether that disturbs the group."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator.errors import ErrorCode, InternalFault
from coordinator.events import EventKind
from coordinator.group import Group
from coordinator.member import Member
from coordinator.protocol import (
    UNKNOWN_MEMBER_ID,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupResponse,
)
from coordinator.rebalance import (
    generation_answer,
    prepare_rebalance,
    rebalance_or_try_complete,
    try_complete_join,
)
from coordinator.records import GroupMetadata, GroupRecord
from coordinator.shard import Shard
from coordinator.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    NOBODY_THERE,
    PREPARING_REBALANCE,
    REJOIN_CHANGED,
    REJOIN_UNCHANGED,
    STABLE,
    WRITE_ERRORS,
    Rejoin,
)
from coordinator.step import Step, effective_rebalance_timeout_ms
from coordinator.timers import SessionTimer
from coordinator.writes import GroupCreation, StaticReturn

_MEMBER_ID_REQUIRED_SINCE = 4
_SKIP_ASSIGNMENT_SINCE = 9

#: What a rejoin hears in a state in which nobody can be a member.
_REFUSED_BY_STATE: Mapping[Rejoin, ErrorCode] = {
    Rejoin.UNKNOWN_MEMBER_ID: ErrorCode.UNKNOWN_MEMBER_ID,
    Rejoin.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


def join_group(shard: Shard, request: JoinGroupRequest, step: Step) -> None:
    """Admit, park or refuse a joining member; an absent group is made for one without an id."""
    assert request.group_id is not None
    group = shard.groups.get(request.group_id)
    is_new_group = group is None
    if group is None:
        if request.member_id != UNKNOWN_MEMBER_ID:
            _refuse(request, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id, step)
            return
        group = shard.create_group(request.group_id, step.now_ms)
        step.tell(EventKind.GROUP_CREATED, group)

    if not is_accepted(group, request.member_id, shard.config.group_max_size):
        _evict(group, request, step)
    elif request.member_id == UNKNOWN_MEMBER_ID:
        _join_new(group, request, step)
    else:
        _join_known(group, request, step)

    if is_new_group and not step.records:
        # Something must stand behind the new group, even if the join itself was refused.
        since_ms = -1 if group.state_since_ms is None else group.state_since_ms
        value = GroupMetadata(
            protocol_type="", generation_id=0, current_state_timestamp_ms=since_ms
        )
        step.records.append(GroupRecord(group_id=group.group_id, value=value))
        step.then = GroupCreation(group=group, request=request)


def is_accepted(group: Group, member_id: str, max_size: int) -> bool:
    """Is there room? While joins are gathered, those who wait count, not those who were members."""
    if group.state in NOBODY_THERE:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING_REBALANCE:
        is_waiting = member is not None and member.awaiting_join is not None
        return is_waiting or group.awaiting_join_count < max_size
    return member is not None or len(group.members) < max_size


def _evict(group: Group, request: JoinGroupRequest, step: Step) -> None:
    """Refuse for want of room. A member that came back too late loses its place.

    Nobody looks whether the join phase could end now (Kafka does not either).
    """
    member = group.members.get(request.member_id)
    leader_before = group.leader_id
    group.remove(request.member_id)
    if member is not None:
        step.tell(EventKind.MEMBER_REMOVED, group, member=member, detail="the group is full")
    step.tell_new_leader(group, leader_before, "the leader was evicted")
    _refuse(request, ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, step)


def _join_new(group: Group, request: JoinGroupRequest, step: Step) -> None:
    """A join without a member id: a new member, or a static one that comes back."""
    if group.state is DEAD:
        _refuse(request, ErrorCode.COORDINATOR_NOT_AVAILABLE, UNKNOWN_MEMBER_ID, step)
        return
    if not group.supports(request.protocol_type, request.protocols):
        _refuse(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, step)
        return
    instance_id = request.group_instance_id
    new_id = step.shard.ids.next_id(request.client_id if instance_id is None else instance_id)
    if instance_id is not None and instance_id in group.static_members:
        _replace(group, group.static_members[instance_id], new_id, request, step)
    elif instance_id is None and request.api_version >= _MEMBER_ID_REQUIRED_SINCE:
        group.pending_joins[new_id] = None
        step.set_timer(SessionTimer(group.group_id, new_id), request.session_timeout_ms)
        step.tell(EventKind.MEMBER_ID_GIVEN, group, member_id=new_id)
        _refuse(request, ErrorCode.MEMBER_ID_REQUIRED, new_id, step)
    else:
        _add(group, new_id, request, step)


def _join_known(group: Group, request: JoinGroupRequest, step: Step) -> None:
    """A join with a member id: one that was just handed out, or a member's return."""
    member_id = request.member_id
    refusal = _REFUSED_BY_STATE.get(REJOIN_CHANGED[group.state])
    if refusal is not None and group.state is DEAD:
        _refuse(request, refusal, member_id, step)
        return
    if not group.supports(request.protocol_type, request.protocols):
        _refuse(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id, step)
        return
    if member_id in group.pending_joins:
        if request.group_instance_id is not None:
            raise InternalFault(f"pending member {member_id} joined with an instance id")
        _add(group, member_id, request, step)
        return
    refusal = refusal or group.refusal_of(member_id, request.group_instance_id)
    if refusal is not None:
        _refuse(request, refusal, member_id, step)
        return
    _rejoin(group, group.members[member_id], request, step)


def _rejoin(group: Group, member: Member, request: JoinGroupRequest, step: Step) -> None:
    """A member joins again: the tables say whether that means anything."""
    is_leader = group.is_leader(member.member_id)
    is_changed = member.protocols != request.protocols
    if is_changed:
        what = REJOIN_CHANGED[group.state]
    else:
        as_leader, as_follower = REJOIN_UNCHANGED[group.state]
        what = as_leader if is_leader else as_follower

    if what is Rejoin.CURRENT_GENERATION:
        # Whatever else the request says (timeouts, client id) is not stored.
        shows_members = is_leader and group.state is COMPLETING_REBALANCE
        members = group.member_list() if shows_members else ()
        step.reply(request, generation_answer(group, member, members))
        return
    _store(group, member, request)
    step.tell(EventKind.MEMBER_REJOINED, group, member=member)
    if what is Rejoin.REBALANCE:
        why = (
            f"leader {member.member_id} rejoined"
            if is_leader and group.state is STABLE
            else f"member {member.member_id} joined with new metadata"
        )
        prepare_rebalance(group, _with_client_reason(why, request), step)
    else:
        try_complete_join(group, step)


def _add(group: Group, member_id: str, request: JoinGroupRequest, step: Step) -> None:
    """Take in a new member; until its first join phase ends it has five minutes, not a session."""
    member = Member(
        group_id=group.group_id,
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=effective_rebalance_timeout_ms(request),
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=request.protocols,
        is_new=True,
        awaiting_join=request,
    )
    if group.is_initial_rebalance:
        group.new_member_added = True
    had_leader = group.leader_id is not None
    group.add(member)
    step.set_timer(member.session_timer, step.shard.config.new_member_join_timeout_ms)
    step.tell(EventKind.MEMBER_ADDED, group, member=member, count=len(group.members))
    if not had_leader:
        step.tell(EventKind.LEADER_ELECTED, group, member=member, detail="the first member")
    rebalance_or_try_complete(
        group, _with_client_reason(f"member {member_id} joined", request), step
    )


def _replace(group: Group, old_id: str, new_id: str, request: JoinGroupRequest, step: Step) -> None:
    """A static member is back: it takes its old self's place under a new id (KIP-345)."""
    if group.state in (EMPTY, DEAD):
        raise InternalFault(f"static member {old_id} in a group that is {group.state.value}")
    old_leader_id = group.leader_id
    member = replace_member(group, old_id, new_id, step)
    step.keep_session(member)  # with the old session timeout; the new one counts from the next time
    undo = StaticReturn(
        group=group,
        member=member,
        old_member_id=old_id,
        old_leader_id=old_leader_id,
        old_protocols=member.protocols,
        old_rebalance_timeout_ms=member.rebalance_timeout_ms,
        old_session_timeout_ms=member.session_timeout_ms,
        request=request,
    )
    _store(group, member, request)

    if group.state is STABLE and group.select_protocol() == group.protocol_name:
        assignments = {m.member_id: m.assignment for m in group.members.values()}
        record = GroupRecord(group_id=group.group_id, value=group.to_metadata(assignments))
        step.records.append(record)
        step.then = undo
        return
    step.tell(EventKind.MEMBER_REJOINED, group, member=member)
    if group.state is STABLE:
        why = f"static member {new_id} changes the selected protocol"
        rebalance_or_try_complete(group, _with_client_reason(why, request), step)
    elif group.state is COMPLETING_REBALANCE:
        # The leader may be assigning to the old id at this moment.
        why = f"static member {new_id} replaced {old_id}"
        prepare_rebalance(group, _with_client_reason(why, request), step)
    else:
        try_complete_join(group, step)


def replace_member(group: Group, old_id: str, new_id: str, step: Step) -> Member:
    """Put a new id in an old one's place; whoever waits under the old one is fenced."""
    old = group.members[old_id]
    parked_join = group.release_join(old)
    if parked_join is not None:
        _refuse(parked_join, ErrorCode.FENCED_INSTANCE_ID, old_id, step)
    if old.awaiting_sync is not None:
        parked_sync, old.awaiting_sync = old.awaiting_sync, None
        step.reply(parked_sync, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
    member = group.replace_static_member(old_id, new_id)
    step.tell(EventKind.MEMBER_REPLACED, group, member=member, detail=f"it replaced {old_id}")
    return member


def static_return_written(undo: StaticReturn, step: Step) -> None:
    """The new id is written: the member goes on in the same generation, without a rebalance."""
    group, member = undo.group, undo.member
    is_leader = group.is_leader(member.member_id)
    is_new = undo.request.api_version >= _SKIP_ASSIGNMENT_SINCE
    if is_new and is_leader and group.state in (PREPARING_REBALANCE, DEAD):
        return  # Kafka fails inside over the member list; the rebalance will answer the join
    request = group.release_join(member)
    if request is None:
        return
    if is_new:
        response = JoinGroupResponse(
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=group.leader_id or "",
            skip_assignment=is_leader,
            member_id=member.member_id,
            members=group.member_list() if is_leader else (),
        )
    else:
        # Older clients are told the old leader: one that led believes it follows and only syncs.
        response = JoinGroupResponse(
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=undo.old_leader_id or "",
            member_id=member.member_id,
        )
    step.reply(request, response)


def static_return_failed(undo: StaticReturn, error: ErrorCode, step: Step) -> None:
    """The new id could not be written: the old one is put back, and the newcomer told why."""
    group, member = undo.group, undo.member
    holder = group.members.get(member.member_id)
    if holder is None:
        return  # replaced once more meanwhile; its join has been answered with that
    group.update(
        holder,
        protocols=undo.old_protocols,
        rebalance_timeout_ms=undo.old_rebalance_timeout_ms,
        session_timeout_ms=undo.old_session_timeout_ms,
        awaiting_join=None,
    )
    old = replace_member(group, member.member_id, undo.old_member_id, step)
    step.keep_session(old)
    if undo.request.request_id not in step.shard.unanswered:
        return  # a rebalance has answered it meanwhile
    step.reply(
        undo.request,
        JoinGroupResponse(
            error_code=WRITE_ERRORS.get(error, error),
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=undo.old_leader_id or "",
        ),
    )


def _store(group: Group, member: Member, request: JoinGroupRequest) -> None:
    """Keep what the request says and park it; an earlier parked one is never answered."""
    group.update(
        member,
        protocols=request.protocols,
        rebalance_timeout_ms=effective_rebalance_timeout_ms(request),
        session_timeout_ms=request.session_timeout_ms,
        awaiting_join=request,
    )


def _refuse(request: JoinGroupRequest, error: ErrorCode, member_id: str, step: Step) -> None:
    step.reply(request, JoinGroupResponse(error_code=error, member_id=member_id))


def _with_client_reason(why: str, request: JoinGroupRequest) -> str:
    """Kafka's log adds what the client said of itself (KIP-800); so does our record."""
    return f"{why}; client reason: {request.reason or 'not provided'}"
