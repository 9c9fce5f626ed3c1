from __future__ import annotations

from typing import Any

import pytest
from attrs import define, field

from simulation.events import EventKind, Row, WorldEventKind
from simulation.measures import Member
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.heartbeats import heartbeats
from tests.spark_bridge.frames import an_event, events, rows_of

ADDED, REPLACED = EventKind.MEMBER_ADDED, EventKind.MEMBER_REPLACED
COUNTS = (c.CLIENT, c.BEATS, c.REFUSED, c.EXPIRED)
SILENCES = (c.CLIENT, c.SESSION_TIMEOUT_MS, c.LONGEST_SILENCE_MS, c.MARGIN_MS, c.NEAR_MISSES)
SIGNS = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")

pytestmark = pytest.mark.spark


def of(client: str) -> dict[str, str]:
    return {"client": client, "member": f"{client}-1"}


def joins(client: str, at_ms: int) -> tuple[Row, Row]:
    """A join that is answered at once."""
    return (
        an_event(ADDED, at_ms, duration_ms=45_000, **of(client)),
        answer(client, at_ms, request="JoinGroup"),
    )


def answer(client: str, at_ms: int, **facts: Any) -> Row:
    usual = {"request": "Heartbeat", "error": "NONE", "duration_ms": 0}
    return an_event(WorldEventKind.REPLY_SENT, at_ms, **(of(client) | usual | facts))


def beats(client: str, first_ms: int, last_ms: int, count: int, told_ms: int) -> Row:
    """Quiet heartbeats, told when there is other news."""
    return an_event(
        WorldEventKind.HEARTBEATS_ANSWERED,
        told_ms,
        count=count,
        duration_ms=last_ms - first_ms,
        detail=f"the last at {last_ms} ms",
        **of(client),
    )


def ends(at_ms: int) -> Row:
    return an_event(WorldEventKind.RUN_ENDED, at_ms, group=None)


def test_heartbeats_are_counted_whether_they_were_folded_or_played(spark):
    heard = WorldEventKind.REPLY_RECEIVED
    frame = events(
        spark,
        an_event(WorldEventKind.HEARTBEATS_ANSWERED, 5, client="ada", count=12),
        an_event(heard, 6, client="ada", request="Heartbeat", error="REBALANCE_IN_PROGRESS"),
        an_event(heard, 7, client="ada", request="JoinGroup", error="NONE"),
        an_event(WorldEventKind.TIMER_FIRED, 60, client="ada", detail="session"),
    )

    found = frame.transform(heartbeats)

    assert found.schema.simpleString() == schemas.HEARTBEATS.simpleString()
    assert rows_of(found, *COUNTS) == [("ada", 13, 1, 1)]


def test_a_silence_lasts_from_the_last_quiet_heartbeat_not_from_when_it_was_told(spark):
    frame = events(
        spark,
        *joins("ada", 0),
        beats("ada", 3_000, 15_000, 5, told_ms=17_900),
        beats("ada", 47_000, 47_002, 1, told_ms=48_000),
        answer("ada", 48_000, error="REBALANCE_IN_PROGRESS"),
        ends(49_000),
    )

    # It stood still from 17.9 s on, so the session was 32 s old when it went on.
    assert rows_of(frame.transform(heartbeats), *SILENCES) == [("ada", 45_000, 32_000, 13_000, 1)]


def test_a_member_that_beats_is_silent_from_one_heartbeat_to_the_next(spark):
    frame = events(
        spark, *joins("ada", 0), beats("ada", 3_000, 60_004, 20, told_ms=61_000), ends(61_000)
    )

    assert rows_of(frame.transform(heartbeats), *SILENCES) == [("ada", 45_000, 3_000, 42_000, 0)]


def test_an_expired_session_leaves_no_margin_and_is_no_near_miss(spark):
    fired = {"detail": "session", "duration_ms": 45_000}
    frame = events(
        spark,
        *joins("ada", 0),
        beats("ada", 3_000, 15_002, 5, told_ms=16_000),
        an_event(WorldEventKind.TIMER_FIRED, 60_001, **fired, **of("ada")),
        an_event(EventKind.MEMBER_REMOVED, 60_001, **of("ada")),
        ends(90_000),
    )

    assert rows_of(frame.transform(heartbeats), *SILENCES) == [("ada", 45_000, 45_000, 0, 0)]


def test_a_parked_join_is_no_silence(spark):
    frame = events(
        spark,
        an_event(ADDED, 0, duration_ms=45_000, **of("ada")),
        answer("ada", 40_000, request="JoinGroup", duration_ms=40_000),
        an_event(EventKind.MEMBER_REJOINED, 41_000, duration_ms=45_000, **of("ada")),
        ends(90_000),
    )

    assert rows_of(frame.transform(heartbeats), *SILENCES) == [("ada", 45_000, 1_000, 44_000, 0)]


def test_a_new_coordinator_gives_every_member_its_whole_session(spark):
    frame = events(
        spark,
        *joins("ada", 0),
        an_event(EventKind.GROUP_LOADED, 30_000),
        answer("ada", 36_000),
        ends(38_000),
    )

    assert rows_of(frame.transform(heartbeats), *SILENCES) == [("ada", 45_000, 6_000, 39_000, 0)]


def test_a_static_member_that_comes_back_in_time_was_a_near_miss(spark):
    back = {"client": "bea", "member": "bea-1", "detail": "it replaced ada-1"}
    frame = events(
        spark,
        *joins("ada", 0),
        an_event(REPLACED, 40_000, duration_ms=10_000, **back),
        answer("bea", 40_000, request="JoinGroup"),
        ends(42_000),
    )

    assert rows_of(frame.transform(heartbeats), *SILENCES) == [
        ("ada", 45_000, 40_000, 5_000, 1),
        ("bea", 10_000, 2_000, 8_000, 0),
    ]


