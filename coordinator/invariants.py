"""What must hold after every step, one named function each.

Each takes a machine and raises `BrokenInvariant` with the facts. They look at what is there now;
what may change over time (generations, moves) needs the machine as it was before as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import define, field

from coordinator.errors import CoordinatorError
from coordinator.events import Event, EventKind
from coordinator.group import Group
from coordinator.machine import GroupCoordinator
from coordinator.shard import Shard
from coordinator.states import (
    COMPLETING_REBALANCE,
    EMPTY,
    MOVES,
    PREPARING_REBALANCE,
    STABLE,
    GroupState,
)
from coordinator.timers import JoinTimer, SyncTimer
from coordinator.writes import AssignmentStorage, StaticReturn


class BrokenInvariant(CoordinatorError):
    """Something that must always hold does not; the message says for which group."""


def _shards(machine: GroupCoordinator) -> Iterator[Shard]:
    return (slot.shard for slot in machine.slots.values() if slot.shard is not None)


def _groups(machine: GroupCoordinator) -> Iterator[tuple[Shard, Group]]:
    for shard in _shards(machine):
        for group in shard.groups.values():
            yield shard, group


def _require(holds: bool, group: Group, what: str) -> None:  # noqa: FBT001 (the question itself)
    if not holds:
        raise BrokenInvariant(f"group {group.group_id!r} in {group.state.value}: {what}")


def the_leader_is_a_member(machine: GroupCoordinator) -> None:
    """A group with members has one leader, who is one of them; one without has none."""
    for _, group in _groups(machine):
        if group.members:
            _require(
                group.leader_id in group.members, group, f"leader {group.leader_id!r} is not in"
            )
        else:
            _require(group.leader_id is None, group, f"leader {group.leader_id!r} of nobody")


def an_empty_group_has_no_members(machine: GroupCoordinator) -> None:
    """Empty and nobody there go together; only a rebalance may be caught with nobody in it."""
    for _, group in _groups(machine):
        if group.state is EMPTY:
            _require(not group.members, group, f"has {len(group.members)} members")
        elif group.state in (COMPLETING_REBALANCE, STABLE):
            _require(bool(group.members), group, "has no members")


def parked_requests_are_counted(machine: GroupCoordinator) -> None:
    """The count of parked joins is the number of parked joins."""
    for _, group in _groups(machine):
        parked = sum(member.awaiting_join is not None for member in group.members.values())
        _require(
            parked == group.awaiting_join_count,
            group,
            f"{parked} joins are parked, {group.awaiting_join_count} are counted",
        )


def protocols_are_counted(machine: GroupCoordinator) -> None:
    """Each protocol's count is the number of times that members list it."""
    for _, group in _groups(machine):
        counts: dict[str, int] = {}
        for member in group.members.values():
            for protocol in member.protocols:
                counts[protocol.name] = counts.get(protocol.name, 0) + 1
        kept = {name: count for name, count in group.supported_protocols.items() if count}
        _require(kept == counts, group, f"supports {kept}, members list {counts}")


def instances_name_their_members(machine: GroupCoordinator) -> None:
    """Each instance id stands for the member that carries it, and for no other."""
    for _, group in _groups(machine):
        carried = {
            member.group_instance_id: member_id
            for member_id, member in group.members.items()
            if member.group_instance_id is not None
        }
        _require(
            carried == group.static_members,
            group,
            f"instances {group.static_members}, members carry {carried}",
        )


def pending_ids_are_not_members(machine: GroupCoordinator) -> None:
    """An id that was handed out is either still pending or a member, never both."""
    for _, group in _groups(machine):
        both = [each for each in group.pending_joins if each in group.members]
        _require(not both, group, f"{both} are members and pending")


def syncs_are_parked_only_while_a_plan_is_awaited(machine: GroupCoordinator) -> None:
    """Nobody waits for an assignment outside CompletingRebalance."""
    for _, group in _groups(machine):
        if group.state is not COMPLETING_REBALANCE:
            waiting = [m for m, member in group.members.items() if member.awaiting_sync is not None]
            _require(not waiting, group, f"{waiting} wait for an assignment")


def every_parked_join_can_be_answered(machine: GroupCoordinator) -> None:
    """Whoever waits for the end of a join phase has something that will end it.

    That is the join timer, or the write of a static member's return.
    """
    for shard, group in _groups(machine):
        waiting = [m for m, member in group.members.items() if member.awaiting_join is not None]
        if not waiting:
            continue
        returning = {
            operation.then.member.member_id
            for operation in shard.waiting.operations
            if isinstance(operation.then, StaticReturn) and operation.then.group is group
        }
        if group.state is PREPARING_REBALANCE:
            _require(
                JoinTimer(group.group_id) in shard.timers,
                group,
                f"nothing ends the wait of {waiting}",
            )
        else:
            _require(set(waiting) <= returning, group, f"nothing answers the joins of {waiting}")


