"""The join phase: how a rebalance starts, whom it waits for, how it ends.

Called by whatever disturbs a group (join.py, sync.py, leave.py, heartbeat.py) and by its timer.
"""

from __future__ import annotations

from coordinator.errors import ErrorCode, InternalFault
from coordinator.events import EventKind
from coordinator.group import Group, most_voted
from coordinator.java_order import JavaHashMap
from coordinator.member import Member
from coordinator.protocol import JoinGroupResponse, JoinGroupResponseMember, SyncGroupResponse
from coordinator.records import GroupRecord
from coordinator.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
)
from coordinator.step import Step
from coordinator.timers import InitialDelay, JoinTimer, SyncTimer


def rebalance_or_try_complete(group: Group, reason: str, step: Step) -> None:
    """Start a rebalance; if one waits for joins already, see whether it can end."""
    if group.can_rebalance:
        prepare_rebalance(group, reason, step)
    else:
        try_complete_join(group, step)


def prepare_rebalance(group: Group, reason: str, step: Step) -> None:
    """Call everyone back to join; from Empty, wait a while for the first ones to gather."""
    if group.state is COMPLETING_REBALANCE:
        answer_syncs_with_error(group, ErrorCode.REBALANCE_IN_PROGRESS, step)
    group.pending_syncs.clear()
    step.cancel_timer(SyncTimer(group.group_id))

    is_initial = group.state is EMPTY
    step.move(group, PREPARING_REBALANCE, reason)
    if is_initial:
        delay_ms = step.shard.config.group_initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        timer = JoinTimer(group.group_id, InitialDelay(delay_ms, remaining_ms))
        step.set_timer(timer, delay_ms)
    elif group.has_all_joined:
        complete_join(group, "everyone has joined", step)
    else:
        # Fixed here: whoever joins later does not prolong it.
        step.set_timer(JoinTimer(group.group_id), group.rebalance_timeout_ms)


def try_complete_join(group: Group, step: Step) -> None:
    """End the join phase if all are there; an initial one waits for its timer in any case."""
    if group.state is not PREPARING_REBALANCE or group.is_initial_rebalance:
        return
    if group.has_all_joined:
        complete_join(group, "everyone has joined", step)


def on_join_timer(group: Group, timer: JoinTimer, step: Step) -> None:
    """The wait for joins is over, unless an initial one is prolonged for a newcomer."""
    initial = timer.initial
    if initial is not None and group.new_member_added and initial.remaining_ms != 0:
        group.new_member_added = False
        delay_ms = min(step.shard.config.group_initial_rebalance_delay_ms, initial.remaining_ms)
        remaining_ms = max(initial.remaining_ms - initial.delay_ms, 0)
        step.set_timer(JoinTimer(group.group_id, InitialDelay(delay_ms, remaining_ms)), delay_ms)
        step.tell(
            EventKind.JOIN_PHASE_EXTENDED,
            group,
            count=len(group.members),
            detail=f"by {delay_ms} ms, for a member joined during the initial delay",
        )
        return
    reason = (
        "the rebalance timeout was reached" if initial is None else "the initial delay was over"
    )
    complete_join(group, reason, step)


def complete_join(group: Group, reason: str, step: Step) -> None:
    """End the join phase: drop who did not come, find a leader, begin the next generation."""
    step.cancel_timer(JoinTimer(group.group_id))
    awaited = [m for m in group.members.values() if m.awaiting_join is None]
    missing = [member for member in awaited if not member.is_static]
    leader_before = group.leader_id
    group.remove(*(member.member_id for member in missing))
    for member in missing:
        step.cancel_timer(member.session_timer)
        step.tell(
            EventKind.MEMBER_REMOVED, group, member=member, detail="it did not rejoin in time"
        )
    if group.state is DEAD:
        return
    has_leader = elect_joined_leader(group)
    step.tell_new_leader(group, leader_before, "the leader did not rejoin")
    if not has_leader and group.members:
        # Static members only, and none came back: wait until one does or their sessions end. A
        # rebalance timeout of nothing would ask again at this very instant, for ever.
        step.set_timer(JoinTimer(group.group_id), max(group.rebalance_timeout_ms, 1))
        step.tell(
            EventKind.JOIN_PHASE_EXTENDED,
            group,
            count=len(group.members),
            detail="only static members are left and none of them has rejoined",
        )
        return
    waited_for = ", ".join([member.member_id for member in awaited] + list(group.pending_joins))
    ending = f"{reason}; still awaited: {waited_for}" if waited_for else reason
    begin_next_generation(group, step, ending)


