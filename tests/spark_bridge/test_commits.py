from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import define, field
from pyspark.sql import functions as F

from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.commits import Commits
from simulation.folds.places import Handler, by_kind, place_of
from simulation.measures import Member, Place
from spark_bridge import columns as c
from spark_bridge import schemas
from spark_bridge.commits import commits, commits_refused, committed_offsets
from tests.spark_bridge.frames import PLACE, an_event, events, rows_of

COMMITTED, REFUSED = EventKind.OFFSET_COMMITTED, EventKind.COMMIT_REFUSED
WRITTEN, LOADED = WorldEventKind.WRITE_COMMITTED, EventKind.GROUP_LOADED

BEHIND = (c.CLIENT, c.UNCOMMITTED, c.UNCOMMITTED_MS)

pytestmark = pytest.mark.spark


def commit(cause: int, partition: int, offset: int) -> Row:
    place = {"topic": "t", "partition": partition, "offset": offset}
    return an_event(COMMITTED, 10, client="ada", cause=cause, **place)


def offset_committed(offset: int, at_ms: int) -> Row:
    return an_event(COMMITTED, at_ms, client="ada", topic="t", partition=0, offset=offset)


def processes(client: str, offset: int, end_offset: int, at_ms: int) -> Row:
    stretch = {"topic": "t", "partition": 0, "offset": offset, "end_offset": end_offset}
    return an_event(WorldEventKind.RECORDS_PROCESSED, at_ms, client=client, **stretch)


def answer(error: str) -> Row:
    sent = WorldEventKind.REPLY_SENT
    return an_event(sent, 10, client="ada", request="OffsetCommit", error=error)


def test_a_member_s_commits_are_counted_by_request(spark):
    frame = events(
        spark,
        answer("NONE"),
        answer("NONE"),
        answer("COORDINATOR_NOT_AVAILABLE"),
        an_event(WorldEventKind.COMMITS_REPEATED, 20, client="ada", count=7),
        an_event(REFUSED, 30, member="ada-1", client="ada", error="ILLEGAL_GENERATION"),
        an_event(WorldEventKind.COMMIT_FAILED, 40, client="ada", cause=9, error="TimeoutException"),
        an_event(WorldEventKind.RUN_ENDED, 2_000, group=None),
    )

    found = frame.transform(commits)

    assert found.schema.simpleString() == schemas.COMMITS.simpleString()
    names = (c.CLIENT, c.ACCEPTED, c.REPEATED, c.REFUSED, c.UNANSWERED, c.PER_S)
    assert rows_of(found, *names) == [("ada", 9, 7, 1, 1, 4.5)]


def test_what_was_processed_waits_for_a_commit_that_covers_it(spark):
    frame = events(
        spark,
        processes("ada", 0, 10, at_ms=1_000),
        processes("ada", 10, 15, at_ms=2_000),
        offset_committed(10, at_ms=4_000),
        processes("ada", 15, 20, at_ms=5_000),
        processes("bea", 10, 20, at_ms=9_000),
        offset_committed(20, at_ms=9_500),
        an_event(WorldEventKind.RUN_ENDED, 20_000, group=None),
    )

    found = frame.transform(commits)

    # Ada's second batch is committed by bea, who has it processed again.
    assert rows_of(found, *BEHIND) == [("ada", 15, 7_500), ("bea", 10, 500)]


def test_what_was_never_committed_waits_until_the_end(spark):
    frame = events(
        spark,
        processes("ada", 5, 10, at_ms=1_000),
        an_event(WorldEventKind.RUN_ENDED, 20_000, group=None),
    )

    assert rows_of(frame.transform(commits), *BEHIND) == [("ada", 5, 19_000)]


def test_where_commits_go_back_nothing_from_before_waits_any_longer(spark):
    frame = events(
        spark,
        offset_committed(100, at_ms=500),
        processes("ada", 100, 120, at_ms=1_000),
        processes("ada", 50, 60, at_ms=2_000),
        offset_committed(60, at_ms=4_000),
        processes("ada", 60, 70, at_ms=6_000),
        offset_committed(70, at_ms=8_000),
        an_event(WorldEventKind.RUN_ENDED, 20_000, group=None),
    )

    assert rows_of(frame.transform(commits), *BEHIND) == [("ada", 20, 3_000)]


def test_refused_commits_are_counted_by_error_and_by_the_member_s_name(spark):
    frame = events(
        spark,
        an_event(EventKind.MEMBER_ADDED, 1, client="ada", member="ada-1"),
        an_event(REFUSED, 2, member="ada-1", error="ILLEGAL_GENERATION"),
        an_event(REFUSED, 3, member="ada-1", error="ILLEGAL_GENERATION"),
        an_event(REFUSED, 4, member="ada-1", error="UNKNOWN_MEMBER_ID"),
    )

    found = frame.transform(commits_refused)

    assert found.schema.simpleString() == schemas.COMMITS_REFUSED.simpleString()
    assert rows_of(found, c.CLIENT, c.ERROR, c.COUNT) == [
        ("ada", "ILLEGAL_GENERATION", 2),
        ("ada", "UNKNOWN_MEMBER_ID", 1),
    ]


