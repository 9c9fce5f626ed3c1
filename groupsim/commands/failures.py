"""What a command answers to its shell: held, failed, wrong use, our bug, interrupted.

Whatever a verb raises is turned into one clear sentence here, in one place.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path

from groupsim.commands.shadows import shadows

HELD, FAILED, WRONG_USE, OUR_BUG, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143

#: With it in the environment, a bug of ours is shown with its traceback.
TRACEBACK = "GROUPSIM_TRACEBACK"

_FULL_DISK = {errno.ENOSPC, errno.EDQUOT}


class Terminated(BaseException):
    """The process was asked to end; what is half done is undone on the way out."""


def tell(sentence: str) -> None:
    """Talk goes to stderr, so that stdout is data."""
    sys.stderr.write(f"groupsim: {_harmless(sentence)}\n")


def _harmless(sentence: str) -> str:
    """A sentence may quote names from a file."""
    if shadows():  # nothing of ours can be imported, or was read
        return sentence
    from groupsim.commands.voice import harmless  # noqa: PLC0415 - only when something failed

    return harmless(sentence)


def told(error: BaseException) -> int:
    """Say what went wrong and return the exit status for it."""
    if isinstance(error, KeyboardInterrupt):
        tell("interrupted; nothing half-written was kept")
        return INTERRUPTED
    if isinstance(error, Terminated):
        tell("asked to end; nothing half-written was kept")
        return TERMINATED
    if isinstance(error, OSError):
        return _told_of_the_system(error)
    if shadows():  # the first line of output has named them
        tell(f"cannot go on without its own packages ({type(error).__name__}: {error})")
        return WRONG_USE
    return _told_of_the_simulator(error)


def _told_of_the_system(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has enough. Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return HELD
    where = f"{error.filename}: " if error.filename else ""
    if error.errno in _FULL_DISK:
        tell(f"{where}the disk is full; nothing half-written was kept")
    else:
        tell(f"{where}{error.strerror or error}")
    return WRONG_USE


def _told_of_the_simulator(error: BaseException) -> int:
    # Only when something failed are these worth their import.
    from simulation.errors import SimulationError  # noqa: PLC0415

    mistakes = getattr(error, "mistakes", ())
    if mistakes:
        sys.stderr.write("".join(f"{mistake}\n" for mistake in mistakes))
        tell("1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes")
        return WRONG_USE
    if isinstance(error, SimulationError):
        tell("; ".join([str(error), *getattr(error, "__notes__", ())]))
        return WRONG_USE
    return _told_of_a_bug(error)


def _told_of_a_bug(error: BaseException) -> int:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).parent.name}/{Path(frame.filename).name}:{frame.lineno}"
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    tell(
        f"this is a bug of groupsim's, not a mistake of yours: {type(error).__name__} in {place}:"
        f" {error}{notes}"
    )
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    tell(
        "to report it, send this output, the scenario and the version (groupsim --version);"
        f" to see the traceback, repeat the command with {TRACEBACK}=1 before it"
    )
    return OUR_BUG