def elect_joined_leader(group: Group) -> bool:
    """Keep a leader who has joined, else take the first member that has; False if nobody has."""
    if group.leader_id is None:
        return False
    if group.members[group.leader_id].awaiting_join is not None:
        return True
    for member in group.members.values():
        if member.awaiting_join is not None:
            group.leader_id = member.member_id
            return True
    return False


def begin_next_generation(group: Group, step: Step, ending: str) -> None:
    """Count up, choose a protocol, answer the joins; a group without members becomes Empty."""
    group.generation_id = next_int(group.generation_id)
    # The count and the vote stay if something fails on the way, as in Kafka.
    votes = group.votes()
    group.protocol_name = most_voted(votes) if group.members else None
    group.recompute_subscribed_topics()
    if group.state is not PREPARING_REBALANCE:
        # A timer of a group that a failed write has dropped found another one under its id.
        raise InternalFault(f"group {group.group_id} ended a join phase in {group.state.value}")
    step.tell(EventKind.JOIN_PHASE_ENDED, group, count=len(group.members), detail=ending)
    if not group.members:
        step.move(group, EMPTY, "no members are left")
        group.pending_syncs.clear()
        step.records.append(GroupRecord(group_id=group.group_id, value=group.to_metadata({})))
        return
    tell_votes(group, votes, step)
    step.move(group, COMPLETING_REBALANCE, ending)
    group.pending_syncs.clear()
    pending = group.pending_syncs
    for member in group.members.values():
        answer_join(group, member, step)
        step.keep_session(member)
        member.is_new = False
        pending[member.member_id] = None
    step.set_timer(SyncTimer(group.group_id, group.generation_id), group.rebalance_timeout_ms)


def tell_votes(group: Group, votes: JavaHashMap[list[str]], step: Step) -> None:
    """Say which protocol was chosen, and by whose votes."""
    step.tell(
        EventKind.PROTOCOL_SELECTED,
        group,
        count=len(votes[group.protocol_name or ""]),
        detail="; ".join(f"{name}: {', '.join(votes[name])}" for name in votes),
    )


def answer_join(group: Group, member: Member, step: Step) -> None:
    """Tell a member that waits which generation it is in; the leader also gets the list."""
    request = group.release_join(member)
    if request is not None:
        is_leader = group.leader_id == member.member_id
        step.reply(
            request, generation_answer(group, member, group.member_list() if is_leader else ())
        )


def generation_answer(
    group: Group, member: Member, members: tuple[JoinGroupResponseMember, ...]
) -> JoinGroupResponse:
    """The current generation, as a member hears of it."""
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=members,
    )


def answer_syncs_with_error(group: Group, error: ErrorCode, step: Step) -> None:
    """The plan is void: blank all assignments, send who waits away, restart their sessions."""
    for member in group.members.values():
        member.assignment = b""
    for member in group.members.values():
        answer_sync(member, SyncGroupResponse(error_code=error), step)


def answer_sync(member: Member, response: SyncGroupResponse, step: Step) -> None:
    """Answer a member that waits for its assignment; its session starts anew."""
    request = member.awaiting_sync
    if request is not None:
        member.awaiting_sync = None
        step.reply(request, response)
        step.keep_session(member)


def next_int(number: int) -> int:
    """One more, in Java's 32 bits: after the greatest comes the least."""
    return -(1 << 31) if number == (1 << 31) - 1 else number + 1