def test_heartbeats_of_recorded_runs_are_those_that_a_walk_through_the_rows_finds(recorded):
    found = recorded.events.transform(heartbeats)

    names = (c.RUN, c.GROUP, *COUNTS, *SILENCES[1:])
    assert rows_of(found, *names) == sorted(
        (run, *member, *pulse.told())
        for run, rows in recorded.rows.items()
        for member, pulse in Walk(rows).pulses.items()
    )


@define
class Pulse:
    """What comes to light of one consumer."""

    beats: int = 0
    refused: int = 0
    expired: int = 0
    timeout_ms: int | None = None
    timeout_seq: int = 0
    silences: list[tuple[int, int, bool]] = field(factory=list)

    def told(self) -> tuple[int | None, ...]:
        near = [is_near for _, _, is_near in self.silences]
        longest_ms = max((ms for ms, _, _ in self.silences), default=None)
        margin_ms = min((margin for _, margin, _ in self.silences), default=None)
        counts = (self.beats, self.refused, self.expired)
        return (*counts, self.timeout_ms, longest_ms, margin_ms, sum(near))


@define
class Session:
    """A member id: whose it is, and when it was last heard of."""

    pulse: Pulse
    timeout_ms: int
    heard_ms: int
    is_parked: bool = True
    is_over: bool = False

    def hear(self, from_ms: int, to_ms: int, *, is_expiry_of: int | None = None) -> None:
        silence_ms = max(from_ms - self.heard_ms, 0) if is_expiry_of is None else is_expiry_of
        is_near = is_expiry_of is None and silence_ms * 3 >= self.timeout_ms * 2
        self.pulse.silences.append((silence_ms, self.timeout_ms - silence_ms, is_near))
        self.heard_ms, self.is_parked = max(self.heard_ms, to_ms), False


class Walk:
    """Row by row, by member id; a load starts every session anew."""

    def __init__(self, rows: list[Row]) -> None:
        self.pulses: dict[Member, Pulse] = {}
        self.sessions: dict[tuple[str, str], Session] = {}
        for row in rows:
            if row.group is not None:
                self._count(row)
                self._take(row, row.group, row.member or "")
        for session in self.sessions.values():
            if not session.is_parked and not session.is_over:
                session.hear(rows[-1].at_ms, rows[-1].at_ms)

    def _pulse(self, row: Row) -> Pulse:
        return self.pulses.setdefault(Member(row.group or "", row.client or ""), Pulse())

    def _count(self, row: Row) -> None:
        if row.kind == "heartbeats_answered":
            self._pulse(row).beats += row.count or 0
        elif row.kind == "reply_received" and row.request == "Heartbeat":
            self._pulse(row).beats += 1
            self._pulse(row).refused += row.error != "NONE"
        elif row.kind == "timer_fired" and row.detail == "session":
            self._pulse(row).expired += 1

    def _take(self, row: Row, group: str, member: str) -> None:
        session = self.sessions.get((group, member))
        if row.kind == "group_loaded":
            for (of_group, _), each in self.sessions.items():
                each.heard_ms = row.at_ms if of_group == group else each.heard_ms
        elif row.kind in ("member_added", "member_rejoined", "member_replaced"):
            self._join(row, group, member)
        elif session is not None and is_a_sign(row):
            to_ms = last_of(row)
            session.hear(to_ms - (row.duration_ms or 0), to_ms)
            if row.kind == "heartbeats_answered" and (row.count or 0) > 1:
                apart_ms = (row.duration_ms or 0) // ((row.count or 0) - 1)
                is_near = apart_ms * 3 >= session.timeout_ms * 2
                session.pulse.silences.append((apart_ms, session.timeout_ms - apart_ms, is_near))
        elif session is not None and row.kind == "timer_fired" and row.detail == "session":
            session.hear(row.at_ms, row.at_ms, is_expiry_of=row.duration_ms)
            session.is_over = True
        elif session is not None and row.kind == "member_removed":
            session.hear(row.at_ms, row.at_ms)
            session.is_over = True

    def _join(self, row: Row, group: str, member: str) -> None:
        if row.kind == "member_replaced":
            old = self.sessions[group, (row.detail or "").removeprefix("it replaced ")]
            old.hear(row.at_ms, row.at_ms)
            old.is_over = True
        timeout_ms, session = row.duration_ms or 0, self.sessions.get((group, member))
        if session is None:
            session = Session(self._pulse(row), timeout_ms, row.at_ms)
            self.sessions[group, member] = session
        else:
            session.timeout_ms, session.is_over = timeout_ms, False
        session.hear(row.at_ms, row.at_ms)
        session.is_parked = row.kind != "member_replaced"
        session.pulse.timeout_ms = timeout_ms


def is_a_sign(row: Row) -> bool:
    is_told = row.request == "Heartbeat" and row.error == "REBALANCE_IN_PROGRESS"
    is_answer = row.kind == "reply_sent" and row.request in SIGNS
    return (is_answer and (row.error == "NONE" or is_told)) or row.kind in (
        "heartbeats_answered",
        "commits_repeated",
    )


def last_of(row: Row) -> int:
    if row.kind == "reply_sent":
        return row.at_ms
    return int((row.detail or "").removeprefix("the last at ").removesuffix(" ms"))
