"""The story of a leader's death, read from its recording."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from simulation.events import Row
from tests.support.stories import rows_of, the_leader_dies


def a_recording(*, seed: int = 0) -> list[Row]:
    return rows_of(the_leader_dies(), seed=seed)


def of_kind(rows: Iterable[Row], *kinds: str) -> list[Row]:
    return [row for row in rows if row.kind in kinds]


def ways_back(rows: list[Row], last: Row) -> list[Row]:
    """An event, its cause, the cause of that, and so on."""
    way = [last]
    while (cause := way[-1].cause) is not None:
        way.append(rows[cause - 1])
    return way


def test_rows_are_numbered_without_gaps_and_time_never_goes_back():
    rows = a_recording()

    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert [row.at_ms for row in rows] == sorted(row.at_ms for row in rows)


def test_every_cause_comes_before_its_effect():
    assert [row for row in a_recording() if row.cause is not None and row.cause >= row.seq] == []


def test_only_what_the_script_does_has_no_cause():
    roots = {row.kind for row in a_recording() if row.cause is None}

    assert roots == {"run_started", "topic_created", "consumer_started", "consumer_crashed"}


def test_the_group_goes_through_its_states_twice():
    moves = of_kind(a_recording(), "group_created", "state_changed")

    assert [(row.state, row.generation) for row in moves] == [
        ("Empty", 0),
        ("PreparingRebalance", 0),
        ("CompletingRebalance", 1),
        ("Stable", 1),
        ("PreparingRebalance", 1),
        ("CompletingRebalance", 2),
        ("Stable", 2),
    ]


def test_the_survivors_take_everything_over():
    rows = a_recording()

    assigned = [
        (row.client, row.partition)
        for row in of_kind(rows, "partition_assigned")
        if row.generation == 2
    ]
    assert assigned == [
        *(("bea", 0), ("bea", 1), ("bea", 2)),
        *(("cat", 3), ("cat", 4), ("cat", 5)),
    ]


def test_no_partition_has_two_owners_at_a_time():
    owners: dict[int | None, str | None] = {}
    doubles = []
    for row in of_kind(a_recording(), "partition_assigned", "partition_revoked", "partition_lost"):
        if row.kind == "partition_assigned" and owners.get(row.partition) is not None:
            doubles.append(row)
        owners[row.partition] = row.client if row.kind == "partition_assigned" else None

    assert doubles == []


def test_the_dead_leader_owns_nothing_from_its_crash_on():
    rows = a_recording()

    crash, *lost = of_kind(rows, "consumer_crashed", "partition_lost")
    assert (crash.at_ms, crash.client) == (20_000, "ada")
    assert [(row.at_ms, row.cause, row.client, row.partition) for row in lost] == [
        (20_000, crash.seq, "ada", 0),
        (20_000, crash.seq, "ada", 1),
    ]


def test_survivors_give_everything_up_before_they_join_again():
    rows = a_recording()

    given_up = [
        row.seq
        for row in of_kind(rows, "partition_revoked")
        if row.client == "bea" and row.generation == 1
    ]
    joins = [
        row.seq
        for row in of_kind(rows, "request_sent")
        if (row.client, row.request, row.generation) == ("bea", "JoinGroup", 1)
    ]
    assert len(given_up) == 2
    assert max(given_up) < min(joins)


def test_a_timer_that_fires_names_the_heartbeats_that_set_it():
    rows = a_recording()

    (fired,) = [row for row in of_kind(rows, "timer_fired") if row.detail == "session"]
    assert fired.set_by is not None
    beats = rows[fired.set_by - 1]
    assert (beats.kind, beats.client, beats.at_ms) == ("heartbeats_answered", "ada", 20_000)
    assert fired.duration_ms == 45_000


def test_the_last_of_quiet_heartbeats_is_the_one_that_the_session_ran_from():
    rows = a_recording()

    (fired,) = [row for row in of_kind(rows, "timer_fired") if row.detail == "session"]
    beats = rows[(fired.set_by or 0) - 1]
    # The timer runs from the coming of the heartbeat, its answer was heard on the way back.
    assert re.fullmatch(r"the last at \d+ ms", beats.detail or "")
    last_ms = int(re.sub(r"\D", "", beats.detail or ""))
    assert 0 < last_ms - (fired.at_ms - 45_000) < 5


def test_a_member_that_joins_says_how_long_its_session_lasts():
    rows = a_recording()

    joins = of_kind(rows, "member_added", "member_rejoined")
    assert {row.duration_ms for row in joins} == {45_000}


def test_a_parked_join_is_answered_by_what_ended_the_wait():
    rows = a_recording()

    joins = [
        row
        for row in of_kind(rows, "reply_sent")
        if (row.request, row.error) == ("JoinGroup", "NONE")
    ]
    ended_by = [rows[(row.cause or 0) - 1] for row in joins]
    assert [(row.kind, row.detail or row.client) for row in ended_by] == [
        *[("timer_fired", "join")] * 3,
        *[("request_received", "cat")] * 2,
    ]


def test_an_assignment_is_answered_only_when_it_is_written():
    rows = a_recording()

    leaders_sync = next(row for row in of_kind(rows, "reply_sent") if row.request == "SyncGroup")
    assert rows[(leaders_sync.cause or 0) - 1].kind == "write_committed"


def test_the_rebalance_can_be_walked_back_to_the_last_heartbeat_of_the_dead():
    rows = a_recording()
    rebalance = of_kind(rows, "state_changed")[3]

    way = ways_back(rows, rebalance)

    assert [(row.kind, row.client) for row in way[1:3]] == [
        ("timer_fired", "ada"),
        ("heartbeats_answered", "ada"),
    ]
    assert (way[-1].kind, way[-1].client) == ("consumer_started", "ada")


def test_every_answer_is_heard():
    rows = a_recording()

    answered = {row.request_id for row in of_kind(rows, "reply_sent")}
    heard = {row.request_id for row in of_kind(rows, "reply_received", "reply_lost")}
    assert answered == heard


def test_another_seed_gives_other_ids_to_the_same_story():
    first, second = a_recording(seed=0), a_recording(seed=1)

    assert {row.member for row in first} & {row.member for row in second} == {None}
    assert [row.state for row in of_kind(first, "state_changed")] == [
        row.state for row in of_kind(second, "state_changed")
    ]


def test_a_member_alone_is_mourned_by_nobody():
    rows = rows_of(the_leader_dies(members=["ada"]))

    assert [row.state for row in of_kind(rows, "state_changed")][-2:] == [
        "PreparingRebalance",
        "Empty",
    ]


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky"])
def test_the_survivors_own_all_partitions_under(assignor):
    rows = rows_of(the_leader_dies(assignor=assignor))

    partitions = [
        row.partition for row in of_kind(rows, "partition_assigned") if row.generation == 2
    ]
    assert sorted(p for p in partitions if p is not None) == list(range(6))


def test_a_crowd_of_members_comes_through_it():
    crowd = [f"member-{n:02}" for n in range(40)]

    rows = rows_of(the_leader_dies(members=crowd, stagger="10ms", partitions=100))

    stable = of_kind(rows, "state_changed")[-1]
    assert (stable.state, stable.count) == ("Stable", 39)
