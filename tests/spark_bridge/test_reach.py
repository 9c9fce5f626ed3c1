from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from spark_bridge import reach
from spark_bridge.errors import NoSparkSession
from spark_bridge.reach import refuse_a_dead_master, refuse_a_dead_server


@pytest.fixture
def nobody() -> Iterator[str]:
    """A place where nobody listens, and nobody will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def somebody() -> Iterator[str]:
    """A place where calls are taken, and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_a_master_that_does_not_answer_is_refused(nobody):
    with pytest.raises(NoSparkSession, match=f"no Spark master at spark://{nobody}"):
        refuse_a_dead_master(f"spark://{nobody}")


def test_of_several_masters_one_that_answers_is_enough(nobody, somebody):
    refuse_a_dead_master(f"spark://{nobody},{somebody}")


def test_a_server_that_does_not_answer_is_refused(nobody):
    with pytest.raises(NoSparkSession, match=f"no Spark Connect server at sc://{nobody}"):
        refuse_a_dead_server(f"sc://{nobody}")


def test_a_server_that_takes_the_call_and_is_silent_is_refused(monkeypatch, somebody):
    monkeypatch.setattr(reach, "ANSWERS_WITHIN_S", 0.2)

    with pytest.raises(NoSparkSession, match=f"no Spark Connect server at sc://{somebody}"):
        refuse_a_dead_server(f"sc://{somebody}")
