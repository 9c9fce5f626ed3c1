from __future__ import annotations

import json

import pytest

from tests.groupsim.command import groupsim
from tests.groupsim.runs import a_death, a_ghost, a_pause, a_slow_member, directory_of


def test_a_timeline_tells_who_did_what_and_what_led_to_it():
    told = groupsim("timeline", directory_of(a_death)).stdout

    lines = [line.split(maxsplit=2) for line in told.splitlines()]
    crash = next(line for line in lines if line[2] == "ada crashes")
    assert crash[0] == "30.000"
    assert any("session of ada expired" in line[2] for line in lines)


def test_a_timeline_names_the_line_that_led_to_another():
    told = json.loads(groupsim("timeline", directory_of(a_death), "--json").stdout)

    by_seq = {line["seq"]: line for line in told}
    removal = next(line for line in told if line["kind"] == "member_removed")
    assert by_seq[removal["cause"]]["text"] == (
        "the session timer of ada fires, 45.0 s after it was set"
    )


def test_a_timeline_tells_which_assignor_a_generation_voted_for():
    told = groupsim("timeline", directory_of(a_death)).stdout

    assert "the group is Stable in generation 1, with 2 members, by range: " in told


def test_a_timeline_can_be_cut_by_time():
    told = json.loads(
        groupsim("timeline", directory_of(a_death), "--from", "29s", "--to", "31s", "--json").stdout
    )

    assert [line["text"] for line in told] == [
        "ada crashes",
        "ada loses orders-0, orders-1 and orders-2: crashed",
    ]


def test_a_timeline_around_a_rebalance_tells_no_more_than_that():
    told = json.loads(
        groupsim("timeline", directory_of(a_ghost), "--around", "rebalance:last", "--json").stdout
    )

    assert told[0]["text"] == "cat starts"
    assert {line["kind"] for line in told} >= {"state_changed", "member_removed"}
    assert min(line["at_ms"] for line in told) > 30_000


def test_a_cause_that_is_not_on_the_page_is_told_in_words():
    told = groupsim("timeline", directory_of(a_death), "--from", "60s").stdout

    first = told.splitlines()[1]
    assert "the session timer of ada fires" in first
    assert "<- " in first


def test_a_full_timeline_leaves_nothing_out():
    full = json.loads(groupsim("timeline", directory_of(a_death), "--full", "--json").stdout)

    assert {"request_sent", "heartbeats_answered"} <= {line["kind"] for line in full}


@pytest.mark.parametrize(
    ("tale", "sentences"),
    [
        (
            a_death,
            [
                "It began because the session of ada expired: its session timer, set at",
                "ada had crashed at 30.0 s.",
            ],
        ),
        (
            a_ghost,
            [
                "It began because member cat joined: cat starts at 32.0 s.",
                "It was held 43.0 s by pending member ghost, which never came back;",
                "ended by its session timer, set at 30.00",
            ],
        ),
        (a_slow_member, ["it was processing records it already had, and only a poll joins."]),
        (a_pause, ["by bea, which joined last: it stood still from 30.0 s until 50.0 s."]),
    ],
)
def test_why_tells_who_held_a_rebalance_and_why(tale, sentences):
    told = groupsim("why", directory_of(tale), "rebalance:2").stdout

    assert [sentence for sentence in sentences if sentence not in told] == []


@pytest.mark.parametrize("tale", [a_death, a_ghost, a_slow_member, a_pause])
def test_the_steps_of_a_critical_path_add_up_to_the_rebalance(tale):
    told = json.loads(groupsim("why", directory_of(tale), "rebalance:2", "--json").stdout)

    assert sum(step["waited_ms"] for step in told["path"]) == told["rebalance"]["duration_ms"]
    assert told["path"][0]["seq"] == told["rebalance"]["seq"]
    assert told["path"][-1]["text"].startswith("the group is Stable")


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("rebalance:7", "there is no rebalance:7, only 1 to 2: rebalance:1 at 0.006 s"),
        ("rebalance:0", "there is no rebalance:0, only 1 to 2"),
        ("ada", "'ada' names nothing in a run: write rebalance:3 or rebalance:last"),
    ],
)
def test_a_reference_to_nothing_is_answered_with_what_there_is(reference, answer):
    result = groupsim("why", directory_of(a_death), reference)

    assert result.exit_code == 2
    assert answer in result.stderr


def test_a_group_that_is_not_there_is_answered_with_those_that_are():
    result = groupsim("why", directory_of(a_death), "--group", "chekout")

    assert result.exit_code == 2
    assert result.stderr == ("groupsim: there is no group 'chekout' in this run; there: checkout\n")


def test_a_wrong_time_is_answered_with_how_times_are_written():
    result = groupsim("timeline", directory_of(a_death), "--from", "noon")

    assert result.exit_code == 2
    assert "--from: a length of time must read like 500ms, 45s, 2m or 1h" in result.stderr


def test_a_time_without_a_unit_is_asked_for_it():
    result = groupsim("timeline", directory_of(a_death), "--from", "5")

    assert result.exit_code == 2
    assert result.stderr == "groupsim: --from: 5 needs a unit: 5s or 5ms\n"
    assert groupsim("timeline", directory_of(a_death), "--from", "0").exit_code == 0


def test_a_part_of_a_run_that_ends_before_it_begins_is_said_to_be_swapped():
    result = groupsim("timeline", directory_of(a_death), "--from", "3m", "--to", "2m")

    assert result.exit_code == 2
    assert "--from 3m is later than --to 2m: swap them" in result.stderr


def test_diff_names_the_columns_that_differ_and_their_values():
    told = groupsim("diff", directory_of(a_death), directory_of(a_pause)).stdout

    assert "  kind differs: consumer_crashed | consumer_paused\n" in told
    assert "  client differs: ada | bea\n" in told
    assert "run differs" not in told


def test_diff_shows_where_two_runs_part_and_what_it_changed():
    told = json.loads(
        groupsim("diff", directory_of(a_death), directory_of(a_pause), "--json").stdout
    )

    assert (told["same"], told["parting"]["left"]["text"].partition(": ")[2]) == (
        False,
        "ada crashes",
    )
    assert told["parting"]["right"]["text"].endswith("bea stands still")
    assert told["parting"]["columns"]["client"] == {"left": "ada", "right": "bea"}
    assert told["measures"]["rebalances"] == {"left": 2, "right": 2}
    assert told["measures"]["detection_s"]["right"] == 0


def test_diff_puts_the_measures_side_by_side():
    told = groupsim("diff", directory_of(a_death), directory_of(a_pause)).stdout

    assert "The runs are the same in their first" in told
    assert "detection_s" in told


def test_a_run_is_the_same_as_itself():
    told = groupsim("diff", directory_of(a_death), directory_of(a_death)).stdout

    assert told.startswith("The runs are the same, in all ")