def every_parked_sync_can_be_answered(machine: GroupCoordinator) -> None:
    """Whoever waits for an assignment has something that will bring it, or an end to the wait.

    That is the write of the plan, the sync timer while someone has yet to sync, or the session of
    a leader that has not spoken (it does not beat while it waits, so it is awaited or it expires).
    """
    for shard, group in _groups(machine):
        waiting = [m for m, member in group.members.items() if member.awaiting_sync is not None]
        if group.state is not COMPLETING_REBALANCE or not waiting:
            continue
        is_being_written = any(
            isinstance(operation.then, AssignmentStorage) and operation.then.group is group
            for operation in shard.waiting.operations
        )
        _require(
            is_being_written or SyncTimer(group.group_id) in shard.timers,
            group,
            f"nothing answers the syncs of {waiting}",
        )


def every_member_is_watched(machine: GroupCoordinator) -> None:
    """A member without a session timer is one that waits for us (Kafka excuses it until then)."""
    for shard, group in _groups(machine):
        for member in group.members.values():
            _require(
                member.session_timer in shard.timers or member.is_excused,
                group,
                f"nobody watches {member.member_id}",
            )


#: These hold always.
SOUND: tuple[Callable[[GroupCoordinator], None], ...] = (
    the_leader_is_a_member,
    an_empty_group_has_no_members,
    parked_requests_are_counted,
    protocols_are_counted,
    instances_name_their_members,
    pending_ids_are_not_members,
    syncs_are_parked_only_while_a_plan_is_awaited,
    every_member_is_watched,
)

#: These hold until an operation fails inside, for Kafka then leaves members parked for good.
ANSWERABLE: tuple[Callable[[GroupCoordinator], None], ...] = (
    every_parked_join_can_be_answered,
    every_parked_sync_can_be_answered,
)


def check_all(machine: GroupCoordinator, *, had_fault: bool = False) -> None:
    """All of them; after an `InternalFault` only those that Kafka keeps even then."""
    for invariant in SOUND if had_fault else SOUND + ANSWERABLE:
        invariant(machine)


# --- what must hold from one step to the next ---


@define
class Watch:
    """Follows the groups of a machine by its events: legal moves, generations that never fall.

    A group's life ends when it is removed, unloaded, or dropped by a failed write.
    """

    #: Has an operation failed inside, as Kafka's own would?
    had_fault: bool = False
    states: dict[str, GroupState] = field(factory=dict)
    generations: dict[str, int] = field(factory=dict)

    def see(self, events: Iterable[Event], machine: GroupCoordinator) -> None:
        """Take in what one step told."""
        for event in events:
            self.had_fault |= event.kind is EventKind.INTERNAL_FAULT
            if event.group_id is not None:
                self._see_group(event, event.group_id)
            elif event.kind in (EventKind.WRITE_FAILED, EventKind.SHARD_UNLOADED):
                alive = {group.group_id for _, group in _groups(machine)}
                for group_id in set(self.states) - alive:
                    self._forget(group_id)

    def _see_group(self, event: Event, group_id: str) -> None:
        if event.kind in (EventKind.GROUP_CREATED, EventKind.GROUP_LOADED):
            self._forget(group_id)
            self.states[group_id] = GroupState(event.state)
        elif event.kind is EventKind.STATE_CHANGED:
            self._moves_are_legal(group_id, GroupState(event.state))
        elif event.kind is EventKind.OFFSET_COMMITTED:
            self._commits_are_of_the_current_generation(event, group_id)
            return
        elif event.kind is EventKind.GROUP_REMOVED:
            self._forget(group_id)
            return
        if event.generation_id is not None:
            self._generations_never_fall(group_id, event.generation_id)

    def _moves_are_legal(self, group_id: str, target: GroupState) -> None:
        source = self.states.get(group_id)
        if source is not None and target not in MOVES[source]:
            raise BrokenInvariant(f"{group_id!r} moved from {source.value} to {target.value}")
        self.states[group_id] = target

    def _generations_never_fall(self, group_id: str, generation_id: int) -> None:
        before = self.generations.get(group_id, generation_id)
        if generation_id < before:
            raise BrokenInvariant(f"{group_id!r} fell from generation {before} to {generation_id}")
        self.generations[group_id] = generation_id

    def _commits_are_of_the_current_generation(self, event: Event, group_id: str) -> None:
        current = self.generations.get(group_id)
        if event.generation_id is None or event.generation_id < 0 or current is None:
            return
        if self.had_fault:
            return  # a join phase that failed inside has counted a generation without a word
        if event.generation_id != current:
            raise BrokenInvariant(
                f"{group_id!r} took a commit of generation {event.generation_id} in {current}"
            )

    def _forget(self, group_id: str) -> None:
        self.states.pop(group_id, None)
        self.generations.pop(group_id, None)
