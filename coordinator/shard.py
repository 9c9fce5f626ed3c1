"""One partition of the offsets topic, as its coordinator holds it: groups and offsets.

Offsets and tombstones change the shard only through `replay`, the same code that a load uses; a
group's own state moves first and is written after, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from attrs import Factory, define, evolve, field

from coordinator.cluster import Topic
from coordinator.config import GroupConfig
from coordinator.group import Group
from coordinator.ids import IdSource
from coordinator.protocol import NO_PARTITION_LEADER_EPOCH, ZERO_TOPIC_ID
from coordinator.records import GroupRecord, OffsetAndMetadata, OffsetRecord, Record, TopicPartition
from coordinator.standing import Standing
from coordinator.timers import SetTimer, Timer, WriteTimer
from coordinator.writes import (
    AssignmentStorage,
    Change,
    Continuation,
    GroupChange,
    GroupCreation,
    Journal,
    OffsetChange,
    Operation,
    StaticReturn,
    WaitingRoom,
)


@define(kw_only=True, eq=False)
class Shard:
    """The groups of one partition, their offsets, and what waits for the log."""

    index: int
    config: GroupConfig
    ids: IdSource
    groups: dict[str, Group] = field(factory=dict)
    #: What is set, by timer; the value holds the timer as it was set last.
    timers: dict[Timer, SetTimer] = field(factory=dict)
    journal: Journal = field(factory=Journal)
    waiting: WaitingRoom = field(factory=WaitingRoom)
    write_timer: WriteTimer = field(
        init=False, default=Factory(lambda self: WriteTimer(self.index), takes_self=True)
    )
    #: Joins and syncs whose operation waits for the log and who have no answer yet.
    unanswered: set[int] = field(factory=set)
    #: Parked joins and syncs that a failed or stuck write has answered; they stay parked.
    answered_early: set[int] = field(factory=set)
    _offsets: dict[str, dict[TopicPartition, OffsetAndMetadata]] = field(factory=dict, init=False)
    #: Commits whose latest time is not in the offsets yet: nobody else has been there since. Each
    #: with the topics as they were when it was last looked at.
    _standing: dict[Standing, Mapping[str, Topic]] = field(factory=dict, init=False)

    @property
    def offsets(self) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """The offsets of each group, as they are now."""
        if self._standing:
            self._write_down()
        return self._offsets

    def take_again(self, standing: Standing, topics: Mapping[str, Topic], now_ms: int) -> bool:
        """Take a commit once more, if what it came to is what there is now; whether it is.

        It is written down when somebody looks at the offsets, or changes any.
        """
        if self._standing.get(standing) is not topics:
            if not self._still_has(standing, topics):
                return False
            self._standing[standing] = topics
        standing.at_ms = now_ms
        return True

    def _still_has(self, standing: Standing, topics: Mapping[str, Topic]) -> bool:
        """Whether what a commit came to, in these topics, is what there is now."""
        for each in standing.records:
            known, value = self._offsets.get(each.group_id), each.value
            found = topics.get(each.topic)
            if (
                known is None
                or value is None
                or known.get((each.topic, each.partition)) is not value
                or found is None
                or found.topic_id != value.topic_id
            ):
                return False
        return True

    def _write_down(self) -> None:
        kept, self._standing = self._standing, {}
        for standing in kept:
            for each in standing.renewed():
                if each.value is not None:
                    self._offsets[each.group_id][each.topic, each.partition] = each.value

    # --- the group map and the offsets, each change with its way back ---

    def create_group(self, group_id: str, now_ms: int) -> Group:
        """A new Empty group."""
        group = Group(group_id=group_id, state_since_ms=now_ms)
        self._put_group(group_id, group)
        return group

    def replay(self, record: Record) -> None:
        """Apply what is in the log."""
        if isinstance(record, GroupRecord):
            if record.value is None:
                self._put_group(record.group_id, None)
            else:
                self._put_group(record.group_id, Group.from_metadata(record.group_id, record.value))
        else:
            self._put_offset(record.group_id, (record.topic, record.partition), record.value)

    def replay_new(self, records: Iterable[Record]) -> None:
        """Apply what a step writes: offsets and tombstones.

        A group's own state moved before it was written; it is not replayed onto itself.
        """
        for record in records:
            if type(record) is OffsetRecord:
                self._put_offset(record.group_id, (record.topic, record.partition), record.value)
            elif record.value is None:
                self._put_group(record.group_id, None)

    def load(self, records: Iterable[Record], now_ms: int) -> None:
        """Rebuild everything from the log, from its first record to its last."""
        for record in records:
            if isinstance(record, OffsetRecord) and record.value is not None:
                if record.group_id not in self.groups:
                    # Offsets without a group record: a simple group.
                    self.create_group(record.group_id, now_ms)
                self.replay(evolve(record, value=as_stored(record.value)))
            else:
                self.replay(record)
        self.journal.commit_up_to(self.journal.mark)

    def _put_group(self, group_id: str, group: Group | None) -> None:
        before = self.groups.get(group_id)
        self.journal.changes.append(GroupChange(group_id, before))
        self._restore_group(group_id, group)

    def _put_offset(
        self, group_id: str, place: TopicPartition, value: OffsetAndMetadata | None
    ) -> None:
        of_group = self.offsets.get(group_id)
        before = None if of_group is None else of_group.get(place)
        self.journal.changes.append(OffsetChange(group_id, place, before))
        if of_group is None or value is None:
            self._restore_offset(group_id, place, value)
        else:
            of_group[place] = value

    def _restore_group(self, group_id: str, group: Group | None) -> None:
        if group is None:
            self.groups.pop(group_id, None)
        else:
            self.groups[group_id] = group

    def _restore_offset(
        self, group_id: str, place: TopicPartition, value: OffsetAndMetadata | None
    ) -> None:
        if value is not None:
            self.offsets.setdefault(group_id, {})[place] = value
            return
        of_group = self.offsets.get(group_id)
        if of_group is not None:
            of_group.pop(place, None)
            if not of_group:
                del self.offsets[group_id]

    def commit(self, write_id: int) -> list[Operation]:
        """The oldest write is there to stay; those who waited for it may go on."""
        self.journal.commit_up_to(self.waiting.writes.popleft().mark)
        return self.waiting.release(write_id)

    def roll_back(self, write_id: int) -> tuple[list[int], list[Operation]]:
        """Undo this write and all after it: the group map and the offsets are as before it.

        The writes that are void now, the failed one first, and the operations that fail with them.
        """
        kept = self.waiting.before(write_id)
        void = [each.write_id for each in self.waiting.writes][len(kept) :]
        mark = kept[-1].mark if kept else self.journal.dropped
        for change in self.journal.take_after(mark):
            if isinstance(change, GroupChange):
                self._restore_group(change.group_id, change.before)
            else:
                self._restore_offset(change.group_id, change.topic_partition, change.before)
        return void, self.waiting.give_up(kept, write_id)

    # --- what readers see: the last committed state ---

    def committed_group(self, group_id: str) -> Group | None:
        """The group if a committed write stands behind it; its inside is as it is now."""
        for change in self.journal.changes:
            if isinstance(change, GroupChange) and change.group_id == group_id:
                return change.before
        return self.groups.get(group_id)

    def committed_groups(self) -> Iterator[Group]:
        """All groups that readers may see, by id."""
        ids = set(self.groups)
        ids.update(c.group_id for c in self.journal.changes if isinstance(c, GroupChange))
        for group_id in sorted(ids):
            group = self.committed_group(group_id)
            if group is not None:
                yield group

    def offsets_of(
        self, group_id: str, *, committed: bool
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """A group's offsets as they are now, or as of the last committed write."""
        offsets = self.offsets.get(group_id, {})
        if not committed or not self.journal.changes:
            return offsets
        offsets = dict(offsets)
        for change in reversed(self.journal.changes):
            if isinstance(change, OffsetChange) and change.group_id == group_id:
                if change.before is None:
                    offsets.pop(change.topic_partition, None)
                else:
                    offsets[change.topic_partition] = change.before
        return offsets

    # --- copies ---

    def copy(self, ids: IdSource) -> Shard:
        """A shard of its own in the same state, drawing its ids from `ids`."""
        twins: dict[int, Group] = {}

        def twin_of(group: Group) -> Group:
            if id(group) not in twins:
                twins[id(group)] = group.copy()
            return twins[id(group)]

        twin = Shard(index=self.index, config=self.config, ids=ids)
        twin.groups = {group_id: twin_of(group) for group_id, group in self.groups.items()}
        twin._offsets = {group_id: dict(offsets) for group_id, offsets in self.offsets.items()}
        twin.timers = dict(self.timers)
        twin.journal = self.journal.copy()
        twin.journal.changes = [
            evolve(change, before=twin_of(change.before))
            if isinstance(change, GroupChange) and change.before is not None
            else change
            for change in self.journal.changes
        ]
        twin.waiting.writes = self.waiting.writes.copy()
        for operation in self.waiting.operations:
            then = operation.then
            if isinstance(then, GroupCreation | AssignmentStorage):
                then = evolve(then, group=twin_of(then.group))
            elif isinstance(then, StaticReturn):
                group = twin_of(then.group)
                member = group.members.get(then.member.member_id) or then.member.copy()
                then = evolve(then, group=group, member=member)
            twin.waiting.operations.append(evolve(operation, then=then))
        twin.unanswered = set(self.unanswered)
        twin.answered_early = set(self.answered_early)
        return twin

    def snapshot(self) -> tuple[object, ...]:
        """Everything that can differ between two shards, as one comparable, hashable value."""
        return (
            self.index,
            tuple(self.groups[group_id].snapshot() for group_id in sorted(self.groups)),
            tuple(
                (group_id, tuple(sorted(self.offsets[group_id].items(), key=lambda pair: pair[0])))
                for group_id in sorted(self.offsets)
            ),
            tuple(sorted((str(change), change.at_ms) for change in self.timers.values())),
            tuple(write.write_id for write in self.waiting.writes),
            tuple(map(_operation_snapshot, self.waiting.operations)),
            tuple(map(_change_snapshot, self.journal.changes)),
            tuple(sorted(self.unanswered)),
            tuple(sorted(self.answered_early)),
        )


