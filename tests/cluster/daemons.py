"""Spark's own long-running programs, started from PySpark's distribution, and ended for certain."""

from __future__ import annotations

import re
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


#: Starts the rest of its words, and ends them, itself and whoever they started as soon as they end
#: or its own input does. The latter happens however the test run ends, even by SIGKILL.
_GUARD = '("$@" </dev/null; kill -KILL 0) & read -r _; kill -KILL 0'


@contextmanager
def running(
    log: Path, program: str, words: Sequence[str], environment: Mapping[str, str]
) -> Iterator[Daemon]:
    """A program of PySpark's `bin` folder; it and all its children end with the block."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", str(SPARK_HOME / "bin" / program), *words],  # noqa: S607
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
    # To leave the block is to close its input, and to wait.
    with process:
        yield Daemon(process, log)
