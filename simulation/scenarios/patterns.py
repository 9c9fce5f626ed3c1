"""How much work a pattern is, so that none in a file can keep Python's matcher busy for ever.

Python matches a regular expression by trying: where a name can be read in several ways, it follows
one after the other until one leads to the end. There may be more of them than anybody can wait for,
but they can be counted without being followed: `steps_of` carries along in how many ways each place
of the name is reached, and gives up where they become too many. What it does not look at closely
(the case of letters, the ends of words) it takes to match, so it never says too little.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined] # nothing else reads as Python does
from re import _parser as parser  # type: ignore[attr-defined] # the same
from typing import Any

from attrs import define

#: Parts of a pattern, one after the other, as Python's parser gives them: the kind, and of what.
Parts = Any
#: In how many ways each place of a name is reached.
Ways = Counter[int]

_ASCII_END = 128
_CLASSES: Mapping[object, re.Pattern[str]] = {
    op.CATEGORY_DIGIT: re.compile(r"\d"),
    op.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    op.CATEGORY_WORD: re.compile(r"\w"),
    op.CATEGORY_NOT_WORD: re.compile(r"\W"),
    op.CATEGORY_SPACE: re.compile(r"\s"),
    op.CATEGORY_NOT_SPACE: re.compile(r"\S"),
}


class TooManySteps(Exception):
    """Names can be read in more ways than were allowed."""


class Uncountable(ValueError):
    """A pattern has something in it whose work cannot be told; the message says what."""


def steps_of(pattern: str, names: Iterable[str], at_most: int) -> int:
    """How many steps Python takes at most to match all these names; `re.error` if it cannot."""
    return _steps_of(pattern, tuple(names), at_most)


@lru_cache(maxsize=256)  # the variants of a file have most of its patterns and topics in common
def _steps_of(pattern: str, names: tuple[str, ...], at_most: int) -> int:
    try:
        with warnings.catch_warnings():
            # Python warns of what may mean something else one day, such as a [ within [].
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern)
            return _counted(parser.parse(pattern), names, at_most)
    except (OverflowError, RecursionError, FutureWarning) as error:
        raise Uncountable(f"Python says: {error}") from error


def _counted(parts: Parts, names: Iterable[str], at_most: int) -> int:
    steps = 0
    for name in names:
        reading = _Reading(name, at_most - steps)
        reading.read(parts, Counter({0: 1}))
        steps += reading.steps
    return steps


@define(eq=False)
class _Reading:
    """One name, and the steps that were made on it."""

    name: str
    at_most: int
    steps: int = 0

    def read(self, parts: Parts, ways: Ways) -> Ways:
        """The places that are reached when all the parts have been read."""
        for kind, what in parts:
            self.steps += ways.total()
            if self.steps > self.at_most:
                raise TooManySteps
            ways = self._part(kind, what, ways)
        return ways

    def _part(self, kind: object, what: Any, ways: Ways) -> Ways:  # noqa: ANN401 (of each its own)
        match kind:
            case op.LITERAL | op.NOT_LITERAL | op.IN | op.ANY:
                reached = self._character(kind, what, ways)
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                least, most, parts = what
                reached = self._repetition(least, most, parts, ways)
            case op.BRANCH:
                _, branches = what
                reached = sum((self.read(each, ways) for each in branches), Counter())
            case op.SUBPATTERN:
                *_, parts = what
                reached = self.read(parts, ways)
            case op.ATOMIC_GROUP:
                reached = self.read(what, ways)
            case op.ASSERT | op.ASSERT_NOT:
                direction, parts = what
                self._look(direction, parts, ways)
                reached = ways
            case op.AT:
                reached = ways
            case op.FAILURE:
                reached = Counter()
            case _:
                raise Uncountable("it refers to what one of its groups has found")
        return reached

    def _character(self, kind: object, what: Any, ways: Ways) -> Ways:  # noqa: ANN401 (the same)
        return Counter(
            {
                place + 1: count
                for place, count in ways.items()
                if place < len(self.name) and _may_be(kind, what, self.name[place])
            }
        )

    def _repetition(self, least: int, most: int, parts: Parts, ways: Ways) -> Ways:
        shortest, _ = parts.getwidth()
        if most > 1 and shortest == 0:
            raise Uncountable("it repeats what can be nothing at all")
        reached: Ways = Counter()
        times = 0
        while ways and times <= most:
            if times >= least:
                reached.update(ways)
            ways = self.read(parts, ways)
            times += 1
        return reached

    def _look(self, direction: int, parts: Parts, ways: Ways) -> None:
        """Look ahead, or back by as many characters as the parts have."""
        back = parts.getwidth()[0] if direction < 0 else 0
        looks = {place - back: count for place, count in ways.items() if place >= back}
        self.read(parts, Counter(looks))


def _may_be(kind: object, what: Any, char: str) -> bool:  # noqa: ANN401 (as the parser has it)
    """Whether a part of the pattern may match a character, in whichever case."""
    return any(_is(kind, what, each) for each in {char, char.lower(), char.upper()})


def _is(kind: object, what: Any, char: str) -> bool:  # noqa: ANN401 (the same)
    match kind:
        case op.LITERAL:
            found = ord(char) == _ascii(what)
        case op.NOT_LITERAL:
            found = ord(char) != _ascii(what)
        case op.RANGE:
            first, last = map(_ascii, what)
            found = first <= ord(char) <= last
        case op.CATEGORY:
            found = _CLASSES[what].match(char) is not None
        case op.IN:
            is_negated = what[0][0] is op.NEGATE
            found = is_negated != any(_is(each, of, char) for each, of in what[is_negated:])
        case _:
            found = True
    return found


def _ascii(code: int) -> int:
    """A character of ASCII: of others, it is hard to say which are one letter in two cases."""
    if code >= _ASCII_END:
        raise Uncountable(f"it has {chr(code)!r}, which is in no topic's name")
    return code
