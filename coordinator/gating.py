"""What must wait for the log, and for how long.

An operation that wrote something, or that came after one whose write is still under way, waits:
its result leaves when everything up to it is committed. Joins and syncs are answered by their
group as soon as it can, but their operation may still fail under them.
"""

from __future__ import annotations

from coordinator.outcome import Write
from coordinator.protocol import Request, Response
from coordinator.step import Step
from coordinator.writes import Operation, OutstandingWrite, Postponement


def begin_write(step: Step, write_id: int) -> Write:
    """Turn a step's records into a write; offsets and tombstones take effect in memory now."""
    shard = step.shard
    write = Write(write_id, shard.index, tuple(step.records))
    shard.replay_new(write.records)
    shard.waiting.writes.append(OutstandingWrite(write_id, shard.journal.mark))
    return write


def hold(step: Step, request: Request | None, result: Response | None) -> None:
    """Note who waits for the log: a result, a continuation, or a join or sync that may fail."""
    shard = step.shard
    is_open = False
    if result is None:
        is_open = request is not None and not is_answered(step, request)
        if step.then is None and not is_open:
            return
        if is_open and request is not None:
            shard.unanswered.add(request.request_id)
    shard.waiting.operations.append(
        Operation(
            after=shard.waiting.writes[-1].write_id,
            deadline_ms=step.now_ms + shard.config.offsets_commit_timeout_ms,
            then=step.then,
            request=request if result is not None or is_open else None,
            result=result,
        )
    )
    arm_write_timer(step)


def postpone(step: Step, request: Request) -> None:
    """Let a request begin only when everything that is under way is committed."""
    step.then = Postponement()
    hold(step, request, None)


def arm_write_timer(step: Step) -> None:
    """Wake when the oldest operation has waited for offsets.commit.timeout.ms."""
    timer, operations = step.shard.write_timer, step.shard.waiting.operations
    if not operations:
        step.cancel_timer(timer)
        return
    armed = step.shard.timers.get(timer)
    if armed is None or armed.at_ms != operations[0].deadline_ms:
        step.set_timer(timer, operations[0].deadline_ms - step.now_ms)


def is_answered(step: Step, request: Request) -> bool:
    """Has this step answered the request already?"""
    return any(reply.request_id == request.request_id for reply in step.replies)
