"""GroupCoordinator: a broker's group coordinator as a machine without I/O, clock or chance.

Read `on_request` first, then states.py. Nothing waits inside and nothing is sent from inside:
each door returns one `Outcome`, and a parked request is data in its group. The machine routes to
the handlers and holds back what must wait for the log; the rules of the protocol are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from attrs import define, evolve, field

from coordinator import admin, expiry, offsets
from coordinator.at_once import Beaten, Committed, beat_at_once, commit_again, commit_at_once
from coordinator.cluster import ClusterView, Topic
from coordinator.config import GroupConfig
from coordinator.errors import ErrorCode, InternalFault, OutOfTurn
from coordinator.events import Event, EventKind
from coordinator.find import find_coordinator
from coordinator.gating import arm_write_timer, begin_write, hold, is_answered, postpone
from coordinator.heartbeat import heartbeat
from coordinator.ids import IdSource, SeededIds
from coordinator.java_order import partition_for
from coordinator.join import join_group
from coordinator.leave import leave_group
from coordinator.outcome import NOTHING, Outcome, Reply, Write, joined
from coordinator.parts import (
    Gather,
    Part,
    Split,
    commit_in_one,
    fetch_in_one,
    split_commit,
    split_delete,
    split_fetch,
    split_offset_delete,
)
from coordinator.protocol import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    Response,
    SyncGroupRequest,
)
from coordinator.records import Record
from coordinator.refusals import (
    OneGroupRequest,
    refused,
    refused_at_the_door,
)
from coordinator.settling import answer_fault, fail, fire, on_loaded, on_unloaded, settle
from coordinator.shard import Shard, ShardSlot, ShardStatus
from coordinator.standing import Standing
from coordinator.step import Step, reply_to
from coordinator.sync import sync_group
from coordinator.timers import ExpiryTimer, SetTimer, Timer, WriteTimer
from coordinator.writes import Operation, Postponement

#: Who handles what, inside a shard. A response that a handler returns is the operation's result:
#: it leaves when all earlier writes of the shard are committed, even if it wrote nothing itself.
#: What a handler replies on the way (refusals, joins, syncs) leaves at once. Describe, list and a
#: plain fetch are no operations: they read the last committed state.
HANDLERS: Mapping[type[Request], Callable[..., Response | None]] = {
    JoinGroupRequest: join_group,
    SyncGroupRequest: sync_group,
    HeartbeatRequest: heartbeat,
    LeaveGroupRequest: leave_group,
    OffsetCommitRequest: offsets.commit_offsets,
    OffsetFetchRequest: offsets.fetch_stable,
    OffsetDeleteRequest: offsets.delete_offsets,
    DeleteGroupsRequest: admin.delete_groups,
}


@define(eq=False, init=False)
class GroupCoordinator:
    """All shards of one broker. Several of them can live in one process; they share nothing."""

    config: GroupConfig
    ids: IdSource
    view: ClusterView
    is_active: bool
    slots: dict[int, ShardSlot]
    #: Requests that are answered part by part, and which part each number stands for. Parts have
    #: numbers below 0; requests are numbered by the host.
    gathers: dict[int, Gather] = field(factory=dict)
    parts: dict[int, tuple[int, int]] = field(factory=dict)
    next_gather_id: int = 0
    next_part_id: int = -1
    #: Writes that a failure or an unload has made void; the log may still speak of them.
    void_writes: set[int] = field(factory=set)
    next_write_id: int = 0

    def __init__(
        self,
        config: GroupConfig | None = None,
        *,
        ids: IdSource | None = None,
        view: ClusterView | None = None,
    ) -> None:
        self.__attrs_init__(
            config=GroupConfig() if config is None else config,
            ids=SeededIds() if ids is None else ids,
            view=ClusterView() if view is None else view,
            is_active=True,
            slots={},
        )

    # --- the doors ---

    def on_request(self, request: Request, now_ms: int) -> Outcome:
        """Handle a request that has arrived."""
        route = self._ROUTES.get(type(request))
        if route is None:
            raise TypeError(f"{type(request).__name__} is not a request of the group coordinator")
        return route(self, request, now_ms)

    def beat_at_once(self, request: HeartbeatRequest, now_ms: int) -> Beaten | None:
        """Handle a plain heartbeat; None for any other. It comes to what `on_request` comes to."""
        shard = self._shard_at_once(request.group_id)
        return None if shard is None else beat_at_once(shard, request, now_ms)

    def commit_at_once(self, request: OffsetCommitRequest, now_ms: int) -> Committed | None:
        """Handle a plain commit and its log's word; None for any other."""
        shard, topics = self._shard_at_once(request.group_id), self.view.topics
        if shard is None or topics is None:
            return None
        committed = commit_at_once(shard, request, topics, now_ms)
        self.next_write_id += committed is not None
        return committed

    def commit_again(self, standing: Standing, now_ms: int) -> SetTimer | None:
        """Handle a commit that stands once more, and its log's word; None if it is news now."""
        shard, topics = self._shard_at_once(standing.request.group_id), self.view.topics
        if shard is None or topics is None:
            return None
        session = commit_again(shard, standing, topics, now_ms)
        self.next_write_id += session is not None
        return session

    def on_timer(self, timer: Timer, now_ms: int) -> Outcome:
        """Act on a timer that is due. One that is not set any more, or not yet due, is ignored."""
        of_shard = timer.shard if isinstance(timer, ExpiryTimer | WriteTimer) else None
        slot = self.slots.get(self.shard_of(timer.group_id) if of_shard is None else of_shard)  # type: ignore[union-attr]
        shard = None if slot is None else slot.shard
        armed = None if shard is None else shard.timers.get(timer)
        if shard is None or armed is None or armed.at_ms > now_ms:
            return NOTHING
        del shard.timers[timer]
        step = Step(shard, now_ms)
        try:
            fire(shard, armed.timer, step)
        except InternalFault as fault:
            step.note_fault(fault)
        return self._finish(step, None, None)

    def on_append(self, write: Write, error: ErrorCode | None, now_ms: int) -> Outcome:
        """Take the log's word on a write: None when it is committed, else why it is not.

        Writes are committed in order. One may fail while earlier ones are still on their way to
        the replicas; those that came after it fail with it.
        """
        if write.write_id in self.void_writes:
            self.void_writes.remove(write.write_id)
            return NOTHING
        slot = self.slots.get(write.shard)
        shard = None if slot is None else slot.shard
        if shard is None or not shard.waiting.writes:
            raise OutOfTurn(
                f"shard {write.shard} waits for no write, least of all {write.write_id}"
            )
        oldest = shard.waiting.writes[0].write_id
        if error is None and write.write_id != oldest:
            raise OutOfTurn(f"shard {write.shard} waits for write {oldest}, not {write.write_id}")
        step = Step(shard, now_ms)
        released: list[Operation] = []
        if error is None:
            released = shard.commit(write.write_id)
            for operation in released:
                settle(operation, step)
        else:
            failed, operations = shard.roll_back(write.write_id)
            self.void_writes.update(failed[1:])
            step.events.append(
                Event(kind=EventKind.WRITE_FAILED, error=error, partition=shard.index)
            )
            for operation in operations:
                fail(operation, error, step)
        step.records.clear()  # Kafka drops what a callback would like to write
        arm_write_timer(step)
        outcomes = [self._outcome(step)]
        for operation in released:
            if isinstance(operation.then, Postponement) and operation.request is not None:
                outcomes.append(self._run(shard, operation.request, now_ms))  # noqa: PERF401
        return joined(outcomes)

    def on_topics_deleted(self, topics: Iterable[Topic], now_ms: int) -> Outcome:
        """Topics are gone from the cluster: so are their offsets, in every shard."""
        gone = tuple(topics)
        outcomes = []
        for shard in self._active_shards():
            step = Step(shard, now_ms)
            expiry.on_topics_deleted(shard, gone, step)
            outcomes.append(self._finish(step, None, None))
        return joined(outcomes)

    # --- shards come and go ---

    def start_loading(self, shard: int, *, epoch: int | None = None) -> Outcome:
        """The broker became the leader of this partition; until the load is done, ask again."""
        slot = self.slots.get(shard)
        if slot is not None:
            if slot.knows_better_than(epoch):
                return NOTHING
            slot.epoch = epoch
            if slot.status is not ShardStatus.FAILED:
                return NOTHING
        self.slots[shard] = ShardSlot(ShardStatus.LOADING, epoch=epoch)
        return Outcome(events=(Event(kind=EventKind.SHARD_LOADING, partition=shard),))

    def finish_loading(self, shard: int, records: Iterable[Record], now_ms: int) -> Outcome:
        """The log has been read: rebuild the shard from it and serve it."""
        slot = self.slots.get(shard)
        if slot is None or slot.status is not ShardStatus.LOADING:
            raise OutOfTurn(f"shard {shard} is not loading; call start_loading first")
        loaded = Shard(index=shard, config=self.config, ids=self.ids)
        step = Step(loaded, now_ms)
        try:
            loaded.load(records, now_ms)
        except InternalFault as fault:
            slot.status = ShardStatus.FAILED
            step.note_fault(fault)
            return self._outcome(step)
        slot.status, slot.shard = ShardStatus.ACTIVE, loaded
        on_loaded(loaded, step)
        return self._outcome(step)

    def load(self, shard: int, records: Iterable[Record], now_ms: int) -> Outcome:
        """Take a shard over at once."""
        started = self.start_loading(shard)
        return joined([started, self.finish_loading(shard, records, now_ms)])

    def unload(self, shard: int, now_ms: int, *, epoch: int | None = None) -> Outcome:
        """Give a shard up: whoever waits in it is told to look elsewhere."""
        slot = self.slots.get(shard)
        if slot is None or slot.knows_better_than(epoch):
            return NOTHING
        del self.slots[shard]
        if slot.shard is None:
            return NOTHING
        step = Step(slot.shard, now_ms)
        self.void_writes.update(each.write_id for each in slot.shard.waiting.writes)
        on_unloaded(slot.shard, step)
        return self._outcome(step)

    def stop(self) -> None:
        """The broker shuts down: new requests hear COORDINATOR_NOT_AVAILABLE."""
        self.is_active = False

    # --- questions and copies ---

    def shard_of(self, group_id: str) -> int:
        """The partition of the offsets topic that holds a group."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def copy(self) -> GroupCoordinator:
        """A machine of its own in the same state; given the same inputs, the two stay equal."""
        ids = self.ids.copy()
        twin = GroupCoordinator(self.config, ids=ids, view=self.view)
        twin.is_active = self.is_active
        for index, slot in self.slots.items():
            shard = None if slot.shard is None else slot.shard.copy(ids)
            twin.slots[index] = ShardSlot(slot.status, shard, slot.epoch)
        twin.gathers = {number: gather.copy() for number, gather in self.gathers.items()}
        twin.parts = dict(self.parts)
        twin.next_gather_id, twin.next_part_id = self.next_gather_id, self.next_part_id
        twin.void_writes, twin.next_write_id = set(self.void_writes), self.next_write_id
        return twin

    def snapshot(self) -> tuple[object, ...]:
        """The whole state as one value.

        Two machines with the same settings, source of ids and metadata go on alike when their
        snapshots are equal.
        """
        return (
            self.is_active,
            tuple(
                (index, slot.status.value, slot.epoch, slot.shard and slot.shard.snapshot())
                for index, slot in sorted(self.slots.items())
            ),
            tuple((key, gather.snapshot()) for key, gather in sorted(self.gathers.items())),
            tuple(sorted(self.parts.items())),
            tuple(sorted(self.void_writes)),
            self.next_write_id,
            self.ids.taken,
        )

    # --- routes: from a request to the shards it concerns ---

    def _for_one_group(self, request: OneGroupRequest, now_ms: int) -> Outcome:
        refusal = refused_at_the_door(request, self.config, is_active=self.is_active)
        if refusal is not None:
            return self._answer(request, refusal)
        return self._in_shard_of(request.group_id or "", request, now_ms)

    def _beat(self, request: HeartbeatRequest, now_ms: int) -> Outcome:
        if (beaten := self.beat_at_once(request, now_ms)) is None:
            return self._for_one_group(request, now_ms)
        reply = Reply(request.request_id, beaten.response)
        return Outcome(replies=(reply,), timers=(beaten.session,))

    def _commit(self, request: OffsetCommitRequest, now_ms: int) -> Outcome:
        if self.is_active and request.group_id is not None:
            whole = commit_in_one(request, self.view)
            if whole is not None:
                return self._in_shard_of(request.group_id, whole, now_ms)
        error = ErrorCode.INVALID_GROUP_ID if request.group_id is None else None
        return self._in_parts(request, split_commit(request, self.view), error, now_ms)

    def _delete_offsets(self, request: OffsetDeleteRequest, now_ms: int) -> Outcome:
        error = None if request.group_id else ErrorCode.INVALID_GROUP_ID
        return self._in_parts(request, split_offset_delete(request, self.view), error, now_ms)

    def _delete_groups(self, request: DeleteGroupsRequest, now_ms: int) -> Outcome:
        return self._in_parts(request, split_delete(request, self.shard_of), None, now_ms)

    def _fetch(self, request: OffsetFetchRequest, now_ms: int) -> Outcome:
        if self.is_active:
            group_id = fetch_in_one(request, self.view)
            if group_id is not None:
                return self._operate(request, group_id, now_ms)
        return self._in_parts(request, split_fetch(request, self.view), None, now_ms)

    def _describe(self, request: DescribeGroupsRequest, _now_ms: int) -> Outcome:
        if not self.is_active:
            return self._say_no(request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self._answer(request, admin.describe_groups(request, self._shard_for))

    def _list(self, request: ListGroupsRequest, _now_ms: int) -> Outcome:
        if not self.is_active:
            return self._say_no(request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if any(slot.status is ShardStatus.LOADING for slot in self.slots.values()):
            return self._say_no(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        shards = self._active_shards()
        listed = tuple(each for shard in shards for each in admin.list_groups(shard, request))
        return self._answer(request, ListGroupsResponse(groups=listed))

    def _find(self, request: FindCoordinatorRequest, _now_ms: int) -> Outcome:
        partitions = self.config.offsets_topic_num_partitions
        found = find_coordinator(request, self.view, partitions, is_active=self.is_active)
        return self._answer(request, found)

    # --- parts ---

    def _in_parts(
        self, request: Request, split: Split, error: ErrorCode | None, now_ms: int
    ) -> Outcome:
        """Ask for each part what is to be asked; `error` is the service's word on all of them."""
        if not self.is_active:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        gather = Gather(request, [None if isinstance(x, Part) else x for x in split.slots])
        gather_id = self.next_gather_id
        self.next_gather_id += 1
        self.gathers[gather_id] = gather
        outcomes = []
        for index, slot in enumerate(split.slots):
            if isinstance(slot, Part):
                part = evolve(slot.request, request_id=self.next_part_id)
                self.parts[self.next_part_id] = (gather_id, index)
                self.next_part_id -= 1
                if error is None:
                    outcomes.append(self._operate(part, slot.group_id, now_ms))
                else:
                    outcomes.append(self._say_no(part, error))
        if not outcomes:
            del self.gathers[gather_id]
            return self._answer(request, gather.merged(self.view))
        return joined(outcomes)

    # --- operations: what a handler did, on its way to the log and to the caller ---

    def _in_shard_of(self, group_id: str, request: Request, now_ms: int) -> Outcome:
        """Let the group's shard handle a request now, or say why it cannot."""
        shard = self._shard_for(group_id)
        if isinstance(shard, ErrorCode):
            return self._say_no(request, shard)
        return self._run(shard, request, now_ms)

    def _operate(self, request: Request, group_id: str, now_ms: int) -> Outcome:
        """Let a shard handle a request or a part of one when it may, or say why it cannot."""
        shard = self._shard_for(group_id)
        if not isinstance(shard, Shard):
            return self._say_no(request, shard)
        if isinstance(request, OffsetFetchRequest) and not request.require_stable:
            return self._answer(request, offsets.fetch(shard, request, committed=True))
        if isinstance(request, DeleteGroupsRequest) and shard.waiting.writes:
            # Kafka asks for share groups first, an operation without records that waits its turn.
            step = Step(shard, now_ms)
            postpone(step, request)
            return self._outcome(step)
        return self._run(shard, request, now_ms)

    def _run(self, shard: Shard, request: Request, now_ms: int) -> Outcome:
        """Handle a request in its shard, now."""
        step = Step(shard, now_ms)
        try:
            result = HANDLERS[type(request)](shard, request, step)
        except InternalFault as fault:
            step.note_fault(fault)
            if not is_answered(step, request):
                answer_fault(request, step)
            return self._finish(step, None, None)
        return self._finish(step, request, result)

    def _finish(self, step: Step, request: Request | None, result: Response | None) -> Outcome:
        """Start the write, if there is one, and hold back what has to wait for the log."""
        writes: tuple[Write, ...] = ()
        if step.records:
            writes = (begin_write(step, self.next_write_id),)
            self.next_write_id += 1
        if step.shard.waiting.writes:
            hold(step, request, result)
        elif result is not None and request is not None:
            step.reply(request, result)
        return self._outcome(step, writes)

    # --- answers ---

    def _outcome(self, step: Step, writes: tuple[Write, ...] = ()) -> Outcome:
        replies = step.replies
        if self.parts and replies:
            replies = [whole for reply in replies if (whole := self._collected(reply)) is not None]
        # What the class itself does, without the call: every step ends here.
        return tuple.__new__(
            Outcome, (writes, tuple(replies), tuple(step.timers), tuple(step.events))
        )

    def _collected(self, reply: Reply) -> Reply | None:
        """A reply as it is, or the whole that a part completes; None while parts are missing."""
        place = self.parts.pop(reply.request_id, None)
        if place is None:
            return reply
        gather_id, index = place
        gather = self.gathers[gather_id]
        gather.slots[index] = reply.response
        if not gather.is_whole:
            return None
        del self.gathers[gather_id]
        return Reply(gather.request.request_id, gather.merged(self.view))

    def _answer(self, request: Request, response: Response) -> Outcome:
        whole = self._collected(reply_to(request, response))
        return NOTHING if whole is None else Outcome(replies=(whole,))

    def _say_no(self, request: Request, error: ErrorCode) -> Outcome:
        """Refuse a request, or a part of one, without asking a shard."""
        return self._answer(request, refused(request, error))

    def _shard_for(self, group_id: str) -> Shard | ErrorCode:
        """The shard that holds a group, or why it cannot be asked."""
        slot = self.slots.get(partition_for(group_id, self.config.offsets_topic_num_partitions))
        if slot is None or slot.status is ShardStatus.FAILED:
            return ErrorCode.NOT_COORDINATOR
        return slot.shard or ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def _shard_at_once(self, group_id: str | None) -> Shard | None:
        """The shard that holds a group, if it can be asked."""
        slot = self.slots.get(self.shard_of(group_id or ""))
        return None if slot is None or not self.is_active else slot.shard

    def _active_shards(self) -> list[Shard]:
        slots = (self.slots[index] for index in sorted(self.slots))
        return [slot.shard for slot in slots if slot.shard is not None]

    #: From a kind of request to the route that finds its shards.
    _ROUTES: ClassVar[Mapping[type[Request], Callable[..., Outcome]]] = {
        JoinGroupRequest: _for_one_group,
        SyncGroupRequest: _for_one_group,
        HeartbeatRequest: _beat,
        LeaveGroupRequest: _for_one_group,
        OffsetCommitRequest: _commit,
        OffsetFetchRequest: _fetch,
        OffsetDeleteRequest: _delete_offsets,
        DescribeGroupsRequest: _describe,
        ListGroupsRequest: _list,
        DeleteGroupsRequest: _delete_groups,
        FindCoordinatorRequest: _find,
    }