def test_a_commit_that_was_not_written_when_the_coordinator_changed_never_was(spark):
    frame = events(
        spark,
        commit(101, 0, 5),
        an_event(WRITTEN, 10, group=None, cause=101),
        commit(102, 0, 8),
        an_event(LOADED, 11),
    )

    found = frame.transform(committed_offsets)

    assert rows_of(found, *PLACE, c.COMMITTED) == [("a-run", "g", "t", 0, 5)]


def test_commits_in_recorded_runs_are_those_of_the_measures(recorded):
    found = recorded.events.transform(commits).collect()
    refused = recorded.events.transform(commits_refused)

    for run, measures in recorded.measures.items():
        of_run = {(row.group, row.client): row for row in found if row.run == run}
        accepted = {member: row.accepted for member, row in of_run.items() if row.accepted}
        assert accepted == {member: count for member, count in measures.commits.items() if count}
        assert {member: row.per_s for member, row in of_run.items() if row.accepted} == {
            member: rate for member, rate in measures.values("commits_per_s").items() if rate
        }
        assert {member: row.refused for member, row in of_run.items() if row.refused} == {
            member: sum(errors.values())
            for member, errors in measures.commits_refused.items()
            if errors
        }
    assert rows_of(refused, c.RUN, c.GROUP, c.CLIENT, c.ERROR, c.COUNT) == sorted(
        (run, *member, error, count)
        for run, measures in recorded.measures.items()
        for member, errors in measures.commits_refused.items()
        for error, count in errors.items()
    )


def test_commits_in_recorded_runs_are_as_late_as_a_walk_through_the_rows_says(recorded):
    found = recorded.events.transform(commits)

    assert rows_of(
        found.where(F.col(c.UNCOMMITTED) + F.col(c.UNCOMMITTED_MS) > 0), c.RUN, c.GROUP, *BEHIND
    ) == sorted(
        (run, *member, *worst)
        for run, rows in recorded.rows.items()
        for member, worst in behind(rows).items()
        if any(worst)
    )


def behind(rows: list[Row]) -> dict[Member, tuple[int, int]]:
    """By how many records, and for how long, commits were behind each member at worst."""
    waits = Waits()
    handlers = by_kind([waits, waits.commits])
    for row in without_void_commits(rows):
        for handle in handlers.get(row.kind, ()):
            handle(row)
    for place in waits.waiting:
        waits.settle(place, rows[-1].at_ms)
    return waits.worst


def without_void_commits(rows: list[Row]) -> list[Row]:
    """The rows without commits that were never written because something went wrong later."""
    written = {row.cause for row in rows if row.kind == WRITTEN.value}
    troubles = (LOADED.value, EventKind.WRITE_FAILED.value)
    trouble = max((row.seq for row in rows if row.kind in troubles), default=0)
    return [
        row
        for row in rows
        if row.kind != COMMITTED.value or row.cause in written or row.seq > trouble
    ]


@define
class Waits:
    """A walk through the rows, over the log as the simulator has it; what goes back ends waits."""

    commits: Commits = field(factory=Commits)
    #: What was processed up to where, when and by whom.
    waiting: dict[Place, list[tuple[int, int, Member]]] = field(factory=dict)
    first: dict[Place, int] = field(factory=dict)
    worst: dict[Member, tuple[int, int]] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        return {
            WorldEventKind.RECORDS_PROCESSED: self._on_processed,
            EventKind.OFFSET_COMMITTED: self._on_change,
            EventKind.OFFSET_REMOVED: self._on_change,
        }

    def _on_processed(self, row: Row) -> None:
        place = place_of(row)
        assert place is not None
        end, known = row.end_offset or 0, self.commits.offset(place)
        first = self.first.setdefault(place, row.offset or 0)
        member = Member(place.group, row.client or "")
        self._note(member, records=end - (first if known is None else known))
        if known is None or end > known:
            self.waiting.setdefault(place, []).append((end, row.at_ms, member))

    def _on_change(self, row: Row) -> None:
        place = place_of(row)
        assert place is not None
        known = self.commits.offset(place) or 0
        if row.kind == "offset_removed" or (row.offset or 0) < known:
            self.settle(place, row.at_ms)
            self.first.pop(place, None)
        else:
            self.settle(place, row.at_ms, row.offset)

    def settle(self, place: Place, now_ms: int, up_to: int | None = None) -> None:
        waiting, self.waiting[place] = self.waiting.get(place, []), []
        for end, at_ms, member in waiting:
            if up_to is None or end <= up_to:
                self._note(member, ms=now_ms - at_ms)
            else:
                self.waiting[place].append((end, at_ms, member))

    def _note(self, member: Member, records: int = 0, ms: int = 0) -> None:
        most, longest_ms = self.worst.get(member, (0, 0))
        self.worst[member] = (max(most, records), max(longest_ms, ms))
