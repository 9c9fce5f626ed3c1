"""What is wrong with a scenario: every mistake at once, each with its place.

`Wrong` is raised where a value is looked at and knows nothing of files; a `Mistake` is the same
with file, line and path, and a `ScenarioError` carries all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from attrs import field, frozen

from simulation.errors import SimulationError

#: Where something stands: keys and positions from the top of the file.
Path = tuple[str | int, ...]

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
#: A longer text is not shown in full.
_SHOWN_MAX = 60


class Wrong(ValueError):
    """A value that cannot be; `at` is its place below where it was looked at."""

    def __init__(self, found: str, allowed: str, *, nearest: str = "", at: Path = ()) -> None:
        super().__init__(f"{found}; {allowed}{did_you_mean(nearest)}")
        self.found, self.allowed, self.nearest, self.at = found, allowed, nearest, at


class Unknown(Wrong):
    """A word that is none of the known ones; `what` is the kind of thing it should name."""

    def __init__(self, what: str, word: str, known: Sequence[str], *, at: Path = ()) -> None:
        allowed = f"known: {', '.join(known)}" if known else "there are none"
        nearest = nearest_to(word, known)
        super().__init__(f"unknown {what} {shown(word)}", allowed, nearest=nearest, at=at)
        self.what = what


class AllWrong(ValueError):
    """Several values that cannot be."""

    def __init__(self, wrongs: Iterable[Wrong]) -> None:
        self.wrongs = tuple(wrongs)
        super().__init__("; ".join(map(str, self.wrongs)))


@frozen(kw_only=True)
class Mistake:
    """One mistake in a scenario: where it stands, what was found there and what is allowed."""

    file: str
    line: int | None = None
    path: str = ""
    found: str
    allowed: str
    nearest: str = ""
    #: Where it is in the scenario as it would be played, whoever wrote it there.
    place: Path = field(default=(), eq=False, repr=False)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        path = f"{self.path}: " if self.path else ""
        hint = did_you_mean(self.nearest)
        return printable(f"{place}: {path}{self.found}; {self.allowed}{hint}")


class ScenarioError(SimulationError):
    """A scenario that cannot be played; the message lists every mistake in it, one a line."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("\n".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)


def printable(text: str) -> str:
    """A line of text in which what would command a terminal is spelled out."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def nearest_to(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one, if any is."""
    found = get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def did_you_mean(nearest: str) -> str:
    """How a sentence about an unknown word ends, if a known one is like it."""
    return f"; did you mean `{nearest}`?" if nearest else ""


def unknown(what: str, word: str, known: Iterable[str], *, at: Path = ()) -> Unknown:
    """A word that is none of the known ones."""
    return Unknown(what, word, list(known), at=at)


def shown(value: object) -> str:
    """A value as a mistake quotes it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value) if isinstance(value, str) else _number_shown(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def _number_shown(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # Python does not print numbers of more than 4300 digits.
        return "a number with thousands of digits"


def path_text(path: Path) -> str:
    """A path as people write it: `groups.checkout.settings`, `script.0.at`."""
    return ".".join(map(str, path))
