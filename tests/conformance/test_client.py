"""Kafka's recorded conversations, played by our consumer."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import is_mine, play

CASES_FOLDER = Path(__file__).parent / "cases"
CASES: list[dict[str, Any]] = json.loads(
    gzip.decompress((CASES_FOLDER / "client_public.json.gz").read_bytes())
)
#: Where ours and Kafka's consumer once parted, in thousands of random conversations.
FOUND: list[dict[str, Any]] = json.loads(
    gzip.decompress((CASES_FOLDER / "client_found.json.gz").read_bytes())
)
#: What Kafka's consumer does where its sources left a doubt.
ASKED: list[dict[str, Any]] = json.loads(
    gzip.decompress((CASES_FOLDER / "client_asked.json.gz").read_bytes())
)
BY_ID = {case["id"]: case for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=list(BY_ID))
def test_our_consumer_does_as_kafka_did_in(case):
    (result,) = play([case])

    assert (result.outcome, result.message) == ("passed", "")


@pytest.mark.parametrize("case", FOUND, ids=[case["id"] for case in FOUND])
def test_our_consumer_has_learned_that(case):
    (result,) = play([case])

    assert (result.outcome, result.message) == ("passed", "")


@pytest.mark.parametrize("case", ASKED, ids=[case["id"] for case in ASKED])
def test_our_consumer_does_as_kafka_did_when_asked(case):
    (result,) = play([case])

    assert (result.outcome, result.message) == ("passed", "")


def test_the_player_knows_its_format():
    assert is_mine(CASES)
    assert not is_mine([{"id": "w-1", "config": {}, "steps": [{"do": "join", "args": {}}]}])


def test_a_failed_case_tells_the_first_difference_and_the_conversation_around_it():
    case = copy.deepcopy(BY_ID["discovery_first_poll"])
    case["steps"][2]["then"][1]["group_id"] = "h"

    (result,) = play([case])

    assert result.outcome == "failed"
    first, *around = result.message.splitlines()
    assert first.startswith('step 2, FindCoordinator: Kafka {"at": 1000, "out": "request"')
    assert around[0].startswith('  step 0: {"at": 0, "do": "subscribe", "call": "c1"')
    assert sum(line.startswith("    Kafka ") for line in around) == 2
    assert sum(line.startswith("    ours  ") for line in around) == 2


@pytest.mark.parametrize("number", range(0, len(CASES), 10))
def test_an_output_that_comes_a_millisecond_late_fails_the_case(number):
    case = copy.deepcopy(CASES[number])
    outputs = [output for step in case["steps"] for output in step["then"]]
    outputs[len(outputs) // 2]["at"] -= 1

    (result,) = play([case])

    assert result.outcome == "failed"


def test_a_case_that_needs_an_unknown_ability_is_skipped():
    case = BY_ID["discovery_first_poll"] | {"needs": ["telepathy"]}

    (result,) = play([case])

    assert (result.outcome, result.message) == ("skipped", "needs telepathy")
