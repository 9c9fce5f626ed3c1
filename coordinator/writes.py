"""What a shard remembers while its log has not spoken: writes, who waits for them, what to undo.

Kafka's runtime releases an answer when the shard's log has committed everything up to it, and
takes the group map and the offsets back to the last written state when an append fails. Groups
themselves are not taken back; each continuation undoes what Kafka undoes.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from attrs import define, field, frozen

from coordinator.group import Group
from coordinator.member import Member
from coordinator.protocol import JoinGroupRequest, JoinGroupRequestProtocol, Request, Response
from coordinator.protocol.making import quickly_made
from coordinator.records import OffsetAndMetadata, TopicPartition


@frozen(kw_only=True, eq=False)
class GroupCreation:
    """A join made a group: if the write fails, the join, if it is still open, hears of it."""

    group: Group
    request: JoinGroupRequest


@frozen(kw_only=True, eq=False)
class AssignmentStorage:
    """The leader's plan is being written; then everyone gets a share, or an error."""

    group: Group
    generation_id: int
    leader_id: str
    assignments: dict[str, bytes]


@frozen(kw_only=True, eq=False)
class StaticReturn:
    """A static member is back under a new id without a rebalance; undone if the write fails."""

    group: Group
    member: Member
    old_member_id: str
    old_leader_id: str | None
    old_protocols: tuple[JoinGroupRequestProtocol, ...]
    old_rebalance_timeout_ms: int
    old_session_timeout_ms: int
    request: JoinGroupRequest


@frozen(kw_only=True, eq=False)
class ExpiryRun:
    """Expired offsets are being removed; a failed run is tried again after one interval."""


@frozen(kw_only=True, eq=False)
class Postponement:
    """A request that begins only now; if the wait fails it never does."""


Continuation = GroupCreation | AssignmentStorage | StaticReturn | ExpiryRun | Postponement


@quickly_made
@frozen(kw_only=True, eq=False)
class Operation:
    """Something that waits for the log: what to do then, and the answer that leaves then."""

    #: The write that must be committed first: its own, or the last one before it.
    after: int
    deadline_ms: int
    then: Continuation | None = None
    request: Request | None = None
    result: Response | None = None


@frozen
class GroupChange:
    """The group map had this under the id (None: nothing)."""

    group_id: str
    before: Group | None


class OffsetChange(NamedTuple):
    """The offsets had this under group, topic and partition (None: nothing).

    A tuple with names: one is made for every partition of every commit.
    """

    group_id: str
    topic_partition: TopicPartition
    before: OffsetAndMetadata | None


Change = GroupChange | OffsetChange


@define(eq=False)
class Journal:
    """Changes of the group map and the offsets that no committed write stands behind yet."""

    changes: list[Change] = field(factory=list)
    #: How many changes were dropped at the front; a mark is a place in the whole history.
    dropped: int = 0

    @property
    def mark(self) -> int:
        """The place after the latest change."""
        return self.dropped + len(self.changes)

    def commit_up_to(self, mark: int) -> None:
        """What happened before the mark is there to stay."""
        del self.changes[: mark - self.dropped]
        self.dropped = mark

    def take_after(self, mark: int) -> list[Change]:
        """What happened after the mark and must be undone, latest first; it is forgotten here."""
        place = mark - self.dropped
        changes = self.changes[place:][::-1]
        del self.changes[place:]
        return changes

    def copy(self) -> Journal:
        """A journal of its own."""
        return Journal(list(self.changes), self.dropped)


class OutstandingWrite(NamedTuple):
    """A write that the log has not spoken about, and how far the journal was then."""

    write_id: int
    mark: int


@define(eq=False)
class WaitingRoom:
    """The writes under way, and the operations that wait for them, oldest first."""

    writes: deque[OutstandingWrite] = field(factory=deque)
    operations: deque[Operation] = field(factory=deque)

    def release(self, write_id: int) -> list[Operation]:
        """Those who waited for this write or an earlier one."""
        released = []
        while self.operations and self.operations[0].after <= write_id:
            released.append(self.operations.popleft())
        return released

    def overdue(self, now_ms: int) -> list[Operation]:
        """Those who have waited too long."""
        late = []
        while self.operations and self.operations[0].deadline_ms <= now_ms:
            late.append(self.operations.popleft())
        return late

    def before(self, write_id: int) -> list[OutstandingWrite]:
        """The writes under way that came before this one."""
        return [each for each in self.writes if each.write_id < write_id]

    def give_up(self, kept: list[OutstandingWrite], write_id: int) -> list[Operation]:
        """Only these writes are still under way; those who waited for this one or a later one."""
        operations = list(self.operations)
        self.operations = deque(each for each in operations if each.after < write_id)
        self.writes = deque(kept)
        return operations[len(self.operations) :]

    def empty(self) -> list[Operation]:
        """Everyone; nothing is under way afterwards."""
        operations = list(self.operations)
        self.operations.clear()
        self.writes.clear()
        return operations