class ShardStatus(Enum):
    """What a broker can say of a shard that it has been told about."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"


@define(eq=False)
class ShardSlot:
    """A shard as the broker was told of it: how far it is, and by which leader epoch."""

    status: ShardStatus
    shard: Shard | None = None
    epoch: int | None = None

    def knows_better_than(self, epoch: int | None) -> bool:
        """Is this word of a leader epoch out of date? Without epochs, the latest word counts."""
        return epoch is not None and self.epoch is not None and epoch <= self.epoch


def _operation_snapshot(operation: Operation) -> tuple[object, ...]:
    return (
        operation.after,
        operation.deadline_ms,
        _continuation_snapshot(operation.then),
        operation.request,
        operation.result,
    )


def _continuation_snapshot(then: Continuation | None) -> tuple[object, ...]:
    if isinstance(then, GroupCreation):
        return (then.group.snapshot(), then.request)
    if isinstance(then, AssignmentStorage):
        plan = tuple(sorted(then.assignments.items()))
        return (then.group.snapshot(), then.generation_id, then.leader_id, plan)
    if isinstance(then, StaticReturn):
        return (
            then.group.snapshot(),
            then.member.snapshot(),
            then.old_member_id,
            then.old_leader_id,
            then.old_protocols,
            then.old_rebalance_timeout_ms,
            then.old_session_timeout_ms,
        )
    return (type(then).__name__,)


def _change_snapshot(change: Change) -> tuple[object, ...]:
    if isinstance(change, GroupChange):
        return (change.group_id, change.before and change.before.snapshot())
    return (change.group_id, change.topic_partition, change.before)


def as_stored(value: OffsetAndMetadata) -> OffsetAndMetadata:
    """An offset as its record keeps it: with an expiry of its own, no leader epoch or topic id."""
    if value.expire_timestamp_ms is None:
        return value
    return evolve(value, leader_epoch=NO_PARTITION_LEADER_EPOCH, topic_id=ZERO_TOPIC_ID)
