"""Spark's own long-running programs, started from PySpark's distribution, and ended for certain."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import pyspark
from attrs import frozen

SPARK_HOME = Path(pyspark.__file__).parent

#: A busy machine may take long to start a JVM; one that takes longer than this has lost it.
DEADLINE_S = 300
_LOOKS_EACH_S = 0.1
_LAST_WORDS = 3_000
_ENDS_WITHIN_S = 10


@frozen
class Daemon:
    """A program that is running, and the file that it writes its log to."""

    process: subprocess.Popen[bytes]
    log: Path

    def says(self, pattern: str, times: int = 1) -> list[str]:
        """What the pattern found in the log, once it is there so many times."""
        until = monotonic() + DEADLINE_S
        while True:
            text = self.log.read_text(errors="replace")
            found: list[str] = re.findall(pattern, text)
            if len(found) >= times:
                return found
            text = text[-_LAST_WORDS:]
            # To wait for its end is to look again soon, and to notice if it is gone.
            with suppress(subprocess.TimeoutExpired):
                status = self.process.wait(_LOOKS_EACH_S)
                raise AssertionError(f"{self.log.name} ended with status {status}:\n{text}")
            assert monotonic() < until, f"{self.log.name} never said {pattern!r}:\n{text}"


@contextmanager
def running(
    log: Path, program: str, words: Sequence[str], environment: Mapping[str, str]
) -> Iterator[Daemon]:
    """A program of PySpark's `bin` folder; it and all its children end with the block."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / program), *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
    try:
        yield Daemon(process, log)
    finally:
        # Whoever it started, such as executors, is in its process group.
        _signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN_S)
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
