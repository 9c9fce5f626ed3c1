"""Whether somebody answers where Spark is said to be, found out before Spark's own long patience.

Spark calls for a dead master for a minute, for a dead Connect server for ten, and waits for an
executor for ever, which it tells to a log that nobody sees.
"""

from __future__ import annotations

import socket
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_bridge.errors import NoSparkSession

#: How long a master or a server may take to answer.
ANSWERS_WITHIN_S = 10

_ANSWERS, _DOES_NOT = "READY", ("TRANSIENT_FAILURE", "SHUTDOWN")


def refuse_a_dead_master(master: str) -> None:
    """Raise unless something answers at spark://host:port; of several masters, one is enough."""
    refusals = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=ANSWERS_WITHIN_S).close()
        except (OSError, ValueError) as error:
            refusals.append(f"{place}: {error}")
        else:
            return
    raise NoSparkSession(f"there is no Spark master at {master} ({'; '.join(refusals)})")


def refuse_a_dead_server(url: str) -> None:
    """Raise unless something that speaks gRPC answers at sc://host:port."""
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 - needs gRPC

    states: SimpleQueue[Any] = SimpleQueue()
    channel = DefaultChannelBuilder(url).toChannel()
    channel.subscribe(states.put, try_to_connect=True)
    state = "IDLE"
    try:
        while state != _ANSWERS and state not in _DOES_NOT:
            state = states.get(timeout=ANSWERS_WITHIN_S).name
    except Empty:
        pass  # it is still trying to connect
    finally:
        channel.close()
    if state != _ANSWERS:
        raise NoSparkSession(
            f"there is no Spark Connect server at {url}: nothing there answers;"
            " write sc://host:15002 with the host and port of one"
        )


def await_an_executor(spark: SparkSession, master: str, within_s: float) -> None:
    """Return when a task has run; stop the session and raise if none does in time."""
    failures: SimpleQueue[Exception | None] = SimpleQueue()

    def first_task() -> None:
        try:
            spark.range(1).count()
        except (PySparkException, Py4JError) as error:
            failures.put(error)
        else:
            failures.put(None)

    # A task that nobody takes waits for ever; nothing may wait for its thread, not even Ctrl-C.
    Thread(target=first_task, daemon=True).start()
    try:
        failure = failures.get(timeout=within_s)
    except Empty:
        spark.stop()
        raise NoSparkSession(
            f"{master} has given no executor within {within_s:g} s: see that it has workers with"
            " cores and memory to spare, and that they can reach this machine"
        ) from None
    if failure is not None:
        raise failure
