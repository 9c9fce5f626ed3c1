"""Ghosts: raw members that abuse the protocol, as plans.

A ghost sends single requests at given times and does not care for the answers. It never beats by
itself, so its group is rid of it once its session is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from attrs import frozen

from client.assignors import Assignment
from client.commits import OFFSET_COMMIT_VERSION
from client.consumer_protocol import encode_assignment
from coordinator.protocol import (
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    SyncGroupRequestAssignment,
)
from simulation.raw_member import RawMember
from simulation.world import Simulation

#: No longer than any consumer's, so that a ghost holds no rebalance longer than they would.
_REBALANCE_TIMEOUT_MS = 10_000


@frozen(kw_only=True)
class GhostPlan:
    """A ghost: in which group, and which of `GHOST_VERBS` it does at which times."""

    name: str
    group: str
    topic: str
    steps: tuple[tuple[int, str], ...]
    protocols: tuple[str, ...] = ("range",)
    session_timeout_ms: int = 6_000


def haunt(sim: Simulation, plan: GhostPlan) -> None:
    """Let a ghost take its steps at their times."""
    ghost = sim.raw_member(plan.name, plan.group)
    for at_ms, verb in plan.steps:
        sim.at(at_ms, partial(_step, ghost, plan, verb))


def _step(ghost: RawMember, plan: GhostPlan, verb: str) -> None:
    """Send it, if there is a coordinator to send it to."""
    coordinator = ghost.stage.coordinator_of(plan.group)
    if coordinator is not None and coordinator.is_up:
        GHOST_VERBS[verb](ghost, plan)


def _join(ghost: RawMember, plan: GhostPlan) -> None:
    ghost.join(
        plan.topic,
        session_timeout_ms=plan.session_timeout_ms,
        rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
        protocols=plan.protocols,
    )


def _sync(ghost: RawMember, _plan: GhostPlan) -> None:
    """Ask for an assignment; as a leader, give nothing to anybody."""
    joined = [reply for reply in ghost.replies if isinstance(reply, JoinGroupResponse)]
    members = joined[-1].members if joined else ()
    nothing = encode_assignment(Assignment())
    ghost.sync(*(SyncGroupRequestAssignment(each.member_id, nothing) for each in members))


def _heartbeat(ghost: RawMember, _plan: GhostPlan) -> None:
    ghost.heartbeat()


def _leave(ghost: RawMember, _plan: GhostPlan) -> None:
    ghost.leave()


def _commit_as_nobody(ghost: RawMember, plan: GhostPlan) -> None:
    """Commit by hand, which only a group without members accepts."""
    ghost.send(_commit(plan, -1, ""))


def _commit_of_long_ago(ghost: RawMember, plan: GhostPlan) -> None:
    """Commit as a member of a generation that is over, if there ever was one."""
    ghost.send(_commit(plan, max(ghost.generation_id - 1, 0), ghost.member_id or "nobody"))


def _commit(plan: GhostPlan, generation_id: int, member_id: str) -> OffsetCommitRequest:
    offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
    return OffsetCommitRequest(
        api_version=OFFSET_COMMIT_VERSION,
        group_id=plan.group,
        generation_id=generation_id,
        member_id=member_id,
        topics=(OffsetCommitRequestTopic(name=plan.topic, partitions=(offset,)),),
    )


def _kick(ghost: RawMember, plan: GhostPlan) -> None:
    """Remove the group's leader, as an administrator would remove a member."""
    group = ghost.stage.group(plan.group)
    if group is not None and group.leader_id is not None:
        members = (MemberIdentity(member_id=group.leader_id, reason="kicked"),)
        ghost.send(LeaveGroupRequest(group_id=plan.group, members=members))


#: What a ghost can do.
GHOST_VERBS: Mapping[str, Callable[[RawMember, GhostPlan], None]] = {
    "join": _join,
    "sync": _sync,
    "heartbeat": _heartbeat,
    "leave": _leave,
    "commit as nobody": _commit_as_nobody,
    "commit of long ago": _commit_of_long_ago,
    "kick": _kick,
}
