"""Recordings written by hand: what matters of each row, in the order in which it happened."""

from __future__ import annotations

from typing import Any

from simulation.checkers import Patience, check
from simulation.events import EventKind, Kind, Row, WorldEventKind

GROUP, TOPIC = "checkout", "orders"

Event = tuple[Kind, int, dict[str, Any]]

#: Rows about a partition say which; the first one, unless they say another.
_ABOUT_A_PARTITION: frozenset[Kind] = frozenset(
    {
        WorldEventKind.LOG_RATE_CHANGED,
        WorldEventKind.LOG_START_MOVED,
        WorldEventKind.PARTITION_ASSIGNED,
        WorldEventKind.PARTITION_REVOKED,
        WorldEventKind.PARTITION_LOST,
        WorldEventKind.POSITION_SET,
        WorldEventKind.FETCH_STARTED,
        WorldEventKind.RECORDS_RETURNED,
        WorldEventKind.RECORDS_PROCESSED,
        WorldEventKind.OFFSET_GIVEN,
        WorldEventKind.COMMIT_ACKNOWLEDGED,
        WorldEventKind.COMMIT_FAILED,
        EventKind.OFFSET_COMMITTED,
        EventKind.OFFSET_REMOVED,
    }
)


def an_event(kind: Kind, at_ms: int, **facts: Any) -> Event:
    """One event; members are named after their consumers unless they are given."""
    usual: dict[str, Any] = {"group": GROUP}
    if kind in _ABOUT_A_PARTITION:
        usual |= {"topic": TOPIC, "partition": 0}
    if facts.get("client") is not None:
        usual["member"] = f"{facts['client']}-1"
    return kind, at_ms, usual | facts


def a_recording(*events: Event) -> list[Row]:
    """These events as rows, numbered from 1."""
    return [
        Row(seq=seq, at_ms=at_ms, kind=kind.value, run="a-run", **facts)
        for seq, (kind, at_ms, facts) in enumerate(events, 1)
    ]


def found_in(*events: Event, patience: Patience | None = None) -> list[tuple[str, tuple[int, ...]]]:
    """What the checkers say of these events: who says it, and of which rows."""
    violations = check(a_recording(*events), patience=patience)
    return [(violation.checker, violation.rows) for violation in violations]


def starts_reading(
    client: str, at_ms: int, offset: int = 0, detail: str = "committed", **facts: Any
) -> tuple[Event, ...]:
    """A consumer is given the partition, finds its position and fetches."""
    return (
        an_event(WorldEventKind.PARTITION_ASSIGNED, at_ms, client=client, **facts),
        an_event(
            WorldEventKind.POSITION_SET, at_ms, client=client, offset=offset, detail=detail, **facts
        ),
        an_event(WorldEventKind.FETCH_STARTED, at_ms, client=client, offset=offset, **facts),
    )


def begins(client: str, at_ms: int, offset: int, detail: str = "committed") -> Event:
    """A consumer finds its position."""
    return an_event(WorldEventKind.POSITION_SET, at_ms, client=client, offset=offset, detail=detail)


def works(client: str, at_ms: int, offset: int, end_offset: int) -> tuple[Event, ...]:
    """A consumer is handed records and has processed them."""
    return (
        an_event(
            WorldEventKind.RECORDS_RETURNED,
            at_ms,
            client=client,
            offset=offset,
            end_offset=end_offset,
        ),
        an_event(
            WorldEventKind.RECORDS_PROCESSED,
            at_ms,
            client=client,
            offset=offset,
            end_offset=end_offset,
        ),
    )


def the_end(at_ms: int) -> Event:
    """The run is over."""
    return an_event(WorldEventKind.RUN_ENDED, at_ms)


def moves(at_ms: int, state: str, **facts: Any) -> Event:
    """The group is in another state."""
    return an_event(EventKind.STATE_CHANGED, at_ms, state=state, **facts)


def a_death_and_its_rebalance() -> list[Row]:
    """Ada dies, her session ends, bea rejoins and takes over."""
    return a_recording(
        an_event(EventKind.GROUP_CREATED, 0, state="Empty", generation=0),
        an_event(EventKind.MEMBER_ADDED, 0, client="ada", count=1),
        an_event(EventKind.LEADER_ELECTED, 0, client="ada"),
        moves(0, "PreparingRebalance", count=1, generation=0, detail="member ada-1 joined"),
        an_event(EventKind.MEMBER_ADDED, 500, client="bea", count=2),
        an_event(EventKind.JOIN_PHASE_ENDED, 3_000, count=2, detail="the initial delay was over"),
        moves(3_000, "CompletingRebalance", count=2, generation=1),
        moves(3_010, "Stable", count=2, generation=1),
        *starts_reading("ada", 3_020),
        *starts_reading("bea", 3_020, partition=1),
        an_event(WorldEventKind.CONSUMER_CRASHED, 20_000, client="ada"),
        an_event(WorldEventKind.PARTITION_LOST, 20_000, client="ada", detail="crashed"),
        an_event(EventKind.MEMBER_REMOVED, 63_000, client="ada", detail="its session expired"),
        an_event(EventKind.LEADER_ELECTED, 63_000, client="bea"),
        moves(
            63_000,
            "PreparingRebalance",
            count=1,
            generation=1,
            duration_ms=300_000,
            detail="session of ada-1 expired",
        ),
        an_event(EventKind.MEMBER_REJOINED, 64_500, client="bea"),
        an_event(EventKind.JOIN_PHASE_ENDED, 64_500, count=1, detail="everyone has joined"),
        moves(64_500, "CompletingRebalance", count=1, generation=2),
        moves(64_510, "Stable", count=1, generation=2),
        *starts_reading("bea", 64_520),
        *starts_reading("bea", 64_520, partition=1),
        the_end(90_000),
    )


def processes(client: str | None, at_ms: int, generation: int, **facts: Any) -> Event:
    """A consumer has processed ten records."""
    return an_event(
        WorldEventKind.RECORDS_PROCESSED,
        at_ms,
        client=client,
        generation=generation,
        offset=0,
        end_offset=9,
        **facts,
    )


def commits(
    client: str | None, at_ms: int, offset: int, generation: int | None = 1, **facts: Any
) -> Event:
    """A commit is accepted."""
    facts = {"client": client, "offset": offset, "generation": generation} | facts
    return an_event(EventKind.OFFSET_COMMITTED, at_ms, **facts)


def a_stable_group(
    *clients: str, protocol: str = "range", generation: int = 1
) -> tuple[Event, ...]:
    """A group with these members."""
    return (
        an_event(EventKind.GROUP_CREATED, 0, state="Empty", generation=0),
        *(an_event(EventKind.MEMBER_ADDED, 0, client=client) for client in clients),
        moves(0, "CompletingRebalance", generation=generation, protocol=protocol),
        moves(0, "Stable", generation=generation, protocol=protocol, count=len(clients)),
    )
