"""What the columns of an event say about messages, answers and the coordinator's own events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from coordinator import ErrorCode, Event
from coordinator.protocol import (
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    FindCoordinatorResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
)
from coordinator.records import OffsetRecord
from coordinator.timers import (
    ExpiryTimer,
    JoinTimer,
    SessionTimer,
    SyncTimer,
    Timer,
    WriteTimer,
)
from simulation.cluster import OFFSETS_TOPIC
from simulation.events import Facts

#: The word for each timer in the `detail` of the event in which it fires.
TIMER_WORDS: dict[type[Timer], str] = {
    SessionTimer: "session",
    JoinTimer: "join",
    SyncTimer: "sync",
    ExpiryTimer: "expiry",
    WriteTimer: "write",
}


def facts_of_event(event: Event) -> Facts:
    """An event of the coordinator in columns."""
    is_of_the_log = event.partition is not None and event.topic is None
    return {
        "group": event.group_id,
        "member": event.member_id,
        "instance": event.group_instance_id,
        "generation": event.generation_id,
        "state": event.state,
        "protocol": event.protocol_name,
        "topic": OFFSETS_TOPIC if is_of_the_log else event.topic,
        "partition": event.partition,
        "offset": event.offset,
        "error": None if event.error is None else event.error._name_,
        "count": event.count,
        "detail": event.detail,
    }


def facts_of_commit(
    request: OffsetCommitRequest, record: OffsetRecord, broker: int, client: str | None
) -> Facts:
    """A position that a member has committed, in columns: the coordinator's event of it."""
    assert record.value is not None
    return {
        "group": record.group_id,
        "member": request.member_id,
        "generation": request.generation_id,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.value.committed_offset,
        "broker": broker,
        "client": client,
    }


def with_reply(facts: Facts, response: object, error: str | None = None) -> Facts:
    """What a request and its answer say; a join's may give a member id and a generation.

    Who has asked for the first `error` in it already need not have it looked for again.
    """
    said: Facts = {**facts, "error": error_of(response) if error is None else error}
    if type(response) is JoinGroupResponse:
        if response.member_id != UNKNOWN_MEMBER_ID:
            said["member"] = response.member_id
        if response.generation_id != UNKNOWN_GENERATION_ID:
            said["generation"] = response.generation_id
    return said


def error_of(response: object) -> str:
    """The first error of an answer, on top or inside; `NONE` if there is none."""
    error = getattr(response, "error_code", None)
    if error is not None and error is not ErrorCode.NONE:
        return str(error.name)
    find_parts = _PARTS.get(type(response))
    if find_parts is not None:
        for inner in find_parts(response):
            code = getattr(inner, "error_code", None)
            if code is not None and code is not ErrorCode.NONE:
                return str(code.name)
    return "NONE"


def _parts_of_a_commit(response: OffsetCommitResponse) -> Iterable[object]:
    return (part for topic in response.topics for part in topic.partitions)


#: Where the inner errors of an answer are.
_PARTS: dict[type, Callable[[Any], Iterable[object]]] = {
    OffsetCommitResponse: _parts_of_a_commit,
    OffsetFetchResponse: attrgetter("groups"),
    FindCoordinatorResponse: attrgetter("coordinators"),
    LeaveGroupResponse: attrgetter("members"),
}
