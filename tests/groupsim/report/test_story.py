"""What a report knows of a run is what its measures say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from groupsim.report.frames import frames_of, lanes_of
from groupsim.report.members import (
    BROKEN,
    COMMITTED,
    CRASHED,
    MISSED,
    OUTSIDE,
    PRESENT,
    STILL,
    STILL_OUTSIDE,
    STOPPED,
    MemberFold,
)
from groupsim.report.ownership import DUAL, OWNED, UNOWNED
from groupsim.report.story import natural, read_story, told_apart
from simulation.critical_path import Witness, explain
from simulation.events import EventKind, Row, WorldEventKind
from simulation.folds.places import by_kind
from simulation.measures import Member, Place
from simulation.recording import record
from tests.groupsim.report.stories import story_of
from tests.groupsim.runs import a_death, a_ghost, a_pause, a_slow_member, rows_of
from tests.support.stories import the_leader_dies

TALES = [a_death, a_ghost, a_pause, a_slow_member]


def a_row(kind: WorldEventKind | EventKind, at_ms: int, **facts: Any) -> Row:
    who = {"group": "checkout", "client": "ada", **facts}
    return Row(seq=at_ms, at_ms=at_ms, kind=kind.value, run="a-run", **who)


def beats_at(*times_ms: int) -> list[Row]:
    # A member that commits in between has a row for each heartbeat, as `quiet` cannot count them.
    return [
        a_row(WorldEventKind.REPLY_RECEIVED, at_ms, request="Heartbeat", duration_ms=3)
        for at_ms in times_ms
    ]


def told_of(rows: Sequence[Row]) -> MemberFold:
    fold = MemberFold(bucket_ms=10)
    handlers = by_kind((fold.rosters, fold))
    for row in rows:
        for handle in handlers[row.kind]:
            handle(row)
    return fold


def stretches_of(fold: MemberFold) -> list[tuple[int, int, int]]:
    return [(each.count, each.from_ms, each.to_ms) for each in fold.beats()]


@pytest.mark.parametrize(
    ("kind", "measure"), [(UNOWNED, "unowned_s"), (DUAL, "dual_s")], ids=["unowned", "dual"]
)
@pytest.mark.parametrize("tale", TALES)
def test_the_stretches_of_a_partition_add_up_to_its_measure(tale, kind, measure):
    story = story_of(tale)

    total: Counter[Place] = Counter()
    for stay in story.ownership:
        if stay.kind == kind:
            total[stay.place] += stay.to_ms - stay.from_ms

    measured = story.measures.values(measure)
    assert {place: ms / 1_000 for place, ms in total.items()} == {
        place: seconds for place, seconds in measured.items() if seconds
    }


@pytest.mark.parametrize("tale", TALES)
def test_the_stretches_of_a_partition_follow_one_another_without_a_hole(tale):
    lanes: dict[Place, list[tuple[int, int]]] = {}
    for stay in story_of(tale).ownership:
        lanes.setdefault(stay.place, []).append((stay.from_ms, stay.to_ms))

    assert len(lanes) == 6
    assert all(before[1] == after[0] for lane in lanes.values() for before, after in pairwise(lane))


@pytest.mark.parametrize("tale", TALES)
def test_the_highest_point_of_the_lag_is_its_measure(tale):
    story = story_of(tale)

    assert max(peak.lag for peak in story.worst["checkout"]) == story.measures.figure("lag")


@pytest.mark.parametrize("tale", TALES)
def test_no_curve_rises_above_the_lag_of_its_partition(tale):
    story = story_of(tale)

    tops = {place: max(lag for _, lag in points) for place, points in story.curves.items()}

    assert tops == {place: story.measures.lag[place] for place in tops}
    assert tops


def test_a_dead_member_is_missed_until_its_session_is_over():
    ada = [each for each in story_of(a_death).member_stays if each.member.client == "ada"]

    assert [each.what for each in ada][-2:] == [PRESENT, MISSED]
    (death,) = story_of(a_death).measures.deaths
    assert (ada[-1].from_ms, ada[-1].to_ms) == (death.died_ms, death.removed_ms)


def test_a_paused_member_stands_still_as_long_as_it_is_paused():
    still = [each for each in story_of(a_pause).member_stays if each.what == STILL]

    assert [(each.member.client, each.to_ms - each.from_ms) for each in still] == [("bea", 20_000)]


def test_a_member_that_is_removed_while_it_stands_still_is_seen_to_be_out_of_the_group():
    fold = told_of(
        [
            a_row(WorldEventKind.CONSUMER_STARTED, 0),
            a_row(EventKind.MEMBER_ADDED, 1_000, member="ada-1"),
            a_row(WorldEventKind.CONSUMER_PAUSED, 5_000),
            a_row(EventKind.MEMBER_REMOVED, 9_000, member="ada-1"),
            a_row(WorldEventKind.CONSUMER_RESUMED, 12_000),
        ]
    )

    assert [(each.what, each.from_ms, each.to_ms) for each in fold.stays(13_000)] == [
        (OUTSIDE, 0, 1_000),
        (PRESENT, 1_000, 5_000),
        (STILL, 5_000, 9_000),
        (STILL_OUTSIDE, 9_000, 12_000),
        (OUTSIDE, 12_000, 13_000),
    ]


def test_a_dead_member_that_a_load_brings_back_is_missed_again():
    stable = {"client": None, "state": "Stable", "generation": 1}
    fold = told_of(
        [
            a_row(EventKind.GROUP_CREATED, 0, client=None, state="Empty"),
            a_row(WorldEventKind.CONSUMER_STARTED, 0),
            a_row(EventKind.MEMBER_ADDED, 1_000, member="ada-1"),
            a_row(EventKind.STATE_CHANGED, 2_000, **stable, count=1),
            a_row(WorldEventKind.CONSUMER_CRASHED, 3_000),
            # The log could not be told of it before its broker was gone.
            a_row(EventKind.MEMBER_REMOVED, 9_000, member="ada-1"),
            a_row(EventKind.GROUP_LOADED, 10_000, **stable, count=1),
        ]
    )

    missed = [(each.from_ms, each.to_ms) for each in fold.stays(15_000) if each.what == MISSED]

    assert missed == [(3_000, 9_000), (10_000, 15_000)]


def test_a_crash_is_marked_where_it_happened():
    crashes = [mark for mark in story_of(a_death).marks if mark.what == CRASHED]

    assert [(mark.member, mark.at_ms) for mark in crashes] == [(Member("checkout", "ada"), 30_000)]


def test_a_consumer_that_ends_with_an_error_is_marked_and_counted():
    fold = MemberFold(1_000)
    handlers = fold.handlers()
    row = next(row for row in rows_of(a_death) if row.kind == "consumer_crashed")
    handlers[WorldEventKind.CONSUMER_STOPPED](row)
    handlers[WorldEventKind.CONSUMER_STOPPED](evolve(row, at_ms=90_000, error="OutOfMemoryError"))

    assert [mark.what for mark in fold.marks()] == [STOPPED, BROKEN]
    assert fold.errors == {("checkout", "OutOfMemoryError"): 1}


def test_commits_that_failed_are_counted_by_their_error():
    fold = MemberFold(1_000)
    row = next(row for row in rows_of(a_death) if row.kind == "commit_acknowledged")
    failed = evolve(row, kind="commit_failed", error="CommitFailedException")
    for n, partition in enumerate((0, 1, 0)):
        at_ms = failed.at_ms + n // 2
        one = evolve(failed, partition=partition, at_ms=at_ms)
        fold.handlers()[WorldEventKind.COMMIT_FAILED](one)

    assert fold.failed_commits == {("checkout", "CommitFailedException"): 2}


def test_commits_of_one_partition_that_fail_at_once_are_several():
    fold = MemberFold(1_000)
    row = next(row for row in rows_of(a_death) if row.kind == "commit_acknowledged")
    failed = evolve(row, kind="commit_failed", error="DisconnectException")
    for partition in (0, 1, 0, 1, 0):
        fold.handlers()[WorldEventKind.COMMIT_FAILED](evolve(failed, partition=partition))

    assert fold.failed_commits == {("checkout", "DisconnectException"): 3}


def test_a_run_knows_whether_anything_was_written(tmp_path):
    record(the_leader_dies(), tmp_path / "idle")

    assert story_of(a_death).has_records
    assert not read_story(tmp_path / "idle").has_records


def test_commits_are_marked_and_those_of_one_moment_are_counted():
    commits = [mark for mark in story_of(a_death).marks if mark.what == COMMITTED]

    rows = rows_of(a_death)
    # Each partition of a commit has a row.
    heard = {(row.client, row.at_ms) for row in rows if row.kind == "commit_acknowledged"}
    repeated = sum(row.count or 0 for row in rows if row.kind == "commits_repeated")
    assert sum(mark.count for mark in commits) == len(heard) + repeated > 0


def test_commits_that_a_row_counts_stand_where_they_were_and_not_where_it_was_written():
    repeated = a_row(
        WorldEventKind.COMMITS_REPEATED,
        30_000,
        count=4,
        duration_ms=15_003,
        detail="the last at 25003 ms",
    )

    marks = told_of([repeated]).marks()

    assert [(mark.at_ms, mark.count) for mark in marks] == [
        *((10_000, 1), (15_001, 1), (20_002, 1), (25_003, 1))
    ]


def test_commits_that_would_stand_on_one_another_are_one_tick_that_counts_them():
    story = story_of(a_death)
    lanes = evolve(lanes_of([story]), ended_ms=100 * story.ended_ms)

    ticks = [row for row in frames_of(story, lanes)["marks"] if row["what"] == COMMITTED]

    commits = [mark for mark in story.marks if mark.what == COMMITTED]
    assert len(ticks) < len(commits) / 2
    assert sum(row["count"] for row in ticks) == sum(mark.count for mark in commits)


def test_every_heartbeat_is_counted_once():
    beats = sum(each.count for each in story_of(a_death).beats)

    rows = rows_of(a_death)
    quiet = sum(row.count or 0 for row in rows if row.kind == "heartbeats_answered")
    others = sum(row.kind == "reply_received" and row.request == "Heartbeat" for row in rows)
    assert beats == quiet + others > 0


def test_heartbeats_at_the_usual_pace_are_one_stretch_and_a_silence_parts_them():
    fold = told_of(beats_at(3_000, 6_002, 9_001, 12_000, 60_000, 63_001, 66_000))

    assert stretches_of(fold) == [(4, 2_997, 12_000), (3, 59_997, 66_000)]


def four_quiet_beats():
    """A row that counts four heartbeats, three seconds apart."""
    return a_row(
        WorldEventKind.HEARTBEATS_ANSWERED,
        18_000,
        count=4,
        duration_ms=9_003,
        detail="the last at 12000 ms",
    )


def test_a_member_that_is_mostly_silent_keeps_its_pace_and_its_silences():
    fold = told_of([four_quiet_beats(), *beats_at(27_000, 42_000, 57_000, 72_000)])

    assert stretches_of(fold) == [
        (4, 2_997, 12_000),
        *((1, at_ms - 3, at_ms) for at_ms in (27_000, 42_000, 57_000, 72_000)),
    ]


def test_a_member_that_came_later_has_the_pace_of_the_others():
    late = [evolve(row, client="late") for row in beats_at(27_000, 42_000, 57_000)]

    fold = told_of([four_quiet_beats(), *late])

    assert [each.count for each in fold.beats() if each.member.client == "late"] == [1, 1, 1]


def test_heartbeats_of_two_lives_are_never_one_stretch():
    rows = []
    for at_ms in (0, 11_000, 22_000):
        rows.append(a_row(WorldEventKind.CONSUMER_STARTED, at_ms))
        rows += beats_at(at_ms + 3_000)
        rows.append(a_row(WorldEventKind.CONSUMER_STOPPED, at_ms + 6_000))

    assert [count for count, _, _ in stretches_of(told_of(rows))] == [1, 1, 1]


def test_the_states_of_a_group_are_those_of_its_rebalances():
    story = story_of(a_death)

    busy = [
        (stay.state, stay.from_ms, stay.to_ms)
        for stay in story.states
        if stay.state in ("PreparingRebalance", "CompletingRebalance")
    ]

    phases = [
        (phase.state, phase.started_ms, phase.ended_ms)
        for told in story.rebalances
        for phase in told.rebalance.phases
        if phase.duration_ms
    ]
    assert busy == phases


def test_a_rebalance_is_told_in_the_sentences_of_why():
    last = story_of(a_death).rebalances[-1]

    rows = rows_of(a_death)
    assert last.sentences == explain(rows, last.rebalance, Witness.of(rows)).sentences


def test_a_partition_goes_from_hand_to_hand_in_the_order_of_its_owners():
    lane = [
        (stay.kind, stay.owners)
        for stay in story_of(a_death).ownership
        if stay.place == Place("checkout", "orders", 0)
    ]

    assert lane == [(OWNED, ("ada",)), (UNOWNED, ()), (OWNED, ("bea",))]


def test_members_of_all_runs_have_their_colours_before_those_of_one():
    surge = story_of(a_death)
    stays = [
        evolve(stay, member=Member("checkout", client))
        for stay in surge.member_stays[:1]
        for client in ("pod-1", "pod-1-v2", "pod-2", "pod-2-v2")
    ]
    surge = evolve(surge, member_stays=stays)
    usual = evolve(surge, member_stays=[stays[0], stays[2]])

    assert lanes_of([surge, usual]).clients == ["pod-1", "pod-2", "pod-1-v2", "pod-2-v2"]


def test_names_are_in_the_order_of_people():
    assert sorted(["pod-10", "pod-2", "a", "pod-1"], key=natural) == [
        *("a", "pod-1", "pod-2", "pod-10")
    ]


def test_runs_of_one_name_are_told_apart_by_their_folders():
    story = story_of(a_death)

    def names(*paths: str, name: str = "mine") -> list[str]:
        return [
            each.name
            for each in told_apart([evolve(story, name=name, path=Path(path)) for path in paths])
        ]

    assert names("runs/s40", "runs/s20") == ["mine (s40)", "mine (s20)"]
    assert names("s40/mine", "s20/mine") == ["mine (s40)", "mine (s20)"]
    assert names("runs/mine", "runs/again") == ["mine", "mine (again)"]
    assert names("a/x/mine", "a/y/mine", "b/x/mine") == ["mine (a/x)", "mine (y)", "mine (b/x)"]


def test_runs_of_names_of_their_own_keep_them():
    runs = [evolve(story_of(a_death), name=name) for name in ("eager", "static")]

    assert told_apart(runs) == runs
