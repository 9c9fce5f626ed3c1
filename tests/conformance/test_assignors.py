"""Kafka's recorded assignments, played by our assignors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.assignors import is_mine, play

CASES: list[dict[str, Any]] = json.loads(
    gzip.decompress((Path(__file__).parent / "cases" / "assignors_public.json.gz").read_bytes())
)
A_CASE: dict[str, Any] = {
    "id": "a-case",
    "assignor": "range",
    "topics": {"t": 3},
    "members": [{"id": "ada", "topics": ["t"]}, {"id": "bea", "topics": ["t"]}],
    "expect": {"ada": [["t", 0], ["t", 1]], "bea": [["t", 2]]},
}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_our_assignor_decides_as_kafka_did_in(case):
    (result,) = play([case])

    assert (result.outcome, result.message) == ("passed", "") or not result.scored


def test_the_player_knows_its_format():
    assert is_mine(CASES)
    assert not is_mine([{"id": "w-1", "config": {}, "steps": [{"do": "join", "args": {}}]}])
    assert not is_mine([])


def test_a_failed_case_tells_the_first_member_that_differs():
    case = A_CASE | {"expect": {"ada": [["t", 0]], "bea": [["t", 1], ["t", 2]]}}

    (result,) = play([case])

    assert result.outcome == "failed"
    assert result.message == "a-case: ada lacks nothing, has too much: t-1"


def test_a_case_in_which_kafka_throws_is_failed_by_an_assignment():
    case = {key: value for key, value in A_CASE.items() if key != "expect"}

    (result,) = play([case | {"expect_error": "java.lang.NullPointerException: ..."}])

    assert result.outcome == "failed"
    assert "java.lang.NullPointerException" in result.message


def test_a_case_that_is_not_scored_says_so():
    (result,) = play([A_CASE | {"scored": False}])

    assert (result.outcome, result.scored) == ("passed", False)


def test_a_case_of_an_unknown_assignor_is_skipped():
    (result,) = play([A_CASE | {"assignor": "streams"}])

    assert (result.outcome, result.message) == ("skipped", "no assignor is named streams")
