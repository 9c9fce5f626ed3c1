"""Traces for viewers: what every viewer asks of them, and that they tell what the measures tell."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from itertools import pairwise

import pytest

from groupsim.report.bands import NO_COORDINATOR
from groupsim.report.trace import Trace
from simulation.measures import measure
from simulation.recorder import MemorySink
from simulation.scenarios import Scenario
from tests.groupsim.command import groupsim
from tests.groupsim.runs import a_death, a_ghost, a_pause, a_slow_member, directory_of, rows_of

US = 1_000
TALES = [a_death, a_ghost, a_pause, a_slow_member]


def a_broken_night():
    """Crashes, pauses, a broker that dies, static members, and two groups."""
    return Scenario.from_dict(
        {
            "cluster": {"topics": {"orders": {"partitions": 4, "records": "20/s"}}},
            "groups": {
                "checkout": {"members": 3, "subscribe": ["orders"]},
                "billing": {"members": 2, "subscribe": ["orders"], "static": True},
            },
            "script": [
                {"at": "20s", "crash": "checkout-1"},
                {"at": "25s", "pause": "checkout-2", "for": "50s"},
                {"at": "30s", "restart": "billing-1"},
                {"at": "40s", "crash_broker": 1, "for": "10s"},
                {"at": "45s", "crash_broker": 2, "for": "10s"},
            ],
            "run_for": "2m",
        }
    )


@cache
def rows(tale):
    if tale is not a_broken_night:
        return rows_of(tale)
    sink = MemorySink()
    tale().play(sink=sink)
    return tuple(sink.rows)


@cache
def events(tale):
    """The trace of a story, as a viewer reads it."""
    trace = Trace()
    found = [event for row in rows(tale) for event in trace.take(row)]
    return json.loads(json.dumps([*found, *trace.rest()]))


def of_kind(tale, *kinds):
    return [event for event in events(tale) if event["ph"] in kinds]


def track_names(tale):
    """The names of process and thread, by their numbers."""
    named = {
        (each["pid"], each.get("tid")): each["args"]["name"]
        for each in of_kind(tale, "M")
        if each["name"] in ("process_name", "thread_name")
    }
    return {
        numbers: (named[numbers[0], None], name) for numbers, name in named.items() if numbers[1]
    }


def slices_on(tale):
    """By the names of a track: its slices as (from, to, name), in order."""
    names = track_names(tale)
    found = defaultdict(list)
    for each in sorted(of_kind(tale, "X"), key=lambda each: each["ts"]):
        track = names[each["pid"], each["tid"]]
        found[track].append((each["ts"], each["ts"] + each["dur"], each["name"]))
    return found


EVERY_TALE = pytest.mark.parametrize(
    "tale", [*TALES, a_broken_night], ids=lambda tale: tale.__name__
)


@EVERY_TALE
def test_slices_of_a_track_last_and_do_not_overlap(tale):
    for track, slices in slices_on(tale).items():
        assert all(begin < end for begin, end, _ in slices), track
        assert all(one[1] <= two[0] for one, two in pairwise(slices)), track


@EVERY_TALE
def test_an_arrow_s_end_is_bound_to_the_slice_that_begins_there(tale):
    # Perfetto reads events in the order of time, then of the file, and binds an end to whatever
    # slice or instant began last on its track.
    last = {}
    for each in sorted(events(tale), key=lambda each: each.get("ts", 0)):
        track = (each["pid"], each.get("tid"))
        if each["ph"] in ("X", "i"):
            last[track] = each
        elif each["ph"] in ("s", "f"):
            assert (last[track]["ph"], last[track]["ts"]) == ("X", each["ts"])


@EVERY_TALE
def test_both_ends_of_an_arrow_are_inside_slices_of_different_tracks(tale):
    names, slices = track_names(tale), slices_on(tale)
    starts, ends = of_kind(tale, "s"), of_kind(tale, "f")

    assert [each["id"] for each in starts] == [each["id"] for each in ends]
    assert len({each["id"] for each in starts}) == len(starts) > 5
    assert {each["bp"] for each in ends} == {"e"}
    for start, end in zip(starts, ends, strict=True):
        assert start["ts"] <= end["ts"]
        assert (start["pid"], start["tid"]) != (end["pid"], end["tid"])
        for each in (start, end):
            on_track = slices[names[each["pid"], each["tid"]]]
            assert any(begin <= each["ts"] < until for begin, until, _ in on_track)


@EVERY_TALE
def test_every_event_has_the_fields_that_viewers_ask_for(tale):
    names = track_names(tale)

    for each in of_kind(tale, "X", "i", "s", "f"):
        assert (each["pid"], each["tid"]) in names
        assert isinstance(each["ts"], int)
        assert each["name"]
    assert len({number for numbers in names for number in numbers}) == len(names) + len(
        {pid for pid, _ in names}
    )
    assert {each["s"] for each in of_kind(tale, "i")} == {"t"}
    assert {each["ph"] for each in events(tale)} == {"X", "i", "s", "f", "M"}


@EVERY_TALE
def test_slices_of_nobody_add_up_to_what_the_measures_call_unowned(tale):
    found = {
        (process.removesuffix(": partitions"), thread): sum(
            until - begin for begin, until, name in slices if name == "nobody"
        )
        for (process, thread), slices in slices_on(tale).items()
        if process.endswith(": partitions")
    }

    measured = measure(rows(tale)).unowned_s
    assert found == {
        (place.group, f"{place.topic}-{place.partition}"): round(seconds * US * US)
        for place, seconds in measured.items()
    }


@EVERY_TALE
def test_slices_of_a_group_s_state_last_as_long_as_its_rebalances(tale):
    measured = measure(rows(tale))

    for group in measured.groups:
        slices = slices_on(tale)[group, "state"]
        found, is_busy = 0, False
        for begin, until, name in slices:
            # One whose coordinator is gone waits for the next to give it up.
            if name != NO_COORDINATOR:
                is_busy = name not in ("Stable", "Empty")
            found += is_busy * (until - begin)
        rebalances = measured.rebalances_of(group)
        assert found == US * sum(each.duration_ms for each in rebalances)


def test_a_member_s_track_tells_its_life():
    names = [name for _, _, name in slices_on(a_death)["checkout: members", "ada"]]

    assert names == ["starting", "joining", "syncing", "stable", "crashed"]


def test_a_member_that_is_dead_is_told_until_its_group_knows():
    *_, (begin, end, name) = slices_on(a_death)["checkout: members", "ada"]
    (death,) = measure(rows(a_death)).deaths

    assert (begin, end, name) == (death.died_ms * US, (death.removed_ms or 0) * US, "crashed")


def test_a_member_that_stands_still_goes_on_with_what_it_was():
    names = [name for _, _, name in slices_on(a_pause)["checkout: members", "bea"]]

    assert names[names.index("paused") - 1] == names[names.index("paused") + 1] == "stable"


def arrows(tale):
    """Whose slice led to whose, as (thread, name) pairs."""
    names, slices = track_names(tale), slices_on(tale)

    def end_of(each):
        track = names[each["pid"], each["tid"]]
        inside = [name for begin, end, name in slices[track] if begin <= each["ts"] < end]
        return track[1], inside[0]

    return {
        (end_of(one), end_of(two))
        for one, two in zip(of_kind(tale, "s"), of_kind(tale, "f"), strict=True)
    }


@pytest.mark.parametrize(
    "arrow",
    [
        (("ada", "crashed"), ("orders-0", "nobody")),
        (("ada", "crashed"), ("state", "PreparingRebalance")),
        (("state", "PreparingRebalance"), ("bea", "told to rejoin")),
        (("bea", "joining"), ("state", "CompletingRebalance")),
        (("bea", "syncing"), ("state", "Stable")),
    ],
    ids=str,
)
def test_arrows_tell_the_story_of_a_death(arrow):
    assert arrow in arrows(a_death)


def test_commits_and_heartbeats_are_instants_of_their_member():
    names = track_names(a_death)
    of_bea = [
        each["name"]
        for each in of_kind(a_death, "i")
        if names[each["pid"], each["tid"]] == ("checkout: members", "bea")
    ]

    assert "commit" in of_bea
    assert any("heartbeat" in name for name in of_bea)


def test_a_commit_of_several_partitions_is_one_instant():
    commits = [each["args"] for each in of_kind(a_death, "i") if each["name"] == "commit"]

    assert {"orders-0", "orders-1", "orders-2"} <= set(commits[0])


def test_troubles_have_tracks_of_their_own():
    found = [track for track in slices_on(a_broken_night) if track[0] == "cluster"]

    assert found == [("cluster", "broker 1 is down"), ("cluster", "broker 2 is down")]


# --- the command ---


def test_the_command_writes_one_file_and_says_where_to_open_it(tmp_path):
    result = groupsim("trace", directory_of(a_death), "-o", tmp_path / "t.json")

    told = json.loads((tmp_path / "t.json").read_text())
    assert result.exit_code == 0
    assert told["traceEvents"] == events(a_death)
    assert told["displayTimeUnit"] == "ms"
    assert "ui.perfetto.dev" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_the_same_run_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        groupsim("trace", directory_of(a_death), "-o", tmp_path / name)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("out", "answer"), [("", "is a folder"), ("nowhere/t.json", "No such file or directory")]
)
def test_where_no_file_can_be_is_said_so_and_nothing_is_left(tmp_path, out, answer):
    result = groupsim("trace", directory_of(a_death), "-o", tmp_path / out)

    assert result.exit_code == 2
    assert answer in result.stderr
    assert list(tmp_path.iterdir()) == []
