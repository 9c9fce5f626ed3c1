"""What happens once the log has spoken, or a shard changes hands.

Each operation that waited is settled or fails; a shard that is loaded arms its members' sessions;
one that is given up sends everybody elsewhere.
"""

from __future__ import annotations

from coordinator.errors import ErrorCode, InternalFault
from coordinator.events import Event, EventKind
from coordinator.expiry import on_expiry_timer, set_expiry_timer
from coordinator.gating import arm_write_timer
from coordinator.heartbeat import on_session_timer
from coordinator.join import static_return_failed, static_return_written
from coordinator.protocol import (
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)
from coordinator.rebalance import on_join_timer, prepare_rebalance
from coordinator.refusals import refused, write_failed
from coordinator.shard import Shard
from coordinator.states import (
    COMPLETING_REBALANCE,
    DEAD,
    PREPARING_REBALANCE,
    STABLE,
    WRITE_ERRORS,
)
from coordinator.step import Step
from coordinator.sync import assignment_failed, assignment_written, on_sync_timer
from coordinator.timers import ExpiryTimer, JoinTimer, SessionTimer, Timer, WriteTimer
from coordinator.writes import (
    AssignmentStorage,
    Continuation,
    ExpiryRun,
    GroupCreation,
    Operation,
    StaticReturn,
)


def settle(operation: Operation, step: Step) -> None:
    """What the operation waited for is committed."""
    then, request = operation.then, operation.request
    if then is not None:
        try:
            if isinstance(then, AssignmentStorage):
                assignment_written(then, step)
            elif isinstance(then, StaticReturn):
                static_return_written(then, step)
        except InternalFault as fault:
            step.note_fault(fault)
    if request is None:
        return
    if operation.result is not None:
        step.reply(request, operation.result)
    else:
        step.shard.unanswered.discard(request.request_id)


def fail(operation: Operation, error: ErrorCode, step: Step) -> None:
    """What the operation waited for failed, or took too long."""
    try:
        _undo(operation.then, error, step)
    except InternalFault as fault:
        step.note_fault(fault)
    request = operation.request
    if request is None:
        return
    if operation.result is not None:
        step.reply(request, write_failed(request, error))
    elif request.request_id in step.shard.unanswered:
        answer_early(request, write_failed(request, error), step)


def _undo(then: Continuation | None, error: ErrorCode, step: Step) -> None:
    if isinstance(then, AssignmentStorage):
        assignment_failed(then, error, step)
    elif isinstance(then, StaticReturn):
        static_return_failed(then, error, step)
    elif isinstance(then, GroupCreation):
        if then.request.request_id in step.shard.unanswered:
            response = JoinGroupResponse(error_code=WRITE_ERRORS.get(error, error))
            answer_early(then.request, response, step)
    elif isinstance(then, ExpiryRun):
        set_expiry_timer(step.shard, step)


def answer_fault(request: Request, step: Step) -> None:
    """Tell the caller that the coordinator failed inside; its group may hold the request still."""
    response = refused(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    if _is_parked(step.shard, request):
        answer_early(request, response, step)
    else:
        step.reply(request, response)


def _is_parked(shard: Shard, request: Request) -> bool:
    if not isinstance(request, JoinGroupRequest | SyncGroupRequest):
        return False
    group = shard.groups.get(request.group_id or "")
    return group is not None and any(
        request in (member.awaiting_join, member.awaiting_sync) for member in group.members.values()
    )


def answer_early(request: Request, response: Response, step: Step) -> None:
    """Answer a join or sync that its group may still hold; the group's own answer is dropped.

    The group may even be one that the failed write has taken off the map: what is left of the
    operations on it may still answer its members.
    """
    step.reply(request, response)
    if isinstance(request, JoinGroupRequest | SyncGroupRequest):
        step.shard.answered_early.add(request.request_id)


def fire(shard: Shard, timer: Timer, step: Step) -> None:
    """Act on a timer of a shard; one of a group that is gone finds nothing."""
    if isinstance(timer, WriteTimer):
        for operation in shard.waiting.overdue(step.now_ms):
            fail(operation, ErrorCode.REQUEST_TIMED_OUT, step)
        step.records.clear()  # as after a failed write
        arm_write_timer(step)
        return
    if isinstance(timer, ExpiryTimer):
        on_expiry_timer(shard, step)
        return
    group = shard.groups.get(timer.group_id)
    if group is None:
        return
    if isinstance(timer, SessionTimer):
        on_session_timer(group, timer.member_id, step)
    elif isinstance(timer, JoinTimer):
        on_join_timer(group, timer, step)
    else:
        on_sync_timer(group, timer, step)


def on_loaded(shard: Shard, step: Step) -> None:
    """Everyone gets a full session from now on; a group that is too large is called to order."""
    most = shard.config.group_max_size
    for group_id in sorted(shard.groups):
        group = shard.groups[group_id]
        step.tell(EventKind.GROUP_LOADED, group, count=len(group.members))
        for member in group.members.values():
            step.keep_session(member)
        if len(group.members) > most:
            reason = f"the loaded group has {len(group.members)} members, {most} are allowed"
            prepare_rebalance(group, reason, step)
    step.records.clear()
    set_expiry_timer(shard, step)
    step.events.append(
        Event(kind=EventKind.SHARD_LOADED, partition=shard.index, count=len(shard.groups))
    )


def on_unloaded(shard: Shard, step: Step) -> None:
    """Forget the timers, fail who waits for the log, then dissolve the groups."""
    for timer in tuple(shard.timers):
        step.cancel_timer(timer)
    for operation in shard.waiting.empty():
        fail(operation, ErrorCode.NOT_COORDINATOR, step)
    for group_id in sorted(shard.groups):
        group = shard.groups[group_id]
        step.move(group, DEAD, "the coordinator gave its shard up")
        for member in group.members.values():
            if group.previous_state is PREPARING_REBALANCE:
                parked = group.release_join(member)
                if parked is not None:
                    step.reply(
                        parked,
                        JoinGroupResponse(
                            error_code=ErrorCode.NOT_COORDINATOR, member_id=member.member_id
                        ),
                    )
            elif group.previous_state in (COMPLETING_REBALANCE, STABLE):
                sync, member.awaiting_sync = member.awaiting_sync, None
                if sync is not None:
                    step.reply(sync, SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
    for timer in tuple(shard.timers):
        step.cancel_timer(timer)  # what failing operations set on the way
    step.events.append(Event(kind=EventKind.SHARD_UNLOADED, partition=shard.index))
