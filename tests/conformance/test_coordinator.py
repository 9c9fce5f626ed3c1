"""The coordinator against what Kafka 4.3.1's own coordinator did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.__main__ import main, read_cases
from tests.conformance.coordinator import play

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize(
    ("name", "count"),
    [("coordinator_public", 60), ("walks_public", 150), ("walks_large_public", 30)],
)
def test_the_coordinator_does_what_kafka_did_in(name, count):
    cases = read_cases(CASES / f"{name}.json.gz")

    results = list(play(cases))

    assert [each for each in results if each.outcome != "passed"] == []
    assert len(results) == count


def test_a_wrong_answer_fails_its_case_and_names_the_step(capsys, tmp_path):
    file = tmp_path / "wrong.json"
    file.write_text(
        """[{"id": "wrong", "config": {}, "steps": [
            {"at": 0, "do": "heartbeat", "args": {"group_id": "g", "member_id": "ada",
             "group_instance_id": null, "generation_id": 1}, "expect": {"error": "NONE"}}]}]"""
    )

    status = main([str(file)])

    assert status == 1
    assert capsys.readouterr().out.splitlines() == [
        'failed wrong: step 0 (heartbeat): error: expected "NONE", got "UNKNOWN_MEMBER_ID"',
        "0 passed, 1 failed, 0 skipped",
    ]


def test_wire_fields_count_too(tmp_path, capsys):
    file = tmp_path / "wire.json"
    file.write_text(
        """[{"id": "wire", "config": {}, "steps": [
            {"at": 0, "do": "sync", "args": {"group_id": "g", "member_id": "ada",
             "group_instance_id": null, "generation_id": 1, "protocol_type": null,
             "protocol_name": null, "assignments": []},
             "expect": {"error": "UNKNOWN_MEMBER_ID"}, "wire": {"assignment": "something"}}]}]"""
    )

    status = main([str(file)])

    assert status == 1
    assert "assignment" in capsys.readouterr().out


def test_a_case_that_needs_what_nobody_can_do_is_skipped_and_counted(tmp_path, capsys):
    file = tmp_path / "needs.json"
    file.write_text(
        """[{"id": "magic", "config": {}, "needs": ["magic"],
             "steps": [{"at": 0, "do": "advance", "to": 1}]}]"""
    )

    status = main([str(file)])

    assert status == 0
    assert capsys.readouterr().out.splitlines() == [
        "skipped magic: needs magic",
        "0 passed, 0 failed, 1 skipped",
    ]


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"id": "x"}]'])
def test_a_file_that_is_no_case_file_is_named_and_refused(content, tmp_path, capsys):
    file = tmp_path / "other.json"
    file.write_text(content)

    status = main([str(file)])

    assert status == 2
    assert str(file) in capsys.readouterr().err


def test_a_trace_shows_each_step_with_its_answer_and_the_groups_state(capsys):
    file = CASES / "coordinator_public.json.gz"

    status = main([str(file), "--only", "join_named_member_unknown_group", "--trace"])

    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert lines[0] == "case join_named_member_unknown_group"
    assert "join" in lines[1]
    assert "UNKNOWN_MEMBER_ID" in lines[2]
