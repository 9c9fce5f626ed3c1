"""A step in the making: handlers put down here what is to be appended, answered, timed and told.

It also knows how an answer looks on the wire in the version that was asked, so that handlers
need not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import define, evolve

from coordinator.errors import ErrorCode, InternalFault
from coordinator.events import Event, EventKind
from coordinator.outcome import Reply
from coordinator.protocol import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupResponse,
    Request,
    Response,
)
from coordinator.states import GroupState
from coordinator.timers import CancelTimer, SetTimer, Timer, TimerChange

if TYPE_CHECKING:
    from coordinator.group import Group
    from coordinator.member import Member
    from coordinator.records import Record
    from coordinator.shard import Shard
    from coordinator.writes import Continuation

#: The states' words on the wire; an enum takes its time to tell them.
_WORDS = {state: state.value for state in GroupState}

_NULLABLE_PROTOCOL_NAME_SINCE = 7
_BATCHED_LEAVE_SINCE = 3


@define(eq=False, init=False)
class Step:
    """One operation on one shard at one instant."""

    shard: Shard
    now_ms: int
    records: list[Record]
    #: What is to happen when the records are written, or could not be.
    then: Continuation | None
    replies: list[Reply]
    timers: list[TimerChange]
    events: list[Event]

    def __init__(self, shard: Shard, now_ms: int) -> None:
        # By hand: every heartbeat makes one of these, and literals beat factories.
        self.shard = shard
        self.now_ms = now_ms
        self.records = []
        self.then = None
        self.replies = []
        self.timers = []
        self.events = []

    def reply(self, request: Request, response: Response) -> None:
        """Answer now. A request that a failed write has answered already is not answered twice."""
        shard = self.shard
        if shard.answered_early and request.request_id in shard.answered_early:
            shard.answered_early.remove(request.request_id)
            return
        if shard.unanswered:
            shard.unanswered.discard(request.request_id)
        in_version = _ON_THE_WIRE.get(type(response))
        if in_version is not None:
            response = in_version(request, response)
        # A `Reply`, without the call of its class.
        self.replies.append(tuple.__new__(Reply, (request.request_id, response)))

    def set_timer(self, timer: Timer, after_ms: int) -> None:
        """Ask to be woken; a delay below nothing is no delay."""
        change = SetTimer(timer, self.now_ms + after_ms if after_ms > 0 else self.now_ms)
        self.shard.timers[timer] = change
        self.timers.append(change)

    def cancel_timer(self, timer: Timer) -> None:
        """Ask not to be woken, if that was asked for."""
        if self.shard.timers.pop(timer, None) is not None:
            self.timers.append(CancelTimer(timer))

    def keep_session(self, member: Member) -> None:
        """The member has given a sign of life: its session starts anew."""
        # `set_timer` once more, without the calls: this runs for every heartbeat.
        timer = member.session_timer
        change = tuple.__new__(SetTimer, (timer, self.now_ms + member.session_timeout_ms))
        self.shard.timers[timer] = change
        self.timers.append(change)

    def tell(  # noqa: PLR0913 (a fact has many sides, all of them named)
        self,
        kind: EventKind,
        group: Group,
        *,
        member: Member | None = None,
        member_id: str | None = None,
        count: int | None = None,
        error: ErrorCode | None = None,
        detail: str | None = None,
    ) -> None:
        """Note a fact about a group or one of its members."""
        self.events.append(
            Event(
                kind=kind,
                group_id=group.group_id,
                member_id=member_id if member is None else member.member_id,
                group_instance_id=None if member is None else member.group_instance_id,
                generation_id=group.generation_id,
                state=_WORDS[group.state],
                protocol_name=group.protocol_name,
                count=count,
                error=error,
                detail=detail,
            )
        )

    def tell_new_leader(self, group: Group, before: str | None, why: str) -> None:
        """Note who leads now, if that has changed and anyone does."""
        if group.leader_id is not None and group.leader_id != before:
            leader = group.members[group.leader_id]
            self.tell(EventKind.LEADER_ELECTED, group, member=leader, detail=why)

    def note_fault(self, fault: InternalFault) -> None:
        """Kafka fails here: what was done stays, what was to be written is lost."""
        self.records.clear()
        self.then = None
        self.events.append(Event(kind=EventKind.INTERNAL_FAULT, detail=str(fault)))

    def move(self, group: Group, target: GroupState, reason: str) -> None:
        """Move a group, and say so."""
        group.move_to(target, self.now_ms)
        self.tell(EventKind.STATE_CHANGED, group, count=len(group.members), detail=reason)


def _join_on_the_wire(request: Request, response: JoinGroupResponse) -> JoinGroupResponse:
    """Null and "" both mean "no protocol"; each version can say only one of them."""
    absent = None if request.api_version >= _NULLABLE_PROTOCOL_NAME_SINCE else ""
    if response.protocol_name or response.protocol_name == absent:
        return response
    return evolve(response, protocol_name=absent)


def _leave_on_the_wire(request: Request, response: LeaveGroupResponse) -> LeaveGroupResponse:
    """Before there were batches, the only member's error stood on top."""
    if request.api_version >= _BATCHED_LEAVE_SINCE or not response.members:
        return response
    return LeaveGroupResponse(error_code=response.members[0].error_code)


#: Replies whose form depends on the version that was asked.
_ON_THE_WIRE: Mapping[type[Response], Callable[..., Response]] = {
    JoinGroupResponse: _join_on_the_wire,
    LeaveGroupResponse: _leave_on_the_wire,
}


def reply_to(request: Request, response: Response) -> Reply:
    """The reply, in the form that the asker's version knows."""
    in_version = _ON_THE_WIRE.get(type(response))
    if in_version is not None:
        response = in_version(request, response)
    return Reply(request.request_id, response)


def effective_rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """Version 0 has no rebalance timeout; the session timeout stands in for it."""
    return request.session_timeout_ms if request.api_version == 0 else request.rebalance_timeout_ms
