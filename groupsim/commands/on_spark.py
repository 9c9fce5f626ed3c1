"""What the verbs that need Spark have in common: where it runs, and what it says if it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from groupsim.commands.voice import Voice
from simulation.errors import SimulationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refuse_two_places(master: str | None, remote: str | None) -> None:
    """Work is done in one place."""
    if master is not None and remote is not None:
        raise SimulationError("--master and --remote are two places: choose one")


@contextmanager
def needing_spark(verb: str) -> Iterator[None]:
    """Without Spark, or when it fails, one sentence says why."""
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - who asks nothing needs no Spark

        from spark_bridge.errors import SparkBridgeError  # noqa: PLC0415 - the same
    except ImportError as error:
        raise SimulationError(
            f"{verb} needs Spark ({error}): pip install 'groupsim[spark]'"
        ) from error
    try:
        yield
    except SparkBridgeError as error:
        raise SimulationError(str(error)) from error
    except PySparkException as error:
        # Spark tells the mistake first, then its plans and stacks.
        raise SimulationError(f"Spark says: {str(error).strip().splitlines()[0]}") from error


def session_at(voice: Voice, master: str | None, remote: str | None) -> SparkSession:
    """A session at a master or of a Connect server; without either, on this machine."""
    return _session_at(voice, master, remote, {})


def session_to_play_at(voice: Voice, master: str | None, remote: str | None) -> SparkSession:
    """The same for whole simulations, which are played by Python."""
    from spark_bridge.session import FOR_PLAYING  # noqa: PLC0415 - as above

    return _session_at(voice, master, remote, FOR_PLAYING)


def _session_at(
    voice: Voice, master: str | None, remote: str | None, instead: Mapping[str, str]
) -> SparkSession:
    from spark_bridge import session  # noqa: PLC0415 - as above

    with doing(voice, "starting Spark"):
        if remote is not None:
            return session.remote_session(remote)
        if master is not None:
            return session.cluster_session(master, instead=instead)
        return session.local_session(instead=instead)


@contextmanager
def doing(voice: Voice, what: str) -> Iterator[None]:
    """Say what is going on: a line that goes away on a terminal, and one that stays elsewhere."""
    if voice.talk.is_terminal:
        with voice.talk.status(f"{what} ..."):
            yield
        return
    voice.say(f"{what} ...")
    yield
